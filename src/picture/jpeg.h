// picture/jpeg.h: what the halves of the JPEG decoder share: frames, their coefficients, codes.
#pragma once

#include "picture/formats.h"

namespace ingot::picture {

inline constexpr int64_t kBlock = 8;  // pixels along a side of a block
inline constexpr int64_t kBlockSize = kBlock * kBlock;
inline constexpr int kMostComponents = 3;

struct Component {
  int64_t id = 0, across = 1, down = 1;      // blocks in a unit of the frame
  int64_t table = 0;                         // of quantization
  int64_t width = 0, height = 0;             // samples that count
  int64_t blocks_wide = 0, blocks_high = 0;  // whole units
  Array<int16_t> coefficients;               // [blocks_high, blocks_wide, 64], not zigzag
  int predicted = 0;                         // of the next block's first coefficient

  int16_t* block(int64_t y, int64_t x) { return &coefficients[(y * blocks_wide + x) * kBlockSize]; }
};

struct Frame {
  bool progressive = false;
  int64_t width = 0, height = 0;
  int64_t most_across = 1, most_down = 1;
  int64_t units_wide = 0, units_high = 0;
  int count = 0;
  Component components[kMostComponents];
  uint16_t quantization[4][kBlockSize] = {};  // not zigzag
  bool is_ycc = true;                         // of three components: else RGB
};

/// Pixels of a frame whose coefficients are complete, as libjpeg-turbo makes them: the accurate
/// integer transform, triangles over chroma. Errors: unsupported, no_memory.
Outcome reconstruct(Frame& frame, Picture& picture);

}  // namespace ingot::picture
