// ir/graph.h: the op graph: nodes and values by id, changed through five verbs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/op_def.h"
#include "ir/type.h"

namespace ingot {

/// One use of a value: input number `slot` of `node`.
struct Use {
  NodeId node;
  uint32_t slot;
  friend bool operator==(const Use&, const Use&) = default;
};

struct Value {
  Type type;
  NodeId producer;            // invalid for graph inputs
  uint32_t port = 0;          // output number of the producer, or input number of the graph
  std::string name;           // a label for people; need not be unique
  std::vector<Use> uses;      // by nodes
  uint32_t output_count = 0;  // how many of the graph's outputs it is
};

struct Node {
  OpRef op;
  std::vector<ValueId> inputs;  // invalid: an absent optional input
  std::vector<ValueId> outputs;
  std::vector<std::string> provenance;  // names of the model's nodes it came from
  bool dead = false;                    // removed by the next compact()
};

struct GraphInput {
  std::string name;
  ValueId value;
};

struct GraphOutput {
  std::string name;
  ValueId value;
};

/// A closed graph: everything it reads is an input or a constant inside. Copying is cheap enough
/// for tests (constants share their bytes). Not safe for concurrent writes. Ids hold between two
/// compact() calls.
class Graph {
 public:
  explicit Graph(std::shared_ptr<ExprPool> pool = std::make_shared<ExprPool>());

  ExprPool& pool() const { return *pool_; }
  const std::shared_ptr<ExprPool>& shared_pool() const { return pool_; }

  // -- building --
  ValueId add_input(std::string name, Type type);
  /// Removes nothing: an input without uses stays an input.
  void set_input_name(size_t number, std::string name);
  ValueId add_constant(ConstantData data, std::string name = {});

  /// Adds a node at the end, running the op's infer. Errors: what infer says, with the op's name.
  Result<std::vector<ValueId>> add(OpRef op, std::vector<ValueId> inputs,
                                   std::vector<std::string> provenance = {});
  /// The same for ops and inputs that are known to fit; CHECKs. First output.
  ValueId must_add(OpRef op, std::vector<ValueId> inputs, std::vector<std::string> provenance = {});
  template <class T>
  requires(!std::is_same_v<T, OpRef>) ValueId
      must_add(T op, std::vector<ValueId> inputs, std::vector<std::string> provenance = {}) {
    return must_add(make_op(std::move(op)), std::move(inputs), std::move(provenance));
  }

  // -- changing --
  /// Every user of `from`, and every graph output that is `from`, uses `to` instead.
  void replace_uses(ValueId from, ValueId to);
  /// Another op on the same inputs. Runs infer again; the output types must not change (CHECK).
  void set_op(NodeId node, OpRef op);
  void set_outputs(std::vector<GraphOutput> outputs);
  /// Marks a node dead whose outputs nobody uses, and then the producers of its inputs likewise.
  /// compact() does the same; this keeps the lists of uses true while a pass works. The nodes that
  /// died.
  std::vector<NodeId> remove_if_unused(NodeId node);
  /// Names of the model's nodes that a node also stands for; names it has already are left out.
  void add_provenance(NodeId node, std::span<const std::string> names);
  /// Drops nodes that no output needs, restores topological order, renumbers. Linear. A node that
  /// mentions a data-dependent symbol in an attribute needs the node that finds it out.
  void compact();

  // -- reading --
  const std::vector<GraphInput>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  size_t node_count() const { return nodes_.size(); }
  size_t value_count() const { return values_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.value]; }
  const Value& value(ValueId id) const { return values_[id.value]; }
  const Type& type(ValueId id) const { return values_[id.value].type; }
  const TensorType& tensor(ValueId id) const { return values_[id.value].type.tensor; }
  /// The same type with its dims said in another way. CHECKs is_compatible.
  void refine_type(ValueId id, Type type);
  /// The same for a copy whose expressions say less than the original's, so that the dims cannot be
  /// shown to be equal any more.
  void restate_type(ValueId id, Type type);
  void set_value_name(ValueId id, std::string name) { values_[id.value].name = std::move(name); }
  /// All nodes in topological order (valid after compact()).
  std::vector<NodeId> nodes() const;
  /// The op of the value's producer if it is a T.
  template <class T>
  const T* producer_as(ValueId id) const {
    const NodeId node = values_[id.value].producer;
    return node.valid() ? nodes_[node.value].op.as<T>() : nullptr;
  }
  /// The constant behind a value, or null.
  const ConstantData* constant(ValueId id) const;
  bool is_graph_output(ValueId id) const { return values_[id.value].output_count > 0; }

  // -- facts about dims that the graph relies on; checked at run time --
  std::vector<Assumption>& assumptions() { return assumptions_; }
  const std::vector<Assumption>& assumptions() const { return assumptions_; }

  // -- what the model file said about itself --
  std::string name;
  std::vector<std::pair<std::string, std::string>> metadata;

 private:
  std::shared_ptr<ExprPool> pool_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<GraphInput> inputs_;
  std::vector<GraphOutput> outputs_;
  std::vector<Assumption> assumptions_;

  Result<Types> infer(const OpRef& op, std::span<const ValueId> inputs);
  ValueId new_value(Type type, NodeId producer, size_t port);
  void assume(const Assumption& assumption);
  /// Per node, the nodes that find out symbols it mentions.
  std::vector<std::vector<NodeId>> symbol_sources() const;
};

/// True if a value of type `a` may stand where one of type `b` does: the same kind, dtype and rank,
/// and dims that are equal for all values of the symbols. A data-dependent symbol, alone as a dim,
/// equals any other data-dependent one.
bool is_compatible(const Type& a, const Type& b);

/// The op of constants: no inputs, one output.
struct Constant {
  ConstantData data;

  static constexpr std::string_view kName = "constant";
  static constexpr std::string_view kDoc = "A tensor known at compile time.";
  static constexpr std::array<Port, 0> kInputs = {};
  static constexpr std::array kOutputs = {Port{"y", "the tensor"}};
  static constexpr auto kFields = std::tuple{field("data", &Constant::data)};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const;
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<Constant> sample(Random& rng);
};

/// A node of the model that Ingot does not know: keeps the reasons until legalize lists them all.
struct Unimplemented {
  std::string op_type;  // "Foo"
  std::string domain;
  int64_t opset = 0;
  std::string reason;  // "no such operator in domain '' at opset 17"
  int64_t outputs = 1;

  static constexpr std::string_view kName = "unimplemented";
  static constexpr std::string_view kDoc = "A node of the model that has no core operator.";
  static constexpr std::array kInputs = {Port{"x", "anything", PortKind::variadic}};
  static constexpr std::array kOutputs = {Port{"y", "unknown", PortKind::variadic}};
  static constexpr auto kFields =
      std::tuple{field("op_type", &Unimplemented::op_type), field("domain", &Unimplemented::domain),
                 field("opset", &Unimplemented::opset), field("reason", &Unimplemented::reason),
                 field("outputs", &Unimplemented::outputs)};
  static constexpr Accuracy kAccuracy = exact();
  Result<Types> infer(InferContext& ctx) const;  // `outputs` values of the type of nothing
  std::vector<Tensor> reference(const ReferenceContext& ctx) const;
  static Sample<Unimplemented> sample(Random& rng);
};

/// Text of a whole graph; parse_graph reads it back (constants above 16 elements print as a hash
/// and need `constants`, a lookup by that hash, to be read back).
std::string to_text(const Graph& graph);
using ConstantLookup = std::function<std::optional<ConstantData>(std::string_view hash)>;
Result<Graph> parse_graph(std::string_view text, OpLookup lookup,
                          const ConstantLookup& constants = {});

/// Structure: ids in range, uses consistent, topological order, types as infer says. All problems.
Status verify(const Graph& graph);

/// Adds a node of another graph over the same pool to `to`, reading `operands` there; its outputs
/// keep their types and names. Operands of types that the node does not take are a bug (CHECK).
std::vector<ValueId> copy_node(const Graph& from, NodeId node, std::vector<ValueId> operands,
                               Graph& to);

/// The elements of a small integer or boolean tensor as expressions over symbols, found by
/// following `lower` symbolically; nothing if an element depends on data. This is how an exporter's
/// Shape/Gather/Concat chains become dimension expressions.
std::optional<Exprs> symbolic_contents(const Graph& graph, ValueId value,
                                       int64_t max_elements = 64);

/// The same for many values of one graph, remembering every element it found. Nodes may be added to
/// the graph meanwhile.
class SymbolicContents {
 public:
  explicit SymbolicContents(const Graph& graph);
  ~SymbolicContents();
  SymbolicContents(const SymbolicContents&) = delete;
  SymbolicContents& operator=(const SymbolicContents&) = delete;

  std::optional<Exprs> find(ValueId value, int64_t max_elements = 64);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Adds what a composite op consists of; the op must have `expand`. Its outputs.
std::vector<ValueId> expand_into(Graph& graph, const OpRef& op, std::span<const ValueId> inputs,
                                 const std::vector<std::string>& provenance = {});

/// Tensors that stand for a value of this type: 1 for a tensor or container, the planes of a state.
size_t plane_count(const Type& type);

/// Runs a graph with the reference functions, fp64.
class Interpreter {
 public:
  explicit Interpreter(const Graph& graph);
  /// Inputs in the graph's order; a state counts as its planes. Symbols are bound from them.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);
  /// Called with every value computed, for layer-by-layer comparison.
  std::function<void(ValueId, const Tensor&)> on_value;
  /// Symbol values of the last run, by SymbolId; -1: unknown.
  std::vector<int64_t> symbols;
  /// Symbol values that are known without the inputs, by SymbolId; -1: unknown. For inner graphs.
  std::vector<int64_t> known_symbols;

 private:
  const Graph& graph_;
};

}  // namespace ingot
