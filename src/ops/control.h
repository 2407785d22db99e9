// ops/control.h: control flow: operators whose bodies are graphs that run zero or more times.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y.. = condition ? then_body(x..) : else_body(x..). Both bodies share the pool of the graph
/// around them and take all of x.
struct If {
  GraphRef then_body = {};
  GraphRef else_body = {};

  static constexpr std::string_view kName = "if";
  static constexpr std::string_view kDoc =
      "y.. = condition ? then_body(x..) : else_body(x..); only one body runs.\n"
      "C1: condition is one b8.\n"
      "C2: both bodies have as many inputs as there are x, of their types.\n"
      "C3: both bodies have the same number of outputs, in pairs of one dtype and rank, or of one "
      "type of container. A dim that differs between them, or that a body finds out while it runs, "
      "becomes a data-dependent symbol.\n"
      "Sources: ONNX If-25.";
  static constexpr std::array kInputs = {Port{"condition", "b8[]"},
                                         Port{"x", "what the bodies read", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "as the bodies' outputs", PortKind::variadic}};
  static constexpr auto kFields =
      std::tuple{field("then_body", &If::then_body), field("else_body", &If::else_body)};
  static constexpr Accuracy kAccuracy = rounding(16);  // that of a few operators
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<If> sample(Random& rng, ExprPool& pool);
};

/// for (i = 0; i < trips && condition; ++i) condition, v.., s.. = body(i, condition, v.., x..).
struct Loop {
  GraphRef body = {};
  int64_t carried = 0;  // number of v
  /// How often the body runs, where that is known from the dims: one i64 expression, or nothing.
  Exprs trip_count = {};

  static constexpr std::string_view kName = "loop";
  static constexpr std::string_view kDoc =
      "for (i = 0; i < trips && condition; ++i) condition, v.., s.. = body(i, condition, v.., "
      "x..); "
      "y.. = v.., then every s of all turns stacked along a new dim 0.\n"
      "C1: trips is one i64, condition one b8.\n"
      "C2: the body's inputs are i64[], b8[], the v and the x; its outputs are b8[], the v and the "
      "s.\n"
      "C3: a dim of v that differs from turn to turn is a data-dependent symbol in the body's "
      "input. It, and every dim of s that the body finds out while it runs, is another one in y.\n"
      "C4: the s of one loop have the same dims in every turn; checked at run time.\n"
      "Sources: ONNX Loop-25.";
  static constexpr std::array kInputs = {
      Port{"trips", "i64[]"}, Port{"condition", "b8[], before the first turn"},
      Port{"v", "carried values, then the x that the body reads", PortKind::variadic}};
  static constexpr std::array kOutputs = {
      Port{"y", "the last v, then the stacked s", PortKind::variadic}};
  static constexpr auto kFields =
      std::tuple{field("body", &Loop::body), field("carried", &Loop::carried),
                 field("trip_count", &Loop::trip_count)};
  static constexpr Accuracy kAccuracy = rounding(64);  // a few operators, a few turns
  /// Inputs of the op and of the body in front of v.
  static constexpr size_t kHead = 2;
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<Loop> sample(Random& rng, ExprPool& pool);

  size_t carried_count() const { return static_cast<size_t>(carried); }
};

/// Whether the bodies of the op run as programs of their own. (A fusion's body is no such thing: it
/// becomes one kernel.)
bool is_control(const OpDef& def);
inline bool is_control(const OpRef& op) {
  return is_control(op.def());
}
/// The bodies of such an op in the order of its fields; none for other ops.
std::vector<GraphRef> bodies_of(const OpRef& op);
/// The same op with other bodies.
OpRef with_bodies(const OpRef& op, std::span<const GraphRef> bodies);
/// How many of the op's first inputs are no captures: the bodies' inputs from number
/// `body_captures(op)` on are the op's from number `first_capture(op)` on.
size_t first_capture(const OpRef& op);
size_t body_captures(const OpRef& op);

}  // namespace ingot::ops
