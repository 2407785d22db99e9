// tests/pass_variants.cc: what differential tests switch off.
#include "tests/pass_variants.h"

#include "base/text.h"
#include "passes/fuse.h"

namespace ingot {

std::vector<PassVariant> pass_variants() {
  std::vector<PassVariant> variants = {{"all", {}}};
  PassVariant none{"without_any", {}};
  const auto add = [&](std::string_view name) {
    variants.push_back({concat("without_", name), {std::string(name)}});
    none.disabled.emplace(name);
  };
  for (const Pass& pass : pipeline()) {
    if (pass.name != "legalize") add(pass.name);
  }
  for (const std::string_view part : fuse_parts()) add(part);
  variants.push_back(std::move(none));
  return variants;
}

}  // namespace ingot
