// tests/onnx/run_cases.cc: runs folders of cases and counts what came out: run_cases FOLDER...
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "case.h"

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  static constexpr std::array<std::string_view, 4> kNames = {"passed", "passed_with_constants",
                                                             "unsupported", "failed"};
  std::array<int, 4> total{};
  for (int k = 1; k < argc; ++k) {
    std::vector<fs::path> folders;
    if (fs::exists(fs::path(argv[k]) / "model.onnx")) {
      folders.push_back(argv[k]);
    } else {
      for (const auto& entry : fs::directory_iterator(argv[k])) {
        if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
      }
    }
    std::ranges::sort(folders);
    for (const fs::path& folder : folders) {
      const auto result = ingot::testing::run_case(folder);
      const size_t outcome = static_cast<size_t>(result.outcome);
      ++total[outcome];
      fmt::print("{} {}: {}\n", kNames[outcome], folder.filename().string(), result.message);
      std::fflush(stdout);
    }
  }
  for (size_t k = 0; k < total.size(); ++k) fmt::print("{}: {}\n", kNames[k], total[k]);
  return total[3] == 0 ? 0 : 1;
}
