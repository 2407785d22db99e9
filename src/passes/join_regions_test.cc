// passes/join_regions_test.cc: what one kernel computes together, and what it must not.
#include "passes/join_regions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/fusion.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "passes/fuse.h"

namespace ingot {
namespace {

class Joining : public ::testing::Test {
 protected:
  ValueId pointwise(Expr element, std::vector<ValueId> inputs) {
    return graph_.must_add(ops::Pointwise{element, DType::f32}, std::move(inputs));
  }
  ValueId product(ValueId x) { return graph_.must_add(ops::MatMul{}, {x, w_}); }

  /// How many outputs each kernel has, in the order in which they run.
  std::vector<size_t> outputs_of_kernels(const std::vector<ValueId>& outputs) {
    std::vector<GraphOutput> named;
    for (ValueId output : outputs) named.push_back({"y" + std::to_string(named.size()), output});
    graph_.set_outputs(std::move(named));
    fuse(graph_, {});
    const Status good = verify(graph_);
    EXPECT_TRUE(good) << to_text(good.error());
    std::vector<size_t> counts;
    for (NodeId id : graph_.nodes()) {
      if (graph_.node(id).op.is<ops::Fusion>()) counts.push_back(graph_.node(id).outputs.size());
    }
    return counts;
  }

  using Counts = std::vector<size_t>;
  Graph graph_;
  ExprPool& pool_ = graph_.pool();
  const Expr n_ = pool_.symbol("n"), eight_ = pool_.integer(8);
  const Expr p_ = pool_.param(0, DType::f32), q_ = pool_.param(1, DType::f32);
  const ValueId x_ = graph_.add_input("x", TensorType{DType::f32, {n_, eight_}});
  const ValueId u_ = graph_.add_input("u", TensorType{DType::f32, {n_, eight_}});
  const ValueId w_ = graph_.add_input("w", TensorType{DType::f32, {eight_, eight_}});
};

TEST_F(Joining, AValueAndWhatIsMadeOfIt) {
  const ValueId cell = pointwise(p_ * q_, {x_, u_});
  EXPECT_EQ(outputs_of_kernels({cell, pointwise(tanh(p_), {cell})}), Counts({2}));
}

TEST_F(Joining, NeighboursThatReadTheSame) {
  EXPECT_EQ(outputs_of_kernels({pointwise(exp(p_), {x_}), pointwise(tanh(p_), {x_}),
                                pointwise(p_ * q_, {u_, x_})}),
            Counts({3}));
}

TEST_F(Joining, NotWhatHasNothingInCommon) {
  EXPECT_EQ(outputs_of_kernels({pointwise(exp(p_), {x_}), pointwise(tanh(p_), {u_})}),
            Counts({1, 1}));
}

TEST_F(Joining, NotAroundAnotherKernel) {
  const ValueId cell = pointwise(exp(p_) * q_, {x_, u_});
  const ValueId sums = graph_.must_add(ops::Reduce{ReduceKind::sum, {1}, true}, {product(cell)});
  const ValueId later = pointwise(p_ * q_, {cell, sums});
  EXPECT_EQ(outputs_of_kernels({cell, sums, later}), Counts({1, 1, 1, 1}));
}

TEST_F(Joining, NotInACircleOfTwo) {
  // d would join a, and c b: each alone may, but then either waits for the other. The products are
  // outputs, so that c and d are no epilogues of theirs.
  const ValueId a = pointwise(exp(p_), {x_}), b = pointwise(exp(p_), {u_});
  const ValueId from_a = product(a), from_b = product(b);
  const ValueId c = pointwise(p_ * q_, {u_, from_a}), d = pointwise(p_ * q_, {x_, from_b});
  Counts counts = outputs_of_kernels({a, b, from_a, from_b, c, d});
  std::ranges::sort(counts);
  EXPECT_EQ(counts, Counts({1, 1, 1, 1, 2}));
}

TEST_F(Joining, ReadersWaitForTheLastInput) {
  const ValueId cell = pointwise(exp(p_), {x_});
  const ValueId reader = product(cell);
  const ValueId other = product(u_);
  // Runs behind `other`, and so does `reader`.
  const ValueId later = pointwise(p_ * q_, {cell, other});
  EXPECT_EQ(outputs_of_kernels({cell, reader, other, later}), Counts({1, 2, 1}));
}

}  // namespace
}  // namespace ingot
