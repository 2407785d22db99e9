// ops/custom.cc: an operator that the compiler's user brought as a C function.
#include "ops/custom.h"

#include <algorithm>

#include "base/text.h"
#include "ops/checks.h"

namespace ingot::ops {
namespace {

Status expect_held(std::string_view what, const Type& type) {
  const DType dtype = type.tensor.dtype;
  if (type.is_tensor() && dtype != DType::str && !is_complex(dtype)) return ok();
  return unsupported("custom: ", what, ": expected a tensor of numbers or booleans, got ", type);
}

}  // namespace

bool is_c_identifier(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

Result<Types> Custom::infer(InferContext& ctx) const {
  if (!is_c_identifier(function)) {  // C1
    return invalid_argument("custom: expected the name of a C function, got '", function, "'");
  }
  if (ctx.count() == 0 || outputs.empty()) {  // C2
    return unsupported("custom: expected at least one input and one output");
  }
  for (size_t k = 0; k < ctx.count(); ++k) {
    if (!ctx.has(k)) return unsupported("custom: input ", k, ": expected it to be there");
    TRY_STATUS(expect_held(concat("input ", k), ctx.inputs[k]));
  }
  Types types;
  for (const std::string& text : outputs) {
    TRY(Type type, add_note(parse_type(text, ctx.pool), "custom: output ", types.size()));
    TRY_STATUS(expect_held(concat("output ", types.size()), type));
    types.push_back(std::move(type));
  }
  return types;
}

Sample<Custom> Custom::sample(Random&) {
  return {{"Sample", "test", "sample", {"f32[]"}}, {TensorType{DType::f32, {}}}};
}

}  // namespace ingot::ops
