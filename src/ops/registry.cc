// ops/registry.cc: the core operators by name.
#include "ops/registry.h"

#include <algorithm>

#include "ir/graph.h"

namespace ingot::ops {

const OpDef& define_constant() {
  return define<Constant>();
}
const OpDef& define_unimplemented() {
  return define<Unimplemented>();
}

}  // namespace ingot::ops

namespace ingot {

std::span<const OpDef* const> all_ops() {
  static const std::array ops = {
#define INGOT_OP(name) &ops::define_##name(),
#include "ops/ops.def"
#undef INGOT_OP
  };
  return ops;
}

const OpDef* find_op(std::string_view name) {
  const auto ops = all_ops();
  const auto found =
      std::lower_bound(ops.begin(), ops.end(), name,
                       [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return found != ops.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace ingot
