// picture/picture.cc: which format a file has; pixels as they are asked for.
#include "picture/picture.h"

#include "picture/formats.h"

namespace ingot::picture {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;

}  // namespace

Picture::~Picture() {
  free(pixels);
}

Outcome Picture::allocate(int64_t rows, int64_t columns, int64_t count) {
  if (rows < 1 || columns < 1) return damaged("the picture has no pixels");
  if (rows > kMostPixels || columns > kMostPixels / rows) {
    return unsupported("pictures of more than 2^28 pixels");
  }
  free(pixels);
  pixels = static_cast<uint8_t*>(calloc(static_cast<size_t>(rows * columns * count), 1));
  if (pixels == nullptr) return no_memory();
  height = rows;
  width = columns;
  channels = count;
  return {};
}

void Picture::write(Pixels wanted, uint8_t* out) const {
  const int64_t made = channels_of(wanted);
  const bool gray = channels == 1;
  for (int64_t k = 0; k < height * width; ++k, out += made) {
    const uint8_t* p = pixels + k * channels;
    const uint32_t r = p[0], g = gray ? r : p[1], b = gray ? r : p[2];
    if (wanted == Pixels::gray) {
      out[0] =
          gray ? p[0] : static_cast<uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
    } else {
      out[0] = static_cast<uint8_t>(wanted == Pixels::rgb ? r : b);
      out[1] = static_cast<uint8_t>(g);
      out[2] = static_cast<uint8_t>(wanted == Pixels::rgb ? b : r);
    }
  }
}

Outcome decode(const uint8_t* bytes, int64_t size, Picture& picture) {
  const Bytes file{bytes, size};
  if (file.starts_with("BM", 2)) return decode_bmp(file, picture);
  if (file.starts_with("\xff\xd8", 2)) return decode_jpeg(file, picture);
  if (file.starts_with("\x89PNG\r\n\x1a\n", 8)) return decode_png(file, picture);
  if (file.starts_with("P5", 2) || file.starts_with("P6", 2)) return decode_pnm(file, picture);
  if (file.starts_with("II*\0", 4) || file.starts_with("MM\0*", 4)) {
    return decode_tiff(file, picture);
  }
  if (file.starts_with("RIFF", 4)) return unsupported("WebP pictures");
  if (file.starts_with("\0\0\0\x0cjP", 6) || file.starts_with("\xff\x4f\xff\x51", 4)) {
    return unsupported("JPEG 2000 pictures");
  }
  return damaged("the bytes are no picture in a format that is known");
}

}  // namespace ingot::picture
