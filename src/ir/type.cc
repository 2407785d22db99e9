// ir/type.cc: types of values: text form, sizes, broadcasting.
#include "ir/type.h"

#include "base/check.h"
#include "base/text.h"
#include "ir/lexer.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

constexpr int kMaxNesting = 16;  // of container types in text

std::string dims_text(std::span<const Expr> dims) {
  std::string out = "[";
  for (size_t k = 0; k < dims.size(); ++k) {
    if (k > 0) out += ", ";
    out += to_text(dims[k]);
  }
  return out + "]";
}

std::string to_text_of_state(const StateType& state) {
  std::string out = concat("state(", state.dtype);
  if (state.layout == StateLayout::contiguous) {
    out += concat(", contiguous, batch=", state.batch, ", capacity=", state.capacity);
  } else {
    out += concat(", paged, batch=", state.batch, ", blocks=", state.capacity,
                  ", max_blocks=", state.max_blocks, ", block_size=", state.block_size);
  }
  return out + concat(", length=", state.length, ", token=", dims_text(state.token), ")");
}

Result<DType> parse_dtype(Lexer& lexer) {
  const std::string_view word = lexer.peek_identifier();
  const auto dtype = dtype_from_name(word);
  if (!dtype) return lexer.error("a type such as f32[2, 3]");
  lexer.identifier();
  return *dtype;
}

Result<Expr> parse_dim(std::string_view text, ExprPool& pool) {
  TRY(const Expr dim, parse_expr(text, pool));
  if (dim.dtype() != DType::i64) {
    return invalid_argument("dimension '", to_comment(text), "': expected an i64 expression, got ",
                            dim.dtype());
  }
  return dim;
}

Result<Exprs> parse_dims(std::string_view text, ExprPool& pool) {
  Exprs dims;
  for (const std::string_view piece : split_top_level(text)) {
    TRY(const Expr dim, parse_dim(piece, pool));
    dims.push_back(dim);
  }
  return dims;
}

Result<Type> parse_state(Lexer& lexer, ExprPool& pool) {
  StateType state;
  TRY_STATUS(lexer.expect("("));
  TRY(const std::string_view inside, lexer.until(')'));
  const auto pieces = split_top_level(inside);
  if (pieces.size() < 2) return lexer.error("state(dtype, layout, ...)");
  const auto dtype = dtype_from_name(pieces[0]);
  if (!dtype) return lexer.error("a state's dtype");
  state.dtype = *dtype;
  if (pieces[1] != "contiguous" && pieces[1] != "paged") {
    return lexer.error("'contiguous' or 'paged' as a state's layout");
  }
  state.layout = pieces[1] == "paged" ? StateLayout::paged : StateLayout::contiguous;
  for (size_t k = 2; k < pieces.size(); ++k) {
    const size_t equals = pieces[k].find('=');
    if (equals == std::string_view::npos) return lexer.error("name=value in a state");
    const std::string_view key = trim(pieces[k].substr(0, equals));
    std::string_view text = trim(pieces[k].substr(equals + 1));
    if (key == "token") {
      if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
        return lexer.error("token=[...] in a state");
      }
      TRY(state.token, parse_dims(text.substr(1, text.size() - 2), pool));
      continue;
    }
    TRY(const Expr value, parse_dim(text, pool));
    if (key == "batch") {
      state.batch = value;
    } else if (key == "capacity" || key == "blocks") {
      state.capacity = value;
    } else if (key == "max_blocks") {
      state.max_blocks = value;
    } else if (key == "length") {
      state.length = value;
    } else if (key == "block_size" && value.as_int().value_or(0) > 0) {
      state.block_size = *value.as_int();
    } else {
      return lexer.error("batch, capacity, blocks, max_blocks, block_size, length or token");
    }
  }
  const bool paged = state.layout == StateLayout::paged;
  if (!state.batch || !state.capacity || !state.length ||
      (paged && (!state.max_blocks || state.block_size == 0))) {
    return lexer.error("all sizes of a state");
  }
  return Type(std::move(state));
}

Result<Type> parse(Lexer& lexer, ExprPool& pool, int depth) {
  if (depth > kMaxNesting) return lexer.error("a type that is not nested so deep");
  if (lexer.accept_word("nothing")) return Type(ContainerType{});
  if (lexer.accept_word("state")) return parse_state(lexer, pool);
  using Kind = ContainerType::Kind;
  const std::string_view word = lexer.peek_identifier();
  if (word == "sequence" || word == "optional" || word == "map") {
    lexer.identifier();
    ContainerType container;
    container.kind = word == "map"        ? Kind::map
                     : word == "optional" ? Kind::optional
                                          : Kind::sequence;
    TRY_STATUS(lexer.expect("("));
    if (container.kind == Kind::map) {
      TRY(container.key, parse_dtype(lexer));
      TRY_STATUS(lexer.expect(","));
    }
    if (!lexer.accept_word("nothing")) {
      TRY(auto element, parse(lexer, pool, depth + 1));
      container.element = std::make_shared<const Type>(std::move(element));
    }
    TRY_STATUS(lexer.expect(")"));
    return Type(std::move(container));
  }
  TensorType tensor;
  TRY(tensor.dtype, parse_dtype(lexer));
  TRY_STATUS(lexer.expect("["));
  TRY(const std::string_view inside, lexer.until(']'));
  TRY(tensor.dims, parse_dims(inside, pool));
  return Type(std::move(tensor));
}

}  // namespace

Type sequence_type(const Type& element) {
  ContainerType type;
  type.element = std::make_shared<const Type>(
      element.is_tensor() ? Type(TensorType{element.tensor.dtype, {}}) : element);
  return type;
}

Type optional_type(const Type& element) {
  Type type = sequence_type(element);
  type.container.kind = ContainerType::Kind::optional;
  return type;
}

bool operator==(const ContainerType& a, const ContainerType& b) {
  if (a.kind != b.kind || (a.element == nullptr) != (b.element == nullptr)) return false;
  if (a.kind == ContainerType::Kind::map && a.key != b.key) return false;
  return a.element == nullptr || *a.element == *b.element;
}

std::string to_text(const TensorType& type) {
  return concat(type.dtype, dims_text(type.dims));
}

std::string to_text(const Type& type) {
  if (type.kind == Type::Kind::tensor) return to_text(type.tensor);
  if (type.kind == Type::Kind::state) return to_text_of_state(type.state);
  const ContainerType& container = type.container;
  const std::string element = container.element ? to_text(*container.element) : "nothing";
  switch (container.kind) {
    case ContainerType::Kind::sequence:
      return container.element ? concat("sequence(", element, ")") : "nothing";
    case ContainerType::Kind::optional:
      return concat("optional(", element, ")");
    case ContainerType::Kind::map:
      return concat("map(", container.key, ", ", element, ")");
  }
  INGOT_UNREACHABLE();
}

Result<Type> parse_type(Lexer& lexer, ExprPool& pool) {
  return parse(lexer, pool, 0);
}

Result<Type> parse_type(std::string_view text, ExprPool& pool) {
  Lexer lexer(text);
  TRY(auto type, parse(lexer, pool, 0));
  if (!lexer.at_end()) return lexer.error("the end of the type");
  return type;
}

Expr element_count(const TensorType& type) {
  CHECK(!type.dims.empty(), "element_count of a scalar needs a pool");
  return element_count(type.dims[0].pool(), type.dims);
}

Expr element_count(ExprPool& pool, std::span<const Expr> dims) {
  Expr count = pool.integer(1);
  for (const Expr dim : dims) count = count * dim;
  return count;
}

Exprs row_major_strides(ExprPool& pool, std::span<const Expr> dims) {
  Exprs strides(dims.size());
  Expr stride = pool.integer(1);
  for (size_t a = dims.size(); a-- > 0;) {
    strides[a] = stride;
    stride = stride * dims[a];
  }
  return strides;
}

std::optional<std::vector<int64_t>> static_dims(const TensorType& type) {
  std::vector<int64_t> dims;
  for (const Expr dim : type.dims) {
    const auto value = dim.as_int();
    if (!value) return std::nullopt;
    dims.push_back(*value);
  }
  return dims;
}

Result<Exprs> broadcast(std::span<const Exprs> shapes,
                        std::vector<std::pair<Expr, Expr>>* assumed_equal) {
  size_t rank = 0;
  for (const Exprs& shape : shapes) rank = std::max(rank, shape.size());
  Exprs result(rank);
  for (size_t k = 0; k < rank; ++k) {  // k counts from the innermost dim
    Expr& dim = result[rank - 1 - k];
    for (const Exprs& shape : shapes) {
      if (k >= shape.size()) continue;
      const Expr other = shape[shape.size() - 1 - k];
      if (!dim || dim.is_int(1)) {
        dim = other;
        continue;
      }
      if (other.is_int(1)) continue;
      if (provably_equal(dim, other)) {
        if (other.as_int()) dim = other;
        continue;
      }
      if (dim.as_int() && other.as_int()) {
        std::string text;
        for (const Exprs& s : shapes) text += (text.empty() ? "" : " and ") + dims_text(s);
        return invalid_argument("shapes ", text, " do not broadcast: ", dim, " and ", other,
                                " differ and neither is 1");
      }
      if (assumed_equal != nullptr) assumed_equal->emplace_back(dim, other);
      if (other.as_int()) dim = other;
    }
  }
  return result;
}

Result<int64_t> normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return invalid_argument("expected an axis in [", -rank, ", ", rank, "), got ", axis);
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace ingot
