// ops/registry.h: the core operators by name.
#pragma once

#include <span>
#include <string_view>

#include "ir/op_def.h"

namespace ingot::ops {

/// The definitions, one function per line of ops.def.
#define INGOT_OP(name) const OpDef& define_##name();
#include "ops/ops.def"
#undef INGOT_OP

}  // namespace ingot::ops

namespace ingot {

/// The core operator called `name`, or null. Safe for concurrent use.
const OpDef* find_op(std::string_view name);

/// All core operators, sorted by name. Safe for concurrent use.
std::span<const OpDef* const> all_ops();

}  // namespace ingot
