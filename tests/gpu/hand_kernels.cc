// tests/gpu/hand_kernels.cc: loop nests of every shape that the GPU emitter treats differently.
#include "hand_kernels.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace ingot {
namespace {

/// A kernel under construction with one symbol `n` of the given value.
class Case {
 public:
  Case(std::string name, int64_t n) : pool_(std::make_shared<ExprPool>()) {
    case_.label = name;
    case_.kernel.name = std::move(name);
    case_.kernel.provenance = {"made by hand */ #\\"};
    case_.kernel.pool = pool_;
    n_ = pool_->symbol("n");
    case_.symbols = {n};
  }

  ExprPool& pool() { return *pool_; }
  Expr n() const { return n_; }
  Expr integer(int64_t value) { return pool_->integer(value); }
  Expr index(Expr extent) { return pool_->fresh_index(extent); }

  uint32_t input(std::string name, std::vector<double> values, DType dtype = DType::f32) {
    return buffer(std::move(name), dtype, false, {dtype, std::move(values), {}}, {dtype, {}, {}});
  }
  uint32_t input(std::string name, std::vector<int64_t> values, DType dtype) {
    return buffer(std::move(name), dtype, false, {dtype, {}, std::move(values)}, {dtype, {}, {}});
  }
  uint32_t output(std::string name, std::vector<double> values, DType dtype = DType::f32) {
    return buffer(std::move(name), dtype, true, {dtype, {}, {}}, {dtype, std::move(values), {}});
  }
  uint32_t output(std::string name, std::vector<int64_t> values, DType dtype) {
    return buffer(std::move(name), dtype, true, {dtype, {}, {}}, {dtype, {}, std::move(values)});
  }
  /// A scratch buffer; its number comes after those of the buffers.
  uint32_t scratch() { return static_cast<uint32_t>(case_.kernel.buffers.size()) + scratch_++; }

  Expr load(uint32_t buffer, Expr offset, DType dtype = DType::f32) {
    return pool_->load(buffer, dtype, offset);
  }
  Expr local(uint32_t number, DType dtype = DType::f32) {
    return pool_->local(LocalId(number), dtype);
  }

  KernelCase finish(Block body, double ulp) {
    case_.kernel.body = std::move(body);
    case_.ulp = ulp;
    return std::move(case_);
  }

 private:
  uint32_t buffer(std::string name, DType dtype, bool written, BufferValues before,
                  BufferValues after) {
    const size_t count =
        before.reals.size() + before.ints.size() + after.reals.size() + after.ints.size();
    case_.kernel.buffers.push_back(
        {std::move(name), dtype, written, pool_->integer(static_cast<int64_t>(count))});
    case_.before.push_back(std::move(before));
    case_.after.push_back(std::move(after));
    return static_cast<uint32_t>(case_.kernel.buffers.size() - 1);
  }

  std::shared_ptr<ExprPool> pool_;
  Expr n_;
  KernelCase case_;
  uint32_t scratch_ = 0;
};

Stmt loop(Expr index, LoopMode mode, Block body) {
  return {Loop{index.var(), index.pool().extent(index.var()), mode, std::move(body)}};
}

Stmt reduction(Expr index, LoopMode mode, uint32_t local, ReduceKind kind, Expr value,
               Block body = {}) {
  return {ReduceLoop{index.var(),
                     index.pool().extent(index.var()),
                     mode,
                     std::move(body),
                     {Accumulator{LocalId(local), kind, value}}}};
}

Stmt store(uint32_t buffer, Expr offset, Expr value, Expr predicate = {}) {
  return {Store{buffer, offset, value, predicate}};
}

/// Multiples of 1/8 around zero: their sums are exact in f32.
std::vector<double> eighths(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& x : values) x = static_cast<double>(random.range(-32, 32)) / 8;
  return values;
}

size_t at(int64_t k) {
  return static_cast<size_t>(k);
}

/// One thread per element: parallel rows, a vector loop inside, both of symbolic size.
KernelCase pointwise(int64_t n) {
  Case c("pointwise", n);
  const auto x = eighths(3 * n, 1);
  std::vector<double> y;
  for (const double v : x) y.push_back(std::max(v, 0.0) * 2 + 1);
  const uint32_t in = c.input("x", x);
  const uint32_t out = c.output("y", y);
  const Expr row = c.index(c.integer(3));
  const Expr column = c.index(c.n());
  const Expr offset = row * c.n() + column;
  const Expr value =
      max(c.load(in, offset), c.pool().real(0)) * c.pool().real(2) + c.pool().real(1);
  return c.finish({loop(row, LoopMode::parallel,
                        {loop(column, LoopMode::vector, {store(out, offset, value)})})},
                  0);
}

/// One block per row; a loop cut into pieces whose last is shorter.
KernelCase cut_loop(int64_t n) {
  Case c("cut_loop", n);
  const auto x = eighths(n, 2);
  std::vector<double> y;
  for (const double v : x) y.push_back(-v);
  const uint32_t in = c.input("x", x);
  const uint32_t out = c.output("y", y);
  const Expr piece = c.index(ceildiv(c.n(), 100));
  const Expr inside = c.index(min(c.integer(100), c.n() - piece * 100));
  const Expr offset = piece * 100 + inside;
  return c.finish(
      {loop(piece, LoopMode::parallel,
            {loop(inside, LoopMode::vector, {store(out, offset, -c.load(in, offset))})})},
      0);
}

/// Layer-norm like: two reductions joined over the block, then a vector loop.
KernelCase row_sums(int64_t n) {
  Case c("row_sums", n);
  constexpr int64_t kRows = 5;
  const auto x = eighths(kRows * n, 3);
  std::vector<double> y(x.size());
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    double most = -1e30;
    for (int64_t k = 0; k < n; ++k) sum += x[at(r * n + k)];
    for (int64_t k = 0; k < n; ++k) most = std::max(most, x[at(r * n + k)]);
    for (int64_t k = 0; k < n; ++k) y[at(r * n + k)] = x[at(r * n + k)] + sum + most;
  }
  const uint32_t in = c.input("x", x);
  const uint32_t out = c.output("y", y);
  const Expr row = c.index(c.integer(kRows));
  const Expr j = c.index(c.n());
  const Expr k = c.index(c.n());
  const Expr i = c.index(c.n());
  const Expr first = row * c.n();
  return c.finish(
      {loop(row, LoopMode::parallel,
            {reduction(j, LoopMode::vector, 0, ReduceKind::sum, c.load(in, first + j)),
             reduction(k, LoopMode::vector, 1, ReduceKind::max, c.load(in, first + k)),
             loop(i, LoopMode::vector,
                  {store(out, first + i, c.load(in, first + i) + c.local(0) + c.local(1))})})},
      0);
}

/// A scratch row that a reduction writes and a later loop reads backwards, so across threads.
/// `elements` bounds the row: small ones fit shared memory, large ones go to global memory.
KernelCase scratch_row(std::string name, int64_t n, int64_t elements) {
  Case c(std::move(name), n);
  constexpr int64_t kRows = 70;  // more than the blocks of a launch: blocks take several
  const auto x = eighths(kRows * n, 4);
  std::vector<double> y(x.size());
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += 2 * x[at(r * n + k)];
    for (int64_t k = 0; k < n; ++k) y[at(r * n + k)] = 2 * x[at(r * n + n - 1 - k)] + sum;
  }
  const uint32_t in = c.input("x", x);
  const uint32_t out = c.output("y", y);
  const uint32_t row_of = c.scratch();
  const Expr row = c.index(c.integer(kRows));
  const Expr j = c.index(c.n());
  const Expr i = c.index(c.n());
  const Expr first = row * c.n();
  const Expr doubled = c.load(in, first + j) * c.pool().real(2);
  const Expr size = elements > 0 ? c.integer(elements) : c.n();
  return c.finish(
      {loop(
          row, LoopMode::parallel,
          {{Alloc{row_of, DType::f32, size}},
           reduction(j, LoopMode::vector, 0, ReduceKind::sum, doubled, {store(row_of, j, doubled)}),
           loop(i, LoopMode::vector,
                {store(out, first + i, c.load(row_of, c.n() - 1 - i) + c.local(0))})})},
      0);
}

/// A serial loop around a vector one, with scratch carried from one round to the next.
KernelCase rounds(int64_t n) {
  Case c("rounds", n);
  constexpr int64_t kRounds = 3;
  const auto x = eighths(n, 5);
  std::vector<double> row = x;
  for (int64_t t = 0; t < kRounds; ++t) {
    std::vector<double> next(row.size());
    for (int64_t k = 0; k < n; ++k) next[at(k)] = row[at(n - 1 - k)] + 1;
    row = next;
  }
  const uint32_t in = c.input("x", x);
  std::reverse(row.begin(), row.end());
  const uint32_t out = c.output("y", row);
  const uint32_t a = c.scratch();
  const uint32_t b = c.scratch();
  const Expr one = c.index(c.integer(65));  // one block takes the first and the last
  const Expr i = c.index(c.n());
  const Expr t = c.index(c.integer(kRounds));
  const Expr j = c.index(c.n());
  const Expr k = c.index(c.n());
  const Expr last = c.index(c.n());
  return c.finish(
      {loop(
          one, LoopMode::parallel,
          {{Alloc{a, DType::f32, c.integer(512)}},
           {Alloc{b, DType::f32, c.integer(512)}},
           loop(i, LoopMode::vector, {store(a, i, c.load(in, i))}),
           loop(t, LoopMode::serial,
                {loop(j, LoopMode::vector,
                      {store(b, j, c.load(a, c.n() - 1 - j) + c.pool().real(1))}),
                 loop(k, LoopMode::vector, {store(a, k, c.load(b, k))})}),
           {If{equal(one, c.integer(0)),
               {loop(last, LoopMode::vector, {store(out, last, c.load(a, c.n() - 1 - last))})}}}})},
      0);
}

/// No parallel loop at all: one unit, a value of every reduction kind, stored by one thread.
KernelCase all_reductions(int64_t n) {
  Case c("all_reductions", n);
  std::vector<int64_t> x(at(n));
  Random random(6);
  for (int64_t& v : x) v = random.range(-3, 3);
  int64_t sum = 0;
  uint64_t product = 1;
  for (const int64_t v : x) {
    sum += v;
    product *= static_cast<uint64_t>(v == 0 ? 1 : v);
  }
  // The product wraps around as 32-bit integers do.
  const auto wrapped = static_cast<int64_t>(static_cast<int32_t>(product));
  const auto [least, most] = std::ranges::minmax(x);
  const uint32_t in = c.input("x", x, DType::i32);
  const uint32_t out = c.output("y", std::vector<int64_t>{sum, wrapped, least, most}, DType::i32);
  const uint32_t flags = c.output("flags", std::vector<int64_t>{1, 0}, DType::b8);
  Block body;
  const auto reduce = [&](uint32_t local, ReduceKind kind, auto value) {
    const Expr j = c.index(c.n());
    body.push_back(reduction(j, LoopMode::vector, local, kind, value(c.load(in, j, DType::i32))));
  };
  const Expr zero = c.pool().integer(0, DType::i32);
  const Expr unit = c.pool().integer(1, DType::i32);
  reduce(0, ReduceKind::sum, [](Expr v) { return v; });
  reduce(1, ReduceKind::product, [&](Expr v) { return select(equal(v, zero), unit, v); });
  reduce(2, ReduceKind::min, [](Expr v) { return v; });
  reduce(3, ReduceKind::max, [](Expr v) { return v; });
  reduce(4, ReduceKind::any, [&](Expr v) { return equal(v, zero); });
  reduce(5, ReduceKind::all, [&](Expr v) { return equal(v, zero); });
  for (uint32_t k = 0; k < 4; ++k) body.push_back(store(out, c.integer(k), c.local(k, DType::i32)));
  for (uint32_t k = 0; k < 2; ++k) {
    body.push_back(store(flags, c.integer(k), c.local(4 + k, DType::b8)));
  }
  return c.finish(std::move(body), 0);
}

/// One thread per row: a serial reduction with private scratch, and a guarded store and load.
KernelCase private_rows(int64_t n) {
  Case c("private_rows", n);
  constexpr int64_t kRows = 300;
  const auto x = eighths(kRows * n, 7);
  std::vector<double> y;
  std::vector<double> before(at(kRows), -1.0);
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += x[at(r * n + n - 1 - k)] * static_cast<double>(k % 4);
    y.push_back(r % 3 == 0 ? before[at(r)] : sum + (r + 1 < kRows ? x[at((r + 1) * n)] : 7.0));
  }
  const uint32_t in = c.input("x", x);
  const uint32_t out = c.output("y", y);
  const uint32_t copy = c.scratch();
  const Expr row = c.index(c.integer(kRows));
  const Expr i = c.index(c.n());
  const Expr j = c.index(c.n());
  const Expr next = row + 1;
  const Expr guarded =
      c.pool().load(in, DType::f32, next * c.n(), less(next, c.integer(kRows)), c.pool().real(7));
  KernelCase made = c.finish(
      {loop(row, LoopMode::parallel,
            {{Alloc{copy, DType::f32, c.integer(100)}},
             loop(i, LoopMode::serial, {store(copy, c.n() - 1 - i, c.load(in, row * c.n() + i))}),
             reduction(j, LoopMode::serial, 0, ReduceKind::sum,
                       c.load(copy, j) * cast(floormod(j, 4), DType::f32)),
             store(out, row, c.local(0) + guarded,
                   logical_not(equal(floormod(row, 3), c.integer(0))))})},
      0);
  made.before[out].reals = before;
  return made;
}

/// Reductions that stand inside expressions, one within the other, and shared sub-expressions.
KernelCase nested_expressions(int64_t n) {
  Case c("nested_expressions", n);
  const auto x = eighths(4 * n, 8);
  std::vector<double> y;
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t a = 0; a < 4; ++a) {
      double inner = 0;
      for (int64_t b = 0; b < 4; ++b) inner += x[at(b * n + i)];
      sum += std::max(x[at(a * n + i)], inner);
    }
    const double s = std::max(sum, 1.0);
    y.push_back(s * s + s);
  }
  const uint32_t in = c.input("x", x);
  const uint32_t out = c.output("y", y);
  const Expr i = c.index(c.n());
  const Expr a = c.index(c.integer(4));
  const Expr b = c.index(c.integer(4));
  const Expr inner = c.pool().reduce(ReduceKind::sum, b, c.load(in, b * c.n() + i));
  const Expr sum = c.pool().reduce(ReduceKind::sum, a, max(c.load(in, a * c.n() + i), inner));
  const Expr s = max(sum, c.pool().real(1));
  return c.finish({loop(i, LoopMode::parallel, {store(out, i, s * s + s)})}, 0);
}

/// Two nests that follow each other: the second reads what all of the first wrote.
KernelCase two_nests(int64_t n) {
  Case c("two_nests", n);
  const auto x = eighths(n, 9);
  std::vector<double> middle;
  std::vector<double> y(x.size());
  for (const double v : x) middle.push_back(v + 1);
  for (int64_t k = 0; k < n; ++k) y[at(k)] = middle[at(n - 1 - k)];
  const uint32_t in = c.input("x", x);
  const uint32_t between = c.output("middle", middle);
  const uint32_t out = c.output("y", y);
  const Expr i = c.index(c.n());
  const Expr j = c.index(c.n());
  return c.finish(
      {loop(i, LoopMode::parallel, {store(between, i, c.load(in, i) + c.pool().real(1))}),
       loop(j, LoopMode::parallel, {store(out, j, c.load(between, c.n() - 1 - j))})},
      0);
}

/// Storage types: halves in, bf16 and integers out.
KernelCase conversions() {
  Case c("conversions", 8);
  const std::vector<double> x = {0.0, -0.5, 1.5, 100.0, -300.0, 65504.0, 2.5, 1.0};
  const uint32_t in = c.input("x", x, DType::f16);
  // bf16 keeps 8 bits: 65504 rounds to 65536.
  std::vector<double> rounded = x;
  rounded[5] = 65536;
  const uint32_t brain = c.output("brain", rounded, DType::bf16);
  const uint32_t bytes =
      c.output("bytes", std::vector<int64_t>{0, 0, 1, 100, 0, 255, 2, 1}, DType::u8);
  const uint32_t wide = c.output("wide", x, DType::f64);
  const uint32_t flags = c.output("flags", std::vector<int64_t>{0, 1, 1, 1, 1, 1, 1, 1}, DType::b8);
  const Expr i = c.index(c.integer(8));
  const Expr value = cast(c.load(in, i, DType::f16), DType::f32);
  return c.finish(
      {loop(i, LoopMode::vector,
            {store(brain, i, cast(value, DType::bf16)), store(bytes, i, cast(value, DType::u8)),
             store(wide, i, cast(value, DType::f64)), store(flags, i, cast(value, DType::b8))})},
      0);
}

}  // namespace

std::vector<KernelCase> hand_kernels() {
  std::vector<KernelCase> cases;
  cases.push_back(pointwise(201));
  cases.push_back(cut_loop(350));
  cases.push_back(row_sums(333));
  cases.push_back(scratch_row("shared_row", 90, 128));
  cases.push_back(scratch_row("long_row", 90, 20000));
  cases.push_back(scratch_row("unbounded_row", 90, 0));
  cases.push_back(rounds(300));
  cases.push_back(all_reductions(777));
  cases.push_back(private_rows(10));
  cases.push_back(nested_expressions(50));
  cases.push_back(two_nests(1000));
  cases.push_back(conversions());
  return cases;
}

}  // namespace ingot
