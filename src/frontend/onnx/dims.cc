// frontend/onnx/dims.cc: names of dims become symbols, formulas of names expressions.
#include "frontend/onnx/dims.h"

#include <cctype>

#include "base/text.h"

namespace ingot::onnx {
namespace {

/// Reads sums, differences and products of names and numbers, as exporters write derived dims.
class Formula {
 public:
  using Lookup = std::function<Result<Expr>(std::string_view)>;
  Formula(std::string_view text, ExprPool& pool, Lookup lookup)
      : text_(text), pool_(pool), lookup_(std::move(lookup)) {}

  /// Nothing if the text is no formula.
  Result<std::optional<Expr>> parse() {
    TRY(const std::optional<Expr> value, sum());
    skip();
    if (at_ != text_.size()) return std::optional<Expr>();
    return value;
  }

 private:
  Result<std::optional<Expr>> sum() {
    TRY(std::optional<Expr> value, product());
    for (;;) {
      skip();
      const char op = peek();
      if (!value || (op != '+' && op != '-')) return value;
      ++at_;
      TRY(const std::optional<Expr> right, product());
      if (!right) return right;
      value = op == '+' ? *value + *right : *value - *right;
    }
  }
  Result<std::optional<Expr>> product() {
    TRY(std::optional<Expr> value, leaf());
    for (;;) {
      skip();
      if (!value || peek() != '*') return value;
      ++at_;
      TRY(const std::optional<Expr> right, leaf());
      if (!right) return right;
      value = *value * *right;
    }
  }
  Result<std::optional<Expr>> leaf() {
    skip();
    if (peek() == '(' && depth_ < 32) {
      ++at_;
      ++depth_;
      TRY(const std::optional<Expr> inner, sum());
      --depth_;
      skip();
      if (peek() != ')') return std::optional<Expr>();
      ++at_;
      return inner;
    }
    const size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_' || peek() == '.') {
      ++at_;
    }
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) return std::optional<Expr>();
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      const auto number = parse_int(word);
      if (!number || *number > kMaxDim) return std::optional<Expr>();
      return std::optional(pool_.integer(*number));
    }
    TRY(const Expr found, lookup_(word));
    return std::optional(found);
  }
  void skip() {
    while (peek() == ' ') ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  ExprPool& pool_;
  Lookup lookup_;
  size_t at_ = 0;
  int depth_ = 0;
};

bool is_formula(std::string_view param) {
  return param.find_first_of("+-*(") != std::string_view::npos;
}

/// The name of a dim; empty if it has none: some converters write '?' for all that they don't know.
std::string_view name_of(const DimProto& dim) {
  return dim.param == "?" ? std::string_view() : dim.param;
}

std::string unnamed(std::string_view input, size_t axis) {
  return concat(input, ".", axis);
}

}  // namespace

Status DimTable::pin_from_shape(const ValueInfoProto& input) {
  const auto given = options_.shapes.find(std::string(input.name));
  if (given == options_.shapes.end() || !input.type.has_shape) return ok();
  const auto& shape = given->second;
  const auto& dims = input.type.dims;
  if (shape.size() != dims.size()) {
    return invalid_argument("input '", to_comment(input.name), "': expected ", dims.size(),
                            " dims, got ", shape.size());
  }
  for (size_t k = 0; k < dims.size(); ++k) {
    if (!shape[k]) continue;
    if (*shape[k] < 0 || *shape[k] > kMaxDim) {
      return invalid_argument("input '", to_comment(input.name), "': dim ", k, " of ", *shape[k]);
    }
    if (dims[k].value && *dims[k].value >= 0) {
      if (*dims[k].value == *shape[k]) continue;
      return invalid_argument("input '", to_comment(input.name), "': dim ", k, " is ",
                              *dims[k].value, " in the model, got ", *shape[k]);
    }
    const std::string_view name = name_of(dims[k]);
    if (name.empty() || is_formula(name)) continue;
    const auto [pin, is_new] = pins_.try_emplace(std::string(name), *shape[k], input.name);
    if (!is_new && pin->second.first != *shape[k]) {
      return invalid_argument("dim '", to_comment(name), "' is ", pin->second.first, " for input '",
                              to_comment(pin->second.second), "' and ", *shape[k], " for input '",
                              to_comment(input.name), "'");
    }
  }
  return ok();
}

Result<Expr> DimTable::symbol(std::string_view name) {
  seen_.emplace(name);
  const auto declared = options_.dims.find(std::string(name));
  const auto pinned = pins_.find(name);
  if (declared != options_.dims.end()) {
    const Range range = declared->second;
    if (range.lo < 0 || range.hi > kMaxDim || range.lo > range.hi) {
      return invalid_argument("dim '", to_comment(name), "': expected a range within 0..", kMaxDim,
                              ", got ", range.lo, "..", range.hi);
    }
    if (pinned != pins_.end() &&
        (pinned->second.first < range.lo || pinned->second.first > range.hi)) {
      return invalid_argument("dim '", to_comment(name), "' is ", pinned->second.first,
                              " for input '", to_comment(pinned->second.second),
                              "', which is outside ", range.lo, "..", range.hi);
    }
    if (range.is_single()) return pool_.integer(range.lo);
    if (pinned == pins_.end()) {
      const Expr symbol = pool_.symbol(name);
      pool_.symbol_info(symbol.symbol()).range = range;
      return symbol;
    }
  }
  return pinned != pins_.end() ? pool_.integer(pinned->second.first) : pool_.symbol(name);
}

Result<Expr> DimTable::named(std::string_view param) {
  if (is_formula(param) && !options_.dims.contains(std::string(param))) {
    TRY(const std::optional<Expr> value,
        Formula(param, pool_, [this](std::string_view name) { return symbol(name); }).parse());
    if (value) return *value;
  }
  return symbol(param);
}

Result<Exprs> DimTable::input_dims(const ValueInfoProto& input) {
  const auto given = options_.shapes.find(std::string(input.name));
  const auto* shape = given == options_.shapes.end() ? nullptr : &given->second;
  Exprs dims;
  if (!input.type.has_shape) {
    if (shape == nullptr) {
      return unsupported("its shape is not in the model; say what it is (option shapes)");
    }
    for (size_t k = 0; k < shape->size(); ++k) {
      const auto value = (*shape)[k];
      if (value && (*value < 0 || *value > kMaxDim)) {
        return invalid_argument("expected dims from 0 to ", kMaxDim, ", got ", *value);
      }
      TRY(const Expr dim,
          value ? Result<Expr>(pool_.integer(*value)) : symbol(unnamed(input.name, k)));
      dims.push_back(dim);
    }
    return dims;
  }
  for (size_t k = 0; k < input.type.dims.size(); ++k) {
    const DimProto& dim = input.type.dims[k];
    if (dim.value && *dim.value > kMaxDim) {
      return unsupported("dim ", k, " of ", *dim.value, " is beyond ", kMaxDim);
    }
    if (dim.value && *dim.value >= 0) {
      dims.push_back(pool_.integer(*dim.value));
      continue;
    }
    // Some converters write -1 for a dim that is not known.
    const bool has_name = !dim.value && !name_of(dim).empty();
    if (!has_name && shape != nullptr && (*shape)[k]) {
      dims.push_back(pool_.integer(*(*shape)[k]));
      continue;
    }
    TRY(const Expr expr, has_name ? named(dim.param) : symbol(unnamed(input.name, k)));
    dims.push_back(expr);
  }
  return dims;
}

Status DimTable::check_all_used() const {
  for (const auto& [name, range] : options_.dims) {
    if (seen_.contains(name)) continue;
    return invalid_argument("the model has no dim '", to_comment(name), "'; it has ",
                            seen_.empty() ? "numbers alone" : to_comment(join(seen_, ", ")));
  }
  return ok();
}

}  // namespace ingot::onnx
