// ir/parse_graph.cc: reads the text that print_graph.cc writes.
#include <algorithm>

#include "base/text.h"
#include "ir/graph.h"
#include "ir/lexer.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

constexpr int kMaxNesting = 8;                 // of graphs inside graphs
constexpr int64_t kMaxWrittenElements = 1024;  // of a constant whose values stand in the text

Result<Expr> parse_value_expr(std::string_view text, ExprPool& pool,
                              std::span<const DType> params) {
  return parse_expr(trim(text), pool, params);
}

/// Takes "|p0: f32, p1: i64| " off the front of `text`.
Result<std::vector<DType>> parse_params(std::string_view& text, Lexer& lexer) {
  std::vector<DType> params;
  text = trim(text);
  if (!text.starts_with('|')) return params;
  const size_t end = text.find('|', 1);
  if (end == std::string_view::npos) return lexer.error("params such as |p0: f32|");
  for (const std::string_view piece : split_top_level(text.substr(1, end - 1))) {
    const size_t colon = piece.find(':');
    if (colon == std::string_view::npos || !piece.starts_with('p')) {
      return lexer.error("params such as |p0: f32|");
    }
    const auto number = parse_int(piece.substr(1, colon - 1));
    const auto dtype = dtype_from_name(trim(piece.substr(colon + 1)));
    if (!number || *number < 0 || *number > 4096 || !dtype) {
      return lexer.error("params such as |p0: f32|");
    }
    if (params.size() <= static_cast<size_t>(*number)) {
      params.resize(static_cast<size_t>(*number) + 1, DType::f32);
    }
    params[static_cast<size_t>(*number)] = *dtype;
  }
  text.remove_prefix(end + 1);
  return params;
}

class Parser {
 public:
  Parser(Lexer& lexer, OpLookup lookup, const ConstantLookup& constants)
      : lexer_(lexer), lookup_(lookup), constants_(constants) {}

  Result<Graph> graph(std::shared_ptr<ExprPool> pool, int depth) {
    if (depth > kMaxNesting) return lexer_.error("graphs that are not nested so deep");
    Graph graph(std::move(pool));
    Scope scope{graph, {}, {}, depth};
    if (!lexer_.accept_word("graph")) return lexer_.error("'graph'");
    TRY(graph.name, lexer_.string());
    TRY_STATUS(lexer_.expect("{"));
    while (!lexer_.accept("}")) TRY_STATUS(statement(scope));
    graph.set_outputs(std::move(scope.outputs));
    return graph;
  }

 private:
  struct Scope {
    Graph& graph;
    std::vector<ValueId> values;  // by number in the text
    std::vector<GraphOutput> outputs;
    int depth;
  };

  Status statement(Scope& scope) {
    if (lexer_.peek_identifier() == "symbols") return symbols(scope);
    if (lexer_.accept_word("metadata")) return metadata(scope.graph);
    if (lexer_.accept_word("input")) return input(scope);
    if (lexer_.accept_word("assume")) return assumption(scope.graph);
    if (lexer_.accept_word("output")) {
      TRY(const ValueId value, reference(scope));
      TRY(auto name, lexer_.string());
      scope.outputs.push_back({std::move(name), value});
      return ok();
    }
    if (lexer_.peek() == '%') return node(scope);
    return lexer_.error("symbols, metadata, input, a node, assume, output or '}'");
  }

  /// What was simplified with a symbol stays as it is, so the symbol has to be known before.
  Status symbols(Scope& scope) {
    const bool is_first = scope.values.empty() && scope.graph.assumptions().empty();
    if (!is_first || scope.depth > 0) {
      return lexer_.error("symbols only in front of all inputs, nodes and assumptions");
    }
    lexer_.accept_word("symbols");
    ExprPool& pool = scope.graph.pool();
    TRY_STATUS(lexer_.expect(":"));
    do {
      TRY(const Expr symbol, symbol_name(pool));
      Range range;
      TRY(range.lo, lexer_.integer_before(".."));
      TRY(range.hi, lexer_.integer());
      if (range.lo > range.hi) return lexer_.error("a range lo..hi that is not empty");
      int64_t divisor = 1;
      if (lexer_.accept_word("multiple")) {
        if (!lexer_.accept_word("of")) return lexer_.error("'of'");
        TRY(divisor, lexer_.integer());
        if (divisor < 1) return lexer_.error("a divisor above 0");
      }
      Symbol& info = pool.symbol_info(symbol.symbol());
      info.range = range;
      info.divisor = divisor;
      if (lexer_.accept_word("data")) {
        if (!lexer_.accept_word("dependent")) return lexer_.error("'dependent'");
        info.data_dependent = true;
      }
    } while (lexer_.accept(","));
    return ok();
  }

  Result<Expr> symbol_name(ExprPool& pool) {
    TRY(std::string_view text, lexer_.until_word("in"));
    if (trim(text).empty()) {  // the symbol itself is called "in"
      TRY_STATUS(lexer_.expect("in"));
      text = "in";
    }
    TRY(const Expr symbol, parse_expr(trim(text), pool));
    if (symbol.kind() != ExprKind::symbol) return lexer_.error("a symbol's name before 'in'");
    return symbol;
  }

  Status metadata(Graph& graph) {
    TRY_STATUS(lexer_.expect(":"));
    TRY(auto key, lexer_.string());
    TRY_STATUS(lexer_.expect("="));
    TRY(auto value, lexer_.string());
    graph.metadata.emplace_back(std::move(key), std::move(value));
    return ok();
  }

  Status input(Scope& scope) {
    TRY_STATUS(new_number(scope));
    TRY(auto name, lexer_.string());
    std::optional<std::string> label;
    if (lexer_.accept_word("as")) {
      TRY(label, lexer_.string());
    }
    TRY_STATUS(lexer_.expect(":"));
    TRY(auto type, parse_type(lexer_, scope.graph.pool()));
    const ValueId value = scope.graph.add_input(std::move(name), std::move(type));
    if (label) scope.graph.set_value_name(value, std::move(*label));
    scope.values.push_back(value);
    return ok();
  }

  Status assumption(Graph& graph) {
    Assumption result;
    TRY_STATUS(lexer_.expect("`"));
    TRY(const std::string_view left, lexer_.until_mark("`"));
    TRY(result.a, parse_expr(trim(left), graph.pool()));
    TRY_STATUS(lexer_.expect("=="));
    TRY_STATUS(lexer_.expect("`"));
    TRY(const std::string_view right, lexer_.until_mark("`"));
    TRY(result.b, parse_expr(trim(right), graph.pool()));
    if (result.a.dtype() != result.b.dtype()) return lexer_.error("two sides of one type");
    TRY(result.text, lexer_.string());
    graph.assumptions().push_back(std::move(result));
    return ok();
  }

  /// "%N" with N the number that the next value gets.
  Status new_number(Scope& scope, size_t ahead = 0) {
    TRY_STATUS(lexer_.expect("%"));
    TRY(const int64_t number, lexer_.integer());
    if (number != static_cast<int64_t>(scope.values.size() + ahead)) {
      return lexer_.error(concat("the next value, %", scope.values.size() + ahead));
    }
    return ok();
  }

  Result<ValueId> reference(Scope& scope) {
    if (lexer_.accept("-")) return ValueId();
    TRY_STATUS(lexer_.expect("%"));
    TRY(const int64_t number, lexer_.integer());
    if (number < 0 || number >= static_cast<int64_t>(scope.values.size())) {
      return lexer_.error(concat("a value above, got %", number, " before"));
    }
    return scope.values[static_cast<size_t>(number)];
  }

  Status node(Scope& scope) {
    std::vector<std::string> labels;
    do {
      TRY_STATUS(new_number(scope, labels.size()));
      labels.emplace_back();
      if (lexer_.peek() == '"') {
        TRY(labels.back(), lexer_.string());
      }
    } while (lexer_.accept(","));
    TRY_STATUS(lexer_.expect("="));
    const std::string name(lexer_.identifier());
    const OpDef* def = name == Constant::kName        ? &op_def<Constant>()
                       : name == Unimplemented::kName ? &op_def<Unimplemented>()
                       : lookup_ != nullptr           ? lookup_(name)
                                                      : nullptr;
    if (def == nullptr) return lexer_.error(concat("a known operator, got '", name, "' before"));
    TRY_STATUS(lexer_.expect("("));
    std::vector<ValueId> inputs;
    while (lexer_.peek() != ';' && lexer_.peek() != ')') {
      if (!inputs.empty()) TRY_STATUS(lexer_.expect(","));
      TRY(const ValueId value, reference(scope));
      inputs.push_back(value);
    }
    TRY(const Attributes attributes, this->attributes(scope));
    TRY_STATUS(lexer_.expect(")"));
    TRY_STATUS(lexer_.expect(":"));
    Types types;
    for (size_t k = 0; k < labels.size(); ++k) {
      if (k > 0) TRY_STATUS(lexer_.expect(","));
      TRY(auto type, parse_type(lexer_, scope.graph.pool()));
      types.push_back(std::move(type));
    }
    std::vector<std::string> provenance;
    if (lexer_.accept_word("from")) {
      do {
        TRY(auto text, lexer_.string());
        provenance.push_back(std::move(text));
      } while (lexer_.accept(","));
    }
    TRY(OpRef op, def->make(attributes));
    TRY(const auto outputs,
        add_node(scope, std::move(op), std::move(inputs), std::move(provenance)));
    if (outputs.size() != labels.size()) {
      return lexer_.error(concat(outputs.size(), " outputs of ", name, " before"));
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!is_compatible(scope.graph.type(outputs[k]), types[k])) {
        return lexer_.error(
            concat("type ", scope.graph.type(outputs[k]), " of ", name, " before, not ", types[k]));
      }
      scope.graph.refine_type(outputs[k], std::move(types[k]));
      scope.graph.set_value_name(outputs[k], std::move(labels[k]));
      scope.values.push_back(outputs[k]);
    }
    return ok();
  }

  /// Adds without the assumptions that infer makes: the text says them.
  Result<std::vector<ValueId>> add_node(Scope& scope, OpRef op, std::vector<ValueId> inputs,
                                        std::vector<std::string> provenance) {
    std::vector<Assumption> said = std::exchange(scope.graph.assumptions(), {});
    auto outputs = scope.graph.add(std::move(op), std::move(inputs), std::move(provenance));
    scope.graph.assumptions() = std::move(said);
    return outputs;
  }

  Result<Attributes> attributes(Scope& scope) {
    Attributes result;
    if (!lexer_.accept(";")) return result;
    do {
      const std::string name(lexer_.identifier());
      if (name.empty()) return lexer_.error("an attribute's name");
      TRY_STATUS(lexer_.expect("="));
      TRY(auto value, attribute(scope));
      if (!result.emplace(name, std::move(value)).second) {
        return lexer_.error(concat("each attribute once, got '", name, "' again before"));
      }
    } while (lexer_.accept(","));
    return result;
  }

  Result<Attribute> attribute(Scope& scope) {
    ExprPool& pool = scope.graph.pool();
    switch (lexer_.peek()) {
      case '"': {
        TRY(auto text, lexer_.string());
        return Attribute(std::move(text));
      }
      case '`': {
        lexer_.accept("`");
        TRY(std::string_view text, lexer_.until_mark("`"));
        TRY(const auto params, parse_params(text, lexer_));
        if (trim(text).empty()) return Attribute(Expr());
        TRY(const Expr expr, parse_value_expr(text, pool, params));
        return Attribute(expr);
      }
      case '{': {
        lexer_.accept("{");
        TRY(std::string_view text, lexer_.until('}'));
        TRY(const auto params, parse_params(text, lexer_));
        Exprs exprs;
        for (const std::string_view piece : split_top_level(text)) {
          TRY(const Expr expr, parse_value_expr(piece, pool, params));
          exprs.push_back(expr);
        }
        return Attribute(std::move(exprs));
      }
      case '[':
        return list();
      default:
        break;
    }
    const std::string_view word = lexer_.peek_identifier();
    if (word == "graph") {
      TRY(auto body, graph(scope.graph.shared_pool(), scope.depth + 1));
      return Attribute(GraphRef(std::make_shared<const Graph>(std::move(body))));
    }
    if (lexer_.accept_word("true")) return Attribute(true);
    if (lexer_.accept_word("false")) return Attribute(false);
    for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::product, ReduceKind::min,
                                  ReduceKind::max, ReduceKind::any, ReduceKind::all}) {
      if (lexer_.accept_word(name(kind))) return Attribute(kind);
    }
    if (const auto dtype = dtype_from_name(word)) {
      lexer_.identifier();
      if (lexer_.peek() != '[') return Attribute(*dtype);
      TRY(auto data, constant(*dtype));
      return Attribute(std::move(data));
    }
    return number();
  }

  Result<Attribute> number() {
    const std::string_view word = lexer_.number();
    if (const auto whole = parse_int(word)) return Attribute(static_cast<int64_t>(*whole));
    if (const auto real = parse_number(word)) return Attribute(*real);
    return lexer_.error("an attribute's value");
  }

  Result<Attribute> list() {
    lexer_.accept("[");
    std::vector<int64_t> ints;
    std::vector<double> reals;
    std::vector<std::string> texts;
    bool whole = true;
    while (!lexer_.accept("]")) {
      if (!reals.empty() || !texts.empty()) TRY_STATUS(lexer_.expect(","));
      if (lexer_.peek() == '"') {
        TRY(auto text, lexer_.string());
        texts.push_back(std::move(text));
        continue;
      }
      TRY(const Attribute value, number());
      const auto* integer = std::get_if<int64_t>(&value);
      whole = whole && integer != nullptr;
      ints.push_back(integer != nullptr ? *integer : 0);
      reals.push_back(integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value));
    }
    if (!texts.empty() && !reals.empty()) return lexer_.error("a list of one kind before");
    if (!texts.empty()) return Attribute(std::move(texts));
    if (whole) return Attribute(std::move(ints));
    return Attribute(std::move(reals));
  }

  Result<ConstantData> constant(DType dtype) {
    TRY(const Attribute dims_attribute, list());
    const auto* dims = std::get_if<std::vector<int64_t>>(&dims_attribute);
    if (dims == nullptr) return lexer_.error("whole dims before");
    int64_t count = 1;
    bool bounded = true;
    for (const int64_t dim : *dims) {
      if (dim < 0 || dim > kMaxDim) return lexer_.error(concat("dims in 0..", kMaxDim, " before"));
      bounded = bounded && !__builtin_mul_overflow(count, dim, &count);
    }
    if (lexer_.accept("#")) {
      const std::string_view hash = lexer_.alphanumeric();
      auto data = constants_ ? constants_(hash) : std::nullopt;
      if (!data || data->dtype != dtype || data->dims != *dims) {
        return lexer_.error(concat("a constant that is at hand, got #", hash, " before"));
      }
      return std::move(*data);
    }
    TRY_STATUS(lexer_.expect("{"));
    if (!bounded || count > kMaxWrittenElements || is_complex(dtype)) {
      return lexer_.error("the hash of a constant as large as this");
    }
    if (count > 0 && lexer_.accept("}")) {
      ConstantData data;
      data.dtype = dtype;
      data.dims = *dims;
      return data;
    }
    Tensor tensor(dtype, *dims);
    for (int64_t k = 0; k < count; ++k) {
      if (k > 0) TRY_STATUS(lexer_.expect(","));
      TRY_STATUS(element(tensor, k));
    }
    TRY_STATUS(lexer_.expect("}"));
    return to_constant(tensor);
  }

  Status element(Tensor& tensor, int64_t k) {
    if (tensor.dtype() == DType::str) {
      TRY(const std::string text, lexer_.string());
      tensor.set_string(k, text);
      return ok();
    }
    const std::string_view word = lexer_.number();
    if (tensor.holds_reals()) {
      const auto value = parse_number(word);
      if (!value) return lexer_.error("a number");
      tensor.set_real(k, *value);
      return ok();
    }
    if (const auto value = parse_int(word)) {
      tensor.set_integer(k, *value);
      return ok();
    }
    uint64_t large = 0;  // of u64, above the largest i64
    for (const char c : word) {
      if (c < '0' || c > '9') return lexer_.error("an integer");
      if (__builtin_mul_overflow(large, uint64_t{10}, &large) ||
          __builtin_add_overflow(large, static_cast<uint64_t>(c - '0'), &large)) {
        return lexer_.error("an integer of 64 bits before");
      }
    }
    if (word.empty() || tensor.dtype() != DType::u64) return lexer_.error("an integer");
    tensor.set_integer(k, static_cast<int64_t>(large));
    return ok();
  }

  Lexer& lexer_;
  OpLookup lookup_;
  const ConstantLookup& constants_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, OpLookup lookup, const ConstantLookup& constants) {
  Lexer lexer(text);
  Parser parser(lexer, lookup, constants);
  TRY(auto graph, parser.graph(std::make_shared<ExprPool>(), 0));
  if (!lexer.at_end()) return lexer.error("the end of the text");
  return graph;
}

}  // namespace ingot
