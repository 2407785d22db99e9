// tests/compiled/templates_test.cc: products with generated prologues and epilogues against the
// reference, over all templates and shapes with and without exact tiles.
#include "passes/templates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/text.h"
#include "ops/concat.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pad.h"
#include "ops/pointwise.h"
#include "ops/transpose.h"
#include "passes/fuse.h"
#include "passes/pass.h"
#include "tests/compiled/plan_runner.h"
#include "tests/random_graph.h"

namespace ingot {
namespace {

using namespace ops;

/// Rounding of a thousand terms, times the growth that Winograd's transforms bring (decision 0003).
constexpr double kTolerance = 1e-4;

struct Shape {
  std::string_view name;
  std::vector<int64_t> x;  // [N, spatial.., C]; -1: the symbol "n"
  std::vector<int64_t> w;  // [taps.., C / groups, OC]
  Conv conv;               // no strides: a matrix product
};

Conv window(std::vector<int64_t> strides, std::vector<int64_t> pads, std::vector<int64_t> pads_end,
            int64_t groups = 1, int64_t dilation = 1) {
  std::vector<int64_t> dilations(strides.size(), dilation);
  return {.strides = std::move(strides),
          .dilations = std::move(dilations),
          .pads_begin = std::move(pads),
          .pads_end = std::move(pads_end),
          .groups = groups};
}

std::vector<Shape> shapes() {
  return {
      {"matmul", {-1, 7, 33}, {33, 70}, {}},
      {"one row", {1, 48}, {48, 200}, {}},
      {"many columns", {130, 20}, {20, 700}, {}},
      {"1x1", {2, 5, 7, 19}, {1, 1, 19, 40}, window({1, 1}, {0, 0}, {0, 0})},
      {"1x1 strided", {1, 9, 8, 17}, {1, 1, 17, 16}, window({2, 2}, {0, 0}, {0, 0})},
      {"3x3 few channels", {1, 11, 13, 3}, {3, 3, 3, 20}, window({2, 2}, {1, 1}, {1, 1})},
      {"3x3 uneven", {2, -1, 9, 18}, {3, 3, 18, 33}, window({1, 1}, {2, 0}, {0, 1})},
      {"dilated", {1, 12, 10, 16}, {3, 2, 16, 24}, window({1, 2}, {2, 1}, {1, 2}, 1, 2)},
      {"one dim", {5, 17, 12}, {5, 12, 30}, window({1}, {2}, {2})},
      {"one long row", {2, 130, 12}, {5, 12, 30}, window({1}, {2}, {2})},
      {"depthwise one dim", {2, 230, 18}, {5, 1, 18}, window({1}, {2}, {2}, 18)},
      {"depthwise one row", {2, 1, 230, 18}, {1, 5, 1, 18}, window({1, 2}, {0, 2}, {0, 2}, 18)},
      {"depthwise", {2, 7, -1, 37}, {3, 3, 1, 37}, window({1, 1}, {1, 1}, {1, 1}, 37)},
      {"depthwise strided", {1, 9, 20, 16}, {5, 5, 1, 16}, window({2, 2}, {1, 2}, {2, 1}, 16)},
      {"groups", {1, 6, 7, 24}, {3, 3, 8, 60}, window({1, 1}, {1, 1}, {1, 1}, 3)},
      {"winograd", {2, 14, 15, 32}, {3, 3, 32, 40}, window({1, 1}, {1, 1}, {1, 1})},
      {"winograd uneven", {2, -1, 13, 35}, {3, 3, 35, 64}, window({1, 1}, {0, 2}, {1, 0})},
  };
}

/// Pictures of unknown sides, which are taken to be larger than a cache.
std::vector<Shape> large_shapes() {
  return {
      {"depthwise", {2, -1, -1, 64}, {3, 3, 1, 64}, window({1, 1}, {1, 1}, {1, 1}, 64)},
      {"depthwise strided", {1, -1, -1, 70}, {5, 5, 1, 70}, window({2, 2}, {2, 2}, {2, 2}, 70)},
      {"depthwise cropped", {2, -1, -1, 64}, {1, 1, 1, 64}, window({2, 1}, {0, 0}, {0, 0}, 64)},
      {"3x3", {1, -1, -1, 64}, {3, 3, 64, 20}, window({1, 1}, {1, 1}, {1, 2})},
      {"1x1 strided", {2, -1, -1, 64}, {1, 1, 64, 33}, window({2, 2}, {0, 0}, {0, 0})},
      {"dilated", {1, -1, -1, 64}, {3, 2, 64, 24}, window({1, 2}, {2, 2}, {2, 2}, 1, 2)},
      {"groups", {2, -1, -1, 96}, {3, 3, 32, 60}, window({1, 1}, {1, 1}, {1, 1}, 3)},
      {"winograd", {2, -1, -1, 64}, {3, 3, 64, 40}, window({1, 1}, {1, 1}, {1, 1})},
  };
}

/// Pictures of one row, each larger than a cache.
std::vector<Shape> long_rows() {
  return {
      {"one dim", {1, 5000, 64}, {3, 64, 24}, window({1}, {1}, {1})},
      {"one row", {1, 1, 5000, 64}, {1, 3, 64, 24}, window({1, 1}, {0, 1}, {0, 1})},
      {"depthwise one dim", {1, 5000, 64}, {9, 1, 64}, window({1}, {4}, {4}, 64)},
      {"depthwise one row", {1, 1, 5000, 64}, {1, 9, 1, 64}, window({1, 2}, {0, 4}, {0, 4}, 64)},
      {"groups", {2, 5000, 64}, {3, 32, 40}, window({1}, {1}, {1}, 2)},
  };
}

enum class Prologue : uint8_t {
  none,
  pointwise,
  broadcast,
  concat,
  transpose,
  pad,
  kCount,
  convolution,  // with one tap
  product,      // and another input
};

class Builder {
 public:
  Builder(const Shape& shape, Prologue prologue, uint64_t seed)
      : shape_(shape), rng_(seed), pool_(g_.pool()) {
    pool_.symbol_info(pool_.symbol("n").symbol()).range = {1, 11};
    x_ = g_.add_input("x", TensorType{DType::f32, dims(source_dims(prologue))});
    std::vector<ValueId> inputs = {prologue_of(prologue), constant(shape.w)};
    const bool is_matmul = shape.conv.strides.empty();
    if (!is_matmul) inputs.push_back(constant({shape.w.back()}));
    const ValueId y = is_matmul ? g_.must_add(MatMul{}, inputs) : g_.must_add(shape.conv, inputs);
    const Expr p = pool_.param(0, DType::f32), q = pool_.param(1, DType::f32);
    const ValueId scale = constant({shape.w.back()});
    g_.set_outputs(
        {{"y", g_.must_add(Pointwise{max(p, pool_.real(0)) * q, DType::f32}, {y, scale})}});
  }

  RandomGraph take() { return {std::move(g_), {}}; }

 private:
  Exprs dims(const std::vector<int64_t>& sizes) {
    Exprs result;
    for (int64_t size : sizes) result.push_back(size < 0 ? pool_.symbol("n") : pool_.integer(size));
    return result;
  }

  /// Dims of the input that the prologue makes the operand of.
  std::vector<int64_t> source_dims(Prologue prologue) const {
    std::vector<int64_t> of = shape_.x;
    if (prologue == Prologue::concat) of.back() = (of.back() + 1) / 2;
    if (prologue == Prologue::pad) of.back() -= 2;
    if (prologue > Prologue::kCount) of.back() = kTerms;
    if (prologue == Prologue::transpose) std::swap(of.back(), of[of.size() - 2]);
    return of;
  }

  ValueId constant(std::vector<int64_t> of) {
    Tensor tensor(DType::f32, std::move(of));
    for (int64_t k = 0; k < tensor.size(); ++k) {
      tensor.set_real(k, std::round(rng_.real(-1, 1) * 64) / 64);
    }
    return g_.add_constant(to_constant(tensor), concat("w", g_.node_count()));
  }

  ValueId prologue_of(Prologue prologue) {
    const Expr p = pool_.param(0, DType::f32), q = pool_.param(1, DType::f32);
    switch (prologue) {
      case Prologue::pointwise:
        return g_.must_add(Pointwise{p * unary(ExprKind::sigmoid, p), DType::f32}, {x_});
      case Prologue::broadcast:
        return g_.must_add(Pointwise{max(p * q, pool_.real(0)), DType::f32},
                           {x_, constant({shape_.x.back()})});
      case Prologue::concat: {
        const int64_t rest = shape_.x.back() - (shape_.x.back() + 1) / 2;
        std::vector<int64_t> of = shape_.x;
        of.back() = rest;
        const ValueId other = g_.add_input("z", TensorType{DType::f32, dims(of)});
        return g_.must_add(Concat{static_cast<int64_t>(of.size()) - 1}, {x_, other});
      }
      case Prologue::transpose: {
        std::vector<int64_t> order;
        for (size_t k = 0; k < shape_.x.size(); ++k) order.push_back(static_cast<int64_t>(k));
        std::swap(order.back(), order[order.size() - 2]);
        // A square keeps the transpose where it is: no pass moves one through it into the product.
        return g_.must_add(Pointwise{p * p, DType::f32}, {g_.must_add(Transpose{order}, {x_})});
      }
      case Prologue::pad: {
        Exprs begin(shape_.x.size(), pool_.integer(0)), end = begin;
        begin.back() = end.back() = pool_.integer(1);
        return g_.must_add(Pad{begin, end, "constant"}, {x_, constant({})});
      }
      case Prologue::convolution: {
        const ValueId y = g_.must_add(
            window({1, 1}, {0, 0}, {0, 0}),
            {x_, constant({1, 1, kTerms, shape_.x.back()}), constant({shape_.x.back()})});
        return g_.must_add(Pointwise{max(p, pool_.real(0)), DType::f32}, {y});
      }
      case Prologue::product: {
        const ValueId y = g_.must_add(MatMul{}, {x_, constant({kTerms, shape_.x.back()})});
        const ValueId other = g_.add_input("z", TensorType{DType::f32, dims(shape_.x)});
        return g_.must_add(Pointwise{p + q * q, DType::f32}, {y, other});
      }
      default:
        return x_;
    }
  }

  static constexpr int64_t kTerms = 18;

  const Shape& shape_;
  Random rng_;
  Graph g_;
  ExprPool& pool_;
  ValueId x_;
};

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> all;
  for (const CpuLevelInfo& row : kCpuLevels) {
    if (row.level <= host_level()) all.push_back(row.level);
  }
  return all;
}

class Templates : public testing::TestWithParam<CpuLevel> {};

INSTANTIATE_TEST_SUITE_P(Levels, Templates, testing::ValuesIn(levels()), [](const auto& info) {
  return std::string(ingot::info(info.param).prelude_namespace);
});

struct Case {
  std::string label;
  RandomGraph graph;
  size_t number;
};

/// Every case in several pieces, with sizes of several seeds, against the reference.
void compare(PlanBatch& batch, const std::vector<Case>& cases, CpuLevel level) {
  const Status built = batch.build(level);
  ASSERT_TRUE(built) << to_text(built.error());
  for (const Case& c : cases) {
    for (uint64_t round = 0; round < 2; ++round) {
      const std::vector<Tensor> inputs = random_inputs(c.graph, round);
      Interpreter interpreter(c.graph.graph);
      auto expected = interpreter.run(inputs);
      ASSERT_TRUE(expected) << to_text(expected.error());
      for (int pieces : {1, 3}) {
        auto got = batch.run(c.number, inputs, interpreter.symbols, pieces);
        ASSERT_TRUE(got) << c.label << ": " << to_text(got.error());
        EXPECT_EQ(find_difference(*expected, *got, kTolerance), "") << c.label;
      }
    }
  }
}

void optimise(Graph& graph) {
  PassOptions options;
  options.verify = true;
  const auto records = run_passes(graph, pipeline(), options);
  ASSERT_TRUE(records) << to_text(records.error());
}

TEST_P(Templates, TakeTheProductInFront) {
  PlanBatch batch;
  std::vector<Case> cases;
  uint64_t seed = 100;
  for (const Shape& shape : large_shapes()) {
    for (const Prologue prologue : {Prologue::convolution, Prologue::product}) {
      RandomGraph random = Builder(shape, prologue, ++seed).take();
      Graph optimised = random.graph;
      ASSERT_NO_FATAL_FAILURE(optimise(optimised));
      const auto apart = batch.add(optimised, {"fuse_conv_inputs"});
      const auto chained = batch.add(optimised);
      ASSERT_TRUE(apart && chained);
      const std::string label = concat(shape.name, ", prologue ", static_cast<int>(prologue));
      EXPECT_EQ(batch.templates(*chained), batch.templates(*apart) - 1) << label;
      cases.push_back({label, std::move(random), *chained});
    }
  }
  compare(batch, cases, GetParam());
}

TEST(Templates, LeaveWorkForSeveralThreads) {
  PlanBatch batch;
  for (const Shape& shape : long_rows()) {
    for (const Prologue prologue : {Prologue::none, Prologue::pointwise, Prologue::product}) {
      Graph graph = std::move(Builder(shape, prologue, 1).take().graph);
      ASSERT_NO_FATAL_FAILURE(optimise(graph));
      const auto number = batch.add(graph);
      ASSERT_TRUE(number) << to_text(number.error());
      EXPECT_GE(batch.fewest_units(*number), 16)
          << shape.name << ", prologue " << static_cast<int>(prologue);
    }
  }
}

TEST_P(Templates, TakeAnyPrologue) {
  PlanBatch batch;
  std::vector<Case> cases;
  uint64_t seed = 0;
  for (const Shape& shape : shapes()) {
    for (uint8_t p = 0; p < static_cast<uint8_t>(Prologue::kCount); ++p) {
      RandomGraph random = Builder(shape, static_cast<Prologue>(p), ++seed).take();
      Graph optimised = random.graph;
      ASSERT_NO_FATAL_FAILURE(optimise(optimised));
      // Every third case keeps its prologue in memory.
      std::set<std::string, std::less<>> disabled;
      if (seed % 3 == 0) disabled = {"fuse_prologues"};
      auto number = batch.add(optimised, disabled);
      ASSERT_TRUE(number) << to_text(number.error());
      cases.push_back({concat(shape.name, ", prologue ", int{p}), std::move(random), *number});
    }
  }
  compare(batch, cases, GetParam());
}

}  // namespace
}  // namespace ingot
