// artifact/testdata/outer.cc: an outer product by hand, for shapes of any size: z = a b, [n,m], and
// its row sums, [n]. n is a multiple of 2.
#include "artifact/program.h"

namespace ingot::artifact {
namespace {

void compute_product(const KernelArgs& args, i64 begin, i64 end) {
  const float* a = static_cast<const float*>(args.values[0]);
  const float* b = static_cast<const float*>(args.values[1]);
  float* z = static_cast<float*>(args.values[2]);
  const i64 m = args.symbols[1];
  for (i64 i = begin; i < end; ++i) {
    for (i64 j = 0; j < m; ++j) z[i * m + j] = a[i] * b[j];
  }
}

void compute_sums(const KernelArgs& args, i64 begin, i64 end) {
  const float* z = static_cast<const float*>(args.values[0]);
  float* sums = static_cast<float*>(args.values[1]);
  const i64 m = args.symbols[1];
  for (i64 i = begin; i < end; ++i) {
    sums[i] = 0;
    for (i64 j = 0; j < m; ++j) sums[i] += z[i * m + j];
  }
}

Work work(const i64* s) {
  return {s[0], static_cast<double>(s[1]), 0};
}
constexpr KernelFn kKernels[] = {compute_product, compute_sums};
constexpr u32 kOuterOperands[] = {0, 1, 2}, kSumsOperands[] = {2, 3};
constexpr u32 kKernelSymbols[] = {0, 1};
constexpr Step kSteps[] = {
    {"outer", "Mul_0", work, nullptr, 0, kOuterOperands, 3, nullptr, 0, 0, 0, 0, nullptr,
     kKernelSymbols, 2},
    {"row_sums", "ReduceSum_1", work, nullptr, 1, kSumsOperands, 2, nullptr, 0, 0, 0, 0, nullptr,
     kKernelSymbols, 2},
};
constexpr Value kValues[] = {
    {ValueKind::input, 0, 0, 0, 0, 0, 0},
    {ValueKind::input, 1, 0, 0, 0, 0, 0},
    {ValueKind::arena, 0, 0, 0, 0, 1, 0},
    {ValueKind::output, 0, 0, 0, 1, 1, 0},
};
void derive(i64* s) {
  s[2] = multiply_size(s[0], s[1]);
}
void value_bytes(const i64* s, i64* bytes) {
  bytes[0] = bytes[3] = multiply_size(s[0], 4);
  bytes[1] = multiply_size(s[1], 4);
  bytes[2] = multiply_size(s[2], 4);
}
constexpr Symbol kSymbols[] = {{"n", 0, 4000000000, 2, false}, {"m", 0, 8000000000, 1, false}};
constexpr Dim kADims[] = {{0, 0}}, kBDims[] = {{0, 1}};
constexpr const char* kN[] = {"n"};
constexpr const char* kM[] = {"m"};
constexpr Port kInputs[] = {{"a", 1, 1, kADims, kN, 0}, {"b", 1, 1, kBDims, kM, 1}};
constexpr Port kOutputs[] = {{"sums", 1, 1, kADims, kN, 3}};
constexpr Program kMain = {kSymbols, 2,       kInputs, 2,       kOutputs, 1,           nullptr,
                           0,        kValues, 4,       kSteps,  2,        value_bytes, nullptr,
                           0,        nullptr, 0,       nullptr, false,    derive,      1};
constexpr Level kLevels[] = {{"x86-64", 0, kKernels, nullptr}};

}  // namespace

extern "C" const Model ingot_model_description = {
    .struct_size = sizeof(Model),
    .format = kFormat,
    .name = "outer",
    .hash = "02",
    .target = "cpu",
    .toolchain = "by hand",
    .compiler_version = "0",
    .levels = kLevels,
    .level_count = 1,
    .main = &kMain,
    .prepare = nullptr,
    .constants = nullptr,
    .constant_count = 0,
    .prepared = nullptr,
    .prepared_count = 0,
    .metadata = nullptr,
    .metadata_count = 0,
    .weights = {},
    .source_files = nullptr,
    .source_file_count = 0,
};

}  // namespace ingot::artifact
