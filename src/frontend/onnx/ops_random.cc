// frontend/onnx/ops_random.cc: random numbers, and what draws from them.
//
// The same numbers in every run, others in each turn of a loop. Uniform ones after a seed are those
// that ONNX's reference implementation draws, NumPy's; all others are those of the core operator
// `random`. A node without a seed has one made from its name, so that two such nodes draw different
// numbers.
#include <bit>
#include <cmath>
#include <numbers>

#include "base/hash.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// Draws for one node.
class Draws {
 public:
  /// `compute` is f32 or f64. Without a seed one is made from the node's name.
  Draws(OpContext& n, std::optional<double> seed, DType compute)
      : n_(n), given_(seed), compute_(compute) {}

  DType compute() const { return compute_; }

  /// Uniform numbers in [0, 1), to be asked for once: after a seed those of
  /// numpy.random.RandomState(seed), in f64. Other turns of a loop have other seeds.
  Result<ValueId> uniform(const Exprs& dims) {
    if (!given_) return independent(dims);
    TRY(ValueId seed, n_.scalar(DType::i64, std::fmod(std::trunc(*given_), 0x1p32)));
    TRY(const ValueId turn, n_.turn());
    if (turn.valid()) {
      TRY(seed, n_.map2(seed, turn, [&](Expr s, Expr t) { return s + t * n_.integer(kWeyl); }));
    }
    TRY(const ValueId y,
        n_.add("mersenne_twister", {{"count", element_count(n_.pool(), dims)}}, {seed}));
    return n_.reshape(y, dims);
  }

  /// Uniform numbers in [0, 1), each of its own; each call gives others.
  Result<ValueId> independent(Exprs dims) {
    TRY(const ValueId turn, n_.turn());
    const int64_t seed = given_ ? std::bit_cast<int64_t>(*given_)
                                : static_cast<int64_t>(hash_text(n_.provenance()).low);
    return n_.add(
        "random",
        {{"dims", std::move(dims)}, {"seed", seed}, {"stream", stream_++}, {"dtype", compute_}},
        turn.valid() ? ValueIds{turn} : ValueIds{});
  }

  /// Numbers of the standard normal distribution. Source: Box and Muller, 1958.
  Result<ValueId> normal(const Exprs& dims) {
    TRY(const ValueId radius, independent(dims));
    TRY(const ValueId angle, independent(dims));
    return n_.map2(radius, angle, [&](Expr r, Expr a) {
      const auto real = [&](double value) { return n_.pool().real(value, compute_); };
      // 1 - r is above 0.
      return sqrt(real(-2) * log(real(1) - r)) *
             unary(ExprKind::cos, real(2 * std::numbers::pi) * a);
    });
  }

 private:
  static constexpr int64_t kWeyl = 0x9E3779B9;  // 2^32 by the golden ratio: far seeds

  OpContext& n_;
  std::optional<double> given_;
  int64_t stream_ = 0;
  DType compute_;
};

/// Draws by the attribute 'seed', a float, in the type in which numbers of `held` are computed.
Result<Draws> read_draws(OpContext& n, DType held) {
  const DType compute = held == DType::f64 ? DType::f64 : DType::f32;
  if (!n.has_attr("seed")) return Draws(n, {}, compute);
  TRY(const double seed, n.attr_real("seed"));
  if (!std::isfinite(seed)) return invalid_model("attribute 'seed': got ", seed);
  return Draws(n, seed, compute);
}

// ---- tensors of numbers ----

Result<Exprs> shape_attribute(OpContext& n) {
  TRY(const std::vector<int64_t> shape, n.attr_ints("shape"));
  for (const int64_t dim : shape) {
    if (dim < 0 || dim > kMaxDim) {
      return invalid_model("attribute 'shape': expected dims from 0 to ", kMaxDim, ", got ", dim);
    }
  }
  return n.integers(shape);
}

Result<ValueIds> normal_numbers(OpContext& n, const Exprs& dims, DType held) {
  if (!is_float(held)) return invalid_model("attribute 'dtype': expected a float, got ", held);
  TRY(const double mean, n.attr_real("mean", 0.0));
  TRY(const double scale, n.attr_real("scale", 1.0));
  TRY(Draws draws, read_draws(n, held));
  TRY(const ValueId z, draws.normal(dims));
  return only(n.map(held, {z}, [&](std::span<const Expr> p) {
    return p[0] * n.number(p[0].dtype(), scale) + n.number(p[0].dtype(), mean);
  }));
}

Result<ValueIds> uniform_numbers(OpContext& n, const Exprs& dims, DType held) {
  if (!is_float(held)) return invalid_model("attribute 'dtype': expected a float, got ", held);
  TRY(const double low, n.attr_real("low", 0.0));
  TRY(const double high, n.attr_real("high", 1.0));
  TRY(Draws draws, read_draws(n, held));
  TRY(const ValueId u, draws.uniform(dims));
  return only(n.map(held, {u}, [&](std::span<const Expr> p) {
    return p[0] * n.number(p[0].dtype(), high - low) + n.number(p[0].dtype(), low);
  }));
}

Result<ValueIds> random_normal(OpContext& n) {
  TRY(const Exprs dims, shape_attribute(n));
  TRY(const DType held, n.attr_dtype("dtype", DType::f32));
  return normal_numbers(n, dims, held);
}

Result<ValueIds> random_uniform(OpContext& n) {
  TRY(const Exprs dims, shape_attribute(n));
  TRY(const DType held, n.attr_dtype("dtype", DType::f32));
  return uniform_numbers(n, dims, held);
}

Result<ValueIds> random_normal_like(OpContext& n) {
  TRY(const DType held, n.attr_dtype("dtype", n.dtype(n.in(0))));
  const Exprs dims = n.dims(n.in(0));
  return normal_numbers(n, dims, held);
}

Result<ValueIds> random_uniform_like(OpContext& n) {
  TRY(const DType held, n.attr_dtype("dtype", n.dtype(n.in(0))));
  const Exprs dims = n.dims(n.in(0));
  return uniform_numbers(n, dims, held);
}

// ---- choices ----

/// 1 with the probability that the input gives, else 0. Which half of a uniform number's range is a
/// hit is as in NumPy's binomial of one trial, by which the reference implementation draws.
Result<ValueIds> bernoulli(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  TRY(const DType held, n.attr_dtype("dtype", n.dtype(x)));
  TRY(Draws draws, read_draws(n, n.dtype(x)));
  const Exprs dims = n.dims(x);
  TRY(const ValueId u, draws.uniform(dims));
  return only(n.map(held, {u, x}, [&](std::span<const Expr> p) {
    const auto real = [&](double value) { return n.pool().real(value, p[0].dtype()); };
    const Expr probability = ingot::cast(p[1], p[0].dtype());
    const Expr hit = select(less_equal(probability, real(0.5)), less(real(1) - probability, p[0]),
                            less_equal(p[0], probability));
    if (held == DType::b8) return hit;
    return select(hit, n.number(held, 1), n.number(held, 0));
  }));
}

/// Classes [B, S] by their unnormalised log-probabilities [B, C]: where these, plus numbers of the
/// Gumbel distribution, are largest. Source: Gumbel, 1954, as told in Maddison et al., 2014.
Result<ValueIds> multinomial(OpContext& n) {
  TRY_STATUS(n.expect_floats(0, 1));
  const ValueId x = n.in(0);
  if (n.rank(x) != 2) return invalid_model("expected an input [B, C], got rank ", n.rank(x));
  TRY(const int64_t samples, n.attr_int("sample_size", 1));
  TRY(const DType held, n.attr_dtype("dtype", DType::i32));
  if (held != DType::i32 && held != DType::i64) {
    return invalid_model("attribute 'dtype': expected i32 or i64, got ", held);
  }
  if (samples < 0 || samples > kMaxDim) {
    return invalid_model("attribute 'sample_size': got ", samples);
  }
  TRY(Draws draws, read_draws(n, n.dtype(x)));
  TRY(const ValueId u, draws.independent({n.dim(x, 0), n.integer(samples), n.dim(x, 1)}));
  TRY(const ValueId row, n.reshape(x, {n.dim(x, 0), n.integer(1), n.dim(x, 1)}));
  TRY(const ValueId scores, n.map(draws.compute(), {row, u}, [](std::span<const Expr> p) {
    return ingot::cast(p[0], p[1].dtype()) - log(-log(p[1]));
  }));
  TRY(const ValueId at,
      n.add("arg_reduce", {{"max", true}, {"axis", int64_t{2}}, {"keepdims", false}}, {scores}));
  return only(n.cast(at, held));
}

/// Whether only a run, or nobody, says that it is no training.
Result<bool> may_train(OpContext& n) {
  if (!n.has(2)) return false;
  const ConstantData* given = n.graph().constant(n.in(2));
  if (given == nullptr) return true;
  TRY(const int64_t training, n.number_at(2, "training_mode"));
  return training != 0;
}

/// In training elements are 0 with probability `ratio`, the others scaled to keep the mean; the
/// mask tells which those are. Otherwise the input itself, and a mask of ones.
Result<ValueIds> dropout(OpContext& n) {
  for (const std::string_view name : {"ratio", "is_test"}) n.has_attr(name);
  const ValueId x = n.in(0);
  TRY(const int64_t given_seed, n.attr_int("seed", 0));
  TRY(const bool training, may_train(n));
  // The mask had the type of the data before opset 10.
  const DType mask_held = n.opset() < 10 ? n.dtype(x) : DType::b8;
  if (!training) {
    ValueIds ys = {x};
    if (n.wants(1)) {
      TRY(const ValueId mask, n.fill(mask_held, 1, n.dims(x)));
      ys.push_back(mask);
    }
    return ys;
  }
  TRY_STATUS(n.expect_floats(0, 2));
  const DType compute = compute_dtype(n.dtype(x));
  std::optional<double> seed;
  if (n.has_attr("seed")) seed = static_cast<double>(given_seed & 0xffffffff);
  const Exprs dims = n.dims(x);
  TRY(const ValueId u, Draws(n, seed, compute).uniform(dims));
  TRY(ValueId ratio, n.scalar(compute, 0.5));
  if (n.has(1)) {
    TRY(ratio, n.cast(n.in(1), compute));
    TRY(ratio, n.reshape(ratio, {}));
  }
  TRY(ValueId mode, n.cast(n.in(2), DType::b8));
  TRY(mode, n.reshape(mode, {}));
  TRY(const ValueId mask, n.map(DType::b8, {u, ratio, mode}, [](std::span<const Expr> p) {
    return logical_or(logical_not(p[2]), less_equal(ingot::cast(p[1], p[0].dtype()), p[0]));
  }));
  TRY(const ValueId y, n.map(n.dtype(x), {x, mask, ratio, mode}, [&](std::span<const Expr> p) {
    const Expr kept = p[0] / (n.number(compute, 1) - p[2]);
    return select(p[3], select(p[1], kept, n.number(compute, 0)), p[0]);
  }));
  return ValueIds{y, mask};
}

constexpr OpRow kRows[] = {
    {"Bernoulli", 15, 1, 1, bernoulli},
    {"Dropout", 1, 1, 3, dropout},
    {"Multinomial", 7, 1, 1, multinomial},
    {"RandomNormal", 1, 0, 0, random_normal},
    {"RandomNormalLike", 1, 1, 1, random_normal_like},
    {"RandomUniform", 1, 0, 0, random_uniform},
    {"RandomUniformLike", 1, 1, 1, random_uniform_like},
};

}  // namespace

std::span<const OpRow> random_rows() {
  return kRows;
}

}  // namespace ingot::onnx
