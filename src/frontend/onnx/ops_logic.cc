// frontend/onnx/ops_logic.cc: comparisons, logic, bits, selection and type changes.
#include "base/text.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/storage.h"

namespace ingot::onnx {
namespace {

constexpr auto kEqual = [](Expr x, Expr y) { return equal(x, y); };
constexpr auto kGreater = [](Expr x, Expr y) { return less(y, x); };
constexpr auto kGreaterOrEqual = [](Expr x, Expr y) { return less_equal(y, x); };
constexpr auto kLess = [](Expr x, Expr y) { return less(x, y); };
constexpr auto kLessOrEqual = [](Expr x, Expr y) { return less_equal(x, y); };
constexpr auto kAnd = [](Expr x, Expr y) { return logical_and(x, y); };
constexpr auto kOr = [](Expr x, Expr y) { return logical_or(x, y); };
constexpr auto kXor = [](Expr x, Expr y) { return binary(ExprKind::logical_xor, x, y); };

Status expect_dtype(OpContext& n, size_t k, bool fits, std::string_view expected) {
  if (fits) return ok();
  return invalid_model("input ", k, ": expected ", expected, ", got ", n.dtype(n.in(k)));
}

Status expect_pair(OpContext& n) {
  return expect_dtype(n, 1, n.dtype(n.in(0)) == n.dtype(n.in(1)),
                      concat(n.dtype(n.in(0)), " as input 0"));
}

template <auto kFn, bool kLegacy = false>
Result<ValueIds> compare(OpContext& n) {
  TRY_STATUS(expect_pair(n));
  ValueId y = n.in(1);
  if constexpr (kLegacy) {
    TRY(y, align_legacy_operand(n, n.in(0), y));
  }
  return only(
      n.map(DType::b8, {n.in(0), y}, [](std::span<const Expr> p) { return kFn(p[0], p[1]); }));
}

Result<ValueIds> equal_op(OpContext& n) {
  if (n.dtype(n.in(0)) != DType::str) return compare<kEqual>(n);
  TRY_STATUS(expect_pair(n));
  return only(n.add("string_equal", {}, {n.in(0), n.in(1)}));
}

template <auto kFn, bool kLegacy = false>
Result<ValueIds> logic(OpContext& n) {
  TRY_STATUS(expect_dtype(n, 0, n.dtype(n.in(0)) == DType::b8, "booleans"));
  return compare<kFn, kLegacy>(n);
}

Result<ValueIds> logic_not(OpContext& n) {
  TRY_STATUS(expect_dtype(n, 0, n.dtype(n.in(0)) == DType::b8, "booleans"));
  return only(n.map1(n.in(0), [](Expr x) { return logical_not(x); }));
}

template <ExprKind kKind>
Result<ValueIds> bitwise(OpContext& n) {
  TRY_STATUS(expect_dtype(n, 0, is_int(n.dtype(n.in(0))), "integers"));
  TRY_STATUS(expect_pair(n));
  return only(n.map2(n.in(0), n.in(1), [](Expr x, Expr y) { return binary(kKind, x, y); }));
}

Result<ValueIds> bitwise_not(OpContext& n) {
  TRY_STATUS(expect_dtype(n, 0, is_int(n.dtype(n.in(0))), "integers"));
  return only(n.map1(n.in(0), [](Expr x) { return unary(ExprKind::bit_not, x); }));
}

Result<ValueIds> bit_shift(OpContext& n) {
  TRY(const std::string direction, n.attr_text("direction"));
  if (direction == "LEFT") return bitwise<ExprKind::shift_left>(n);
  if (direction == "RIGHT") return bitwise<ExprKind::shift_right>(n);
  return invalid_model("attribute 'direction': expected LEFT or RIGHT, got '",
                       to_comment(direction), "'");
}

Result<ValueIds> bit_cast(OpContext& n) {
  TRY(const DType to, n.attr_dtype("to"));
  const DType from = n.dtype(n.in(0));
  if (from == DType::str || to == DType::str || bits(from) != bits(to)) {
    return invalid_model("expected elements of ", bits(to), " bits as in ", to, ", got ", from);
  }
  if (is_complex(from) || is_complex(to)) return unsupported("the bits of complex numbers");
  if (to == DType::b8 && from != DType::b8) return unsupported("bits of numbers as truth values");
  return only(n.add("bitcast", {{"to", to}}, {n.in(0)}));
}

Result<ValueIds> is_nan(OpContext& n) {
  TRY_STATUS(expect_dtype(n, 0, is_float(n.dtype(n.in(0))), "floats"));
  return only(n.map(DType::b8, {n.in(0)},
                    [](std::span<const Expr> p) { return unary(ExprKind::is_nan, p[0]); }));
}

Result<ValueIds> is_inf(OpContext& n) {
  TRY_STATUS(expect_dtype(n, 0, is_float(n.dtype(n.in(0))), "floats"));
  TRY(const bool negative, n.attr_flag("detect_negative", true));
  TRY(const bool positive, n.attr_flag("detect_positive", true));
  return only(n.map(DType::b8, {n.in(0)}, [&](std::span<const Expr> p) {
    const Expr x = p[0];
    const Expr zero = x.pool().real(0, x.dtype());
    const Expr infinite = unary(ExprKind::is_inf, x);
    if (negative && positive) return infinite;
    if (negative) return logical_and(infinite, less(x, zero));
    if (positive) return logical_and(infinite, less(zero, x));
    return logical_and(infinite, x.pool().boolean(false));
  }));
}

Result<ValueIds> where(OpContext& n) {
  TRY_STATUS(expect_dtype(n, 0, n.dtype(n.in(0)) == DType::b8, "booleans"));
  const DType held = n.dtype(n.in(1));
  TRY_STATUS(expect_dtype(n, 2, n.dtype(n.in(2)) == held, concat(held, " as input 1")));
  return only(n.choose(n.in(0), n.in(1), n.in(2)));
}

/// Casts round even where what they give is never stored.
Result<ValueIds> cast_to(OpContext& n, DType to, StorageOptions options = {}) {
  const DType from = n.dtype(n.in(0));
  const bool rounds = compute_dtype(to) != to && to != DType::str;
  const bool saturates = is_float(from) && bits(to) <= 8 && to != DType::b8;
  if (from == to || from == DType::str || !(rounds || saturates)) return only(n.cast(n.in(0), to));
  return only(
      n.map(to, {n.in(0)}, [&](std::span<const Expr> p) { return storable(p[0], to, options); }));
}

Result<ValueIds> cast_by_name(OpContext& n) {
  TRY(const std::string to, n.attr_text("to"));
  static constexpr std::pair<std::string_view, DType> kNames[] = {
      {"FLOAT", DType::f32},  {"UINT8", DType::u8},   {"INT8", DType::i8},
      {"UINT16", DType::u16}, {"INT16", DType::i16},  {"INT32", DType::i32},
      {"INT64", DType::i64},  {"BOOL", DType::b8},    {"FLOAT16", DType::f16},
      {"DOUBLE", DType::f64}, {"UINT32", DType::u32}, {"UINT64", DType::u64}};
  for (const auto& [name, dtype] : kNames) {
    if (to == name) return cast_to(n, dtype);
  }
  return unsupported("a cast to '", to_comment(to), "'");
}

Result<ValueIds> storage_cast(OpContext& n, DType to) {
  static constexpr std::string_view kRoundings[] = {"up", "down", "nearest"};
  TRY(const bool saturate, n.attr_flag("saturate", true));
  TRY(const size_t rounding, n.attr_choice("round_mode", kRoundings, 0));
  return cast_to(n, to, {saturate, static_cast<PowerRounding>(rounding)});
}

Result<ValueIds> cast_op(OpContext& n) {
  TRY(const DType to, n.attr_dtype("to"));
  return storage_cast(n, to);
}

Result<ValueIds> cast_like(OpContext& n) {
  return storage_cast(n, n.dtype(n.in(1)));
}

constexpr OpRow kRows[] = {
    {"And", 1, 2, 2, logic<kAnd, true>},
    {"And", 7, 2, 2, logic<kAnd>},
    {"BitCast", 26, 1, 1, bit_cast},
    {"BitShift", 11, 2, 2, bit_shift},
    {"BitwiseAnd", 18, 2, 2, bitwise<ExprKind::bit_and>},
    {"BitwiseNot", 18, 1, 1, bitwise_not},
    {"BitwiseOr", 18, 2, 2, bitwise<ExprKind::bit_or>},
    {"BitwiseXor", 18, 2, 2, bitwise<ExprKind::bit_xor>},
    {"Cast", 1, 1, 1, cast_by_name},
    {"Cast", 6, 1, 1, cast_op},
    {"CastLike", 15, 2, 2, cast_like},
    {"Equal", 1, 2, 2, compare<kEqual, true>},
    {"Equal", 7, 2, 2, equal_op},
    {"Greater", 1, 2, 2, compare<kGreater, true>},
    {"Greater", 7, 2, 2, compare<kGreater>},
    {"GreaterOrEqual", 12, 2, 2, compare<kGreaterOrEqual>},
    {"IsInf", 10, 1, 1, is_inf},
    {"IsNaN", 9, 1, 1, is_nan},
    {"Less", 1, 2, 2, compare<kLess, true>},
    {"Less", 7, 2, 2, compare<kLess>},
    {"LessOrEqual", 12, 2, 2, compare<kLessOrEqual>},
    {"Not", 1, 1, 1, logic_not},
    {"Or", 1, 2, 2, logic<kOr, true>},
    {"Or", 7, 2, 2, logic<kOr>},
    {"Where", 9, 3, 3, where},
    {"Xor", 1, 2, 2, logic<kXor, true>},
    {"Xor", 7, 2, 2, logic<kXor>},
};

}  // namespace

std::span<const OpRow> logic_rows() {
  return kRows;
}

}  // namespace ingot::onnx
