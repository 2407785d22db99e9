// ir/test_ops.h: small operators for the tests of this folder, which cannot see src/ops.
#pragma once

#include "ir/graph.h"

namespace ingot::test_ops {

/// y = 2 x.
struct Twice {
  static constexpr std::string_view kName = "twice";
  static constexpr std::string_view kDoc = "y = 2 x.";
  static constexpr std::array kInputs = {Port{"x", "any tensor"}};
  static constexpr std::array kOutputs = {Port{"y", "like x"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const {
    if (!ctx.inputs[0].is_tensor()) return invalid_argument("twice: expected a tensor");
    return Types{ctx.inputs[0]};
  }
  std::vector<Tensor> reference(const ReferenceContext& ctx) const {
    Tensor y = ctx.make_output();
    for (int64_t k = 0; k < y.size(); ++k) y.set_real(k, 2 * ctx.in[0].real(k));
    return {y};
  }
  Expr lower(Lowering& k, size_t, std::span<const Expr> index) const {
    const Expr x = k.load(0, index);
    return x + x;
  }
  static Sample<Twice> sample(Random&) { return {}; }
};

/// y = the dims of x.
struct Shape {
  static constexpr std::string_view kName = "shape";
  static constexpr std::string_view kDoc = "y = dims of x.";
  static constexpr std::array kInputs = {Port{"x", "any tensor"}};
  static constexpr std::array kOutputs = {Port{"y", "i64[rank]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const {
    return Types{TensorType{DType::i64, {ctx.pool.integer(ctx.tensor(0).rank())}}};
  }
  std::vector<Tensor> reference(const ReferenceContext& ctx) const {
    return {Tensor::of_ints(ctx.in[0].dims())};
  }
  Expr lower(Lowering& k, size_t, std::span<const Expr> index) const {
    Expr y = k.integer(0);
    for (int64_t a = 0; a < k.tensor(0).rank(); ++a) {
      y = select(equal(index[0], k.integer(a)), k.dim(0, a), y);
    }
    return y;
  }
  static Sample<Shape> sample(Random&) { return {}; }
};

/// y = product of all elements of x [n].
struct Product {
  static constexpr std::string_view kName = "product_of";
  static constexpr std::string_view kDoc = "y = product of x.";
  static constexpr std::array kInputs = {Port{"x", "a vector"}};
  static constexpr std::array kOutputs = {Port{"y", "a scalar"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const {
    return Types{TensorType{ctx.tensor(0).dtype, {}}};
  }
  std::vector<Tensor> reference(const ReferenceContext& ctx) const {
    Tensor y = ctx.make_output();
    y.set_real(0, 1);
    for (int64_t k = 0; k < ctx.in[0].size(); ++k) y.set_real(0, y.real(0) * ctx.in[0].real(k));
    return {y};
  }
  Expr lower(Lowering& k, size_t, std::span<const Expr>) const {
    return k.reduce(ReduceKind::product, k.dim(0, 0),
                    [&](Expr j) { return k.load(0, std::span(&j, 1)); });
  }
  static Sample<Product> sample(Random&) { return {}; }
};

/// y = a + b, whose dims must agree.
struct Sum {
  static constexpr std::string_view kName = "sum_of";
  static constexpr std::string_view kDoc = "y = a + b.";
  static constexpr std::array kInputs = {Port{"a", ""}, Port{"b", ""},
                                         Port{"c", "", PortKind::optional}};
  static constexpr std::array kOutputs = {Port{"y", ""}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const {
    for (size_t k = 1; k < ctx.count(); ++k) {
      if (!ctx.has(k)) continue;
      if (ctx.tensor(k).rank() != ctx.tensor(0).rank()) {
        return invalid_argument("sum_of: expected operands of one rank");
      }
      for (size_t a = 0; a < ctx.tensor(0).dims.size(); ++a) {
        if (!ctx.assume_equal(ctx.tensor(0).dims[a], ctx.tensor(k).dims[a], "operands of sum_of")) {
          return invalid_argument("sum_of: expected dims that agree, got ", ctx.tensor(0), " and ",
                                  ctx.tensor(k));
        }
      }
    }
    return Types{ctx.inputs[0]};
  }
  std::vector<Tensor> reference(const ReferenceContext& ctx) const {
    Tensor y = ctx.make_output();
    for (int64_t k = 0; k < y.size(); ++k) {
      double sum = 0;
      for (size_t i = 0; i < ctx.in.size(); ++i) sum += ctx.has(i) ? ctx.in[i].real(k) : 0;
      y.set_real(k, sum);
    }
    return {y};
  }
  static Sample<Sum> sample(Random&) { return {}; }
};

/// y = 4 x, by way of two `twice`.
struct FourTimes {
  static constexpr std::string_view kName = "four_times";
  static constexpr std::string_view kDoc = "y = 4 x.";
  static constexpr std::array kInputs = {Port{"x", ""}};
  static constexpr std::array kOutputs = {Port{"y", ""}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const { return Types{ctx.inputs[0]}; }
  std::vector<ValueId> expand(Expansion& g, std::span<const ValueId> in) const {
    return {g.add(Twice{}, {g.add(Twice{}, {in[0]})})};
  }
  static Sample<FourTimes> sample(Random&) { return {}; }
};

/// The positions of the elements of x [n] that are not 0, and how many there are.
struct Positions {
  static constexpr std::string_view kName = "positions";
  static constexpr std::string_view kDoc = "y = positions of elements that are not 0.";
  static constexpr std::array kInputs = {Port{"x", "a vector"}};
  static constexpr std::array kOutputs = {Port{"y", "i64[n]"}};
  static constexpr auto kFields = std::tuple{};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const {
    return Types{TensorType{DType::i64, {ctx.pool.fresh_symbol("found", true)}}};
  }
  std::vector<Tensor> reference(const ReferenceContext& ctx) const {
    std::vector<int64_t> found;
    for (int64_t k = 0; k < ctx.in[0].size(); ++k) {
      if (ctx.in[0].real(k) != 0) found.push_back(k);
    }
    return {Tensor::of_ints(found)};
  }
  static Sample<Positions> sample(Random&) { return {}; }
};

/// One attribute of every kind.
struct Everything {
  bool flag = false;
  int64_t integer = 0;
  double real = 0;
  std::string text = {};
  DType dtype = DType::f32;
  ReduceKind kind = ReduceKind::sum;
  std::vector<int64_t> integers = {};
  std::vector<double> reals = {};
  std::vector<std::string> texts = {};
  Expr value = {};
  Exprs dims = {};
  ConstantData data = {};
  GraphRef body = {};

  static constexpr std::string_view kName = "everything";
  static constexpr std::string_view kDoc = "y = x, with attributes.";
  static constexpr std::array kInputs = {Port{"x", "", PortKind::optional}};
  static constexpr std::array kOutputs = {Port{"y", ""}};
  static constexpr auto kFields =
      std::tuple{field("flag", &Everything::flag),         field("integer", &Everything::integer),
                 field("real", &Everything::real),         field("text", &Everything::text),
                 field("dtype", &Everything::dtype),       field("kind", &Everything::kind),
                 field("integers", &Everything::integers), field("reals", &Everything::reals),
                 field("texts", &Everything::texts),       field("value", &Everything::value),
                 field("dims", &Everything::dims),         field("data", &Everything::data),
                 field("body", &Everything::body)};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext&) const { return Types{TensorType{}}; }
  std::vector<Tensor> reference(const ReferenceContext&) const {
    return {Tensor::scalar(DType::f32, 0)};
  }
  static Sample<Everything> sample(Random&) { return {}; }
};

inline const OpDef* lookup(std::string_view name) {
  for (const OpDef* def : {&op_def<Twice>(), &op_def<Shape>(), &op_def<Product>(), &op_def<Sum>(),
                           &op_def<FourTimes>(), &op_def<Positions>(), &op_def<Everything>()}) {
    if (def->name == name) return def;
  }
  return nullptr;
}

}  // namespace ingot::test_ops
