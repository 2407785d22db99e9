// tests/onnx/onnx_test.cc: every generated case passes; of ONNX's own cases none gives a wrong
// answer, and as many pass as ever did.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "case.h"

namespace ingot::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> cases_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

TEST(Generated, EveryCasePasses) {
  const auto folders = cases_in(INGOT_GENERATED_CASES);
  EXPECT_GT(folders.size(), 500u);
  for (const fs::path& folder : folders) {
    const CaseResult result = run_case(folder);
    EXPECT_EQ(result.outcome, Outcome::passed) << folder.filename() << ": " << result.message;
  }
}

/// The interpreter divides in fp64, so that a quotient that is a tie in fp32 rounds the other way.
const std::set<std::string> kTies = {"test_dynamicquantizelinear_expanded"};
/// Expected values of 1e-7 that are the noise of a transform in fp32, and 0 in fp64.
const std::set<std::string> kNoise = {"test_dft_inverse", "test_dft_inverse_opset19"};

/// Expected numbers are those that NumPy drew behind the input's, in one stream.
/// frontend/random_test.cc tests their distribution.
const std::set<std::string> kDrawn = {"test_bernoulli",          "test_bernoulli_double",
                                      "test_bernoulli_seed",     "test_bernoulli_double_expanded",
                                      "test_bernoulli_expanded", "test_bernoulli_seed_expanded"};

/// Formats without a decoder. Only a run can tell; the interpreter gives a picture without pixels.
const std::set<std::string> kFormats = {"test_image_decoder_decode_jpeg2k_rgb",
                                        "test_image_decoder_decode_webp_rgb"};

/// Runs one folder of ONNX's cases. `with_constants` are those that pass once inputs that are
/// shapes, axes, bounds... have become constants.
void expect_counts(std::string_view folder, int least_passed, int least_with_constants) {
  std::array<int, 4> count{};
  for (const fs::path& path : cases_in(fs::path(INGOT_ONNX_DATA) / folder)) {
    const CaseResult result = run_case(path);
    ++count[static_cast<size_t>(result.outcome)];
    if (result.outcome == Outcome::failed) {
      const std::string name = path.filename().string();
      EXPECT_TRUE(kTies.contains(name) || kNoise.contains(name) || kDrawn.contains(name) ||
                  kFormats.contains(name))
          << path.filename() << ": " << result.message;
    }
  }
  ::testing::Test::RecordProperty("passed", count[0]);
  ::testing::Test::RecordProperty("passed_with_constants", count[1]);
  ::testing::Test::RecordProperty("unsupported", count[2]);
  EXPECT_GE(count[0], least_passed);
  EXPECT_GE(count[1] + count[0], least_passed + least_with_constants);
}

// Counts of onnx 1.22; they may only grow.
TEST(OnnxCases, Node) {
  expect_counts("node", 1607, 147);
}
TEST(OnnxCases, Simple) {
  expect_counts("simple", 21, 0);
}
TEST(OnnxCases, PytorchConverted) {
  expect_counts("pytorch-converted", 82, 0);
}
TEST(OnnxCases, PytorchOperator) {
  expect_counts("pytorch-operator", 35, 0);
}

}  // namespace
}  // namespace ingot::testing
