// ir/builtin_ops.cc: the two ops that the graph itself needs, constant and unimplemented.
#include "ir/graph.h"

namespace ingot {

Result<Types> Constant::infer(InferContext& ctx) const {
  TensorType type{data.dtype, {}};
  for (const int64_t dim : data.dims) {
    if (dim < 0 || dim > kMaxDim) {
      return invalid_argument("constant: expected dims in 0..", kMaxDim, ", got ", data.dims);
    }
    type.dims.push_back(ctx.pool.integer(dim));
  }
  uint64_t count = 1;
  for (const int64_t dim : data.dims) {
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count) || count >> 56 != 0) {
      return invalid_argument("constant: expected fewer than 2^56 elements, got ", data.dims);
    }
  }
  const bool is_text = data.dtype == DType::str;
  const uint64_t expected = is_text ? count : size_bytes(data.dtype, count);
  const uint64_t got = is_text ? data.strings.size() : data.bytes.size();
  if (expected != got) {
    return invalid_argument("constant ", data.dtype, data.dims, ": expected ", expected,
                            is_text ? " strings, got " : " bytes, got ", got);
  }
  return Types{std::move(type)};
}

std::vector<Tensor> Constant::reference(const ReferenceContext&) const {
  Result<Tensor> tensor = to_tensor(data);
  CHECK(tensor, "constant: ", tensor ? std::string() : to_text(tensor.error()));
  return {std::move(*tensor)};
}

Sample<Constant> Constant::sample(Random& rng) {
  Tensor tensor(rng.chance(0.5) ? DType::f32 : DType::i64,
                rng.dims(static_cast<int>(rng.range(0, 3))));
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_real(k, rng.real(-8, 8));
  return {.op = {to_constant(tensor)}, .inputs = {}};
}

Result<Types> Unimplemented::infer(InferContext&) const {
  if (outputs < 0 || outputs > 4096) {
    return invalid_argument("unimplemented: expected up to 4096 outputs, got ", outputs);
  }
  return Types(static_cast<size_t>(outputs), Type(ContainerType{}));
}

std::vector<Tensor> Unimplemented::reference(const ReferenceContext&) const {
  CHECK(false, "unimplemented: '", op_type, "' has no reference: ", reason);
  return {};
}

Sample<Unimplemented> Unimplemented::sample(Random&) {
  return {.op = {"Foo", "", 0, "a sample", 1}, .inputs = {}};
}

}  // namespace ingot
