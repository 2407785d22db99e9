// passes/golden_test.cc: each pass on small graphs, before and after, as text.
//
// NAME.txt holds cases "// title", graph, "----", expected graph, with "====" between cases.
// UPDATE_GOLDEN=1 writes what the passes do now; review the difference.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/text.h"
#include "ops/registry.h"
#include "passes/passes.h"

namespace ingot {
namespace {

struct GoldenFile {
  const char* name;
  void (*pass)(Graph&, const PassContext&);
};

class GoldenTest : public testing::TestWithParam<GoldenFile> {};

std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, std::min(text.find(mark), text.size()));
}

/// The graph after the pass, its notes as comments behind it.
std::string run_case(const GoldenFile& file, std::string_view text) {
  auto graph = parse_graph(text, find_op);
  if (!graph) return "cannot read the graph: " + to_text(graph.error()) + "\n";
  const Pass pass{file.name, file.pass, ""};
  PassOptions options;
  options.verify = true;
  const auto records = run_passes(*graph, std::span(&pass, 1), options);
  if (!records) return to_text(records.error()) + "\n";
  std::string result = to_text(*graph);
  for (const std::string& note : (*records)[0].notes) result += "// " + note + "\n";

  // A second time nothing changes.
  const auto again = run_passes(*graph, std::span(&pass, 1), options);
  EXPECT_TRUE(again && result.starts_with(to_text(*graph))) << "not idempotent:\n"
                                                            << result << to_text(*graph);
  return result;
}

TEST_P(GoldenTest, AsWritten) {
  const std::string path =
      std::string(INGOT_SOURCE_DIR) + "/src/passes/" + GetParam().name + ".txt";
  const auto held = read_text(path);
  ASSERT_TRUE(held) << to_text(held.error());
  const bool update = std::getenv("UPDATE_GOLDEN") != nullptr;
  std::string updated;
  std::string_view rest = *held;
  while (!trim(rest).empty()) {
    const std::string_view whole = before(rest, "====\n");
    rest.remove_prefix(std::min(whole.size() + 5, rest.size()));
    const std::string_view source = before(whole, "----\n");
    const std::string_view expected = whole.substr(std::min(source.size() + 5, whole.size()));
    const std::string got = run_case(GetParam(), source);
    if (!update) {
      EXPECT_EQ(got, expected) << before(source, "\n");
    }
    updated += concat(updated.empty() ? "" : "====\n", source, "----\n", got);
  }
  if (update) {
    ASSERT_TRUE(write_atomically(path, updated));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Passes, GoldenTest,
    testing::Values(GoldenFile{"algebra", algebra}, GoldenFile{"canonicalize", canonicalize},
                    GoldenFile{"cse", cse}, GoldenFile{"dead_code", dead_code},
                    GoldenFile{"fold_batch_norm", fold_batch_norm},
                    GoldenFile{"fold_constants", fold_constants}, GoldenFile{"layout", layout},
                    GoldenFile{"legalize", legalize}, GoldenFile{"pack_weights", pack_weights}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace ingot
