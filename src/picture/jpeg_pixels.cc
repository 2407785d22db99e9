// picture/jpeg_pixels.cc: from the coefficients of a JPEG file to pixels, bit for bit as
// libjpeg-turbo: jidctint.c, jdsample.c, jdcolor.c.
#include "picture/jpeg.h"

namespace ingot::picture {
namespace {

constexpr int kConstBits = 13, kFirstBits = 2;

uint8_t clamped(int64_t value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}
int64_t rounded(int64_t value, int bits) {
  return (value + (int64_t{1} << (bits - 1))) >> bits;
}

/// One dimension of the inverse transform of 8 numbers `step` apart, scaled by 2^kConstBits sqrt(8)
/// and cut by `bits`. Source: Loeffler, Ligtenberg and Moschytz, 1989, with the constants of
/// jidctint.c.
void inverse_transform(const int64_t* in, int64_t* out, int64_t step, int bits) {
  const auto x = [&](int64_t k) { return in[k * step]; };
  // The even part.
  int64_t z1 = (x(2) + x(6)) * 4433;
  const int64_t e2 = z1 - x(6) * 15137, e3 = z1 + x(2) * 6270;
  const int64_t e0 = (x(0) + x(4)) * (1 << kConstBits), e1 = (x(0) - x(4)) * (1 << kConstBits);
  const int64_t even[4] = {e0 + e3, e1 + e2, e1 - e2, e0 - e3};
  // The odd part.
  z1 = -(x(7) + x(1)) * 7373;
  const int64_t z2 = -(x(5) + x(3)) * 20995;
  const int64_t z5 = (x(7) + x(3) + x(5) + x(1)) * 9633;
  const int64_t z3 = z5 - (x(7) + x(3)) * 16069, z4 = z5 - (x(5) + x(1)) * 3196;
  const int64_t odd[4] = {x(1) * 12299 + z1 + z4, x(3) * 25172 + z2 + z3, x(5) * 16819 + z2 + z4,
                          x(7) * 2446 + z1 + z3};
  for (int64_t k = 0; k < 4; ++k) {
    out[k * step] = rounded(even[k] + odd[k], bits);
    out[(7 - k) * step] = rounded(even[k] - odd[k], bits);
  }
}

/// Samples of a component, in whole blocks.
struct Plane {
  Array<uint8_t> samples;
  int64_t stride = 0;
  const Component* component = nullptr;

  bool make(Component& c, const uint16_t* quantization) {
    component = &c;
    stride = c.blocks_wide * kBlock;
    if (!samples.allocate(stride * c.blocks_high * kBlock)) return false;
    for (int64_t y = 0; y < c.blocks_high; ++y) {
      for (int64_t x = 0; x < c.blocks_wide; ++x) {
        make_block(c.block(y, x), quantization, &samples[(y * stride + x) * kBlock]);
      }
    }
    return true;
  }

  /// Row y, or the nearest that there is.
  const uint8_t* row(int64_t y) const {
    const int64_t last = component->height - 1;
    return &samples[(y < 0 ? 0 : y > last ? last : y) * stride];
  }

 private:
  void make_block(const int16_t* coefficients, const uint16_t* quantization, uint8_t* to) const {
    int64_t work[kBlockSize];
    for (int k = 0; k < kBlockSize; ++k) work[k] = int64_t{coefficients[k]} * quantization[k];
    for (int x = 0; x < kBlock; ++x) {
      inverse_transform(work + x, work + x, kBlock, kConstBits - kFirstBits);
    }
    for (int y = 0; y < kBlock; ++y, to += stride) {
      inverse_transform(work + y * kBlock, work + y * kBlock, 1, kConstBits + kFirstBits + 3);
      for (int x = 0; x < kBlock; ++x) to[x] = clamped(work[y * kBlock + x] + 128);
    }
  }
};

/// Rows of a component at the size of the picture. Chroma at half the size lies between pixels, and
/// is spread in triangles (libjpeg's "fancy" upsampling).
class Spreader {
 public:
  Spreader(const Plane& plane, const Frame& frame)
      : plane_(plane),
        across_(frame.most_across / plane.component->across),
        down_(frame.most_down / plane.component->down) {}

  void write(int64_t y, uint8_t* out) const {
    const int64_t width = plane_.component->width;
    const bool triangles = width > 2;
    const uint8_t* row = plane_.row(y / down_);
    // The row on the other side of this one.
    const uint8_t* other = plane_.row(y / down_ + (y % 2 == 0 ? -1 : 1));
    if (across_ == 2 && down_ == 2 && triangles) {
      both(row, other, width, out);
    } else if (across_ == 2 && down_ == 1 && triangles) {
      sideways(row, width, out);
    } else if (across_ == 1 && down_ == 2) {
      const int bias = y % 2 == 0 ? 1 : 2;
      for (int64_t x = 0; x < width; ++x) {
        out[x] = static_cast<uint8_t>((row[x] * 3 + other[x] + bias) >> 2);
      }
    } else {
      for (int64_t x = 0; x < width * across_; ++x) out[x] = row[x / across_];
    }
  }

 private:
  static void sideways(const uint8_t* row, int64_t width, uint8_t* out) {
    for (int64_t x = 0; x < width; ++x) {
      const int own = 3 * row[x];
      out[2 * x] = static_cast<uint8_t>(x == 0 ? row[x] : (own + row[x - 1] + 1) >> 2);
      out[2 * x + 1] = static_cast<uint8_t>(x == width - 1 ? row[x] : (own + row[x + 1] + 2) >> 2);
    }
  }

  static void both(const uint8_t* row, const uint8_t* other, int64_t width, uint8_t* out) {
    const auto column = [&](int64_t x) { return 3 * row[x] + other[x]; };
    for (int64_t x = 0; x < width; ++x) {
      const int own = column(x);
      const int before = x == 0 ? own : column(x - 1);
      const int behind = x == width - 1 ? own : column(x + 1);
      out[2 * x] = static_cast<uint8_t>((3 * own + before + 8) >> 4);
      out[2 * x + 1] = static_cast<uint8_t>((3 * own + behind + 7) >> 4);
    }
  }

  const Plane& plane_;
  int64_t across_, down_;
};

/// Fixed point with 16 bits behind the point.
constexpr int64_t kCrToRed = 91881, kCbToBlue = 116130, kCrToGreen = 46802, kCbToGreen = 22554;

void to_rgb(const uint8_t* const rows[3], int64_t width, bool is_ycc, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, out += 3) {
    const int64_t y = rows[0][x], cb = rows[1][x] - 128, cr = rows[2][x] - 128;
    out[0] = is_ycc ? clamped(y + rounded(kCrToRed * cr, 16)) : rows[0][x];
    out[1] = is_ycc ? clamped(y + rounded(-kCbToGreen * cb - kCrToGreen * cr, 16)) : rows[1][x];
    out[2] = is_ycc ? clamped(y + rounded(kCbToBlue * cb, 16)) : rows[2][x];
  }
}

}  // namespace

Outcome reconstruct(Frame& frame, Picture& picture) {
  for (int k = 0; k < frame.count; ++k) {
    const Component& c = frame.components[k];
    if (frame.most_across % c.across != 0 || frame.most_down % c.down != 0) {
      return unsupported("JPEG files whose colours differ in size by a broken factor");
    }
  }
  const Outcome made = picture.allocate(frame.height, frame.width, frame.count);
  if (!made.good()) return made;
  Plane planes[kMostComponents];
  Array<uint8_t> buffers[kMostComponents];
  const int64_t row_bytes = frame.units_wide * frame.most_across * kBlock;
  for (int k = 0; k < frame.count; ++k) {
    Component& c = frame.components[k];
    if (!planes[k].make(c, frame.quantization[c.table]) || !buffers[k].allocate(row_bytes)) {
      return no_memory();
    }
  }
  for (int64_t y = 0; y < frame.height; ++y) {
    const uint8_t* rows[kMostComponents] = {};
    for (int k = 0; k < frame.count; ++k) {
      Spreader(planes[k], frame).write(y, buffers[k].get());
      rows[k] = buffers[k].get();
    }
    if (frame.count == 1) {
      memcpy(picture.row(y), rows[0], static_cast<size_t>(frame.width));
    } else {
      to_rgb(rows, frame.width, frame.is_ycc, picture.row(y));
    }
  }
  return {};
}

}  // namespace ingot::picture
