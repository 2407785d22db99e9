// picture/formats.h: the formats, and what their readers share.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"

namespace ingot::picture {

inline Outcome damaged(const char* reason) {
  return {Code::damaged, reason};
}
inline Outcome unsupported(const char* reason) {
  return {Code::unsupported, reason};
}
inline Outcome no_memory() {
  return {Code::no_memory, "no memory for the picture"};
}

/// A file's bytes. Those beyond its end are 0; who cares asks has().
struct Bytes {
  const uint8_t* data = nullptr;
  int64_t size = 0;

  bool has(int64_t offset, int64_t count) const {
    return offset >= 0 && count >= 0 && offset <= size && count <= size - offset;
  }
  uint32_t at(int64_t offset) const { return has(offset, 1) ? data[offset] : 0; }
  uint32_t little16(int64_t o) const { return at(o) | at(o + 1) << 8; }
  uint32_t little32(int64_t o) const { return little16(o) | little16(o + 2) << 16; }
  uint32_t big16(int64_t o) const { return at(o) << 8 | at(o + 1); }
  uint32_t big32(int64_t o) const { return big16(o) << 16 | big16(o + 2); }
  bool starts_with(const char* text, int64_t count) const {
    return has(0, count) && memcmp(data, text, static_cast<size_t>(count)) == 0;
  }
};

/// Zeroed memory that is freed at the end of its scope.
template <class T>
class Array {
 public:
  Array() = default;
  ~Array() { free(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// Once. False: no memory.
  bool allocate(int64_t count) {
    data_ = static_cast<T*>(calloc(static_cast<size_t>(count > 0 ? count : 1), sizeof(T)));
    return data_ != nullptr;
  }
  T* get() const { return data_; }
  T& operator[](int64_t k) const { return data_[k]; }

 private:
  T* data_ = nullptr;
};

Outcome decode_bmp(Bytes file, Picture& picture);
Outcome decode_jpeg(Bytes file, Picture& picture);
Outcome decode_png(Bytes file, Picture& picture);
Outcome decode_pnm(Bytes file, Picture& picture);
Outcome decode_tiff(Bytes file, Picture& picture);

/// Unpacks a zlib stream of exactly `size` bytes. Source: RFC 1950, RFC 1951.
Outcome inflate(Bytes packed, uint8_t* out, int64_t size);

}  // namespace ingot::picture
