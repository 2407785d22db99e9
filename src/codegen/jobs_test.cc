// codegen/jobs_test.cc: the queue of a compilation's work.
#include "codegen/jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

namespace ingot {
namespace {

TEST(Jobs, RunsTheMostExpensiveFirst) {
  std::string order;
  Jobs jobs;
  for (const auto& [name, cost] : {std::pair('a', 1.0), {'b', 3.0}, {'c', 2.0}, {'d', 3.0}}) {
    jobs.add(cost, [&order, name = name] {
      order += name;
      return ok();
    });
  }
  ASSERT_TRUE(jobs.run(1));
  EXPECT_EQ(order, "bdca");
}

TEST(Jobs, ReportsAFailureAndBeginsNothingMore) {
  Jobs jobs;
  int begun = 0;
  const auto fails = [&begun](std::string text) {
    return [&begun, text]() -> Status {
      ++begun;
      return io_error(text);
    };
  };
  jobs.add(1, fails("first"));
  jobs.add(2, fails("second"));
  const Status done = jobs.run(1);
  ASSERT_FALSE(done);
  EXPECT_NE(to_text(done.error()).find("second"), std::string::npos);
  EXPECT_EQ(begun, 1);  // nothing begins after a failure
}

TEST(Jobs, AllOfThemOnManyThreads) {
  std::atomic<int> done = 0;
  Jobs jobs;
  for (int k = 0; k < 100; ++k) {
    jobs.add(k % 7, [&done] {
      ++done;
      return ok();
    });
  }
  ASSERT_TRUE(jobs.run(4));
  EXPECT_EQ(done.load(), 100);
}

}  // namespace
}  // namespace ingot
