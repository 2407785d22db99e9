// ops/pad.h: more elements around a tensor.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = x with `begin` elements before and `end` after it along each dim.
struct Pad {
  Exprs begin = {};
  Exprs end = {};
  std::string mode = "constant";  // "constant", "reflect", "edge" or "wrap"

  static constexpr std::string_view kName = "pad";
  static constexpr std::string_view kDoc =
      "y[i..] = x[i - begin ..]; outside x, by mode: constant: value (0 if absent); edge: the "
      "nearest element; reflect: mirrored at the first and last element, without repeating them; "
      "wrap: periodic. Beyond one period reflect goes on reflecting.\n"
      "C1: begin and end have one expression per dim, constants >= 0.\n"
      "C2: mode is constant, reflect, edge or wrap.\n"
      "C3: value is a scalar of the type of x, for mode constant only.\n"
      "C4: a dim that is padded by another mode than constant is not 0.\n"
      "Sources: ONNX Pad-19, numpy.pad. Negative pads are slices.";
  static constexpr std::array kInputs = {Port{"x", "any rank and type"},
                                         Port{"value", "a scalar", PortKind::optional}};
  static constexpr std::array kOutputs = {Port{"y", "dims of x + begin + end"}};
  static constexpr auto kFields =
      std::tuple{field("begin", &Pad::begin), field("end", &Pad::end), field("mode", &Pad::mode)};
  static constexpr Accuracy kAccuracy = exact();  // moves elements
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Pad> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
