// codegen/prelude/cpu/tiles.cc: the bodies of tiles that every model may need, compiled once per
// ISA level when the compiler is built and linked into artefacts, which keep what they use.
#define INGOT_TILE [[gnu::noinline, gnu::visibility("hidden")]]
// These headers include nothing, so each comes behind what it uses.
// clang-format off
#include "types.h"
#include "vec.h"
#include "gemm.h"
#include "conv.h"
// clang-format on

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

// The three heights that tile_height chooses from, and the tile of one row.
#define INGOT_TILES(kWidth)                                                                       \
  template void multiply_tile<kTileRows<kTileVectors<kWidth>>, kTileVectors<kWidth>, kWidth>(     \
      const f32* const*, i64, i64, const f32*, Later, Start, f32*);                               \
  template void multiply_tile<kTileRows<kTileVectors<kWidth>> - 1, kTileVectors<kWidth>, kWidth>( \
      const f32* const*, i64, i64, const f32*, Later, Start, f32*);                               \
  template void multiply_tile<1, kRowVectors<kWidth>, kWidth>(const f32* const*, i64, i64,        \
                                                              const f32*, Later, Start, f32*);

#define INGOT_BLOCKS(kWidth)                                                                      \
  template void multiply_block<kWidth>(i64, i64, i64, i64, i64, i64, const f32*, i64, const f32*, \
                                       FinishTile, const void*, StartTile, const void*);          \
  template void convolve_block<kWidth>(const ConvShape&, i64, i64, i64, i64, i64, const f32*,     \
                                       const f32*, FinishTile, const void*, StartTile,            \
                                       const void*);

#define INGOT_HALF_TILE(kWidth)                                                            \
  template void                                                                            \
  multiply_tile<kHalfRows<kTileRows<kTileVectors<kWidth>>>, kTileVectors<kWidth>, kWidth>( \
      const f32* const*, i64, i64, const f32*, Later, Start, f32*);

INGOT_TILES(16)
INGOT_TILES(32)
INGOT_TILES(48)
INGOT_TILES(64)
INGOT_BLOCKS(16)
INGOT_BLOCKS(32)
INGOT_BLOCKS(48)
INGOT_BLOCKS(64)
// At v1 the tallest tile has three rows, and half of it is all of it.
#if INGOT_LEVEL_NUMBER != 1
INGOT_HALF_TILE(16)
INGOT_HALF_TILE(32)
INGOT_HALF_TILE(48)
INGOT_HALF_TILE(64)
#endif

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu
