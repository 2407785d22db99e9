// frontend/builder.cc: the core operators' names and attributes, once for all readers.
#include "frontend/builder.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernel/mistakes.h"
#include "ops/registry.h"

namespace ingot {
namespace {

ConstantData owned_constant(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  ConstantData data;
  data.dtype = dtype;
  data.dims = std::move(dims);
  data.bytes = *owner;
  data.owner = std::move(owner);
  return data;
}

}  // namespace

const TensorType& Builder::type(ValueId x) const {
  if (x.valid()) return graph_.tensor(x);
  static const TensorType kNumber{DType::f32, {}};
  if (!wrong_input_) wrong_input_ = invalid_model("an input is missing");
  return kNumber;
}

bool Builder::has_axis(ValueId x, int64_t axis) const {
  if (axis >= 0 && axis < rank(x)) return true;
  if (!wrong_input_) {
    wrong_input_ = invalid_model("expected a tensor of rank ", std::max<int64_t>(axis, 0) + 1,
                                 " or more, got rank ", rank(x));
  }
  return false;
}

Expr Builder::dim(ValueId x, int64_t axis) const {
  return has_axis(x, axis) ? dims(x)[static_cast<size_t>(axis)] : integer(1);
}

Exprs Builder::integers(std::span<const int64_t> values) const {
  Exprs out;
  for (const int64_t value : values) out.push_back(integer(value));
  return out;
}

Expr Builder::number(DType dtype, double value) const {
  const DType compute = compute_dtype(dtype);
  return is_float(compute) ? pool().real(value, compute)
                           : pool().integer(static_cast<int64_t>(value), compute);
}

Result<ValueIds> Builder::add_all(std::string_view op, const Attributes& attributes,
                                  ValueIds inputs) {
  const OpDef* def = find_op(op);
  if (def == nullptr) return internal_error("there is no core operator '", op, "'");
  TRY(OpRef ref, def->make(attributes));
  auto added = graph_.add(std::move(ref), std::move(inputs), {provenance_});
  // The reader says which node it is; the graph's note would repeat it.
  if (!added) added.error().notes.clear();
  return added;
}

Result<ValueId> Builder::add(std::string_view op, const Attributes& attributes, ValueIds inputs) {
  TRY(const ValueIds outputs, add_all(op, attributes, std::move(inputs)));
  return outputs[0];
}

Result<ValueId> Builder::scalar(DType dtype, double value) {
  if (dtype == DType::str || is_complex(dtype)) return unsupported("a number as ", dtype);
  std::vector<std::byte> bytes(size_bytes(dtype, 1));
  store_from_double(dtype, bytes.data(), 0, value);
  return graph_.add_constant(owned_constant(dtype, {}, std::move(bytes)));
}

ValueId Builder::ints(std::span<const int64_t> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return graph_.add_constant(
      owned_constant(DType::i64, {static_cast<int64_t>(values.size())}, std::move(bytes)));
}

Result<ValueId> Builder::fill(DType dtype, double value, Exprs dims) {
  TRY(const ValueId one, scalar(dtype, value));
  return broadcast(one, std::move(dims));
}

Result<ValueId> Builder::map(DType dtype, ValueIds xs, const MapFn& fn) {
  Exprs params;
  for (size_t k = 0; k < xs.size(); ++k) {
    const DType held = this->dtype(xs[k]);
    if (held == DType::str || is_complex(held)) {
      return unsupported("arithmetic on ", held, " values");
    }
    params.push_back(pool().param(static_cast<uint32_t>(k), compute_dtype(held)));
  }
  const TypeMistakes mistakes;
  const Expr value = fn(params);
  if (mistakes.first()) return invalid_model(*mistakes.first());
  return add("pointwise", {{"value", value}, {"dtype", dtype}}, std::move(xs));
}

Result<ValueId> Builder::choose(ValueId condition, ValueId x, ValueId y) {
  const DType held = dtype(x);
  if (is_complex(held)) return unsupported("a choice among ", held, " values");
  const DType compute = compute_dtype(held);
  const Expr value =
      select(pool().param(0, DType::b8), pool().param(1, compute), pool().param(2, compute));
  return add("pointwise", {{"value", value}, {"dtype", held}}, {condition, x, y});
}

Result<ValueId> Builder::map1(ValueId x, const std::function<Expr(Expr)>& fn) {
  return map(dtype(x), {x}, [&](std::span<const Expr> p) { return fn(p[0]); });
}

Result<ValueId> Builder::map2(ValueId x, ValueId y, const std::function<Expr(Expr, Expr)>& fn) {
  if (compute_dtype(dtype(x)) != compute_dtype(dtype(y))) {
    return invalid_model("expected two operands of one type, got ", dtype(x), " and ", dtype(y));
  }
  return map(dtype(x), {x, y}, [&](std::span<const Expr> p) { return fn(p[0], p[1]); });
}

Result<ValueId> Builder::cast(ValueId x, DType to) {
  const DType from = dtype(x);
  if (from == to) return x;
  if (is_complex(from) || is_complex(to)) return unsupported("a cast from ", from, " to ", to);
  if (from == DType::str || to == DType::str) return cast_text(x, to);
  return map(to, {x}, [&](std::span<const Expr> p) {
    if (to == DType::b8) return binary(ExprKind::ne, p[0], number(from, 0));
    return ingot::cast(p[0], compute_dtype(to));
  });
}

/// Texts are read and written as the widest numbers.
Result<ValueId> Builder::cast_text(ValueId x, DType to) {
  const DType number = to == DType::str ? dtype(x) : to;
  const DType wide = number == DType::f64 || number == DType::u64 ? number
                     : is_float(number)                           ? DType::f32
                                                                  : DType::i64;
  if (to == DType::str) {
    TRY(const ValueId widened, cast(x, wide));
    return add("number_to_string", {}, {widened});
  }
  TRY(const ValueId read, add("string_to_number", {{"dtype", wide}}, {x}));
  return cast(read, to);
}

Result<ValueId> Builder::scalar_of(Expr value, DType to) {
  return map(to, {}, [&](std::span<const Expr>) { return ingot::cast(value, compute_dtype(to)); });
}

Result<ValueId> Builder::reshape(ValueId x, Exprs dims) {
  if (this->dims(x) == dims) return x;
  return add("reshape", {{"dims", std::move(dims)}}, {x});
}

Result<ValueId> Builder::transpose(ValueId x, std::vector<int64_t> order) {
  if (std::ranges::is_sorted(order)) return x;
  return add("transpose", {{"order", std::move(order)}}, {x});
}

Result<ValueId> Builder::broadcast(ValueId x, Exprs dims) {
  if (this->dims(x) == dims) return x;
  return add("broadcast_to", {{"dims", std::move(dims)}}, {x});
}

Result<ValueId> Builder::slice_axis(ValueId x, int64_t axis, Expr start, Expr size, int64_t step) {
  if (!has_axis(x, axis)) return *wrong_input_;
  if (step == 1 && size == dim(x, axis)) return x;
  const size_t n = dims(x).size();
  const size_t at = static_cast<size_t>(axis);
  Exprs starts(n, integer(0));
  Exprs sizes = dims(x);
  std::vector<int64_t> steps(n, 1);
  starts[at] = start;
  sizes[at] = size;
  steps[at] = step;
  return add("slice", {{"starts", starts}, {"sizes", sizes}, {"steps", steps}}, {x});
}

Result<ValueId> Builder::concat(ValueIds xs, int64_t axis) {
  if (xs.size() == 1) return xs[0];
  return add("concat", {{"axis", axis}}, std::move(xs));
}

Result<ValueId> Builder::pad(ValueId x, Exprs begin, Exprs end, std::string mode, ValueId value) {
  const auto is_zero = [](Expr e) { return e.is_int(0); };
  if (std::ranges::all_of(begin, is_zero) && std::ranges::all_of(end, is_zero)) return x;
  ValueIds inputs = {x};
  if (value.valid()) inputs.push_back(value);
  return add("pad",
             {{"begin", std::move(begin)}, {"end", std::move(end)}, {"mode", std::move(mode)}},
             std::move(inputs));
}

Result<ValueId> Builder::gather(ValueId x, ValueId indices, int64_t axis) {
  return add("gather", {{"axis", axis}}, {x, indices});
}

Result<ValueId> Builder::iota(Exprs dims, int64_t axis) {
  return add("iota", {{"dims", std::move(dims)}, {"axis", axis}, {"dtype", DType::i64}}, {});
}

Result<ValueId> Builder::reduce(ReduceKind kind, ValueId x, std::vector<int64_t> axes,
                                bool keepdims) {
  if (axes.empty()) return x;
  return add("reduce", {{"kind", kind}, {"axes", std::move(axes)}, {"keepdims", keepdims}}, {x});
}

Result<ValueId> Builder::mean(ValueId x, std::vector<int64_t> axes, bool keepdims) {
  const DType compute = compute_dtype(dtype(x));
  TRY(const ValueId wide, cast(x, compute));
  Expr n = integer(1);
  for (const int64_t axis : axes) n = n * dim(x, axis);
  TRY(const ValueId sum, reduce(ReduceKind::sum, wide, std::move(axes), keepdims));
  return map1(sum, [&](Expr s) { return s / ingot::cast(n, compute); });
}

Result<ValueId> Builder::softmax(ValueId x, int64_t axis, bool log) {
  return add("softmax", {{"axis", axis}, {"log", log}}, {x});
}

Result<ValueId> Builder::matmul(ValueId a, ValueId b) {
  return add("matmul", {}, {a, b});
}

Expr Builder::count(const Exprs& dims, int64_t from, int64_t to) const {
  Expr n = integer(1);
  for (int64_t k = from; k < to; ++k) n = n * dims[static_cast<size_t>(k)];
  return n;
}

std::vector<int64_t> Builder::all_axes(int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  return axes;
}

}  // namespace ingot
