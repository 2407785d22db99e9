// ingot/ingot.hpp: compiled models in C++20: move-only handles, spans, errors as values.
//
// Header-only, over ingot.h and, for Model::load(), ingot/loader.h (link libingot_loader and
// libingot_artifact). Nothing here throws unless INGOT_HPP_EXCEPTIONS is defined before the
// include: then Expected::value() throws ingot::api::Exception where it would otherwise abort.
#ifndef INGOT_INGOT_HPP_
#define INGOT_INGOT_HPP_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef INGOT_HPP_EXCEPTIONS
#include <stdexcept>
#endif

#include "ingot/loader.h"

namespace ingot::api {

/// What went wrong: the kind, and a text for a person.
struct Failure {
  ingot_status status;
  std::string message;
};

#ifdef INGOT_HPP_EXCEPTIONS
/// Thrown by Expected::value() of a failure.
class Exception : public std::runtime_error {
 public:
  explicit Exception(const Failure& failure)
      : std::runtime_error(failure.message), status_(failure.status) {}
  ingot_status status() const { return status_; }

 private:
  ingot_status status_;
};
#endif

/// A T or a Failure.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  Expected(Failure failure) : failure_(std::move(failure)) {}

  explicit operator bool() const { return value_.has_value(); }
  /// The value. There must be one.
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  /// The failure. There must be no value.
  const Failure& failure() const { return failure_; }
  /// The value; without one it throws Exception with INGOT_HPP_EXCEPTIONS, and otherwise
  /// prints the failure and aborts.
  T value() && {
    if (!value_) stop();
    return *std::move(value_);
  }

 private:
  [[noreturn]] void stop() const {
#ifdef INGOT_HPP_EXCEPTIONS
    throw Exception(failure_);
#else
    std::fprintf(stderr, "ingot: %s\n", failure_.message.c_str());
    std::abort();
#endif
  }

  std::optional<T> value_;
  Failure failure_{INGOT_OK, {}};
};

/// Nothing, for an Expected that only succeeds or fails.
struct Done {};

/// The dtype of a C++ element type; a specialisation more makes another type usable in tensors.
template <class T>
inline constexpr int32_t kDtype = INGOT_UNDEFINED;
template <>
inline constexpr int32_t kDtype<float> = INGOT_FLOAT32;
template <>
inline constexpr int32_t kDtype<double> = INGOT_FLOAT64;
template <>
inline constexpr int32_t kDtype<int8_t> = INGOT_INT8;
template <>
inline constexpr int32_t kDtype<int16_t> = INGOT_INT16;
template <>
inline constexpr int32_t kDtype<int32_t> = INGOT_INT32;
template <>
inline constexpr int32_t kDtype<int64_t> = INGOT_INT64;
template <>
inline constexpr int32_t kDtype<uint8_t> = INGOT_UINT8;
template <>
inline constexpr int32_t kDtype<uint16_t> = INGOT_UINT16;
template <>
inline constexpr int32_t kDtype<uint32_t> = INGOT_UINT32;
template <>
inline constexpr int32_t kDtype<uint64_t> = INGOT_UINT64;
template <>
inline constexpr int32_t kDtype<bool> = INGOT_BOOL;

/// A view of the caller's memory as a tensor. The memory must outlive it.
class Tensor {
 public:
  /// A dense, row-major tensor. As an input, T may be const.
  template <class T>
  Tensor(std::span<T> data, std::span<const int64_t> dims)
      : dtype_(kDtype<std::remove_const_t<T>>),
        data_(const_cast<std::remove_const_t<T>*>(data.data())),
        bytes_(data.size_bytes()),
        dims_(dims.begin(), dims.end()) {
    static_assert(kDtype<std::remove_const_t<T>> != INGOT_UNDEFINED,
                  "a tensor's element type needs an ingot::api::kDtype");
  }
  template <class T>
  Tensor(std::span<T> data, std::initializer_list<int64_t> dims)
      : Tensor(data, std::span<const int64_t>(dims.begin(), dims.size())) {}

  std::span<const int64_t> dims() const { return dims_; }
  /// As the C interface sees it; valid while this lives and stays in its place.
  ingot_tensor as_c() {
    ingot_tensor tensor = INGOT_INIT(ingot_tensor);
    tensor.dtype = dtype_;
    tensor.rank = static_cast<int32_t>(dims_.size());
    tensor.data = data_;
    tensor.data_bytes = bytes_;
    tensor.dims = dims_.data();
    return tensor;
  }

 private:
  int32_t dtype_;
  void* data_;
  size_t bytes_;
  std::vector<int64_t> dims_;
};

/// An output that the model has allocated; freed with this. It must not outlive its Model.
class Output {
 public:
  Output(const ingot_model_api* api, ingot_model* model, const ingot_tensor& tensor,
         std::vector<int64_t> dims)
      : api_(api), model_(model), tensor_(tensor), dims_(std::move(dims)) {}
  Output(Output&& other) noexcept
      : api_(other.api_),
        model_(other.model_),
        tensor_(std::exchange(other.tensor_, ingot_tensor{})),
        dims_(std::move(other.dims_)) {}
  Output& operator=(Output&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(model_, other.model_);
    std::swap(tensor_, other.tensor_);
    std::swap(dims_, other.dims_);
    return *this;
  }
  ~Output() { api_->free_output(model_, tensor_.data); }

  int32_t dtype() const { return tensor_.dtype; }
  std::span<const int64_t> dims() const { return dims_; }
  /// The elements in row-major order; empty if T is not the output's type.
  template <class T>
  std::span<const T> as() const {
    if (kDtype<T> != tensor_.dtype) return {};
    return {static_cast<const T*>(tensor_.data), tensor_.data_bytes / sizeof(T)};
  }

 private:
  const ingot_model_api* api_;
  ingot_model* model_;
  ingot_tensor tensor_;
  std::vector<int64_t> dims_;
};

/// An open model. Move-only; closed when it goes out of scope. Runs may be concurrent.
class Model {
 public:
  Model(Model&& other) noexcept : loaded_(std::exchange(other.loaded_, ingot_loaded{})) {}
  Model& operator=(Model&& other) noexcept {
    std::swap(loaded_, other.loaded_);
    return *this;
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() {
    if (loaded_.library != nullptr) {
      ingot_close(&loaded_);
    } else if (loaded_.model != nullptr) {
      loaded_.api->close(loaded_.model);
    }
  }

  /// Opens an artefact's file. Null options: the defaults.
  static Expected<Model> load(const std::string& path,
                              const ingot_open_options* options = nullptr) {
    ingot_loaded loaded = INGOT_INIT(ingot_loaded);
    const ingot_status status = ingot_open_file(path.c_str(), options, &loaded);
    if (status != INGOT_OK) return Failure{status, ingot_loader_error()};
    return Model(loaded);
  }
  /// Opens a model that is linked into the program: Model::open(ingot_model_v1()).
  static Expected<Model> open(const ingot_model_api* api,
                              const ingot_open_options* options = nullptr) {
    ingot_loaded loaded = INGOT_INIT(ingot_loaded);
    loaded.api = api;
    const ingot_status status = api->open(options, &loaded.model);
    if (status != INGOT_OK) return Failure{status, api->last_error()};
    return Model(loaded);
  }

  const ingot_model_api& api() const { return *loaded_.api; }
  ingot_model* handle() const { return loaded_.model; }
  const ingot_description& description() const { return *api().describe(handle()); }
  /// Null if there is no such input or output.
  const ingot_value_info* input(uint32_t index) const { return api().input(handle(), index); }
  const ingot_value_info* output(uint32_t index) const { return api().output(handle(), index); }

  /// The value of a metadata key, if there is one. It lives as long as the model.
  std::optional<std::string_view> metadata(std::string_view key) const {
    for (uint32_t i = 0; i < description().metadata_count; ++i) {
      const char *name = nullptr, *value = nullptr;
      if (api().metadata(handle(), i, &name, &value) == INGOT_OK && key == name) return value;
    }
    return std::nullopt;
  }

  /// Runs into the caller's memory.
  Expected<Done> run(std::span<Tensor> inputs, std::span<Tensor> outputs,
                     const ingot_run_options* options = nullptr) const {
    std::vector<ingot_tensor> in = as_c(inputs), out = as_c(outputs);
    return run_c(in, out, options);
  }
  Expected<Done> run(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs,
                     const ingot_run_options* options = nullptr) const {
    std::vector<Tensor> in(inputs), out(outputs);
    return run(std::span<Tensor>(in), std::span<Tensor>(out), options);
  }

  /// Runs and returns all outputs, in memory of the model's.
  Expected<std::vector<Output>> run(std::span<Tensor> inputs,
                                    const ingot_run_options* options = nullptr) const {
    std::vector<ingot_tensor> in = as_c(inputs), out;
    std::vector<std::vector<int64_t>> dims;
    for (uint32_t i = 0; i < description().output_count; ++i) {
      const ingot_value_info& info = *output(i);
      dims.emplace_back(static_cast<size_t>(info.rank));
      out.push_back(INGOT_INIT(ingot_tensor));
      out.back().dtype = info.dtype;
      out.back().rank = info.rank;
      out.back().dims = dims.back().data();
    }
    const Expected<Done> done = run_c(in, out, options);
    if (!done) return done.failure();
    std::vector<Output> outputs;
    outputs.reserve(out.size());
    for (size_t i = 0; i < out.size(); ++i) {
      outputs.emplace_back(loaded_.api, loaded_.model, out[i], std::move(dims[i]));
    }
    return outputs;
  }
  Expected<std::vector<Output>> run(std::initializer_list<Tensor> inputs,
                                    const ingot_run_options* options = nullptr) const {
    std::vector<Tensor> in(inputs);
    return run(std::span<Tensor>(in), options);
  }

  /// Replaces one constant; see ingot_model_api::set_constants for many.
  Expected<Done> set_constant(const std::string& name, Tensor value) const {
    const char* names = name.c_str();
    const ingot_tensor tensor = value.as_c();
    return check(api().set_constants(handle(), &names, &tensor, 1));
  }

 private:
  explicit Model(const ingot_loaded& loaded) : loaded_(loaded) {}

  static std::vector<ingot_tensor> as_c(std::span<Tensor> tensors) {
    std::vector<ingot_tensor> out;
    out.reserve(tensors.size());
    for (Tensor& tensor : tensors) out.push_back(tensor.as_c());
    return out;
  }
  Expected<Done> run_c(std::vector<ingot_tensor>& in, std::vector<ingot_tensor>& out,
                       const ingot_run_options* options) const {
    return check(api().run(handle(), in.data(), static_cast<uint32_t>(in.size()), out.data(),
                           static_cast<uint32_t>(out.size()), options));
  }
  Expected<Done> check(ingot_status status) const {
    if (status == INGOT_OK) return Done{};
    return Failure{status, api().last_error()};
  }

  ingot_loaded loaded_;
};

}  // namespace ingot::api

#endif  // INGOT_INGOT_HPP_
