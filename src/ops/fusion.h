// ops/fusion.h: a closed region of the graph that becomes one kernel.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y... = body(x...). The body is a graph that shares the pool of the graph around it.
struct Fusion {
  GraphRef body = {};
  std::string kind = {};  // how code generation realises it, such as "loops"; no meaning here

  static constexpr std::string_view kName = "fusion";
  static constexpr std::string_view kDoc =
      "y.. = body(x..): a region that the fusion pass closed. kind names its way of code "
      "generation "
      "and does not change its meaning.\n"
      "C1: there is a body with as many inputs as there are x.\n"
      "C2: x.. have the types of the body's inputs.\n"
      "Sources: none; made by passes.";
  static constexpr std::array kInputs = {Port{"x", "as the body's inputs", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "as the body's outputs", PortKind::variadic}};
  static constexpr auto kFields =
      std::tuple{field("body", &Fusion::body), field("kind", &Fusion::kind)};
  static constexpr Accuracy kAccuracy = rounding(16);  // a chain of a few operators
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  /// Bodies of ops that have `lower` themselves, constants of one element.
  Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;
  static Sample<Fusion> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
