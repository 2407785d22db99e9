// base/ids.h: typed 32-bit ids, so that a node's number cannot be taken for a value's.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace ingot {

/// A number that names one thing of the kind `Tag`: `using NodeId = Id<struct NodeTag>;`
template <class Tag>
struct Id {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  uint32_t value = kNone;

  constexpr Id() = default;
  explicit constexpr Id(uint32_t number) : value(number) {}
  explicit constexpr Id(size_t number) : value(static_cast<uint32_t>(number)) {}
  explicit constexpr Id(int number) : value(static_cast<uint32_t>(number)) {}

  /// Whether it names anything.
  constexpr bool valid() const { return value != kNone; }
  /// The number as an index into the vector that holds the things.
  constexpr size_t index() const { return value; }

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr std::strong_ordering operator<=>(Id, Id) = default;
};

/// "7", or "none".
template <class Tag>
std::string to_text(Id<Tag> id) {
  return id.valid() ? std::to_string(id.value) : "none";
}

}  // namespace ingot

template <class Tag>
struct std::hash<ingot::Id<Tag>> {
  size_t operator()(ingot::Id<Tag> id) const noexcept {
    // Fibonacci hashing: ids are dense, tables want spread bits.
    return static_cast<size_t>(id.value * uint64_t{0x9E3779B97F4A7C15});
  }
};
