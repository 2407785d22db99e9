// tests/compiled/containers_test.cc: strings, sequences and optionals of compiled models as their
// callers see them.
#include "ops/containers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ops/strings.h"
#include "tests/compiled/model_runner.h"
#include "tests/op_harness.h"

namespace ingot {
namespace {

using testing::HasSubstr;

/// words, counts = the words of each text; longer = s with the words behind its last item.
Graph word_graph() {
  Graph graph;
  const Expr n = graph.pool().symbol("n");
  const ValueId x = graph.add_input("x", TensorType{DType::str, {n}});
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::str, {}}));
  const NodeId split = graph.value(graph.must_add(ops::StringSplit{}, {x})).producer;
  const ValueId words = graph.node(split).outputs[0];
  const ValueId longer = graph.must_add(ops::SequenceInsert{}, {s, words});
  graph.set_outputs(
      {{"words", words}, {"counts", graph.node(split).outputs[1]}, {"longer", longer}});
  return graph;
}

Tensor texts(std::vector<std::string> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::of_strings({count}, values);
}

LoadedModel opened(const Graph& graph) {
  auto model = compile_and_open(graph);
  EXPECT_TRUE(model) << to_text(model.error());
  return *std::move(model);
}

TEST(Containers, AreDescribed) {
  const LoadedModel model = opened(word_graph());
  EXPECT_EQ(model.input(0).kind, INGOT_KIND_TENSOR);
  EXPECT_EQ(model.input(0).dtype, INGOT_STRING);
  EXPECT_EQ(model.input(1).kind, INGOT_KIND_SEQUENCE);
  EXPECT_EQ(model.input(1).dtype, INGOT_STRING);
  EXPECT_EQ(model.input(1).rank, 0);
  EXPECT_EQ(model.output(0).rank, 2);
  EXPECT_EQ(model.output(0).data_dependent, 1);
  EXPECT_EQ(model.output(2).kind, INGOT_KIND_SEQUENCE);
}

TEST(Containers, HoldWhateverBytes) {
  const LoadedModel model = opened(word_graph());
  const Graph graph = word_graph();
  const std::string zero("a\0b \0", 5), no_utf8 = "\xFF\xC3 \xE2\x82";
  const Tensor some = Tensor::container({texts({zero, ""}), texts({}), texts({no_utf8})});
  for (const auto& inputs :
       {std::vector{texts({zero, "", no_utf8, "  x y z "}), some},
        std::vector{texts({}), Tensor::container({})}, std::vector{texts({"", " "}), some}}) {
    const auto expected = Interpreter(graph).run(inputs);
    ASSERT_TRUE(expected) << to_text(expected.error());
    const auto got = run_model(model, inputs);
    ASSERT_TRUE(got) << to_text(got.error());
    EXPECT_TRUE(is_same(*got, *expected));
  }
}

TEST(Containers, RunOnManyThreadsAtOnce) {
  const LoadedModel model = opened(word_graph());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Tensor> inputs = {
          texts({std::string(static_cast<size_t>(t) * 100, 'a') + " b", "c"}),
          Tensor::container(std::vector<Tensor>(static_cast<size_t>(t), texts({"d", "e"})))};
      const auto expected = Interpreter(word_graph()).run(inputs);
      for (int round = 0; round < 200; ++round) {
        const auto got = run_model(model, inputs);
        if (!expected || !got || !is_same(*got, *expected)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Containers, FillMemoryOfTheCaller) {
  const LoadedModel model = opened(word_graph());
  const std::vector<Tensor> inputs = {texts({"a b", "c"}), Tensor::container({texts({"d"})})};
  TensorViews in(inputs);
  std::vector<std::vector<int64_t>> dims;
  const auto run_with = [&](void* data, size_t bytes) {
    std::vector<ingot_tensor> out = asked_outputs(model, dims);
    out[2].data = data;
    out[2].data_bytes = bytes;
    const Status status = model.run(in.views, out);
    if (!status) return to_text(status.error());
    EXPECT_EQ(out[2].data, data);
    const auto got = tensor_from(out[2]);
    EXPECT_TRUE(got && got->items().size() == 2 && got->items()[1].string(1) == "b");
    for (const size_t k : {0, 1}) model.api().free_output(model.handle(), out[k].data);
    return std::string();
  };
  alignas(64) std::byte block[4096];
  EXPECT_EQ(run_with(block, sizeof block), "");
  EXPECT_EQ(run_with(block + 8, sizeof block - 8), "");
  EXPECT_THAT(run_with(block, 100), HasSubstr("output 'longer': expected room for"));
  EXPECT_THAT(run_with(block, 0), HasSubstr("data_bytes for all that it refers to"));
  EXPECT_THAT(run_with(block + 1, 4000), HasSubstr("data_bytes for all that it refers to"));
}

// Items of bytes need no alignment, the structs in front of them do.
TEST(Containers, NeedAlignedMemory) {
  Graph graph;
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::u8, {}}));
  graph.set_outputs({{"y", graph.must_add(ops::SequenceErase{}, {s})}});
  const LoadedModel model = opened(graph);
  const Tensor item = tensor_of(DType::u8, {3}, {1, 2, 3});
  TensorViews in(std::vector{Tensor::container({item, item})});
  alignas(64) std::byte block[4096];
  const auto run_at = [&](std::byte* at) {
    std::vector<std::vector<int64_t>> dims;
    std::vector<ingot_tensor> out = asked_outputs(model, dims);
    ingot_run_options options = INGOT_INIT(ingot_run_options);
    options.allocator = {at, [](void* data, uint32_t, size_t, size_t) { return data; }};
    const Status status = model.run(in.views, out, options);
    return status ? std::string() : to_text(status.error());
  };
  EXPECT_EQ(run_at(block), "");
  EXPECT_THAT(run_at(block + 1), HasSubstr("output 'y': the allocator returned"));
}

TEST(Containers, TellWhatIsWrongWithThem) {
  Graph graph;
  const ValueId s = graph.add_input("s", sequence_type(TensorType{DType::f32, {}}));
  const ValueId k = graph.add_input("k", TensorType{DType::i64, {}});
  const ValueId item = graph.must_add(ops::ContainerAt{1}, {s, k});
  const ValueId all = graph.must_add(ops::SequenceConcat{0, false, 1}, {s});
  graph.set_outputs({{"item", item}, {"all", all}});
  const LoadedModel model = opened(graph);
  const Tensor a = tensor_of(DType::f32, {2}, {1, 2}), b = Tensor::scalar(DType::f32, 3);
  const auto error = [&](std::vector<Tensor> items, double position) {
    const auto got = run_model(model, std::vector{Tensor::container(std::move(items)),
                                                  Tensor::scalar(DType::i64, position)});
    return got ? std::string() : to_text(got.error());
  };
  EXPECT_EQ(error({a, a}, -2), "");
  EXPECT_THAT(error({a, a}, 2), HasSubstr("the position is outside of it"));
  EXPECT_THAT(error({}, 0), HasSubstr("is empty"));
  EXPECT_THAT(error({a, b}, 1), HasSubstr("another rank than the model says"));
  EXPECT_THAT(error({a, b}, 0), HasSubstr("another rank than the model says"));
}

}  // namespace
}  // namespace ingot
