// tests/gpu/codegen_test.cc: generated GPU code computes what the loop nests say, in the emulator.
#include <gtest/gtest.h>

#include "hand_kernels.h"
#include "kernel_case.h"
#include "modes.h"

namespace ingot {
namespace {

class Emulated : public testing::TestWithParam<NamedMode> {};

void run_all(std::span<const KernelCase> cases, const NamedMode& mode) {
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

constexpr std::string_view kBarrier = "gpu::sync();";

size_t count_barriers(std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find(kBarrier); at != text.npos; at = text.find(kBarrier, at + 1)) ++count;
  return count;
}

std::string without_barrier(std::string text, size_t number) {
  size_t at = text.find(kBarrier);
  for (size_t k = 0; k < number; ++k) at = text.find(kBarrier, at + 1);
  return text.erase(at, kBarrier.size());
}

// Whatever barrier of a generated kernel is left out, the emulator sees it: so none is missing that
// the cases could show, and none is there in vain.
TEST(Barriers, EveryOneIsNeeded) {
  std::vector<KernelCase> cases;
  std::vector<size_t> removed;
  for (KernelCase& at : hand_kernels()) {
    const auto kernel = emit_gpu(at.kernel, cuda_dialect());
    ASSERT_TRUE(kernel) << to_text(kernel.error());
    for (size_t k = 0; k < count_barriers(kernel->text); ++k) {
      cases.push_back(at);
      cases.back().kernel.name += concat("_without_", k);
      cases.back().label = cases.back().kernel.name;
      removed.push_back(k);
    }
  }
  ASSERT_GE(cases.size(), 5u);
  EmulatedMode mode{&cuda_dialect(), true, [&](size_t k, const std::string& text) {
                      return without_barrier(text, removed[k]);
                    }};
  auto batch = EmulatedBatch::compile(cases, mode);
  ASSERT_TRUE(batch) << to_text(batch.error());
  for (size_t k = 0; k < cases.size(); ++k) {
    const Status status = batch->run(k);
    ASSERT_FALSE(status) << cases[k].label << ": nothing was reported";
    // Whatever thread comes first sees memory that is not written yet, or is written by another.
    const std::string found = to_text(status.error());
    EXPECT_TRUE(found.find("[race]") != found.npos || found.find("[uninit]") != found.npos)
        << found;
  }
}

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
