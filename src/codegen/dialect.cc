// codegen/dialect.cc: the tables of GPU languages.
#include "codegen/dialect.h"

#include "base/check.h"
#include "base/text.h"
#include "codegen/resources.h"

namespace ingot {
namespace {

/// What CUDA and HIP have in common, which is all but the back end and the limits.
Dialect common_dialect() {
  return {.name = {},
          .prelude = {},
          .kernel = "GPU_KERNEL({threads}) void",
          .thread_index = "threadIdx.x",
          .block_index = "blockIdx.x",
          .grid_size = "gridDim.x",
          .shared = "GPU_SHARED({type}, {name}, {count})",
          .barrier = "gpu::sync()",
          .block_reduce = "gpu::block_reduce<gpu::{op}, {threads}>({value})",
          .warp_size = 32,
          .threads_per_block = 256,
          .max_shared_bytes = int64_t{48} << 10,
          .max_blocks = (int64_t{1} << 31) - 1};
}

Dialect make_cuda() {
  Dialect d = common_dialect();
  d.name = "cuda";
  d.prelude = {"prelude/gpu/gpu_cuda.h", "prelude/gpu/gpu_math.h", "prelude/gpu/gpu_reduce.h"};
  return d;
}

Dialect make_hip() {
  Dialect d = common_dialect();
  d.name = "hip";
  d.prelude = {"prelude/gpu/gpu_hip.h", "prelude/gpu/gpu_math.h", "prelude/gpu/gpu_reduce.h"};
  d.warp_size = 64;
  d.max_shared_bytes = int64_t{64} << 10;
  // A HIP launch counts threads, not blocks, in 32 bits.
  d.max_blocks = ((int64_t{1} << 32) - 1) / d.threads_per_block;
  return d;
}

}  // namespace

const Dialect& cuda_dialect() {
  static const Dialect dialect = make_cuda();
  return dialect;
}

const Dialect& hip_dialect() {
  static const Dialect dialect = make_hip();
  return dialect;
}

std::string_view storage_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::f16:
      return "gpu::f16";
    case DType::bf16:
      return "gpu::bf16";
    case DType::i64:
      return "gpu::i64";
    case DType::i32:
      return "int";
    case DType::i16:
      return "short";
    case DType::i8:
      return "signed char";
    case DType::u64:
      return "gpu::u64";
    case DType::u32:
      return "gpu::u32";
    case DType::u16:
      return "unsigned short";
    case DType::u8:
    case DType::b8:
      return "unsigned char";
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::i4:
    case DType::i2:
    case DType::u4:
    case DType::u2:
    case DType::str:
    case DType::c64:
    case DType::c128:
      return "";
  }
  INGOT_UNREACHABLE();
}

std::string_view value_type(DType dtype) {
  return dtype == DType::b8 ? "bool" : storage_type(dtype);
}

std::string_view function_name(ExprKind kind) {
  switch (kind) {
    case ExprKind::add:
      return "gpu::add";
    case ExprKind::sub:
      return "gpu::sub";
    case ExprKind::mul:
      return "gpu::mul";
    case ExprKind::div:
      return "gpu::div";
    case ExprKind::floordiv:
      return "gpu::floordiv";
    case ExprKind::floormod:
      return "gpu::floormod";
    case ExprKind::fmod:
      return "gpu::remainder";
    case ExprKind::min:
      return "gpu::min";
    case ExprKind::max:
      return "gpu::max";
    case ExprKind::pow:
      return "gpu::power";
    case ExprKind::neg:
      return "gpu::neg";
    case ExprKind::abs:
      return "gpu::abs";
    case ExprKind::sign:
      return "gpu::sign";
    case ExprKind::is_nan:
      return "gpu::is_nan";
    case ExprKind::is_inf:
      return "gpu::is_inf";
    case ExprKind::bit_and:
      return "gpu::bit_and";
    case ExprKind::bit_or:
      return "gpu::bit_or";
    case ExprKind::bit_xor:
      return "gpu::bit_xor";
    case ExprKind::bit_not:
      return "gpu::bit_not";
    case ExprKind::shift_left:
      return "gpu::shift_left";
    case ExprKind::shift_right:
      return "gpu::shift_right";
    case ExprKind::exp:
      return "gpu::exp";
    case ExprKind::log:
      return "gpu::log";
    case ExprKind::sqrt:
      return "gpu::sqrt";
    case ExprKind::sin:
      return "gpu::sin";
    case ExprKind::cos:
      return "gpu::cos";
    case ExprKind::tan:
      return "gpu::tan";
    case ExprKind::asin:
      return "gpu::asin";
    case ExprKind::acos:
      return "gpu::acos";
    case ExprKind::atan:
      return "gpu::atan";
    case ExprKind::sinh:
      return "gpu::sinh";
    case ExprKind::cosh:
      return "gpu::cosh";
    case ExprKind::tanh:
      return "gpu::tanh";
    case ExprKind::asinh:
      return "gpu::asinh";
    case ExprKind::acosh:
      return "gpu::acosh";
    case ExprKind::atanh:
      return "gpu::atanh";
    case ExprKind::erf:
      return "gpu::erf";
    case ExprKind::sigmoid:
      return "gpu::sigmoid";
    case ExprKind::floor:
      return "gpu::floor";
    case ExprKind::ceil:
      return "gpu::ceil";
    case ExprKind::round:
      return "gpu::rint";
    case ExprKind::trunc:
      return "gpu::trunc";
    case ExprKind::constant:
    case ExprKind::symbol:
    case ExprKind::index:
    case ExprKind::param:
    case ExprKind::local:
    case ExprKind::eq:
    case ExprKind::ne:
    case ExprKind::lt:
    case ExprKind::le:
    case ExprKind::logical_and:
    case ExprKind::logical_or:
    case ExprKind::logical_xor:
    case ExprKind::logical_not:
    case ExprKind::select:
    case ExprKind::cast:
    case ExprKind::load:
    case ExprKind::reduce:
      return "";
  }
  INGOT_UNREACHABLE();
}

std::string_view reduction_name(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return "Sum";
    case ReduceKind::product:
      return "Product";
    case ReduceKind::min:
      return "Min";
    case ReduceKind::max:
      return "Max";
    case ReduceKind::any:
      return "Any";
    case ReduceKind::all:
      return "All";
  }
  INGOT_UNREACHABLE();
}

std::string gpu_prelude(const Dialect& dialect) {
  std::string text;
  for (const std::string_view header : dialect.prelude) {
    for (const std::string_view line : split(resource(header), '\n')) {
      const bool is_for_headers = line.starts_with("#pragma once") || line.starts_with("#include");
      if (!is_for_headers) text += concat(line, "\n");
    }
  }
  return text;
}

std::string fill(std::string_view words,
                 const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string text;
  while (!words.empty()) {
    const size_t open = words.find('{');
    text += words.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = words.find('}', open);
    const std::string_view key = words.substr(open + 1, close - open - 1);
    for (const auto& [name, value] : values) {
      if (name == key) text += value;
    }
    words.remove_prefix(close + 1);
  }
  return text;
}

}  // namespace ingot
