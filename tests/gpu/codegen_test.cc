// tests/gpu/codegen_test.cc: generated GPU code computes what the loop nests say, in the emulator.
#include <gtest/gtest.h>

#include "hand_kernels.h"
#include "kernel_case.h"

namespace ingot {
namespace {

struct Mode {
  const char* name;
  const Dialect& (*dialect)();
  bool check;
};

constexpr Mode kModes[] = {{"cuda_fast", cuda_dialect, false},
                           {"cuda_check", cuda_dialect, true},
                           {"hip_fast", hip_dialect, false},
                           {"hip_check", hip_dialect, true}};

class Emulated : public testing::TestWithParam<Mode> {};

std::string mode_name(const testing::TestParamInfo<Mode>& info) {
  return info.param.name;
}

void run_all(std::span<const KernelCase> cases, const Mode& mode) {
  auto batch = EmulatedBatch::compile(cases, {&mode.dialect(), mode.check});
  ASSERT_TRUE(batch) << to_text(batch.error());
  for (size_t k = 0; k < cases.size(); ++k) {
    const Status status = batch->run(k);
    EXPECT_TRUE(status) << to_text(status.error());
  }
}

TEST_P(Emulated, HandWrittenNests) {
  run_all(hand_kernels(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Gpu, Emulated, testing::ValuesIn(kModes), mode_name);

TEST(Compilers, CudaTakesHandWrittenNests) {
  const auto source = gpu_source(hand_kernels(), cuda_dialect());
  ASSERT_TRUE(source) << to_text(source.error());
  for (const char* arch : {"sm_80", "sm_90"}) {
    const Status status = compile_cuda(*source, arch);
    EXPECT_TRUE(status) << to_text(status.error());
  }
}

TEST(Compilers, HipTakesHandWrittenNests) {
  const auto source = gpu_source(hand_kernels(), hip_dialect());
  ASSERT_TRUE(source) << to_text(source.error());
  const Status status = compile_hip(*source, "gfx90a");
  EXPECT_TRUE(status) << to_text(status.error());
}

}  // namespace
}  // namespace ingot
