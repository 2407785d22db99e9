// ops/custom.h: an operator that the compiler's user brought as a C function.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y0, y1, ... = function(x0, x1, ...), a C function with the signature of ingot/custom.h. It is
/// not in ops.def, because it has no meaning that tests could derive, nor a reference.
struct Custom {
  std::string op_type;  // the model's name for it, for messages
  std::string domain;
  std::string function;              // its C name
  std::vector<std::string> outputs;  // their types as text, such as "f32[batch, 3]"

  static constexpr std::string_view kName = "custom";
  static constexpr std::string_view kDoc =
      "y0, y1, ... = function(x0, x1, ...), a pure C function linked into the artefact.\n"
      "C1: function is a C identifier.\n"
      "C2: there is an input and an output; all are tensors of numbers or booleans.";
  static constexpr std::array kInputs = {Port{"x", "tensors", PortKind::variadic}};
  static constexpr std::array kOutputs = {
      Port{"y", "tensors of the given types", PortKind::variadic}};
  static constexpr auto kFields =
      std::tuple{field("op_type", &Custom::op_type), field("domain", &Custom::domain),
                 field("function", &Custom::function), field("outputs", &Custom::outputs)};
  static constexpr Accuracy kAccuracy = exact();       // it is what it is
  static constexpr RoutineInfo kRoutine = {"custom"};  // the field `function` has the symbol
  Result<Types> infer(InferContext& ctx) const;
  static Sample<Custom> sample(Random& rng);
};

/// Whether a text is the name of a C function that generated code can declare.
bool is_c_identifier(std::string_view text);

}  // namespace ingot::ops
