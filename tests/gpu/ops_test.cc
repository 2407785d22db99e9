// tests/gpu/ops_test.cc: every operator's derived cases as GPU code, in the emulator and through
// the GPUs' own compilers.
#include <gtest/gtest.h>

#include "modes.h"
#include "op_kernels.h"

namespace ingot {
namespace {

constexpr uint64_t kSeeds = 4;

const std::vector<OpKernels>& cases() {
  static const std::vector<OpKernels> all = [] {
    auto made = op_kernels(kSeeds);
    CHECK(made, made.error());
    return *std::move(made);
  }();
  return all;
}

std::vector<KernelCase> all_kernels() {
  std::vector<KernelCase> all;
  for (const OpKernels& op : cases()) {
    all.insert(all.end(), op.kernels.begin(), op.kernels.end());
  }
  return all;
}

/// The planes of an op's outputs from the buffers of its kernels. An op that changes a state gives
/// the planes it got, of which the kernel changed one.
std::vector<Tensor> planes_of(const OpKernels& op,
                              const std::vector<std::vector<BufferValues>>& buffers) {
  std::vector<Tensor> planes;
  const OpCase& c = *op.op;
  for (size_t k = 0; k < op.kernels.size(); ++k) {
    if (buffers[k].size() > c.inputs.size()) {
      planes.push_back(to_tensor(c.expected[k], buffers[k].back()));
      continue;
    }
    for (size_t p = 0; p < c.expected.size(); ++p) {
      planes.push_back(to_tensor(c.expected[p], buffers[k][p]));
    }
  }
  return planes;
}

class EmulatedOps : public testing::TestWithParam<NamedMode> {};

TEST_P(EmulatedOps, ComputeTheirCases) {
  const std::vector<KernelCase> kernels = all_kernels();
  auto batch = EmulatedBatch::compile(kernels, {&GetParam().dialect(), GetParam().check});
  ASSERT_TRUE(batch) << to_text(batch.error());
  size_t next = 0;
  for (const OpKernels& op : cases()) {
    std::vector<std::vector<BufferValues>> buffers;
    for (size_t k = 0; k < op.kernels.size(); ++k) {
      auto got = batch->run_only(next++);
      ASSERT_TRUE(got) << to_text(got.error());
      buffers.push_back(*std::move(got));
    }
    EXPECT_EQ(compare(*op.op, planes_of(op, buffers)), "") << op.op->label;
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, EmulatedOps, testing::ValuesIn(kModes), mode_name);

class CudaCompiler : public testing::TestWithParam<const char*> {};

TEST_P(CudaCompiler, TakesOperators) {
  const auto source = gpu_source(all_kernels(), cuda_dialect());
  ASSERT_TRUE(source) << to_text(source.error());
  const Status status = compile_cuda(*source, GetParam());
  EXPECT_TRUE(status) << to_text(status.error());
}

INSTANTIATE_TEST_SUITE_P(Archs, CudaCompiler, testing::Values("sm_80", "sm_90"),
                         [](const auto& info) { return std::string(info.param); });

TEST(HipCompiler, TakesOperators) {
  const auto source = gpu_source(all_kernels(), hip_dialect());
  ASSERT_TRUE(source) << to_text(source.error());
  const Status status = compile_hip(*source, "gfx90a");
  EXPECT_TRUE(status) << to_text(status.error());
}

}  // namespace
}  // namespace ingot
