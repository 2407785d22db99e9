// codegen/prelude/cpu/gemm.h: fp32 matrix multiplication against prepacked panels.
//
// Pasted behind vec.h.
//
//   C[m, n] = initial(n) + sum over k of A[m, k] * B[k, n]         (M rows, N columns, K terms)
//
// Accumulators are f32, start at zero (or at `initial`), and are summed in ascending k with one
// fma per term. Neither the tile a row falls into nor the split over threads nor the level's
// vector width changes that order, so every split gives the same bits; v1 has no fused
// multiply-add and differs from v3 and v4.
//
// Layouts. A: row-major, unpacked, k contiguous, rows `a_stride` elements apart. B: packed into
// panels of PW = panel_width(N) columns, [P, K, PW] with P = panel_count(N), zero beyond N; the
// same at every level. C: whatever the epilogue does with it.
//
//   gemm(m_begin, m_end, panel_begin, panel_end, k, n, a, a_stride, b, epilogue[, initial])
//     The work unit: rows [m_begin, m_end) of panels [panel_begin, panel_end). `a` and `b` point
//     to row 0 and panel 0. k is Lit<...> or i64; n too, or Columns<...>, which also says how wide
//     the panels are if that is not panel_width(n).
//   gemm_produced(m_begin, m_end, panel_begin, panel_end, k, n, produce, scratch, scratch_rows, b,
//                 epilogue[, initial])
//     The same with rows of A that exist nowhere yet: `produce(m, row)` writes A[m, 0..k) to
//     `row`, once per row and call. scratch holds gemm_scratch_size(k, scratch_rows) floats.
//   pack_panels(panel_begin, panel_end, k, n, source, stride_k, stride_n, packed)
//     Packs B given as source[k * stride_k + n * stride_n].
//
//   epilogue(i64 m, i64 n, vf32 acc, i64 lanes): columns n .. n + lanes - 1 of row m, called once
//     for each; lanes is the constant W except at the right edge. The functor writes the output,
//     with store_partial(p, v, lanes). Make it a lambda with INGOT_LAMBDA behind its parameters.
//   initial(i64 n, i64 lanes) -> vf32.
//
// Tiles. A tile is MR rows by NV vectors. v4 (32 registers): 6x64 needs 24 accumulators + 4 of B +
// 1 of A; 8x48 24 + 3 + 1; 12x32 24 + 2 + 1; 12x16 12 + 1. v3 (16): 6x16 needs 12 + 2 + 1. v1 (16):
// 3x16 needs 12 + 1 + 1 and a temporary. Tiles one row lower even out what is left over of many
// rows; for few rows there are a tile of half the height and one of a single row. A tile too tall
// for its rows takes the last one several times and drops the copies. No more tiles, because each
// takes some 10 to 20 ms to compile. With a row stride that is a multiple of 4 KiB at most 8 rows
// are taken, because all rows of a tile then fall into one set of an 8-way L1 cache. The whole of K
// is summed in registers. Remainders: rows as said, columns by zero padding of B and `lanes`, k
// needs none.
//
// Tiles that lost: 7x64 (needs B or A as memory operands: short of load ports where there are two
// 512-bit multipliers), 12x32 and 24x16 for wide N (more rows of A than the L1 has ways), 3x32 at
// v3 (more of B per multiplication than the L2 delivers).
#ifndef INGOT_PRELUDE_CPU_GEMM_H
#define INGOT_PRELUDE_CPU_GEMM_H

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

/// Columns of one panel of a packed B with n columns: one panel up to 64, else 64, or less where
/// that leaves fewer columns empty.
[[maybe_unused]] static constexpr i64 panel_width(i64 n) {
  if (n <= 64) return n <= 16 ? 16 : (n + 15) / 16 * 16;
  const i64 by_64 = (n + 63) / 64 * 64, by_48 = (n + 47) / 48 * 48, by_32 = (n + 31) / 32 * 32;
  const i64 widest = by_48 < by_64 ? 48 : 64;
  return by_32 * 10 < (widest == 48 ? by_48 : by_64) * 9 ? 32 : widest;
}
/// Panels of a packed B with n columns.
[[maybe_unused]] static constexpr i64 panel_count(i64 n) {
  return (n + panel_width(n) - 1) / panel_width(n);
}
/// Elements of a packed B of k rows and n columns.
[[maybe_unused]] static constexpr i64 packed_size(i64 k, i64 n) {
  return panel_count(n) * panel_width(n) * k;
}

/// Vectors in a tile of a panel of kWidth columns.
template <i64 kWidth>
constexpr i64 kTileVectors = INGOT_LEVEL_NUMBER == 4 ? kWidth / 16 : 16 / W;
/// Vectors in a tile of one row: wider, so that enough sums are under way to hide the latency of a
/// multiply-add.
template <i64 kWidth>
constexpr i64 kRowVectors = INGOT_LEVEL_NUMBER == 4   ? kWidth / 16
                            : INGOT_LEVEL_NUMBER == 3 ? kWidth / 8
                            : kWidth % 32 == 0        ? 8
                                                      : 4;
/// Rows in the tallest tile of kVectors vectors.
template <i64 kVectors>
constexpr i64 kTileRows = INGOT_LEVEL_NUMBER == 1   ? 3
                          : INGOT_LEVEL_NUMBER == 3 ? 6
                          : kVectors == 4           ? 6
                          : kVectors == 3           ? 8
                                                    : 12;
/// The tallest tile when rows are a multiple of 4 KiB apart.
constexpr i64 kTileRowsAliased = 8;

/// Steps of k by which B is prefetched into the L1: a panel streams from the L2 faster than the
/// hardware's own prefetchers ask for it.
constexpr i64 kPrefetchSteps = 16;

/// What will be read soon and comes more slowly than it will be read: a place of it is fetched into
/// the L2 with each step of k.
struct Later {
  const f32* at;
  i64 step;  // floats; 0: nothing is fetched
};

/// How functions that may be compiled elsewhere are declared where they have their bodies.
#ifndef INGOT_TILE
#define INGOT_TILE [[maybe_unused, gnu::noinline]] static
#endif

/// Where the accumulators of a tile start.
enum class Start { zero, tile };

/// acc += a[0] in every lane * b, with a read from memory.
INGOT_FN void fma_broadcast_into(vf32& acc, const f32* a, vf32 b) {
#if INGOT_LEVEL_NUMBER == 4
  asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*a));
#else
  fma_into(acc, splat<W>(*a), b);
#endif
}

/// One step of k, or kSteps of them: acc[i, j] += sum over s of row(i)[s] * b[s, j].
template <i64 kSteps, i64 kWidth, i64 MR, i64 NV, class Row>
INGOT_FN void accumulate_steps(const Row& row, const f32* b, Later later, vf32 (&acc)[MR][NV]) {
  vf32 bv[kSteps][NV];
  INGOT_UNROLL for (i64 s = 0; s < kSteps; ++s) {
    INGOT_UNROLL for (i64 j = 0; j < NV; ++j) bv[s][j] = load(b + s * kWidth + j * W);
    INGOT_UNROLL for (i64 j = 0; j < NV * W; j += 16) {
      __builtin_prefetch(b + (kPrefetchSteps + s) * kWidth + j, 0, 3);
    }
  }
  __builtin_prefetch(later.at, 0, 2);
  INGOT_UNROLL for (i64 i = 0; i < MR; ++i) {
    const f32* const a = row(i);
    INGOT_UNROLL for (i64 s = 0; s < kSteps; ++s) {
      if constexpr (NV == 1) {
        fma_broadcast_into(acc[i][0], a + s, bv[s][0]);
      } else {
        const vf32 av = splat<W>(a[s]);
        INGOT_UNROLL for (i64 j = 0; j < NV; ++j) fma_into(acc[i][j], av, bv[s][j]);
      }
    }
  }
}

/// The micro-kernel: acc[i, j] += sum over taps t and k of rows[t * MR + i][k] * b[t, k, j].
///
/// b is [taps, k, kWidth]; only NV * W columns of it are read. There are 15 registers for
/// addresses: tiles of more rows read the address of a row anew, but then take several steps with
/// it, as many as there are registers for vectors of b.
template <i64 kWidth, i64 MR, i64 NV>
INGOT_FN void accumulate(const f32* const* rows, i64 taps, i64 k, const f32* b, Later later,
                         vf32 (&acc)[MR][NV]) {
  constexpr i64 kSteps = MR <= 8 ? 1 : NV == 1 ? 4 : 2;
  for (i64 t = 0; t < taps; ++t, rows += MR) {
    i64 c = 0;
    if constexpr (kSteps > 1) {
      for (; c + kSteps <= k; c += kSteps, b += kSteps * kWidth, later.at += kSteps * later.step) {
        const f32* const* at = rows;
        asm("" : "+r"(at));  // so that the addresses are not kept, in registers of another kind
        accumulate_steps<kSteps, kWidth>([&](i64 i) INGOT_LAMBDA { return at[i] + c; }, b, later,
                                         acc);
      }
    }
    const f32* a[MR];
    INGOT_UNROLL for (i64 i = 0; i < MR; ++i) a[i] = rows[i];
    for (; c < k; ++c, b += kWidth, later.at += later.step) {
      accumulate_steps<1, kWidth>([&](i64 i) INGOT_LAMBDA { return a[i] + c; }, b, later, acc);
    }
  }
}

/// Sums into tile [MR, NV * W], from zero or from what the tile holds. Not inlined: one body serves
/// every matmul and convolution, and no epilogue can spoil its register allocation. Because the
/// bodies are the same for every model, they may be compiled once and for all: with
/// INGOT_TILES_ELSEWHERE they are only declared, and tiles.cc has them.
#ifdef INGOT_TILES_ELSEWHERE
template <i64 MR, i64 NV, i64 kWidth>
[[gnu::visibility("hidden")]] void multiply_tile(const f32* const* rows, i64 taps, i64 k,
                                                 const f32* b, Later later, Start start, f32* tile);
#else
template <i64 MR, i64 NV, i64 kWidth>
INGOT_TILE void multiply_tile(const f32* const* rows, i64 taps, i64 k, const f32* b, Later later,
                              Start start, f32* tile) {
  vf32 acc[MR][NV];
  INGOT_UNROLL for (i64 i = 0; i < MR; ++i) {
    INGOT_UNROLL for (i64 j = 0; j < NV; ++j) {
      acc[i][j] = start == Start::zero ? vf32{} : load(tile + (i * NV + j) * W);
    }
  }
  accumulate<kWidth>(rows, taps, k, b, later, acc);
  INGOT_UNROLL for (i64 i = 0; i < MR; ++i) {
    INGOT_UNROLL for (i64 j = 0; j < NV; ++j) store(tile + (i * NV + j) * W, acc[i][j]);
  }
}
#endif

/// Rows in the lower tile of a panel whose tallest has kRows.
template <i64 kRows>
constexpr i64 kHalfRows = kRows / 2 > 1 ? kRows / 2 : kRows;

/// The tile that takes the next of `left` rows: one of kRows, kRows - 1 and kHalfRows.
template <i64 kRows>
INGOT_FN i64 tile_height(i64 left, bool aliased) {
  if (left <= kHalfRows<kRows> || (kRows > kTileRowsAliased && aliased)) return kHalfRows<kRows>;
  // All tiles together are `spare` rows too tall; if there are that many of them, that is evened
  // out by tiles of one row less.
  const i64 tiles = (left + kRows - 1) / kRows, spare = tiles * kRows - left;
  return spare == tiles ? kRows - 1 : kRows;
}

/// An instance of multiply_tile.
typedef void (*MultiplyTile)(const f32* const* rows, i64 taps, i64 k, const f32* b, Later later,
                             Start start, f32* tile);
/// The instance for a height that tile_height gave.
template <i64 kRows, i64 NV, i64 kWidth>
INGOT_FN MultiplyTile tall_tile(i64 height) {
  if (height == kRows) return multiply_tile<kRows, NV, kWidth>;
  if (height == kRows - 1) return multiply_tile<kRows - 1, NV, kWidth>;
  return multiply_tile<kHalfRows<kRows>, NV, kWidth>;
}

/// Hands the first `count` rows of a tile of `vectors` vectors, the first of which is at `column`,
/// to the epilogue.
template <class Epilogue>
[[maybe_unused, gnu::noinline]] static void finish_tile(i64 m, i64 count, i64 column, i64 vectors,
                                                        i64 n, const f32* tile,
                                                        Epilogue& epilogue) {
  const i64 whole = (n - column) / W < vectors ? (n - column) / W : vectors;
  const i64 left = whole < vectors ? n - column - whole * W : 0;
  for (i64 i = 0; i < count; ++i) {
    const f32* row = tile + i * vectors * W;
    for (i64 j = 0; j < whole; ++j) epilogue(m + i, column + j * W, load(row + j * W), W);
    if (left > 0) epilogue(m + i, column + whole * W, load(row + whole * W), left);
  }
}

// Loops over tiles are the same for every epilogue, so they call it through a pointer, a tile at a
// time, and are compiled once.

/// finish_tile for the epilogue behind the pointer, and start_tile likewise.
typedef void (*FinishTile)(const void* epilogue, i64 m, i64 count, i64 column, i64 vectors, i64 n,
                           const f32* tile);
typedef void (*StartTile)(const void* initial, i64 height, i64 column, i64 vectors, i64 n,
                          f32* tile);

/// What a forwarding reference refers to.
template <class T>
struct Referred {
  typedef T type;
};
template <class T>
struct Referred<T&> {
  typedef T type;
};

template <class Epilogue>
[[maybe_unused]] static void finish_tile_with(const void* epilogue, i64 m, i64 count, i64 column,
                                              i64 vectors, i64 n, const f32* tile) {
  typedef typename Referred<Epilogue>::type Functor;
  finish_tile(m, count, column, vectors, n, tile,
              *const_cast<Functor*>(static_cast<const Functor*>(epilogue)));
}

/// The default of `initial`: all accumulators start at zero.
struct FromZero {};

/// Fills a tile with what its accumulators start at; columns beyond n with zero.
template <class Initial>
[[maybe_unused, gnu::noinline]] static void start_tile(i64 height, i64 column, i64 vectors, i64 n,
                                                       f32* tile, Initial& initial) {
  for (i64 j = 0; j < vectors; ++j) {
    const i64 left = n - column - j * W;
    const vf32 first = left > 0 ? initial(column + j * W, left < W ? left : W) : vf32{};
    for (i64 i = 0; i < height; ++i) store(tile + (i * vectors + j) * W, first);
  }
}

template <class Initial>
[[maybe_unused]] static void start_tile_from(const void* initial, i64 height, i64 column,
                                             i64 vectors, i64 n, f32* tile) {
  typedef typename Referred<Initial>::type Functor;
  start_tile(height, column, vectors, n, tile,
             *const_cast<Functor*>(static_cast<const Functor*>(initial)));
}
/// Null where accumulators start at zero.
template <class Initial>
INGOT_FN StartTile start_tile_with() {
  if constexpr (kSame<typename Referred<Initial>::type, FromZero>) {
    return nullptr;
  } else {
    return start_tile_from<Initial>;
  }
}

/// Rows [0, total) of A, which are rows m0 .. of the result, times panels [panel_begin, panel_end).
#ifdef INGOT_TILES_ELSEWHERE
template <i64 kWidth>
[[gnu::visibility("hidden")]] void multiply_block(i64 m0, i64 total, i64 panel_begin, i64 panel_end,
                                                  i64 k, i64 n, const f32* a, i64 a_stride,
                                                  const f32* b, FinishTile finish,
                                                  const void* epilogue, StartTile begin,
                                                  const void* initial);
#else
template <i64 kWidth>
INGOT_TILE void multiply_block(i64 m0, i64 total, i64 panel_begin, i64 panel_end, i64 k, i64 n,
                               const f32* a, i64 a_stride, const f32* b, FinishTile finish,
                               const void* epilogue, StartTile begin, const void* initial) {
  constexpr i64 NV = kTileVectors<kWidth>, MR = kTileRows<NV>, kSingle = kRowVectors<kWidth>;
  const Start start = begin == nullptr ? Start::zero : Start::tile;
  const bool aliased = a_stride % 1024 == 0;
  // The next panel is fetched in the time of all tiles of this one. Behind the last panel that may
  // be anything, or no memory at all: fetching ahead does not fault.
  const i64 tiles = (total + MR - 1) / MR, later_step = (NV * W + tiles - 1) / tiles;
  alignas(64) f32 tile[(MR * NV > kSingle ? MR * NV : kSingle) * W];
  const f32* rows[MR];
  for (i64 panel = panel_begin; panel < panel_end; ++panel) {
    const f32* panel_b = b + panel * k * kWidth;
    const i64 first_column = panel * kWidth, columns = n - first_column;
    if (total == 1) {
      rows[0] = a;
      for (i64 part = 0; part < kWidth && part < columns; part += kSingle * W) {
        const i64 column = first_column + part;
        if (begin != nullptr) begin(initial, 1, column, kSingle, n, tile);
        multiply_tile<1, kSingle, kWidth>(rows, 1, k, panel_b + part, {b, 0}, start, tile);
        finish(epilogue, m0, 1, column, kSingle, n, tile);
      }
      continue;
    }
    for (i64 part = 0; part < kWidth && part < columns; part += NV * W) {
      const i64 column = first_column + part;
      Later later = {panel_b + k * kWidth + part * k, later_step};
      for (i64 m = 0, height; m < total; m += height, later.at += k * later.step) {
        height = tile_height<MR>(total - m, aliased);
        const i64 count = height < total - m ? height : total - m;
        for (i64 i = 0; i < height; ++i) rows[i] = a + (i < count ? m + i : total - 1) * a_stride;
        if (begin != nullptr) begin(initial, height, column, NV, n, tile);
        tall_tile<MR, NV, kWidth>(height)(rows, 1, k, panel_b + part, later, start, tile);
        finish(epilogue, m0 + m, count, column, NV, n, tile);
      }
    }
  }
}
#endif

/// A number of columns that is known when the kernel runs, in panels whose width is known before.
template <i64 kWidth>
struct Columns {
  i64 count;
  constexpr operator i64() const { return count; }
};

/// Calls body with the width of panels of n columns as a Lit.
template <i64 kWidth, class Body>
INGOT_FN void with_panel_width(Columns<kWidth>, Body&& body) {
  body(Lit<kWidth>{});
}
template <i64 kN, class Body>
INGOT_FN void with_panel_width(Lit<kN>, Body&& body) {
  body(Lit<panel_width(kN)>{});
}
template <class Body>
INGOT_FN void with_panel_width(i64 n, Body&& body) {
  const i64 width = panel_width(n);
  if (width == 64) return body(Lit<64>{});
  if (width == 48) return body(Lit<48>{});
  if (width == 32) return body(Lit<32>{});
  body(Lit<16>{});
}

/// Rows [m_begin, m_end) of panels [panel_begin, panel_end); see the head of this file.
template <class KT, class NT, class Epilogue, class Initial = FromZero>
INGOT_FN void gemm(i64 m_begin, i64 m_end, i64 panel_begin, i64 panel_end, KT k, NT n, const f32* a,
                   i64 a_stride, const f32* b, Epilogue&& epilogue, Initial&& initial = Initial{}) {
  if (m_begin >= m_end) return;
  with_panel_width(n, [&](auto width) INGOT_LAMBDA {
    multiply_block<decltype(width)::value>(
        m_begin, m_end - m_begin, panel_begin, panel_end, k, n, a + m_begin * a_stride, a_stride, b,
        finish_tile_with<Epilogue>, &epilogue, start_tile_with<Initial>(), &initial);
  });
}

/// Distance of produced rows: the next odd multiple of a cache line, so that the rows of a tile
/// spread over the sets of the L1.
[[maybe_unused]] static constexpr i64 produced_stride(i64 k) {
  return ((k + 15) / 16 | 1) * 16;
}

/// Floats that gemm_produced needs for `rows` rows.
[[maybe_unused]] static constexpr i64 gemm_scratch_size(i64 k, i64 rows) {
  return produced_stride(k) * rows;
}

/// gemm with rows of A that `produce(m, row)` writes first, scratch_rows at a time.
template <class KT, class NT, class Produce, class Epilogue, class Initial = FromZero>
INGOT_FN void gemm_produced(i64 m_begin, i64 m_end, i64 panel_begin, i64 panel_end, KT k, NT n,
                            Produce&& produce, f32* scratch, i64 scratch_rows, const f32* b,
                            Epilogue&& epilogue, Initial&& initial = Initial{}) {
  const i64 stride = produced_stride(k);
  with_panel_width(n, [&](auto width) INGOT_LAMBDA {
    for (i64 m = m_begin; m < m_end; m += scratch_rows) {
      const i64 count = m_end - m < scratch_rows ? m_end - m : scratch_rows;
      for (i64 i = 0; i < count; ++i) produce(m + i, scratch + i * stride);
      multiply_block<decltype(width)::value>(m, count, panel_begin, panel_end, k, n, scratch,
                                             stride, b, finish_tile_with<Epilogue>, &epilogue,
                                             start_tile_with<Initial>(), &initial);
    }
  });
}

/// Packs panels [panel_begin, panel_end) of B[k, n] = source[k * stride_k + n * stride_n].
template <class KT, class NT>
[[maybe_unused]] static void pack_panels(i64 panel_begin, i64 panel_end, KT k, NT n,
                                         const f32* source, i64 stride_k, i64 stride_n,
                                         f32* packed) {
  const i64 width = panel_width(n);
  for (i64 panel = panel_begin; panel < panel_end; ++panel) {
    for (i64 c = 0; c < k; ++c) {
      for (i64 j = 0; j < width; j += W) {
        const i64 column = panel * width + j, left = n - column;
        const f32* from = source + c * stride_k + column * stride_n;
        const vf32 v = left <= 0       ? vf32{}
                       : stride_n == 1 ? load_partial(from, left)
                       : left >= W     ? load_strided<W>(from, stride_n)
                                       : load_strided_partial(from, stride_n, left);
        store(packed + (panel * k + c) * width + j, v);
      }
    }
  }
}

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

#endif  // INGOT_PRELUDE_CPU_GEMM_H
