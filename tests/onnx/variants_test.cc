// tests/onnx/variants_test.cc: ONNX's own models and generated ones with inputs of other ranks and
// types, other numbers in attributes, and inputs that are left out: each is refused, or gives a
// graph that verifies.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
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

/// Field numbers of onnx.proto, from ModelProto to the inputs, to attributes and to what nodes
/// read, from an input to its type and from there to the shape.
constexpr uint32_t kInputs[] = {7, 11};
constexpr uint32_t kAttributes[] = {7, 1, 5};
constexpr uint32_t kNodeInputs[] = {7, 1, 1};
constexpr uint32_t kTensorType[] = {2, 1};
constexpr uint32_t kShape[] = {2, 1, 2};

/// Of TensorTypeProto, and of AttributeProto.
constexpr uint32_t kElemType[] = {1};
constexpr uint32_t kNumbers[] = {3, 8};

using Change = std::function<std::string(std::string_view)>;

/// The field that `from` stands at.
void copy_field(protozero::pbf_reader& from, protozero::pbf_writer& to) {
  const uint32_t tag = from.tag();
  switch (from.wire_type()) {
    case protozero::pbf_wire_type::varint:
      return to.add_uint64(tag, from.get_uint64());
    case protozero::pbf_wire_type::fixed64:
      return to.add_fixed64(tag, from.get_fixed64());
    case protozero::pbf_wire_type::fixed32:
      return to.add_fixed32(tag, from.get_fixed32());
    default: {
      const auto bytes = from.get_view();
      to.add_bytes(tag, bytes.data(), bytes.size());
    }
  }
}

/// A message in which every field at the end of a path, a message itself, was changed.
std::string rewrite(std::string_view message, std::span<const uint32_t> path,
                    const Change& change) {
  std::string result;
  protozero::pbf_writer to(result);
  protozero::pbf_reader from(message.data(), message.size());
  while (from.next()) {
    if (from.tag() != path.front()) {
      copy_field(from, to);
      continue;
    }
    const uint32_t tag = from.tag();
    const auto bytes = from.get_view();
    const std::string_view field(bytes.data(), bytes.size());
    to.add_bytes(tag, path.size() == 1 ? change(field) : rewrite(field, path.subspan(1), change));
  }
  return result;
}

/// A message with `value` in all its numbers called one of `tags`.
std::string with_number(std::string_view message, std::span<const uint32_t> tags, int64_t value) {
  std::string result;
  protozero::pbf_writer to(result);
  protozero::pbf_reader from(message.data(), message.size());
  while (from.next()) {
    const bool is_it = from.wire_type() == protozero::pbf_wire_type::varint &&
                       std::ranges::find(tags, from.tag()) != tags.end();
    if (is_it) {
      to.add_int64(from.tag(), value);
      from.skip();
    } else {
      copy_field(from, to);
    }
  }
  return result;
}

/// The model with field `which` at the end of a path changed; empty if there are not so many.
std::string with_change(std::string_view model, std::span<const uint32_t> path, int which,
                        const Change& change) {
  int next = 0;
  std::string changed = rewrite(model, path, [&](std::string_view field) {
    return next++ == which ? change(field) : std::string(field);
  });
  return which < next ? changed : std::string();
}

/// An input of dims of 2.
std::string with_rank(std::string_view input, int64_t rank) {
  std::string dim, shape;
  protozero::pbf_writer(dim).add_int64(1, 2);
  for (int64_t k = 0; k < rank; ++k) protozero::pbf_writer(shape).add_bytes(1, dim);
  return rewrite(input, kShape, [&](std::string_view) { return shape; });
}

std::string with_type(std::string_view input, int64_t type) {
  return rewrite(input, kTensorType,
                 [&](std::string_view tensor) { return with_number(tensor, kElemType, type); });
}

std::string with_numbers(std::string_view attribute, int64_t value) {
  return with_number(attribute, kNumbers, value);
}

/// How models may be changed: fields at the end of a path, each to one with each of the values.
struct Variants {
  std::span<const uint32_t> path;
  std::vector<int64_t> values;
  std::string (*change)(std::string_view field, int64_t value);
};

const Variants kRanks = {kInputs, {0, 1, 3}, with_rank};
/// u8, i32, b8, f64, f8e4m3fn: what is no float, no integer, and nothing to compute with.
const Variants kTypes = {kInputs, {2, 6, 9, 11, 17}, with_type};
const Variants kHostileNumbers = {kAttributes,
                                  {std::numeric_limits<int64_t>::min(), -1, 0, int64_t{1} << 31,
                                   std::numeric_limits<int64_t>::max()},
                                  with_numbers};

/// An input of a node is left out.
std::string without_input(std::string_view, int64_t) {
  return "";
}
const Variants kFewerInputs = {kNodeInputs, {0}, without_input};

/// How many models were taken and refused.
struct Counts {
  int taken = 0;
  int refused = 0;
};

void import_one(const std::string& bytes, Counts& counts) {
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

Counts import_all(const fs::path& models, const Variants& variants) {
  Counts counts;
  for (const auto& entry : fs::directory_iterator(models)) {
    if (!entry.is_directory()) continue;
    const auto model = read_text(entry.path() / "model.onnx");
    if (!model) {
      ADD_FAILURE() << to_text(model.error());
      continue;
    }
    for (const int64_t value : variants.values) {
      for (int which = 0;; ++which) {
        const std::string bytes =
            with_change(*model, variants.path, which,
                        [&](std::string_view field) { return variants.change(field, value); });
        if (bytes.empty()) break;
        SCOPED_TRACE(concat(entry.path().filename().string(), ", field ", which, " with ", value));
        import_one(bytes, counts);
      }
    }
  }
  return counts;
}

// Both happen often. What is unknown is taken, as a placeholder: with more operators more is
// refused.
TEST(OnnxVariants, AnyRankIsTakenOrRefused) {
  const Counts counts = import_all(fs::path(INGOT_ONNX_DATA) / "node", kRanks);
  EXPECT_GT(counts.taken, 2500);
  EXPECT_GT(counts.refused, 8000);
}

TEST(OnnxVariants, AnyRankOfGeneratedModelsToo) {
  const Counts counts = import_all(INGOT_GENERATED_CASES, kRanks);
  EXPECT_GT(counts.taken, 300);
  EXPECT_GT(counts.refused, 300);
}

TEST(OnnxVariants, AnyTypeIsTakenOrRefused) {
  const Counts counts = import_all(fs::path(INGOT_ONNX_DATA) / "node", kTypes);
  EXPECT_GT(counts.taken, 300);
  EXPECT_GT(counts.refused, 300);
}

TEST(OnnxVariants, AnyTypeOfGeneratedModelsToo) {
  const Counts counts = import_all(INGOT_GENERATED_CASES, kTypes);
  EXPECT_GT(counts.taken, 300);
  EXPECT_GT(counts.refused, 300);
}

TEST(OnnxVariants, AnyInputMayBeLeftOut) {
  for (const fs::path& models :
       {fs::path(INGOT_ONNX_DATA) / "node", fs::path(INGOT_GENERATED_CASES)}) {
    const Counts counts = import_all(models, kFewerInputs);
    EXPECT_GT(counts.taken, 100);
    EXPECT_GT(counts.refused, 300);
  }
}

TEST(OnnxVariants, AnyAttributeIsTakenOrRefused) {
  const Counts counts = import_all(fs::path(INGOT_ONNX_DATA) / "node", kHostileNumbers);
  EXPECT_GT(counts.taken, 300);
  EXPECT_GT(counts.refused, 300);
}

TEST(OnnxVariants, AnyAttributeOfGeneratedModelsToo) {
  const Counts counts = import_all(INGOT_GENERATED_CASES, kHostileNumbers);
  EXPECT_GT(counts.taken, 300);
  EXPECT_GT(counts.refused, 300);
}

}  // namespace
}  // namespace ingot::testing
