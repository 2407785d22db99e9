// codegen/prelude/cpu/winograd.h: 3x3 convolution with stride 1 by Winograd's F(4x4, 3x3).
//
// Pasted behind conv.h.
//
//   Y = A^T [ sum over c of (G g_c G^T) * (B^T d_c B) ] A          (* elementwise, 6x6)
//
// for each 4x4 tile Y of one output channel, the 6x6 piece d_c of input channel c around it and the
// 3x3 filter g_c; interpolation points 0, 1, -1, 2, -2 and infinity:
//
//         4  0 -5  0  1  0              1/4    0    0
//         0 -4 -4  1  1  0             -1/6 -1/6 -1/6            1  1  1  1  1  0
//   B^T = 0  4 -4 -1  1  0         G = -1/6  1/6 -1/6     A^T =  0  1 -1  2 -2  0
//         0 -2 -1  2  1  0             1/24 1/12  1/6            0  1  1  4  4  0
//         0  2 -1 -2  1  0             1/24 -1/12 1/6            0  1 -1  8 -8  1
//         0  4  0 -5  0  1                0    0    1
//
// 36 multiplications make 16 outputs where the sum written out takes 144; the price is accuracy:
// the error is some ten times that of conv2d. Source: Lavin and Gray,
// Fast Algorithms for Convolutional Neural Networks, 2015 (arXiv:1509.09308).
//
// Layouts. x and the shape as in conv.h, with kh = kw = 3, strides and dilations 1. Weights: 36
// packed matrices u[xi] = pack_panels of [C, OC], [36, P, C, PW] with xi = 6 i + j and
//
//   u[6 i + j, c, n] = sum over p, q of G[i, p] * w[p, q, c, n] * G[j, q].
//
//   winograd(shape, row_begin, row_end, n, x, u, scratch, epilogue[, initial])
//     The work unit: rows of tiles [row_begin, row_end) of all pictures, winograd_rows(oh) of them
//     to a picture. Units are independent of each other, and every split gives the same bits.
//     scratch: winograd_scratch_size(ow, c, n) floats for each thread. initial is added last.
//
// Several rows of tiles are done at once when rows are short, so that the matrices have rows enough
// to fill their tiles; the transformed input and the products of a block stay in the L2. Outputs
// beyond the picture are computed and dropped; channels beyond C or OC are never touched.
#ifndef INGOT_PRELUDE_CPU_WINOGRAD_H
#define INGOT_PRELUDE_CPU_WINOGRAD_H

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

/// Tiles in a block, if rows of tiles are shorter.
constexpr i64 kWinogradTiles = 12;

/// Rows of tiles of a picture with oh rows; also tiles in a row of ow pixels.
[[maybe_unused]] static constexpr i64 winograd_rows(i64 oh) {
  return (oh + 3) / 4;
}
/// Rows of tiles that are done at once.
[[maybe_unused]] static constexpr i64 winograd_block_rows(i64 ow) {
  const i64 tiles = winograd_rows(ow);
  return tiles <= 0 ? 1 : (kWinogradTiles + tiles - 1) / tiles;
}
/// Distance of the 36 matrices of a block with this many elements each; not a power of two, because
/// one vector of each is written in turn.
[[maybe_unused]] static constexpr i64 winograd_stride(i64 elements) {
  return (elements + 15) / 16 * 16 + 16;
}
/// Floats that winograd needs for each thread.
[[maybe_unused]] static constexpr i64 winograd_scratch_size(i64 ow, i64 c, i64 n) {
  const i64 tiles = winograd_rows(ow) * winograd_block_rows(ow);
  return 36 * (winograd_stride(tiles * c) + winograd_stride(tiles * n));
}

/// B^T d of one column.
INGOT_FN void transform_input(const vf32 (&d)[6], vf32 (&t)[6]) {
  const vf32 four = splat<W>(4.0f), two = splat<W>(2.0f);
  const vf32 even = fma(-four, d[2], d[4]), odd = fma(-four, d[1], d[3]);
  const vf32 even_2 = d[4] - d[2], odd_2 = d[3] - d[1];
  t[0] = fma(four, d[0], fma(splat<W>(-5.0f), d[2], d[4]));
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = fma(two, odd_2, even_2);
  t[4] = fma(-two, odd_2, even_2);
  t[5] = fma(four, d[1], fma(splat<W>(-5.0f), d[3], d[5]));
}

/// A^T m of one column.
INGOT_FN void transform_output(const vf32 (&m)[6], vf32 (&y)[4]) {
  const vf32 sum = m[1] + m[2], difference = m[1] - m[2];
  const vf32 sum_2 = m[3] + m[4], difference_2 = m[3] - m[4];
  y[0] = m[0] + sum + sum_2;
  y[1] = fma(splat<W>(2.0f), difference_2, difference);
  y[2] = fma(splat<W>(4.0f), sum_2, sum);
  y[3] = fma(splat<W>(8.0f), difference_2, difference) + m[5];
}

/// Where a tile begins: its first output pixel, and the picture.
struct WinogradTile {
  i64 oh, ow, picture;
};
INGOT_FN WinogradTile winograd_tile(const ConvShape& s, i64 row, i64 column) {
  const i64 rows = winograd_rows(s.oh), picture = row / rows;
  return {(row - picture * rows) * 4, column * 4, picture};
}

/// v[xi * stride + c] = (B^T d B)[xi] of one tile, for all channels.
[[maybe_unused, gnu::noinline]] static void winograd_input(const ConvShape& s,
                                                           const WinogradTile& tile, const f32* x,
                                                           f32* v, i64 stride) {
  const i64 ih = tile.oh - s.pad_top, iw = tile.ow - s.pad_left;
  const f32* from =
      x + tile.picture * s.x_batch_stride + ih * s.x_row_stride + iw * s.x_pixel_stride;
  const bool inside = ih >= 0 && ih + 6 <= s.h && iw >= 0 && iw + 6 <= s.w;
  for (i64 c = 0; c < s.c; c += W) {
    const i64 lanes = s.c - c < W ? s.c - c : W;
    vf32 t[6][6];
    for (i64 j = 0; j < 6; ++j) {
      vf32 d[6], column[6];
      INGOT_UNROLL for (i64 i = 0; i < 6; ++i) {
        const bool read = inside || (is_row_inside(s, ih + i) && iw + j >= 0 && iw + j < s.w);
        d[i] = read ? load_partial(from + i * s.x_row_stride + j * s.x_pixel_stride + c, lanes)
                    : vf32{};
      }
      transform_input(d, column);
      INGOT_UNROLL for (i64 i = 0; i < 6; ++i) t[i][j] = column[i];
    }
    for (i64 i = 0; i < 6; ++i) {
      vf32 row[6];
      transform_input(t[i], row);
      INGOT_UNROLL for (i64 j = 0; j < 6; ++j) {
        store_partial(v + (6 * i + j) * stride + c, row[j], lanes);
      }
    }
  }
}

/// Outputs A^T m A of one tile from products[xi * stride + n].
template <class Epilogue, class Initial>
[[maybe_unused, gnu::noinline]] static void winograd_output(const ConvShape& s,
                                                            const WinogradTile& tile, i64 n,
                                                            const f32* products, i64 stride,
                                                            Epilogue& epilogue, Initial& initial) {
  const i64 rows = s.oh - tile.oh < 4 ? s.oh - tile.oh : 4;
  const i64 columns = s.ow - tile.ow < 4 ? s.ow - tile.ow : 4;
  const i64 first = (tile.picture * s.oh + tile.oh) * s.ow + tile.ow;
  for (i64 channel = 0; channel < n; channel += W) {
    const i64 lanes = n - channel < W ? n - channel : W;
    vf32 start = {};
    if constexpr (!kSame<Initial, FromZero>) start = initial(channel, lanes);
    vf32 t[4][6];
    INGOT_UNROLL for (i64 j = 0; j < 6; ++j) {
      vf32 m[6], column[4];
      INGOT_UNROLL for (i64 i = 0; i < 6; ++i) {
        m[i] = load_partial(products + (6 * i + j) * stride + channel, lanes);
      }
      transform_output(m, column);
      INGOT_UNROLL for (i64 i = 0; i < 4; ++i) t[i][j] = column[i];
    }
    for (i64 i = 0; i < rows; ++i) {
      vf32 y[4];
      transform_output(t[i], y);
      for (i64 j = 0; j < columns; ++j) {
        epilogue(first + i * s.ow + j, channel, vf32(y[j] + start), lanes);
      }
    }
  }
}

/// Rows of tiles [row_begin, row_end) of all pictures; see the head of this file.
template <class NT, class Epilogue, class Initial = FromZero>
INGOT_FN void winograd(const ConvShape& s, i64 row_begin, i64 row_end, NT n, const f32* x,
                       const f32* u, f32* scratch, Epilogue&& epilogue,
                       Initial&& initial = Initial{}) {
  const i64 tile_columns = winograd_rows(s.ow), block_rows = winograd_block_rows(s.ow);
  const i64 v_stride = winograd_stride(block_rows * tile_columns * s.c);
  const i64 product_stride = winograd_stride(block_rows * tile_columns * n);
  f32* const v = scratch;
  f32* const products = scratch + 36 * v_stride;
  for (i64 row = row_begin; row < row_end; row += block_rows) {
    const i64 rows = row_end - row < block_rows ? row_end - row : block_rows;
    const i64 tiles = rows * tile_columns;
    for (i64 t = 0; t < tiles; ++t) {
      winograd_input(s, winograd_tile(s, row + t / tile_columns, t % tile_columns), x, v + t * s.c,
                     v_stride);
    }
    for (i64 xi = 0; xi < 36; ++xi) {
      f32* const to = products + xi * product_stride;
      gemm(0, tiles, 0, panel_count(n), s.c, n, v + xi * v_stride, s.c,
           u + xi * packed_size(s.c, n), [=](i64 m, i64 column, vf32 acc, i64 lanes) INGOT_LAMBDA {
             store_partial(to + m * n + column, acc, lanes);
           });
    }
    for (i64 t = 0; t < tiles; ++t) {
      winograd_output(s, winograd_tile(s, row + t / tile_columns, t % tile_columns), n,
                      products + t * n, product_stride, epilogue, initial);
    }
  }
}

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

#endif  // INGOT_PRELUDE_CPU_WINOGRAD_H
