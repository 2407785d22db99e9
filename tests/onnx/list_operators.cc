// tests/onnx/list_operators.cc: what docs/onnx.md is made of: list_operators CASES_FOLDER... <NAMES
//
// Operators are named on stdin, one a line: "Gelu", "com.microsoft.Gelu". Prints lines of tabs:
//   row   NAME OPSET...             from which opsets on the reader's rows for it hold
//   case  FOLDER CORE_OPERATOR...   what the case's model is read as; nothing if it cannot be
//   kind  CORE_OPERATOR KIND        how that one becomes code
#include <fmt/core.h>

#include <filesystem>
#include <iostream>
#include <set>
#include <string>

#include "case.h"
#include "frontend/onnx/ops.h"
#include "ops/control.h"

namespace fs = std::filesystem;

namespace ingot::testing {
namespace {

void list_rows() {
  constexpr int64_t kMostOpset = 64;
  std::string name;
  while (std::getline(std::cin, name)) {
    if (!onnx::first_opset(name)) continue;
    fmt::print("row\t{}", name);
    const onnx::OpRow* last = nullptr;
    for (int64_t opset = 1; opset <= kMostOpset; ++opset) {
      const onnx::OpRow* row = onnx::find_row(name, opset);
      if (row != last) fmt::print("\t{}", row->since);
      last = row;
    }
    fmt::print("\n");
  }
}

std::string_view kind_of(const OpRef& op) {
  if (!ops::bodies_of(op).empty()) return "control";
  if (op.def().routine != nullptr) return "routine";
  if (op.name() == "conv" || op.name() == "matmul") return "template";
  return "loop nest";
}

void add_operators(const Graph& graph, std::map<std::string, std::string_view>& kinds) {
  for (const NodeId id : graph.nodes()) {
    const OpRef& op = graph.node(id).op;
    kinds.emplace(op.name(), kind_of(op));
    for (const GraphRef& body : ops::bodies_of(op)) add_operators(*body, kinds);
  }
}

void list_cases(const fs::path& folder, std::map<std::string, std::string_view>& all) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    const auto imported = import_case(entry.path());
    if (!imported) continue;
    std::map<std::string, std::string_view> kinds;
    add_operators(imported->graph, kinds);
    fmt::print("case\t{}", entry.path().string());
    for (const auto& [name, kind] : kinds) fmt::print("\t{}", name);
    fmt::print("\n");
    all.merge(kinds);
  }
}

}  // namespace
}  // namespace ingot::testing

int main(int argc, char** argv) {
  ingot::testing::list_rows();
  std::map<std::string, std::string_view> kinds;
  for (int k = 1; k < argc; ++k) ingot::testing::list_cases(argv[k], kinds);
  for (const auto& [name, kind] : kinds) fmt::print("kind\t{}\t{}\n", name, kind);
}
