// codegen/resources.cc: finds embedded files in the table that the build makes.
#include "codegen/resources.h"

#include <algorithm>

#include "base/check.h"

namespace ingot {

std::string_view resource(std::string_view name) {
  const auto all = resources();
  const auto at = std::ranges::find(all, name, &Resource::name);
  CHECK(at != all.end(), "the build embeds '", name, "'");
  return at->bytes;
}

}  // namespace ingot
