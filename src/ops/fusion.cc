// ops/fusion.cc: a closed region of the graph that becomes one kernel.
#include "ops/fusion.h"

#include <map>

#include "ir/graph.h"
#include "ops/checks.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

/// Elements of the values of a body. Each is computed once for each index, so that what chains of
/// nodes cost is their length, however often a link reads the one in front.
class Elements {
 public:
  Elements(Lowering& outer, const Graph& body) : outer_(outer), body_(body) {}

  Expr of(ValueId value, std::span<const Expr> index);

  Lowering& outer() { return outer_; }
  const Graph& body() const { return body_; }

 private:
  Expr compute(ValueId value, std::span<const Expr> index);

  Lowering& outer_;
  const Graph& body_;
  std::map<std::pair<ValueId, std::vector<uint32_t>>, Expr> known_;  // by the ids of the index
};

/// The lowering of one node inside a body: its inputs are elements of other nodes there.
class BodyLowering : public Lowering {
 public:
  BodyLowering(Elements& elements, const Node& node) : elements_(elements), node_(node) {}

  ExprPool& pool() override { return elements_.outer().pool(); }
  size_t input_count() const override { return node_.inputs.size(); }
  bool has(size_t input) const override {
    return input < node_.inputs.size() && node_.inputs[input].valid();
  }
  const Type& input_type(size_t input) const override { return body().type(node_.inputs[input]); }
  const Type& output_type(size_t output) const override {
    return body().type(node_.outputs[output]);
  }
  Expr load(size_t input, std::span<const Expr> index) override {
    return elements_.of(node_.inputs[input], index);
  }
  Expr load_if(Expr condition, size_t input, std::span<const Expr> index, Expr otherwise) override {
    const ValueId value = node_.inputs[input];
    if (!body().value(value).producer.valid()) {
      return elements_.outer().load_if(condition, body().value(value).port, index, otherwise);
    }
    // The element is computed from loads that must stay inside their tensors: where the condition
    // does not hold, that of index 0 is computed instead, if there is one at all.
    Exprs safe;
    for (size_t a = 0; a < index.size(); ++a) {
      safe.push_back(select(condition, index[a], pool().integer(0)));
    }
    return select(condition, elements_.of(value, safe), otherwise);
  }
  Expr load_plane(size_t input, StatePlane plane, Expr offset) override {
    const Value& value = body().value(node_.inputs[input]);
    CHECK(!value.producer.valid(), "fusion: a state made inside a body has no elements");
    return elements_.outer().load_plane(value.port, plane, offset);
  }

 private:
  const Graph& body() const { return elements_.body(); }

  Elements& elements_;
  const Node& node_;
};

Expr constant_element(ExprPool& pool, const ConstantData& data) {
  auto tensor = Tensor::from_bytes(data.dtype, data.dims, data.bytes);
  CHECK(tensor && tensor->size() == 1, "fusion: a constant inside a body has one element");
  const DType compute = compute_dtype(data.dtype);
  return is_float(compute) ? pool.real(tensor->real(0), compute)
                           : pool.integer(tensor->integer(0), compute);
}

Expr Elements::of(ValueId value, std::span<const Expr> index) {
  const Value& v = body_.value(value);
  if (!v.producer.valid()) return outer_.load(v.port, index);
  std::vector<uint32_t> ids;
  for (const Expr i : index) ids.push_back(i.id());
  const auto key = std::pair(value, std::move(ids));
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  const Expr element = compute(value, index);
  known_.emplace(key, element);
  return element;
}

Expr Elements::compute(ValueId value, std::span<const Expr> index) {
  const Value& v = body_.value(value);
  if (const ConstantData* data = body_.constant(value)) {
    return constant_element(outer_.pool(), *data);
  }
  const Node& node = body_.node(v.producer);
  CHECK(node.op.def().lower != nullptr, "fusion: ", node.op.name(), " inside a body has no lower");
  BodyLowering inner(*this, node);
  return node.op.def().lower(node.op.data(), inner, v.port, index);
}

}  // namespace

Result<Types> Fusion::infer(InferContext& ctx) const {
  if (body == nullptr) return invalid_argument("fusion: expected a body, got none");  // C1
  if (body->inputs().size() != ctx.count()) {                                         // C1
    return invalid_argument("fusion: expected the ", body->inputs().size(),
                            " inputs of its body, got ", ctx.count());
  }
  for (size_t k = 0; k < ctx.count(); ++k) {
    const Type& wanted = body->type(body->inputs()[k].value);
    if (!ctx.has(k) || !is_compatible(wanted, ctx.inputs[k])) {  // C2
      return invalid_argument("fusion: expected input ", k, " of type ", to_text(wanted), ", got ",
                              ctx.has(k) ? to_text(ctx.inputs[k]) : "none");
    }
  }
  Types types;
  for (const GraphOutput& output : body->outputs()) types.push_back(body->type(output.value));
  return types;
}

std::vector<Tensor> Fusion::reference(const ReferenceContext& ctx) const {
  Interpreter interpreter(*body);
  interpreter.known_symbols.assign(ctx.symbols.begin(), ctx.symbols.end());
  auto outputs = interpreter.run(ctx.in);
  CHECK(outputs, "fusion: ", to_text(outputs.error()));
  return *std::move(outputs);
}

Expr Fusion::lower(Lowering& k, size_t output, std::span<const Expr> index) const {
  return Elements(k, *body).of(body->outputs()[output].value, index);
}

Sample<Fusion> Fusion::sample(Random& rng, ExprPool& pool) {
  // The body shares the caller's pool, which outlives it.
  auto body = std::make_shared<Graph>(std::shared_ptr<ExprPool>(std::shared_ptr<void>(), &pool));
  const int64_t rank = rng.range(1, 3);
  const DType dtype = sample_float(rng);
  const TensorType type{dtype, constant_dims(pool, sample_dims(rng, rank))};
  const ValueId a = body->add_input("a", type);
  const ValueId b = body->add_input("b", type);
  const Expr p0 = pool.param(0, compute_dtype(dtype));
  const Expr p1 = pool.param(1, compute_dtype(dtype));
  const ValueId product = body->must_add(Pointwise{p0 * p1 + p0, dtype}, {a, b});
  const ValueId sum = body->must_add(
      Reduce{.kind = ReduceKind::sum, .axes = {rank - 1}, .keepdims = true}, {product});
  const ValueId scaled = body->must_add(Pointwise{p0 * tanh(p1), dtype}, {product, sum});
  body->set_outputs({{"scaled", scaled}, {"sum", sum}});
  return {{.body = std::move(body), .kind = "loops"}, {type, type}};
}

const OpDef& define_fusion() {
  return define<Fusion>();
}

}  // namespace ingot::ops
