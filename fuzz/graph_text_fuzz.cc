// fuzz/graph_text_fuzz.cc: arbitrary text as a graph: an Error, or a graph that verifies and prints
// as text that gives the same text again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "ir/graph.h"
#include "ops/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = ingot::parse_graph(text, ingot::find_op);
  if (!graph) return 0;
  const ingot::Status verified = ingot::verify(*graph);
  CHECK(verified, verified ? "" : to_text(verified.error()));
  const std::string printed = to_text(*graph);
  // Constants above 16 elements print as a hash, which needs a lookup to be read back.
  if (printed.find('#') != std::string::npos) return 0;
  const auto again = ingot::parse_graph(printed, ingot::find_op);
  CHECK(again, again ? "" : to_text(again.error()), " in\n", printed);
  CHECK(to_text(*again) == printed, "printed again:\n", to_text(*again), "at first:\n", printed);
  return 0;
}
