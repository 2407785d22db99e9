// artifact/layer_test.cc: runs the hand-written layer: values, shapes, threads, memory, interrupts.
#include <atomic>
#include <thread>

#include "artifact/test_fixture.h"

namespace ingot::artifact {
namespace {

// What testdata/layer.cc computes, written from its head comment.
struct Expected {
  std::vector<float> y;
  std::vector<int64_t> positive, closed;
};

const std::vector<float> kW = {1, 0, -1, 0, 1, 0, 0, -1, 1, 0, 0, -1};
const std::vector<float> kB = {0.5f, 0, -0.5f};

Expected compute(const std::vector<float>& x, const std::vector<float>& w = kW,
                 const std::vector<float>& b = kB) {
  Expected expected;
  for (size_t m = 0; m < x.size() / 4; ++m) {
    for (size_t n = 0; n < 3; ++n) {
      float h = b[n];
      for (size_t k = 0; k < 4; ++k) h += x[4 * m + k] * w[3 * k + n];
      if (h > 0) expected.positive.push_back(static_cast<int64_t>(expected.y.size()));
      expected.y.push_back(h > 0 ? 2 * h : 0);
    }
  }
  for (int64_t i : expected.positive) expected.closed.push_back(2 * i);
  expected.closed.push_back(-1);
  return expected;
}

std::vector<float> make_x(int64_t batch) {
  std::vector<float> x;
  for (int64_t i = 0; i < 4 * batch; ++i) x.push_back(static_cast<float>(i * 7 % 11) - 5);
  return x;
}

// Runs with all outputs allocated by the model and compares them.
void expect_run(const Fixture& fixture, int64_t batch, const ingot_run_options* options = nullptr,
                const Expected* other = nullptr) {
  Owned<float> x(INGOT_FLOAT32, {batch, 4}, make_x(batch));
  int64_t dims[3][2] = {};
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  const int32_t ranks[3] = {2, 1, 1};
  for (int i = 0; i < 3; ++i) {
    outputs[i].dims = dims[i];
    outputs[i].rank = ranks[i];
  }
  ASSERT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, options), INGOT_OK)
      << fixture.error();
  const Expected expected = other != nullptr ? *other : compute(x.data);
  ASSERT_EQ(dims[0][0], batch);
  ASSERT_EQ(dims[0][1], 3);
  ASSERT_EQ(dims[1][0], static_cast<int64_t>(expected.positive.size()));
  ASSERT_EQ(dims[2][0], dims[1][0] + 1);
  const float* y = static_cast<const float*>(outputs[0].data);
  const int64_t* positive = static_cast<const int64_t*>(outputs[1].data);
  const int64_t* closed = static_cast<const int64_t*>(outputs[2].data);
  EXPECT_EQ(std::vector<float>(y, y + 3 * batch), expected.y);
  EXPECT_EQ(std::vector<int64_t>(positive, positive + dims[1][0]), expected.positive);
  EXPECT_EQ(std::vector<int64_t>(closed, closed + dims[2][0]), expected.closed);
  for (ingot_tensor& output : outputs) fixture.api->free_output(fixture.model, output.data);
}

TEST(Layer, GivesRightValuesForAnyBatch) {
  Fixture fixture("layer");
  for (int64_t batch : {1, 2, 7, 1000, 0, 40000, 3}) expect_run(fixture, batch);
}

TEST(Layer, TakesThePlanFromTheCacheAndEvictsOldOnes) {
  Fixture fixture("layer");
  for (int round = 0; round < 3; ++round) {
    for (int64_t batch = 14; batch < 54; ++batch) expect_run(fixture, batch);
  }
}

TEST(Layer, WritesIntoTheCallersMemory) {
  Fixture fixture("layer");
  Owned<float> x(INGOT_FLOAT32, {2, 4}, make_x(2));
  const Expected expected = compute(x.data);
  Owned<float> y(INGOT_FLOAT32, {2, 3}, std::vector<float>(6));
  Owned<int64_t> positive(INGOT_INT64, {99}, std::vector<int64_t>(8, 77));
  positive.tensor.data_bytes = 64;
  Owned<int64_t> closed(INGOT_INT64, {99}, std::vector<int64_t>(8, 77));
  closed.tensor.data_bytes = 64;
  ingot_tensor outputs[3] = {y.tensor, positive.tensor, closed.tensor};
  ASSERT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, nullptr), INGOT_OK)
      << fixture.error();
  EXPECT_EQ(y.data, expected.y);
  ASSERT_EQ(positive.dims[0], static_cast<int64_t>(expected.positive.size()));
  positive.data.resize(expected.positive.size());
  EXPECT_EQ(positive.data, expected.positive);
  closed.data.resize(expected.closed.size());
  EXPECT_EQ(closed.data, expected.closed);
}

TEST(Layer, TakesStridedInputsAndOutputs) {
  Fixture fixture("layer");
  const std::vector<float> rows = make_x(5);
  std::vector<float> columns(rows.size());
  for (size_t m = 0; m < 5; ++m) {
    for (size_t k = 0; k < 4; ++k) columns[k * 5 + m] = rows[4 * m + k];
  }
  Owned<float> x(INGOT_FLOAT32, {5, 4}, columns);
  const int64_t x_strides[2] = {1, 5}, y_strides[2] = {2, 20};
  x.tensor.strides = x_strides;
  Owned<float> y(INGOT_FLOAT32, {5, 3}, std::vector<float>(60, -9));
  y.tensor.strides = y_strides;
  ingot_tensor outputs[3] = {y.tensor, unknown_output(INGOT_INT64), unknown_output(INGOT_INT64)};
  ASSERT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, nullptr), INGOT_OK)
      << fixture.error();
  const Expected expected = compute(rows);
  for (size_t m = 0; m < 5; ++m) {
    for (size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(y.data[2 * m + 20 * n], expected.y[3 * m + n]);
      EXPECT_EQ(y.data[2 * m + 20 * n + 1], -9);  // between the elements
    }
  }
  for (ingot_tensor& output : outputs) {
    if (output.dtype == INGOT_INT64) fixture.api->free_output(fixture.model, output.data);
  }
}

TEST(Layer, ResultsDoNotDependOnTheNumberOfThreads) {
  for (int32_t threads : {1, 2, 3, 8}) {
    ingot_open_options open = INGOT_INIT(ingot_open_options);
    open.threads = threads;
    Fixture fixture("layer", open);
    expect_run(fixture, 40000);
    for (int32_t limit : {1, 2, 100}) {
      ingot_run_options options = INGOT_INIT(ingot_run_options);
      options.threads = limit;
      expect_run(fixture, 30000, &options);
    }
  }
}

// Runs tasks backwards on the calling thread, and counts.
struct BackwardsPool {
  int64_t calls = 0, tasks = 0;

  ingot_thread_pool as_interface(int32_t size) {
    ingot_thread_pool pool = INGOT_INIT(ingot_thread_pool);
    pool.size = size;
    pool.context = this;
    pool.parallel_for = [](void* context, int64_t count, void (*task)(void*, int64_t), void* job) {
      BackwardsPool& self = *static_cast<BackwardsPool*>(context);
      ++self.calls;
      self.tasks += count;
      for (int64_t i = count; i-- > 0;) task(job, i);
    };
    return pool;
  }
};

TEST(Layer, UsesTheCallersPool) {
  Fixture fixture("layer");
  BackwardsPool backwards;
  const ingot_thread_pool pool = backwards.as_interface(4);
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.pool = &pool;
  expect_run(fixture, 40000, &options);
  EXPECT_GT(backwards.calls, 0);
  EXPECT_GT(backwards.tasks, 2 * backwards.calls);
}

TEST(Layer, SmallStepsStayOnOneThread) {
  Fixture fixture("layer");
  BackwardsPool backwards;
  const ingot_thread_pool pool = backwards.as_interface(4);
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.pool = &pool;
  expect_run(fixture, 4, &options);
  EXPECT_EQ(backwards.calls, 0);
}

TEST(Layer, RunsInTheCallersWorkspace) {
  Fixture fixture("layer");
  const int64_t symbols[2] = {500, 0};
  uint64_t bytes = 0;
  ASSERT_EQ(fixture.api->workspace_bytes(fixture.model, symbols, 2, 1, &bytes), INGOT_OK);
  EXPECT_GE(bytes, 500u * 12);
  EXPECT_LT(bytes, 500u * 12 + 512);
  std::vector<uint8_t> memory(bytes + 1);
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.threads = 1;
  options.workspace = memory.data() + 1;
  options.workspace_bytes = bytes;
  expect_run(fixture, 500, &options);

  options.workspace_bytes = 1000;
  Owned<float> x(INGOT_FLOAT32, {500, 4}, make_x(500));
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  EXPECT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, &options),
            INGOT_INVALID_ARGUMENT);
  EXPECT_NE(fixture.error().find("the workspace has 1000 bytes"), std::string::npos);
}

TEST(Layer, AsksTheCallersAllocator) {
  Fixture fixture("layer");
  std::vector<std::vector<int64_t>> memory(3);
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.allocator.context = &memory;
  options.allocator.allocate = [](void* context, uint32_t output, size_t bytes, size_t) {
    auto& blocks = *static_cast<std::vector<std::vector<int64_t>>*>(context);
    blocks[output].resize((bytes + 7) / 8);
    return static_cast<void*>(blocks[output].data());
  };
  Owned<float> x(INGOT_FLOAT32, {2, 4}, make_x(2));
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  ASSERT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, &options), INGOT_OK)
      << fixture.error();
  EXPECT_EQ(outputs[1].data, memory[1].data());
  EXPECT_EQ(memory[2], compute(x.data).closed);

  options.allocator.allocate = [](void*, uint32_t, size_t, size_t) -> void* { return nullptr; };
  outputs[1] = unknown_output(INGOT_INT64);
  EXPECT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, &options),
            INGOT_RESOURCE_EXHAUSTED);
  EXPECT_NE(fixture.error().find("output 'positive': no memory"), std::string::npos);
}

TEST(Layer, ReportsStepsToTheProfileSink) {
  Fixture fixture("layer");
  std::vector<ingot_profile_event> events;
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.profile.context = &events;
  options.profile.step = [](void* context, const ingot_profile_event* event) {
    static_cast<std::vector<ingot_profile_event>*>(context)->push_back(*event);
  };
  expect_run(fixture, 100, &options);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_STREQ(events[0].name, "gemm");
  EXPECT_STREQ(events[0].provenance, "MatMul_0,Add_1");
  EXPECT_EQ(events[0].units, 100);
  EXPECT_EQ(events[0].flops, 2400);
  EXPECT_GT(events[0].bytes, 0);
  EXPECT_EQ(events[2].units, 0);
  for (size_t i = 1; i < events.size(); ++i) EXPECT_GE(events[i].start_ns, events[i - 1].end_ns);
}

TEST(Layer, StopsWhenCancelledBetweenSteps) {
  Fixture fixture("layer");
  int cancel = 0;
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.cancel = &cancel;
  options.profile.context = &cancel;
  options.profile.step = [](void* context, const ingot_profile_event* event) {
    if (event->step == 1) *static_cast<int*>(context) = 1;
  };
  Owned<float> x(INGOT_FLOAT32, {2, 4}, make_x(2));
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  EXPECT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, &options), INGOT_CANCELLED);
  EXPECT_NE(fixture.error().find("cancelled by the caller at step 2 of 5 ('nonzero')"),
            std::string::npos)
      << fixture.error();
  for (const ingot_tensor& output : outputs) EXPECT_EQ(output.data, nullptr);
  cancel = 0;
  options.profile = {};
  expect_run(fixture, 2, &options);
}

TEST(Layer, StopsWhenCancelledInsideAStep) {
  Fixture fixture("layer");
  int cancel = 0;
  ingot_thread_pool pool = INGOT_INIT(ingot_thread_pool);
  pool.size = 4;
  pool.context = &cancel;
  pool.parallel_for = [](void* context, int64_t count, void (*task)(void*, int64_t), void* job) {
    *static_cast<int*>(context) = 1;
    for (int64_t i = 0; i < count; ++i) task(job, i);
  };
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.cancel = &cancel;
  options.pool = &pool;
  Owned<float> x(INGOT_FLOAT32, {40000, 4}, make_x(40000));
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  EXPECT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, &options), INGOT_CANCELLED);
  EXPECT_NE(fixture.error().find("step 0 of 5"), std::string::npos) << fixture.error();
}

TEST(Layer, StopsAtItsDeadline) {
  Fixture fixture("layer");
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.deadline_ns = 1;
  Owned<float> x(INGOT_FLOAT32, {2, 4}, make_x(2));
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  EXPECT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, &options), INGOT_DEADLINE);
  EXPECT_NE(fixture.error().find("the deadline has passed"), std::string::npos);
  options.deadline_ns = INT64_MAX;
  expect_run(fixture, 2, &options);
}

TEST(Layer, TellsWhatARoutineComplainsOf) {
  Fixture fixture("layer");
  Owned<float> x(INGOT_FLOAT32, {1, 4}, {1e35f, 0, 0, 0});
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  EXPECT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, nullptr),
            INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(fixture.error(), "run: step 'nonzero' of NonZero_4: a value is out of range");
}

// A run that is inside its profile sink holds its workspace.
TEST(Layer, FailsAtOnceOrWaitsWhenAllWorkspacesAreInUse) {
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  open.max_concurrent_runs = 1;
  Fixture fixture("layer", open);
  struct Context {
    Fixture* fixture;
    ingot_status non_blocking, deadline, cancelled;
    std::string message;
  } context = {&fixture, INGOT_OK, INGOT_OK, INGOT_OK, ""};
  ingot_run_options options = INGOT_INIT(ingot_run_options);
  options.profile.context = &context;
  options.profile.step = [](void* opaque, const ingot_profile_event* event) {
    if (event->step != 0) return;
    Context& c = *static_cast<Context*>(opaque);
    Owned<float> x(INGOT_FLOAT32, {2, 4}, make_x(2));
    ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                               unknown_output(INGOT_INT64)};
    ingot_run_options inner = INGOT_INIT(ingot_run_options);
    inner.non_blocking = 1;
    c.non_blocking = c.fixture->api->run(c.fixture->model, &x.tensor, 1, outputs, 3, &inner);
    c.message = c.fixture->error();
    inner.non_blocking = 0;
    inner.deadline_ns = 1;
    c.deadline = c.fixture->api->run(c.fixture->model, &x.tensor, 1, outputs, 3, &inner);
    int cancel = 1;
    inner.deadline_ns = 0;
    inner.cancel = &cancel;
    c.cancelled = c.fixture->api->run(c.fixture->model, &x.tensor, 1, outputs, 3, &inner);
  };
  expect_run(fixture, 2, &options);
  EXPECT_EQ(context.non_blocking, INGOT_RESOURCE_EXHAUSTED);
  EXPECT_NE(context.message.find("all 1 workspaces are in use"), std::string::npos);
  EXPECT_EQ(context.deadline, INGOT_DEADLINE);
  EXPECT_EQ(context.cancelled, INGOT_CANCELLED);
}

TEST(Layer, ReplacesConstantsAndReadsThemBack) {
  Fixture fixture("layer");
  const std::vector<float> w = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Owned<float> value(INGOT_FLOAT32, {4, 3}, w);
  const char* name = "w";
  ASSERT_EQ(fixture.api->set_constants(fixture.model, &name, &value.tensor, 1), INGOT_OK)
      << fixture.error();
  value.data.assign(12, -1);  // copied
  const Expected expected = compute(make_x(6), w);
  expect_run(fixture, 6, nullptr, &expected);
  ASSERT_EQ(fixture.api->get_constant(fixture.model, "w", &value.tensor), INGOT_OK);
  EXPECT_EQ(value.data, w);

  // A second update keeps the first.
  Owned<float> bias(INGOT_FLOAT32, {3}, {1, 2, 3});
  const char* other = "b";
  ASSERT_EQ(fixture.api->set_constants(fixture.model, &other, &bias.tensor, 1), INGOT_OK);
  const Expected both = compute(make_x(6), w, {1, 2, 3});
  expect_run(fixture, 6, nullptr, &both);
  Owned<float> two(INGOT_FLOAT32, {}, {0});
  ASSERT_EQ(fixture.api->get_constant(fixture.model, "two", &two.tensor), INGOT_OK);
  EXPECT_EQ(two.data[0], 2);
}

TEST(Layer, RefusesWrongConstants) {
  Fixture fixture("layer");
  Owned<float> w(INGOT_FLOAT32, {4, 3}, std::vector<float>(12));
  auto set = [&](const char* name, const ingot_tensor& value) {
    EXPECT_EQ(fixture.api->set_constants(fixture.model, &name, &value, 1), INGOT_INVALID_ARGUMENT);
    return fixture.error();
  };
  EXPECT_EQ(set("v", w.tensor), "set_constants: the model has no constant 'v'");
  EXPECT_EQ(set("two", w.tensor),
            "constant 'two': cannot be replaced; compile the model with --updatable");
  EXPECT_EQ(set("b", w.tensor), "constant 'b': expected rank 1, got 2");
  ingot_tensor wrong = w.tensor;
  wrong.dtype = INGOT_INT32;
  EXPECT_EQ(set("w", wrong), "constant 'w': expected float32, got int32 (dtype 6)");
  Owned<float> narrow(INGOT_FLOAT32, {4, 2}, std::vector<float>(8));
  EXPECT_EQ(set("w", narrow.tensor), "constant 'w': dim 1: expected 3, got 2");
  wrong = w.tensor;
  wrong.data = nullptr;
  EXPECT_EQ(set("w", wrong), "constant 'w': expected 48 bytes, got null");
  // Room for fewer dims than the constant has.
  int64_t dims[2] = {4, -7};
  ingot_tensor room = w.tensor;
  room.dims = dims;
  room.rank = 1;
  room.data_bytes = 48;
  EXPECT_EQ(fixture.api->get_constant(fixture.model, "w", &room), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(fixture.error(), "constant 'w': expected rank 2, got 1");
  EXPECT_EQ(dims[1], -7);
  const char* twice[2] = {"w", "w"};
  const ingot_tensor values[2] = {w.tensor, w.tensor};
  EXPECT_EQ(fixture.api->set_constants(fixture.model, twice, values, 2), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(fixture.error(), "constant 'w': given twice");
  expect_run(fixture, 3);
}

// Each update scales w and b alike, so a run that saw half of one would show it.
TEST(Layer, ManyThreadsRunWhileConstantsAreSwapped) {
  Fixture fixture("layer");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    const char* names[2] = {"w", "b"};
    for (int round = 0; !stop; ++round) {
      std::vector<float> w = kW, b = kB;
      for (float& v : w) v *= static_cast<float>(1 << round % 3);
      for (float& v : b) v *= static_cast<float>(1 << round % 3);
      Owned<float> new_w(INGOT_FLOAT32, {4, 3}, w), new_b(INGOT_FLOAT32, {3}, b);
      const ingot_tensor values[2] = {new_w.tensor, new_b.tensor};
      EXPECT_EQ(fixture.api->set_constants(fixture.model, names, values, 2), INGOT_OK);
    }
  });
  std::vector<std::thread> readers;
  for (int t = 0; t < 8; ++t) {
    readers.emplace_back([&fixture, t] {
      for (int round = 0; round < 60; ++round) {
        const int64_t batch = t < 4 ? 5 + t : 3000 + t;
        Owned<float> x(INGOT_FLOAT32, {batch, 4}, make_x(batch));
        const Expected one = compute(x.data);
        Owned<float> y(INGOT_FLOAT32, {batch, 3},
                       std::vector<float>(static_cast<size_t>(3 * batch)));
        ingot_tensor outputs[3] = {y.tensor, unknown_output(INGOT_INT64),
                                   unknown_output(INGOT_INT64)};
        ASSERT_EQ(fixture.api->run(fixture.model, &x.tensor, 1, outputs, 3, nullptr), INGOT_OK)
            << fixture.error();
        ASSERT_FALSE(one.positive.empty());
        const size_t first = static_cast<size_t>(one.positive[0]);
        const float scale = y.data[first] / one.y[first];
        ASSERT_TRUE(scale == 1 || scale == 2 || scale == 4) << scale;
        for (size_t i = 0; i < one.y.size(); ++i) ASSERT_EQ(y.data[i], scale * one.y[i]);
        fixture.api->free_output(fixture.model, outputs[1].data);
        fixture.api->free_output(fixture.model, outputs[2].data);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace ingot::artifact
