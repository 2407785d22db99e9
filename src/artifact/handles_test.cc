// artifact/handles_test.cc: containers and strings of the caller: what is refused, and round trips.
#include "artifact/handles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "artifact/bind.h"
#include "artifact/error.h"

namespace ingot::artifact {
namespace {

Port port_of(i32 dtype, i32 kind, i32 element_kind, Handles handles) {
  Port port = {};
  port.name = "x";
  port.dtype = dtype;
  port.kind = kind;
  port.element_kind = element_kind;
  port.handles = handles;
  return port;
}
const Port kSequence =
    port_of(INGOT_FLOAT32, INGOT_KIND_SEQUENCE, INGOT_KIND_TENSOR, Handles::containers);
const Port kOptional =
    port_of(INGOT_FLOAT32, INGOT_KIND_OPTIONAL, INGOT_KIND_SEQUENCE, Handles::containers);

/// A sequence of two tensors that tests damage.
struct Sequence {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t dims[2][2] = {{2, 3}, {1, 2}};
  ingot_tensor items[2] = {};
  ingot_container container = INGOT_INIT(ingot_container);
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);

  Sequence() {
    for (int k = 0; k < 2; ++k) {
      items[k].struct_size = sizeof(ingot_tensor);
      items[k].dtype = INGOT_FLOAT32;
      items[k].rank = 2;
      items[k].dims = dims[k];
      items[k].data = data;
    }
    container.count = 2;
    container.items = items;
    tensor.kind = INGOT_KIND_SEQUENCE;
    tensor.data = &container;
  }

  std::string check(const Port& port = kSequence) const {
    return check_handles(tensor, port) == INGOT_OK ? "" : last_error();
  }
};

TEST(Handles, RefuseDamagedSequences) {
  EXPECT_EQ(Sequence().check(), "");
  const auto damaged = [](auto damage) {
    Sequence s;
    damage(s);
    return s.check();
  };
  EXPECT_EQ(damaged([](Sequence& s) { s.tensor.data = nullptr; }),
            "input 'x': expected data to point to an ingot_container with its struct_size");
  EXPECT_EQ(damaged([](Sequence& s) { s.container.struct_size = 0; }),
            "input 'x': expected data to point to an ingot_container with its struct_size");
  EXPECT_EQ(damaged([](Sequence& s) { s.container.count = -1; }),
            "input 'x': expected 0..2147483647 items, got -1");
  EXPECT_EQ(damaged([](Sequence& s) { s.container.items = nullptr; }),
            "input 'x': expected items at an aligned address, got (nil)");
  EXPECT_THAT(damaged([](Sequence& s) {
                s.container.items =
                    reinterpret_cast<ingot_tensor*>(reinterpret_cast<char*>(s.container.items) + 4);
              }),
              testing::StartsWith("input 'x': expected items at an aligned address, got 0x"));
  EXPECT_EQ(damaged([](Sequence& s) { s.items[1].struct_size = 55; }),
            "input 'x': item 1: struct_size is 55, expected 56; initialise with INGOT_INIT");
  EXPECT_EQ(damaged([](Sequence& s) { s.items[1].dtype = INGOT_INT64; }),
            "input 'x': item 1: expected float32, got int64 (dtype 7)");
  EXPECT_EQ(damaged([](Sequence& s) { s.items[1].kind = INGOT_KIND_SEQUENCE; }),
            "input 'x': item 1: expected a tensor, got a sequence");
  EXPECT_EQ(damaged([](Sequence& s) { s.items[0].rank = 65; }),
            "input 'x': item 0: expected dims for its rank and no strides");
  EXPECT_EQ(damaged([](Sequence& s) { s.dims[1][0] = -1; }),
            "input 'x': item 1: dim 0: expected 0..2147483647, got -1");
  EXPECT_EQ(damaged([](Sequence& s) { s.items[0].data = nullptr; }),
            "input 'x': item 0: expected 24 aligned bytes for its dims");
  EXPECT_EQ(damaged([](Sequence& s) { s.items[0].data_bytes = 23; }),
            "input 'x': item 0: expected 24 aligned bytes for its dims");
  EXPECT_EQ(damaged([](Sequence& s) { s.dims[0][0] = s.dims[0][1] = 0x7fffffff; }),
            "input 'x': item 0: expected 9223372036854775807 aligned bytes for its dims");
}

TEST(Handles, RefuseDamagedOptionals) {
  Sequence inner;
  ingot_tensor items[2] = {inner.tensor, inner.tensor};
  ingot_container container = INGOT_INIT(ingot_container);
  container.items = items;
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);
  tensor.kind = INGOT_KIND_OPTIONAL;
  tensor.data = &container;
  const auto check = [&](int64_t count) {
    container.count = count;
    return check_handles(tensor, kOptional) == INGOT_OK ? std::string() : last_error();
  };
  EXPECT_EQ(check(0), "");
  EXPECT_EQ(check(1), "");
  EXPECT_EQ(check(2), "input 'x': expected 0..1 items, got 2");
  items[0].kind = INGOT_KIND_TENSOR;
  EXPECT_EQ(check(1), "input 'x': item 0: expected a sequence, got a tensor");
  items[0].kind = INGOT_KIND_SEQUENCE;
  inner.items[0].rank = -1;
  EXPECT_EQ(check(1), "input 'x': item 0: expected dims for its rank and no strides");
}

TEST(Handles, RefuseStringsWithoutBytes) {
  Port port = port_of(INGOT_STRING, INGOT_KIND_TENSOR, 0, Handles::strings);
  port.rank = 1;
  ingot_string strings[2] = {{nullptr, 0}, {nullptr, 1}};
  int64_t dims[1] = {2};
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);
  tensor.dtype = INGOT_STRING;
  tensor.rank = 1;
  tensor.dims = dims;
  tensor.data = strings;
  EXPECT_EQ(check_handles(tensor, port), INGOT_INVALID_ARGUMENT);
  EXPECT_STREQ(last_error(), "input 'x': string 1: expected bytes for its length, got (nil) and 1");
}

TEST(Handles, GoInAndOut) {
  Sequence given;
  RunHeap heap;
  void* handles = nullptr;
  ASSERT_EQ(take_handles(heap, given.tensor, kSequence, given.tensor.data, &handles), INGOT_OK);
  const i64 bytes = packed_bytes(kSequence, handles, 1);
  std::vector<uint64_t> block(static_cast<size_t>(bytes) / 8 + 1);
  pack_handles(kSequence, handles, 1, block.data());
  given.data[0] = 9;  // what was packed is a copy
  const auto& packed = *reinterpret_cast<const ingot_container*>(block.data());
  ASSERT_EQ(packed.count, 2);
  EXPECT_EQ(packed.items[1].dims[1], 2);
  EXPECT_EQ(packed.items[0].data_bytes, 24u);
  EXPECT_EQ(static_cast<const float*>(packed.items[0].data)[0], 1);
}

}  // namespace
}  // namespace ingot::artifact
