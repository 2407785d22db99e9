// picture/bmp.cc: bitmaps of Windows: not compressed, 8 bits with a palette, 24 or 32.
#include "picture/formats.h"

namespace ingot::picture {

Outcome decode_bmp(Bytes file, Picture& picture) {
  constexpr int64_t kHeader = 14;  // before the one that tells its own size
  const int64_t header = file.little32(kHeader);
  if (header < 40) return unsupported("BMP files with headers of OS/2");
  if (!file.has(kHeader, header)) return damaged("BMP: the header is cut off");
  const int64_t width = static_cast<int32_t>(file.little32(18));
  const int64_t rows = static_cast<int32_t>(file.little32(22));  // below 0: from top to bottom
  const uint32_t bits = file.little16(28), packing = file.little32(30);
  const bool masks = packing == 3 && bits == 32 && file.little32(54) == 0xff0000 &&
                     file.little32(58) == 0xff00 && file.little32(62) == 0xff;
  if ((bits != 8 && bits != 24 && bits != 32) || (packing != 0 && !masks)) {
    return unsupported("BMP files but of 8, 24 or 32 bits that are not compressed");
  }
  const int64_t height = rows < 0 ? -rows : rows;
  const Outcome made = picture.allocate(height, width, 3);
  if (!made.good()) return made;
  const int64_t start = file.little32(10), stride = (width * bits + 31) / 32 * 4;
  if (!file.has(start, stride * height)) return damaged("BMP: the pixels are cut off");
  const int64_t palette = kHeader + header;
  for (int64_t y = 0; y < height; ++y) {
    const int64_t from = start + stride * (rows < 0 ? y : height - 1 - y);
    uint8_t* to = picture.row(y);
    for (int64_t x = 0; x < width; ++x, to += 3) {
      const int64_t at = bits == 8 ? palette + 4 * int64_t{file.data[from + x]}
                                   : from + x * static_cast<int64_t>(bits / 8);
      for (int64_t c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(file.at(at + 2 - c));
    }
  }
  return {};
}

}  // namespace ingot::picture
