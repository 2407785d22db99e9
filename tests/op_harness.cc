// tests/op_harness.cc: cases of operators, drawn from `sample` or written out.
#include "tests/op_harness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "tests/op_planes.h"

namespace ingot {

std::vector<Type> OpCase::input_types() const {
  std::vector<Type> types;
  for (const ValueId input : node().inputs) {
    types.push_back(input.valid() ? graph.type(input) : Type(ContainerType{}));
  }
  return types;
}

std::vector<bool> OpCase::present() const {
  std::vector<bool> result;
  for (const ValueId input : node().inputs) result.push_back(input.valid());
  return result;
}

namespace {

// ---- Values ----------------------------------------------------------------------------------

Tensor random_values(Random& rng, DType dtype, std::vector<int64_t> dims,
                     const std::pair<double, double>* range) {
  Tensor tensor(dtype, std::move(dims));
  const double lo = range != nullptr ? range->first : is_signed(dtype) ? -2 : 0;
  const double hi = range != nullptr ? range->second : 2;
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (dtype == DType::str && range != nullptr) {
      tensor.set_string(
          k, concat(" ", rng.range(static_cast<int64_t>(lo), static_cast<int64_t>(hi)), "\n"));
    } else if (dtype == DType::str) {
      // Of 1 to 3 bytes a letter, with white space, upper case, an embedded zero, and no UTF-8.
      static constexpr std::string_view kTexts[] = {"",
                                                    "a",
                                                    "B b",
                                                    "aab  ab",
                                                    " c\tA ",
                                                    "\xC3\x84\xC3\xB6",
                                                    "\xE2\x82\xAC",
                                                    std::string_view("a\0b", 3),
                                                    "\xFF"
                                                    "A\xC3"};
      tensor.set_string(k, kTexts[rng.range(0, std::ssize(kTexts) - 1)]);
    } else if (dtype == DType::b8) {
      tensor.set_integer(k, rng.range(0, 1));
    } else if (!tensor.holds_reals()) {
      tensor.set_integer(k, hi < lo ? 0
                                    : rng.range(static_cast<int64_t>(range ? lo : 3 * lo),
                                                static_cast<int64_t>(range ? hi : 3 * hi)));
    } else if (range != nullptr && rng.chance(0.3)) {
      tensor.set_real(k, 0);  // a range for reals marks that zero matters
    } else {
      tensor.set_real(k, rng.real(lo, hi));
    }
  }
  return rounded(tensor);
}

/// A sequence of three tensors [2, 3], an optional of one item, or a map of nine keys.
Tensor random_container(Random& rng, const ContainerType& type) {
  const bool is_optional = type.kind == ContainerType::Kind::optional;
  std::vector<Tensor> items;
  if (type.kind == ContainerType::Kind::map) {  // some keys are there twice
    return Tensor::container({random_values(rng, type.key, {9}, nullptr),
                              random_values(rng, type.element->tensor.dtype, {9}, nullptr)});
  }
  while (items.size() < (is_optional ? 1 : 3)) {
    items.push_back(type.element->is_tensor()
                        ? random_values(rng, type.element->tensor.dtype, {2, 3}, nullptr)
                        : random_container(rng, type.element->container));
  }
  return Tensor::container(std::move(items));
}

/// Planes of a state whose sequences hold lengths within `range`; block tables name each block at
/// most once. Seeded by itself, so that the states of keys and of values agree.
std::vector<Tensor> random_state(const StateType& state, std::span<const int64_t> symbols,
                                 const std::pair<double, double>* range, uint64_t seed,
                                 Random& rng) {
  const auto types = plane_types(state);
  std::vector<Tensor> planes = {
      random_values(rng, types[0].dtype, concrete(types[0].dims, symbols), nullptr)};
  Random own(seed);
  if (state.layout == StateLayout::paged) {
    Tensor table(DType::i64, concrete(types[1].dims, symbols));
    std::vector<int64_t> blocks;
    for (int64_t k = 0; k < planes[0].dim(0); ++k) blocks.push_back(k);
    for (int64_t k = 0; k < table.size(); ++k) {
      const auto at = static_cast<size_t>(own.range(0, static_cast<int64_t>(blocks.size()) - 1));
      table.set_integer(k, blocks[at]);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    }
    planes.push_back(std::move(table));
  }
  planes.push_back(random_values(own, DType::i64, concrete(types.back().dims, symbols), range));
  return planes;
}

void poison(Random& rng, Tensor& tensor) {
  if (!tensor.holds_reals() || tensor.size() == 0) return;
  if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64 &&
      tensor.dtype() != DType::f16 && tensor.dtype() != DType::bf16) {
    return;
  }
  tensor.set_real(rng.range(0, tensor.size() - 1), std::numeric_limits<double>::quiet_NaN());
  tensor.set_real(rng.range(0, tensor.size() - 1), std::numeric_limits<double>::infinity());
}

// ---- Cases -----------------------------------------------------------------------------------

/// Fills in everything that follows from graph and inputs.
Result<OpCase> finish(OpCase c) {
  if (!c.op().is<Unimplemented>()) {
    Interpreter interpreter(c.graph);
    TRY(c.expected, add_note(interpreter.run(c.inputs), c.label));
    c.symbols = interpreter.symbols;
  }
  for (const Tensor& input : c.inputs) {
    for (const double value : input.reals()) {
      if (std::isfinite(value)) c.magnitude = std::max(c.magnitude, std::abs(value));
    }
  }
  return c;
}

Result<OpCase> one_node(std::string label, OpRef op, std::shared_ptr<ExprPool> pool,
                        std::span<const Type> inputs) {
  OpCase c{std::move(label), Graph(std::move(pool)), {}, {}, {}, {}};
  c.graph.name = "case";
  std::vector<ValueId> values;
  for (const Type& type : inputs) {
    const bool absent = type.is_nothing();
    values.push_back(absent ? ValueId() : c.graph.add_input(concat("x", values.size()), type));
  }
  TRY(const std::vector<ValueId> results, add_note(c.graph.add(std::move(op), values), c.label));
  std::vector<GraphOutput> outputs;
  for (const ValueId result : results) outputs.push_back({concat("y", outputs.size()), result});
  c.graph.set_outputs(std::move(outputs));
  return c;
}

}  // namespace

Result<OpCase> make_case(std::string label, OpRef op, std::shared_ptr<ExprPool> pool,
                         std::vector<Type> inputs,
                         const std::map<size_t, std::pair<double, double>>& ranges, uint64_t seed) {
  TRY(OpCase c, one_node(std::move(label), std::move(op), std::move(pool), inputs));
  c.ranges = ranges;
  Random rng(seed);
  std::vector<int64_t> symbols;
  for (size_t k = 0; k < c.graph.pool().symbol_count(); ++k) {
    const Range range = std::as_const(c.graph.pool()).symbol_info(SymbolId(k)).range;
    symbols.push_back(range.hi < kMaxDim ? range.hi : std::max<int64_t>(range.lo, 2));
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto found = ranges.find(k);
    const auto* range = found == ranges.end() ? nullptr : &found->second;
    if (inputs[k].is_nothing()) continue;
    if (inputs[k].is_container()) {
      c.inputs.push_back(random_container(rng, inputs[k].container));
    } else if (inputs[k].is_tensor()) {
      const TensorType& type = inputs[k].tensor;
      c.inputs.push_back(random_values(rng, type.dtype, concrete(type.dims, symbols), range));
    } else {
      for (Tensor& plane : random_state(inputs[k].state, symbols, range, seed, rng)) {
        c.inputs.push_back(std::move(plane));
      }
    }
  }
  if (seed % 8 == 7 && !c.inputs.empty()) poison(rng, c.inputs[0]);
  return finish(std::move(c));
}

Result<OpCase> draw_case(const OpDef& def, uint64_t seed) {
  auto pool = std::make_shared<ExprPool>();
  Random rng(seed * 7919 + 1);
  OpDef::AnySample sample = def.sample(rng, *pool);
  return make_case(concat(def.name, ", seed ", seed), std::move(sample.op), std::move(pool),
                   std::move(sample.inputs), sample.value_ranges, seed);
}

Result<OpCase> with_dynamic_dims(const OpCase& c, int* symbols_made) {
  ExprPool& pool = c.graph.pool();
  std::vector<Type> types = c.input_types();
  const auto allowed = [&] {
    InferContext ctx{pool, types, c.present(), {}};
    return static_cast<bool>(c.op().def().infer(c.op().data(), ctx));
  };
  for (Type& type : types) {
    if (!type.is_tensor()) continue;
    for (size_t a = 0; a < type.tensor.dims.size(); ++a) {
      const Expr size = type.tensor.dims[a];
      if (!size.as_int() || size.is_int(1)) continue;  // 1 decides what broadcasts
      type.tensor.dims[a] = pool.fresh_symbol("n", false);
      if (!allowed()) {
        type.tensor.dims[a] = size;
      } else if (symbols_made != nullptr) {
        ++*symbols_made;
      }
    }
  }
  TRY(OpCase dynamic, one_node(c.label + ", dynamic", c.op(), c.graph.shared_pool(), types));
  dynamic.inputs = c.inputs;
  return finish(std::move(dynamic));
}

Result<OpCase> with_constant_inputs(const OpCase& c) {
  OpCase folded{c.label + ", constant", Graph(c.graph.shared_pool()), {}, {}, {}, c.ranges};
  std::vector<ValueId> values;
  size_t plane = 0;
  for (const Type& type : c.input_types()) {
    if (type.is_nothing()) {
      values.emplace_back();
    } else if (type.is_tensor()) {
      values.push_back(folded.graph.add_constant(to_constant(c.inputs[plane++])));
    } else {
      values.push_back(folded.graph.add_input(concat("x", values.size()), type));
      for (size_t k = plane_count(type); k > 0; --k) folded.inputs.push_back(c.inputs[plane++]);
    }
  }
  TRY(const std::vector<ValueId> results, folded.graph.add(c.op(), values));
  std::vector<GraphOutput> outputs;
  for (const ValueId result : results) outputs.push_back({concat("y", outputs.size()), result});
  folded.graph.set_outputs(std::move(outputs));
  Interpreter interpreter(folded.graph);
  interpreter.known_symbols = c.symbols;
  TRY(folded.expected, add_note(interpreter.run(folded.inputs), folded.label));
  return folded;
}

// ---- Literal cases ---------------------------------------------------------------------------

std::string infer_text(const OpRef& op, ExprPool& pool,
                       std::initializer_list<std::string_view> types) {
  std::vector<Type> inputs;
  std::vector<bool> present;
  for (const std::string_view text : types) {
    present.push_back(text != "-");
    if (!present.back()) {
      inputs.emplace_back(ContainerType{});
      continue;
    }
    auto type = parse_type(text, pool);
    CHECK(type, "a test's type: ", text, ": ", type ? "" : to_text(type.error()));
    inputs.push_back(*std::move(type));
  }
  InferContext ctx{pool, inputs, present, {}};
  const auto outputs = op.def().infer(op.data(), ctx);
  if (!outputs) return to_text(outputs.error());
  std::string text = join(*outputs, ", ");
  for (const Assumption& assumption : ctx.assumptions) {
    text += concat("; ", to_text(assumption.a), " == ", to_text(assumption.b));
  }
  return text;
}

Tensor tensor_of(DType dtype, std::vector<int64_t> dims, std::initializer_list<double> values) {
  Tensor tensor(dtype, std::move(dims));
  CHECK(tensor.size() == static_cast<int64_t>(values.size()), "tensor_of: ", tensor.size(),
        " elements, ", values.size(), " values");
  int64_t k = 0;
  for (const double value : values) tensor.set_real(k++, value);
  return tensor;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.real(k));
  return values;
}

Tensor run_reference(const OpRef& op, std::shared_ptr<ExprPool> pool, std::vector<Tensor> inputs) {
  std::vector<Type> types;
  for (const Tensor& input : inputs) {
    TensorType type{input.dtype(), {}};
    for (const int64_t dim : input.dims()) type.dims.push_back(pool->integer(dim));
    types.emplace_back(std::move(type));
  }
  auto c = one_node("literal case", op, std::move(pool), types);
  CHECK(c, c ? "" : to_text(c.error()));
  auto results = Interpreter(c->graph).run(inputs);
  CHECK(results, results ? "" : to_text(results.error()));
  return std::move((*results)[0]);
}

}  // namespace ingot
