// picture/jpeg.cc: reads JPEG files, baseline and progressive, into coefficients.
//
// Source: ITU-T T.81; the sections named below are its.
#include "picture/jpeg.h"

namespace ingot::picture {
namespace {

constexpr uint8_t kZigzag[kBlockSize] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/// Bits of a scan, the highest of a byte first. A marker or the end stops them; zeros come then,
/// and over() says so.
class ScanBits {
 public:
  ScanBits(Bytes file, int64_t at) : file_(file), at_(at) {}

  int bit() {
    if (held_ == 0) fill();
    --held_;
    return static_cast<int>(byte_ >> held_ & 1);
  }
  int bits(int count) {
    int value = 0;
    for (; count > 0; --count) value = value << 1 | bit();
    return value;
  }
  /// A number of so many bits, of either sign (F.2.2.1).
  int number(int count) {
    if (count == 0) return 0;
    const int value = bits(count);
    return value < 1 << (count - 1) ? value - (1 << count) + 1 : value;
  }
  bool over() const { return over_; }

  /// Reads over the marker of a restart. False if there is none.
  bool restart() {
    held_ = 0;
    while (file_.at(at_) == 0xff && file_.at(at_ + 1) == 0xff) ++at_;
    if (file_.at(at_) != 0xff || (file_.at(at_ + 1) & 0xf8) != 0xd0) return false;
    at_ += 2;
    return true;
  }
  int64_t position() const { return at_; }

 private:
  void fill() {
    held_ = 8;
    byte_ = file_.at(at_);
    const bool stuffed = byte_ == 0xff && file_.at(at_ + 1) == 0;
    if (at_ >= file_.size || (byte_ == 0xff && !stuffed)) {
      over_ = true;
      byte_ = 0;
      return;
    }
    at_ += stuffed ? 2 : 1;
  }

  Bytes file_;
  int64_t at_;
  uint32_t byte_ = 0;
  int held_ = 0;
  bool over_ = false;
};

/// A Huffman code (C.2, F.2.2.3).
struct Huffman {
  uint8_t counts[17] = {};  // words of each length
  uint8_t symbols[256] = {};

  /// The next symbol, or -1 for bits that are no word.
  int read(ScanBits& in) const {
    int code = 0, first = 0, index = 0;
    for (int b = 1; b <= 16; ++b) {
      code |= in.bit();
      if (code - first < counts[b]) return symbols[(index + code - first) & 255];
      index += counts[b];
      first = (first + counts[b]) << 1;
      code <<= 1;
    }
    return -1;
  }
};

/// One pass over some of the coefficients of some of the components.
struct Scan {
  int count = 0;
  Component* components[kMostComponents] = {};
  const Huffman* dc[kMostComponents] = {};
  const Huffman* ac[kMostComponents] = {};
  int first = 0, last = 63;  // coefficients
  int high = 0, low = 0;     // bits: refined from, down to
};

class Decoder {
 public:
  explicit Decoder(Bytes file) : file_(file) {}

  Outcome run(Picture& picture) {
    for (bool more = true; more;) {
      const Outcome outcome = segment(more);
      if (!outcome.good()) return outcome;
    }
    if (frame_.count == 0 || !scanned_) return damaged("JPEG: there is no picture");
    frame_.is_ycc = adobe_ >= 0 ? adobe_ != 0 : jfif_ || !named_rgb();
    return reconstruct(frame_, picture);
  }

 private:
  // ---- segments (B.1.1) ----

  /// Reads the next one. `more` becomes false behind the last.
  Outcome segment(bool& more) {
    while (file_.has(at_, 2) && (file_.at(at_) != 0xff || file_.at(at_ + 1) == 0xff)) ++at_;
    if (!file_.has(at_, 2)) return damaged("JPEG: the file is cut off");
    const uint32_t marker = file_.at(at_ + 1);
    at_ += 2;
    if (marker == 0xd9) {
      more = false;
      return {};
    }
    // Markers that stand alone.
    if (marker <= 1 || (marker >= 0xd0 && marker <= 0xd8)) return {};
    const int64_t length = file_.big16(at_);
    if (length < 2 || !file_.has(at_, length)) return damaged("JPEG: a segment is cut off");
    const Bytes body{file_.data + at_ + 2, length - 2};
    at_ += length;
    switch (marker) {
      case 0xc0:
      case 0xc1:
      case 0xc2:
        return start_frame(body, marker == 0xc2);
      case 0xc4:
        return huffman_tables(body);
      case 0xda:
        return scan(body);
      case 0xdb:
        return quantization_tables(body);
      case 0xdd:
        restart_interval_ = body.big16(0);
        return {};
      case 0xe0:
        if (body.starts_with("JFIF", 5)) jfif_ = true;
        return {};
      case 0xee:
        if (body.starts_with("Adobe", 5) && body.size >= 12) adobe_ = static_cast<int>(body.at(11));
        return {};
      default:
        // C3 and C5 to CF are other ways of coding.
        if (marker > 0xc0 && marker < 0xd0) {
          return unsupported("JPEG files but of the baseline or progressive kind, Huffman coded");
        }
        return {};
    }
  }

  Outcome quantization_tables(Bytes body) {
    for (int64_t at = 0; at < body.size;) {
      const uint32_t head = body.at(at++);
      const int64_t bytes = head >> 4 != 0 ? 2 : 1;
      if (head >> 4 > 1 || (head & 15) > 3 || !body.has(at, bytes * kBlockSize)) {
        return damaged("JPEG: a table of quantization is damaged");
      }
      for (int64_t k = 0; k < kBlockSize; ++k, at += bytes) {
        frame_.quantization[head & 15][kZigzag[k]] =
            static_cast<uint16_t>(bytes == 2 ? body.big16(at) : body.at(at));
      }
    }
    return {};
  }

  Outcome huffman_tables(Bytes body) {
    for (int64_t at = 0; at < body.size;) {
      const uint32_t head = body.at(at++);
      if (head >> 4 > 1 || (head & 15) > 3) return damaged("JPEG: a Huffman code is damaged");
      Huffman& code = codes_[head >> 4][head & 15];
      int64_t total = 0;
      for (int b = 1; b <= 16; ++b) total += code.counts[b] = static_cast<uint8_t>(body.at(at++));
      if (total > 256 || !body.has(at, total)) return damaged("JPEG: a Huffman code is damaged");
      memcpy(code.symbols, body.data + at, static_cast<size_t>(total));
      at += total;
    }
    return {};
  }

  Outcome start_frame(Bytes body, bool progressive) {
    Frame& f = frame_;
    if (f.count != 0) return damaged("JPEG: more than one frame");
    f.progressive = progressive;
    if (body.at(0) != 8) return unsupported("JPEG files but of 8 bits a value");
    f.height = body.big16(1);
    f.width = body.big16(3);
    const int64_t count = body.at(5);
    if (!body.has(6, 3 * count) || count < 1) return damaged("JPEG: the frame is cut off");
    if (count != 1 && count != 3) return unsupported("JPEG files but of gray or three colours");
    if (f.height < 1 || f.width < 1) return damaged("JPEG: the picture has no pixels");
    for (int k = 0; k < count; ++k) {
      Component& c = f.components[k];
      const int64_t at = 6 + 3 * k;
      c.id = body.at(at);
      c.across = body.at(at + 1) >> 4;
      c.down = body.at(at + 1) & 15;
      c.table = body.at(at + 2);
      if (c.across < 1 || c.across > 4 || c.down < 1 || c.down > 4 || c.table > 3) {
        return damaged("JPEG: a component is damaged");
      }
      // One component alone has units of one block (A.2.2).
      if (count == 1) c.across = c.down = 1;
      f.most_across = f.most_across > c.across ? f.most_across : c.across;
      f.most_down = f.most_down > c.down ? f.most_down : c.down;
    }
    f.units_wide = up(f.width, kBlock * f.most_across);
    f.units_high = up(f.height, kBlock * f.most_down);
    for (int k = 0; k < count; ++k) {
      Component& c = f.components[k];
      c.width = up(f.width * c.across, f.most_across);
      c.height = up(f.height * c.down, f.most_down);
      c.blocks_wide = f.units_wide * c.across;
      c.blocks_high = f.units_high * c.down;
      if (!c.coefficients.allocate(c.blocks_wide * c.blocks_high * kBlockSize)) return no_memory();
    }
    f.count = static_cast<int>(count);
    return {};
  }

  // ---- scans ----

  Outcome scan(Bytes body) {
    Scan s;
    s.count = static_cast<int>(body.at(0));
    if (frame_.count == 0 || s.count < 1 || s.count > frame_.count ||
        !body.has(1, 2 * s.count + 3)) {
      return damaged("JPEG: a scan is damaged");
    }
    for (int k = 0; k < s.count; ++k) {
      const uint32_t id = body.at(1 + 2 * k), tables = body.at(2 + 2 * k);
      for (int c = 0; c < frame_.count; ++c) {
        if (frame_.components[c].id == static_cast<int64_t>(id))
          s.components[k] = &frame_.components[c];
      }
      if (s.components[k] == nullptr || tables >> 4 > 3 || (tables & 15) > 3) {
        return damaged("JPEG: a scan is damaged");
      }
      s.dc[k] = &codes_[0][tables >> 4];
      s.ac[k] = &codes_[1][tables & 15];
    }
    const int64_t rest = 1 + 2 * s.count;
    if (frame_.progressive) {
      s.first = static_cast<int>(body.at(rest));
      s.last = static_cast<int>(body.at(rest + 1));
      s.high = static_cast<int>(body.at(rest + 2) >> 4);
      s.low = static_cast<int>(body.at(rest + 2) & 15);
      const bool of_dc = s.first == 0;
      if (s.last > 63 || s.first > s.last || s.low > 13 || (s.high != 0 && s.high != s.low + 1) ||
          (of_dc ? s.last != 0 : s.count != 1)) {
        return damaged("JPEG: a scan is damaged");
      }
    }
    scanned_ = true;
    return blocks(s);
  }

  /// All blocks of a scan, unit by unit (A.2).
  Outcome blocks(Scan& s) {
    ScanBits in(file_, at_);
    const bool alone = s.count == 1;
    Component& only = *s.components[0];
    const int64_t wide = alone ? up(only.width, kBlock) : frame_.units_wide;
    const int64_t high = alone ? up(only.height, kBlock) : frame_.units_high;
    start_run(s);
    for (int64_t unit = 0; unit < wide * high; ++unit) {
      if (restart_interval_ != 0 && unit != 0 && unit % restart_interval_ == 0) {
        if (!in.restart()) return damaged("JPEG: the marker of a restart is missing");
        start_run(s);
      }
      const int64_t y = unit / wide, x = unit % wide;
      for (int k = 0; k < s.count; ++k) {
        Component& c = *s.components[k];
        const int64_t down = alone ? 1 : c.down, across = alone ? 1 : c.across;
        for (int64_t b = 0; b < down * across; ++b) {
          int16_t* block = c.block(y * down + b / across, x * across + b % across);
          if (!read_block(s, k, block, in) || in.over()) {
            return damaged("JPEG: the pixels are damaged or cut off");
          }
        }
      }
    }
    at_ = in.position();
    return {};
  }

  void start_run(Scan& s) {
    for (int k = 0; k < s.count; ++k) s.components[k]->predicted = 0;
    blank_blocks_ = 0;
  }

  bool read_block(const Scan& s, int k, int16_t* block, ScanBits& in) {
    if (!frame_.progressive) return read_dc(s, k, block, in) && read_whole(*s.ac[k], block, in);
    if (s.first == 0) {
      if (s.high == 0) return read_dc(s, k, block, in);
      if (in.bit() != 0) block[0] = static_cast<int16_t>(block[0] | 1 << s.low);
      return true;
    }
    return s.high == 0 ? read_first(s, block, in) : refine(s, block, in);
  }

  /// F.2.2.1, G.1.2.1.
  static bool read_dc(const Scan& s, int k, int16_t* block, ScanBits& in) {
    const int size = s.dc[k]->read(in);
    if (size < 0 || size > 15) return false;
    Component& c = *s.components[k];
    c.predicted = static_cast<int16_t>(c.predicted + in.number(size));
    block[0] = static_cast<int16_t>(c.predicted * (1 << s.low));
    return true;
  }

  /// All but the first coefficient of a block (F.2.2.2).
  static bool read_whole(const Huffman& code, int16_t* block, ScanBits& in) {
    for (int at = 1; at < kBlockSize; ++at) {
      const int symbol = code.read(in);
      if (symbol < 0) return false;
      const int zeros = symbol >> 4, size = symbol & 15;
      if (size == 0 && zeros != 15) break;
      at += zeros;
      if (at >= kBlockSize) return false;
      if (size != 0) block[kZigzag[at]] = static_cast<int16_t>(in.number(size));
    }
    return true;
  }

  /// The upper bits of some coefficients (G.1.2.2).
  bool read_first(const Scan& s, int16_t* block, ScanBits& in) {
    if (blank_blocks_ > 0) {
      --blank_blocks_;
      return true;
    }
    for (int at = s.first; at <= s.last; ++at) {
      const int symbol = s.ac[0]->read(in);
      if (symbol < 0) return false;
      const int zeros = symbol >> 4, size = symbol & 15;
      if (size == 0 && zeros != 15) {
        blank_blocks_ = (1 << zeros) - 1 + in.bits(zeros);
        break;
      }
      at += zeros;
      if (at > s.last) return false;
      if (size != 0) block[kZigzag[at]] = static_cast<int16_t>(in.number(size) * (1 << s.low));
    }
    return true;
  }

  /// One more bit of some coefficients (G.1.2.3).
  bool refine(const Scan& s, int16_t* block, ScanBits& in) {
    const int unit = 1 << s.low;
    const auto more = [&](int16_t& coefficient) {
      if (in.bit() == 0 || (coefficient & unit) != 0) return;
      coefficient = static_cast<int16_t>(coefficient + (coefficient > 0 ? unit : -unit));
    };
    int at = s.first;
    while (blank_blocks_ == 0 && at <= s.last) {
      const int symbol = s.ac[0]->read(in);
      if (symbol < 0) return false;
      int zeros = symbol >> 4;
      const int size = symbol & 15;
      if (size > 1) return false;
      if (size == 0 && zeros != 15) {
        blank_blocks_ = (1 << zeros) + in.bits(zeros);
        break;
      }
      const int value = size == 0 ? 0 : in.bit() != 0 ? unit : -unit;
      for (; at <= s.last; ++at) {
        int16_t& coefficient = block[kZigzag[at]];
        if (coefficient != 0) {
          more(coefficient);
        } else if (--zeros < 0) {
          break;
        }
      }
      if (value != 0 && at > s.last) return false;
      if (value != 0) block[kZigzag[at]] = static_cast<int16_t>(value);
      ++at;
    }
    if (blank_blocks_ == 0) return true;
    for (; at <= s.last; ++at) {
      int16_t& coefficient = block[kZigzag[at]];
      if (coefficient != 0) more(coefficient);
    }
    --blank_blocks_;
    return true;
  }

  static int64_t up(int64_t value, int64_t step) { return (value + step - 1) / step; }

  bool named_rgb() const {
    const Component* c = frame_.components;
    return c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B';
  }

  Bytes file_;
  int64_t at_ = 2;
  Frame frame_;
  Huffman codes_[2][4];  // dc, ac
  int64_t restart_interval_ = 0;
  int blank_blocks_ = 0;  // behind this one without coefficients in this scan
  bool jfif_ = false, scanned_ = false;
  int adobe_ = -1;  // its transform; -1: no such segment
};

}  // namespace

Outcome decode_jpeg(Bytes file, Picture& picture) {
  return Decoder(file).run(picture);
}

}  // namespace ingot::picture
