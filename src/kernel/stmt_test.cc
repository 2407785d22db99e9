// kernel/stmt_test.cc: the text form of kernels and what the verifier refuses.
#include "kernel/stmt.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernel/random_expr.h"

namespace ingot {
namespace {

std::string parse_error(std::string_view text) {
  const Result<Kernel> kernel = parse_kernel(text);
  EXPECT_FALSE(kernel) << text;
  return kernel ? "" : to_text(kernel.error());
}

constexpr std::string_view kEverything = R"(kernel everything
from "node one", "the \"second\" node\x01"
symbol n 0..2147483647
symbol "batch size" 1..64 multiple_of 4 data_dependent
b0 "x": f32["batch size" * n]
b1 "count": i32[n]
b2 "y": f16[n] written
{
  for i4 < n parallel {
    for i2 < "batch size" parallel {
      alloc b3: f32[16]
      t7 = b0[i2 + i4 * 4 if i2 < 3 else 1.5] * 2.0
      reduce i0 < 16 vector {
        t8 = t7 + 1.0
        b3[i0] = t8
      } sum t0 = t8, max t1 = t8 * b3[i0]
      if b1[i4] == 3:i32 && t0 < t1 {
        b2[i4] = f16(t0) if i2 == 0
        b2[i4] = f16(reduce_min(i9 < 16, b3[i9]))
      }
      for i3 < 8 vector {
        b3[i3] = select(is_nan(t1), -inf, t0)
      }
      reduce i1 < 3 {
      } any t2 = b1[i1] < 0:i32
    }
  }
}
)";

TEST(KernelText, ReadsBack) {
  Result<Kernel> kernel = parse_kernel(kEverything);
  ASSERT_TRUE(kernel) << to_text(kernel.error());
  EXPECT_EQ(to_text(*kernel), kEverything);
  EXPECT_EQ(kernel->provenance[1], "the \"second\" node\x01");
  EXPECT_EQ(kernel->buffers.size(), 3u);
  const Loop& outer = std::get<Loop>(kernel->body[0].is);
  EXPECT_EQ(outer.mode, LoopMode::parallel);
  EXPECT_EQ(outer.var.value, 4u);
}

/// A random kernel: nested loops, a scratch buffer, lets and stores of random expressions.
class KernelMaker {
 public:
  explicit KernelMaker(Random& random) : random_(random) {
    kernel_.pool = std::make_shared<ExprPool>();
    kernel_.name = "random";
    kernel_.provenance = {"somewhere"};
    n_ = pool().symbol("n");
    kernel_.buffers = {{"x", DType::f32, false, n_ * 16},
                       {"k", DType::i64, false, n_},
                       {"y", DType::f32, true, n_ * 16}};
    options_.depth = 3;
    options_.leaves = {n_, pool().load(0, DType::f32, n_), pool().load(1, DType::i64, n_),
                       pool().boolean(true)};
  }

  Kernel make() && {
    kernel_.body = block(3, true);
    return std::move(kernel_);
  }

 private:
  ExprPool& pool() { return *kernel_.pool; }

  Expr value(DType dtype) { return simplify_again(random_expr(random_, pool(), options_, dtype)); }

  Block block(int depth, bool outermost) {
    const size_t leaves = options_.leaves.size();
    Block result;
    for (int64_t k = random_.range(1, 3); k > 0; --k) result.push_back(stmt(depth, outermost));
    options_.leaves.resize(leaves);  // names end with their block
    return result;
  }

  Stmt stmt(int depth, bool outermost) {
    switch (random_.range(depth > 0 ? 0 : 3, 4)) {
      case 0: {
        const Expr extent = random_.chance(0.5) ? n_ : pool().integer(random_.range(0, 9));
        const Expr index = pool().fresh_index(extent);
        options_.leaves.push_back(index);
        const bool is_parallel = outermost && random_.chance(0.5);
        Loop loop = {index.var(), extent, is_parallel ? LoopMode::parallel : LoopMode::vector,
                     block(depth - 1, is_parallel)};
        std::erase(options_.leaves, index);
        return {std::move(loop)};
      }
      case 1: {
        const Expr index = pool().fresh_index(n_ + 1);
        options_.leaves.push_back(index);
        ReduceLoop loop = {index.var(), n_ + 1, LoopMode::serial, block(depth - 1, false), {}};
        const LocalId local(next_local_++);
        loop.accumulators.push_back({local, ReduceKind::sum, value(DType::f32)});
        std::erase(options_.leaves, index);
        options_.leaves.push_back(pool().local(local, DType::f32));
        return {std::move(loop)};
      }
      case 2:
        return {If{value(DType::b8), block(depth - 1, false)}};
      case 3: {
        const LocalId local(next_local_++);
        const DType dtype = random_.chance(0.5) ? DType::f32 : DType::i64;
        Let let = {local, value(dtype)};
        options_.leaves.push_back(pool().local(local, dtype));
        return {let};
      }
      default: {
        const Expr predicate = random_.chance(0.5) ? value(DType::b8) : Expr();
        return {Store{2, value(DType::i64), value(DType::f32), predicate}};
      }
    }
  }

  Random& random_;
  Kernel kernel_;
  Expr n_;
  RandomExprOptions options_;
  uint32_t next_local_ = 0;
};

TEST(KernelText, RandomKernelsReadBack) {
  Random random(3);
  for (int k = 0; k < 300; ++k) {
    const Kernel kernel = KernelMaker(random).make();
    const std::string text = to_text(kernel);
    const Status status = verify(kernel);
    ASSERT_TRUE(status) << to_text(status.error()) << "\n" << text;
    const Result<Kernel> again = parse_kernel(text);
    ASSERT_TRUE(again) << to_text(again.error()) << "\n" << text;
    ASSERT_EQ(to_text(*again), text);
  }
}

TEST(KernelText, BadTextIsRefused) {
  const auto with_body = [](std::string_view body) {
    return fmt::format("kernel k\nb0 \"x\": f32[4] written\n{{\n{}\n}}\n", body);
  };
  EXPECT_EQ(parse_error(""), "line 1, column 1: expected 'kernel', got the end of the text");
  EXPECT_EQ(parse_error("kernel 3"), "line 1, column 8: expected the kernel's name, got '3'");
  EXPECT_EQ(parse_error("kernel k\nb1 \"x\": f32[4]\n{\n}"),
            "line 2, column 4: expected buffer b0 next, got '\"x\"'");
  EXPECT_EQ(parse_error("kernel k\nsymbol n 3..1\n{\n}"),
            "line 3, column 1: expected a range that is not empty, got '{'");
  EXPECT_EQ(parse_error(with_body("b0[0] = n")),
            "line 4, column 9: n: no symbol of that name is declared");
  EXPECT_EQ(parse_error(with_body("b0[0] = t3")),
            "line 4, column 9: t3: not defined before this use");
  EXPECT_EQ(parse_error(with_body("b0[i1] = 1.0")),
            "line 4, column 4: i1: not defined before this use");
  EXPECT_EQ(parse_error(with_body("b7[0] = b9[0]")),
            "line 4, column 9: b9: a buffer of unknown type, write b0:f32[...]");
  EXPECT_EQ(parse_error(with_body("for i0 < 3 { ")),
            "line 6, column 1: expected a statement, got the end of the text");
  EXPECT_EQ(parse_error(with_body("alloc b0: f32[3]")),
            "line 4, column 9: expected a buffer that does not exist yet, got ':'");
  EXPECT_EQ(parse_error(with_body("for i4000000000 < 3 { }")),
            "line 4, column 5: i4000000000: expected a number up to 2^20");
  std::string nested;
  for (int k = 0; k < 100000; ++k) nested += "if true {";
  EXPECT_NE(parse_error(with_body(nested)), "");
}

TEST(KernelText, DamagedTextIsReadOrRefused) {
  Random random(8);
  int accepted = 0;
  for (int k = 0; k < 3000; ++k) {
    std::string text(kEverything);
    for (int64_t change = random.range(1, 3); change > 0; --change) {
      const auto at = [&] { return static_cast<size_t>(random.range(0, std::ssize(text) - 1)); };
      switch (random.range(0, 3)) {
        case 0:
          text.erase(at(), static_cast<size_t>(random.range(1, 8)));
          break;
        case 1:
          text[at()] = static_cast<char>(random.range(1, 255));
          break;
        case 2:
          text.insert(at(), text.substr(at(), static_cast<size_t>(random.range(1, 30))));
          break;
        default:
          text[at()] = "0123456789(){}[]<>-!\"."[random.range(0, 21)];
          break;
      }
    }
    const Result<Kernel> kernel = parse_kernel(text);
    if (!kernel) continue;
    ++accepted;
    const std::string printed = to_text(*kernel);
    const Result<Kernel> again = parse_kernel(printed);
    ASSERT_TRUE(again) << to_text(again.error()) << "\n" << printed << "\nread from\n" << text;
    ASSERT_EQ(to_text(*again), printed);
  }
  EXPECT_GT(accepted, 100);
}

/// Kernels built directly, for what text cannot say.
class VerifyTest : public testing::Test {
 protected:
  VerifyTest() {
    kernel.pool = std::make_shared<ExprPool>();
    kernel.name = "k";
    kernel.buffers = {{"x", DType::f32, false, number(4)}, {"y", DType::f32, true, number(4)}};
    index = kernel.pool->fresh_index(number(4));
  }

  Expr number(int64_t value) { return kernel.pool->integer(value); }
  Expr real(double value) { return kernel.pool->real(value); }
  Stmt store(Expr value) { return {Store{1, number(0), value, {}}}; }
  Stmt loop(Expr over, LoopMode mode, Block body) {
    return {Loop{over.var(), kernel.pool->extent(over.var()), mode, std::move(body)}};
  }
  std::string error(Block body) {
    kernel.body = std::move(body);
    const Status status = verify(kernel);
    return status ? "" : status.error().message;
  }

  Kernel kernel;
  Expr index;
};

TEST_F(VerifyTest, GoodKernelsPass) {
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({loop(index, LoopMode::parallel, {store(real(1))})}), "");
  // Loops side by side may share a variable.
  EXPECT_EQ(error({loop(index, LoopMode::serial, {}), loop(index, LoopMode::vector, {})}), "");
}

TEST_F(VerifyTest, Headers) {
  kernel.name = "two words";
  EXPECT_EQ(error({}), "kernel two words: the name must be an identifier");
  kernel.name = "k";
  kernel.buffers[0].elements = {};
  EXPECT_EQ(error({}), "kernel k: the size of b0 is missing");
  kernel.buffers[0].elements = real(1);
  EXPECT_EQ(error({}), "kernel k: the size of b0: expected i64, got f32 in 1.0");
  kernel.buffers[0].elements = number(1);
  kernel.buffers[0].dtype = DType::str;
  EXPECT_EQ(error({}), "kernel k: b0 cannot hold str");
  kernel.pool = nullptr;
  EXPECT_EQ(error({}), "kernel k: it has no pool");
}

TEST_F(VerifyTest, NamesAreDefinedBeforeUse) {
  ExprPool& pool = *kernel.pool;
  EXPECT_EQ(error({{Store{1, index, real(1), {}}}}),
            "kernel k: the offset of the store to b1 uses i0 outside of its loop");
  const Expr t0 = pool.local(LocalId(0), DType::f32);
  EXPECT_EQ(error({store(t0)}),
            "kernel k: the value of the store to b1 uses t0 before it is defined");
  EXPECT_EQ(error({{Let{LocalId(0), number(1)}}, store(t0)}),
            "kernel k: the value of the store to b1 uses t0 as f32, it is i64");
  EXPECT_EQ(error({{Let{LocalId(0), real(1)}}, {Let{LocalId(0), real(2)}}}),
            "kernel k: t0 is defined twice");
  // To the end of the block only.
  EXPECT_EQ(error({{If{pool.param(0, DType::b8), {}}}}),
            "kernel k: a condition uses p0; kernels have none");
  EXPECT_EQ(error({loop(index, LoopMode::serial, {{Let{LocalId(0), real(1)}}}), store(t0)}),
            "kernel k: the value of the store to b1 uses t0 before it is defined");
  EXPECT_EQ(error({store(pool.load(5, DType::f32, number(0)))}),
            "kernel k: the value of the store to b1 loads from b5, which does not exist here");
  EXPECT_EQ(error({store(cast(pool.load(0, DType::f16, number(0)), DType::f32))}),
            "kernel k: the value of the store to b1 loads f16 from b0, which holds f32");
  EXPECT_EQ(error({store(Expr())}), "kernel k: the value of the store to b1 is missing");
  ExprPool other;
  EXPECT_EQ(error({store(other.real(1))}),
            "kernel k: the value of the store to b1 is an expression of another pool");
}

TEST_F(VerifyTest, Loops) {
  ExprPool& pool = *kernel.pool;
  EXPECT_EQ(error({{Loop{index.var(), number(3), LoopMode::serial, {}}}}),
            "kernel k: the extent of i0 is 3, but was declared as 4");
  EXPECT_EQ(error({{Loop{VarId(7), number(3), LoopMode::serial, {}}}}),
            "kernel k: i7 is no loop variable of the pool");
  EXPECT_EQ(error({loop(index, LoopMode::serial, {loop(index, LoopMode::serial, {})})}),
            "kernel k: i0 is used by two nested loops");
  const Expr inner = pool.fresh_index(number(2));
  EXPECT_EQ(error({loop(index, LoopMode::serial, {loop(inner, LoopMode::parallel, {})})}),
            "kernel k: the parallel loop of i1 must be outermost, or directly in parallel loops");
  EXPECT_EQ(error({{ReduceLoop{index.var(), number(4), LoopMode::parallel, {}, {}}}}),
            "kernel k: the reduction over i0 cannot be parallel");
  EXPECT_EQ(error({{ReduceLoop{index.var(),
                               number(4),
                               LoopMode::serial,
                               {},
                               {{LocalId(0), ReduceKind::any, real(1)}}}}}),
            "kernel k: the value gathered in t0: reduce_any: expected b8, got f32");
  const Expr nested = pool.reduce(ReduceKind::sum, index, real(1));
  EXPECT_EQ(error({loop(index, LoopMode::serial, {store(nested)})}),
            "kernel k: the value of the store to b1 reduces over i0, which is in use");
}

TEST_F(VerifyTest, StoresAndScratch) {
  EXPECT_EQ(error({{Store{0, number(0), real(1), {}}}}),
            "kernel k: the store to b0: it is not declared as written");
  EXPECT_EQ(error({{Store{9, number(0), real(1), {}}}}),
            "kernel k: the store to b9: that buffer does not exist here");
  EXPECT_EQ(error({{Store{1, real(0), real(1), {}}}}),
            "kernel k: the offset of the store to b1: expected i64, got f32 in 0.0");
  EXPECT_EQ(error({{Store{1, number(0), number(1), {}}}}),
            "kernel k: the value of the store to b1: expected f32, got i64 in 1");
  EXPECT_EQ(error({{Store{1, number(0), real(1), number(1)}}}),
            "kernel k: the predicate of the store to b1: expected b8, got i64 in 1");
  EXPECT_EQ(error({{Alloc{1, DType::f32, number(3)}}}), "kernel k: b1 exists already");
  EXPECT_EQ(error({{Alloc{2, DType::c64, number(3)}}}), "kernel k: b2 cannot hold c64");
  EXPECT_EQ(error({{Alloc{2, DType::f32, real(3)}}}),
            "kernel k: the size of b2: expected i64, got f32 in 3.0");
  EXPECT_EQ(error({{If{number(1), {}}}}), "kernel k: a condition: expected b8, got i64 in 1");
}

}  // namespace
}  // namespace ingot
