// frontend/random_test.cc: ONNX's operators that draw random numbers have the distributions they
// promise, and the same numbers each time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontend/import.h"
#include "frontend/test_model.h"
#include "ir/graph.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers

constexpr int64_t kCount = 40000;

/// What one node gives for x; more outputs go unread.
std::vector<double> draw(const std::string& bytes, const std::string& x_info, const Tensor& x,
                         int64_t opset = 22) {
  GraphParts parts;
  parts.nodes = {bytes};
  parts.inputs = {x_info};
  parts.outputs = {Message().text(1, "y").bytes};
  const std::string whole = model(parts, opset);
  auto imported = import_model_bytes(std::as_bytes(std::span(whole)), "m.onnx", {});
  if (!imported || !imported->summary.unsupported.empty()) {
    ADD_FAILURE() << (imported ? imported->summary.unsupported[0].reason
                               : to_text(imported.error()));
    return {};
  }
  auto outputs = Interpreter(imported->graph).run(std::vector<Tensor>{x});
  if (!outputs) {
    ADD_FAILURE() << to_text(outputs.error());
    return {};
  }
  std::vector<double> values;
  for (int64_t k = 0; k < (*outputs)[0].size(); ++k) values.push_back((*outputs)[0].real(k));
  return values;
}

Tensor filled(std::vector<int64_t> dims, double value) {
  Tensor tensor(DType::f32, std::move(dims));
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_real(k, value);
  return tensor;
}

/// Draws for x of kCount zeros.
std::vector<double> draw_like(const std::string& op, const Strings& attributes,
                              std::string_view name = "n", double value = 0) {
  return draw(node(op, {"x"}, {"y"}, attributes, name), value_info("x", 1, {kCount}),
              filled({kCount}, value));
}

double moment(const std::vector<double>& values, double about, int power) {
  double sum = 0;
  for (const double v : values) sum += std::pow(v - about, power);
  return sum / static_cast<double>(values.size());
}

// Bounds are five standard deviations of the moment for kCount numbers.
const double kRoot = std::sqrt(static_cast<double>(kCount));

TEST(RandomOperators, NormalNumbersHaveTheirMoments) {
  const auto y = draw_like("RandomNormalLike",
                           {attr_float("mean", 3), attr_float("scale", 2), attr_float("seed", 7)});
  EXPECT_NEAR(moment(y, 0, 1), 3, 5 * 2 / kRoot);
  EXPECT_NEAR(moment(y, 3, 2), 4, 5 * 4 * std::sqrt(2.0) / kRoot);
  EXPECT_NEAR(moment(y, 3, 3), 0, 5 * 8 * std::sqrt(15.0) / kRoot);
  EXPECT_NEAR(moment(y, 3, 4), 48, 5 * 16 * std::sqrt(96.0) / kRoot);
}

TEST(RandomOperators, UniformNumbersFillTheirRange) {
  const auto y = draw_like("RandomUniformLike", {attr_float("low", -1), attr_float("high", 3)});
  EXPECT_NEAR(moment(y, 0, 1), 1, 5 * 4 / std::sqrt(12.0) / kRoot);
  EXPECT_NEAR(moment(y, 1, 2), 16.0 / 12, 5 * 16 / std::sqrt(180.0) / kRoot);
  EXPECT_GE(*std::ranges::min_element(y), -1);
  EXPECT_LT(*std::ranges::max_element(y), 3);
}

TEST(RandomOperators, ShapesAreAttributesToo) {
  for (const std::string_view op : {"RandomNormal", "RandomUniform"}) {
    const auto y = draw(node(op, {}, {"y"}, {attr_ints("shape", {2, 3}), attr_int("dtype", 11)}),
                        value_info("x", 1, {1}), filled({1}, 0));
    EXPECT_EQ(y.size(), 6u);
  }
}

TEST(RandomOperators, BernoulliHitsAsOftenAsAsked) {
  for (const double p : {0.0, 0.25, 1.0}) {
    const auto y = draw_like("Bernoulli", {}, "n", p);
    EXPECT_NEAR(moment(y, 0, 1), p, 5 * std::sqrt(p * (1 - p)) / kRoot);
    EXPECT_EQ(moment(y, 0, 1), moment(y, 0, 2)) << "0 and 1 alone";
  }
}

TEST(RandomOperators, MultinomialFollowsTheProbabilities) {
  Tensor x(DType::f32, {1, 4});
  const double probabilities[] = {0.1, 0.0, 0.6, 0.3};
  for (int64_t k = 0; k < 4; ++k) x.set_real(k, std::log(probabilities[k]) + 2);
  const auto y = draw(node("Multinomial", {"x"}, {"y"}, {attr_int("sample_size", kCount)}),
                      value_info("x", 1, {1, 4}), x);
  ASSERT_EQ(y.size(), static_cast<size_t>(kCount));
  for (size_t k = 0; k < 4; ++k) {
    const double p = probabilities[k];
    const auto count = static_cast<double>(std::ranges::count(y, static_cast<double>(k)));
    EXPECT_NEAR(count / kCount, p, 5 * std::sqrt(p * (1 - p)) / kRoot) << k;
  }
}

TEST(RandomOperators, DropoutKeepsTheMean) {
  GraphParts parts;
  parts.nodes = {node("Dropout", {"x", "ratio", "training"}, {"y"})};
  parts.inputs = {value_info("x", 1, {kCount})};
  parts.outputs = {Message().text(1, "y").bytes};
  parts.initializers = {floats("ratio", {}, {0.75}),
                        raw_tensor("training", 9, {}, std::string_view("\1", 1))};
  const std::string whole = model(parts, 13);
  auto imported = import_model_bytes(std::as_bytes(std::span(whole)), "m.onnx", {});
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto outputs = Interpreter(imported->graph).run(std::vector<Tensor>{filled({kCount}, 2)});
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  double sum = 0;
  for (int64_t k = 0; k < kCount; ++k) {
    const double v = (*outputs)[0].real(k);
    EXPECT_TRUE(v == 0 || v == 8) << v;
    sum += v;
  }
  EXPECT_NEAR(sum / kCount, 2, 5 * 8 * std::sqrt(0.25 * 0.75) / kRoot);
}

TEST(RandomOperators, SeedsAndNamesDecide) {
  const auto seeded = [](float seed) {
    return draw_like("RandomUniformLike", {attr_float("seed", seed)}, "other name");
  };
  EXPECT_EQ(draw_like("RandomUniformLike", {attr_float("seed", 1)}), seeded(1));
  EXPECT_NE(seeded(1), seeded(2));
  EXPECT_EQ(draw_like("RandomUniformLike", {}, "a"), draw_like("RandomUniformLike", {}, "a"));
  EXPECT_NE(draw_like("RandomUniformLike", {}, "a"), draw_like("RandomUniformLike", {}, "b"));
}

}  // namespace
}  // namespace ingot
