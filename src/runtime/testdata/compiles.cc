// runtime/testdata/compiles.cc: compiles, so that the files beside it fail for their own reasons.
#include "ingot/ingot.hpp"

ingot::api::Model move(ingot::api::Model&& model) {
  return std::move(model);
}

ingot::api::Tensor view(std::span<const float> numbers) {
  return ingot::api::Tensor(numbers, {4});
}
