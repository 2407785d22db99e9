// ops/decode_picture.h: pixels of a file of a picture.
#pragma once

#include "ir/op_def.h"

namespace ingot::ops {

/// y = the pixels of the picture whose file x holds.
struct DecodePicture {
  int64_t pixels = 0;  // of picture::Pixels

  static constexpr std::string_view kName = "decode_picture";
  static constexpr std::string_view kDoc =
      "y[i, j] = red, green and blue (pixels = 0), blue, green and red (1) or gray (2) of the "
      "pixel "
      "in row i and column j of the picture whose file x holds: BMP, JPEG, PNG, PNM or TIFF. "
      "Height "
      "and width are new symbols, known only once y is computed. No bytes are a picture without "
      "pixels; other bytes that are none end a run, and are such a picture for the reference.\n"
      "C1: x is u8 of rank 1.\n"
      "C2: pixels is 0, 1 or 2.\n"
      "Sources: ONNX ImageDecoder-20; src/picture, bit for bit what Pillow decodes.";
  static constexpr std::array kInputs = {Port{"x", "u8 [n]"}};
  static constexpr std::array kOutputs = {Port{"y", "u8 [height, width, 1 or 3]"}};
  static constexpr auto kFields = std::tuple{field("pixels", &DecodePicture::pixels)};
  static constexpr Accuracy kAccuracy = exact();  // integers
  static constexpr RoutineInfo kRoutine = {"ingot_decode_picture"};
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<DecodePicture> sample(Random& rng, ExprPool& pool);
};

}  // namespace ingot::ops
