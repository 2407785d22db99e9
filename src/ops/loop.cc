// ops/loop.cc: a body that runs again and again with the values it gave out.
#include "ir/graph.h"
#include "ops/checks.h"
#include "ops/concat.h"
#include "ops/control.h"
#include "ops/control_dims.h"
#include "ops/pointwise.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

Status expect_tensor_like(std::string_view what, size_t k, const Type& type, const Type& wanted) {
  if (type.is_container() && !type.is_nothing() && type == wanted) return ok();
  if (type.is_tensor() && wanted.is_tensor() && type.tensor.dtype == wanted.tensor.dtype &&
      type.tensor.rank() == wanted.tensor.rank()) {
    return ok();
  }
  return unsupported(Loop::kName, ": ", what, " ", k, ": expected one like ", wanted, ", got ",
                     type);
}

/// C1 and C2, but for the dims.
Status check_interface(const Loop& loop, const InferContext& ctx) {
  const size_t carried = loop.carried_count();
  if (loop.body == nullptr) return invalid_argument(Loop::kName, ": expected a body, got none");
  if (loop.carried < 0 || ctx.count() < Loop::kHead + carried) {
    return invalid_argument(Loop::kName, ": expected at least ", Loop::kHead, " inputs and ",
                            loop.carried, " carried values, got ", ctx.count(), " inputs");
  }
  if (loop.body->inputs().size() != ctx.count() || loop.body->outputs().size() < 1 + carried) {
    return invalid_argument(Loop::kName, ": body: expected ", ctx.count(), " inputs and at least ",
                            1 + carried, " outputs, got ", loop.body->inputs().size(), " and ",
                            loop.body->outputs().size());
  }
  for (size_t k = 0; k < ctx.count(); ++k) {
    if (!ctx.has(k)) return invalid_argument(Loop::kName, ": input ", k, " is missing");
    const Type& inner = loop.body->type(loop.body->inputs()[k].value);
    TRY_STATUS(expect_tensor_like("input", k, ctx.inputs[k], inner));
    if (k >= Loop::kHead + carried && !is_compatible(inner, ctx.inputs[k])) {
      return invalid_argument(Loop::kName, ": input ", k, ": expected ", inner, ", got ",
                              ctx.inputs[k]);
    }
  }
  TRY_STATUS(expect_scalar(Loop::kName, "trips", ctx.inputs[0], DType::i64));
  TRY_STATUS(expect_scalar(Loop::kName, "condition", ctx.inputs[1], DType::b8));
  return expect_scalar(Loop::kName, "body's condition",
                       loop.body->type(loop.body->outputs()[0].value), DType::b8);
}

}  // namespace

Result<Types> Loop::infer(InferContext& ctx) const {
  TRY_STATUS(check_interface(*this, ctx));
  TRY_STATUS(expect_dim_exprs(kName, "trip_count", trip_count));
  DimJoiner joiner(ctx, kName);
  Types types;
  for (size_t k = 0; k < carried_count(); ++k) {
    const Type& inner = body->type(body->inputs()[kHead + k].value);
    const Type& next = body->type(body->outputs()[1 + k].value);
    TRY_STATUS(expect_tensor_like("carried value", k, next, inner));
    if (inner.is_container()) {
      types.push_back(inner);
      continue;
    }
    Exprs dims;
    for (size_t a = 0; a < inner.tensor.dims.size(); ++a) {
      const Expr before = ctx.tensor(kHead + k).dims[a];
      const Expr in = inner.tensor.dims[a], out = next.tensor.dims[a];
      const bool varies = in.kind() == ExprKind::symbol && !joiner.is_known(in);  // C3
      if (!varies && (!provably_equal(in, before) || !provably_equal(in, out))) {
        return invalid_argument(kName, ": carried value ", k, ": dim ", a, " is ", before,
                                " before, ", in, " in and ", out, " after a turn");
      }
      dims.push_back(varies ? joiner.join(in, in) : before);
    }
    types.push_back(TensorType{inner.tensor.dtype, std::move(dims)});
  }
  // What each turn gives has other dims than what the last one carries on, and without a turn none.
  DimJoiner scanned(ctx, "scan");
  scanned.may_be_zero = true;
  Expr turns;
  for (size_t k = 1 + carried_count(); k < body->outputs().size(); ++k) {
    const Type& each = body->type(body->outputs()[k].value);
    if (!each.is_tensor())
      return unsupported(kName, ": scan output: expected a tensor, got ", each);
    if (!turns) {
      turns = trip_count.empty() ? ctx.pool.fresh_symbol("turns", true) : trip_count[0];
    }
    Exprs dims = {turns};
    const Exprs rest = scanned.join(each.tensor.dims, each.tensor.dims);
    dims.insert(dims.end(), rest.begin(), rest.end());
    TRY_STATUS(expect_dims(kName, dims));
    types.push_back(TensorType{each.tensor.dtype, std::move(dims)});
  }
  return types;
}

std::vector<Tensor> Loop::reference(const ReferenceContext& ctx) const {
  const size_t carried = carried_count();
  const auto first = ctx.in.subspan(kHead, carried), captures = ctx.in.subspan(kHead + carried);
  std::vector<Tensor> values(first.begin(), first.end());
  std::vector<std::vector<Tensor>> scans(body->outputs().size() - 1 - carried);
  bool condition = ctx.in[1].integer(0) != 0;
  for (int64_t turn = 0; turn < ctx.in[0].integer(0) && condition; ++turn) {
    std::vector<Tensor> inputs = {Tensor::scalar(DType::i64, static_cast<double>(turn)),
                                  Tensor::scalar(DType::b8, 1)};
    inputs.insert(inputs.end(), values.begin(), values.end());
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    Interpreter interpreter(*body);
    interpreter.known_symbols.assign(ctx.symbols.begin(), ctx.symbols.end());
    auto outputs = interpreter.run(inputs);
    if (!outputs) return ctx.fail(add_note(std::move(outputs.error()), "turn ", turn));
    condition = (*outputs)[0].integer(0) != 0;
    for (size_t k = 0; k < carried; ++k) values[k] = std::move((*outputs)[1 + k]);
    for (size_t k = 0; k < scans.size(); ++k) {
      scans[k].push_back(std::move((*outputs)[1 + carried + k]));
    }
  }
  for (size_t k = 0; k < scans.size(); ++k) {
    std::vector<int64_t> dims = {static_cast<int64_t>(scans[k].size())};
    if (scans[k].empty()) {
      // Nothing tells the dims that only a turn finds out: they are 0.
      for (size_t a = 1; a < ctx.out_dims[carried + k].size(); ++a) {
        dims.push_back(std::max<int64_t>(ctx.out_dims[carried + k][a], 0));
      }
    } else {
      const auto& each = scans[k][0].dims();
      dims.insert(dims.end(), each.begin(), each.end());
    }
    Tensor stacked(ctx.out_dtypes[carried + k], dims);
    int64_t at = 0;
    for (const Tensor& one : scans[k]) {
      if (one.dims() != scans[k][0].dims()) {
        return ctx.fail(invalid_argument("scan output ", k, ": expected dims ", scans[k][0].dims(),
                                         " as in the first turn, got ", one.dims()));
      }
      for (int64_t j = 0; j < one.size(); ++j) stacked.copy_element(at++, one, j);
    }
    values.push_back(std::move(stacked));
  }
  return values;
}

Sample<Loop> Loop::sample(Random& rng, ExprPool& pool) {
  // total += x * i; list grows by total each turn; y.. is every total.
  const std::shared_ptr<ExprPool> shared(std::shared_ptr<void>(), &pool);
  const TensorType row{DType::f32, constant_dims(pool, {rng.range(1, 3), rng.range(1, 9)})};
  const Expr length = pool.fresh_symbol("length", true);
  TensorType list = row;
  list.dims[0] = length;
  auto body = std::make_shared<Graph>(shared);
  const ValueId turn = body->add_input("turn", TensorType{DType::i64, {}});
  const ValueId go = body->add_input("go", TensorType{DType::b8, {}});
  const ValueId total = body->add_input("total", row);
  const ValueId so_far = body->add_input("list", list);
  const ValueId x = body->add_input("x", row);
  const Expr p0 = pool.param(0, DType::f32), p1 = pool.param(1, DType::f32);
  const ValueId next =
      body->must_add(Pointwise{p0 + p1 * cast(pool.param(2, DType::i64), DType::f32), DType::f32},
                     {total, x, turn});
  const ValueId grown = body->must_add(Concat{.axis = 0}, {so_far, next});
  const Expr again = logical_and(pool.param(0, DType::b8),
                                 less(pool.param(1, DType::i64), pool.integer(rng.range(0, 4))));
  const ValueId more = body->must_add(Pointwise{again, DType::b8}, {go, turn});
  body->set_outputs({{"more", more}, {"total", next}, {"list", grown}, {"each", next}});
  Sample<Loop> sample;
  sample.op = {.body = std::move(body), .carried = 2};
  sample.inputs = {TensorType{DType::i64, {}}, TensorType{DType::b8, {}}, row, row, row};
  sample.value_ranges = {{0, {0, 6}}, {1, {0, 1}}};
  return sample;
}

const OpDef& define_loop() {
  return define<Loop>();
}

}  // namespace ingot::ops
