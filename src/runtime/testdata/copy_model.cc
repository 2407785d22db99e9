// runtime/testdata/copy_model.cc: must not compile: a Model cannot be copied.
#include "ingot/ingot.hpp"

ingot::api::Model copy(const ingot::api::Model& model) {
  return model;
}
