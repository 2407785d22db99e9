// base/nearest.h: which known names a mistyped one may have meant, for messages.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace ingot {

/// Up to three of `known` that hold `name` or differ from it in at most half of its bytes (two in
/// short ones), nearest first, equally near ones by the alphabet. They are slices of `known`.
std::vector<std::string_view> nearest(std::string_view name,
                                      std::span<const std::string_view> known);

}  // namespace ingot
