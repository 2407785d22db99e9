// picture/picture.h: decodes files of pictures. Freestanding, with nothing but libc, because it is
// linked into compiled models; the reference interpreter has the same code.
#pragma once

#include <stdint.h>

namespace ingot::picture {

enum class Code : uint8_t { ok, damaged, unsupported, no_memory };

struct Outcome {
  Code code = Code::ok;
  const char* reason = "";

  bool good() const { return code == Code::ok; }
};

/// Channels of a picture that is asked for.
enum class Pixels : uint8_t { rgb, bgr, gray };
inline constexpr int64_t channels_of(Pixels pixels) {
  return pixels == Pixels::gray ? 1 : 3;
}

/// Pixels in rows from top to bottom, each one byte of gray or three of red, green and blue.
/// Transparency is left out.
class Picture {
 public:
  Picture() = default;
  ~Picture();
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;

  int64_t height = 0, width = 0, channels = 0;
  uint8_t* pixels = nullptr;

  /// Makes room. Errors: unsupported for more than 2^28 pixels, damaged for none, no_memory.
  Outcome allocate(int64_t rows, int64_t columns, int64_t count);
  uint8_t* row(int64_t y) { return pixels + y * width * channels; }
  /// Writes [height, width, channels_of(wanted)]. Gray of colours is ITU-R 601's luma in 16 bits,
  /// as Pillow computes it.
  void write(Pixels wanted, uint8_t* out) const;
};

/// Decodes a BMP, JPEG (baseline and progressive), PNG, PNM or TIFF (not compressed) file, told by
/// its first bytes. Errors: unsupported (other formats and kinds), damaged, no_memory.
Outcome decode(const uint8_t* bytes, int64_t size, Picture& picture);

}  // namespace ingot::picture
