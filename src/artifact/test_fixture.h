// artifact/test_fixture.h: how the tests open the models of testdata/ and hand them tensors.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ingot/ingot.h"

namespace ingot::artifact {

inline const ingot_model_api* load_fixture(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return nullptr;
  }
  return reinterpret_cast<const ingot_model_api* (*)()>(dlsym(library, "ingot_model_v1"))();
}

inline std::string fixture_path(const std::string& name) {
  return std::string(INGOT_FIXTURES) + "/" + name + ".so";
}

/// An open model of a fixture, closed at the end.
class Fixture {
 public:
  explicit Fixture(const std::string& name,
                   ingot_open_options options = INGOT_INIT(ingot_open_options))
      : api(load_fixture(fixture_path(name))) {
    EXPECT_EQ(api->open(&options, &model), INGOT_OK) << api->last_error();
  }
  ~Fixture() { api->close(model); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  std::string error() const { return api->last_error(); }

  const ingot_model_api* api;
  ingot_model* model = nullptr;
};

/// A tensor with memory of its own.
template <class T>
struct Owned {
  std::vector<int64_t> dims;
  std::vector<T> data;
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);

  Owned(int32_t dtype, std::vector<int64_t> d, std::vector<T> values)
      : dims(std::move(d)), data(std::move(values)) {
    tensor.dtype = dtype;
    tensor.rank = static_cast<int32_t>(dims.size());
    tensor.dims = dims.data();
    tensor.data = data.data();
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

inline ingot_tensor unknown_output(int32_t dtype) {
  ingot_tensor tensor = INGOT_INIT(ingot_tensor);
  tensor.dtype = dtype;
  return tensor;
}

}  // namespace ingot::artifact
