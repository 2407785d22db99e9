// fuzz/picture_fuzz.cc: arbitrary bytes as a file of a picture: a reason or pixels.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "picture/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ingot::picture;  // NOLINT(google-build-using-namespace): all of it is used
  Picture picture;
  const Outcome outcome = decode(data, static_cast<int64_t>(size), picture);
  // Huge pictures of few bytes are legal, and only slow.
  if (!outcome.good() || picture.height * picture.width > 1 << 20) return 0;
  CHECK(picture.height > 0 && picture.width > 0);
  for (const Pixels wanted : {Pixels::rgb, Pixels::gray}) {
    std::vector<uint8_t> out(
        static_cast<size_t>(picture.height * picture.width * channels_of(wanted)));
    picture.write(wanted, out.data());
  }
  return 0;
}
