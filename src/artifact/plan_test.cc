// artifact/plan_test.cc: placed values never overlap while alive; hashes, CPU texts and copies.
#include "artifact/plan.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <random>
#include <vector>

#include "artifact/cpu.h"
#include "artifact/hash.h"
#include "artifact/threads.h"

namespace ingot::artifact {
namespace {

TEST(Plan, PlacesChainsInTwoBuffers) {
  std::vector<Interval> chain;
  for (u32 i = 0; i < 10; ++i) chain.push_back({i, i, i + 1, 100, 0});
  std::vector<u32> order(chain.size());
  EXPECT_EQ(place_intervals(chain.data(), 10, order.data()), 2 * 128);
}

TEST(Plan, PutsSmallValuesIntoTheSmallestHole) {
  // Two long-lived values leave a hole while a third is dead.
  std::vector<Interval> intervals = {
      {0, 0, 9, 640, 0}, {1, 0, 3, 320, 0}, {2, 0, 9, 192, 0}, {3, 5, 6, 320, 0}};
  std::vector<u32> order(intervals.size());
  EXPECT_EQ(place_intervals(intervals.data(), 4, order.data()), 640 + 320 + 192);
}

TEST(Plan, NeverOverlapsWhileAlive) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const u32 count = static_cast<u32>(1 + random() % 60);
    std::vector<Interval> intervals;
    for (u32 i = 0; i < count; ++i) {
      const u32 first = static_cast<u32>(random() % 30);
      intervals.push_back({i, first, first + static_cast<u32>(random() % 8),
                           random() % 5 == 0 ? 0 : static_cast<i64>(random() % 5000), -1});
    }
    std::vector<u32> order(count);
    const i64 total = place_intervals(intervals.data(), count, order.data());
    for (const Interval& a : intervals) {
      EXPECT_EQ(a.offset % kAlignment, 0);
      EXPECT_GE(a.offset, 0);
      EXPECT_LE(a.offset + a.bytes, total);
      for (const Interval& b : intervals) {
        const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step;
        if (a.value == b.value || !together || a.bytes == 0 || b.bytes == 0) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
            << a.value << " and " << b.value;
      }
    }
  }
}

TEST(Plan, SaturatesInsteadOfOverflowing) {
  std::vector<Interval> intervals = {{0, 0, 1, kTooManyBytes - 10, 0}, {1, 0, 1, 1000, 0}};
  std::vector<u32> order(2);
  EXPECT_EQ(place_intervals(intervals.data(), 2, order.data()), kTooManyBytes);
  EXPECT_EQ(multiply_size(i64{1} << 40, i64{1} << 40), kTooManyBytes);
  EXPECT_EQ(add_size(kTooManyBytes, 1), kTooManyBytes);
  EXPECT_EQ(multiply_size(kTooManyBytes, 0), 0);
}

// Against the library that the compiler uses.
TEST(Hash, EqualsXxhash) {
  std::mt19937 random(2);
  std::vector<u8> bytes(5000);
  for (u8& byte : bytes) byte = static_cast<u8>(random());
  for (size_t length = 0; length + 1 < bytes.size(); length += length < 600 ? 1 : 37) {
    const Hash got = hash_bytes(bytes.data() + 1, length);
    const XXH128_hash_t expected = XXH3_128bits(bytes.data() + 1, length);
    ASSERT_EQ(got.low, expected.low64) << length;
    ASSERT_EQ(got.high, expected.high64) << length;
  }
}

TEST(Cpu, PrintsLevelsAndFeatures) {
  char text[128];
  print_cpu(0, text, sizeof text);
  EXPECT_STREQ(text, "x86-64");
  print_cpu(kCpuV2 | kCpuV3, text, sizeof text);
  EXPECT_STREQ(text, "x86-64-v3");
  print_cpu(kCpuV2 | kCpuV3 | kCpuV4 | kCpuAvx512Vnni | kCpuAvx512Bf16, text, sizeof text);
  EXPECT_STREQ(text, "x86-64-v4+avx512vnni+avx512bf16");
}

#if defined(__x86_64__)
// The compiler's own detection is another reading of the same manual.
TEST(Cpu, DetectsWhatTheCompilersLibraryDetects) {
  const u64 features = detect_cpu();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  EXPECT_EQ((features & kCpuV2) != 0, __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ((features & kCpuV3) != 0, v3);
  EXPECT_EQ((features & kCpuV4) != 0, v4);
  EXPECT_EQ((features & kCpuAvx512Vnni) != 0, v4 && __builtin_cpu_supports("avx512vnni"));
}
#endif

TEST(Threads, RunEachTaskOnce) {
  ThreadPool pool(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<int> runs(4);
    pool.parallel_for(
        1 + round % 4,
        [](void* context, i64 i) { ++(*static_cast<std::vector<int>*>(context))[i]; }, &runs);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(runs[i], i <= round % 4 ? 1 : 0);
  }
}

TEST(Threads, ANestedJobIsDoneByItsCaller) {
  ThreadPool pool(3);
  struct Context {
    ThreadPool* pool;
    int sum[3];
  } context = {&pool, {}};
  pool.parallel_for(
      3,
      [](void* outer, i64 i) {
        Context& c = *static_cast<Context*>(outer);
        c.pool->parallel_for(
            3, [](void* sum, i64 j) { *static_cast<int*>(sum) += static_cast<int>(j); }, &c.sum[i]);
      },
      &context);
  for (int sum : context.sum) EXPECT_EQ(sum, 3);
}

TEST(Threads, DoEveryUnitOnce) {
  ThreadPool pool(4);
  for (i64 units : {1, 2, 3, 5, 64, 1000, 4097}) {
    std::vector<u8> done(static_cast<size_t>(units));
    void* values[1] = {done.data()};
    const Interrupt interrupt;
    StepJob job = {};
    job.kernel = [](const KernelArgs& args, i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) ++static_cast<u8*>(args.values[0])[i];
    };
    job.values = values;
    job.work = {units, 5000, 0};
    job.threads = choose_threads(job.work, 4);
    job.interrupt = &interrupt;
    EXPECT_EQ(job.threads, min(units, 4));
    EXPECT_EQ(run_units(job, *pool.as_interface()), INGOT_OK);
    EXPECT_EQ(done, std::vector<u8>(static_cast<size_t>(units), 1));
  }
}

TEST(Threads, ASmallJobIsNotWorthThreads) {
  EXPECT_EQ(choose_threads({1000, 1, 0}, 8), 1);
  EXPECT_EQ(choose_threads({10, 1000, 0}, 8), 4);
  EXPECT_EQ(choose_threads({1000, 1000, 0}, 8), 8);
  EXPECT_EQ(choose_threads({2, 1e9, 0}, 8), 2);
  EXPECT_GE(available_cpus(), 1);
}

}  // namespace
}  // namespace ingot::artifact
