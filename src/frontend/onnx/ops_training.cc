// frontend/onnx/ops_training.cc: one step of an optimiser (ai.onnx.preview.training).
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// What optimisers are given: a rate R, a count T of the steps before, then lists of tensors.
struct Step {
  std::vector<ValueIds> lists;  // tensors, gradients, what else is kept of each

  size_t tensors() const { return lists[0].size(); }
};

Result<Step> read_step(OpContext& n, size_t lists) {
  const ValueIds all = n.all_inputs();
  if (all.size() != n.input_count() || all.size() < 2 + lists || (all.size() - 2) % lists != 0) {
    return invalid_model("expected R, T and ", lists, " inputs for each tensor, got ", all.size());
  }
  TRY_STATUS(n.expect_floats(2, all.size()));
  Step step;
  const size_t count = (all.size() - 2) / lists;
  for (size_t k = 0; k < lists; ++k) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(2 + k * count);
    step.lists.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
  }
  for (size_t k = 1; k < lists; ++k) {
    for (size_t i = 0; i < count; ++i) {
      if (n.dtype(step.lists[k][i]) != n.dtype(step.lists[0][i])) {
        return invalid_model("expected all inputs of one tensor in its type");
      }
    }
  }
  return step;
}

/// Operands of a step of tensor i: R, T, then its member of each list.
ValueIds operands_of(OpContext& n, const Step& step, size_t i) {
  ValueIds xs = {n.in(0), n.in(1)};
  for (const ValueIds& list : step.lists) xs.push_back(list[i]);
  return xs;
}

/// The numbers that one step computes from R, T and a tensor's members: new values, one a list of
/// outputs, in the type of computation.
using Update = std::function<Exprs(std::span<const Expr>)>;

/// Outputs: the new tensors, then each list of what is kept of them.
Result<ValueIds> update_all(OpContext& n, const Step& step, size_t results, const Update& update) {
  ValueIds outputs(results * step.tensors());
  for (size_t i = 0; i < step.tensors(); ++i) {
    const DType held = n.dtype(step.lists[0][i]);
    const DType compute = compute_dtype(held);
    for (size_t k = 0; k < results; ++k) {
      TRY(outputs[k * step.tensors() + i],
          n.map(held, operands_of(n, step, i), [&](std::span<const Expr> p) {
            Exprs wide;
            for (const Expr e : p) wide.push_back(ingot::cast(e, compute));
            return update(wide)[k];
          }));
    }
  }
  return outputs;
}

Expr real(Expr like, double value) {
  return like.pool().real(value, like.dtype());
}

/// Source: Duchi et al., Adaptive Subgradient Methods, 2011, as in ONNX Adagrad-1.
Result<ValueIds> adagrad(OpContext& n) {
  TRY(const double decay, n.attr_real("decay_factor", 0.0));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-6));
  TRY(const double norm, n.attr_real("norm_coefficient", 0.0));
  TRY(const Step step, read_step(n, 3));
  return update_all(n, step, 2, [&](std::span<const Expr> p) {
    const Expr rate = p[0] / (real(p[0], 1) + p[1] * real(p[0], decay));
    const Expr gradient = real(p[2], norm) * p[2] + p[3];
    const Expr squares = p[4] + gradient * gradient;
    return Exprs{p[2] - rate * gradient / (sqrt(squares) + real(squares, epsilon)), squares};
  });
}

/// Source: Kingma and Ba, Adam, 2014, as in ONNX Adam-1.
Result<ValueIds> adam(OpContext& n) {
  TRY(const double alpha, n.attr_real("alpha", 0.9));
  TRY(const double beta, n.attr_real("beta", 0.999));
  TRY(const double epsilon, n.attr_real("epsilon", 1e-6));
  TRY(const double norm, n.attr_real("norm_coefficient", 0.0));
  TRY(const double post, n.attr_real("norm_coefficient_post", 0.0));
  TRY(const Step step, read_step(n, 4));
  return update_all(n, step, 3, [&](std::span<const Expr> p) {
    const auto c = [&](double value) { return real(p[0], value); };
    const Expr gradient = c(norm) * p[2] + p[3];
    const Expr mean = c(alpha) * p[4] + c(1 - alpha) * gradient;
    const Expr squares = c(beta) * p[5] + c(1 - beta) * gradient * gradient;
    const Expr adjusted = p[0] * sqrt(c(1) - pow(c(beta), p[1])) / (c(1) - pow(c(alpha), p[1]));
    const Expr rate = select(less(c(0), p[1]), adjusted, p[0]);
    const Expr next = p[2] - rate * mean / (sqrt(squares) + c(epsilon));
    return Exprs{c(1 - post) * next, mean, squares};
  });
}

/// Source: ONNX Momentum-1.
Result<ValueIds> momentum(OpContext& n) {
  constexpr std::string_view kModes[] = {"standard", "nesterov"};
  TRY(const double alpha, n.attr_real("alpha"));
  TRY(const double beta, n.attr_real("beta"));
  TRY(const double norm, n.attr_real("norm_coefficient"));
  TRY(const size_t mode, n.attr_choice("mode", kModes, 0));
  TRY(const Step step, read_step(n, 3));
  return update_all(n, step, 2, [&](std::span<const Expr> p) {
    const auto c = [&](double value) { return real(p[0], value); };
    const Expr gradient = c(norm) * p[2] + p[3];
    const Expr weight = select(less(c(0), p[1]), c(beta), c(1));
    const Expr moment = c(alpha) * p[4] + weight * gradient;
    const Expr way = mode == 1 ? gradient + c(alpha) * moment : moment;
    return Exprs{p[2] - p[0] * way, moment};
  });
}

constexpr OpRow kRows[] = {
    {"ai.onnx.preview.training.Adagrad", 1, 2, kVariadic, adagrad},
    {"ai.onnx.preview.training.Adam", 1, 2, kVariadic, adam},
    {"ai.onnx.preview.training.Momentum", 1, 2, kVariadic, momentum},
};

}  // namespace

std::span<const OpRow> training_rows() {
  return kRows;
}

}  // namespace ingot::onnx
