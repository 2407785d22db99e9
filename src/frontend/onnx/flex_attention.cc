// frontend/onnx/flex_attention.cc: FlexAttention: attention with subgraphs that change the scores
// and the probabilities.
#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/builder.h"
#include "frontend/onnx/attention.h"
#include "frontend/onnx/importer.h"

namespace ingot::onnx {
namespace {

struct FlexOptions {
  std::optional<double> scale;
  std::optional<DType> precision;
  std::array<const AttributeProto*, 2> mods = {};  // of scores, of probabilities
};

constexpr std::array<std::string_view, 2> kMods = {"score_mod", "prob_mod"};

Result<FlexOptions> read_flex_options(std::span<const AttributeProto* const> attributes) {
  FlexOptions options;
  for (const AttributeProto* attribute : attributes) {
    const auto mod = std::ranges::find(kMods, attribute->name);
    if (mod != kMods.end()) {
      options.mods[static_cast<size_t>(mod - kMods.begin())] = attribute;
    } else if (attribute->name == "scale" && attribute->type == AttributeType::float_) {
      options.scale = attribute->f;
    } else if (attribute->name == "softmax_precision" && attribute->type == AttributeType::int_) {
      options.precision = dtype_from_onnx(attribute->i);
      if (!options.precision || !is_float(*options.precision)) {
        return invalid_model("attribute 'softmax_precision': expected a float type, got ",
                             attribute->i);
      }
    } else {
      return invalid_model("attribute '", to_comment(attribute->name), "' is not known or no ",
                           "number");
    }
  }
  return options;
}

}  // namespace

/// Source: ONNX FlexAttention-1 of ai.onnx.preview.
Result<ValueIds> Importer::build_flex_attention(const NodeProto& node, const ValueIds& inputs,
                                                std::span<const AttributeProto* const> attributes,
                                                const Frame& frame) {
  if (inputs.size() != 3) return invalid_model("expected Q, K and V, got ", inputs.size());
  Builder b(graph_, provenance(node, frame));
  for (const ValueId x : inputs) {
    if (!x.valid() || !graph_.type(x).is_tensor()) return unsupported(kBlocked);
    if (b.rank(x) != 4 || !is_float(b.dtype(x))) {
      return invalid_model("expected floats of rank 4, got ", graph_.type(x));
    }
  }
  TRY(const FlexOptions options, read_flex_options(attributes));
  const DType held = b.dtype(inputs[0]);
  const DType usual = held == DType::f64 ? DType::f64 : DType::f32;
  const DType precision = options.precision.value_or(usual);
  const auto head_size = b.dim(inputs[0], 3).as_int();
  if (!head_size && !options.scale) return unsupported("heads of unknown size");
  const double scale =
      options.scale.value_or(1 / std::sqrt(static_cast<double>(head_size.value_or(1))));
  ValueIds wide;
  for (const ValueId x : inputs) {
    TRY(wide.emplace_back(), b.cast(x, compute_dtype(held)));
  }
  TRY(const ValueId keys, b.transpose(wide[1], {0, 1, 3, 2}));
  TRY(ValueId scores, grouped_matmul(b, wide[0], keys));
  TRY(scores, b.map1(scores, [&](Expr e) { return e * b.number(e.dtype(), scale); }));
  // What a subgraph is given and gives.
  const auto changed = [&](size_t which, ValueId x) -> Result<ValueId> {
    if (options.mods[which] == nullptr) return x;
    TRY(const GraphProto graph, read_body(attributes, kMods[which]));
    if (graph.inputs.size() != 1 || graph.outputs.size() != 1) {
      return invalid_model(kMods[which], ": expected one input and one output, got ",
                           graph.inputs.size(), " and ", graph.outputs.size());
    }
    TRY(const ValueIds outputs, inline_graph(graph, kMods[which], node, {x}, frame));
    if (!graph_.type(outputs[0]).is_tensor()) return unsupported(kBlocked);
    return outputs[0];
  };
  TRY(scores, b.cast(scores, precision));
  TRY(scores, changed(0, scores));
  TRY(ValueId weights, b.softmax(scores, -1, false));
  TRY(weights, changed(1, weights));
  TRY(weights, b.cast(weights, compute_dtype(precision)));
  TRY(const ValueId values, b.cast(wide[2], compute_dtype(precision)));
  TRY(const ValueId y, grouped_matmul(b, weights, values));
  TRY(const ValueId stored, b.cast(y, b.dtype(inputs[2])));
  return ValueIds{stored};
}

}  // namespace ingot::onnx
