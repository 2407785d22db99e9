// runtime/hpp_test.cc: the C++ header runs models, and what must not compile does not.
#define INGOT_HPP_EXCEPTIONS
#include <gtest/gtest.h>

#include <type_traits>

#include "ingot/ingot.hpp"

namespace ingot::api {
namespace {

std::string fixture_path(const std::string& name) {
  return std::string(INGOT_FIXTURES) + "/" + name + ".so";
}

static_assert(!std::is_copy_constructible_v<Model>);
static_assert(!std::is_copy_assignable_v<Model>);
static_assert(!std::is_default_constructible_v<Model>);
static_assert(std::is_nothrow_move_constructible_v<Model>);
static_assert(std::is_nothrow_move_assignable_v<Model>);
static_assert(!std::is_copy_constructible_v<Output>);
static_assert(std::is_nothrow_move_constructible_v<Output>);

TEST(Hpp, RunsIntoTheCallersMemoryAndItsOwn) {
  Model model = Model::load(fixture_path("outer")).value();
  const std::vector<float> a = {1, 2}, b = {3, 4, 5};
  std::vector<float> sums(2);
  const Expected<Done> done = model.run({Tensor(std::span(a), {2}), Tensor(std::span(b), {3})},
                                        {Tensor(std::span(sums), {2})});
  ASSERT_TRUE(done) << done.failure().message;
  EXPECT_EQ(sums, (std::vector<float>{12, 24}));

  Model other = std::move(model);
  std::vector<Output> outputs =
      other.run({Tensor(std::span(a), {2}), Tensor(std::span(b), {3})}).value();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].dims()[0], 2);
  EXPECT_EQ(outputs[0].as<float>()[1], 24);
  EXPECT_TRUE(outputs[0].as<int32_t>().empty());
}

TEST(Hpp, DescribesAndReplaces) {
  Model model = Model::load(fixture_path("layer")).value();
  EXPECT_STREQ(model.input(0)->name, "x");
  EXPECT_EQ(model.metadata("labels"), "a,b,c");
  EXPECT_EQ(model.metadata("nothing"), std::nullopt);
  const std::vector<float> bias = {100, 0, 0};
  ASSERT_TRUE(model.set_constant("b", Tensor(std::span(bias), {3})));
  const std::vector<float> x(4, 1);
  const std::vector<Output> outputs = model.run({Tensor(std::span(x), {1, 4})}).value();
  EXPECT_EQ(outputs[0].as<float>()[0], 202);
  EXPECT_EQ(outputs[1].as<int64_t>().size(), 1u);
}

TEST(Hpp, ReturnsFailures) {
  const Expected<Model> missing = Model::load("/nowhere.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().status, INGOT_IO);
  EXPECT_THROW(Model::load("/nowhere.so").value(), Exception);
  Model model = Model::load(fixture_path("outer")).value();
  const Expected<std::vector<Output>> failed = model.run(std::initializer_list<Tensor>{});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.failure().message.find("expected 2 inputs"), std::string::npos);
}

}  // namespace
}  // namespace ingot::api
