// passes/fold_constants.cc: values that are known become constants.
#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "passes/constants.h"
#include "passes/passes.h"

namespace ingot {
namespace {

constexpr int64_t kMaxOutputElements = 256;  // 1 KiB of f32: a literal, not a weight
constexpr int64_t kMaxInputElements = 1024;  // read by one folded op
constexpr int64_t kMaxContents = 64;         // elements of shape arithmetic

std::optional<int64_t> element_count_of(const Type& type) {
  if (!type.is_tensor()) return std::nullopt;
  int64_t count = 1;
  for (const Expr dim : type.tensor.dims) {
    const auto value = dim.as_int();
    if (!value || __builtin_mul_overflow(count, *value, &count)) return std::nullopt;
  }
  return count;
}

class ConstantFolder {
 public:
  explicit ConstantFolder(Graph& graph) : graph_(graph), contents_(graph) {}

  void run(bool fold_shapes) {
    for (const NodeId id : graph_.nodes()) {
      if (graph_.node(id).op.is<Constant>() || graph_.node(id).op.is<Unimplemented>()) continue;
      if (const auto results = compute(id)) {
        replace(id, *results);
      } else if (const auto contents = find_contents(id)) {
        if (const auto tensor = as_tensor(id, *contents)) {
          replace(id, {*tensor});
        } else if (fold_shapes && contents->size() == 1) {
          replace_by_expression(id, (*contents)[0]);
        }
      }
    }
  }

 private:
  bool is_small(NodeId id) const {
    const Node& node = graph_.node(id);
    int64_t read = 0;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      const ConstantData* data = graph_.constant(input);
      if (data == nullptr || is_complex(data->dtype)) return false;
      read += count_of(data->dims);
    }
    if (read > kMaxInputElements) return false;
    for (const ValueId output : node.outputs) {
      const auto count = element_count_of(graph_.type(output));
      if (!count || *count > kMaxOutputElements) return false;
      if (is_complex(graph_.tensor(output).dtype)) return false;
    }
    return true;
  }

  std::optional<std::vector<Tensor>> compute(NodeId id) const {
    const Node& node = graph_.node(id);
    const OpDef& def = node.op.def();
    if (def.reference == nullptr || def.accuracy.kind == Accuracy::Kind::random) {
      return std::nullopt;
    }
    if (!is_small(id) || depends_on_symbols(node.op)) return std::nullopt;
    std::vector<Tensor> in;
    ReferenceContext ctx;
    for (const ValueId input : node.inputs) {
      ctx.present.push_back(input.valid());
      if (!input.valid()) {
        in.emplace_back(DType::f32, std::vector<int64_t>{0});
        continue;
      }
      auto tensor = to_tensor(*graph_.constant(input));
      if (!tensor) return std::nullopt;
      in.push_back(std::move(*tensor));
    }
    ctx.in = in;
    for (const ValueId output : node.outputs) {
      ctx.out_dims.push_back(*static_dims(graph_.tensor(output)));
      ctx.out_dtypes.push_back(graph_.tensor(output).dtype);
    }
    auto results = def.reference(node.op.data(), ctx);
    if (ctx.failure) return std::nullopt;  // the run says so
    return results;
  }

  /// The elements of an integer tensor whose values follow from dims alone.
  std::optional<Exprs> find_contents(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || node.op.def().lower == nullptr) return std::nullopt;
    return contents_.find(node.outputs[0], kMaxContents);
  }

  std::optional<Tensor> as_tensor(NodeId id, const Exprs& contents) const {
    const TensorType& type = graph_.tensor(graph_.node(id).outputs[0]);
    Tensor tensor(type.dtype, *static_dims(type));
    for (size_t k = 0; k < contents.size(); ++k) {
      const auto value = contents[k].as_int();
      if (!value) return std::nullopt;
      tensor.set_integer(static_cast<int64_t>(k), *value);
    }
    return tensor;
  }

  /// One number that follows from symbols becomes a pointwise op without operands. A symbol that is
  /// known only after some kernel ran cannot be used: nothing would say that the kernel comes
  /// first.
  void replace_by_expression(NodeId id, Expr value) {
    const ValueId output = graph_.node(id).outputs[0];
    if (is_expression_already(id)) return;
    bool is_early = true;
    for_each(value, [&](Expr e) {
      if (e.kind() != ExprKind::symbol) return;
      is_early = is_early && !std::as_const(graph_.pool()).symbol_info(e.symbol()).data_dependent;
    });
    if (!is_early) return;
    const TensorType type = graph_.tensor(output);
    const std::vector<std::string> provenance = graph_.node(id).provenance;
    ValueId result = graph_.must_add(ops::Pointwise{value, type.dtype}, {}, provenance);
    if (type.rank() > 0) result = graph_.must_add(ops::Reshape{type.dims}, {result}, provenance);
    graph_.set_value_name(result, graph_.value(output).name);
    graph_.replace_uses(output, result);
  }

  bool is_expression_already(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.inputs.empty()) return true;
    if (!node.op.is<ops::Reshape>()) return false;
    const auto* source = graph_.producer_as<ops::Pointwise>(node.inputs[0]);
    return source != nullptr && graph_.node(graph_.value(node.inputs[0]).producer).inputs.empty();
  }

  void replace(NodeId id, const std::vector<Tensor>& results) {
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    const std::vector<std::string> provenance = graph_.node(id).provenance;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const ValueId constant = graph_.must_add(Constant{to_constant(results[k])}, {}, provenance);
      graph_.set_value_name(constant, graph_.value(outputs[k]).name);
      graph_.replace_uses(outputs[k], constant);
    }
  }

  Graph& graph_;
  SymbolicContents contents_;
};

}  // namespace

std::vector<std::string_view> fold_constants_parts() {
  return {"fold_shapes"};
}

void fold_constants(Graph& graph, const PassContext& context) {
  ConstantFolder(graph).run(context.is_enabled("fold_shapes"));
}

}  // namespace ingot
