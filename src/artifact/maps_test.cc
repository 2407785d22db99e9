// artifact/maps_test.cc: maps of the caller: what is refused, and what the routines make of them.
#include <gtest/gtest.h>

#include <string>

#include "artifact/error.h"
#include "artifact/handles.h"

namespace ingot::artifact {
namespace {

/// A map from two numbers that tests damage.
struct Map {
  int64_t keys[2] = {7, -7};
  float values[2] = {0.5, 1.5};
  int64_t dims[2] = {2, 2};
  ingot_tensor items[2] = {};
  ingot_container container = INGOT_INIT(ingot_container);
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);

  Map() {
    for (int k = 0; k < 2; ++k) {
      items[k].struct_size = sizeof(ingot_tensor);
      items[k].dtype = k == 0 ? INGOT_INT64 : INGOT_FLOAT32;
      items[k].rank = 1;
      items[k].dims = &dims[k];
      items[k].data = k == 0 ? static_cast<void*>(keys) : values;
    }
    container.count = 2;
    container.items = items;
    tensor.kind = INGOT_KIND_MAP;
    tensor.data = &container;
  }
};

Port port_of(i32 kind, i32 element_kind) {
  Port port = {};
  port.name = "m";
  port.dtype = INGOT_FLOAT32;
  port.kind = kind;
  port.element_kind = element_kind;
  port.handles = Handles::containers;
  port.key_dtype = INGOT_INT64;
  return port;
}

std::string check(const ingot_tensor& tensor, const Port& port) {
  return check_handles(tensor, port) == INGOT_OK ? "" : last_error();
}

TEST(Maps, AreRefusedIfDamaged) {
  const Port port = port_of(INGOT_KIND_MAP, INGOT_KIND_TENSOR);
  EXPECT_EQ(check(Map().tensor, port), "");
  const auto damaged = [&](auto damage) {
    Map map;
    damage(map);
    return check(map.tensor, port);
  };
  EXPECT_EQ(damaged([](Map& m) { m.tensor.data = nullptr; }),
            "input 'm': expected data to point to an ingot_container with its struct_size");
  EXPECT_EQ(damaged([](Map& m) { m.container.count = 1; }),
            "input 'm': expected a map's keys and values, got 1 items");
  EXPECT_EQ(damaged([](Map& m) { m.items[0].dtype = INGOT_STRING; }),
            "input 'm': item 0: expected int64, got string (dtype 8)");
  EXPECT_EQ(damaged([](Map& m) { m.items[1].dtype = INGOT_INT64; }),
            "input 'm': item 1: expected float32, got int64 (dtype 7)");
  const std::string apart =
      "input 'm': expected keys and values of a map to be two lists of one length";
  EXPECT_EQ(damaged([](Map& m) { m.dims[1] = 1; }), apart);
  EXPECT_EQ(damaged([](Map& m) { m.items[0].rank = 0; }), apart);
  EXPECT_EQ(damaged([](Map& m) { m.items[1].kind = INGOT_KIND_MAP; }),
            "input 'm': item 1: expected a tensor, got a map");
}

TEST(Maps, AreItemsOfSequences) {
  const Port port = port_of(INGOT_KIND_SEQUENCE, INGOT_KIND_MAP);
  Map map;
  ingot_container sequence = INGOT_INIT(ingot_container);
  sequence.count = 1;
  sequence.items = &map.tensor;
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);
  tensor.kind = INGOT_KIND_SEQUENCE;
  tensor.data = &sequence;
  EXPECT_EQ(check(tensor, port), "");
  map.tensor.kind = INGOT_KIND_OPTIONAL;
  EXPECT_EQ(check(tensor, port), "input 'm': item 0: expected a map, got an optional");
  map.tensor.kind = INGOT_KIND_MAP;
  map.dims[0] = 1;
  EXPECT_EQ(check(tensor, port),
            "input 'm': expected keys and values of a map to be two lists of one length");
}

}  // namespace
}  // namespace ingot::artifact
