// picture/pnm.cc: P5 and P6 of Netpbm: bytes of gray or of colours behind a header of text.
#include "picture/formats.h"

namespace ingot::picture {
namespace {

/// The next number of the header and the position behind it; -1 if there is none.
int64_t read_number(Bytes file, int64_t& at) {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (bool comment = false; at < file.size; ++at) {
    const uint32_t c = file.at(at);
    if (c == '#') comment = true;
    if (c == '\n' || c == '\r') comment = false;
    if (!comment && c != ' ' && (c < '\t' || c > '\r')) break;
  }
  int64_t value = -1;
  for (; file.at(at) >= '0' && file.at(at) <= '9' && value < kMost; ++at) {
    value = (value < 0 ? 0 : value * 10) + file.at(at) - '0';
  }
  return value;
}

}  // namespace

Outcome decode_pnm(Bytes file, Picture& picture) {
  const int64_t channels = file.at(1) == '6' ? 3 : 1;
  int64_t at = 2;
  const int64_t width = read_number(file, at), height = read_number(file, at);
  const int64_t most = read_number(file, at);
  if (most < 1 || most > 65535) return damaged("PNM: expected a header of three numbers");
  if (most > 255) return unsupported("PNM files with two bytes a value");
  const Outcome made = picture.allocate(height, width, channels);
  if (!made.good()) return made;
  const int64_t count = height * width * channels;
  ++at;  // one space
  if (!file.has(at, count)) return damaged("PNM: the pixels are cut off");
  for (int64_t k = 0; k < count; ++k) {
    const int64_t value = file.data[at + k];
    picture.pixels[k] = static_cast<uint8_t>(value >= most ? 255 : (value * 255 + most / 2) / most);
  }
  return {};
}

}  // namespace ingot::picture
