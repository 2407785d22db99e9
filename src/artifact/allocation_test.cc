// artifact/allocation_test.cc: a run with dims seen before allocates nothing.
#include <cstdlib>

#include "artifact/test_fixture.h"

// The sanitizers have allocators of their own, which these would bypass.
#if !defined(INGOT_SANITIZED)

namespace {
thread_local long allocations = 0;
}

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

// In place of libc's, for the whole test program and the libraries that it opens.
void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  ++allocations;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;
}
}

namespace ingot::artifact {
namespace {

TEST(Allocation, NoneWhileRunning) {
  Fixture fixture("layer");
  Owned<float> x(INGOT_FLOAT32, {300, 4}, std::vector<float>(1200, 1));
  const int64_t strides[2] = {1, 300};
  Owned<float> y(INGOT_FLOAT32, {300, 3}, std::vector<float>(900));
  Owned<int64_t> positive(INGOT_INT64, {0}, std::vector<int64_t>(901));
  Owned<int64_t> closed(INGOT_INT64, {0}, std::vector<int64_t>(901));
  x.tensor.strides = strides;
  positive.tensor.data_bytes = closed.tensor.data_bytes = 901 * 8;
  ingot_tensor outputs[3] = {y.tensor, positive.tensor, closed.tensor};
  ASSERT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, nullptr), INGOT_OK)
      << fixture.error();
  const long before = allocations;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, nullptr), INGOT_OK);
  }
  EXPECT_EQ(allocations, before);
  // Kept where another could see it: an allocation that nobody sees may be left out.
  static int* volatile kept = nullptr;
  kept = new int;
  EXPECT_GT(allocations, before);
  delete kept;
}

}  // namespace
}  // namespace ingot::artifact

#endif
