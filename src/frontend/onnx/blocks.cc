// frontend/onnx/blocks.cc: unpacking and repeating.
#include "frontend/onnx/blocks.h"

namespace ingot::onnx {

Result<ValueId> repeat_blocks(OpContext& n, ValueId x, int64_t axis, int64_t block, Expr size) {
  Exprs dims = n.dims(x);
  const size_t at = static_cast<size_t>(axis);
  const Expr blocks = dims[at];
  dims.insert(dims.begin() + axis + 1, n.integer(1));
  TRY(const ValueId apart, n.reshape(x, dims));
  dims[at + 1] = n.integer(block);
  TRY(const ValueId repeated, n.broadcast(apart, dims));
  dims.erase(dims.begin() + axis + 1);
  dims[at] = blocks * block;
  TRY(const ValueId whole, n.reshape(repeated, std::move(dims)));
  return n.slice_axis(whole, axis, n.integer(0), size);
}

Result<ValueId> unpack_bits(OpContext& n, ValueId x, int64_t bits) {
  if (bits == 8) return x;
  const int64_t per_byte = 8 / bits;
  Exprs dims = n.dims(x);
  dims.push_back(n.integer(1));
  TRY(const ValueId bytes, n.reshape(x, dims));
  TRY(const ValueId place, n.iota({n.integer(per_byte)}, 0));
  TRY(const ValueId apart, n.map(DType::u8, {bytes, place}, [&](std::span<const Expr> p) {
    const Expr byte = cast(p[0], DType::i64);
    return binary(ExprKind::bit_and, binary(ExprKind::shift_right, byte, p[1] * bits),
                  n.integer((1 << bits) - 1));
  }));
  dims.pop_back();
  if (dims.empty()) return invalid_model("expected packed numbers, got a scalar");
  dims.back() = dims.back() * per_byte;
  return n.reshape(apart, std::move(dims));
}

}  // namespace ingot::onnx
