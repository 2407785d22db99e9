// tests/pass_variants.h: what differential tests switch off, so that every pass is seen to be right
// and to be no one's crutch.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace ingot {

/// What is disabled in one run.
struct PassVariant {
  std::string name;  // "all", "without_layout", "without_any"
  std::set<std::string, std::less<>> disabled;
};

/// First nothing, then each pass and each part of fusion by itself, at last all of them. What no
/// compilation can do without stays: legalize, and fuse with one op a region.
std::vector<PassVariant> pass_variants();

}  // namespace ingot
