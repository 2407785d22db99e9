// frontend/onnx/ops_ml_svm.cc: ai.onnx.ml: support vector machines.
#include <algorithm>
#include <cmath>

#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"
#include "ops/control.h"

namespace ingot::onnx {
namespace {

enum class KernelKind : uint8_t { linear, poly, rbf, sigmoid };

struct SvmKernel {
  KernelKind kind = KernelKind::linear;
  double gamma = 0, coefficient = 0, degree = 0;
};

Result<SvmKernel> read_kernel(OpContext& n) {
  constexpr std::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  SvmKernel kernel;
  TRY(const size_t kind, n.attr_choice("kernel_type", kNames, 0));
  kernel.kind = static_cast<KernelKind>(kind);
  TRY(const std::vector<double> params, n.attr_reals("kernel_params"));
  if (params.empty()) return kernel;
  if (params.size() != 3) {
    return invalid_model("attribute 'kernel_params': expected 3 numbers, got ", params.size());
  }
  kernel.gamma = params[0];
  kernel.coefficient = params[1];
  kernel.degree = params[2];
  return kernel;
}

/// The kernel of each row of x [N, F] with each of `count` vectors: [N, count].
Result<ValueId> apply_kernel(OpContext& n, ValueId x, const std::vector<double>& vectors,
                             int64_t count, const SvmKernel& kernel) {
  const auto real = [](Expr like, double value) { return like.pool().real(value, like.dtype()); };
  if (kernel.kind == KernelKind::rbf) {
    const auto size = static_cast<int64_t>(vectors.size());
    if (count < 1 || size % count != 0) {
      return invalid_model("attribute 'support_vectors': ", size, " numbers are no ", count,
                           " vectors");
    }
    const ValueId rows = number_constant(n, n.dtype(x), vectors, {1, count, size / count});
    TRY(const ValueId each, n.reshape(x, {n.dim(x, 0), n.integer(1), n.dim(x, 1)}));
    TRY(const ValueId squares,
        n.map2(each, rows, [](Expr a, Expr b) { return (a - b) * (a - b); }));
    TRY(const ValueId distance, n.reduce(ReduceKind::sum, squares, {2}, false));
    return n.map1(distance, [&](Expr e) { return exp(real(e, -kernel.gamma) * e); });
  }
  TRY(const ValueId dot, linear_scores(n, x, vectors, count, {}));
  if (kernel.kind == KernelKind::linear) return dot;
  return n.map1(dot, [&](Expr e) {
    const Expr inner = e * real(e, kernel.gamma) + real(e, kernel.coefficient);
    return kernel.kind == KernelKind::sigmoid ? tanh(inner) : pow(inner, real(e, kernel.degree));
  });
}

Result<ValueIds> svm_regressor(OpContext& n) {
  TRY(const ValueId x, feature_rows(n));
  TRY(const std::vector<double> coefficients, n.attr_reals("coefficients"));
  TRY(const std::vector<double> vectors, n.attr_reals("support_vectors"));
  TRY(const std::vector<double> rho, n.attr_reals("rho"));
  TRY(const int64_t supports, n.attr_int("n_supports", 0));
  TRY(const bool one_class, n.attr_flag("one_class", false));
  TRY(const PostTransform post, read_post_transform(n));
  TRY(const SvmKernel kernel, read_kernel(n));
  if (rho.empty()) return invalid_model("attribute 'rho': expected a number");
  ValueId terms = x;
  if (supports > 0) {
    TRY(terms, apply_kernel(n, x, vectors, supports, kernel));
  }
  TRY(ValueId y, linear_scores(n, terms, coefficients, 1, {rho[0]}));
  if (one_class) {
    TRY(y, n.map1(y, [&](Expr e) {
      const auto real = [&](double value) { return n.number(e.dtype(), value); };
      return select(less(real(0), e), real(1), real(-1));
    }));
  }
  TRY(y, post_transformed(n, y, post));
  return only(n.cast(y, DType::f32));
}

/// What a support vector classifier says.
struct Svm {
  std::vector<double> coefficients, vectors, rho, prob_a, prob_b;
  std::vector<int64_t> per_class;  // support vectors; none: a linear model
  int64_t classes = 1;
  SvmKernel kernel;

  int64_t pairs() const { return classes * (classes - 1) / 2; }
};

/// Each pair's classifier: scores [N, pairs], of which a positive one is a vote for the first
/// class. Source: LIBSVM, svm_predict_values.
Result<ValueId> pair_scores(OpContext& n, ValueId x, const Svm& svm) {
  int64_t total = 0;
  std::vector<int64_t> starts;
  for (const int64_t count : svm.per_class) {
    starts.push_back(total);
    if (count < 0 || count > kMaxDim) {
      return invalid_model("attribute 'vectors_per_class': expected 0 to ", kMaxDim, ", got ",
                           count);
    }
    total += count;
  }
  const auto size = static_cast<int64_t>(svm.coefficients.size());
  if (static_cast<int64_t>(starts.size()) != svm.classes || size != (svm.classes - 1) * total) {
    return invalid_model("expected ", svm.classes, " classes of vectors and ", svm.classes - 1,
                         " coefficients of each of ", total);
  }
  if (static_cast<int64_t>(svm.rho.size()) != svm.pairs()) {
    return invalid_model("attribute 'rho': expected ", svm.pairs(), " numbers, got ",
                         svm.rho.size());
  }
  TRY(const ValueId kernels, apply_kernel(n, x, svm.vectors, total, svm.kernel));
  // One row of weights a pair: those of the first class' vectors are in row j - 1.
  std::vector<double> weights(static_cast<size_t>(svm.pairs() * total), 0.0);
  int64_t pair = 0;
  for (int64_t i = 0; i < svm.classes; ++i) {
    for (int64_t j = i + 1; j < svm.classes; ++j, ++pair) {
      const auto copy = [&](int64_t of, int64_t row) {
        for (int64_t k = 0; k < svm.per_class[static_cast<size_t>(of)]; ++k) {
          const int64_t at = starts[static_cast<size_t>(of)] + k;
          weights[static_cast<size_t>(pair * total + at)] =
              svm.coefficients[static_cast<size_t>(row * total + at)];
        }
      };
      copy(i, j - 1);
      copy(j, i);
    }
  }
  return linear_scores(n, kernels, weights, svm.pairs(), svm.rho);
}

/// Votes of the pairs for each class, [N, classes].
Result<ValueId> count_votes(OpContext& n, const Svm& svm, ValueId scores) {
  ValueIds columns, votes;
  for (int64_t pair = 0; pair < svm.pairs(); ++pair) {
    TRY(columns.emplace_back(), n.slice_axis(scores, 1, n.integer(pair), n.integer(1)));
  }
  for (int64_t c = 0; c < svm.classes; ++c) {
    ValueIds own;
    std::vector<bool> first;
    int64_t pair = 0;
    for (int64_t i = 0; i < svm.classes; ++i) {
      for (int64_t j = i + 1; j < svm.classes; ++j, ++pair) {
        if (i != c && j != c) continue;
        own.push_back(columns[static_cast<size_t>(pair)]);
        first.push_back(i == c);
      }
    }
    TRY(votes.emplace_back(), n.map(n.dtype(scores), own, [&](std::span<const Expr> p) {
      Expr sum = n.number(p[0].dtype(), 0);
      for (size_t k = 0; k < p.size(); ++k) {
        const Expr won = less(n.number(p[k].dtype(), 0), p[k]);
        const Expr mine = first[k] ? won : logical_not(won);
        sum = sum + select(mine, n.number(p[k].dtype(), 1), n.number(p[k].dtype(), 0));
      }
      return sum;
    }));
  }
  return n.concat(std::move(votes), 1);
}

// ---- probabilities ----

/// The classes' probabilities [N, k] from those r of pairs (r[i][j]: class i, where i or j is
/// right), by the steps of LIBSVM: rows that have converged stay.
/// Source: Wu, Lin and Weng, Probability Estimates for Multi-class Classification (2004), the
/// second approach, as in LIBSVM's multiclass_probability.
class Coupling {
 public:
  /// Columns [N, 1] of r, row by row; those on the diagonal are none.
  Coupling(OpContext& n, int64_t classes, const ValueIds& r)
      : n_(n),
        classes_(classes),
        r_(r),
        body_(std::make_shared<Graph>(n.graph().shared_pool())),
        b_(*body_, n.provenance()) {}

  Result<ValueId> run();

 private:
  ValueId r(int64_t i, int64_t j) const { return r_[static_cast<size_t>(i * classes_ + j)]; }
  ValueId capture(std::string name, ValueId outer) {
    operands_.push_back(outer);
    return body_->add_input(std::move(name), n_.graph().type(outer));
  }
  Result<ValueIds> make_rows();
  Result<ValueIds> step(const ValueIds& rows, ValueId p, ValueId done);

  OpContext& n_;
  int64_t classes_;
  const ValueIds& r_;
  std::shared_ptr<Graph> body_;
  Builder b_;
  ValueIds operands_;
};

/// The matrix of the quadratic form, as one [N, k] a row.
Result<ValueIds> Coupling::make_rows() {
  ValueIds rows;
  for (int64_t t = 0; t < classes_; ++t) {
    ValueIds columns;
    for (int64_t j = 0; j < classes_; ++j) {
      if (j != t) {
        TRY(columns.emplace_back(),
            n_.map2(r(j, t), r(t, j), [](Expr a, Expr b) { return -(a * b); }));
        continue;
      }
      ValueIds others;
      for (int64_t k = 0; k < classes_; ++k) {
        if (k != t) others.push_back(r(k, t));
      }
      TRY(columns.emplace_back(), n_.map(n_.dtype(others[0]), others, [](std::span<const Expr> p) {
        Expr sum = p[0] * p[0];
        for (size_t k = 1; k < p.size(); ++k) sum = sum + p[k] * p[k];
        return sum;
      }));
    }
    TRY(rows.emplace_back(), n_.concat(std::move(columns), 1));
  }
  return rows;
}

/// p and whether it stays, after one round over all classes.
Result<ValueIds> Coupling::step(const ValueIds& rows, ValueId p, ValueId done) {
  const DType compute = b_.dtype(p);
  const double epsilon = 0.005 / static_cast<double>(classes_);
  ValueIds columns;
  for (const ValueId row : rows) {
    TRY(const ValueId terms, b_.map2(row, p, [](Expr a, Expr b) { return a * b; }));
    TRY(columns.emplace_back(), b_.reduce(ReduceKind::sum, terms, {1}, true));
  }
  TRY(ValueId qp, b_.concat(std::move(columns), 1));
  TRY(const ValueId terms, b_.map2(qp, p, [](Expr a, Expr b) { return a * b; }));
  TRY(ValueId pqp, b_.reduce(ReduceKind::sum, terms, {1}, true));
  TRY(const ValueId errors,
      b_.map2(qp, pqp, [](Expr a, Expr b) { return unary(ExprKind::abs, a - b); }));
  TRY(const ValueId error, b_.reduce(ReduceKind::max, errors, {1}, true));
  TRY(const ValueId stays, b_.map(DType::b8, {done, error}, [&](std::span<const Expr> e) {
    return logical_or(e[0], less(e[1], b_.number(compute, epsilon)));
  }));
  ValueId next = p;
  TRY(const ValueId number, b_.iota({b_.integer(classes_)}, 0));
  for (int64_t t = 0; t < classes_; ++t) {
    const ValueId row = rows[static_cast<size_t>(t)];
    TRY(const ValueId own, b_.slice_axis(qp, 1, b_.integer(t), b_.integer(1)));
    TRY(const ValueId diagonal, b_.slice_axis(row, 1, b_.integer(t), b_.integer(1)));
    TRY(const ValueId move, b_.map(compute, {own, pqp, diagonal},
                                   [](std::span<const Expr> e) { return (e[1] - e[0]) / e[2]; }));
    const auto scaled = [&](Expr value, Expr by) { return value / (b_.number(compute, 1) + by); };
    TRY(next, b_.map(compute, {next, move, number}, [&](std::span<const Expr> e) {
      const Expr mine = equal(e[2], b_.integer(t));
      return scaled(select(mine, e[0] + e[1], e[0]), e[1]);
    }));
    TRY(pqp, b_.map(compute, {pqp, move, diagonal, own}, [&](std::span<const Expr> e) {
      const Expr sum = e[0] + e[1] * (e[1] * e[2] + b_.number(compute, 2) * e[3]);
      return scaled(scaled(sum, e[1]), e[1]);
    }));
    TRY(qp, b_.map(compute, {qp, move, row},
                   [&](std::span<const Expr> e) { return scaled(e[0] + e[1] * e[2], e[1]); }));
  }
  TRY(next, b_.map(compute, {p, next, stays},
                   [](std::span<const Expr> e) { return select(e[2], e[0], e[1]); }));
  return ValueIds{next, stays};
}

Result<ValueId> Coupling::run() {
  const int64_t rounds = std::max<int64_t>(100, classes_);
  const Expr count = n_.dim(r(0, 1), 0);
  TRY(const ValueIds rows, make_rows());
  TRY(const ValueId start, n_.fill(n_.dtype(rows[0]), 1.0 / static_cast<double>(classes_),
                                   {count, n_.integer(classes_)}));
  TRY(const ValueId nothing, n_.fill(DType::b8, 0, {count, n_.integer(1)}));
  TRY(const ValueId trips, n_.scalar(DType::i64, static_cast<double>(rounds)));
  TRY(const ValueId yes, n_.scalar(DType::b8, 1));
  capture("turn", trips);
  const ValueId condition = capture("condition", yes);
  const ValueId p = capture("p", start), done = capture("done", nothing);
  ValueIds inside;
  for (const ValueId row : rows) inside.push_back(capture("row", row));
  TRY(const ValueIds after, step(inside, p, done));
  body_->set_outputs({{"condition", condition}, {"p", after[0]}, {"done", after[1]}});
  ops::Loop loop;
  loop.body = body_;
  loop.carried = 2;
  loop.trip_count = {n_.integer(rounds)};
  TRY(const ValueIds results,
      n_.graph().add(make_op(std::move(loop)), std::move(operands_), {n_.provenance()}));
  return results[0];
}

/// The probabilities of the classes [N, classes] by the scores of pairs.
Result<ValueId> probabilities(OpContext& n, const Svm& svm, ValueId scores) {
  constexpr double kLeast = 1e-7;
  constexpr int64_t kMostClasses = 64;  // each is written out
  const auto pairs = static_cast<size_t>(svm.pairs());
  if (svm.prob_a.size() != pairs || svm.prob_b.size() != pairs) {
    return invalid_model("expected ", pairs, " numbers of prob_a and prob_b");
  }
  if (svm.classes > kMostClasses) return unsupported("probabilities of ", svm.classes, " classes");
  ValueIds r(static_cast<size_t>(svm.classes * svm.classes));
  size_t pair = 0;
  for (int64_t i = 0; i < svm.classes; ++i) {
    for (int64_t j = i + 1; j < svm.classes; ++j, ++pair) {
      TRY(const ValueId column,
          n.slice_axis(scores, 1, n.integer(static_cast<int64_t>(pair)), n.integer(1)));
      const size_t at = static_cast<size_t>(i * svm.classes + j);
      const size_t turned = static_cast<size_t>(j * svm.classes + i);
      TRY(r[at], n.map1(column, [&](Expr e) {
        const auto real = [&](double value) { return n.number(e.dtype(), value); };
        const Expr value = e * real(svm.prob_a[pair]) + real(svm.prob_b[pair]);
        return min(max(unary(ExprKind::sigmoid, -value), real(kLeast)), real(1 - kLeast));
      }));
      TRY(r[turned], n.map1(r[at], [&](Expr e) { return n.number(e.dtype(), 1) - e; }));
    }
  }
  return Coupling(n, svm.classes, r).run();
}

/// What the scores of one class or pair become, and the class: onnxruntime's write_scores.
struct Decision {
  ValueId classes, scores;
};

/// The class and the two scores by one score, positive for the second of two classes.
Result<Decision> decide_binary(OpContext& n, const Svm& svm, const ClassLabels& labels,
                               ValueId scores, ValueId votes, PostTransform post) {
  Decision d;
  // onnxruntime's choice, which the standard leaves open.
  const Other other = post == PostTransform::none ? Other::opposite : Other::complement;
  TRY(d.scores, two_scores(n, scores, other, post));
  ValueId best = votes.valid() ? votes : scores;
  TRY(best, largest_of(n, best));
  TRY(const ValueId most, n.reduce(ReduceKind::max, votes.valid() ? votes : scores, {1}, false));
  if (labels.size == 2) {
    const bool positive = std::ranges::all_of(svm.coefficients, [](double c) { return c >= 0; });
    TRY(best, n.map(DType::i64, {best, most}, [&](std::span<const Expr> p) {
      if (!positive) return p[0];
      return select(less_equal(n.number(p[1].dtype(), 0.5), p[1]), n.integer(1), p[0]);
    }));
    TRY(d.classes, labels_of(n, labels, best));
    return d;
  }
  TRY(d.classes, n.map(DType::i64, {most}, [&](std::span<const Expr> p) {
    return select(less(n.number(p[0].dtype(), 0), p[0]), n.integer(1), n.integer(0));
  }));
  return d;
}

/// Source: ONNX SVMClassifier-1, as onnxruntime and the reference evaluator have it.
Result<ValueIds> svm_classifier(OpContext& n) {
  TRY(const ValueId x, feature_rows(n));
  Svm svm;
  TRY(svm.coefficients, n.attr_reals("coefficients"));
  TRY(svm.vectors, n.attr_reals("support_vectors"));
  TRY(svm.rho, n.attr_reals("rho"));
  TRY(svm.prob_a, n.attr_reals("prob_a"));
  TRY(svm.prob_b, n.attr_reals("prob_b"));
  TRY(svm.per_class, n.attr_ints("vectors_per_class"));
  TRY(svm.kernel, read_kernel(n));
  TRY(const PostTransform post, read_post_transform(n));
  TRY(const ClassLabels labels, read_class_labels(n, "classlabels_ints", "classlabels_strings"));
  svm.classes = std::max<int64_t>(labels.size, 1);
  if (svm.rho.empty()) return invalid_model("attribute 'rho': expected a number");
  ValueId scores, votes;
  if (svm.per_class.empty()) {
    const std::vector<double> rho(static_cast<size_t>(svm.classes), svm.rho[0]);
    TRY(scores, linear_scores(n, x, svm.coefficients, svm.classes, rho));
  } else {
    if (svm.classes < 2) return unsupported("one class of support vectors");
    TRY(scores, pair_scores(n, x, svm));
    TRY(votes, count_votes(n, svm, scores));
    if (!svm.prob_a.empty()) {
      TRY(scores, probabilities(n, svm, scores));
    }
  }
  Decision d;
  if (n.dim(scores, 1).is_int(1)) {
    TRY(d, decide_binary(n, svm, labels, scores, votes, post));
  } else {
    TRY(d.scores, post_transformed(n, scores, post));
    TRY(d.classes, largest_of(n, votes.valid() ? votes : scores));
    TRY(d.classes, labels_of(n, labels, d.classes));
  }
  TRY(const ValueId stored, n.cast(d.scores, DType::f32));
  return ValueIds{d.classes, stored};
}

constexpr OpRow kRows[] = {
    {"ai.onnx.ml.SVMClassifier", 1, 1, 1, svm_classifier},
    {"ai.onnx.ml.SVMRegressor", 1, 1, 1, svm_regressor},
};

}  // namespace

std::span<const OpRow> ml_svm_rows() {
  return kRows;
}

}  // namespace ingot::onnx
