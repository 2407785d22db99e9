// codegen/emit_gpu_test.cc: the text of GPU kernels, line by line, and what cannot be written.
// That it computes the right thing is shown in tests/gpu.
#include "codegen/emit_gpu.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace ingot {
namespace {

Kernel parse(std::string_view text) {
  auto kernel = parse_kernel(text);
  CHECK(kernel, kernel.error());
  return *std::move(kernel);
}

constexpr std::string_view kRowSoftmaxLike = R"(kernel rows
from "node */ one"
symbol n 1..100000 multiple_of 1
b0 "x": f16[4 * n]
b1 "y": f32[4 * n] written
{
  for i0 < 4 parallel {
    reduce i1 < n vector {
    } max t0 = f32(b0[i0 * n + i1])
    for i2 < n vector {
      b1[i0 * n + i2] = exp(f32(b0[i0 * n + i2]) - t0)
    }
  }
}
)";

TEST(EmitGpu, RowsBecomeBlocks) {
  const Kernel kernel = parse(kRowSoftmaxLike);
  const auto made = emit_gpu(kernel, cuda_dialect());
  ASSERT_TRUE(made) << to_text(made.error());
  EXPECT_EQ(made->text, R"(// from node * / one
GPU_KERNEL(256) void rows(const gpu::f16* x_0, float* y_1, gpu::i64 n_s0) {
  for (gpu::i64 unit = blockIdx.x; unit < 4; unit += gridDim.x) {
    const gpu::i64 i0 = unit;
    float part_v0 = gpu::f32_of(4286578688u);
    for (gpu::i64 i1 = threadIdx.x; i1 < n_s0; i1 += 256) {
      part_v0 = gpu::max(part_v0, gpu::to_f32(x_0[i0 * n_s0 + i1]));
    }
    const float v0 = gpu::block_reduce<gpu::Max, 256>(part_v0);
    for (gpu::i64 i2 = threadIdx.x; i2 < n_s0; i2 += 256) {
      const gpu::i64 t0 = i0 * n_s0 + i2;
      y_1[t0] = gpu::exp(gpu::to_f32(x_0[t0]) - v0);
    }
  }
}
)");
  ASSERT_EQ(made->launches.size(), 1u);
  const GpuLaunch& launch = made->launches[0];
  EXPECT_EQ(launch.name, "rows");
  EXPECT_EQ(launch.threads, 256);
  EXPECT_EQ(launch.buffers, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(launch.symbols.size(), 1u);
  EXPECT_TRUE(launch.scratch_bytes.is_int(0));
  const std::vector<int64_t> symbols = {1000};
  EXPECT_EQ(block_count(launch, symbols), 4);
}

TEST(EmitGpu, DialectsDifferInPreludeAndLimitsOnly) {
  const Kernel kernel = parse(kRowSoftmaxLike);
  const auto cuda = emit_gpu(kernel, cuda_dialect());
  const auto hip = emit_gpu(kernel, hip_dialect());
  ASSERT_TRUE(cuda && hip);
  EXPECT_EQ(cuda->text, hip->text);
  EXPECT_NE(gpu_prelude(cuda_dialect()).find("__shfl_xor_sync"), std::string::npos);
  EXPECT_NE(gpu_prelude(hip_dialect()).find("__builtin_amdgcn_ds_bpermute"), std::string::npos);
  for (const Dialect* dialect : {&cuda_dialect(), &hip_dialect()}) {
    EXPECT_EQ(gpu_prelude(*dialect).find("#include"), std::string::npos);
  }
}

TEST(EmitGpu, ElementsBecomeThreads) {
  const Kernel kernel = parse(R"(kernel add
symbol n 0..1000 multiple_of 1
b0 "x": f32[3 * n]
b1 "y": f32[3 * n] written
{
  for i0 < 3 parallel {
    for i1 < n vector {
      b1[i0 * n + i1] = b0[i0 * n + i1] * 2.0
    }
  }
}
)");
  const auto made = emit_gpu(kernel, cuda_dialect());
  ASSERT_TRUE(made) << to_text(made.error());
  EXPECT_EQ(made->text, R"(GPU_KERNEL(256) void add(const float* x_0, float* y_1, gpu::i64 n_s0) {
  for (gpu::i64 unit = blockIdx.x * 256ll + threadIdx.x; unit < n_s0 * 3; unit += gridDim.x * 256ll) {
    const gpu::i64 i1 = unit % n_s0;
    const gpu::i64 unit1 = unit / n_s0;
    const gpu::i64 i0 = unit1;
    const gpu::i64 t0 = i0 * n_s0 + i1;
    y_1[t0] = x_0[t0] * 2.0f;
  }
}
)");
  const GpuLaunch& launch = made->launches[0];
  EXPECT_EQ(block_count(launch, std::vector<int64_t>{0}), 0);
  EXPECT_EQ(block_count(launch, std::vector<int64_t>{1}), 1);
  EXPECT_EQ(block_count(launch, std::vector<int64_t>{256}), 3);
  EXPECT_EQ(block_count(launch, std::vector<int64_t>{257}), 4);
}

TEST(EmitGpu, NoLoopsNoLaunch) {
  const auto made =
      emit_gpu(parse("kernel nothing\nb0 \"y\": f32[0] written\n{\n}\n"), cuda_dialect());
  ASSERT_TRUE(made) << to_text(made.error());
  EXPECT_TRUE(made->launches.empty());
}

TEST(EmitGpu, TypesThatGpusCannotHoldAreNamed) {
  const auto made = emit_gpu(parse(R"(kernel narrow
b0 "x": f8e4m3fn[5]
b1 "y": f32[5] written
{
  for i0 < 5 vector {
    b1[i0] = f32(b0[i0])
  }
}
)"),
                             hip_dialect());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnsupported);
  EXPECT_EQ(made.error().message,
            "hip: kernel 'narrow': buffer 'x' holds f8e4m3fn, which GPU kernels cannot hold yet");
}

}  // namespace
}  // namespace ingot
