// passes/templates.cc: the choice of templates by shapes, and the price of computing an operand.
#include "passes/templates.h"

#include <algorithm>
#include <set>

#include "ops/conv.h"
#include "ops/conv_winograd.h"
#include "ops/matmul.h"

namespace ingot {
namespace {

constexpr int64_t kPanelWidth = 64;
constexpr int64_t kVectorWidth = 16;  // what narrower panels are rounded up to

constexpr int64_t kBytesOfPass = 8;        // an f32 written and read back
constexpr int64_t kOperationsPerByte = 4;  // 80 G operations/s in lanes, 20 GB/s
constexpr int64_t kShareOfProduct = 16;    // so many multiply-adds allow one repeated operation

// Products whose result a convolution reads.
constexpr int64_t kOwnCacheBytes = int64_t{1} << 20;  // a usual L2, of which a half is free for it
constexpr int64_t kLargeSide = 64;
constexpr int64_t kSharedRows = 4;  // one row in so many is wanted by two threads
constexpr int64_t kLeastRows = 4;   // of pictures, to be made by units

// Prices of one lane in multiply-adds.
constexpr double kTranscendental = 16;
constexpr double kDivision = 8;
constexpr double kGather = 8;  // a load that is not contiguous

// Winograd: fewer channels do not pay for the transforms. Fewer tiles of 4x4 do not pay for four
// times the weights: for each pair of channels they take 144 bytes, not 36, at 10 GB/s, and save
// 18 * 16 - 1.3 * 72 operations a tile at 150 GFLOP/s; 32 tiles gain half the time.
constexpr int64_t kLeastChannels = 32;
constexpr int64_t kLeastTiles = 32;
// The error stays below (C + 30) * 256 * 2^-24 of the largest sum that |w| and max |x| allow, which
// is to be no more than 1e-2; see decision 0003.
constexpr int64_t kMostChannels = 620;

bool has_panels(Expr width, Expr columns) {
  const auto wanted = panel_width(columns);
  return wanted && width.is_int(*wanted);
}

bool is_transcendental(ExprKind kind) {
  return (kind >= ExprKind::exp && kind <= ExprKind::sigmoid && kind != ExprKind::sqrt) ||
         kind == ExprKind::pow;
}

double price(Expr e, VarId lane, bool by_data) {
  switch (e.kind()) {
    case ExprKind::constant:
    case ExprKind::param:
    case ExprKind::local:
    case ExprKind::symbol:
    case ExprKind::index:
    case ExprKind::cast:
      return 0;
    case ExprKind::load: {
      if (by_data) return kGather;
      const auto stride = stride_of(e.operand(0), lane);
      return stride && (stride->is_int(0) || stride->is_int(1)) ? 1 : kGather;
    }
    case ExprKind::div:
    case ExprKind::sqrt:
      return kDivision;
    default:
      return is_transcendental(e.kind()) ? kTranscendental : 1;
  }
}

TemplateKind template_of_conv(const Graph& graph, const Node& node, const ops::Conv& conv) {
  const size_t spatial = conv.strides.size();
  if (spatial != 1 && spatial != 2) return TemplateKind::none;
  const Exprs& x = graph.tensor(node.inputs[0]).dims;
  const Exprs& w = graph.tensor(node.inputs[1]).dims;
  if (!conv.packed) {
    const bool depthwise = conv.groups > 1 && x.back().is_int(conv.groups) &&
                           w.back().is_int(conv.groups) && w[w.size() - 2].is_int(1);
    return depthwise ? TemplateKind::depthwise : TemplateKind::none;
  }
  if (!has_panels(w.back(), graph.pool().integer(conv.columns / conv.groups))) {
    return TemplateKind::none;
  }
  const auto all_are = [](const std::vector<int64_t>& values, int64_t what) {
    return std::ranges::all_of(values, [&](int64_t v) { return v == what; });
  };
  const bool one_tap = std::all_of(w.begin() + 1, w.begin() + 1 + static_cast<ptrdiff_t>(spatial),
                                   [](Expr dim) { return dim.is_int(1); });
  const bool is_gemm = one_tap && conv.groups == 1 && all_are(conv.strides, 1) &&
                       all_are(conv.pads_begin, 0) && all_are(conv.pads_end, 0);
  return is_gemm ? TemplateKind::gemm : TemplateKind::conv2d;
}

}  // namespace

std::optional<int64_t> panel_width(Expr columns) {
  const auto count = columns.as_int();
  if (!count) return kPanelWidth;
  if (*count < 1) return std::nullopt;
  const auto padded = [&](int64_t width) { return (*count + width - 1) / width * width; };
  if (*count <= kPanelWidth) return padded(kVectorWidth);
  const int64_t widest = padded(48) < padded(kPanelWidth) ? 48 : kPanelWidth;
  return padded(32) * 10 < padded(widest) * 9 ? 32 : widest;
}

bool is_worth_winograd(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto* conv = node.op.as<ops::Conv>();
  if (conv == nullptr || conv->packed || conv->groups != 1) return false;
  const std::vector<int64_t> ones = {1, 1};
  if (conv->strides != ones || conv->dilations != ones) return false;
  const Exprs& w = graph.tensor(node.inputs[1]).dims;
  if (!w[0].is_int(3) || !w[1].is_int(3)) return false;
  const int64_t channels = w[2].as_int().value_or(0), filters = w[3].as_int().value_or(0);
  if (channels < kLeastChannels || channels > kMostChannels || filters < kLeastChannels) {
    return false;
  }
  // Pictures of a size that is only known at run time are taken to be large enough.
  const Exprs& y = graph.tensor(node.outputs[0]).dims;
  int64_t tiles = y[0].as_int().value_or(1);
  for (size_t s = 1; s <= 2; ++s) tiles *= (y[s].as_int().value_or(4 * kLeastTiles) + 3) / 4;
  return tiles >= kLeastTiles;
}

TemplateKind template_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto* matmul = node.op.as<ops::MatMul>();
  const auto* conv = node.op.as<ops::Conv>();
  const auto* winograd = node.op.as<ops::ConvWinograd>();
  if (matmul == nullptr && conv == nullptr && winograd == nullptr) return TemplateKind::none;
  if (graph.tensor(node.inputs[0]).dtype != DType::f32) return TemplateKind::none;
  if (winograd != nullptr) {
    const Expr width = graph.tensor(node.inputs[1]).dims.back();
    return has_panels(width, graph.pool().integer(winograd->columns)) ? TemplateKind::winograd
                                                                      : TemplateKind::none;
  }
  if (conv != nullptr) return template_of_conv(graph, node, *conv);
  const Expr width = graph.tensor(node.inputs[1]).dims.back();
  return matmul->packed && has_panels(width, matmul->columns) ? TemplateKind::gemm
                                                              : TemplateKind::none;
}

int64_t worthwhile_repeats(double operations, Expr columns) {
  const auto known = columns.as_int();
  const double budget = static_cast<double>(
      std::max(kBytesOfPass * kOperationsPerByte, known.value_or(0) / kShareOfProduct));
  return 1 + static_cast<int64_t>(budget / std::max(operations, 1.0));
}

bool has_rows_to_share(const Graph& graph, NodeId id) {
  const TemplateKind kind = template_of(graph, id);
  if (kind == TemplateKind::none || kind == TemplateKind::gemm) return true;
  const Exprs& dims = graph.tensor(graph.node(id).outputs[0]).dims;
  const int64_t height = dims.size() == 4 ? dims[1].as_int().value_or(kLargeSide) : 1;
  return dims[0].as_int().value_or(1) * height >= kLeastRows;
}

bool is_worth_making_in_conv(const Graph& graph, NodeId product, NodeId conv) {
  if (template_of(graph, product) != TemplateKind::gemm || !has_rows_to_share(graph, conv)) {
    return false;
  }
  const TemplateKind reader = template_of(graph, conv);
  if (reader == TemplateKind::none || reader == TemplateKind::gemm) return false;
  const Exprs& dims = graph.tensor(graph.node(conv).inputs[0]).dims;
  // A side of a picture that is only known at run time is taken to be large.
  int64_t bytes = 4;
  for (const Expr& dim : std::span(dims).subspan(1)) bytes *= dim.as_int().value_or(kLargeSide);
  const auto terms = graph.tensor(graph.node(product).inputs[0]).dims.back().as_int();
  return bytes >= kOwnCacheBytes && terms &&
         is_worth_repeating(static_cast<double>(*terms) / kSharedRows, 2);
}

bool is_worth_repeating(double operations, int times) {
  return (times - 1) * operations <= static_cast<double>(kBytesOfPass * kOperationsPerByte);
}

double operations_of(Expr element, VarId lane) {
  double sum = 0;
  std::set<uint32_t> loaded;  // what has lanes because data have
  for_each(element, [&](Expr e) {
    bool by_data = false;
    for (int k = 0; k < arity(e.kind()); ++k) {
      by_data |= e.operand(k) && loaded.contains(e.operand(k).id());
    }
    const bool is_load = e.kind() == ExprKind::load;
    if (by_data || (is_load && depends_on(e.operand(0), lane))) loaded.insert(e.id());
    // Index arithmetic is done once per vector, not per lane, but for what data decide.
    if (e.dtype() == DType::i64 && !is_load && !by_data) return;
    sum += price(e, lane, is_load && loaded.contains(e.operand(0).id()));
  });
  return sum;
}

}  // namespace ingot
