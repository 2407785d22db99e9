// artifact/testdata/layer.cc: a model as the code generator writes it, by hand: a layer with
// replaceable weights, a dynamic batch, and outputs whose size only the run finds out.
//
//   h = x w + b                      x [batch,4], w [4,3], b [3]
//   y = 2 relu(h)                    [batch,3]
//   positive = nonzero(flat(y))      int64 [count]
//   twice = 2 positive, closed = twice with -1 behind it     int64 [count + 1]
//
// Built in variants: LAYER_WEIGHTS 1 embedded, 2 separate, 3 stripped; LAYER_LEVELS 1: only a level
// that no machine has.
#include "artifact/program.h"

#ifndef LAYER_WEIGHTS
#define LAYER_WEIGHTS 1
#endif

namespace ingot::artifact {
namespace {

constexpr i64 kPreparedW = 0, kPreparedB = 64, kTwo = 128;
[[maybe_unused]] constexpr i64 kOriginalW = 192, kOriginalB = 256;
constexpr i64 kWeightBytes = 320;

// [4,3], so that h has both signs: column sums are 1, 0, -1.
#define LAYER_W 1, 0, -1, 0, 1, 0, 0, -1, 1, 0, 0, -1
#define LAYER_B 0.5f, 0, -0.5f
struct WeightBytes {
  alignas(64) float prepared_w[12];
  alignas(64) float prepared_b[3];
  alignas(64) float two;
  alignas(64) float original_w[12];
  alignas(64) float original_b[3];
};
static_assert(sizeof(WeightBytes) == kWeightBytes);
#if LAYER_WEIGHTS == 1
alignas(4096) constexpr WeightBytes kWeights = {
    {1, 0, 0, 0, 0, 1, -1, 0, -1, 0, 1, -1}, {LAYER_B}, 2, {LAYER_W}, {LAYER_B}};
#elif LAYER_WEIGHTS == 3
alignas(4096) constexpr WeightBytes kWeights = {{}, {}, 2, {}, {}};
#endif

// Main program.

void compute_h(const KernelArgs& args, i64 begin, i64 end) {
  const float* x = static_cast<const float*>(args.values[0]);
  const float* w = static_cast<const float*>(args.values[1]);
  const float* b = static_cast<const float*>(args.values[2]);
  float* h = static_cast<float*>(args.values[3]);
  float* sums = static_cast<float*>(args.scratch);
  for (i64 m = begin; m < end; ++m) {
    for (int n = 0; n < 3; ++n) {
      sums[n] = b[n];
      for (int k = 0; k < 4; ++k) sums[n] += x[4 * m + k] * w[4 * n + k];
    }
    for (int n = 0; n < 3; ++n) h[3 * m + n] = sums[n];
  }
}

void compute_y(const KernelArgs& args, i64 begin, i64 end) {
  const float two = *static_cast<const float*>(args.values[0]);
  const float* h = static_cast<const float*>(args.values[1]);
  float* y = static_cast<float*>(args.values[2]);
  for (i64 i = begin; i < end; ++i) y[i] = h[i] > 0 ? two * h[i] : 0;
}

int find_positive(RoutineArgs& args) {
  const float* y = static_cast<const float*>(args.values[0]);
  const i64 size = args.symbols[0] * args.attributes[0];
  i64 count = 0;
  for (i64 i = 0; i < size; ++i) {
    if (y[i] > 1e30f) {
      *args.error = "a value is out of range";
      return 1;
    }
    count += y[i] > 0;
  }
  args.symbols[args.first_symbol] = count;
  if (args.allocate_outputs(args.run) == 0) return 6;
  i64* positive = static_cast<i64*>(args.values[1]);
  for (i64 i = 0; i < size; ++i) {
    if (y[i] > 0) *positive++ = i;
  }
  return 0;
}

void compute_twice(const KernelArgs& args, i64 begin, i64 end) {
  const i64* positive = static_cast<const i64*>(args.values[0]);
  i64* twice = static_cast<i64*>(args.values[1]);
  for (i64 i = begin; i < end; ++i) twice[i] = 2 * positive[i];
}

void compute_closed(const KernelArgs& args, i64 begin, i64 end) {
  const i64* twice = static_cast<const i64*>(args.values[0]);
  i64* closed = static_cast<i64*>(args.values[1]);
  for (i64 i = begin; i < end; ++i) closed[i] = i < args.symbols[1] ? twice[i] : -1;
}

constexpr KernelFn kKernels[] = {compute_h, compute_y, compute_twice, compute_closed};

Work work_h(const i64* s) {
  return {s[0], 30, 16};
}
Work work_y(const i64* s) {
  return {s[0] * 3, 2, 0};
}
Work work_twice(const i64* s) {
  return {s[0], 1, 0};
}
Work work_closed(const i64* s) {
  return {s[1] + 1, 1, 0};
}

constexpr i64 kFindAttributes[] = {3};
constexpr u32 kGemmOperands[] = {0, 1, 2, 4}, kReluOperands[] = {3, 9, 5}, kFindOperands[] = {5, 6},
              kTwiceOperands[] = {6, 7}, kCloseOperands[] = {7, 8};
constexpr u32 kBatch[] = {0}, kBoth[] = {0, 1}, kFound[] = {1};
constexpr Step kSteps[] = {
    {"gemm", "MatMul_0,Add_1", work_h, nullptr, 0, kGemmOperands, 4, nullptr, 0, 0, 24, 28, nullptr,
     kBatch, 1},
    {"relu_scale", "Relu_2,Mul_3", work_y, nullptr, 1, kReluOperands, 3, nullptr, 0, 0, 2, 8,
     nullptr, kBatch, 1},
    {"nonzero", "NonZero_4", nullptr, find_positive, 0, kFindOperands, 2, kFindAttributes, 1, 1, 0,
     0},
    {"twice", "Mul_5", work_twice, nullptr, 2, kTwiceOperands, 2, nullptr, 0, 0, 1, 16, nullptr,
     kFound, 1},
    {"close", "Concat_6", work_closed, nullptr, 3, kCloseOperands, 2, nullptr, 0, 0, 0, 16, nullptr,
     kBoth, 2},
};

constexpr Value kValues[] = {
    {ValueKind::input, 0, 0, 0, 0, 0, 0},
    {ValueKind::constant, 0, 0, kPreparedW, 0, 0, 0},
    {ValueKind::constant, 0, 0, kPreparedB, 0, 0, 0},
    {ValueKind::constant, 0, 0, kTwo, 0, 0, 0},
    {ValueKind::arena, 0, 0, 0, 0, 0, 0},
    {ValueKind::output, 0, 0, 0, 1, 2, 0},
    {ValueKind::output, 1, 0, 0, 2, 3, 2},
    {ValueKind::arena, 0, 0, 0, 3, 4, 2},
    {ValueKind::output, 2, 0, 0, 4, 4, 2},
    {ValueKind::alias, 4, 0, 0, 1, 1, 0},
};

void value_bytes(const i64* s, i64* bytes) {
  bytes[0] = multiply_size(s[0], 16);
  bytes[1] = 48;
  bytes[2] = 12;
  bytes[3] = 4;
  bytes[4] = bytes[5] = bytes[9] = multiply_size(s[0], 12);
  bytes[6] = bytes[7] = multiply_size(s[1], 8);
  bytes[8] = multiply_size(s[1] + 1, 8);
}

void output_dims(const i64* s, i64* dims) {
  dims[0] = s[1] + 1;
}

i64 check_assumptions(const i64* s, u32 steps) {
  return steps == 0 && s[0] == 13 ? 0 : -1;
}
constexpr Assumption kAssumptions[] = {{"batch: expected anything but 13"}};

constexpr Symbol kSymbols[] = {{"batch", 0, 1000000, 1, false}, {"count", 0, 1000000000, 1, true}};
constexpr Dim kXDims[] = {{0, 0}, {4, -1}}, kYDims[] = {{0, 0}, {3, -1}};
constexpr Dim kPositiveDims[] = {{0, 1}}, kClosedDims[] = {{0, -2}};
constexpr const char* kXText[] = {"batch", "4"};
constexpr const char* kYText[] = {"batch", "3"};
constexpr const char* kPositiveText[] = {"count"};
constexpr const char* kClosedText[] = {"count + 1"};
constexpr Port kInputs[] = {{"x", 1, 2, kXDims, kXText, 0}};
constexpr Port kOutputs[] = {{"y", 1, 2, kYDims, kYText, 5},
                             {"positive", 7, 1, kPositiveDims, kPositiveText, 6},
                             {"closed", 7, 1, kClosedDims, kClosedText, 8}};
constexpr Program kMain = {
    kSymbols, 2,      kInputs, 1,           kOutputs,    3, nullptr,      0, kValues,
    10,       kSteps, 5,       value_bytes, output_dims, 1, kAssumptions, 1, check_assumptions};

// Prepare program: w is transposed, b copied.

void transpose_w(const KernelArgs& args, i64, i64) {
  const float* w = static_cast<const float*>(args.values[0]);
  float* transposed = static_cast<float*>(args.values[1]);
  for (int k = 0; k < 4; ++k) {
    for (int n = 0; n < 3; ++n) transposed[4 * n + k] = w[3 * k + n];
  }
}

void copy_b(const KernelArgs& args, i64, i64) {
  for (int n = 0; n < 3; ++n) {
    static_cast<float*>(args.values[1])[n] = static_cast<const float*>(args.values[0])[n];
  }
}

constexpr KernelFn kPrepareKernels[] = {transpose_w, copy_b};

Work work_one(const i64*) {
  return {1, 20, 0};
}
void prepare_value_bytes(const i64*, i64* bytes) {
  bytes[0] = bytes[2] = 48;
  bytes[1] = bytes[3] = 12;
}
constexpr u32 kTransposeOperands[] = {0, 2}, kCopyOperands[] = {1, 3};
constexpr Step kPrepareSteps[] = {
    {"transpose", "w", work_one, nullptr, 0, kTransposeOperands, 2, nullptr, 0, 0, 0, 0},
    {"copy", "b", work_one, nullptr, 1, kCopyOperands, 2, nullptr, 0, 0, 0, 0},
};
constexpr Value kPrepareValues[] = {
    {ValueKind::input, 0, 0, 0, 0, 0, 0},
    {ValueKind::input, 1, 0, 0, 0, 1, 0},
    {ValueKind::output, 0, 0, 0, 0, 0, 0},
    {ValueKind::output, 1, 0, 0, 1, 1, 0},
};
constexpr Dim kWDims[] = {{4, -1}, {3, -1}}, kTransposedDims[] = {{3, -1}, {4, -1}};
constexpr Dim kBDims[] = {{3, -1}};
constexpr const char* kFixedText[] = {"", ""};
constexpr Port kPrepareInputs[] = {{"w", 1, 2, kWDims, kFixedText, 0},
                                   {"b", 1, 1, kBDims, kFixedText, 1}};
constexpr Port kPrepareOutputs[] = {{"w_transposed", 1, 2, kTransposedDims, kFixedText, 2},
                                    {"b_copied", 1, 1, kBDims, kFixedText, 3}};
constexpr Program kPrepare = {nullptr,
                              0,
                              kPrepareInputs,
                              2,
                              kPrepareOutputs,
                              2,
                              nullptr,
                              0,
                              kPrepareValues,
                              4,
                              kPrepareSteps,
                              2,
                              prepare_value_bytes,
                              nullptr,
                              0,
                              nullptr,
                              0,
                              nullptr};

constexpr i64 kWShape[] = {4, 3}, kBShape[] = {3}, kTwoShape[] = {1};
#if LAYER_WEIGHTS == 3
// At an odd place, as a protobuf may put it.
constexpr Constant kConstants[] = {
    {"w", 1, 2, kWShape, true, 0, -1, 1, 7},
    {"b", 1, 1, kBShape, true, 1, -1, 1, 7 + 48 + 5},
    {"two", 1, 0, kTwoShape, false, 0, kTwo, 0, 0},
};
constexpr SourceFile kSources[] = {{"layer.onnx", 80, {0x9b4e4818d1413020u, 0xe7af1544c53a5038u}}};
#else
constexpr Constant kConstants[] = {
    {"w", 1, 2, kWShape, true, 0, kOriginalW, 0, 0},
    {"b", 1, 1, kBShape, true, 1, kOriginalB, 0, 0},
    {"two", 1, 0, kTwoShape, false, 0, kTwo, 0, 0},
};
#endif
constexpr Prepared kPrepared[] = {{0, kPreparedW}, {1, kPreparedB}};
constexpr Metadata kMetadata[] = {{"labels", "a,b,c"}, {"author", "the test"}};

constexpr Level kLevels[] = {
    {"x86-64-v9", 1ull << 63, kKernels, kPrepareKernels},
    {"x86-64", 0, kKernels, kPrepareKernels},
};
#if LAYER_WEIGHTS == 3
constexpr u64 kWeightsHash[] = {0, 0};
#else
constexpr u64 kWeightsHash[] = {0x2f0cfc559b7d14eu, 0xf2a688744f8d2eecu};
#endif
#ifdef LAYER_ONLY_V9
constexpr u32 kLevelCount = 1;
#else
constexpr u32 kLevelCount = 2;
#endif

}  // namespace

extern "C" const Model ingot_model_description = {
    .struct_size = sizeof(Model),
    .format = kFormat,
    .name = "layer",
    .hash = "00112233445566778899aabbccddeeff",
    .target = "cpu",
    .toolchain = "by hand",
    .compiler_version = "0",
    .levels = kLevels,
    .level_count = kLevelCount,
    .main = &kMain,
    .prepare = &kPrepare,
    .constants = kConstants,
    .constant_count = 3,
    .prepared = kPrepared,
    .prepared_count = 2,
    .metadata = kMetadata,
    .metadata_count = 2,
#if LAYER_WEIGHTS == 1
    .weights = {WeightsKind::embedded, reinterpret_cast<const u8*>(&kWeights), kWeightBytes,
                nullptr, kWeightsHash, 0},
    .source_files = nullptr,
    .source_file_count = 0,
#elif LAYER_WEIGHTS == 2
    .weights = {WeightsKind::separate, nullptr, kWeightBytes, "layer.weights", kWeightsHash, 0},
    .source_files = nullptr,
    .source_file_count = 0,
#else
    .weights = {WeightsKind::stripped, reinterpret_cast<const u8*>(&kWeights), kWeightBytes,
                nullptr, kWeightsHash, kTwo + 4},
    .source_files = kSources,
    .source_file_count = 1,
#endif
};

}  // namespace ingot::artifact
