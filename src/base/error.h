// base/error.h: what went wrong, as a value: a code, a message for a person, and where it happened.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// The kinds of failure; error.def maps each to the statuses of the C ABI, the shell and servers.
enum class Code : uint8_t {
#define INGOT_ERROR_CODE(enumerator, name, abi, exit, http, grpc) enumerator,
#include "base/error.def"
#undef INGOT_ERROR_CODE
};

/// The code's name, such as "invalid_argument".
std::string_view to_text(Code code);
/// The status that functions of the C ABI return; never 0.
int abi_status(Code code);
/// The exit status of the command line; never 0.
int exit_status(Code code);
/// The HTTP response status.
int http_status(Code code);
/// The gRPC status number.
int grpc_status(Code code);
/// The code with this C ABI status; kInternal for a number outside the table.
Code code_from_abi_status(int status);

/// What went wrong, for a person: where, what was expected, what was got.
struct Error {
  Code code;
  std::string message;
  std::vector<std::string> notes;  // outermost first: file, node, op
};

/// The notes, outermost first, and the message, joined by ": ".
std::string to_text(const Error& error);

namespace detail {

template <class T>
concept HasToText = requires(const T& value) {
  { to_text(value) } -> std::convertible_to<std::string_view>;
};

template <class T>
void append_part(std::string& out, const T& part) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    out += std::string_view(part);
  } else if constexpr (fmt::is_formattable<T>::value && !std::ranges::range<T>) {
    out += fmt::format("{}", part);
  } else if constexpr (HasToText<T>) {
    out += std::string_view(to_text(part));
  } else {
    static_assert(std::ranges::range<T>,
                  "a part of a message: something {fmt} or to_text() prints");
    out += '[';
    bool first = true;
    for (const auto& element : part) {
      if (!std::exchange(first, false)) out += ", ";
      append_part(out, element);
    }
    out += ']';
  }
}

}  // namespace detail

/// The parts' texts one after the other. A part is anything that {fmt} prints, anything with a
/// to_text() beside its type, or a range of such things ("[1, 2]").
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (detail::append_part(out, parts), ...);
  return out;
}

/// Factories: `return unsupported("softmax: expected a float, got ", dtype);`
#define INGOT_ERROR_FACTORY(function, code)                  \
  template <class... Parts>                                  \
  [[nodiscard]] Error function(const Parts&... parts) {      \
    return Error{Code::code, ::ingot::concat(parts...), {}}; \
  }
INGOT_ERROR_FACTORY(invalid_argument, kInvalidArgument)
INGOT_ERROR_FACTORY(unsupported, kUnsupported)
INGOT_ERROR_FACTORY(invalid_model, kInvalidModel)
INGOT_ERROR_FACTORY(io_error, kIo)
INGOT_ERROR_FACTORY(toolchain_error, kToolchain)
INGOT_ERROR_FACTORY(resource_exhausted, kResourceExhausted)
INGOT_ERROR_FACTORY(wrong_target, kWrongTarget)
INGOT_ERROR_FACTORY(device_error, kDevice)
INGOT_ERROR_FACTORY(cancelled, kCancelled)
INGOT_ERROR_FACTORY(internal_error, kInternal)
INGOT_ERROR_FACTORY(deadline_exceeded, kDeadline)
#undef INGOT_ERROR_FACTORY

/// The error with one more place around it: becomes the outermost note.
template <class... Parts>
[[nodiscard]] Error add_note(Error error, const Parts&... parts) {
  error.notes.insert(error.notes.begin(), concat(parts...));
  return error;
}

}  // namespace ingot
