// artifact/program.h: what generated code tells the runtime that is linked into every artefact.
//
// Plain data, no includes: this text is pasted in front of the generated model.cc, and the
// freestanding runtime compiles against the same file. All sizes are in bytes unless named
// otherwise; all functions are pure functions of the symbols (the run-time dimensions).
#pragma once

namespace ingot::artifact {

using i64 = __INT64_TYPE__;
using u64 = __UINT64_TYPE__;
using i32 = __INT32_TYPE__;
using u32 = __UINT32_TYPE__;
using u8 = __UINT8_TYPE__;

/// Sizes saturate here, so that absurd shapes become "too much memory" instead of overflow.
inline constexpr i64 kTooManyBytes = __INT64_MAX__;
/// The most dims a tensor may have.
inline constexpr u32 kMaxRank = 64;
/// a * b of sizes that are not negative; kTooManyBytes if it does not fit.
inline i64 multiply_size(i64 a, i64 b) {
  i64 product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kTooManyBytes : product;
}
/// a + b of sizes that are not negative; kTooManyBytes if it does not fit.
inline i64 add_size(i64 a, i64 b) {
  i64 sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kTooManyBytes : sum;
}

/// What a kernel sees. One pointer per operand of the step (Step::operands), in that order, so that
/// equal kernels of different layers share one body.
struct KernelArgs {
  void* const* values;
  const i64* symbols;  // those of Step::kernel_symbols
  void* scratch;       // this worker's own, aligned to 64; KernelInfo::scratch_bytes long
};

/// Operand k as elements of type T.
template <class T>
inline T* operand(const KernelArgs& args, u32 k) {
  return static_cast<T*>(args.values[k]);
}

/// Runs work units [begin, end) of one step. Units are independent of each other.
using KernelFn = void (*)(const KernelArgs& args, i64 begin, i64 end);

/// How much there is to do for these symbols, which are the kernel's own.
struct Work {
  i64 units;          // independent work units; 0: nothing to do
  double unit_ns;     // estimated time of one unit on one thread of an ordinary machine
  i64 scratch_bytes;  // per worker
  double flops = 0;   // of all units, for profiles; 0: unknown
};
using WorkFn = Work (*)(const i64* symbols);

/// A dim of a routine's output: a symbol that the routine sets, or a value that is known before.
struct RoutineDim {
  u32 symbol;  // or kKnownDim
  i64 value;
};
inline constexpr u32 kKnownDim = ~0u;
/// Text among a step's literal arguments; any bytes.
struct Text {
  const char* data;
  i64 length;
};

/// What a routine (a plain C++ function of the runtime library, run by one thread) sees. It may set
/// the symbols that its step defines, then asks for the memory of its outputs.
struct RoutineArgs {
  void** values;  // one pointer per operand of the step; outputs are set by allocate_outputs
  i64* symbols;
  const i64* attributes;  // the step's literal arguments
  /// Makes the step's output values available after the symbols it defines were set. 0: no memory.
  int (*allocate_outputs)(void* run);
  void* run;
  const char** error;             // set to a literal text when the routine fails
  u32 first_symbol;               // Step::first_symbol: the first that the routine sets
  const Text* texts;              // the step's literal texts
  const RoutineDim* output_dims;  // of all outputs, one after the other, where the step finds dims
  /// Memory for strings and containers, which lives until nothing in the run refers to it. Null:
  /// there is none.
  void* (*allocate)(void* run, i64 bytes);
};
/// 0, or an ingot_status. A generated function that computes the inputs' dims from the symbols and
/// calls one of artifact/routines.h.
using RoutineFn = int (*)(RoutineArgs& args);
/// An input of a routine as its wrapper describes it.
struct RoutineTensor {
  i32 dtype;  // ONNX TensorProto numbering
  u32 rank;
  const i64* dims;
};
/// A tensor of a custom operator's C function; mirrors ingot/custom.h.
struct CustomTensor {
  const char* name;
  i32 dtype;
  i32 rank;
  const i64* dims;
  void* data;
};

struct Program;

enum class ControlKind : u8 {
  branch,  // operand 0, one b8, chooses body 0 (true) or 1
  loop,    // operands: trips (i64), condition (b8), carried values, captures; ONNX Loop
};

/// Which dim of a control step's output tells a symbol that the step defines.
struct FoundDim {
  u32 output;  // or ~0u: none, the symbol has its least value
  u32 axis;
};

/// A step whose work is that of other programs, its bodies. A branch's bodies take the operands
/// behind the condition; a loop's body takes the turn (i64), the condition and the rest, and gives
/// the condition, the carried values and what is stacked over the turns.
struct Control {
  ControlKind kind;
  const Program* bodies[2];
  u32 input_count;  // operands: so many inputs, then the outputs
  u32 carried;      // loop
  /// The dims of the inputs, kMaxRank apart.
  void (*input_dims)(const i64* symbols, i64* dims);
  const FoundDim* found;  // [Step::symbol_count]
};

/// One step of a program. Steps run in order; a kernel's units are split over the threads.
struct Step {
  const char* name;        // kernel name
  const char* provenance;  // the model's node names, comma separated
  WorkFn work;             // kernels only
  RoutineFn routine;       // or null: kernel number `kernel` of the level's table
  u32 kernel;
  const u32* operands;  // value numbers: inputs, then outputs
  u32 operand_count;
  const i64* attributes;                  // routines only
  u32 first_symbol, symbol_count;         // symbols that this step defines (data-dependent sizes)
  double flops_per_unit, bytes_per_unit;  // for profiles, 0 if unknown
  const Control* control = nullptr;       // instead of a kernel or routine
  const u32* kernel_symbols = nullptr;    // kernels: numbers of the symbols that it is given
  u32 kernel_symbol_count = 0;
};

enum class ValueKind : u8 {
  arena,     // planned: lives from first_step to last_step
  input,     // bound to the caller's memory (or a staged copy)
  output,    // bound to the caller's memory (or staged, or allocated)
  constant,  // inside the weights, at `offset`
  alias,     // the same memory as value `base`
  state,     // one plane of a state input: bound to the caller's memory
};

struct Value {
  ValueKind kind;
  u32 base;    // alias: the value whose memory this is; input, output: its port number; state: its
               // state number
  u32 plane;   // state: 0 data, 1 block table (i32), 2 lengths (i64)
  i64 offset;  // constant: byte offset in the weights; alias: byte offset in the base
  u32 first_step;  // arena and output: lifetime, both ends included
  u32 last_step;
  u32 needs_symbol;  // 1 + the last data-dependent symbol its size needs, or 0
};

/// A dimension of the declared interface: `symbol` -1 means the fixed `value`.
struct Dim {
  i64 value;
  i32 symbol;
};

struct Symbol {
  const char* name;
  i64 lo, hi;   // both included
  i64 divisor;  // the value is a multiple of it
  bool data_dependent;
};

/// What the elements of a value refer to.
enum class Handles : u8 { none, strings, containers };

struct Port {
  const char* name;
  i32 dtype;  // ONNX TensorProto numbering
  u32 rank;
  const Dim* dims;  // fixed, a symbol, or symbol -2 - k: expression number k of output_dims. Inputs
                    // of a body may have such dims, too: the program around has made them so
  const char* const* dim_text;  // per dim, the expression as a person reads it
  u32 value;                    // number in the program
  i32 kind = 0;                 // ingot_kind. Of sequences and optionals `dtype` is that of the
                                // tensors in them. In bodies all of them, and strings, are handles:
                                // tensors of u64
  i32 element_kind = 0;         // of an optional or sequence: what is in it
  Handles handles = Handles::none;
  i32 key_dtype = 0;  // of a map, and of a sequence of maps
};

enum class StateLayout : u8 { contiguous, paged };

/// A state: B sequences of tokens, each token `token_elements` elements (H x D).
/// Planes: data [B, capacity, token] or pool [blocks, block_size, token]; table [B, max_blocks];
/// lengths [B].
struct StatePort {
  const char* name;         // of the input
  const char* output_name;  // of the output that continues it
  i32 dtype;
  StateLayout layout;
  u32 token_rank;
  const i64* token_dims;  // H, D
  i64 block_size;         // paged
  i32 batch_symbol;       // symbol bound from the caller's struct; < 0: fixed_batch
  i64 fixed_batch;
  i32 capacity_symbol;       // contiguous: capacity; paged: blocks in the pool
  i32 table_symbol;          // paged: max_blocks, the row length of the table
  i32 max_length_symbol;     // < 0, or a symbol bound to the largest length before the run
  i64 appended;              // tokens that one run appends, or -1 - s: the value of symbol s
  u32 data, table, lengths;  // value numbers
};

/// A condition on the symbols that the compiled code relies on.
struct Assumption {
  const char* text;  // "dims of 'a' and 'b': expected equal"
};

/// Straight-line program over numbered values. A model's programs have one table of symbols. Behind
/// the symbols, each program has dimensions that it derives from them, and numbers them on.
struct Program {
  const Symbol* symbols;
  u32 symbol_count;
  const Port* inputs;
  u32 input_count;
  const Port* outputs;
  u32 output_count;
  const StatePort* states;
  u32 state_count;
  const Value* values;
  u32 value_count;
  const Step* steps;
  u32 step_count;
  /// Bytes of every value, for those whose symbols are known; others 0. Saturates: multiply_size().
  void (*value_bytes)(const i64* symbols, i64* bytes);
  /// The dimension expressions that outputs refer to.
  void (*output_dims)(const i64* symbols, i64* dims);
  u32 output_dim_count;
  const Assumption* assumptions;
  u32 assumption_count;
  /// Number of the first assumption that does not hold, or -1, of those about symbols the last of
  /// which is known when so many steps have run; 0: before them.
  i64 (*check_assumptions)(const i64* symbols, u32 steps);
  bool is_body = false;  // of a control step: it knows the symbols of the program around
  /// Computes the derived dimensions, symbols[symbol_count ...], from those in front of them.
  void (*derive)(i64* symbols) = nullptr;
  u32 derived_count = 0;
};

/// Code for one instruction set level.
struct Level {
  const char* name;                 // "x86-64-v3"
  u64 features;                     // bits of artifact/cpu.h that the machine must have
  const KernelFn* kernels;          // of the main program
  const KernelFn* prepare_kernels;  // of the prepare program, or null
};

/// A constant of the model as its author knows it.
struct Constant {
  const char* name;
  i32 dtype;
  u32 rank;
  const i64* dims;
  bool replaceable;
  u32 prepare_input;  // its input of the prepare program, when replaceable
  i64 offset;         // of its original bytes in the weights, or -1 if they are not kept
  u32 source_file;    // stripped: 1 + number of the source file that holds its bytes, or 0
  u64 source_offset;  // stripped: where in that file, little-endian and dense
};

/// A file of the original model, which stripped weights are read from again.
struct SourceFile {
  const char* name;  // beside the artefact, or in the folder that the load option names
  u64 bytes;
  u64 hash[2];  // xxh3-128 of the whole file
};

/// Where one prepared constant of the main program lies in the weights.
struct Prepared {
  u32 prepare_output;
  i64 offset;
};

struct Metadata {
  const char* key;
  const char* value;
};

enum class WeightsKind : u8 { none, embedded, separate, stripped };

struct Weights {
  WeightsKind kind;
  const u8* embedded;  // embedded: the bytes, aligned to 4096
  u64 bytes;
  const char* file_name;  // separate: beside the artefact
  const u64* hash;        // [2], xxh3-128 of the bytes: {low, high}; null without weights
  u64 embedded_bytes;     // stripped: so many first bytes of the weights are embedded all the same
};

/// What a separate weights file begins with; the weights follow at kWeightsHeaderBytes.
struct WeightsHeader {
  char magic[8];     // kWeightsMagic
  u32 version;       // kWeightsVersion
  u32 header_bytes;  // kWeightsHeaderBytes
  u64 bytes;         // Weights::bytes
  u64 hash[2];       // Weights::hash
};
inline constexpr char kWeightsMagic[8] = {'I', 'N', 'G', 'O', 'T', 'W', 'T', 'S'};
inline constexpr u32 kWeightsVersion = 1;
inline constexpr u32 kWeightsHeaderBytes = 4096;

struct Model {
  u32 struct_size;
  u32 format;  // kFormat
  const char* name;
  const char* hash;    // hex, of the model file
  const char* target;  // "cpu"
  const char* toolchain;
  const char* compiler_version;
  const Level* levels;  // best first
  u32 level_count;
  const Program* main;
  const Program* prepare;  // null unless updatable: constants -> prepared constants
  const Constant* constants;
  u32 constant_count;
  const Prepared* prepared;
  u32 prepared_count;
  const Metadata* metadata;
  u32 metadata_count;
  Weights weights;
  const SourceFile* source_files;  // stripped
  u32 source_file_count;
};

inline constexpr u32 kFormat = 1;

/// Defined by the generated model.cc.
extern "C" __attribute__((visibility("hidden")))
const Model ingot_model_description;  // NOLINT(bugprone-dynamic-static-initializers)

}  // namespace ingot::artifact
