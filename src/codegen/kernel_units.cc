// codegen/kernel_units.cc: kernels as translation units, each with what it needs of the prelude.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "codegen/emit_cpu.h"
#include "codegen/model_writer.h"
#include "codegen/program_writer.h"
#include "codegen/resources.h"

namespace ingot {
namespace {

/// Text of kernels in one translation unit, about: so much takes half a second to compile.
constexpr size_t kUnitText = size_t{24} << 10;

/// Kernels that are worth a second unit, so that two processors share them.
constexpr size_t kLeastToSplit = 8;

/// What compiling takes, in milliseconds: a unit with the prelude, and a character of kernels.
constexpr double kUnitCost = 40, kKernelCost = 0.02;

/// Nodes of a region that are listed in front of its kernel.
constexpr size_t kMostListed = 24;

void write_region(Writer& out, const Graph& body) {
  size_t listed = 0;
  for (NodeId id : body.nodes()) {
    const Node& node = body.node(id);
    if (node.op.is<Constant>()) continue;
    if (++listed > kMostListed) {
      out.line("//   ...");
      return;
    }
    const ValueId y = node.outputs[0];
    out.line("//   ", to_comment(concat(node.op.name(), " -> ", to_text(body.type(y)))));
  }
}

/// A header of the CPU prelude and the calls that tell that kernels need it; none: always.
struct PreludeHeader {
  std::string_view name;
  std::vector<std::string_view> calls;
};

const std::vector<PreludeHeader>& prelude_headers() {
  static const std::vector<PreludeHeader> headers = {
      {"types.h", {}},
      {"vec.h", {}},
      {"math.h",
       {"exp(", "log(", "sqrt(", "sin(", "cos(", "tan(", "sinh(", "cosh(", "tanh(", "erf(",
        "sigmoid(", "floor(", "ceil(", "round(", "trunc(", "pow(", "fmod(", "floordiv(",
        "floormod("}},
      {"narrow.h", {"f8e", "f4e2m1", "<i4", "<u4", "<i2", "<u2"}},
      {"gemm.h", {"gemm(", "gemm_produced(", "ConvShape"}},
      {"conv.h", {"ConvShape"}},
      {"winograd.h", {"winograd("}},
  };
  return headers;
}

}  // namespace

/// A header's text for pasting: without what only makes sense in a file of its own.
std::string pasted(std::string_view name) {
  std::string text;
  for (std::string_view line : split(resource(name), '\n')) {
    if (line.starts_with("#pragma once") || line.starts_with("#include")) continue;
    text += concat(line, "\n");
  }
  return text;
}

std::string kernel_prologue(std::string_view kernels, Tiles tiles) {
  std::string all = pasted("artifact/program.h");
  if (tiles == Tiles::linked) all += "#define INGOT_TILES_ELSEWHERE 1\n";
  for (const PreludeHeader& header : prelude_headers()) {
    const bool needed =
        header.calls.empty() || std::ranges::any_of(header.calls, [&](std::string_view call) {
          return kernels.find(call) != std::string_view::npos;
        });
    if (needed) all += pasted(concat("prelude/cpu/", header.name));
  }
  return all +
         "namespace ingot_cpu {\nusing ingot::artifact::KernelArgs;\n"
         "using ingot::artifact::operand;\ninline namespace INGOT_LEVEL {\n";
}

std::string kernel_epilogue() {
  return "\n}  // namespace INGOT_LEVEL\n}  // namespace ingot_cpu\n";
}

std::vector<SourceFile> write_kernels(const ProgramPlan& plan, std::string_view prefix,
                                      Tiles tiles) {
  std::vector<std::string> texts;
  size_t total = 0;
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    Writer kernel;
    kernel.line();
    write_provenance(kernel, plan.kernels[k].provenance);
    write_region(kernel, plan.kernels[k].region);
    kernel.raw(plan.kernels[k].text);
    texts.push_back(kernel.take());
    total += plan.kernels[k].text.size();
  }
  const size_t least = texts.size() < kLeastToSplit ? 1 : 2;
  const size_t units = std::max(least, (total + kUnitText / 2) / kUnitText);
  std::vector<SourceFile> files;
  // Each unit takes kernels up to its share of the text, so that all take about as long.
  size_t next = 0, written = 0;
  for (size_t unit = 0; unit < units && next < texts.size(); ++unit) {
    const std::string name = concat(prefix, "kernels_", unit, ".cc");
    std::string kernels;
    std::set<std::string> shared;
    for (; next < texts.size(); ++next) {
      const size_t size = plan.kernels[next].text.size();
      if (!kernels.empty() && (written + size / 2) * units >= total * (unit + 1)) break;
      written += size;
      for (const std::string& definition : plan.kernels[next].emitted.shared) {
        if (shared.insert(definition).second) kernels += concat("\n", definition);
      }
      kernels += texts[next];
    }
    files.push_back(
        {name,
         concat("// ", name, ": kernels made by ingot; compiled once per instruction set level.\n",
                kernel_prologue(kernels, tiles), kernels, kernel_epilogue()),
         kUnitCost + kKernelCost * static_cast<double>(kernels.size())});
  }
  return files;
}

}  // namespace ingot
