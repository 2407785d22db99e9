// bench/kernels/kernels.h: the kernels that are timed, behind plain function pointers.
//
// kernels.cc is compiled once per ISA level, as generated code is. Includes nothing.
#pragma once

namespace ingot::bench {

using i64 = __INT64_TYPE__;

struct GemmShape {
  i64 m, n, k;
};

/// A square convolution, channels last, padded by k / 2.
struct ConvShape {
  i64 size, c, oc, k, stride;
  i64 out() const { return (size + k / 2 * 2 - k) / stride + 1; }
  double flops() const { return 2.0 * static_cast<double>(out() * out() * oc * c * k * k); }
};

struct Buffers {
  const float* a;       // A, or the picture
  const float* padded;  // the picture with zeros around it, for the prototype
  const float* b;       // packed
  const float* bias;
  float* c;
  float* scratch;
};

/// Kernels run one unit of work: a panel of 64 output columns, or a block of rows of tiles.
struct Kernels {
  const char* level;
  /// Floating point operations of one call, which runs nothing but independent multiply-adds.
  double (*peak)();
  void (*gemm)(const GemmShape& s, const Buffers& b, i64 unit);
  void (*conv)(const ConvShape& s, const Buffers& b, i64 unit);
  i64 (*winograd_units)(const ConvShape& s);
  void (*winograd)(const ConvShape& s, const Buffers& b, i64 unit);
  /// The prototypes these kernels came from (v4 only, else null).
  void (*prototype_gemm)(const GemmShape& s, const Buffers& b, i64 unit);
  void (*prototype_conv)(const ConvShape& s, const Buffers& b, i64 unit);
};

extern const Kernels kKernelsV3, kKernelsV4;

}  // namespace ingot::bench
