// ops/fusion.cc: a closed region of the graph that becomes one kernel.
#include "ops/fusion.h"

#include "ir/graph.h"
#include "ops/checks.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

Expr element_of(Lowering& outer, const Graph& body, ValueId value, std::span<const Expr> index);

/// The lowering of one node inside a body: its inputs are elements of other nodes there.
class BodyLowering : public Lowering {
 public:
  BodyLowering(Lowering& outer, const Graph& body, const Node& node)
      : outer_(outer), body_(body), node_(node) {}

  ExprPool& pool() override { return outer_.pool(); }
  size_t input_count() const override { return node_.inputs.size(); }
  bool has(size_t input) const override {
    return input < node_.inputs.size() && node_.inputs[input].valid();
  }
  const Type& input_type(size_t input) const override { return body_.type(node_.inputs[input]); }
  const Type& output_type(size_t output) const override {
    return body_.type(node_.outputs[output]);
  }
  Expr load(size_t input, std::span<const Expr> index) override {
    return element_of(outer_, body_, node_.inputs[input], index);
  }
  Expr load_if(Expr condition, size_t input, std::span<const Expr> index, Expr otherwise) override {
    const ValueId value = node_.inputs[input];
    if (!body_.value(value).producer.valid()) {
      return outer_.load_if(condition, body_.value(value).port, index, otherwise);
    }
    // The element is computed from loads that must stay inside their tensors: where the condition
    // does not hold, that of index 0 is computed instead, if there is one at all.
    Exprs safe;
    for (size_t a = 0; a < index.size(); ++a) {
      safe.push_back(select(condition, index[a], pool().integer(0)));
    }
    return select(condition, element_of(outer_, body_, value, safe), otherwise);
  }
  Expr load_plane(size_t input, StatePlane plane, Expr offset) override {
    const Value& value = body_.value(node_.inputs[input]);
    CHECK(!value.producer.valid(), "fusion: a state made inside a body has no elements");
    return outer_.load_plane(value.port, plane, offset);
  }

 private:
  Lowering& outer_;
  const Graph& body_;
  const Node& node_;
};

Expr constant_element(ExprPool& pool, const ConstantData& data) {
  auto tensor = Tensor::from_bytes(data.dtype, data.dims, data.bytes);
  CHECK(tensor && tensor->size() == 1, "fusion: a constant inside a body has one element");
  const DType compute = compute_dtype(data.dtype);
  return is_float(compute) ? pool.real(tensor->real(0), compute)
                           : pool.integer(tensor->integer(0), compute);
}

Expr element_of(Lowering& outer, const Graph& body, ValueId value, std::span<const Expr> index) {
  const Value& v = body.value(value);
  if (!v.producer.valid()) return outer.load(v.port, index);
  if (const ConstantData* data = body.constant(value)) return constant_element(outer.pool(), *data);
  const Node& node = body.node(v.producer);
  CHECK(node.op.def().lower != nullptr, "fusion: ", node.op.name(), " inside a body has no lower");
  BodyLowering inner(outer, body, node);
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
  return element_of(k, *body, body->outputs()[output].value, index);
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
