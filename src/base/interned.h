// base/interned.h: texts by number, so that a text takes no more than an integer to hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

/// The number of a text: equal for equal texts, 0 for the empty one. Texts are kept until the
/// process ends. Safe to call from many threads.
int64_t intern(std::string_view text);
/// The text of such a number. The reference holds until the process ends.
const std::string& interned(int64_t number);

}  // namespace ingot
