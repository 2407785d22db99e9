// artifact/testdata/cache.cc: a model with two states, by hand.
//
// Appends x [batch,2] to a contiguous state and its double to a paged one, one token a run, and
// gives the sum of all tokens of the first and of the second: sums [batch,2,2].
#include "artifact/program.h"

namespace ingot::artifact {
namespace {

constexpr i64 kBlock = 2;  // tokens

void append_and_sum(const KernelArgs& args, i64 begin, i64 end) {
  const float* x = static_cast<const float*>(args.values[0]);
  float* flat = static_cast<float*>(args.values[1]);
  const i64* lengths = static_cast<const i64*>(args.values[2]);
  float* pool = static_cast<float*>(args.values[3]);
  const i32* table = static_cast<const i32*>(args.values[4]);
  float* sums = static_cast<float*>(args.values[5]);
  const i64 capacity = args.symbols[1], row = args.symbols[3];
  for (i64 b = begin; b < end; ++b) {
    for (int d = 0; d < 2; ++d) {
      const i64 at = lengths[b];
      flat[(b * capacity + at) * 2 + d] = x[2 * b + d];
      pool[(table[b * row + at / kBlock] * kBlock + at % kBlock) * 2 + d] = 2 * x[2 * b + d];
      float first = 0, second = 0;
      for (i64 t = 0; t <= at; ++t) {
        first += flat[(b * capacity + t) * 2 + d];
        second += pool[(table[b * row + t / kBlock] * kBlock + t % kBlock) * 2 + d];
      }
      sums[b * 4 + d] = first;
      sums[b * 4 + 2 + d] = second;
    }
  }
}

Work work(const i64* s) {
  return {s[0], 100, 0};
}
constexpr KernelFn kKernels[] = {append_and_sum};
constexpr u32 kOperands[] = {0, 1, 2, 3, 4, 6};
constexpr u32 kKernelSymbols[] = {0, 1, 2, 3};
constexpr Step kSteps[] = {{"append", "Concat_0", work, nullptr, 0, kOperands, 6, nullptr, 0, 0, 0,
                            0, nullptr, kKernelSymbols, 4}};
constexpr Value kValues[] = {
    {ValueKind::input, 0, 0, 0, 0, 0, 0},  {ValueKind::state, 0, 0, 0, 0, 0, 0},
    {ValueKind::state, 0, 2, 0, 0, 0, 0},  {ValueKind::state, 1, 0, 0, 0, 0, 0},
    {ValueKind::state, 1, 1, 0, 0, 0, 0},  {ValueKind::state, 1, 2, 0, 0, 0, 0},
    {ValueKind::output, 0, 0, 0, 0, 0, 0},
};
void value_bytes(const i64* s, i64* bytes) {
  bytes[0] = multiply_size(s[0], 8);
  bytes[6] = multiply_size(s[0], 16);
}
constexpr Symbol kSymbols[] = {{"batch", 0, 100, 1, false},
                               {"capacity", 0, 1000, 1, false},
                               {"blocks", 0, 1000, 1, false},
                               {"max_blocks", 0, 1000, 1, false},
                               {"longest", 0, 1000, 1, false}};
constexpr Dim kXDims[] = {{0, 0}, {2, -1}};
constexpr Dim kSumsDims[] = {{0, 0}, {2, -1}, {2, -1}};
constexpr const char* kText[] = {"batch", "2", "2"};
constexpr Port kInputs[] = {{"x", 1, 2, kXDims, kText, 0}};
constexpr Port kOutputs[] = {{"sums", 1, 3, kSumsDims, kText, 6}};
constexpr i64 kToken[] = {2};
constexpr StatePort kStates[] = {
    {"past", "present", 1, StateLayout::contiguous, 1, kToken, 0, 0, 0, 1, -1, 4, 1, 1, 0, 2},
    {"pages", "pages_out", 1, StateLayout::paged, 1, kToken, kBlock, 0, 0, 2, 3, -1, 1, 3, 4, 5},
};
constexpr Program kMain = {kSymbols,    5,       kInputs, 1,       kOutputs, 1,
                           kStates,     2,       kValues, 7,       kSteps,   1,
                           value_bytes, nullptr, 0,       nullptr, 0,        nullptr};
constexpr Level kLevels[] = {{"x86-64", 0, kKernels, nullptr}};

}  // namespace

extern "C" const Model ingot_model_description = {
    .struct_size = sizeof(Model),
    .format = kFormat,
    .name = "cache",
    .hash = "01",
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
