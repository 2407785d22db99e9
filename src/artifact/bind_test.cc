// artifact/bind_test.cc: every mistake in a caller's tensors, sizes and options has its message.
#include <cstring>

#include "artifact/test_fixture.h"

namespace ingot::artifact {
namespace {

class Bind : public testing::Test {
 protected:
  // Runs with `input` and `output` in place of good ones and returns the message.
  std::string fail(const ingot_tensor& input, const ingot_tensor& output,
                   const ingot_run_options* options = nullptr) {
    ingot_tensor outputs[3] = {output, unknown_output(INGOT_INT64), unknown_output(INGOT_INT64)};
    const ingot_status status = layer_.api->run(layer_.model, &input, 1, outputs, 3, options);
    EXPECT_EQ(status, INGOT_INVALID_ARGUMENT);
    return layer_.error();
  }
  std::string fail_input(const ingot_tensor& input) { return fail(input, y_.tensor); }
  std::string fail_output(const ingot_tensor& output) { return fail(x_.tensor, output); }

  Fixture layer_{"layer"};
  Owned<float> x_{INGOT_FLOAT32, {2, 4}, std::vector<float>(8)};
  Owned<float> y_{INGOT_FLOAT32, {2, 3}, std::vector<float>(6)};
};

TEST_F(Bind, ChecksTheInput) {
  ingot_tensor t = x_.tensor;
  t.struct_size = 0;
  EXPECT_EQ(fail_input(t), "input 'x': struct_size is 0, expected " +
                               std::to_string(sizeof(ingot_tensor)) +
                               "; initialise with INGOT_INIT");
  t = x_.tensor;
  t.data = nullptr;
  EXPECT_EQ(fail_input(t), "input 'x': expected data, got null");
  t = x_.tensor;
  t.data = reinterpret_cast<char*>(x_.data.data()) + 2;
  EXPECT_NE(fail_input(t).find("is not aligned to its 4-byte elements"), std::string::npos);
  t = x_.tensor;
  t.dtype = INGOT_FLOAT64;
  EXPECT_EQ(fail_input(t), "input 'x': expected float32, got float64 (dtype 11)");
  t.dtype = 1234;
  EXPECT_EQ(fail_input(t), "input 'x': expected float32, got unknown (dtype 1234)");
  t = x_.tensor;
  t.rank = 3;
  EXPECT_EQ(fail_input(t), "input 'x': expected rank 2, got 3");
  t.rank = -1;
  EXPECT_EQ(fail_input(t), "input 'x': expected rank 2, got -1");
  t = x_.tensor;
  t.dims = nullptr;
  EXPECT_EQ(fail_input(t), "input 'x': expected 2 dims, got null");
  t = x_.tensor;
  t.kind = INGOT_KIND_MAP;
  EXPECT_EQ(fail_input(t), "input 'x': expected a tensor, got kind 4");
  t = x_.tensor;
  t.device_type = INGOT_DEVICE_CUDA;
  EXPECT_EQ(fail_input(t), "input 'x': expected memory of the CPU, got device type 2");
  t = x_.tensor;
  t.data_bytes = 31;
  EXPECT_EQ(fail_input(t), "input 'x': expected 32 bytes for its dims, got 31");
  const int64_t negative[2] = {-1, 4}, far[2] = {int64_t{1} << 62, 1};
  t = x_.tensor;
  t.strides = negative;
  EXPECT_EQ(fail_input(t), "input 'x': stride 0: expected at least 0, got -1");
  t.strides = far;
  EXPECT_NE(fail_input(t).find("bytes for its dims"), std::string::npos);
}

TEST_F(Bind, ChecksTheInputsDims) {
  Owned<float> wide(INGOT_FLOAT32, {2, 5}, std::vector<float>(10));
  EXPECT_EQ(fail_input(wide.tensor), "input 'x': dim 1: expected 4, got 5");
  Owned<float> many(INGOT_FLOAT32, {1000001, 4}, std::vector<float>(1));
  EXPECT_EQ(fail_input(many.tensor),
            "input 'x': dim 0 ('batch'): expected 0..1000000, got 1000001");
  Owned<float> few(INGOT_FLOAT32, {-1, 4}, std::vector<float>(1));
  EXPECT_EQ(fail_input(few.tensor), "input 'x': dim 0 ('batch'): expected 0..1000000, got -1");
  Owned<float> unlucky(INGOT_FLOAT32, {13, 4}, std::vector<float>(52));
  EXPECT_EQ(
      fail_input(unlucky.tensor),
      "run: the dims contradict what the model was compiled for: batch: expected anything but "
      "13");
}

TEST_F(Bind, ChecksTheOutput) {
  ingot_tensor t = y_.tensor;
  t.dtype = INGOT_FLOAT16;
  EXPECT_EQ(fail_output(t), "output 'y': expected float32, got float16 (dtype 10)");
  t = y_.tensor;
  t.rank = 1;
  EXPECT_EQ(fail_output(t), "output 'y': expected rank 2, got 1");
  t = y_.tensor;
  t.data_bytes = 20;
  EXPECT_EQ(fail_output(t), "output 'y': expected room for 24 bytes, got 20");
  t = y_.tensor;
  t.dims = nullptr;
  EXPECT_EQ(fail_output(t), "output 'y': expected dims or data_bytes to tell how big its data is");
  Owned<float> wide(INGOT_FLOAT32, {2, 4}, std::vector<float>(8));
  EXPECT_EQ(fail_output(wide.tensor), "output 'y': dim 1 (3): expected 3, got 4");
  const int64_t zero[2] = {0, 1};
  t = y_.tensor;
  t.strides = zero;
  EXPECT_EQ(fail_output(t), "output 'y': stride 0: expected at least 1, got 0");
  const int64_t wide_strides[2] = {10, 1};
  t.strides = wide_strides;
  t.data_bytes = 24;
  EXPECT_EQ(fail_output(t), "output 'y': expected 52 bytes for its strides, got 24");
}

TEST_F(Bind, RefusesOverlappingMemory) {
  ingot_tensor t = y_.tensor;
  t.data = x_.data.data() + 7;
  EXPECT_EQ(fail_output(t), "output 'y': its memory overlaps that of input 'x'");
  Owned<int64_t> positive(INGOT_INT64, {0}, std::vector<int64_t>(8));
  positive.tensor.data_bytes = 64;
  ingot_tensor outputs[3] = {y_.tensor, positive.tensor, positive.tensor};
  x_.data.assign(8, 1);
  EXPECT_EQ(layer_.api->run(layer_.model, &x_.tensor, 1, outputs, 3, nullptr),
            INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(layer_.error(), "output 'closed': its memory overlaps that of output 'positive'");
}

TEST_F(Bind, ChecksCountsAndArrays) {
  const ingot_model_api* api = layer_.api;
  ingot_tensor outputs[3] = {};
  EXPECT_EQ(api->run(layer_.model, &x_.tensor, 2, outputs, 3, nullptr), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(
      layer_.error(),
      "run: expected 1 inputs, 0 states and 3 outputs, got 2 inputs and states, and 3 outputs");
  EXPECT_EQ(api->run(layer_.model, nullptr, 1, outputs, 3, nullptr), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(layer_.error(), "run: the array of inputs or outputs is null");
  EXPECT_EQ(api->run(nullptr, &x_.tensor, 1, outputs, 3, nullptr), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(layer_.error(), "run: the model is null");
}

TEST_F(Bind, ChecksTheOptions) {
  ingot_run_options options = {};
  EXPECT_EQ(fail(x_.tensor, y_.tensor, &options),
            "run: the options' struct_size is 0; initialise them with INGOT_INIT");
  options = INGOT_INIT(ingot_run_options);
  options.threads = -2;
  EXPECT_EQ(fail(x_.tensor, y_.tensor, &options), "run: threads: expected at least 0, got -2");
  options = INGOT_INIT(ingot_run_options);
  options.stream = &options;
  EXPECT_EQ(fail(x_.tensor, y_.tensor, &options), "run: stream: expected null for the target cpu");
  options = INGOT_INIT(ingot_run_options);
  options.deadline_ns = -5;
  EXPECT_EQ(fail(x_.tensor, y_.tensor, &options), "run: deadline_ns: expected at least 0, got -5");
  const ingot_thread_pool pool = INGOT_INIT(ingot_thread_pool);
  options = INGOT_INIT(ingot_run_options);
  options.pool = &pool;
  EXPECT_NE(fail(x_.tensor, y_.tensor, &options).find("run: the thread pool must have"),
            std::string::npos);
}

TEST_F(Bind, ChecksWorkspaceBytes) {
  uint64_t bytes = 0;
  const int64_t symbols[2] = {2000000, 0};
  EXPECT_EQ(layer_.api->workspace_bytes(layer_.model, symbols, 1, 0, &bytes),
            INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(layer_.error(), "workspace_bytes: expected 2 symbols, got 1 (threads 0)");
  EXPECT_EQ(layer_.api->workspace_bytes(layer_.model, symbols, 2, 0, &bytes),
            INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(layer_.error(),
            "workspace_bytes: 'batch': expected a multiple of 1 in 0..1000000, got 2000000");
}

TEST_F(Bind, TakesEmptyTensorsWithoutData) {
  Owned<float> x(INGOT_FLOAT32, {0, 4}, {});
  x.tensor.data = nullptr;
  ingot_tensor outputs[3] = {unknown_output(INGOT_FLOAT32), unknown_output(INGOT_INT64),
                             unknown_output(INGOT_INT64)};
  ASSERT_EQ(layer_.api->run(layer_.model, &x.tensor, 1, outputs, 3, nullptr), INGOT_OK)
      << layer_.error();
  EXPECT_EQ(*static_cast<int64_t*>(outputs[2].data), -1);
  for (ingot_tensor& output : outputs) layer_.api->free_output(layer_.model, output.data);
}

// A later version of the header appends to ingot_tensor; its size is the array's stride.
TEST_F(Bind, TakesLongerTensorStructs) {
  struct Longer {
    ingot_tensor tensor;
    int64_t more[3];
  };
  Longer input = {x_.tensor, {}};
  Longer outputs[3] = {
      {y_.tensor, {}}, {unknown_output(INGOT_INT64), {}}, {unknown_output(INGOT_INT64), {}}};
  input.tensor.struct_size = sizeof(Longer);
  for (Longer& output : outputs) output.tensor.struct_size = sizeof(Longer);
  ASSERT_EQ(layer_.api->run(layer_.model, &input.tensor, 1, &outputs[0].tensor, 3, nullptr),
            INGOT_OK)
      << layer_.error();
  EXPECT_EQ(y_.data[0], 1);  // 2 (0 + 0.5)
  layer_.api->free_output(layer_.model, outputs[1].tensor.data);
  layer_.api->free_output(layer_.model, outputs[2].tensor.data);
}

TEST_F(Bind, RefusesStructsThatNobodyInitialised) {
  for (const uint32_t size : {0u, 8u, 100'000u, 0xFFFFFFFFu}) {
    ingot_tensor outputs[3] = {y_.tensor, unknown_output(INGOT_INT64), unknown_output(INGOT_INT64)};
    ingot_tensor input = x_.tensor;
    outputs[0].struct_size = size;
    EXPECT_EQ(layer_.api->run(layer_.model, &input, 1, outputs, 3, nullptr),
              INGOT_INVALID_ARGUMENT);
    EXPECT_NE(layer_.error().find("initialise with INGOT_INIT"), std::string::npos);
  }
}

class Outer : public testing::Test {
 protected:
  ingot_status run(int64_t n, int64_t m) {
    // Strides of 0 stand for any number of elements.
    static const int64_t strides[1] = {0};
    Owned<float> a(INGOT_FLOAT32, {n}, {2}), b(INGOT_FLOAT32, {m}, {3});
    a.tensor.strides = b.tensor.strides = strides;
    const ingot_tensor inputs[2] = {a.tensor, b.tensor};
    sums_ = unknown_output(INGOT_FLOAT32);
    return outer_.api->run(outer_.model, inputs, 2, &sums_, 1, nullptr);
  }

  Fixture outer_{"outer"};
  ingot_tensor sums_;
};

TEST_F(Outer, TakesBroadcastInputs) {
  ASSERT_EQ(run(4, 5), INGOT_OK) << outer_.error();
  EXPECT_EQ(static_cast<float*>(sums_.data)[3], 30);
  outer_.api->free_output(outer_.model, sums_.data);
}

TEST_F(Outer, ZeroColumnsGiveZeroSums) {
  ASSERT_EQ(run(4, 0), INGOT_OK) << outer_.error();
  EXPECT_EQ(static_cast<float*>(sums_.data)[3], 0);
  outer_.api->free_output(outer_.model, sums_.data);
}

TEST_F(Outer, RefusesSizesBeyondAnyMemory) {
  EXPECT_EQ(run(1000000, 100000000), INGOT_RESOURCE_EXHAUSTED);
  EXPECT_NE(outer_.error().find("the values for these dims need 400000000000000 bytes"),
            std::string::npos)
      << outer_.error();
  EXPECT_EQ(run(4000000000, 8000000000), INGOT_RESOURCE_EXHAUSTED);  // 2^67 bytes
  EXPECT_NE(outer_.error().find("need at least"), std::string::npos) << outer_.error();
}

TEST_F(Outer, ChecksDivisors) {
  EXPECT_EQ(run(3, 1), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(outer_.error(), "input 'a': dim 0 ('n'): expected a multiple of 2, got 3");
}

}  // namespace
}  // namespace ingot::artifact
