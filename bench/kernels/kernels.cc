// bench/kernels/kernels.cc: one level's kernels as generated code calls them, and the prototypes.
//
// Compiled once per level with that level's -march.
// The order of the includes is that of pasting.
// clang-format off
#include "codegen/prelude/cpu/types.h"
#include "codegen/prelude/cpu/vec.h"
#include "codegen/prelude/cpu/math.h"
#include "codegen/prelude/cpu/gemm.h"
#include "codegen/prelude/cpu/conv.h"
#include "codegen/prelude/cpu/winograd.h"
// clang-format on

#include "kernels/kernels.h"

namespace ingot_cpu {
inline namespace INGOT_LEVEL {
namespace {

namespace bench = ingot::bench;

// Ten chains, because a multiply-add takes four cycles and two may start in each.
double peak() {
  constexpr i64 kSteps = 20000;
  for (i64 i = 0; i < kSteps; ++i) {
#define INGOT_CHAIN(n) \
  "vfmadd231ps %%" INGOT_REGISTER "14, %%" INGOT_REGISTER "15, %%" INGOT_REGISTER #n "\n\t"
#if INGOT_LEVEL_NUMBER == 4
#define INGOT_REGISTER "zmm"
#else
#define INGOT_REGISTER "ymm"
#endif
    asm volatile(INGOT_CHAIN(0) INGOT_CHAIN(1) INGOT_CHAIN(2) INGOT_CHAIN(3) INGOT_CHAIN(4)
                     INGOT_CHAIN(5) INGOT_CHAIN(6) INGOT_CHAIN(7) INGOT_CHAIN(8) INGOT_CHAIN(9)::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9");
#undef INGOT_CHAIN
#undef INGOT_REGISTER
  }
  return 10.0 * 2 * W * kSteps;
}

template <class KT, class NT>
void gemm_of(const bench::GemmShape& s, const bench::Buffers& b, i64 unit, KT k, NT size_n) {
  gemm(0, s.m, unit, unit + 1, k, size_n, b.a, k, b.b,
       [=](i64 m, i64 n, vf32 acc, i64 lanes) INGOT_LAMBDA {
         store_partial(b.c + m * size_n + n, acc + load_partial(b.bias + n, lanes), lanes);
       });
}
void gemm_kernel(const bench::GemmShape& s, const bench::Buffers& b, i64 unit) {
  // The short sums are literal, as generated code writes them.
  if (s.k == 64) return gemm_of(s, b, unit, Lit<64>{}, Lit<64>{});
  if (s.k == 256) return gemm_of(s, b, unit, Lit<256>{}, Lit<1024>{});
  gemm_of(s, b, unit, s.k, s.n);
}

ConvShape shape_of(const bench::ConvShape& s) {
  ConvShape c;
  c.h = c.w = s.size, c.c = s.c, c.oh = c.ow = s.out(), c.kh = c.kw = s.k;
  c.stride_h = c.stride_w = s.stride, c.pad_top = c.pad_left = s.k / 2;
  c.x_pixel_stride = s.c, c.x_row_stride = s.size * s.c, c.x_batch_stride = s.size * s.size * s.c;
  return c;
}

void conv_kernel(const bench::ConvShape& s, const bench::Buffers& b, i64 unit) {
  conv2d(shape_of(s), 0, s.out() * s.out(), unit, unit + 1, s.oc, b.a, b.b,
         [=](i64 m, i64 n, vf32 acc, i64 lanes) INGOT_LAMBDA {
           store_partial(b.c + m * s.oc + n, acc + load_partial(b.bias + n, lanes), lanes);
         });
}

i64 winograd_units(const bench::ConvShape& s) {
  const i64 block = winograd_block_rows(s.out());
  return (winograd_rows(s.out()) + block - 1) / block;
}
void winograd_kernel(const bench::ConvShape& s, const bench::Buffers& b, i64 unit) {
  const i64 block = winograd_block_rows(s.out()), rows = winograd_rows(s.out());
  const i64 end = (unit + 1) * block < rows ? (unit + 1) * block : rows;
  winograd(shape_of(s), unit * block, end, s.oc, b.a, b.b, b.scratch,
           [=](i64 m, i64 n, vf32 acc, i64 lanes) INGOT_LAMBDA {
             store_partial(b.c + m * s.oc + n, acc + load_partial(b.bias + n, lanes), lanes);
           });
}

// The prototypes: 64-column panels, the compiler's own multiply-adds, bias in the accumulators,
// output stored from the registers; convolution over a picture with a physical border, 7 pixels.
#if INGOT_LEVEL_NUMBER == 4
template <i64 MR>
[[gnu::noinline]] void prototype_tile(const f32* a, i64 lda, const f32* b, f32* c, i64 ldc, i64 k,
                                      const f32* bias) {
  vf32 acc[MR][4];
  INGOT_UNROLL for (i64 j = 0; j < 4; ++j) {
    INGOT_UNROLL for (i64 i = 0; i < MR; ++i) acc[i][j] = load(bias + 16 * j);
  }
  for (i64 t = 0; t < k; ++t, b += 64) {
    vf32 bv[4];
    INGOT_UNROLL for (i64 j = 0; j < 4; ++j) bv[j] = load(b + 16 * j);
    INGOT_UNROLL for (i64 i = 0; i < MR; ++i) {
      const vf32 av = splat<W>(a[i * lda + t]);
      INGOT_UNROLL for (i64 j = 0; j < 4; ++j) acc[i][j] += av * bv[j];
    }
  }
  INGOT_UNROLL for (i64 i = 0; i < MR; ++i) {
    INGOT_UNROLL for (i64 j = 0; j < 4; ++j) store(c + i * ldc + 16 * j, acc[i][j]);
  }
}
template <i64 MR>
void prototype_rows(i64 m, const f32* a, i64 lda, const f32* b, f32* c, i64 ldc, i64 k,
                    const f32* bias) {
  if (m == MR) {
    prototype_tile<MR>(a, lda, b, c, ldc, k, bias);
  } else if constexpr (MR > 1) {
    prototype_rows<MR - 1>(m, a, lda, b, c, ldc, k, bias);
  }
}
void prototype_gemm(const bench::GemmShape& s, const bench::Buffers& b, i64 p) {
  for (i64 m = 0; m < s.m; m += 6) {
    prototype_rows<6>(s.m - m < 6 ? s.m - m : 6, b.a + m * s.k, s.k, b.b + p * s.k * 64,
                      b.c + m * s.n + p * 64, s.n, s.k, b.bias + p * 64);
  }
}

template <i64 MR>
[[gnu::noinline]] void prototype_conv_tile(const f32* in, i64 pixel, i64 row, i64 c, i64 k,
                                           const f32* w, f32* out, i64 ldo, const f32* bias) {
  vf32 acc[MR][4];
  INGOT_UNROLL for (i64 j = 0; j < 4; ++j) {
    INGOT_UNROLL for (i64 i = 0; i < MR; ++i) acc[i][j] = load(bias + 16 * j);
  }
  for (i64 kh = 0; kh < k; ++kh) {
    for (i64 kw = 0; kw < k; ++kw) {
      const f32* a = in + kh * row + kw * c;
      for (i64 t = 0; t < c; ++t, w += 64) {
        vf32 bv[4];
        INGOT_UNROLL for (i64 j = 0; j < 4; ++j) bv[j] = load(w + 16 * j);
        INGOT_UNROLL for (i64 i = 0; i < MR; ++i) {
          INGOT_UNROLL for (i64 j = 0; j < 4; ++j) {
            fma_broadcast_into(acc[i][j], a + i * pixel + t, bv[j]);
          }
        }
      }
    }
  }
  INGOT_UNROLL for (i64 i = 0; i < MR; ++i) {
    INGOT_UNROLL for (i64 j = 0; j < 4; ++j) store(out + i * ldo + 16 * j, acc[i][j]);
  }
}
void prototype_conv(const bench::ConvShape& s, const bench::Buffers& b, i64 p) {
  const i64 padded = s.size + s.k / 2 * 2, row = padded * s.c, out = s.out();
  for (i64 oh = 0; oh < out; ++oh) {
    for (i64 ow = 0; ow < out; ow += 7) {
      prototype_conv_tile<7>(b.padded + oh * s.stride * row + ow * s.stride * s.c, s.stride * s.c,
                             row, s.c, s.k, b.b + p * s.k * s.k * s.c * 64,
                             b.c + (oh * out + ow) * s.oc + p * 64, s.oc, b.bias + p * 64);
    }
  }
}
#else
constexpr void (*prototype_gemm)(const bench::GemmShape&, const bench::Buffers&, i64) = nullptr;
constexpr void (*prototype_conv)(const bench::ConvShape&, const bench::Buffers&, i64) = nullptr;
#endif

constexpr bench::Kernels kTable = {
    .level = INGOT_LEVEL_NUMBER == 4 ? "x86-64-v4" : "x86-64-v3",
    .peak = peak,
    .gemm = gemm_kernel,
    .conv = conv_kernel,
    .winograd_units = winograd_units,
    .winograd = winograd_kernel,
    .prototype_gemm = prototype_gemm,
    .prototype_conv = prototype_conv,
};

}  // namespace
}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

namespace ingot::bench {
#if INGOT_LEVEL_NUMBER == 4
const Kernels kKernelsV4 = ingot_cpu::kTable;
#else
const Kernels kKernelsV3 = ingot_cpu::kTable;
#endif
}  // namespace ingot::bench
