// ops/decode_picture.cc: pixels of a file of a picture.
#include "ops/decode_picture.h"

#include "ops/checks.h"
#include "ops/registry.h"
#include "picture/picture.h"

namespace ingot::ops {

Result<Types> DecodePicture::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<DecodePicture>(ctx));
  TRY_STATUS(expect_rank(kName, "x", ctx.tensor(0), 1));  // C1
  if (ctx.tensor(0).dtype != DType::u8) {                 // C1
    return invalid_argument(kName, ": x: expected u8, got ", ctx.tensor(0).dtype);
  }
  if (pixels < 0 || pixels > 2) {  // C2
    return invalid_argument(kName, ": pixels: expected 0 to 2, got ", pixels);
  }
  Exprs dims;
  for (const std::string_view name : {"height", "width"}) {
    dims.push_back(ctx.pool.fresh_symbol(name, true));
    ctx.pool.symbol_info(dims.back().symbol()).range = {0, kMaxDim};
  }
  dims.push_back(ctx.pool.integer(picture::channels_of(static_cast<picture::Pixels>(pixels))));
  return one_tensor(kName, DType::u8, std::move(dims));
}

std::vector<Tensor> DecodePicture::reference(const ReferenceContext& ctx) const {
  const std::vector<std::byte> file = ctx.in[0].to_bytes();
  const auto wanted = static_cast<picture::Pixels>(pixels);
  picture::Picture picture;
  std::vector<int64_t> dims = {0, 0, picture::channels_of(wanted)};
  std::vector<uint8_t> y;
  const auto* bytes = reinterpret_cast<const uint8_t*>(file.data());
  if (picture::decode(bytes, static_cast<int64_t>(file.size()), picture).good()) {
    dims[0] = picture.height;
    dims[1] = picture.width;
    y.resize(static_cast<size_t>(dims[0] * dims[1] * dims[2]));
    picture.write(wanted, y.data());
  }
  auto tensor = Tensor::from_bytes(DType::u8, dims, std::as_bytes(std::span(y)));
  CHECK(tensor, "as many bytes as pixels");
  return {std::move(*tensor)};
}

Sample<DecodePicture> DecodePicture::sample(Random& rng, ExprPool& pool) {
  return {{.pixels = rng.range(0, 2)}, {TensorType{DType::u8, {pool.integer(0)}}}};
}

const OpDef& define_decode_picture() {
  return define<DecodePicture>();
}

}  // namespace ingot::ops
