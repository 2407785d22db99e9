// codegen/program.h: a fused graph as a straight-line program: numbered values, steps and kernels.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/emit_template.h"
#include "ir/graph.h"

namespace ingot {

/// A kernel function; steps whose regions give the same text share one. Its symbols are its own:
/// PlannedStep::kernel_symbols says what they are.
struct PlannedKernel {
  std::string name;
  Graph region;                         // over the kernel's symbols
  std::string text;                     // C++
  std::vector<std::string> provenance;  // of all its steps
  EmittedKernel emitted;
};

/// Where a value lives; mirrors artifact::Value.
struct PlannedValue {
  enum class Kind : uint8_t { arena, input, output, constant, alias, state } kind = Kind::arena;
  uint32_t base = 0;  // alias: value; input, output: port; state: state number; constant: number
  uint32_t plane = 0;
  Expr bytes;  // of the value; none for planes of states
  uint32_t first_step = 0;
  uint32_t last_step = 0;
};

struct PlannedStep {
  uint32_t kernel = 0;
  const RoutineInfo* routine = nullptr;  // instead of a kernel
  std::vector<uint32_t> bodies;          // instead of both: numbers in the root's bodies
  NodeId node;
  std::vector<uint32_t> operands;  // value numbers
  Exprs kernel_symbols;            // what the kernel's symbols are: leaves of a DimTable
  std::vector<std::string> provenance;
  std::vector<SymbolId> defines;  // data-dependent symbols
};

struct PlannedState {
  size_t input = 0;         // graph input
  std::string output_name;  // empty: the state is only read
  StateType type;
  Expr appended;                              // tokens per run
  uint32_t data = 0, table = 0, lengths = 0;  // values
};

/// A constant that kernels read: bytes known now, or output `prepared` of the prepare program.
struct PlannedConstant {
  std::string name;
  ConstantData data;  // when prepared < 0: the bytes
  int64_t prepared = -1;
  int64_t offset = 0;  // in the weights
  int64_t size_bytes = 0;
};

struct ProgramPlan {
  Graph graph;                 // fused
  std::vector<size_t> inputs;  // graph inputs that are tensors of the caller
  std::vector<PlannedValue> values;
  std::vector<PlannedStep> steps;
  std::vector<PlannedKernel> kernels;
  std::vector<PlannedState> states;
  std::vector<PlannedConstant> constants;
  std::vector<uint32_t> input_values;   // per caller's tensor
  std::vector<uint32_t> output_values;  // per graph output that is a tensor
  std::vector<size_t> outputs;          // graph outputs that are tensors

  /// Data-dependent symbols that the steps define.
  std::set<uint32_t> defined;
  /// Programs of control steps, and of theirs: those that others run come first. A body is one of
  /// the root's and has neither kernels, constants nor bodies itself: it uses the root's.
  std::vector<ProgramPlan> bodies;
  bool is_body = false;
};

/// Plans a fused graph. Its inputs from number `first_prepared` on are constants that the prepare
/// program makes, in its outputs' order. Kernel names begin with `prefix`.
ProgramPlan plan_program(Graph graph, size_t first_prepared, std::string_view prefix);

/// Where a constant after one that ends at `offset` begins.
int64_t aligned(int64_t offset);

enum class Placed : uint8_t { all, held, prepared };  // held: the bytes are known now

/// Gives constants their offsets in the weights, in order and from `first` on; the aligned end.
int64_t place_constants(ProgramPlan& plan, Placed which, int64_t first = 0);

}  // namespace ingot
