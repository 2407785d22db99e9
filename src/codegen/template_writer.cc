// codegen/template_writer.cc: operands, epilogues and prologues of kernels around a template.
#include "codegen/template_writer.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "ops/reshape.h"
#include "ops/transpose.h"

namespace ingot {
namespace {

/// Numbers of the buffers that produced rows and kept results are stored to; no operand has them.
constexpr uint32_t kRowBuffer = 0xffff;
constexpr uint32_t kKeptBuffer = 0x10000;
/// Pieces that a produced row is cut into at most, such as the parts of a concatenation.
constexpr size_t kMostSegments = 16;

/// The index of every value behind the template, from the template's own output to the root.
struct Chain {
  ValueId root;
  Exprs index;
};

/// Follows the region from the template's output, where it is `index`, to `root`.
Chain follow(const Graph& body, ValueId from, ValueId root, Exprs index) {
  ExprPool& pool = body.pool();
  ValueId at = from;
  while (at != root) {
    // Where there are several readers, all are pointwise and lead to the same value.
    const Node& user = body.node(body.value(at).uses[0].node);
    const ValueId next = user.outputs[0];
    if (const auto* transpose = user.op.as<ops::Transpose>()) {
      Exprs permuted;
      for (int64_t axis : transpose->order) permuted.push_back(index[static_cast<size_t>(axis)]);
      index = std::move(permuted);
    } else if (user.op.is<ops::Reshape>()) {
      const Expr flat = Region::offset(body.tensor(at), index, pool);
      index = delinearize(pool, flat, body.tensor(next).dims);
    }
    at = next;
  }
  return {at, std::move(index)};
}

/// Where a comparison of `lane` with constants changes its result: a < b or a <= b.
std::optional<int64_t> boundary(Expr compare, Expr lane) {
  const bool strict = compare.kind() == ExprKind::lt;
  if (!strict && compare.kind() != ExprKind::le) return std::nullopt;
  if (compare.operand(0).dtype() != DType::i64) return std::nullopt;
  const Expr difference = compare.operand(0) - compare.operand(1);  // < 0 or <= 0
  const auto stride = stride_of(difference, lane.var());
  if (!stride || (!stride->is_int(1) && !stride->is_int(-1))) return std::nullopt;
  const int64_t sign = *stride->as_int();
  const auto rest = (difference - lane * sign).as_int();
  if (!rest) return std::nullopt;
  // lane < -rest and so on; the first lane on the other side.
  return sign > 0 ? -*rest + (strict ? 0 : 1) : *rest + (strict ? 1 : 0);
}

}  // namespace

int64_t choose_row_block(Expr row_terms, int64_t least) {
  constexpr double kUnitOperations = 4e5;
  const auto tile = static_cast<double>(row_terms.as_int().value_or(4096 * 64)) * 2 * 12;
  const auto tiles = static_cast<int64_t>(kUnitOperations / std::max(tile, 1.0));
  return std::clamp<int64_t>(12 * tiles, least, kRowBlock);
}

std::string size_text(Expr dim) {
  if (const auto constant = dim.as_int()) return concat("Lit<", *constant, ">{}");
  return concat("i64(", cpu_dim(dim), ")");
}

std::string columns_text(Expr columns, Expr panel_width) {
  if (columns.as_int()) return size_text(columns);
  return concat("Columns<", *panel_width.as_int(), ">{", cpu_dim(columns), "}");
}

Exprs delinearize(ExprPool& pool, Expr flat, std::span<const Expr> dims) {
  Exprs index(dims.size());
  Expr rest = flat;
  for (size_t k = dims.size(); k-- > 0;) {
    index[k] = k == 0 ? rest : floormod(rest, dims[k]);
    if (k > 0) rest = floordiv(rest, dims[k]);
  }
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k].is_int(1)) index[k] = pool.integer(0);
  }
  return index;
}

TemplateWriter::TemplateWriter(const Graph& body, NodeId node, BufferNames names)
    : body_(body),
      node_(body.node(node)),
      region_(body),
      pool_(body.pool()),
      exprs_(out_, body.pool()),
      names_(names),
      numbers_{kKeptBuffer + 1, 0} {}

const std::string& TemplateWriter::operand_name(const Node& node, size_t slot) {
  const uint32_t port = body_.value(node.inputs[slot]).port;
  return exprs_.buffer_name(region_.input_buffer(port));
}

void TemplateWriter::write_function(std::string_view name, const std::function<void()>& body) {
  out_.block(concat("void ", name, "([[maybe_unused]] const KernelArgs& args, i64 begin, i64 end)"),
             [&] {
               declare_buffers();
               declare_symbols();
               body();
             });
}

void TemplateWriter::declare_buffers() {
  const auto& buffers = region_.buffers();
  for (uint32_t k = 0; k < buffers.size(); ++k) {
    const std::string base =
        names_ == BufferNames::neutral ? std::string("x") : to_identifier(buffers[k].name);
    const std::string name = concat(base, "_", k);
    exprs_.name_buffer(k, name, buffers[k].dtype);
    captures_[name] = cpu_pointer(buffers[k].dtype, buffers[k].written);
    out_.line(declare_operand(name, k, buffers[k].dtype, buffers[k].written));
  }
}

void TemplateWriter::declare_symbols() {
  std::set<uint32_t> symbols;
  for (const Expr& e : dims_of_region()) symbols.merge(symbols_of(e));
  for (uint32_t id : symbols) {
    const Expr symbol = pool_.symbol(pool_.symbol_info(SymbolId(id)).name);
    captures_[cpu_dim(symbol)] = "i64";
    out_.line("[[maybe_unused]] const i64 ", cpu_dim(symbol), " = args.symbols[", id, "];");
  }
}

/// All expressions whose symbols the kernel may mention.
Exprs TemplateWriter::dims_of_region() const {
  Exprs dims;
  const auto add = [&](ValueId value) {
    if (!body_.type(value).is_tensor()) return;
    const Exprs& more = body_.tensor(value).dims;
    dims.insert(dims.end(), more.begin(), more.end());
  };
  for (const NodeId id : body_.nodes()) {
    for (ValueId value : body_.node(id).outputs) add(value);
    for (size_t k = 0; k < body_.node(id).op.def().fields.size(); ++k) {
      const Attribute attribute = body_.node(id).op.attribute(k);
      if (const auto* one = std::get_if<Expr>(&attribute); one != nullptr && *one) {
        dims.push_back(*one);
      }
      if (const auto* several = std::get_if<Exprs>(&attribute)) {
        dims.insert(dims.end(), several->begin(), several->end());
      }
    }
  }
  for (const GraphInput& input : body_.inputs()) add(input.value);
  return dims;
}

NodeId TemplateWriter::product_of_operand() const {
  std::vector<NodeId> work = {body_.value(node_.inputs[0]).producer};
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (!id.valid()) continue;
    if (template_of(body_, id) != TemplateKind::none) return id;
    for (ValueId input : body_.node(id).inputs) {
      if (input.valid()) work.push_back(body_.value(input).producer);
    }
  }
  return NodeId();
}

void TemplateWriter::bind_sum(const Node& product) {
  const Expr acc = pool_.param(0, DType::f32);
  const ValueId bias = product.inputs.size() > 2 ? product.inputs[2] : ValueId();
  region_.bind(product.outputs[0], [this, acc, bias](std::span<const Expr> at) {
    return bias.valid() ? acc + region_.element(bias, at.last(1)) : acc;
  });
  exprs_.name_param(0, "acc", true);
}

void TemplateWriter::write_closure(std::string_view name, Expr lane,
                                   const std::function<void()>& store) {
  exprs_.name_var(lane.var(), "n");
  const auto scope = exprs_.save();
  exprs_.restore({});
  const size_t before = out_.text().size();
  exprs_.enter_vector(lane.var(), "count");
  store();
  exprs_.leave_vector();
  exprs_.restore(scope);
  Captures captures = captures_;
  // Where a template has them.
  for (const char* index : {"batch", "group", "base", "first", "stride"}) captures[index] = "i64";
  captures["kept"] = cpu_pointer(DType::f32, true);
  const Closure closure = close_epilogue(out_.cut(before), captures);
  shared_.push_back(closure.definition);
  out_.line("const ", closure.type, " ", name, " = ", closure.arguments, ";");
}

void TemplateWriter::write_epilogue(Exprs index, Expr lane) {
  bind_sum(node_);
  const Chain chain = follow(body_, node_.outputs[0], body_.outputs()[0].value, std::move(index));
  const TensorType& type = body_.tensor(chain.root);
  write_closure("epilogue", lane, [&] {
    exprs_.store(region_.output_buffer(0), Region::offset(type, chain.index, pool_),
                 region_.stored(0, chain.index), Expr{});
  });
}

void TemplateWriter::write_keeping(ValueId rows, Exprs index, Expr lane, Expr place,
                                   std::string_view name) {
  const Node& product = body_.node(product_of_operand());
  bind_sum(product);
  const Chain chain = follow(body_, product.outputs[0], rows, std::move(index));
  exprs_.name_buffer(kKeptBuffer, "kept", DType::f32);
  write_closure(name, lane, [&] {
    exprs_.store(kKeptBuffer, place, region_.element(rows, chain.index), Expr{});
  });
  region_.bind(rows, [this](std::span<const Expr> at) {
    return pool_.load(kRowBuffer, DType::f32, at.back());
  });
}

double TemplateWriter::operations_of_operand(size_t axis) {
  if (!is_produced()) return 0;
  Exprs index;
  for (const Expr& dim : operand(0).dims) index.push_back(pool_.fresh_index(dim));
  return operations_of(region_.element(node_.inputs[0], index), index[axis].var());
}

void TemplateWriter::write_row_of(const Node& node, Exprs front, Expr extent, Exprs back,
                                  int64_t stride, int64_t first) {
  const Expr lane = pool_.fresh_index(extent);
  front.push_back(lane);
  front.insert(front.end(), back.begin(), back.end());
  const Expr value = region_.element(node.inputs[0], front);
  // A row that is put together of pieces is written a piece at a time.
  std::set<int64_t> cuts = {0};
  if (const auto length = extent.as_int()) {
    for_each(value, [&](Expr e) {
      const auto at = arity(e.kind()) == 2 ? boundary(e, lane) : std::nullopt;
      if (at && *at > 0 && *at < *length) cuts.insert(*at);
    });
  }
  if (cuts.size() > kMostSegments) cuts = {0};
  for (auto cut = cuts.begin(); cut != cuts.end(); ++cut) {
    const auto next = std::next(cut);
    const Expr length = next == cuts.end() ? extent - *cut : pool_.integer(*next - *cut);
    write_segment(value, lane, length, *cut, stride, first);
  }
}

void TemplateWriter::write_reduced_row(Exprs front, Expr extent) {
  const Expr lane = pool_.fresh_index(extent);
  front.push_back(lane);
  const Expr value = region_.element(node_.inputs[0], front);
  exprs_.name_buffer(kRowBuffer, "row", DType::f32);
  CpuStmtWriter(out_, exprs_).block(schedule_row(pool_, value, lane, extent, kRowBuffer, numbers_));
}

void TemplateWriter::write_segment(Expr value, Expr lane, Expr extent, int64_t begin,
                                   int64_t stride, int64_t first) {
  const Expr k = pool_.fresh_index(extent);
  const Expr at = k + begin;
  const Expr element = substitute(value, pool_, [&](Expr e) -> std::optional<Expr> {
    return e == lane ? std::optional(at) : std::nullopt;
  });
  const std::string name = exprs_.fresh("k");
  exprs_.name_var(k.var(), name);
  exprs_.name_buffer(kRowBuffer, "row", DType::f32);
  exprs_.begin_statement({extent});
  const std::string extent_text = exprs_.write(extent);
  exprs_.lanes_loop(k.var(), name, extent, extent_text,
                    [&] { exprs_.store(kRowBuffer, at * stride + first, element, Expr{}); });
}

}  // namespace ingot
