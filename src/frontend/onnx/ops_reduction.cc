// frontend/onnx/ops_reduction.cc: reductions along axes, softmax, arg-reductions, cumulative sums.
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// x in the type its sums are made in.
Result<ValueId> widened(OpContext& n, ValueId x) {
  return n.cast(x, compute_dtype(n.dtype(x)));
}

/// What happens before and after the sum, maximum, ... of a reduction operator.
using Shape = Result<ValueId> (*)(OpContext&, ValueId, const std::vector<int64_t>&, bool keepdims);

/// Axes as attribute or input, keepdims, noop_with_empty_axes; the result in the type of x.
template <Shape kBody, bool kBooleans = false>
Result<ValueIds> reduction(OpContext& n) {
  const ValueId x = n.in(0);
  if (!kBooleans || n.dtype(x) != DType::b8) TRY_STATUS(n.expect_numbers(0, 1));
  TRY(const bool keepdims, n.attr_flag("keepdims", true));
  TRY(const bool noop_if_empty, n.attr_flag("noop_with_empty_axes", false));
  TRY(const auto given, n.axes(1, n.rank(x)));
  std::vector<int64_t> axes = given.value_or(std::vector<int64_t>());
  if (axes.empty() && !noop_if_empty) axes = Builder::all_axes(n.rank(x));
  TRY(const ValueId wide, widened(n, x));
  TRY(const ValueId y, kBody(n, wide, axes, keepdims));
  return only(n.cast(y, n.dtype(x)));
}

template <ReduceKind kKind>
Result<ValueId> plain(OpContext& n, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  return n.reduce(kKind, x, axes, keepdims);
}

Result<ValueId> mean(OpContext& n, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  return axes.empty() ? Result<ValueId>(x) : n.mean(x, axes, keepdims);
}

Result<ValueId> minimum(OpContext& n, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  const bool truth = n.dtype(x) == DType::b8;
  return n.reduce(truth ? ReduceKind::all : ReduceKind::min, x, axes, keepdims);
}

Result<ValueId> maximum(OpContext& n, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  const bool truth = n.dtype(x) == DType::b8;
  return n.reduce(truth ? ReduceKind::any : ReduceKind::max, x, axes, keepdims);
}

Result<ValueId> l1(OpContext& n, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  TRY(const ValueId magnitude, n.map1(x, [](Expr e) { return unary(ExprKind::abs, e); }));
  return n.reduce(ReduceKind::sum, magnitude, axes, keepdims);
}

Result<ValueId> sum_square(OpContext& n, ValueId x, const std::vector<int64_t>& axes,
                           bool keepdims) {
  TRY(const ValueId square, n.map1(x, [](Expr e) { return e * e; }));
  return n.reduce(ReduceKind::sum, square, axes, keepdims);
}

/// A function of floats, for integers by way of f64.
Result<ValueId> in_reals(OpContext& n, ValueId x, Expr (*fn)(Expr)) {
  return n.map1(x, [&](Expr e) {
    return is_float(e.dtype()) ? fn(e) : cast(fn(cast(e, DType::f64)), e.dtype());
  });
}

Result<ValueId> l2(OpContext& n, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  TRY(const ValueId sum, sum_square(n, x, axes, keepdims));
  return in_reals(n, sum, [](Expr e) { return sqrt(e); });
}

Result<ValueId> log_sum(OpContext& n, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  TRY(const ValueId sum, n.reduce(ReduceKind::sum, x, axes, keepdims));
  return in_reals(n, sum, [](Expr e) { return log(e); });
}

/// m + log(sum(exp(x - m))) with m = max(x), or 0 where that is infinite or there is nothing.
Result<ValueId> log_sum_exp(OpContext& n, ValueId x, const std::vector<int64_t>& axes,
                            bool keepdims) {
  const DType held = n.dtype(x);
  TRY(const ValueId real, n.cast(x, is_float(held) ? held : DType::f64));
  TRY(const ValueId max_kept, n.reduce(ReduceKind::max, real, axes, true));
  TRY(const ValueId shift, n.map1(max_kept, [](Expr m) {
    return select(unary(ExprKind::is_inf, m), m.pool().real(0, m.dtype()), m);
  }));
  TRY(const ValueId scaled, n.map2(real, shift, [](Expr e, Expr m) { return exp(e - m); }));
  TRY(const ValueId sum, n.reduce(ReduceKind::sum, scaled, axes, keepdims));
  ValueId shift_out = shift;
  if (!keepdims) {
    TRY(shift_out, n.reshape(shift, n.dims(sum)));
  }
  TRY(const ValueId y, n.map2(sum, shift_out, [](Expr s, Expr m) { return log(s) + m; }));
  return n.cast(y, held);
}

template <bool kMax>
Result<ValueIds> arg_reduction(OpContext& n) {
  const ValueId x = n.in(0);
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(x), 0));
  TRY(const bool keepdims, n.attr_flag("keepdims", true));
  TRY(const bool last, n.attr_flag("select_last_index", false));
  return only(n.add("arg_reduce",
                    {{"max", kMax}, {"axis", axis}, {"keepdims", keepdims}, {"last", last}}, {x}));
}

/// Applies fn(x, axis) on x seen as a matrix that is split before `axis`: the operators that
/// normalise rows did so before opset 13.
template <class Fn>
Result<ValueIds> by_rows(OpContext& n, Fn fn) {
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  TRY(int64_t axis, n.attr_int("axis", 1));
  if (axis < -rank || axis > rank) return invalid_model("axis ", axis, " is out of range");
  if (axis < 0) axis += rank;
  TRY(const ValueId rows,
      n.reshape(x, {n.count(n.dims(x), 0, axis), n.count(n.dims(x), axis, rank)}));
  TRY(const ValueId y, fn(rows, 1));
  return only(n.reshape(y, n.dims(x)));
}

template <class Fn>
Result<ValueIds> by_axis(OpContext& n, Fn fn) {
  TRY(const int64_t axis, n.attr_axis("axis", n.rank(n.in(0)), -1));
  return only(fn(n.in(0), axis));
}

template <bool kLog, bool kByRows>
Result<ValueIds> softmax(OpContext& n) {
  const auto fn = [&](ValueId x, int64_t axis) { return n.softmax(x, axis, kLog); };
  return kByRows ? by_rows(n, fn) : by_axis(n, fn);
}

template <bool kByRows>
Result<ValueIds> hardmax(OpContext& n) {
  const auto fn = [&](ValueId x, int64_t axis) -> Result<ValueId> {
    TRY(const ValueId best,
        n.add("arg_reduce", {{"max", true}, {"axis", axis}, {"keepdims", true}, {"last", false}},
              {x}));
    TRY(const ValueId index, n.iota(n.dims(x), axis));
    const DType held = n.dtype(x);
    return n.map(held, {index, best}, [&](std::span<const Expr> p) {
      return select(equal(p[0], p[1]), n.number(held, 1), n.number(held, 0));
    });
  };
  return kByRows ? by_rows(n, fn) : by_axis(n, fn);
}

/// y[i] = the sum or product of x[j] over j <= i (or what exclusive and reverse say): a reduction
/// over a masked square, which never exists in memory once it is one loop nest.
template <ReduceKind kKind>
Result<ValueIds> cumulative(OpContext& n) {
  TRY_STATUS(n.expect_numbers(0, 1));
  const ValueId x = n.in(0);
  const int64_t rank = n.rank(x);
  TRY(const bool exclusive, n.attr_flag("exclusive", false));
  TRY(const bool reverse, n.attr_flag("reverse", false));
  TRY(const int64_t given, n.number_at(1, "axis"));
  TRY(const std::vector<int64_t> front, front_axes({given}, rank));
  const int64_t axis = front[0];

  TRY(const ValueId wide, widened(n, x));
  const Expr length = n.dim(x, axis);
  // [.., i, j, ..]: x with a dim of 1 before the axis, against the positions i and j.
  Exprs spread = n.dims(x);
  spread.insert(spread.begin() + axis, n.integer(1));
  TRY(const ValueId row, n.reshape(wide, spread));
  Exprs square(static_cast<size_t>(rank - axis + 1), n.integer(1));
  square[0] = length;
  square[1] = length;
  TRY(const ValueId i, n.iota(square, 0));
  TRY(const ValueId j, n.iota(square, 1));
  const DType compute = n.dtype(wide);
  TRY(const ValueId masked, n.map(compute, {row, i, j}, [&](std::span<const Expr> p) {
    const Expr a = reverse ? p[1] : p[2];
    const Expr b = reverse ? p[2] : p[1];
    return select(exclusive ? less(a, b) : less_equal(a, b), p[0],
                  n.number(compute, kKind == ReduceKind::sum ? 0 : 1));
  }));
  TRY(const ValueId y, n.reduce(kKind, masked, {axis + 1}, false));
  return only(n.cast(y, n.dtype(x)));
}

constexpr OpRow kRows[] = {
    {"ArgMax", 1, 1, 1, arg_reduction<true>},
    {"ArgMin", 1, 1, 1, arg_reduction<false>},
    {"CumProd", 26, 2, 2, cumulative<ReduceKind::product>},
    {"CumSum", 11, 2, 2, cumulative<ReduceKind::sum>},
    {"Hardmax", 1, 1, 1, hardmax<true>},
    {"Hardmax", 13, 1, 1, hardmax<false>},
    {"LogSoftmax", 1, 1, 1, softmax<true, true>},
    {"LogSoftmax", 13, 1, 1, softmax<true, false>},
    {"ReduceL1", 1, 1, 2, reduction<l1>},
    {"ReduceL2", 1, 1, 2, reduction<l2>},
    {"ReduceLogSum", 1, 1, 2, reduction<log_sum>},
    {"ReduceLogSumExp", 1, 1, 2, reduction<log_sum_exp>},
    {"ReduceMax", 1, 1, 2, reduction<maximum, true>},
    {"ReduceMean", 1, 1, 2, reduction<mean>},
    {"ReduceMin", 1, 1, 2, reduction<minimum, true>},
    {"ReduceProd", 1, 1, 2, reduction<plain<ReduceKind::product>>},
    {"ReduceSum", 1, 1, 2, reduction<plain<ReduceKind::sum>>},
    {"ReduceSumSquare", 1, 1, 2, reduction<sum_square>},
    {"Softmax", 1, 1, 1, softmax<false, true>},
    {"Softmax", 13, 1, 1, softmax<false, false>},
};

}  // namespace

std::span<const OpRow> reduction_rows() {
  return kRows;
}

}  // namespace ingot::onnx
