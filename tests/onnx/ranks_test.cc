// tests/onnx/ranks_test.cc: ONNX's own models and generated ones with inputs of other ranks: each
// is refused, or gives a graph that verifies.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "frontend/import.h"

namespace ingot::testing {
namespace {

namespace fs = std::filesystem;

/// Field numbers of onnx.proto, from ModelProto to the inputs, and from there to the shape.
constexpr uint32_t kInputs[] = {7, 11};
constexpr uint32_t kShape[] = {2, 1, 2};

using Change = std::function<std::string(std::string_view)>;

/// A message in which every field at the end of a path was changed.
std::string rewrite(std::string_view message, std::span<const uint32_t> path,
                    const Change& change) {
  std::string result;
  protozero::pbf_writer to(result);
  protozero::pbf_reader from(message.data(), message.size());
  while (from.next()) {
    switch (from.wire_type()) {
      case protozero::pbf_wire_type::varint:
        to.add_uint64(from.tag(), from.get_uint64());
        break;
      case protozero::pbf_wire_type::fixed64:
        to.add_fixed64(from.tag(), from.get_fixed64());
        break;
      case protozero::pbf_wire_type::fixed32:
        to.add_fixed32(from.tag(), from.get_fixed32());
        break;
      default: {
        const uint32_t tag = from.tag();
        const auto view = from.get_view();
        const std::string_view field(view.data(), view.size());
        const bool is_it = tag == path.front();
        const std::string changed = !is_it             ? std::string(field)
                                    : path.size() == 1 ? change(field)
                                                       : rewrite(field, path.subspan(1), change);
        to.add_bytes(tag, changed);
      }
    }
  }
  return result;
}

/// TensorShapeProto of dims of 2.
std::string shape_of_rank(int rank) {
  std::string dim, shape;
  protozero::pbf_writer(dim).add_int64(1, 2);
  for (int k = 0; k < rank; ++k) protozero::pbf_writer(shape).add_bytes(1, dim);
  return shape;
}

/// The model with another rank of input `which`; empty if it has not so many.
std::string with_rank(std::string_view model, int which, int rank) {
  int next = 0;
  std::string changed = rewrite(model, kInputs, [&](std::string_view input) {
    if (next++ != which) return std::string(input);
    return rewrite(input, kShape, [&](std::string_view) { return shape_of_rank(rank); });
  });
  return which < next ? changed : std::string();
}

/// How many models were taken and refused.
struct Counts {
  int taken = 0;
  int refused = 0;
};

Counts with_other_ranks(const fs::path& models) {
  Counts counts;
  for (const auto& entry : fs::directory_iterator(models)) {
    if (!entry.is_directory()) continue;
    const auto model = read_text(entry.path() / "model.onnx");
    if (!model) {
      ADD_FAILURE() << to_text(model.error());
      continue;
    }
    for (const int rank : {0, 1, 3}) {
      for (int which = 0;; ++which) {
        const std::string bytes = with_rank(*model, which, rank);
        if (bytes.empty()) break;
        SCOPED_TRACE(
            concat(entry.path().filename().string(), ", input ", which, " of rank ", rank));
        const auto imported = import_model_bytes(std::as_bytes(std::span(bytes)), "test.onnx");
        if (imported) {
          ++counts.taken;
          const Status verified = verify(imported->graph);
          EXPECT_TRUE(verified) << to_text(verified.error());
        } else {
          ++counts.refused;
          EXPECT_NE(imported.error().code, Code::kInternal) << to_text(imported.error());
        }
      }
    }
  }
  return counts;
}

TEST(OnnxRanks, AnyRankIsTakenOrRefused) {
  const Counts counts = with_other_ranks(fs::path(INGOT_ONNX_DATA) / "node");
  // Both happen often. What is unknown is taken, as a placeholder: with more operators more is
  // refused.
  EXPECT_GT(counts.taken, 2600);
  EXPECT_GT(counts.refused, 8000);
}

TEST(OnnxRanks, OfGeneratedModelsToo) {
  const Counts counts = with_other_ranks(INGOT_GENERATED_CASES);
  EXPECT_GT(counts.taken, 300);
  EXPECT_GT(counts.refused, 300);
}

}  // namespace
}  // namespace ingot::testing
