// tests/compiled/plan_runner.cc: one library of many programs' kernels, and the loop that runs one.
#include "tests/compiled/plan_runner.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "artifact/program.h"
#include "base/check.h"
#include "base/text.h"
#include "base/threads.h"
#include "codegen/emit_template.h"
#include "codegen/process.h"
#include "ops/fusion.h"
#include "passes/pass.h"
#include "passes/templates.h"

namespace ingot {
namespace {

/// Bytes in front of and behind every buffer that no kernel may touch.
constexpr size_t kGuard = 256;
constexpr std::byte kGuardByte{0xa5};

/// A buffer between guards, filled with NaN patterns.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuard, kGuardByte) {
    std::memset(data(), 0xff, bytes);
  }
  std::byte* data() { return memory_.data() + kGuard; }
  bool intact() const {
    const auto is_guard = [](std::byte b) { return b == kGuardByte; };
    return std::all_of(memory_.begin(), memory_.begin() + kGuard, is_guard) &&
           std::all_of(memory_.end() - kGuard, memory_.end(), is_guard);
  }
  std::span<const std::byte> bytes() { return {data(), bytes_}; }

 private:
  size_t bytes_;
  std::vector<std::byte> memory_;
};

Tensor as_i32(const Tensor& tensor) {
  Tensor narrow(DType::i32, tensor.dims());
  for (int64_t k = 0; k < tensor.size(); ++k) narrow.set_integer(k, tensor.integer(k));
  return narrow;
}

int64_t bytes_of(DType dtype) {
  return std::max(bits(dtype) / 8, 1);
}

}  // namespace

Result<size_t> PlanBatch::add(const Graph& graph,
                              const std::set<std::string, std::less<>>& disabled) {
  for (NodeId id : graph.nodes()) {
    if (graph.node(id).op.def().routine != nullptr) {
      return unsupported(graph.node(id).op.name(), ": a routine needs an artefact");
    }
  }
  Graph copy = graph;
  PassOptions options;
  options.disabled = disabled;
  TRY(auto records, run_passes(copy, closing_pipeline(), options));
  (void)records;
  const size_t number = plans_.size();
  const size_t inputs = copy.inputs().size();
  plans_.push_back(plan_program(std::move(copy), inputs, concat("g", number, "_")));
  return number;
}

Status PlanBatch::build(CpuLevel level) {
  TRY(TempDir directory, TempDir::create());
  directory_.emplace(std::move(directory));
  TRY(const Toolchain toolchain, find_toolchain(INGOT_TEST_CXX));
  const ObjectBuilder builder({toolchain, directory_->path(), {}, nullptr, true});
  std::vector<SourceFile> units;
  // Few kernels a unit: both processors have work, and the prelude is read only now and then.
  for (size_t first = 0; first < plans_.size(); first += 40) {
    ProgramPlan all;
    std::string text;
    std::set<std::string> shared;
    for (size_t k = first; k < std::min(first + 40, plans_.size()); ++k) {
      for (const PlannedKernel& kernel : plans_[k].kernels) {
        for (const std::string& definition : kernel.emitted.shared) {
          if (shared.insert(definition).second) text += definition;
        }
        text += concat("[[gnu::visibility(\"default\")]] void ", kernel.name,
                       "(const KernelArgs& args, i64 begin, i64 end);\n", kernel.text);
      }
    }
    units.push_back({concat("unit", first, ".cc"),
                     concat(kernel_prologue(text, Tiles::in_each_unit), text, kernel_epilogue())});
  }
  std::vector<std::filesystem::path> objects(units.size());
  std::vector<std::optional<Error>> errors(units.size());
  parallel_for_each(units.size(), available_cpus(), [&](size_t k) {
    auto made = builder.compile(units[k], level);
    if (made) {
      objects[k] = *made;
    } else {
      errors[k] = made.error();
    }
  });
  for (const auto& error : errors) {
    if (error) return *error;
  }
  const auto path = directory_->path() / "kernels.so";
  std::vector<std::string> arguments = {toolchain.command, "-shared", "-o", path.string()};
  for (const auto& object : objects) arguments.push_back(object.string());
  TRY(const ProcessResult linked, run_process(arguments));
  if (linked.exit_code != 0) return toolchain_error("linking: ", linked.output);
  library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return toolchain_error(::dlerror());
  for (const ProgramPlan& plan : plans_) {
    std::vector<void*> found;
    for (const PlannedKernel& kernel : plan.kernels) {
      const std::string_view space = info(level).prelude_namespace;
      const std::string symbol = concat("_ZN9ingot_cpu", space.size(), space, kernel.name.size(),
                                        kernel.name, "ERKN5ingot8artifact10KernelArgsEll");
      found.push_back(::dlsym(library_, symbol.c_str()));
      CHECK(found.back() != nullptr, "kernel ", symbol, " is in the library");
    }
    kernels_.push_back(std::move(found));
  }
  return ok();
}

int PlanBatch::templates(size_t number) const {
  const Graph& graph = plans_[number].graph;
  return static_cast<int>(std::ranges::count_if(graph.nodes(), [&](NodeId id) {
    const auto* fusion = graph.node(id).op.as<ops::Fusion>();
    return fusion != nullptr && find_template(*fusion->body).valid();
  }));
}

int PlanBatch::chains(size_t number) const {
  const Graph& graph = plans_[number].graph;
  return static_cast<int>(std::ranges::count_if(graph.nodes(), [&](NodeId id) {
    const auto* fusion = graph.node(id).op.as<ops::Fusion>();
    if (fusion == nullptr) return false;
    const auto is_template = [&](NodeId inside) {
      return template_of(*fusion->body, inside) != TemplateKind::none;
    };
    return std::ranges::count_if(fusion->body->nodes(), is_template) > 1;
  }));
}

int64_t PlanBatch::fewest_units(size_t number, std::span<const int64_t> symbols) const {
  const ProgramPlan& plan = plans_[number];
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const PlannedStep& step : plan.steps) {
    const PlannedKernel& kernel = plan.kernels[step.kernel];
    if (!find_template(kernel.region).valid()) continue;
    std::vector<int64_t> own;
    for (const Expr& leaf : step.kernel_symbols) own.push_back(evaluate_dim(leaf, symbols));
    fewest = std::min(fewest, evaluate_dim(kernel.emitted.units, own));
  }
  return fewest;
}

PlanBatch::~PlanBatch() {
  if (library_ != nullptr) ::dlclose(library_);
}

Result<std::vector<Tensor>> PlanBatch::run(size_t number, std::span<const Tensor> inputs,
                                           std::span<const int64_t> symbols, int pieces) const {
  const ProgramPlan& plan = plans_[number];
  const Graph& graph = plan.graph;
  std::vector<Guarded> memory;
  memory.reserve(plan.values.size());
  // Planes arrive in the order of the graph's inputs.
  std::vector<const Tensor*> given(plan.values.size(), nullptr);
  size_t next = 0;
  size_t tensors = 0, states = 0;
  for (const GraphInput& input : graph.inputs()) {
    if (graph.type(input.value).is_tensor()) {
      given[plan.input_values[tensors++]] = &inputs[next++];
      continue;
    }
    const PlannedState& state = plan.states[states++];
    given[state.data] = &inputs[next++];
    if (state.type.layout == StateLayout::paged) given[state.table] = &inputs[next++];
    given[state.lengths] = &inputs[next++];
  }
  for (size_t v = 0; v < plan.values.size(); ++v) {
    const PlannedValue& value = plan.values[v];
    std::vector<std::byte> bytes;
    if (given[v] != nullptr) bytes = given[v]->to_bytes();
    if (value.kind == PlannedValue::Kind::state && value.plane == 1) {
      bytes = as_i32(*given[v]).to_bytes();  // block tables of the interpreter are i64
    }
    if (value.kind == PlannedValue::Kind::constant) {
      const auto data = plan.constants[value.base].data.bytes;
      bytes.assign(data.begin(), data.end());
    }
    const bool filled = given[v] != nullptr || value.kind == PlannedValue::Kind::constant;
    const size_t size =
        filled ? bytes.size() : static_cast<size_t>(evaluate_dim(value.bytes, symbols));
    memory.emplace_back(size);
    std::ranges::copy(bytes, memory.back().data());
  }
  const auto address = [&](uint32_t v) {
    while (plan.values[v].kind == PlannedValue::Kind::alias) v = plan.values[v].base;
    return static_cast<void*>(memory[v].data());
  };
  for (const PlannedStep& step : plan.steps) {
    std::vector<void*> values;
    for (uint32_t operand : step.operands) values.push_back(address(operand));
    const EmittedKernel& emitted = plan.kernels[step.kernel].emitted;
    std::vector<int64_t> own;
    for (const Expr& leaf : step.kernel_symbols) own.push_back(evaluate_dim(leaf, symbols));
    Guarded scratch(static_cast<size_t>(evaluate_dim(emitted.scratch_bytes, own)));
    artifact::KernelArgs args{values.data(), reinterpret_cast<const artifact::i64*>(own.data()),
                              scratch.data()};
    const int64_t units = evaluate_dim(emitted.units, own);
    const auto kernel = reinterpret_cast<artifact::KernelFn>(kernels_[number][step.kernel]);
    for (int piece = pieces; piece-- > 0;) {
      const int64_t begin = units * piece / pieces, end = units * (piece + 1) / pieces;
      if (begin < end) kernel(args, begin, end);
    }
    if (!scratch.intact()) return internal_error("scratch: written outside of its bounds");
  }
  for (size_t v = 0; v < memory.size(); ++v) {
    if (!memory[v].intact()) return internal_error("value ", v, ": written outside of its bounds");
  }
  std::vector<Tensor> outputs;
  tensors = 0;
  for (const GraphOutput& output : graph.outputs()) {
    const Type& type = graph.type(output.value);
    const auto take = [&](uint32_t v, DType dtype, std::vector<int64_t> dims) -> Status {
      const size_t size = static_cast<size_t>(count_of(dims) * bytes_of(dtype));
      TRY(Tensor tensor, Tensor::from_bytes(dtype, std::move(dims), memory[v].bytes().first(size)));
      outputs.push_back(std::move(tensor));
      return ok();
    };
    if (type.is_tensor()) {
      std::vector<int64_t> dims;
      for (const Expr& dim : type.tensor.dims) dims.push_back(evaluate_dim(dim, symbols));
      TRY_STATUS(take(plan.output_values[tensors++], type.tensor.dtype, std::move(dims)));
      continue;
    }
    for (const PlannedState& state : plan.states) {
      if (state.output_name != output.name) continue;
      TRY_STATUS(take(state.data, state.type.dtype, given[state.data]->dims()));
      if (state.type.layout == StateLayout::paged) {
        outputs.push_back(*given[state.table]);
      }
      TRY_STATUS(take(state.lengths, DType::i64, given[state.lengths]->dims()));
      break;
    }
  }
  return outputs;
}

}  // namespace ingot
