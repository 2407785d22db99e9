// artifact/dtype.cc: sizes and names of ONNX's element types.
#include "artifact/bind.h"

namespace ingot::artifact {
namespace {

struct Dtype {
  const char* name;
  i32 bits;
  i32 alignment;
};

// By TensorProto.DataType. Source: onnx/onnx.proto3, version 1.20.
constexpr Dtype kDtypes[] = {
    {"undefined", 0, 1},      {"float32", 32, 4},   {"uint8", 8, 1},
    {"int8", 8, 1},           {"uint16", 16, 2},    {"int16", 16, 2},
    {"int32", 32, 4},         {"int64", 64, 8},     {"string", 128, 8},
    {"bool", 8, 1},           {"float16", 16, 2},   {"float64", 64, 8},
    {"uint32", 32, 4},        {"uint64", 64, 8},    {"complex64", 64, 4},
    {"complex128", 128, 8},   {"bfloat16", 16, 2},  {"float8e4m3fn", 8, 1},
    {"float8e4m3fnuz", 8, 1}, {"float8e5m2", 8, 1}, {"float8e5m2fnuz", 8, 1},
    {"uint4", 4, 1},          {"int4", 4, 1},       {"float4e2m1", 4, 1},
    {"float8e8m0", 8, 1},     {"uint2", 2, 1},      {"int2", 2, 1},
};
static_assert(sizeof(ingot_string) == 16, "a string element is a pointer and a length");

const Dtype& row(i32 dtype) {
  constexpr i32 kCount = sizeof kDtypes / sizeof kDtypes[0];
  static constexpr Dtype kUnknown = {"unknown", 0, 1};
  return dtype >= 0 && dtype < kCount ? kDtypes[dtype] : kUnknown;
}

}  // namespace

i32 dtype_bits(i32 dtype) {
  return row(dtype).bits;
}

i32 value_bits(i32 dtype) {
  return dtype == INGOT_STRING ? 64 : dtype_bits(dtype);
}

const char* dtype_name(i32 dtype) {
  return row(dtype).name;
}

i64 dtype_alignment(i32 dtype) {
  return row(dtype).alignment;
}

i64 dense_bytes(i32 dtype, u32 rank, const i64* dims) {
  i64 count = 1;
  for (u32 a = 0; a < rank; ++a) {
    if (dims[a] == 0) return 0;
    count = multiply_size(count, dims[a]);
  }
  const i64 bits = multiply_size(count, dtype_bits(dtype));
  return bits == kTooManyBytes ? kTooManyBytes : bits / 8 + (bits % 8 != 0);
}

}  // namespace ingot::artifact
