// kernel/mistakes_test.cc: wrong types in expressions from outside.
#include "kernel/mistakes.h"

#include <gtest/gtest.h>

#include "kernel/expr.h"

namespace ingot {
namespace {

TEST(TypeMistakes, KeepTheFirst) {
  ExprPool pool;
  const Expr f = pool.param(0, DType::f32), i = pool.param(1, DType::i32);
  const TypeMistakes mistakes;
  EXPECT_EQ(f + f, f + f);
  EXPECT_FALSE(mistakes.first());
  const Expr wrong = f + i;
  EXPECT_EQ(wrong.dtype(), DType::f32);  // so that what is built of it makes no second mistake
  EXPECT_EQ(mistakes.first(), "add: expected operands of one type, got f32 and i32");
  EXPECT_EQ(pool.real(0.5, DType::i32).dtype(), DType::i32);
  EXPECT_EQ(mistakes.first(), "add: expected operands of one type, got f32 and i32");
}

TEST(TypeMistakes, AreSeenByTheInnermost) {
  ExprPool pool;
  const TypeMistakes outer;
  {
    const TypeMistakes inner;
    pool.real(0.5, DType::u8);
    EXPECT_EQ(inner.first(), "expected floats, got u8");
  }
  EXPECT_FALSE(outer.first());
  unary(ExprKind::floor, pool.param(0, DType::i8));
  EXPECT_EQ(outer.first(), "floor: expected f32 or f64, got i8");
}

}  // namespace
}  // namespace ingot
