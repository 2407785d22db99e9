// codegen/model_writer.cc: kernels.cc and model.cc of an artefact.
#include "codegen/model_writer.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "codegen/cost.h"
#include "codegen/emit_cpu.h"
#include "codegen/resources.h"
#include "ops/control.h"
#include "ops/custom.h"
#include "ops/fusion.h"

namespace ingot {
namespace {

/// Text of kernels in one translation unit, about: so much takes half a second to compile.
constexpr size_t kUnitText = size_t{24} << 10;

/// Kernels that are worth a second unit, so that two processors share them.
constexpr size_t kLeastToSplit = 8;

/// What compiling takes, in milliseconds: a unit with the prelude, a character of kernels, and one
/// of model.cc.
constexpr double kUnitCost = 40, kKernelCost = 0.02, kModelCost = 0.001;

/// Nodes of a region that are listed in front of its kernel.
constexpr size_t kMostListed = 24;

/// A header's text for pasting: without what only makes sense in a file of its own.
std::string pasted(std::string_view name) {
  std::string text;
  for (std::string_view line : split(resource(name), '\n')) {
    if (line.starts_with("#pragma once") || line.starts_with("#include")) continue;
    text += concat(line, "\n");
  }
  return text;
}

void write_region(Writer& out, const Graph& body) {
  size_t listed = 0;
  for (NodeId id : body.nodes()) {
    const Node& node = body.node(id);
    if (node.op.is<Constant>()) continue;
    if (++listed > kMostListed) {
      out.line("//   ...");
      return;
    }
    const ValueId y = node.outputs[0];
    out.line("//   ", to_comment(concat(node.op.name(), " -> ", to_text(body.type(y)))));
  }
}

/// Regions by kernel: the first step that runs it.
const Graph* region_of(const ProgramPlan& plan, size_t kernel) {
  for (const PlannedStep& step : plan.steps) {
    const auto* fusion = plan.graph.node(step.node).op.as<ops::Fusion>();
    if (fusion != nullptr && step.kernel == kernel) return fusion->body.get();
  }
  for (const ProgramPlan& body : plan.bodies) {
    if (const Graph* region = region_of(body, kernel)) return region;
  }
  return nullptr;
}

std::string hash_text_of(const Hash128& hash) {
  return concat("{", hash.low, "u, ", hash.high, "u}");
}

class ModelWriter {
 public:
  explicit ModelWriter(const ModelDescription& model) : model_(model) {}

  /// Everything behind artifact/program.h.
  std::string write() {
    declare_kernels();
    out_.block("namespace ingot::artifact", [&] {
      out_.block("namespace", [&] {
        write_helpers();
        write_programs(*model_.main, "main");
        if (model_.prepare != nullptr) write_programs(*model_.prepare, "prepare");
        write_levels();
        write_constants();
        write_metadata();
      });
      write_description();
    });
    return out_.take();
  }

 private:
  void declare_kernels() {
    out_.block("namespace ingot_cpu", [&] {
      out_.line("using ingot::artifact::KernelArgs;");
      out_.line("using i64 = __INT64_TYPE__;");
      for (CpuLevel level : model_.levels) {
        out_.block(concat("namespace ", info(level).prelude_namespace), [&] {
          for (const ProgramPlan* plan : {model_.main, model_.prepare}) {
            if (plan == nullptr) continue;
            for (const PlannedKernel& kernel : plan->kernels) {
              out_.line("void ", kernel.name, "(const KernelArgs&, i64, i64);");
            }
          }
        });
      }
    });
  }

  // Functions that dimension expressions may call.
  void write_helpers() {
    out_.line("[[maybe_unused]] i64 min(i64 a, i64 b) { return a < b ? a : b; }");
    out_.line("[[maybe_unused]] i64 max(i64 a, i64 b) { return a < b ? b : a; }");
    out_.line("[[maybe_unused]] i64 div(i64 a, i64 b) { return b == 0 ? 0 : a / b; }");
    out_.line("[[maybe_unused]] i64 fmod(i64 a, i64 b) { return b == 0 ? 0 : a % b; }");
    out_.block("[[maybe_unused]] i64 floordiv(i64 a, i64 b)", [&] {
      out_.line("const i64 q = div(a, b);");
      out_.line("return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;");
    });
    out_.line("[[maybe_unused]] i64 floormod(i64 a, i64 b) { return a - floordiv(a, b) * b; }");
  }

  void declare_symbols(const ProgramPlan& plan, std::span<const Expr> exprs) {
    std::set<uint32_t> used;
    for (const Expr& e : exprs) {
      if (e) used.merge(symbols_of(e));
    }
    ExprPool& pool = plan.graph.pool();
    for (uint32_t id : used) {
      const Expr symbol = pool.symbol(pool.symbol_info(SymbolId(id)).name);
      out_.line("[[maybe_unused]] const i64 ", cpu_dim(symbol), " = symbols[", id, "];");
    }
  }

  /// A program and those of its control steps.
  void write_programs(const ProgramPlan& root, std::string_view name) {
    root_ = &root;
    root_name_ = name;
    write_work(root, name);
    for (size_t k = 0; k < root.bodies.size(); ++k) write_program(root.bodies[k], body_name(k));
    write_program(root, name);
  }

  std::string body_name(size_t number) const { return concat(root_name_, "_body", number); }

  void write_program(const ProgramPlan& plan, std::string_view name) {
    write_symbols(plan, name);
    write_ports(plan, name);
    write_states(plan, name);
    write_values(plan, name);
    write_routines(plan, name);
    write_controls(plan, name);
    write_steps(plan, name);
    write_value_bytes(plan, name);
    write_output_dims(plan, name);
    write_assumptions(plan, name);
    out_.block(
        concat("constexpr Program ", name, "_program ="),
        [&] {
          const ExprPool& pool = plan.graph.pool();
          out_.line(array(concat(name, "_symbols"), pool.symbol_count()), ",");
          out_.line(array(concat(name, "_inputs"), plan.inputs.size()), ",");
          out_.line(array(concat(name, "_outputs"), plan.outputs.size()), ",");
          out_.line(array(concat(name, "_states"), plan.states.size()), ",");
          out_.line(array(concat(name, "_values"), plan.values.size()), ",");
          out_.line(array(concat(name, "_steps"), plan.steps.size()), ",");
          out_.line(name, "_value_bytes,");
          out_.line(name, "_output_dims,");
          out_.line(output_exprs_.size(), ",");
          out_.line(array(concat(name, "_assumptions"), assumptions_.size()), ",");
          out_.line(name, "_check_assumptions,");
          if (plan.is_body) out_.line("true,");
        },
        ";");
  }

  /// `name, count`, or `nullptr, 0`.
  static std::string array(const std::string& name, size_t count) {
    return count == 0 ? std::string("nullptr, 0") : concat(name, ", ", count);
  }

  void write_symbols(const ProgramPlan& plan, std::string_view name) {
    const ExprPool& pool = plan.graph.pool();
    if (pool.symbol_count() == 0) return;
    const std::set<uint32_t> bound = bound_symbols(plan);
    out_.block(
        concat("constexpr Symbol ", name, "_symbols[] ="),
        [&] {
          for (uint32_t id = 0; id < pool.symbol_count(); ++id) {
            const Symbol& s = pool.symbol_info(SymbolId(id));
            // A symbol that no input has, left over from what passes removed, is never asked for.
            const bool later = is_found(plan, id) || (!plan.is_body && !bound.contains(id));
            out_.line("{", quote(s.name), ", ", s.range.lo, ", ", s.range.hi, ", ", s.divisor, ", ",
                      later ? "true" : "false", "},");
          }
        },
        ";");
  }

  /// Whether a run finds the symbol out itself.
  static bool is_found(const ProgramPlan& plan, uint32_t symbol) {
    if (plan.is_body) return plan.defined.contains(symbol);
    return std::as_const(plan.graph.pool()).symbol_info(SymbolId(symbol)).data_dependent;
  }

  /// Symbols that the caller's tensors and states tell.
  static std::set<uint32_t> bound_symbols(const ProgramPlan& plan) {
    std::set<uint32_t> bound;
    for (size_t input : plan.inputs) {
      for (const Expr& dim : plan.graph.tensor(plan.graph.inputs()[input].value).dims) {
        bound.merge(symbols_of(dim));
      }
    }
    for (const PlannedState& state : plan.states) {
      for (const Expr& e :
           {state.type.batch, state.type.capacity, state.type.max_blocks, state.type.length}) {
        if (e) bound.merge(symbols_of(e));
      }
    }
    return bound;
  }

  void write_dims(const std::string& name, const Exprs& dims, bool is_output, bool is_body) {
    if (dims.empty()) return;
    std::vector<std::string> rows, texts;
    for (const Expr& dim : dims) {
      const bool plain = dim.kind() == ExprKind::symbol;
      texts.push_back(quote(plain ? dim.pool().symbol_info(dim.symbol()).name : to_text(dim)));
      if (const auto constant = dim.as_int()) {
        rows.push_back(concat("{", *constant, ", -1}"));
      } else if (dim.kind() == ExprKind::symbol) {
        rows.push_back(concat("{0, ", dim.symbol().value, "}"));
      } else {
        CHECK(is_output || is_body, "the reader names every dim of an input");
        rows.push_back(concat("{0, ", -2 - static_cast<int64_t>(output_exprs_.size()), "}"));
        output_exprs_.push_back(dim);
      }
    }
    out_.line("constexpr Dim ", name, "_dims[] = {", join(rows, ", "), "};");
    out_.line("constexpr const char* ", name, "_dim_text[] = {", join(texts, ", "), "};");
  }

  void write_ports(const ProgramPlan& plan, std::string_view name) {
    output_exprs_.clear();
    const auto rows = [&](std::string_view what, const std::vector<size_t>& numbers,
                          const auto& port_of, const std::vector<uint32_t>& values,
                          bool is_output) {
      for (size_t k = 0; k < numbers.size(); ++k) {
        const auto& [label, value] = port_of(numbers[k]);
        write_dims(concat(name, "_", what, k), plan.graph.tensor(value).dims, is_output,
                   plan.is_body);
      }
      if (numbers.empty()) return;
      out_.block(
          concat("constexpr Port ", name, "_", what, "s[] ="),
          [&] {
            for (size_t k = 0; k < numbers.size(); ++k) {
              const auto& [label, value] = port_of(numbers[k]);
              const TensorType& type = plan.graph.tensor(value);
              const std::string dims = concat(name, "_", what, k);
              out_.line("{", quote(label), ", ", info(type.dtype).onnx, ", ", type.rank(), ", ",
                        type.rank() == 0 ? std::string("nullptr, nullptr")
                                         : concat(dims, "_dims, ", dims, "_dim_text"),
                        ", ", values[k], "},");
            }
          },
          ";");
    };
    rows(
        "input", plan.inputs,
        [&](size_t k) {
          return std::pair(plan.graph.inputs()[k].name, plan.graph.inputs()[k].value);
        },
        plan.input_values, false);
    rows(
        "output", plan.outputs,
        [&](size_t k) {
          return std::pair(plan.graph.outputs()[k].name, plan.graph.outputs()[k].value);
        },
        plan.output_values, true);
  }

  static int64_t symbol_or(const Expr& e, int64_t none) {
    return e && e.kind() == ExprKind::symbol ? static_cast<int64_t>(e.symbol().value) : none;
  }

  void write_states(const ProgramPlan& plan, std::string_view name) {
    if (plan.states.empty()) return;
    for (size_t k = 0; k < plan.states.size(); ++k) {
      std::vector<int64_t> token;
      for (const Expr& dim : plan.states[k].type.token) token.push_back(dim.as_int().value_or(0));
      out_.line("constexpr i64 ", name, "_token", k, "[] = {", join(token, ", "), "};");
    }
    out_.block(
        concat("constexpr StatePort ", name, "_states[] ="),
        [&] {
          for (size_t k = 0; k < plan.states.size(); ++k) {
            const PlannedState& s = plan.states[k];
            const bool paged = s.type.layout == StateLayout::paged;
            const int64_t appended =
                s.appended.as_int() ? *s.appended.as_int() : -1 - symbol_or(s.appended, 0);
            out_.line("{", quote(plan.graph.inputs()[s.input].name), ", ", quote(s.output_name),
                      ", ", info(s.type.dtype).onnx,
                      ", StateLayout::", paged ? "paged" : "contiguous", ", ", s.type.token.size(),
                      ", ", name, "_token", k, ", ", s.type.block_size, ", ",
                      symbol_or(s.type.batch, -1), ", ", s.type.batch.as_int().value_or(0), ", ",
                      symbol_or(s.type.capacity, -1), ", ", symbol_or(s.type.max_blocks, -1), ", ",
                      symbol_or(s.type.length, -1), ", ", appended, ", ", s.data, ", ", s.table,
                      ", ", s.lengths, "},");
          }
        },
        ";");
  }

  void write_values(const ProgramPlan& plan, std::string_view name) {
    if (plan.values.empty()) return;
    constexpr std::string_view kKinds[] = {"arena",    "input", "output",
                                           "constant", "alias", "state"};
    out_.block(
        concat("constexpr Value ", name, "_values[] ="),
        [&] {
          for (const PlannedValue& v : plan.values) {
            int64_t offset = 0;
            if (v.kind == PlannedValue::Kind::constant) offset = root_->constants[v.base].offset;
            uint32_t needs = 0;
            if (v.bytes) {
              for (uint32_t id : symbols_of(v.bytes)) {
                if (is_found(plan, id)) needs = std::max(needs, id + 1);
              }
            }
            out_.line("{ValueKind::", kKinds[static_cast<size_t>(v.kind)], ", ", v.base, ", ",
                      v.plane, ", ", offset, ", ", v.first_step, ", ", v.last_step, ", ", needs,
                      "},");
          }
        },
        ";");
  }

  void write_work(const ProgramPlan& plan, std::string_view name) {
    for (size_t k = 0; k < plan.kernels.size(); ++k) {
      const EmittedKernel& e = plan.kernels[k].emitted;
      out_.block(concat("Work ", name, "_work", k, "([[maybe_unused]] const i64* symbols)"), [&] {
        const Graph* region = region_of(plan, k);
        const Expr flops = region == nullptr ? e.units.pool().integer(0) : operations_of(*region);
        declare_symbols(plan, std::array{e.units, e.unit_ns, e.scratch_bytes, flops});
        out_.line("return {", cpu_size(e.units), ", double(", cpu_size(e.unit_ns), "), ",
                  cpu_size(e.scratch_bytes), ", double(", cpu_size(flops), ")};");
      });
    }
  }

  /// An op's attributes as a routine gets them (artifact/routines.h).
  static Exprs routine_attributes(ExprPool& pool, const OpRef& op) {
    Exprs numbers;
    for (size_t k = 0; k < op.def().fields.size(); ++k) {
      const Attribute value = op.attribute(k);
      if (const auto* flag = std::get_if<bool>(&value)) {
        numbers.push_back(pool.integer(*flag ? 1 : 0));
      } else if (const auto* number = std::get_if<int64_t>(&value)) {
        numbers.push_back(pool.integer(*number));
      } else if (const auto* kind = std::get_if<ReduceKind>(&value)) {
        numbers.push_back(pool.integer(static_cast<int64_t>(*kind)));
      } else if (const auto* dim = std::get_if<Expr>(&value)) {
        numbers.push_back(*dim);
      } else {
        CHECK(false, op.name(), ": a routine has no attributes of the kind of ",
              op.def().fields[k]);
      }
    }
    return numbers;
  }

  void write_routines(const ProgramPlan& plan, std::string_view name) {
    for (size_t k = 0; k < plan.steps.size(); ++k) {
      const PlannedStep& step = plan.steps[k];
      if (step.routine == nullptr) continue;
      const Node& node = plan.graph.node(step.node);
      if (const auto* custom = node.op.as<ops::Custom>()) {
        write_custom(plan, node, *custom, concat(name, "_routine", k));
        continue;
      }
      out_.line("extern \"C\" __attribute__((visibility(\"hidden\"))) int ", step.routine->symbol,
                "(RoutineArgs& args, const RoutineTensor* inputs);");
      out_.block(concat("int ", name, "_routine", k, "(RoutineArgs& args)"), [&] {
        out_.line("[[maybe_unused]] const i64* symbols = args.symbols;");
        Exprs all;
        for (ValueId input : node.inputs) {
          const Exprs& dims = plan.graph.tensor(input).dims;
          all.insert(all.end(), dims.begin(), dims.end());
        }
        const Exprs numbers = routine_attributes(plan.graph.pool(), node.op);
        all.insert(all.end(), numbers.begin(), numbers.end());
        declare_symbols(plan, all);
        std::vector<std::string> rows;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
          const TensorType& type = plan.graph.tensor(node.inputs[i]);
          std::vector<std::string> dims;
          for (const Expr& dim : type.dims) dims.push_back(cpu_dim(dim));
          if (dims.empty()) dims.push_back("0");
          out_.line("const i64 dims", i, "[] = {", join(dims, ", "), "};");
          rows.push_back(concat("{", info(type.dtype).onnx, ", ", type.rank(), ", dims", i, "}"));
        }
        out_.line("const RoutineTensor inputs[] = {", join(rows, ", "), "};");
        if (!numbers.empty()) {
          std::vector<std::string> texts;
          for (const Expr& number : numbers) texts.push_back(cpu_dim(number));
          out_.line("const i64 attributes[] = {", join(texts, ", "), "};");
          out_.line("args.attributes = attributes;");
        }
        out_.line("return ", step.routine->symbol, "(args, inputs);");
      });
    }
  }

  /// A routine around the C function of a custom operator.
  void write_custom(const ProgramPlan& plan, const Node& node, const ops::Custom& op,
                    const std::string& routine) {
    out_.line("extern \"C\" __attribute__((visibility(\"hidden\"))) int ", op.function,
              "(const CustomTensor*, i32, const CustomTensor*, i32, const char**);");
    out_.block(concat("int ", routine, "(RoutineArgs& args)"), [&] {
      out_.line("[[maybe_unused]] const i64* symbols = args.symbols;");
      std::vector<ValueId> operands = node.inputs;
      operands.insert(operands.end(), node.outputs.begin(), node.outputs.end());
      Exprs all;
      for (ValueId value : operands) {
        const Exprs& dims = plan.graph.tensor(value).dims;
        all.insert(all.end(), dims.begin(), dims.end());
      }
      declare_symbols(plan, all);
      std::vector<std::string> rows;
      for (size_t i = 0; i < operands.size(); ++i) {
        const TensorType& type = plan.graph.tensor(operands[i]);
        std::vector<std::string> dims;
        for (const Expr& dim : type.dims) dims.push_back(cpu_dim(dim));
        if (dims.empty()) dims.push_back("0");
        out_.line("const i64 dims", i, "[] = {", join(dims, ", "), "};");
        rows.push_back(concat("{", quote(plan.graph.value(operands[i]).name), ", ",
                              info(type.dtype).onnx, ", ", type.rank(), ", dims", i,
                              ", args.values[", i, "]}"));
      }
      out_.line("if (args.allocate_outputs(args.run) == 0) return 6;  // resource exhausted");
      out_.block(
          "const CustomTensor tensors[] =",
          [&] {
            for (const std::string& row : rows) out_.line(row, ",");
          },
          ";");
      out_.line("const int status = ", op.function, "(tensors, ", node.inputs.size(),
                ", tensors + ", node.inputs.size(), ", ", node.outputs.size(), ", args.error);");
      out_.line(
          "return status < 0 || status > 11 ? 10 : status;  // what is no status is a mistake");
    });
  }

  static std::string routine_label(const ProgramPlan& plan, const PlannedStep& step) {
    const auto* custom = plan.graph.node(step.node).op.as<ops::Custom>();
    return custom != nullptr ? custom->function : std::string(step.routine->symbol);
  }

  /// First and count of a range of symbols with all that a step defines. Those between were made
  /// with them, and passes found another name for them.
  static std::pair<uint32_t, uint32_t> symbols_of_step(const PlannedStep& step) {
    if (step.defines.empty()) return {0, 0};
    const uint32_t first = step.defines.front().value;
    return {first, step.defines.back().value - first + 1};
  }

  void write_controls(const ProgramPlan& plan, std::string_view name) {
    for (size_t k = 0; k < plan.steps.size(); ++k) {
      const PlannedStep& step = plan.steps[k];
      if (!step.bodies.empty()) write_control(plan, step, concat(name, "_control", k));
    }
  }

  void write_control(const ProgramPlan& plan, const PlannedStep& step, const std::string& name) {
    const Node& node = plan.graph.node(step.node);
    Exprs all;
    for (ValueId input : node.inputs) {
      const Exprs& dims = plan.graph.tensor(input).dims;
      all.insert(all.end(), dims.begin(), dims.end());
    }
    out_.block(concat("void ", name,
                      "_dims([[maybe_unused]] const i64* symbols, [[maybe_unused]] i64* dims)"),
               [&] {
                 declare_symbols(plan, all);
                 for (size_t i = 0; i < node.inputs.size(); ++i) {
                   const Exprs& dims = plan.graph.tensor(node.inputs[i]).dims;
                   for (size_t a = 0; a < dims.size(); ++a) {
                     out_.line("dims[", i, " * kMaxRank + ", a, "] = ", cpu_dim(dims[a]), ";");
                   }
                 }
               });
    const auto [first, count] = symbols_of_step(step);
    std::vector<std::string> found(count, "{~0u, 0}");
    for (size_t output = 0; output < node.outputs.size(); ++output) {
      const Exprs& dims = plan.graph.tensor(node.outputs[output]).dims;
      for (size_t a = 0; a < dims.size(); ++a) {
        if (dims[a].kind() != ExprKind::symbol) continue;
        const uint32_t at = dims[a].symbol().value - first;
        if (at < count) found[at] = concat("{", output, ", ", a, "}");
      }
    }
    if (count > 0) out_.line("constexpr FoundDim ", name, "_found[] = {", join(found, ", "), "};");
    const auto* loop = node.op.as<ops::Loop>();
    std::vector<std::string> bodies;
    for (uint32_t body : step.bodies) bodies.push_back(concat("&", body_name(body), "_program"));
    out_.line("constexpr Control ", name, " = {ControlKind::", loop == nullptr ? "branch" : "loop",
              ", {", join(bodies, ", "), "}, ", node.inputs.size(), ", ",
              loop == nullptr ? 0 : loop->carried, ", ", name, "_dims, ",
              count > 0 ? concat(name, "_found") : std::string("nullptr"), "};");
  }

  void write_steps(const ProgramPlan& plan, std::string_view name) {
    if (plan.steps.empty()) return;
    for (size_t k = 0; k < plan.steps.size(); ++k) {
      out_.line("constexpr u32 ", name, "_operands", k, "[] = {",
                join(plan.steps[k].operands, ", "), "};");
    }
    out_.block(
        concat("constexpr Step ", name, "_steps[] ="),
        [&] {
          for (size_t k = 0; k < plan.steps.size(); ++k) {
            const PlannedStep& s = plan.steps[k];
            const bool routine = s.routine != nullptr, control = !s.bodies.empty();
            const std::string label = control   ? std::string(plan.graph.node(s.node).op.name())
                                      : routine ? routine_label(plan, s)
                                                : root_->kernels[s.kernel].name;
            const auto [first, count] = symbols_of_step(s);
            out_.line(
                "{", quote(label), ", ", quote(join(s.provenance, ", ")), ", ",
                routine || control ? std::string("nullptr") : concat(root_name_, "_work", s.kernel),
                ", ", routine ? concat(name, "_routine", k) : std::string("nullptr"), ", ",
                s.kernel, ", ", name, "_operands", k, ", ", s.operands.size(), ", nullptr, ", first,
                ", ", count, ", 0, 0", control ? concat(", &", name, "_control", k) : std::string(),
                "},");
          }
        },
        ";");
  }

  void write_value_bytes(const ProgramPlan& plan, std::string_view name) {
    out_.block(concat("void ", name,
                      "_value_bytes([[maybe_unused]] const i64* symbols, "
                      "[[maybe_unused]] i64* bytes)"),
               [&] {
                 Exprs all;
                 for (const PlannedValue& v : plan.values) all.push_back(v.bytes);
                 declare_symbols(plan, all);
                 for (size_t k = 0; k < plan.values.size(); ++k) {
                   const Expr& e = plan.values[k].bytes;
                   out_.line("bytes[", k, "] = ", e ? cpu_size(e) : std::string("0"), ";");
                 }
               });
  }

  void write_output_dims(const ProgramPlan& plan, std::string_view name) {
    out_.block(concat("void ", name,
                      "_output_dims([[maybe_unused]] const i64* symbols, "
                      "[[maybe_unused]] i64* dims)"),
               [&] {
                 declare_symbols(plan, output_exprs_);
                 for (size_t k = 0; k < output_exprs_.size(); ++k) {
                   out_.line("dims[", k, "] = ", cpu_dim(output_exprs_[k]), ";");
                 }
               });
  }

  void write_assumptions(const ProgramPlan& plan, std::string_view name) {
    assumptions_.clear();
    for (const Assumption& a : plan.graph.assumptions()) {
      bool checkable = true;
      for (const Expr& side : {a.a, a.b}) {
        for (uint32_t id : symbols_of(side)) {
          checkable &= !is_found(plan, id);
        }
      }
      if (checkable) assumptions_.push_back(a);
    }
    if (!assumptions_.empty()) {
      out_.block(
          concat("constexpr Assumption ", name, "_assumptions[] ="),
          [&] {
            for (const Assumption& a : assumptions_) {
              out_.line("{",
                        quote(concat(a.text, ": expected ", to_text(a.a), " = ", to_text(a.b))),
                        "},");
            }
          },
          ";");
    }
    out_.block(concat("i64 ", name, "_check_assumptions([[maybe_unused]] const i64* symbols)"),
               [&] {
                 Exprs all;
                 for (const Assumption& a : assumptions_) {
                   all.push_back(a.a);
                   all.push_back(a.b);
                 }
                 declare_symbols(plan, all);
                 for (size_t k = 0; k < assumptions_.size(); ++k) {
                   out_.line("if (", cpu_dim(assumptions_[k].a), " != ", cpu_dim(assumptions_[k].b),
                             ") return ", k, ";");
                 }
                 out_.line("return -1;");
               });
  }

  void write_levels() {
    for (CpuLevel level : model_.levels) {
      const std::string_view space = info(level).prelude_namespace;
      for (const auto& [plan, label] :
           {std::pair(model_.main, "main"), std::pair(model_.prepare, "prepare")}) {
        if (plan == nullptr || plan->kernels.empty()) continue;
        out_.block(
            concat("constexpr KernelFn ", label, "_kernels_", space, "[] ="),
            [&] {
              for (const PlannedKernel& kernel : plan->kernels) {
                out_.line("ingot_cpu::", space, "::", kernel.name, ",");
              }
            },
            ";");
      }
    }
    out_.block(
        "constexpr Level levels[] =",
        [&] {
          for (CpuLevel level : model_.levels) {
            const std::string_view space = info(level).prelude_namespace;
            const auto table = [&](const ProgramPlan* plan, std::string_view label) {
              return plan == nullptr || plan->kernels.empty() ? std::string("nullptr")
                                                              : concat(label, "_kernels_", space);
            };
            out_.line("{", quote(info(level).name), ", ", info(level).feature_bits, "u, ",
                      table(model_.main, "main"), ", ", table(model_.prepare, "prepare"), "},");
          }
        },
        ";");
  }

  void write_constants() {
    for (size_t k = 0; k < model_.constants.size(); ++k) {
      const auto& dims = model_.constants[k].dims;
      if (!dims.empty()) {
        out_.line("constexpr i64 constant", k, "_dims[] = {", join(dims, ", "), "};");
      }
    }
    if (!model_.constants.empty()) {
      out_.block(
          "constexpr Constant constants[] =",
          [&] {
            for (size_t k = 0; k < model_.constants.size(); ++k) {
              const ModelConstant& c = model_.constants[k];
              out_.line("{", quote(c.name), ", ", info(c.dtype).onnx, ", ", c.dims.size(), ", ",
                        c.dims.empty() ? std::string("nullptr") : concat("constant", k, "_dims"),
                        ", ", c.replaceable ? "true" : "false", ", ", c.prepare_input, ", ",
                        c.offset, ", ", c.source_file, ", ", c.source_offset, "u},");
            }
          },
          ";");
    }
    std::vector<std::string> prepared;
    for (const PlannedConstant& c : model_.main->constants) {
      if (c.prepared >= 0) prepared.push_back(concat("{", c.prepared, ", ", c.offset, "}"));
    }
    prepared_count_ = prepared.size();
    if (!prepared.empty()) {
      out_.block(
          "constexpr Prepared prepared[] =",
          [&] {
            for (const std::string& row : prepared) out_.line(row, ",");
          },
          ";");
    }
    if (!model_.sources.empty()) {
      out_.block(
          "constexpr SourceFile source_files[] =",
          [&] {
            for (const ModelSource& s : model_.sources) {
              out_.line("{", quote(s.name), ", ", s.bytes, "u, ", hash_text_of(s.hash), "},");
            }
          },
          ";");
    }
  }

  void write_metadata() {
    if (model_.metadata.empty()) return;
    out_.block(
        "constexpr Metadata metadata[] =",
        [&] {
          for (const auto& [key, value] : model_.metadata) {
            out_.line("{", quote(key), ", ", quote(value), "},");
          }
        },
        ";");
  }

  void write_description() {
    const ModelWeights& w = model_.weights;
    constexpr std::string_view kKinds[] = {"none", "embedded", "separate", "stripped"};
    const bool embedded = w.kind == WeightsKind::embedded || w.embedded_bytes > 0;
    if (embedded) {
      out_.line("extern \"C\" __attribute__((visibility(\"hidden\"))) const u8 ingot_weights[];");
    }
    if (w.kind != WeightsKind::none) {
      out_.line(
          "extern \"C\" __attribute__((visibility(\"hidden\"))) const u64 ingot_weights_hash[];");
    }
    out_.block(
        "extern \"C\" __attribute__((visibility(\"hidden\"))) const Model "
        "ingot_model_description =",
        [&] {
          out_.line("sizeof(Model), kFormat,");
          out_.line(quote(model_.name), ", ", quote(model_.hash), ", \"cpu\", ",
                    quote(model_.toolchain), ", ", quote(kCompilerVersion), ",");
          out_.line("levels, ", model_.levels.size(), ",");
          out_.line("&main_program, ", model_.prepare != nullptr ? "&prepare_program" : "nullptr",
                    ",");
          out_.line(array("constants", model_.constants.size()), ",");
          out_.line(array("prepared", prepared_count_), ",");
          out_.line(array("metadata", model_.metadata.size()), ",");
          out_.line("{WeightsKind::", kKinds[static_cast<size_t>(w.kind)], ", ",
                    embedded ? "ingot_weights" : "nullptr", ", ", w.bytes, "u, ",
                    w.kind == WeightsKind::separate ? quote(w.file_name) : std::string("nullptr"),
                    ", ", w.kind != WeightsKind::none ? "ingot_weights_hash" : "nullptr", ", ",
                    w.embedded_bytes, "u},");
          out_.line(array("source_files", model_.sources.size()), ",");
        },
        ";");
  }

  static constexpr std::string_view kCompilerVersion = "ingot 0.1";

  const ModelDescription& model_;
  Writer out_;
  Exprs output_exprs_;                   // of the program being written
  std::vector<Assumption> assumptions_;  // likewise
  size_t prepared_count_ = 0;
  const ProgramPlan* root_ = nullptr;  // of the programs being written
  std::string_view root_name_;
};

}  // namespace

namespace {

/// A header of the CPU prelude and the calls that tell that kernels need it; none: always.
struct PreludeHeader {
  std::string_view name;
  std::vector<std::string_view> calls;
};

const std::vector<PreludeHeader>& prelude_headers() {
  static const std::vector<PreludeHeader> headers = {
      {"types.h", {}},
      {"vec.h", {}},
      {"math.h",
       {"exp(", "log(", "sqrt(", "sin(", "cos(", "tan(", "sinh(", "cosh(", "tanh(", "erf(",
        "sigmoid(", "floor(", "ceil(", "round(", "trunc(", "pow(", "fmod(", "floordiv(",
        "floormod("}},
      {"gemm.h", {"gemm(", "gemm_produced(", "ConvShape"}},
      {"conv.h", {"ConvShape"}},
      {"winograd.h", {"winograd("}},
  };
  return headers;
}

}  // namespace

std::string kernel_prologue(std::string_view kernels, Tiles tiles) {
  std::string all = pasted("artifact/program.h");
  if (tiles == Tiles::linked) all += "#define INGOT_TILES_ELSEWHERE 1\n";
  for (const PreludeHeader& header : prelude_headers()) {
    const bool needed =
        header.calls.empty() || std::ranges::any_of(header.calls, [&](std::string_view call) {
          return kernels.find(call) != std::string_view::npos;
        });
    if (needed) all += pasted(concat("prelude/cpu/", header.name));
  }
  return all +
         "namespace ingot_cpu {\nusing ingot::artifact::KernelArgs;\n"
         "using ingot::artifact::operand;\ninline namespace INGOT_LEVEL {\n";
}

std::string kernel_epilogue() {
  return "\n}  // namespace INGOT_LEVEL\n}  // namespace ingot_cpu\n";
}

std::vector<SourceFile> write_kernels(const ProgramPlan& plan, std::string_view prefix,
                                      Tiles tiles) {
  std::vector<std::string> texts;
  size_t total = 0;
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    Writer kernel;
    kernel.line();
    write_provenance(kernel, plan.kernels[k].provenance);
    if (const Graph* body = region_of(plan, k)) write_region(kernel, *body);
    kernel.raw(plan.kernels[k].text);
    texts.push_back(kernel.take());
    total += plan.kernels[k].text.size();
  }
  const size_t least = texts.size() < kLeastToSplit ? 1 : 2;
  const size_t units = std::max(least, (total + kUnitText / 2) / kUnitText);
  std::vector<SourceFile> files;
  // Each unit takes kernels up to its share of the text, so that all take about as long.
  size_t next = 0, written = 0;
  for (size_t unit = 0; unit < units && next < texts.size(); ++unit) {
    const std::string name = concat(prefix, "kernels_", unit, ".cc");
    std::string kernels;
    for (; next < texts.size(); ++next) {
      const size_t size = plan.kernels[next].text.size();
      if (!kernels.empty() && (written + size / 2) * units >= total * (unit + 1)) break;
      written += size;
      kernels += texts[next];
    }
    files.push_back(
        {name,
         concat("// ", name, ": kernels made by ingot; compiled once per instruction set level.\n",
                kernel_prologue(kernels, tiles), kernels, kernel_epilogue()),
         kUnitCost + kKernelCost * static_cast<double>(kernels.size())});
  }
  return files;
}

SourceFile write_model(const ModelDescription& model) {
  const std::string text = ModelWriter(model).write();
  return {"model.cc",
          concat("// model.cc: ", to_comment(model.name), " as a table of steps; made by ingot.\n",
                 pasted("artifact/program.h"), text),
          kUnitCost + kModelCost * static_cast<double>(text.size())};
}

std::vector<SourceFile> write_whole(const ModelDescription& model, std::string_view prefix) {
  std::vector<SourceFile> files = write_kernels(*model.main, prefix, Tiles::linked);
  if (files.empty()) return {write_model(model)};
  const std::string text = ModelWriter(model).write();
  files[0].text += text;
  files[0].cost += kModelCost * static_cast<double>(text.size());
  return files;
}

}  // namespace ingot
