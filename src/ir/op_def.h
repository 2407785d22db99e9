// ir/op_def.h: what an operator provides, and how the graph holds it.
//
// A core operator is a plain struct in one file of src/ops. Its members are the attributes; static
// members describe it; member functions say what it means:
//
//   struct Softmax {
//     int64_t axis = -1;
//     static constexpr std::string_view kName = "softmax";
//     static constexpr std::string_view kDoc = "y = exp(x - m) / sum(exp(x - m)) ...";
//     static constexpr std::array kInputs = {Port{"x", "scores, any rank above 0"}};
//     static constexpr std::array kOutputs = {Port{"y", "shape and type of x"}};
//     static constexpr auto kFields = std::tuple{field("axis", &Softmax::axis)};
//     static constexpr Accuracy kAccuracy = rounding(4);
//     Result<Types> infer(InferContext& ctx) const;                 // required
//     std::vector<Tensor> reference(const ReferenceContext& ctx) const;   // required unless expand
//     Expr lower(Lowering& k, size_t output, std::span<const Expr> index) const;  // one of these
//     Scatter lower_scatter(Lowering& k, std::span<const Expr> index) const;      //
//     std::vector<ValueId> expand(Expansion& g, std::span<const ValueId> in) const;  //
//     static constexpr RoutineInfo kRoutine = {...};                              //
//     std::vector<std::string> routine_texts() const;   // with kRoutine: what else it is handed
//     static Sample<Softmax> sample(Random& rng);                    // required
//   };
//
// define<Softmax>() turns it into an OpDef; ops/ops.def lists it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/result.h"
#include "ir/tensor.h"
#include "ir/type.h"
#include "kernel/expr.h"

namespace ingot {

class Graph;
using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;

// ---- Ports, accuracy -------------------------------------------------------------------------

enum class PortKind : uint8_t { required, optional, variadic };

/// An input or output of an operator. Optional inputs that are absent are invalid ValueIds.
struct Port {
  std::string_view name;
  std::string_view doc;
  PortKind kind = PortKind::required;
};

/// How far a result may lie from the fp64 reference.
struct Accuracy {
  enum class Kind : uint8_t { exact, rounding, random } kind = Kind::exact;
  double ulp = 0;  // of the output's compute type, per operation in a chain of depth 1
};
constexpr Accuracy exact() {
  return {};
}
constexpr Accuracy rounding(double ulp) {
  return {Accuracy::Kind::rounding, ulp};
}
constexpr Accuracy random_values() {
  return {Accuracy::Kind::random, 0};
}

// ---- Attributes ------------------------------------------------------------------------------

/// Bytes of a constant: a slice of something that `owner` keeps alive, often a mapped file.
struct ConstantData {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;  // little-endian storage bytes; empty for strings
  std::vector<std::string> strings;  // dtype str
  friend bool operator==(const ConstantData& a, const ConstantData& b);  // by content
};

/// 32 hexadecimal digits that stand for dtype, dims and contents.
std::string content_hash(const ConstantData& data);
/// The values of a constant. Errors: bytes that do not fit dtype and dims; complex numbers.
Result<Tensor> to_tensor(const ConstantData& data);
/// A constant that owns its bytes, rounded to the storage type.
ConstantData to_constant(const Tensor& tensor);

using GraphRef = std::shared_ptr<const Graph>;

using Attribute = std::variant<bool, int64_t, double, std::string, DType, ReduceKind,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::string>,
                               Expr, Exprs, ConstantData, GraphRef>;

template <class T, class M>
struct Field {
  std::string_view name;
  M T::*member;
};
template <class T, class M>
constexpr Field<T, M> field(std::string_view name, M T::*member) {
  return {name, member};
}

using Attributes = std::map<std::string, Attribute, std::less<>>;

// ---- Hooks' contexts -------------------------------------------------------------------------

/// Two dims that the graph takes to be equal at run time, and why, for the message.
struct Assumption {
  Expr a;
  Expr b;
  std::string text;
};

/// What infer sees.
struct InferContext {
  ExprPool& pool;
  std::span<const Type> inputs;         // an absent optional input has a container type of nothing
  std::vector<bool> present;            // per input
  std::vector<Assumption> assumptions;  // out: conditions on the dims that the result relies on

  size_t count() const { return inputs.size(); }
  bool has(size_t k) const { return k < inputs.size() && present[k]; }
  const TensorType& tensor(size_t k) const { return inputs[k].tensor; }
  const StateType& state(size_t k) const { return inputs[k].state; }
  /// Takes a == b to hold; false if that is impossible.
  bool assume_equal(Expr a, Expr b, std::string text);
};

/// What reference sees. A state counts as its planes: data, (paged: block table,) lengths.
struct ReferenceContext {
  std::span<const Tensor> in;        // absent optional inputs are tensors of dtype f32 and size 0
  std::vector<bool> present;         // per input
  std::span<const int64_t> symbols;  // values by SymbolId
  std::vector<std::vector<int64_t>> out_dims;  // concrete dims per output (empty for states)
  std::vector<DType> out_dtypes;

  bool has(size_t k) const { return k < in.size() && present[k]; }
  int64_t dim(Expr expr) const { return evaluate_dim_of(expr); }
  /// Output k with its dims and dtype, zero-filled.
  Tensor make_output(size_t k = 0) const { return Tensor(out_dtypes[k], out_dims[k]); }
  /// For an op whose inputs may be such that it has no results, as one with a body that fails:
  /// what its reference returns then. Whoever called it finds the error in `failure`.
  std::vector<Tensor> fail(Error error) const {
    failure = std::move(error);
    return {};
  }
  mutable std::optional<Error> failure;

 private:
  int64_t evaluate_dim_of(Expr expr) const;
};

enum class StatePlane : uint8_t { data, table, lengths };

/// What lower sees: the elements of the inputs. Implemented by whoever builds loop nests (or
/// evaluates elements symbolically). Values arrive in their compute dtype (compute_dtype).
class Lowering {
 public:
  virtual ~Lowering() = default;
  virtual ExprPool& pool() = 0;
  virtual size_t input_count() const = 0;
  virtual bool has(size_t input) const = 0;
  virtual const Type& input_type(size_t input) const = 0;
  virtual const Type& output_type(size_t output) const = 0;
  /// Element of tensor `input` at `index` (one expression per dim, in range).
  virtual Expr load(size_t input, std::span<const Expr> index) = 0;
  /// The same where `condition` holds, `otherwise` where it does not (index may then be anything).
  virtual Expr load_if(Expr condition, size_t input, std::span<const Expr> index,
                       Expr otherwise) = 0;
  /// Element `offset` (flat) of one plane of a state input.
  virtual Expr load_plane(size_t input, StatePlane plane, Expr offset) = 0;

  const TensorType& tensor(size_t input) const { return input_type(input).tensor; }
  Expr dim(size_t input, int64_t axis) const {
    return tensor(input).dims[static_cast<size_t>(axis)];
  }
  Expr integer(int64_t value) { return pool().integer(value); }
  /// Constant of a compute dtype.
  Expr constant(DType dtype, double value) {
    return is_float(dtype) ? pool().real(value, dtype)
                           : pool().integer(static_cast<int64_t>(value), dtype);
  }
  /// Reduction of body(j) over 0 <= j < extent, j ascending.
  Expr reduce(ReduceKind kind, Expr extent, const std::function<Expr(Expr)>& body) {
    const Expr j = pool().fresh_index(extent);
    return pool().reduce(kind, j, body(j));
  }
};

/// One store of a scattering op: output 0 is input 0 updated in place.
struct Scatter {
  StatePlane plane = StatePlane::data;  // when the output is a state
  Expr offset;                          // flat element offset
  Expr value;                           // compute dtype
  Expr predicate;                       // none: always
};

/// A plain C++ function of the runtime library (src/artifact/routines.cc).
struct RoutineInfo {
  std::string_view symbol;  // its C name
};

/// Builds the replacement of a composite op in terms of other ops.
class Expansion {
 public:
  virtual ~Expansion() = default;
  virtual Graph& graph() = 0;
  virtual std::vector<ValueId> add_ref(class OpRef op, std::vector<ValueId> inputs) = 0;
  template <class T>
  ValueId add(T op, std::vector<ValueId> inputs);
};

/// A random valid instance of an op: attributes and the types of its inputs. Dims may be symbols.
template <class T>
struct Sample {
  T op;
  std::vector<Type> inputs;
  /// Inputs whose values the op constrains (indices, block tables): input number -> [lo, hi].
  std::map<size_t, std::pair<double, double>> value_ranges = {};
};

// ---- OpDef, OpRef ----------------------------------------------------------------------------

class OpRef;

/// Everything about an operator, type-erased. Made by define<T>(); lives for ever.
struct OpDef {
  std::string_view name;
  std::string_view doc;
  std::span<const Port> inputs;
  std::span<const Port> outputs;
  Accuracy accuracy;
  std::vector<std::string_view> fields;
  const void* type = nullptr;  // identity of the C++ struct

  using Data = const void*;
  Result<OpRef> (*make)(const Attributes&) = nullptr;  // unknown or ill-typed names are errors
  Attribute (*get)(Data, size_t field) = nullptr;
  Result<Types> (*infer)(Data, InferContext&) = nullptr;
  std::vector<Tensor> (*reference)(Data, const ReferenceContext&) = nullptr;  // null: expand
  Expr (*lower)(Data, Lowering&, size_t, std::span<const Expr>) = nullptr;    // or null
  Scatter (*lower_scatter)(Data, Lowering&, std::span<const Expr>) = nullptr;
  Exprs (*scatter_domain)(Data, std::span<const Type>) = nullptr;  // with lower_scatter
  std::vector<ValueId> (*expand)(Data, Expansion&, std::span<const ValueId>) = nullptr;
  const RoutineInfo* routine = nullptr;
  std::vector<std::string> (*routine_texts)(Data) = nullptr;  // or null: attributes that are texts
  struct AnySample;
  AnySample (*sample)(Random&, ExprPool&) = nullptr;
};

/// An immutable op with its attributes. Cheap to copy.
class OpRef {
 public:
  OpRef() = default;
  OpRef(const OpDef* def, std::shared_ptr<const void> data) : def_(def), data_(std::move(data)) {}

  explicit operator bool() const { return def_ != nullptr; }
  const OpDef& def() const { return *def_; }
  std::string_view name() const { return def_->name; }
  const void* data() const { return data_.get(); }
  template <class T>
  const T* as() const;
  template <class T>
  bool is() const {
    return as<T>() != nullptr;
  }
  Attribute attribute(size_t field) const { return def_->get(data(), field); }
  /// Same op with equal attributes.
  friend bool operator==(const OpRef& a, const OpRef& b);

 private:
  const OpDef* def_ = nullptr;
  std::shared_ptr<const void> data_;
};

struct OpDef::AnySample {
  OpRef op;
  std::vector<Type> inputs;
  std::map<size_t, std::pair<double, double>> value_ranges;
};

/// The OpDef of a struct.
template <class T>
const OpDef& op_def();

/// An OpRef of a struct: make_op(Softmax{.axis = 1}).
template <class T>
OpRef make_op(T op) {
  return OpRef(&op_def<T>(), std::make_shared<const T>(std::move(op)));
}

template <class T>  // NOLINTNEXTLINE(performance-unnecessary-value-param): moved on
ValueId Expansion::add(T op, std::vector<ValueId> inputs) {
  return add_ref(make_op(std::move(op)), std::move(inputs))[0];
}

/// Finds an op by name; null if there is none. ops/registry.h has the one of the core operators.
using OpLookup = const OpDef* (*)(std::string_view name);

// ---- define<T> -------------------------------------------------------------------------------

namespace detail {
template <class T>
inline constexpr char kTypeTag = 0;

template <class M>
Result<bool> assign(M& member, const Attribute& value, std::string_view op, std::string_view name);

template <class T>
Result<OpRef> make_from(const Attributes& attributes);
template <class T>
Attribute get_field(const void* data, size_t index);
template <class T>
OpDef make_def();
}  // namespace detail

template <class T>
const T* OpRef::as() const {
  return def_ != nullptr && def_->type == &detail::kTypeTag<T> ? static_cast<const T*>(data_.get())
                                                               : nullptr;
}

template <class T>
const OpDef& op_def() {
  static const OpDef def = detail::make_def<T>();
  return def;
}

/// What an op's file ends with: `const OpDef& define_softmax() { return define<Softmax>(); }`.
template <class T>
const OpDef& define() {
  return op_def<T>();
}

std::string to_text(const Attribute& attribute);

namespace detail {

std::string attribute_type_name(const Attribute& value);

template <class M>
Result<bool> assign(M& member, const Attribute& value, std::string_view op, std::string_view name) {
  if constexpr (std::is_same_v<M, double>) {
    if (const auto* whole = std::get_if<int64_t>(&value)) {
      member = static_cast<double>(*whole);
      return true;
    }
  }
  if constexpr (std::is_same_v<M, std::vector<double>>) {
    if (const auto* whole = std::get_if<std::vector<int64_t>>(&value)) {
      member.assign(whole->begin(), whole->end());
      return true;
    }
  }
  if constexpr (std::is_same_v<M, std::vector<std::string>>) {
    const auto* whole = std::get_if<std::vector<int64_t>>(&value);
    if (whole != nullptr && whole->empty()) {  // a list of nothing is of every kind
      member.clear();
      return true;
    }
  }
  if constexpr (std::is_same_v<M, bool>) {
    if (const auto* whole = std::get_if<int64_t>(&value)) {
      member = *whole != 0;
      return true;
    }
  }
  if (const auto* held = std::get_if<M>(&value)) {
    member = *held;
    return true;
  }
  return invalid_argument(op, ": attribute '", name, "': expected ",
                          attribute_type_name(Attribute(M{})), ", got ", attribute_type_name(value),
                          " ", to_text(value));
}

template <class T>
Result<OpRef> make_from(const Attributes& attributes) {
  T op{};
  for (const auto& attribute : attributes) {
    const std::string& name = attribute.first;
    const Attribute& value = attribute.second;
    bool known = false;
    std::optional<Error> failure;
    std::apply(
        [&](const auto&... fields) {
          (
              [&](const auto& f) {
                if (f.name != name) return;
                known = true;
                auto done = assign(op.*(f.member), value, T::kName, name);
                if (!done) failure = std::move(done.error());
              }(fields),
              ...);
        },
        T::kFields);
    if (!known) {
      return invalid_argument(T::kName, ": has no attribute '", name, "'");
    }
    if (failure) return std::move(*failure);
  }
  return make_op(std::move(op));
}

template <class T>
Attribute get_field(const void* data, size_t index) {
  const T& op = *static_cast<const T*>(data);
  Attribute result;
  size_t k = 0;
  std::apply(
      [&](const auto&... fields) {
        ((k++ == index ? void(result = Attribute(op.*(fields.member))) : void()), ...);
      },
      T::kFields);
  return result;
}

template <class T>
OpDef make_def() {
  OpDef def;
  def.name = T::kName;
  def.doc = T::kDoc;
  def.inputs = T::kInputs;
  def.outputs = T::kOutputs;
  def.accuracy = T::kAccuracy;
  def.type = &kTypeTag<T>;
  std::apply([&](const auto&... fields) { (def.fields.push_back(fields.name), ...); }, T::kFields);
  def.make = make_from<T>;
  def.get = get_field<T>;
  def.infer = [](const void* op, InferContext& ctx) {
    return static_cast<const T*>(op)->infer(ctx);
  };
  if constexpr (requires(const T& op, const ReferenceContext& ctx) { op.reference(ctx); }) {
    def.reference = [](const void* op, const ReferenceContext& ctx) {
      return static_cast<const T*>(op)->reference(ctx);
    };
  }
  if constexpr (requires(const T& op, Lowering& k, std::span<const Expr> i) {
                  op.lower(k, 0, i);
                }) {
    def.lower = [](const void* op, Lowering& k, size_t output, std::span<const Expr> index) {
      return static_cast<const T*>(op)->lower(k, output, index);
    };
  }
  if constexpr (requires(const T& op, Lowering& k, std::span<const Expr> i) {
                  op.lower_scatter(k, i);
                }) {
    def.lower_scatter = [](const void* op, Lowering& k, std::span<const Expr> index) {
      return static_cast<const T*>(op)->lower_scatter(k, index);
    };
    def.scatter_domain = [](const void* op, std::span<const Type> inputs) {
      return static_cast<const T*>(op)->scatter_domain(inputs);
    };
  }
  if constexpr (requires(const T& op, Expansion& g, std::span<const ValueId> in) {
                  op.expand(g, in);
                }) {
    def.expand = [](const void* op, Expansion& g, std::span<const ValueId> in) {
      return static_cast<const T*>(op)->expand(g, in);
    };
  }
  if constexpr (requires { T::kRoutine; }) def.routine = &T::kRoutine;
  if constexpr (requires(const T& op) { op.routine_texts(); }) {
    def.routine_texts = [](const void* op) { return static_cast<const T*>(op)->routine_texts(); };
  }
  def.sample = [](Random& rng, ExprPool& pool) {
    Sample<T> s = [&] {
      if constexpr (requires { T::sample(rng, pool); }) {
        return T::sample(rng, pool);
      } else {
        (void)pool;
        return T::sample(rng);
      }
    }();
    return OpDef::AnySample{make_op(std::move(s.op)), std::move(s.inputs),
                            std::move(s.value_ranges)};
  };
  return def;
}

}  // namespace detail
}  // namespace ingot
