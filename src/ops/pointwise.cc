// ops/pointwise.cc: every elementwise operator, as one expression over its inputs.
#include "ops/pointwise.h"

#include "kernel/program.h"
#include "ops/checks.h"
#include "ops/indexing.h"
#include "ops/numeric.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

bool is_computable(DType dtype) {
  return is_float(dtype) || is_int(dtype) || dtype == DType::b8;
}

Status expect_value(const InferContext& ctx, Expr value) {
  Status status = ok();
  for_each(value, [&](Expr e) {
    if (!status) return;
    switch (e.kind()) {
      case ExprKind::index:
      case ExprKind::local:
      case ExprKind::load:
      case ExprKind::reduce:  // C3
        status = invalid_argument("pointwise: expected a value over params and symbols, got ",
                                  to_text(e));
        break;
      case ExprKind::param:
        if (e.payload() >= ctx.count()) {  // C4
          status = invalid_argument("pointwise: expected params below p", ctx.count(), ", got ",
                                    to_text(e));
        } else if (const DType wanted = compute_dtype(ctx.tensor(e.payload()).dtype);
                   e.dtype() != wanted) {  // C4
          status = invalid_argument("pointwise: expected ", to_text(e), " of type ", wanted,
                                    ", got ", e.dtype());
        }
        break;
      default:
        break;
    }
  });
  return status;
}

bool reads_strings(const InferContext& ctx, Expr value) {
  bool found = false;
  for_each(value, [&](Expr e) {
    found |= e.kind() == ExprKind::param && ctx.tensor(e.payload()).dtype == DType::str;
  });
  return found;
}

/// Whether the value is always an element of some string operand: their handles have no arithmetic.
bool chooses_strings(const InferContext& ctx, Expr value) {
  if (value.kind() == ExprKind::param) return reads_strings(ctx, value);
  return value.kind() == ExprKind::select && !reads_strings(ctx, value.operand(0)) &&
         chooses_strings(ctx, value.operand(1)) && chooses_strings(ctx, value.operand(2));
}

/// The leaves of a value at one element of y.
class ElementOperands : public Surroundings {
 public:
  explicit ElementOperands(const ReferenceContext& ctx) : ctx_(ctx) {}
  void move_to(std::span<const int64_t> index) { index_ = index; }

  Scalar symbol(SymbolId id) override { return make_integer(ctx_.symbols[id.index()], DType::i64); }
  Scalar param(Expr param) override {
    const Tensor& x = ctx_.in[param.payload()];
    return element_of(x, broadcast_position(x.dims(), index_));
  }
  Scalar index(VarId) override { INGOT_UNREACHABLE(); }
  Scalar local(Expr) override { INGOT_UNREACHABLE(); }
  Scalar load(Expr, int64_t) override { INGOT_UNREACHABLE(); }
  void bind(VarId, int64_t) override { INGOT_UNREACHABLE(); }

 private:
  const ReferenceContext& ctx_;
  std::span<const int64_t> index_;
};

}  // namespace

Result<Types> Pointwise::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<Pointwise>(ctx));
  if (!value) return invalid_argument("pointwise: expected a value, got none");
  std::vector<Exprs> shapes;
  for (size_t k = 0; k < ctx.count(); ++k) {
    if (!is_computable(ctx.tensor(k).dtype) && ctx.tensor(k).dtype != DType::str) {  // C1
      return invalid_argument("pointwise: expected input ", k,
                              " of numbers, booleans or strings, got ", ctx.tensor(k).dtype);
    }
    shapes.push_back(ctx.tensor(k).dims);
  }
  if (!is_computable(dtype) && dtype != DType::str) {  // C1
    return invalid_argument("pointwise: expected a result of numbers, booleans or strings, got ",
                            dtype);
  }
  TRY_STATUS(expect_value(ctx, value));
  if (dtype == DType::str ? !chooses_strings(ctx, value) : reads_strings(ctx, value)) {  // C5
    return invalid_argument("pointwise: expected strings to be chosen from alone, got ",
                            to_text(value));
  }
  TRY(Exprs dims, broadcast_dims(ctx, kName, shapes));  // C2
  return one_tensor(kName, dtype, std::move(dims));
}

std::vector<Tensor> Pointwise::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  const bool stays_float = is_float(dtype) && is_float(value.dtype());
  const Expr result = stays_float ? value : cast(value, compute_dtype(dtype));
  Program program(result);
  ElementOperands operands(ctx);
  for_each_index(y.dims(), [&](int64_t position, std::span<const int64_t> index) {
    operands.move_to(index);
    set_element(y, position, program.run(operands));
  });
  return {std::move(y)};
}

Expr Pointwise::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const Expr result = substitute(value, k.pool(), [&](Expr e) -> std::optional<Expr> {
    if (e.kind() == ExprKind::param) {
      const size_t input = e.payload();
      return k.load(input, broadcast_index(k.pool(), k.tensor(input).dims, index));
    }
    return std::nullopt;
  });
  return cast(result, compute_dtype(dtype));
}

Sample<Pointwise> Pointwise::sample(Random& rng, ExprPool& pool) {
  const DType dtype = sample_number(rng);
  const DType compute = compute_dtype(dtype);
  const auto dims = sample_dims(rng, rng.range(0, 4));
  // The second operand loses leading dims and repeats along some of the others.
  std::vector<int64_t> other(dims.begin() + rng.range(0, static_cast<int64_t>(dims.size())),
                             dims.end());
  for (int64_t& dim : other) {
    if (rng.chance(0.3)) dim = 1;
  }
  const Expr a = pool.param(0, compute);
  const Expr b = pool.param(1, compute);
  std::vector<Pointwise> choices = {{a + b, dtype},
                                    {a * b - a, dtype},
                                    {max(a, b), dtype},
                                    {less(a, b), DType::b8},
                                    {select(less(a, b), a, b + a), dtype}};
  if (is_float(dtype)) {
    choices.push_back({tanh(a) * b, dtype});
    choices.push_back({unary(ExprKind::sigmoid, a + b), dtype});
    choices.push_back({cast(a * b, DType::i32), DType::i32});
  }
  const Exprs from = some_symbolic(rng, pool, dims);
  for (const Expr dim : from) {
    if (!dim.as_int()) choices.push_back({a * cast(dim, compute) + b, dtype});
  }
  return {rng.pick(choices),
          {TensorType{dtype, from}, TensorType{dtype, constant_dims(pool, other)}}};
}

const OpDef& define_pointwise() {
  return define<Pointwise>();
}

}  // namespace ingot::ops
