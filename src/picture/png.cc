// picture/png.cc: PNG files of every kind of colour and depth, interlaced or not.
#include "picture/formats.h"

namespace ingot::picture {
namespace {

/// Source: W3C PNG (second edition), 11.2.2.
enum Colour : uint32_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgbAlpha = 6 };

struct Header {
  int64_t width = 0, height = 0;
  uint32_t depth = 0, colour = 0;
  bool interlaced = false;

  int64_t values() const {  // of a pixel
    return colour == kRgb ? 3 : colour == kGrayAlpha ? 2 : colour == kRgbAlpha ? 4 : 1;
  }
  int64_t row_bytes(int64_t pixels) const { return (pixels * values() * depth + 7) / 8; }
};

Outcome read_header(Bytes file, Header& h) {
  constexpr int64_t kAt = 16;  // behind the signature, a length and a name
  if (!file.has(0, 33) || memcmp(file.data + 12, "IHDR", 4) != 0) {
    return damaged("PNG: the header is missing");
  }
  h = {file.big32(kAt), file.big32(kAt + 4), file.at(kAt + 8), file.at(kAt + 9),
       file.at(kAt + 12) == 1};
  const bool small = h.depth == 1 || h.depth == 2 || h.depth == 4;
  const bool good = h.colour == kGray      ? small || h.depth == 8 || h.depth == 16
                    : h.colour == kPalette ? small || h.depth == 8
                    : h.colour == kRgb || h.colour == kGrayAlpha || h.colour == kRgbAlpha
                        ? h.depth == 8 || h.depth == 16
                        : false;
  if (!good || file.at(kAt + 10) != 0 || file.at(kAt + 11) != 0 || file.at(kAt + 12) > 1) {
    return damaged("PNG: the header says what there is not");
  }
  return {};
}

/// What the chunks hold that are looked at.
struct Chunks {
  Array<uint8_t> packed;
  int64_t packed_size = 0;
  Bytes palette;

  Outcome read(Bytes file) {
    if (!packed.allocate(file.size)) return no_memory();
    for (int64_t at = 8; file.has(at, 12);) {
      const int64_t length = file.big32(at);
      if (!file.has(at + 8, length)) break;
      const uint8_t* name = file.data + at + 4;
      const Bytes body{file.data + at + 8, length};
      if (memcmp(name, "IDAT", 4) == 0) {
        memcpy(packed.get() + packed_size, body.data, static_cast<size_t>(length));
        packed_size += length;
      } else if (memcmp(name, "PLTE", 4) == 0) {
        palette = body;
      } else if (memcmp(name, "IEND", 4) == 0) {
        return {};
      }
      at += 12 + length;
    }
    return damaged("PNG: the file is cut off");
  }
};

uint8_t paeth(int a, int b, int c) {
  const int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
  return static_cast<uint8_t>(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

/// A row as it was before its filter. Source: W3C PNG, 9.2.
bool unfilter(uint32_t filter, uint8_t* row, const uint8_t* above, int64_t bytes, int64_t step) {
  if (filter > 4) return false;
  for (int64_t k = 0; k < bytes; ++k) {
    const int a = k >= step ? row[k - step] : 0;
    const int b = above != nullptr ? above[k] : 0;
    const int c = above != nullptr && k >= step ? above[k - step] : 0;
    const int predicted = filter == 1   ? a
                          : filter == 2 ? b
                          : filter == 3 ? (a + b) / 2
                          : filter == 4 ? paeth(a, b, c)
                                        : 0;
    row[k] = static_cast<uint8_t>(row[k] + predicted);
  }
  return true;
}

/// Rows of one picture: all of it, or one of the passes of an interlaced one.
struct Pass {
  int64_t x, y, step_x, step_y;

  int64_t columns(const Header& h) const {
    return h.width <= x ? 0 : (h.width - x + step_x - 1) / step_x;
  }
  int64_t rows(const Header& h) const {
    return h.height <= y ? 0 : (h.height - y + step_y - 1) / step_y;
  }
};
constexpr Pass kWhole[] = {{0, 0, 1, 1}};
/// Source: W3C PNG, 8.2.
constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                           {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

/// Value `k` of a row, of which 16 bits are cut to their upper 8.
uint32_t value_at(const Header& h, const uint8_t* row, int64_t k) {
  if (h.depth >= 8) return row[k * h.depth / 8];
  const int64_t bit = k * h.depth;
  const uint32_t shift = 8 - h.depth - static_cast<uint32_t>(bit % 8);
  return row[bit / 8] >> shift & ((1u << h.depth) - 1);
}

void write_pixel(const Header& h, const Bytes& palette, const uint8_t* row, int64_t x,
                 uint8_t* to) {
  if (h.colour == kPalette) {
    const int64_t entry = 3 * static_cast<int64_t>(value_at(h, row, x));
    for (int64_t c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(palette.at(entry + c));
    return;
  }
  const int64_t count = h.colour == kGray || h.colour == kGrayAlpha ? 1 : 3;
  const uint32_t scale = h.depth < 8 ? 255 / ((1u << h.depth) - 1) : 1;
  for (int64_t c = 0; c < count; ++c) {
    to[c] = static_cast<uint8_t>(value_at(h, row, x * h.values() + c) * scale);
  }
}

}  // namespace

Outcome decode_png(Bytes file, Picture& picture) {
  Header h;
  Outcome outcome = read_header(file, h);
  if (!outcome.good()) return outcome;
  const bool gray = h.colour == kGray || h.colour == kGrayAlpha;
  outcome = picture.allocate(h.height, h.width, gray ? 1 : 3);
  if (!outcome.good()) return outcome;
  Chunks chunks;
  outcome = chunks.read(file);
  if (!outcome.good()) return outcome;
  const Pass* passes = h.interlaced ? kAdam7 : kWhole;
  const int count = h.interlaced ? 7 : 1;
  int64_t size = 0;
  for (int p = 0; p < count; ++p) {
    if (passes[p].columns(h) != 0)
      size += passes[p].rows(h) * (1 + h.row_bytes(passes[p].columns(h)));
  }
  Array<uint8_t> raw;
  if (!raw.allocate(size)) return no_memory();
  outcome = inflate({chunks.packed.get(), chunks.packed_size}, raw.get(), size);
  if (!outcome.good()) return outcome;
  const int64_t step = (h.values() * h.depth + 7) / 8;
  uint8_t* at = raw.get();
  for (int p = 0; p < count; ++p) {
    const Pass& pass = passes[p];
    const int64_t columns = pass.columns(h), bytes = h.row_bytes(columns);
    const uint8_t* above = nullptr;
    for (int64_t y = 0; columns != 0 && y < pass.rows(h); ++y) {
      uint8_t* row = at + 1;
      if (!unfilter(*at, row, above, bytes, step))
        return damaged("PNG: a filter that there is not");
      uint8_t* to = picture.row(pass.y + y * pass.step_y) + pass.x * picture.channels;
      for (int64_t x = 0; x < columns; ++x, to += pass.step_x * picture.channels) {
        write_pixel(h, chunks.palette, row, x, to);
      }
      above = row;
      at += 1 + bytes;
    }
  }
  return {};
}

}  // namespace ingot::picture
