// picture/inflate.cc: unpacks zlib streams. Sums of checks are not looked at.
#include "picture/formats.h"

namespace ingot::picture {
namespace {

constexpr int kMostBits = 15;

/// Bits of a stream, the lowest of a byte first. Behind the end come zeros, and over() says so.
class BitReader {
 public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}

  uint32_t bits(int count) {
    while (held_ < count) {
      if (at_ >= bytes_.size) over_ = true;
      word_ |= static_cast<uint64_t>(bytes_.at(at_++)) << held_;
      held_ += 8;
    }
    const uint32_t value = static_cast<uint32_t>(word_ & ((uint64_t{1} << count) - 1));
    word_ >>= count;
    held_ -= count;
    return value;
  }
  void skip_to_byte() { bits(held_ % 8); }
  bool over() const { return over_; }

 private:
  Bytes bytes_;
  int64_t at_ = 2;  // behind zlib's header
  uint64_t word_ = 0;
  int held_ = 0;
  bool over_ = false;
};

/// A prefix code, from the lengths of its words. Source: RFC 1951, 3.2.2.
class PrefixCode {
 public:
  void make(const uint8_t* lengths, int symbols) {
    memset(count_, 0, sizeof(count_));
    for (int s = 0; s < symbols; ++s) ++count_[lengths[s]];
    count_[0] = 0;
    int first[kMostBits + 2] = {};
    for (int b = 1; b <= kMostBits; ++b) first[b + 1] = first[b] + count_[b];
    for (int s = 0; s < symbols; ++s) {
      if (lengths[s] != 0) symbols_[first[lengths[s]]++] = static_cast<uint16_t>(s);
    }
  }

  /// The next symbol, or -1 for bits that are no word.
  int read(BitReader& in) const {
    int code = 0, first = 0, index = 0;
    for (int b = 1; b <= kMostBits; ++b) {
      code |= static_cast<int>(in.bits(1));
      if (code - first < count_[b]) return symbols_[index + code - first];
      index += count_[b];
      first = (first + count_[b]) << 1;
      code <<= 1;
    }
    return -1;
  }

 private:
  int count_[kMostBits + 1];
  uint16_t symbols_[288];
};

class Inflater {
 public:
  Inflater(Bytes packed, uint8_t* out, int64_t size) : in_(packed), out_(out), size_(size) {}

  Outcome run() {
    for (bool last = false; !last;) {
      last = in_.bits(1) != 0;
      const uint32_t kind = in_.bits(2);
      const bool good = kind == 0 ? stored() : kind == 1 ? fixed() : kind == 2 ? dynamic() : false;
      if (!good || in_.over()) return damaged("a packed stream is damaged");
    }
    if (done_ != size_) return damaged("a packed stream is too short");
    return {};
  }

 private:
  bool stored() {
    in_.skip_to_byte();
    const uint32_t length = in_.bits(16), inverted = in_.bits(16);
    if ((length ^ inverted) != 0xffff || length > size_ - done_) return false;
    for (uint32_t k = 0; k < length; ++k) out_[done_++] = static_cast<uint8_t>(in_.bits(8));
    return true;
  }

  bool fixed() {
    uint8_t lengths[288];
    for (int s = 0; s < 288; ++s) {
      lengths[s] = static_cast<uint8_t>(s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8);
    }
    literals_.make(lengths, 288);
    memset(lengths, 5, 30);
    distances_.make(lengths, 30);
    return codes();
  }

  bool dynamic() {
    static constexpr uint8_t kOrder[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
    const int literals = static_cast<int>(in_.bits(5)) + 257;
    const int distances = static_cast<int>(in_.bits(5)) + 1;
    const int given = static_cast<int>(in_.bits(4)) + 4;
    if (literals > 286 || distances > 30) return false;
    uint8_t lengths[320] = {};
    for (int k = 0; k < given; ++k) lengths[kOrder[k]] = static_cast<uint8_t>(in_.bits(3));
    literals_.make(lengths, 19);
    memset(lengths, 0, sizeof(lengths));
    for (int k = 0; k < literals + distances;) {
      const int symbol = literals_.read(in_);
      if (symbol < 0 || in_.over() || (symbol == 16 && k == 0)) return false;
      int repeat = 1;
      uint8_t value = static_cast<uint8_t>(symbol);
      if (symbol == 16) {
        value = lengths[k - 1];
        repeat = 3 + static_cast<int>(in_.bits(2));
      } else if (symbol > 16) {
        value = 0;
        repeat =
            symbol == 17 ? 3 + static_cast<int>(in_.bits(3)) : 11 + static_cast<int>(in_.bits(7));
      }
      if (repeat > literals + distances - k) return false;
      for (; repeat > 0; --repeat) lengths[k++] = value;
    }
    literals_.make(lengths, literals);
    distances_.make(lengths + literals, distances);
    return codes();
  }

  /// Literals and copies of what came before, up to the end of the block.
  bool codes() {
    static constexpr uint16_t kLength[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                             15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                             67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr uint8_t kLengthBits[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static constexpr uint16_t kDistance[30] = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    for (;;) {
      const int symbol = literals_.read(in_);
      if (symbol < 0 || in_.over()) return false;
      if (symbol == 256) return true;
      if (symbol < 256) {
        if (done_ == size_) return false;
        out_[done_++] = static_cast<uint8_t>(symbol);
        continue;
      }
      const int l = symbol - 257;
      if (l >= 29) return false;
      const int64_t length = kLength[l] + static_cast<int64_t>(in_.bits(kLengthBits[l]));
      const int d = distances_.read(in_);
      if (d < 0 || d >= 30) return false;
      const int64_t back = kDistance[d] + static_cast<int64_t>(in_.bits(d < 2 ? 0 : d / 2 - 1));
      if (back > done_ || length > size_ - done_) return false;
      for (int64_t k = 0; k < length; ++k, ++done_) out_[done_] = out_[done_ - back];
    }
  }

  BitReader in_;
  uint8_t* out_;
  int64_t size_, done_ = 0;
  PrefixCode literals_, distances_;
};

}  // namespace

Outcome inflate(Bytes packed, uint8_t* out, int64_t size) {
  const uint32_t header = packed.big16(0);
  if ((header >> 8 & 15) != 8 || header % 31 != 0 || (header & 0x20) != 0) {
    return damaged("a packed stream is not zlib's");
  }
  return Inflater(packed, out, size).run();
}

}  // namespace ingot::picture
