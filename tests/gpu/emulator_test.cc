// tests/gpu/emulator_test.cc: the emulator finds every planted bug and is quiet about their twins.
#include "emulator.h"

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "planted_bugs.h"

namespace ingot::emu {

void PrintTo(const PlantedBug& bug, std::ostream* out) {
  *out << bug.name;
}

namespace {

std::string all_reports() {
  std::string text;
  for (const Report& report : reports()) text += "[" + report.kind + "] " + report.text + "\n";
  return text.empty() ? "nothing reported" : text;
}

bool has_report(const std::string& kind) {
  for (const Report& report : reports()) {
    if (report.kind == kind) return true;
  }
  return false;
}

class PlantedBugs : public testing::TestWithParam<PlantedBug> {
 protected:
  void SetUp() override {
    reports().clear();
    config() = Config{};
    config().check = true;
    config().warp_size = INGOT_EMU_WARP;
  }
};

TEST_P(PlantedBugs, IsReportedAndItsTwinIsNot) {
  auto host = std::make_unique<float[]>(64);
  auto* x = static_cast<float*>(device_alloc(100 * sizeof(float), "x"));
  auto* y = static_cast<float*>(device_alloc(128 * sizeof(float), "y"));
  auto* fresh =
      static_cast<float*>(device_alloc(64 * sizeof(float), "fresh", Contents::kUninitialized));
  for (int i = 0; i < 100; ++i) x[i] = y[i] = static_cast<float>(i);

  const PlantedBug& bug = GetParam();
  for (const Order order : {Order::kForward, Order::kReversed, Order::kRandom}) {
    reports().clear();
    config().order = order;
    bug.run({.x = x, .y = y, .fresh = fresh, .host = host.get()});
    if (bug.kind == nullptr) {
      EXPECT_TRUE(reports().empty()) << all_reports();
    } else {
      EXPECT_TRUE(has_report(bug.kind)) << "expected " << bug.kind << "; " << all_reports();
    }
  }
  device_free(x);
  device_free(y);
  device_free(fresh);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBugs,
                         testing::ValuesIn(planted_bugs().begin(), planted_bugs().end()),
                         [](const auto& info) {
                           return std::string(info.param.name) + "_" +
                                  (info.param.kind == nullptr ? "is_quiet" : info.param.kind);
                         });

TEST(Reports, NameTheSourceLineAndTheThread) {
  reports().clear();
  config() = Config{};
  config().check = true;
  config().warp_size = INGOT_EMU_WARP;
  auto* y = static_cast<float*>(device_alloc(128 * sizeof(float), "y"));
  for (const PlantedBug& bug : planted_bugs()) {
    if (std::string(bug.name) == "write_past_shared")
      bug.run({.x = nullptr, .y = y, .fresh = nullptr, .host = nullptr});
  }
  ASSERT_EQ(reports().size(), 1u) << all_reports();
  EXPECT_NE(reports()[0].text.find("write of 4 bytes, 256 bytes past the start of shared memory"),
            std::string::npos)
      << all_reports();
  EXPECT_NE(reports()[0].text.find("block (0,0,0) thread 63 at planted_bugs.cc:"),
            std::string::npos)
      << all_reports();
  device_free(y);
}

TEST(Memory, GuardsFindWritesOfUncheckedKernels) {
  reports().clear();
  config() = Config{};
  auto* y = static_cast<float*>(device_alloc(4 * sizeof(float), "y"));
  void* args[] = {&y};
  launch([](void** a) { (*static_cast<float**>(a[0]))[4] = 1.0f; }, args, {}, {});
  ASSERT_EQ(reports().size(), 1u) << all_reports();
  EXPECT_EQ(reports()[0].text, "memory after 'y' (16 bytes) was overwritten");
  device_free(y);
  reports().clear();
  device_free(y);
  ASSERT_EQ(reports().size(), 1u);
  EXPECT_EQ(reports()[0].kind, "free");
}

}  // namespace
}  // namespace ingot::emu
