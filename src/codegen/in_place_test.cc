// codegen/in_place_test.cc: which results take over the memory of an operand.
#include "codegen/in_place.h"

#include <gtest/gtest.h>

#include "codegen/program.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/transpose.h"
#include "passes/pass.h"

namespace ingot {
namespace {

/// x[n, 8] is first multiplied by w[8, 8], so that there is a value in memory to overwrite.
class InPlace : public ::testing::Test {
 protected:
  ValueId product(ValueId x) { return graph_.must_add(ops::MatMul{}, {x, w_}); }
  ValueId add(ValueId a, ValueId b) {
    const Expr p = pool_.param(0, DType::f32), q = pool_.param(1, DType::f32);
    return graph_.must_add(ops::Pointwise{p + q, DType::f32}, {a, b});
  }
  ValueId row_sums(ValueId a) {
    return graph_.must_add(ops::Reduce{ReduceKind::sum, {1}, true}, {a});
  }

  /// How many values of the program with these outputs lie in another's memory.
  size_t overwritten(std::vector<ValueId> outputs) {
    std::vector<GraphOutput> named;
    for (ValueId output : outputs) named.push_back({concat_number(named.size()), output});
    graph_.set_outputs(std::move(named));
    const auto records = run_passes(graph_, closing_pipeline(), {});
    EXPECT_TRUE(records) << to_text(records.error());
    const size_t inputs = graph_.inputs().size();
    const ProgramPlan plan = plan_program(std::move(graph_), inputs, "k_");
    size_t count = 0;
    for (const PlannedValue& value : plan.values) {
      count += value.kind == PlannedValue::Kind::alias ? 1 : 0;
    }
    return count;
  }

  Graph graph_;
  ExprPool& pool_ = graph_.pool();
  const Expr n_ = pool_.symbol("n"), eight_ = pool_.integer(8);
  const ValueId x_ = graph_.add_input("x", TensorType{DType::f32, {n_, eight_}});
  const ValueId w_ = graph_.add_input("w", TensorType{DType::f32, {eight_, eight_}});

 private:
  static std::string concat_number(size_t number) { return "y" + std::to_string(number); }
};

TEST_F(InPlace, AResidualSumOverwritesWhatItAddsTo) {
  const ValueId a = product(x_), c = product(product(a));
  EXPECT_EQ(overwritten({product(add(c, a))}), 1U);
}

TEST_F(InPlace, NotTheOperandOfAProduct) {
  const ValueId a = product(x_);
  EXPECT_EQ(overwritten({product(add(product(a), a))}), 0U);
}

TEST_F(InPlace, NotWhatIsReadLater) {
  const ValueId a = product(x_), b = product(a), c = add(b, a);
  EXPECT_EQ(overwritten({product(c), row_sums(a)}), 0U);
}

TEST_F(InPlace, NotInputsNorOutputs) {
  const ValueId a = product(x_);
  EXPECT_EQ(overwritten({a, product(add(a, x_))}), 0U);
}

TEST_F(InPlace, NotWhatOtherElementsNeed) {
  // x + x' reads each element twice; a row's sum, all of a row.
  const ValueId square =
      graph_.must_add(ops::Reshape{{eight_, eight_}}, {graph_.must_add(ops::MatMul{}, {w_, w_})});
  const ValueId turned = graph_.must_add(ops::Transpose{{1, 0}}, {square});
  const ValueId a = product(x_);
  EXPECT_EQ(overwritten({product(add(square, turned)), product(add(a, row_sums(a)))}), 0U);
}

TEST_F(InPlace, ThroughAnotherShapeOfTheSameBytes) {
  const ValueId a = product(x_), b = product(a);
  const ValueId flat = graph_.must_add(ops::Reshape{{n_ * 8}}, {a});
  const ValueId shaped = graph_.must_add(ops::Reshape{{n_, eight_}}, {flat});
  const ValueId c = add(product(b), shaped);
  EXPECT_EQ(overwritten({product(c)}), 1U);
}

}  // namespace
}  // namespace ingot
