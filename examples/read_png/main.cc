// examples/read_png/main.cc: reads a PNG through libpng and says which digit it shows.
//
// Usage: read_png digits.so digit.png     (ingot compile examples/digits/digits.onnx -o digits.so)
#include <png.h>

#include <algorithm>
#include <cstdio>

#include "ingot/ingot.hpp"

namespace {

constexpr png_uint_32 kSize = 32;  // the model's pictures are 32 x 32, grey

/// The picture as floats from 0 (black) to 1 (white); empty after a message if it cannot be read.
std::vector<float> read_picture(const char* path) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&png, path) == 0) {
    std::fprintf(stderr, "read_png: %s: %s\n", path, png.message);
    return {};
  }
  if (png.width != kSize || png.height != kSize) {
    std::fprintf(stderr, "read_png: %s: expected %u x %u pixels, got %u x %u\n", path, kSize, kSize,
                 png.width, png.height);
    png_image_free(&png);
    return {};
  }
  png.format = PNG_FORMAT_GRAY;  // libpng converts colours and palettes
  std::vector<png_byte> bytes(PNG_IMAGE_SIZE(png));
  if (png_image_finish_read(&png, nullptr, bytes.data(), 0, nullptr) == 0) {
    std::fprintf(stderr, "read_png: %s: %s\n", path, png.message);
    return {};
  }
  std::vector<float> pixels;
  for (const png_byte byte : bytes) pixels.push_back(static_cast<float>(byte) / 255);
  return pixels;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: read_png MODEL.so DIGIT.png\n");
    return 2;
  }
  std::vector<float> pixels = read_picture(argv[2]);
  if (pixels.empty()) return 1;
  const auto model = ingot::api::Model::load(argv[1]);
  if (!model) {
    std::fprintf(stderr, "read_png: %s\n", model.failure().message.c_str());
    return 1;
  }
  const auto outputs = model->run({ingot::api::Tensor(std::span(pixels), {1, 1, kSize, kSize})});
  if (!outputs) {
    std::fprintf(stderr, "read_png: %s\n", outputs.failure().message.c_str());
    return 1;
  }
  const std::span<const float> digits = outputs->front().as<float>();
  const auto best = std::max_element(digits.begin(), digits.end());
  std::printf("%s: %d (%.1f %%)\n", argv[2], static_cast<int>(best - digits.begin()), 100 * *best);
  return 0;
}
