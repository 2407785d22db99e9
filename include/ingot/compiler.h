// ingot/compiler.h: the compiler as a library: a model in, compiled code out, in this process.
//
// Link ingot_compiler. Nothing here throws, prints or reads the environment; errors are values.
//
//   const auto made = ingot::compiler::compile("model.onnx", "model.so", {.cpus = {"x86-64-v3"}});
//   if (!made) std::fprintf(stderr, "%s\n", made.message.c_str());
#ifndef INGOT_COMPILER_H_
#define INGOT_COMPILER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ingot::compiler {

/// The kinds of failure, numbered as ingot_status.
enum class Code : uint8_t {
  ok = 0,
  invalid_argument = 1,  // an option that does not fit, or is no option
  unsupported = 2,       // the model cannot be compiled; the message lists every reason
  invalid_model = 3,
  io = 4,
  toolchain = 5,  // no C++ compiler, or it failed
  resource_exhausted = 6,
  wrong_target = 7,
  device = 8,
  cancelled = 9,
  internal = 10,
  deadline = 11,
};

// ---- custom operators ------------------------------------------------------------------------

/// A tensor as the compiler sees it before any run.
struct TensorInfo {
  int32_t dtype = 1;              // numbered as TensorProto.DataType of ONNX: 1 is float
  std::vector<std::string> dims;  // "3", "batch", "batch * 2"
};

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<double>, std::vector<std::string>>;

/// A node of the model that an operator is wanted for.
struct CustomNode {
  std::string name;
  std::vector<TensorInfo> inputs;
  size_t output_count = 0;
  std::map<std::string, AttributeValue> attributes;
};

/// What an infer callback answers: the outputs' types, or why the model is wrong.
struct Inferred {
  std::vector<TensorInfo> outputs;
  std::string error = {};  // not empty: refused
};

/// One output, each element computed from the inputs' elements at the same place (inputs broadcast
/// as in NumPy). Such an operator is fused and vectorised like the compiler's own.
struct ElementBody {
  /// The element as an expression over p0, p1, ..., such as "p0 / (exp(-p0) + 1.0)", or a function
  /// that writes it, knowing the node's attributes. docs/custom-operators.md has the syntax.
  std::variant<std::string, std::function<std::string(const CustomNode&)>> expression;
};

/// A C function (ingot_custom_function in ingot/custom.h), linked into the compiled model.
struct FunctionBody {
  std::string function;     // its name
  std::string source = {};  // C text that defines it, which may include ingot/custom.h; or
  std::string object = {};  // path of an object or static library that does
};

/// An operator that models use and the compiler does not know.
struct CustomOperator {
  std::string domain;  // as the model says: "com.example"
  std::string name;    // op_type
  /// The outputs' types. None: one output; for an ElementBody of the inputs' broadcast dims and the
  /// first one's dtype, for a FunctionBody as the first input.
  std::function<Inferred(const CustomNode&)> infer = {};
  std::variant<ElementBody, FunctionBody> body;
};

// ---- options ---------------------------------------------------------------------------------

enum class Emit : uint8_t {
  shared_library,
  static_library,  // OUT and, beside it, OUT's stem + ".h"
  source,          // a folder with a CMakeLists.txt
};

enum class Weights : uint8_t {
  automatic,  // embedded up to 64 MiB, then separate
  embedded,
  separate,  // OUT + ".weights"
  stripped,  // read again from the model's own files
};

/// Both included.
struct DimRange {
  int64_t min = 0;
  int64_t max = 2147483647;
};

/// As the options of `ingot compile`, with the same defaults.
struct Options {
  std::string target = "cpu";
  std::vector<std::string> cpus = {};         // "native", "x86-64-v3", ...; none: native
  std::map<std::string, DimRange> dims = {};  // by name, or "INPUT.AXIS"
  std::map<std::string, std::vector<std::optional<int64_t>>> input_shapes = {};
  std::string precision = "fp32";
  bool fast_math = false;
  Weights weights = Weights::automatic;
  Emit emit = Emit::shared_library;
  bool updatable = false;  // constants can be replaced at run time
  int threads = 0;         // compile jobs; 0: one per processor
  std::vector<std::string> disabled_passes = {};
  std::vector<std::string> dump_after = {};  // passes; the graphs go to dump_directory
  std::string dump_directory = {};
  std::string keep_source = {};      // folder for the generated sources
  std::string cxx = {};              // the C++ compiler; empty: the first found
  std::string cache_directory = {};  // of objects; empty: none
  std::string external_data = {};    // folder of external data of a model in memory
  std::vector<CustomOperator> operators = {};
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::string_view stage, double fraction)> progress = {};
};

/// What was made.
struct Report {
  std::string output;
  double seconds_import = 0, seconds_passes = 0, seconds_codegen = 0, seconds_toolchain = 0,
         seconds_write = 0, seconds_total = 0;
  std::vector<std::string> kernels;  // names of the bodies
  size_t steps = 0;
  uint64_t weight_bytes = 0;
  uint64_t code_bytes = 0;
  std::string workspace;              // bytes as an expression over the dims
  std::vector<std::string> notes;     // what was approximated, what is decided at run time
  std::vector<std::string> warnings;  // about the model
};

/// A report, or what went wrong.
struct [[nodiscard]] Outcome {
  Code code = Code::ok;
  std::string message;  // place, what was expected, what was got
  Report report;

  explicit operator bool() const { return code == Code::ok; }
};

/// Compiles a model file. Nothing remains at `output` after a failure. Safe to call from many
/// threads at once, with different outputs.
Outcome compile(const std::string& model, const std::string& output, const Options& options = {});

/// The same for a model in memory, which is copied. `name` stands in messages.
Outcome compile(std::span<const std::byte> model, std::string_view name, const std::string& output,
                const Options& options = {});

}  // namespace ingot::compiler

#endif  // INGOT_COMPILER_H_
