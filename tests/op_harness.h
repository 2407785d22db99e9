// tests/op_harness.h: the derived tests of every operator: cases drawn from `sample`, judged by
// `reference`, run by back ends.
//
// A case is a graph of one node with concrete inputs. The tests of src/ops run the cases through
// the elements that `lower` describes; compiled code and emulators are further Backend rows:
//
//   Backend avx512{"cpu x86-64-v4", [](const Graph& graph, std::span<const Tensor> inputs) {...}};
//   for (const OpDef* def : all_ops()) {
//     for (const OpCase& c : draw_cases(*def, 40)) EXPECT_EQ(check_case(avx512, c), "");
//   }
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace ingot {

/// One op with inputs. Inputs and outputs are planes: a state counts as its data, (paged: block
/// table,) lengths.
struct OpCase {
  std::string label;  // "softmax, seed 17"
  Graph graph;        // inputs, one node, all its outputs
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;  // the reference; empty if the op has none that can run
  std::vector<int64_t> symbols;  // values by SymbolId
  std::map<size_t, std::pair<double, double>> ranges;  // of input values, as in Sample
  double magnitude = 1;                                // the largest finite input, at least 1

  const Node& node() const { return graph.node(graph.nodes().front()); }
  const OpRef& op() const { return node().op; }
  /// Types of the node's inputs; the type of nothing where one is absent.
  std::vector<Type> input_types() const;
  std::vector<bool> present() const;
};

/// Something that runs graphs: a compiler with its library, an emulator.
struct Backend {
  std::string name;
  /// Outputs as planes, in the storage types of the graph's outputs. An error of the kind
  /// `unsupported` means that the op has no form there; it must be among the gaps.
  std::function<Result<std::vector<Tensor>>(const Graph& graph, std::span<const Tensor> inputs)>
      run;
  std::set<std::string, std::less<>> gaps = {};  // names of the ops without a form; may only shrink
  bool exact_reals = false;  // computes in fp64 without rounding to storage types
};

/// A case from the op's sample, or an Error if the sample is not valid. The same seed gives the
/// same case. Every eighth case has a NaN and an infinity in its first input.
Result<OpCase> draw_case(const OpDef& def, uint64_t seed);

/// A case of a given op. The type of nothing stands for an absent input. `ranges` as in Sample;
/// seeds the values. Symbols get the largest value they may have, or 2 if that is unbounded.
Result<OpCase> make_case(std::string label, OpRef op, std::shared_ptr<ExprPool> pool,
                         std::vector<Type> inputs,
                         const std::map<size_t, std::pair<double, double>>& ranges, uint64_t seed);

/// The same case with as many dims of tensor inputs made symbols as infer allows.
Result<OpCase> with_dynamic_dims(const OpCase& c, int* symbols_made = nullptr);

/// The same case with its tensor inputs as constants.
Result<OpCase> with_constant_inputs(const OpCase& c);

/// What infer says to inputs of types such as "f32[n, 3]" ("-": absent): the types of the outputs
/// and the assumptions as text, or the error's message.
std::string infer_text(const OpRef& op, ExprPool& pool,
                       std::initializer_list<std::string_view> types);
template <class T>
std::string infer_text(T op, ExprPool& pool, std::initializer_list<std::string_view> types) {
  return infer_text(make_op(std::move(op)), pool, types);
}

/// A tensor of values written out, and the values of one.
Tensor tensor_of(DType dtype, std::vector<int64_t> dims, std::initializer_list<double> values);
std::vector<double> values_of(const Tensor& tensor);

/// The reference on those tensors; CHECKs that infer takes them. First output.
Tensor run_reference(const OpRef& op, std::shared_ptr<ExprPool> pool, std::vector<Tensor> inputs);
template <class T>
Tensor run_reference(T op, std::shared_ptr<ExprPool> pool, std::vector<Tensor> inputs) {
  return run_reference(make_op(std::move(op)), std::move(pool), std::move(inputs));
}

/// The elements that `lower` and `lower_scatter` of a graph's nodes describe, evaluated one by one
/// in fp64 by the expressions' definition. `terms`: the most loads that one element took.
Result<std::vector<Tensor>> run_lowered(const Graph& graph, std::span<const Tensor> inputs,
                                        double* terms = nullptr);
Backend lowered_backend();

/// Compares planes of an output with the reference under the op's accuracy:
///   |got - expected| <= ulp * eps(compute type) * terms * (|expected| + magnitude^2)
///                       + half a unit of the storage type,
/// where the first part bounds a sum of `terms` products of inputs, each rounded, however it
/// cancels (Higham 2002, 4.2), and the op's ulp covers its other operations. Exact ops and integers
/// agree to the bit. NaN agrees with NaN. Empty if all is well, else the first difference: index,
/// expected, got, bound, the graph.
std::string compare(const OpCase& c, std::span<const Tensor> got, bool exact_reals = false);

/// Runs a case and compares; empty if all is well. Gaps are reported only if they are not listed,
/// or listed and gone.
std::string check_case(const Backend& backend, const OpCase& c);

}  // namespace ingot
