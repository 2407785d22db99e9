// ir/print_graph.cc: graphs as text, which parse_graph.cc reads.
//
//   graph "mlp" {
//     symbols: batch in 1..512 multiple of 8, found in 0..100 data dependent
//     metadata: "author" = "somebody"
//     input %0 "x": f32[batch, 4]
//     %1 "w" = constant(; data=f32[4, 2]#6f5902ac237024bdd0c176cb93063dc4): f32[4, 2]
//     %2 = matmul(%0, %1; packed=false, columns=`2`): f32[batch, 2] from "fc1"
//     assume `batch` == `8` "the two inputs have one batch"
//     output %2 "y"
//   }
//
// An absent optional input is `-`. Values are numbered in the order in which they appear.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "ir/graph.h"

namespace ingot {
namespace {

/// The symbols that occur in a graph and the graphs inside it, by id.
class SymbolCollector {
 public:
  void add(Expr root) {
    if (!root || !seen_.insert(root.id()).second) return;
    for_each(root, [&](Expr e) {
      if (e.kind() == ExprKind::symbol) symbols.insert(e.symbol().value);
    });
  }
  void add(const Exprs& roots) {
    for (const Expr root : roots) add(root);
  }
  void add(const Type& type) {
    if (type.is_tensor()) return add(type.tensor.dims);
    if (type.kind == Type::Kind::container) {
      if (type.container.element != nullptr) add(*type.container.element);
      return;
    }
    add(Exprs{type.state.batch, type.state.capacity, type.state.max_blocks, type.state.length});
    add(type.state.token);
  }
  void add(const Graph& graph) {
    for (const GraphInput& input : graph.inputs()) add(graph.type(input.value));
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      for (const ValueId output : node.outputs) add(graph.type(output));
      for (size_t k = 0; k < node.op.def().fields.size(); ++k) {
        const Attribute attribute = node.op.attribute(k);
        if (const auto* expr = std::get_if<Expr>(&attribute)) add(*expr);
        if (const auto* exprs = std::get_if<Exprs>(&attribute)) add(*exprs);
        if (const auto* body = std::get_if<GraphRef>(&attribute)) {
          if (*body != nullptr) add(**body);
        }
      }
    }
    for (const Assumption& assumption : graph.assumptions()) {
      add(assumption.a);
      add(assumption.b);
    }
  }

  std::set<uint32_t> symbols;

 private:
  std::set<uint32_t> seen_;
};

std::string symbols_text(const Graph& graph) {
  SymbolCollector collector;
  collector.add(graph);
  std::string out;
  for (const uint32_t id : collector.symbols) {
    const Symbol& symbol = graph.pool().symbol_info(SymbolId(id));
    out += out.empty() ? "  symbols: " : ", ";
    out += concat(graph.pool().symbol(symbol.name), " in ", symbol.range.lo, "..", symbol.range.hi);
    if (symbol.divisor != 1) out += concat(" multiple of ", symbol.divisor);
    if (symbol.data_dependent) out += " data dependent";
  }
  return out.empty() ? out : out + "\n";
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), numbers_(graph.value_count(), 0) {}

  std::string print(bool with_symbols) {
    out_ = concat("graph ", quote(graph_.name), " {\n");
    if (with_symbols) out_ += symbols_text(graph_);
    for (const auto& [key, value] : graph_.metadata) {
      out_ += concat("  metadata: ", quote(key), " = ", quote(value), "\n");
    }
    for (const GraphInput& input : graph_.inputs()) {
      define(input.value);
      out_ += concat("  input ", reference(input.value), " ", quote(input.name));
      const std::string& label = graph_.value(input.value).name;
      if (label != input.name) out_ += concat(" as ", quote(label));
      out_ += concat(": ", graph_.type(input.value), "\n");
    }
    for (const NodeId id : graph_.nodes()) print_node(graph_.node(id));
    for (const Assumption& assumption : graph_.assumptions()) {
      out_ += concat("  assume `", assumption.a, "` == `", assumption.b, "` ",
                     quote(assumption.text), "\n");
    }
    for (const GraphOutput& output : graph_.outputs()) {
      out_ += concat("  output ", reference(output.value), " ", quote(output.name), "\n");
    }
    return std::move(out_) + "}";
  }

 private:
  void define(ValueId id) { numbers_[id.value] = next_++; }
  std::string reference(ValueId id) const {
    return id.valid() ? concat("%", numbers_[id.value]) : "-";
  }

  void print_node(const Node& node) {
    out_ += "  ";
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      define(node.outputs[k]);
      const std::string& label = graph_.value(node.outputs[k]).name;
      out_ += (k > 0 ? ", " : "") + reference(node.outputs[k]);
      if (!label.empty()) out_ += " " + quote(label);
    }
    out_ += concat(" = ", node.op.name(), "(");
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      out_ += (k > 0 ? ", " : "") + reference(node.inputs[k]);
    }
    print_attributes(node.op);
    out_ += "):";
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      out_ += concat(k > 0 ? ", " : " ", graph_.type(node.outputs[k]));
    }
    for (size_t k = 0; k < node.provenance.size(); ++k) {
      out_ += (k > 0 ? ", " : " from ") + quote(node.provenance[k]);
    }
    out_ += "\n";
  }

  void print_attributes(const OpRef& op) {
    bool first = true;
    for (size_t k = 0; k < op.def().fields.size(); ++k) {
      const Attribute attribute = op.attribute(k);
      if (const auto* expr = std::get_if<Expr>(&attribute); expr != nullptr && !*expr) continue;
      const auto* body = std::get_if<GraphRef>(&attribute);
      if (body != nullptr && *body == nullptr) continue;
      out_ += concat(first ? "; " : ", ", op.def().fields[k], "=");
      first = false;
      if (body == nullptr) {
        out_ += to_text(attribute);
      } else {
        const bool own_pool = &(*body)->pool() != &graph_.pool();
        const std::string text = indent(Printer(**body).print(own_pool), 2);
        out_ += text.substr(std::min(text.find_first_not_of(' '), text.size()));
      }
    }
  }

  const Graph& graph_;
  std::vector<uint32_t> numbers_;
  uint32_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string to_text(const Graph& graph) {
  return Printer(graph).print(true) + "\n";
}

}  // namespace ingot
