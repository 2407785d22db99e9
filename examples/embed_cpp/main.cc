// examples/embed_cpp/main.cc: a compiled model from C++: draws a ring and a bar, and asks which
// digits they are.
//
// Usage: embed_cpp digits.so      (ingot compile examples/digits/digits.onnx -o digits.so)
#include <algorithm>
#include <cstdio>

#include "ingot/ingot.hpp"

int main(int argc, char** argv) {
  std::vector<float> images(2 * 32 * 32);
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const int radius = 2 * (x - 16) * (x - 16) + (y - 16) * (y - 16);
      images[32 * y + x] = radius >= 70 && radius <= 140;
      images[32 * 32 + 32 * y + x] = x > 12 && x < 20 && y > 4 && y < 28;
    }
  }
  ingot::api::Expected<ingot::api::Model> model = ingot::api::Model::load(argc == 2 ? argv[1] : "");
  if (!model) {
    std::fprintf(stderr, "embed_cpp: %s\n", model.failure().message.c_str());
    return 1;
  }
  const auto outputs = model->run({ingot::api::Tensor(std::span(images), {2, 1, 32, 32})});
  if (!outputs) {
    std::fprintf(stderr, "embed_cpp: %s\n", outputs.failure().message.c_str());
    return 1;
  }
  const std::span<const float> probabilities = outputs->front().as<float>();
  for (const size_t i : {0, 1}) {
    const auto row = probabilities.subspan(10 * i, 10);
    const auto best = std::max_element(row.begin(), row.end());
    std::printf("%s: %d (%.1f %%)\n", i == 0 ? "ring" : "bar", static_cast<int>(best - row.begin()),
                100 * *best);
  }
  return 0;
}
