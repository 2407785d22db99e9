// runtime/testdata/odd_element.cc: must not compile: a tensor of a type that is no element type.
#include "ingot/ingot.hpp"

struct Point {
  float x, y;
};

ingot::api::Tensor view(std::span<Point> points) {
  return ingot::api::Tensor(points, {4});
}
