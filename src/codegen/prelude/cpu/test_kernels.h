// codegen/prelude/cpu/test_kernels.h: the prelude behind plain function pointers, one table a
// level.
//
// test_kernels.cc is compiled once per ISA level, as generated code is; the tests, compiled for the
// baseline, reach each level through its table and so never execute what the host cannot. Includes
// nothing, because the kernels' units may not contain inline functions of the standard library.
#pragma once

namespace ingot::prelude_test {

using i64 = __INT64_TYPE__;

/// Element types of the prelude, in the order of their names in test_kernels.cc.
enum class Type { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64 };
constexpr int kTypeCount = 12;

// clang-format off
/// Those of narrow.h, by base/dtype.def's names.
#define INGOT_TEST_NARROW(X) \
  X(f8e4m3fn) X(f8e4m3fnuz) X(f8e5m2) X(f8e5m2fnuz) X(f8e8m0) X(f4e2m1) X(i4) X(u4) X(i2) X(u2)
#define INGOT_TEST_UNARY(X)                                                              \
  X(exp) X(expm1) X(exp2) X(log) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)   \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(sigmoid) X(sqrt) X(rsqrt)  \
  X(floor) X(ceil) X(trunc) X(round)
// clang-format on
#define INGOT_TEST_BINARY(X) X(pow) X(fmod) X(remainder) X(floormod) X(floordiv)
/// On every type; fmod to shift_right on integers only.
#define INGOT_TEST_ARITHMETIC(X) \
  X(min) X(max) X(div) X(fmod) X(floordiv) X(floormod) X(shift_left) X(shift_right)
#define INGOT_TEST_COMPARISON(X) \
  X(equal) X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal)
#define INGOT_TEST_REDUCTION(X) X(reduce_add) X(reduce_mul) X(reduce_min) X(reduce_max)

#define INGOT_ENUMERATOR(name) name,
enum class Narrow { INGOT_TEST_NARROW(INGOT_ENUMERATOR) };
enum class Unary { INGOT_TEST_UNARY(INGOT_ENUMERATOR) };
enum class Binary { INGOT_TEST_BINARY(INGOT_ENUMERATOR) };
enum class Arithmetic { INGOT_TEST_ARITHMETIC(INGOT_ENUMERATOR) };
enum class Comparison { INGOT_TEST_COMPARISON(INGOT_ENUMERATOR) };
enum class Reduction { INGOT_TEST_REDUCTION(INGOT_ENUMERATOR) };
#undef INGOT_ENUMERATOR

/// How values are held: in a vector of `width` lanes, or one by one.
enum class Form { vector, scalar };

/// Which way through memory `copy` takes.
enum class Path { whole, partial, filled, first_lanes, last_lanes, strided, gathered };

struct Gemm {
  i64 m_begin, m_end, panel_begin, panel_end, m, n, k;
  const float* a;
  i64 a_stride;
  const float* b;        // packed
  const float* initial;  // [n], or null: from zero
  bool produced;         // rows of A by gemm_produced
  float* scratch;
  i64 scratch_rows;
  float* c;  // [m, n]
  i64 c_stride;
};

struct Conv {
  i64 h, w, c, oh, ow, oc, kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  i64 x_batch_stride, x_row_stride, x_pixel_stride;
  i64 pixel_begin, pixel_end, panel_begin, panel_end;
  const float* x;
  const float* weights;
  const float* initial;  // [oc], or null
  float* y;              // [pixels, oc]
  float* scratch;        // Winograd only
  i64 row_begin, row_end;
};

struct Level {
  const char* name;
  i64 width;  // f32 lanes
  bool has_fma;

  /// n is a multiple of width.
  void (*unary)(Unary op, Form form, const float* x, float* y, i64 n);
  void (*unary64)(Unary op, Form form, const double* x, double* y, i64 n);
  void (*binary)(Binary op, Form form, const float* x, const float* y, float* z, i64 n);
  void (*binary64)(Binary op, Form form, const double* x, const double* y, double* z, i64 n);
  /// Loads on the path named, then stores on it.
  void (*copy)(Type type, Path path, const void* from, i64 from_stride, void* to, i64 to_stride,
               i64 n);
  void (*convert)(Type from, Type to, Form form, const void* x, void* y);
  /// y[i] = x[first + i * stride] for i < n; gathered takes its elements by their index.
  void (*read_narrow)(Narrow type, Path path, const void* x, i64 first, i64 stride, float* y,
                      i64 n);
  /// y[first + i * stride] = x[i] for i < n.
  void (*write_narrow)(Narrow type, Path path, const float* x, void* y, i64 first, i64 stride,
                       i64 n);
  /// z = op(x, y) of one vector.
  void (*arithmetic)(Arithmetic op, Type type, Form form, const void* x, const void* y, void* z);
  /// z = select(op(x, y), x, y), mask: its 0 / 1 as u8.
  void (*compare)(Comparison op, Type type, Form form, const void* x, const void* y, void* z,
                  unsigned char* mask);
  /// abs, sign, copysign(x, y), from_mask(is_nan(x)) and from_mask(is_inf(x)): five vectors.
  void (*signs)(Type type, Form form, const void* x, const void* y, void* z);
  void (*reduce)(Reduction op, Type type, const void* x, void* y);
  /// any and all of x < y, f32.
  void (*any_all)(const float* x, const float* y, bool* any, bool* all);

  i64 (*panel_width)(i64 n);
  i64 (*gemm_scratch_size)(i64 k, i64 rows);
  void (*pack)(i64 panel_begin, i64 panel_end, i64 k, i64 n, const float* b, i64 stride_k,
               i64 stride_n, float* packed);
  void (*gemm)(const Gemm& gemm);
  void (*conv)(const Conv& conv);
  void (*depthwise)(const Conv& conv);
  i64 (*winograd_rows)(i64 oh);
  i64 (*winograd_scratch_size)(i64 ow, i64 c, i64 n);
  void (*winograd)(const Conv& conv);
};

extern const Level kLevelV1, kLevelV3, kLevelV4;

}  // namespace ingot::prelude_test
