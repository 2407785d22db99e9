// ops/if.cc: one of two bodies, chosen at run time.
#include "ir/graph.h"
#include "ops/checks.h"
#include "ops/control.h"
#include "ops/control_dims.h"
#include "ops/pointwise.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/slice.h"

namespace ingot::ops {
namespace {

Status check_body(std::string_view name, const GraphRef& body, const InferContext& ctx) {
  if (body == nullptr) return invalid_argument(If::kName, ": expected a ", name, ", got none");
  const size_t captures = ctx.count() - 1;
  if (body->inputs().size() != captures) {
    return invalid_argument(If::kName, ": ", name, ": expected ", captures, " inputs, got ",
                            body->inputs().size());
  }
  for (size_t k = 0; k < captures; ++k) {
    const Type& wanted = body->type(body->inputs()[k].value);
    if (ctx.has(k + 1) && is_compatible(wanted, ctx.inputs[k + 1])) continue;
    return invalid_argument(If::kName, ": ", name, ": expected input ", k, " of type ",
                            to_text(wanted), ", got ",
                            ctx.has(k + 1) ? to_text(ctx.inputs[k + 1]) : "none");
  }
  return ok();
}

}  // namespace

Result<Types> If::infer(InferContext& ctx) const {
  if (ctx.count() < 1 || !ctx.has(0)) return invalid_argument(kName, ": expected a condition");
  TRY_STATUS(expect_scalar(kName, "condition", ctx.inputs[0], DType::b8));  // C1
  TRY_STATUS(check_body("then_body", then_body, ctx));                      // C2
  TRY_STATUS(check_body("else_body", else_body, ctx));                      // C2
  const auto& thens = then_body->outputs();
  const auto& elses = else_body->outputs();
  if (thens.size() != elses.size()) {  // C3
    return invalid_argument(kName, ": the then_body has ", thens.size(), " outputs, the else_body ",
                            elses.size());
  }
  DimJoiner joiner(ctx, kName);
  Types types;
  for (size_t k = 0; k < thens.size(); ++k) {
    const Type& a = then_body->type(thens[k].value);
    const Type& b = else_body->type(elses[k].value);
    if (a.is_container() && !a.is_nothing() && a == b) {
      types.push_back(a);
      continue;
    }
    if (!a.is_tensor() || !b.is_tensor()) {
      return unsupported(kName, ": output ", k, ": expected one type of both bodies, got ", a,
                         " and ", b);
    }
    if (a.tensor.dtype != b.tensor.dtype || a.tensor.rank() != b.tensor.rank()) {  // C3
      return unsupported(kName, ": output ", k,
                         ": expected one dtype and rank of both bodies, got ", a, " and ", b);
    }
    types.push_back(TensorType{a.tensor.dtype, joiner.join(a.tensor.dims, b.tensor.dims)});
  }
  return types;
}

std::vector<Tensor> If::reference(const ReferenceContext& ctx) const {
  Interpreter interpreter(ctx.in[0].integer(0) != 0 ? *then_body : *else_body);
  interpreter.known_symbols.assign(ctx.symbols.begin(), ctx.symbols.end());
  auto outputs = interpreter.run(ctx.in.subspan(1));
  if (!outputs) return ctx.fail(std::move(outputs.error()));
  return *std::move(outputs);
}

Sample<If> If::sample(Random& rng, ExprPool& pool) {
  const std::shared_ptr<ExprPool> shared(std::shared_ptr<void>(), &pool);  // outlives the bodies
  const int64_t rows = rng.range(2, 5);
  const TensorType type{DType::f32, constant_dims(pool, {rows, rng.range(1, 20)})};
  // Sometimes the branches give a different number of rows.
  const int64_t kept = rng.range(1, rows);
  const auto make_body = [&](bool is_then) {
    auto body = std::make_shared<Graph>(shared);
    const ValueId a = body->add_input("a", type);
    const ValueId b = body->add_input("b", type);
    const Expr p0 = pool.param(0, DType::f32), p1 = pool.param(1, DType::f32);
    ValueId y = body->must_add(Pointwise{is_then ? p0 + p1 : p0 * p1, DType::f32}, {a, b});
    if (!is_then) {
      y = body->must_add(
          Slice{constant_dims(pool, {0, 0}), {pool.integer(kept), type.dims[1]}, {1, 1}}, {y});
    }
    const ValueId z = body->must_add(Pointwise{p0 - p1, DType::f32}, {b, a});
    body->set_outputs({{"y", y}, {"z", z}});
    return body;
  };
  return {
      {make_body(true), make_body(false)}, {TensorType{DType::b8, {}}, type, type}, {{0, {0, 1}}}};
}

const OpDef& define_if() {
  return define<If>();
}

}  // namespace ingot::ops
