// picture/tiff.cc: the first picture of a TIFF file, if it is not compressed and lies in strips.
#include "picture/formats.h"

namespace ingot::picture {
namespace {

/// Values of a tag.
struct Entry {
  uint32_t type = 0;   // 1, 3, 4: of 1, 2, 4 bytes
  uint32_t count = 0;  // 0: the tag is not there
  int64_t at = 0;
};

/// Source: TIFF 6.0, section 2.
class Directory {
 public:
  explicit Directory(Bytes file) : file_(file), big_(file.at(0) == 'M') { start_ = read32(4); }

  Entry find(uint32_t tag) const {
    const int64_t count = read16(start_);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = start_ + 2 + 12 * k;
      if (!file_.has(at, 12)) break;
      if (read16(at) != tag) continue;
      Entry entry{read16(at + 2), read32(at + 4), at + 8};
      const int64_t bytes = entry.count * size_of(entry.type);
      if (bytes > 4) entry.at = read32(at + 8);
      if (bytes == 0 || !file_.has(entry.at, bytes)) entry.count = 0;
      return entry;
    }
    return {};
  }

  int64_t value(const Entry& entry, int64_t k, int64_t otherwise) const {
    if (k >= entry.count) return otherwise;
    const int64_t at = entry.at + k * size_of(entry.type);
    return entry.type == 1 ? file_.at(at) : entry.type == 3 ? read16(at) : read32(at);
  }
  int64_t number(uint32_t tag, int64_t otherwise) const { return value(find(tag), 0, otherwise); }

 private:
  static int64_t size_of(uint32_t type) {
    return type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;
  }
  uint32_t read16(int64_t at) const { return big_ ? file_.big16(at) : file_.little16(at); }
  uint32_t read32(int64_t at) const { return big_ ? file_.big32(at) : file_.little32(at); }

  Bytes file_;
  bool big_;
  int64_t start_ = 0;
};

}  // namespace

Outcome decode_tiff(Bytes file, Picture& picture) {
  constexpr int64_t kWhiteIsZero = 0, kBlackIsZero = 1, kRgb = 2;
  const Directory tags(file);
  const int64_t width = tags.number(256, 0), height = tags.number(257, 0);
  const int64_t kind = tags.number(262, -1), samples = tags.number(277, 1);
  const int64_t channels = kind == kRgb ? 3 : 1;
  if (tags.number(259, 1) != 1) return unsupported("compressed TIFF files");
  if (kind != kWhiteIsZero && kind != kBlackIsZero && kind != kRgb) {
    return unsupported("TIFF files but of gray or RGB");
  }
  const Entry bits = tags.find(258);
  for (int64_t k = 0; k < channels; ++k) {
    if (tags.value(bits, k, 1) != 8) return unsupported("TIFF files but of 8 bits a value");
  }
  if (samples < channels || samples > 8) return damaged("TIFF: a wrong number of values a pixel");
  if (tags.number(284, 1) != 1) return unsupported("TIFF files with a plane for each colour");
  const Outcome made = picture.allocate(height, width, channels);
  if (!made.good()) return made;
  const Entry strips = tags.find(273);
  const int64_t rows = tags.number(278, height);
  if (strips.count == 0 || rows < 1) return unsupported("TIFF files without strips");
  for (int64_t y = 0; y < height; ++y) {
    const int64_t strip = tags.value(strips, y / rows, -1);
    const int64_t from = strip + y % rows * width * samples;
    if (strip < 0 || !file.has(from, width * samples)) {
      return damaged("TIFF: the pixels are cut off");
    }
    uint8_t* to = picture.row(y);
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const uint8_t value = file.data[from + x * samples + c];
        *to++ = kind == kWhiteIsZero ? static_cast<uint8_t>(255 - value) : value;
      }
    }
  }
  return {};
}

}  // namespace ingot::picture
