// base/result.h: Result<T>, a value or an Error, and TRY, which leaves a function with the Error.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.h"

namespace ingot {

/// A value or an Error. The only way in which a function at an edge of the system fails.
template <class T = void>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  /// From a T or anything that converts to one, itself and Error excepted.
  template <class U = T>
  requires(std::convertible_to<U&&, T> && !std::same_as<std::remove_cvref_t<U>, Result> &&
           !std::same_as<std::remove_cvref_t<U>, Error>)
      // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
      Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  /// The value. The result must hold one.
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  /// The error. The result must hold one.
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  /// The error. The result must hold one.
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<std::monostate, Error> state_;
};

using Status = Result<void>;

/// `return ok();`: success of a function that returns a Status.
inline Status ok() {
  return {};
}

/// The result with one more place around its error, if it is one: `add_note(read(file), file)`.
template <class T, class... Parts>
Result<T> add_note(Result<T> result, const Parts&... parts) {
  if (!result) return add_note(std::move(result.error()), parts...);
  return result;
}

}  // namespace ingot

#define INGOT_PASTE_(a, b) a##b
#define INGOT_PASTE(a, b) INGOT_PASTE_(a, b)
#define INGOT_UNIQUE(prefix) INGOT_PASTE(prefix, __LINE__)

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
/// TRY(auto types, op.infer(inputs)): declares `types`, or leaves the function with the Error.
#define TRY(declaration, ...)                                                  \
  auto INGOT_UNIQUE(result_) = (__VA_ARGS__);                                  \
  if (!INGOT_UNIQUE(result_)) return std::move(INGOT_UNIQUE(result_).error()); \
  declaration = *std::move(INGOT_UNIQUE(result_))
// NOLINTEND(bugprone-macro-parentheses)

/// TRY_STATUS(verify(graph)): goes on, or leaves the function with the Error.
#define TRY_STATUS(...)                                                            \
  do {                                                                             \
    if (auto status_ = (__VA_ARGS__); !status_) return std::move(status_.error()); \
  } while (false)
