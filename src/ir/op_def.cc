// ir/op_def.cc: constants, attributes and the hooks' contexts.
#include "ir/op_def.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "ir/graph.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

constexpr int64_t kMaxPrintedElements = 16;

std::string element_text(const Tensor& tensor, int64_t k) {
  if (tensor.dtype() == DType::f32) return format_number(static_cast<float>(tensor.real(k)));
  if (tensor.holds_reals()) return format_number(tensor.real(k));
  if (tensor.dtype() == DType::u64) return concat(static_cast<uint64_t>(tensor.integer(k)));
  return concat(tensor.integer(k));
}

/// Types of the params an expression has, "|p0: f32, p1: i64| ", or nothing.
std::string params_text(std::span<const Expr> roots) {
  std::map<uint64_t, DType> params;
  for (const Expr root : roots) {
    for_each(root, [&](Expr e) {
      if (e.kind() == ExprKind::param) params[e.payload()] = e.dtype();
    });
  }
  if (params.empty()) return "";
  std::string out;
  for (const auto& [number, dtype] : params) {
    out += concat(out.empty() ? "|" : ", ", "p", number, ": ", dtype);
  }
  return out + "| ";
}

std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(int64_t value) {
  return concat(value);
}
std::string text_of(double value) {
  return format_number(value);
}
std::string text_of(const std::string& value) {
  return quote(value);
}
std::string text_of(DType value) {
  return std::string(to_text(value));
}
std::string text_of(ReduceKind value) {
  return std::string(name(value));
}
template <class T>
std::string text_of(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() > 1 ? ", " : "") + text_of(value);
  return out + "]";
}
std::string text_of(Expr value) {
  if (!value) return "``";
  return concat("`", params_text(std::span(&value, 1)), value, "`");
}
std::string text_of(const Exprs& values) {
  std::string out = "{" + params_text(values);
  for (size_t k = 0; k < values.size(); ++k) out += (k > 0 ? ", " : "") + to_text(values[k]);
  return out + "}";
}
std::string text_of(const ConstantData& data) {
  std::string out = concat(data.dtype, data.dims);
  if (count_of(data.dims) > kMaxPrintedElements || is_complex(data.dtype)) {
    return out + "#" + content_hash(data);
  }
  out += "{";
  if (data.dtype == DType::str) {
    for (size_t k = 0; k < data.strings.size(); ++k) {
      out += (k > 0 ? ", " : "") + quote(data.strings[k]);
    }
    return out + "}";
  }
  const Result<Tensor> tensor = to_tensor(data);
  if (!tensor) return out + "}";  // no data, as in an attribute that was not given
  for (int64_t k = 0; k < tensor->size(); ++k)
    out += (k > 0 ? ", " : "") + element_text(*tensor, k);
  return out + "}";
}
std::string text_of(const GraphRef& graph) {
  return graph == nullptr ? "graph {}" : to_text(*graph);
}

bool same_attribute(const Attribute& a, const Attribute& b) {
  const auto* left = std::get_if<GraphRef>(&a);
  const auto* right = std::get_if<GraphRef>(&b);
  if (left == nullptr || right == nullptr) {
    // NaN attributes are equal to themselves, as equal ops may share a result.
    const auto* x = std::get_if<double>(&a);
    const auto* y = std::get_if<double>(&b);
    if (x != nullptr && y != nullptr) {
      return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
    }
    return a == b;
  }
  if (*left == *right) return true;
  if (*left == nullptr || *right == nullptr) return false;
  return to_text(**left) == to_text(**right);
}

}  // namespace

bool operator==(const ConstantData& a, const ConstantData& b) {
  if (a.dtype != b.dtype || a.dims != b.dims || a.strings != b.strings) return false;
  if (a.bytes.size() != b.bytes.size()) return false;
  return a.bytes.data() == b.bytes.data() || std::ranges::equal(a.bytes, b.bytes);
}

std::string content_hash(const ConstantData& data) {
  Hasher hasher;
  hasher.add_field(concat(data.dtype, data.dims));
  hasher.add(data.bytes);
  for (const std::string& text : data.strings) hasher.add_field(text);
  return to_text(hasher.finish());
}

Result<Tensor> to_tensor(const ConstantData& data) {
  if (data.dtype != DType::str) return Tensor::from_bytes(data.dtype, data.dims, data.bytes);
  if (count_of(data.dims) != static_cast<int64_t>(data.strings.size())) {
    return invalid_argument("constant str", data.dims, ": got ", data.strings.size(), " strings");
  }
  return Tensor::of_strings(data.dims, data.strings);
}

ConstantData to_constant(const Tensor& tensor) {
  ConstantData data;
  data.dtype = tensor.dtype();
  data.dims = tensor.dims();
  if (data.dtype == DType::str) {
    data.strings = tensor.strings();
    return data;
  }
  auto bytes = std::make_shared<const std::vector<std::byte>>(tensor.to_bytes());
  data.bytes = *bytes;
  data.owner = std::move(bytes);
  return data;
}

bool operator==(const OpRef& a, const OpRef& b) {
  if (a.def_ != b.def_) return false;
  if (a.data_ == b.data_) return true;
  for (size_t k = 0; k < a.def_->fields.size(); ++k) {
    if (!same_attribute(a.attribute(k), b.attribute(k))) return false;
  }
  return true;
}

bool InferContext::assume_equal(Expr a, Expr b, std::string text) {
  if (provably_equal(a, b)) return true;
  const Range left = range_of(a);
  const Range right = range_of(b);
  if (left.hi < right.lo || right.hi < left.lo) return false;
  assumptions.push_back({a, b, std::move(text)});
  return true;
}

int64_t ReferenceContext::evaluate_dim_of(Expr expr) const {
  return evaluate_dim(expr, symbols);
}

std::string to_text(const Attribute& attribute) {
  return std::visit([](const auto& value) { return text_of(value); }, attribute);
}

namespace detail {

std::string attribute_type_name(const Attribute& value) {
  static constexpr std::array<std::string_view, std::variant_size_v<Attribute>> kNames = {
      "a bool",      "an integer", "a number", "a text", "a dtype",
      "a reduction", "integers",   "numbers",  "texts",  "an expression",
      "expressions", "a tensor",   "a graph"};
  return std::string(kNames[value.index()]);
}

}  // namespace detail
}  // namespace ingot
