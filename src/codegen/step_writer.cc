// codegen/step_writer.cc: the steps of a program: kernels' work, routines and control steps.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "codegen/cost.h"
#include "codegen/emit_cpu.h"
#include "codegen/program_writer.h"
#include "ops/control.h"
#include "ops/custom.h"

namespace ingot {
namespace {

class StepWriter {
 public:
  StepWriter(Writer& out, DimTable& dims, const ProgramPlan& root, std::string_view root_name)
      : out_(out), dims_(dims), root_(&root), root_name_(root_name) {}

  void write(const ProgramPlan& plan, std::string_view name) {
    write_routines(plan, name);
    write_controls(plan, name);
    write_steps(plan, name);
  }

 private:
  std::string text(Expr dim) { return cpu_dim(dims_.map(dim)); }
  void declare_dims(Exprs exprs) {
    for (Expr& e : exprs) e = dims_.map(e);
    declare_symbols(out_, exprs);
  }

  /// An op's attributes as a routine gets them (artifact/routines.h).
  struct RoutineAttributes {
    Exprs numbers;
    std::vector<std::string> texts;
  };
  static RoutineAttributes routine_attributes(ExprPool& pool, const OpRef& op) {
    RoutineAttributes result;
    Exprs& numbers = result.numbers;
    const auto add_texts = [&](const std::vector<std::string>& texts) {
      numbers.push_back(pool.integer(static_cast<int64_t>(texts.size())));
      result.texts.insert(result.texts.end(), texts.begin(), texts.end());
    };
    for (size_t k = 0; k < op.def().fields.size(); ++k) {
      const Attribute value = op.attribute(k);
      if (const auto* flag = std::get_if<bool>(&value)) {
        numbers.push_back(pool.integer(*flag ? 1 : 0));
      } else if (const auto* number = std::get_if<int64_t>(&value)) {
        numbers.push_back(pool.integer(*number));
      } else if (const auto* dtype = std::get_if<DType>(&value)) {
        numbers.push_back(pool.integer(info(*dtype).onnx));
      } else if (const auto* kind = std::get_if<ReduceKind>(&value)) {
        numbers.push_back(pool.integer(static_cast<int64_t>(*kind)));
      } else if (const auto* dim = std::get_if<Expr>(&value)) {
        numbers.push_back(*dim);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        result.texts.push_back(*text);
      } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
        add_texts(*texts);
      } else if (const auto* data = std::get_if<ConstantData>(&value);
                 data != nullptr && data->dtype == DType::str) {
        add_texts(data->strings);
      } else {
        CHECK(false, op.name(), ": a routine has no attributes of the kind of ",
              op.def().fields[k]);
      }
    }
    if (op.def().routine_texts != nullptr) {
      result.texts = op.def().routine_texts(op.data());
      numbers.push_back(pool.integer(static_cast<int64_t>(result.texts.size())));
    }
    return result;
  }

  void write_texts(const std::vector<std::string>& texts) {
    out_.block(
        "static constexpr Text texts[] =",
        [&] {
          for (const std::string& text : texts) {
            out_.line("{", quote(text), ", ", text.size(), "},");
          }
        },
        ";");
    out_.line("args.texts = texts;");
  }

  static bool finds_out(const PlannedStep& step, Expr dim) {
    return dim.kind() == ExprKind::symbol &&
           std::ranges::find(step.defines, dim.symbol()) != step.defines.end();
  }

  /// The dims of the outputs, where the step finds some of them out.
  static Exprs found_dims(const ProgramPlan& plan, const PlannedStep& step) {
    Exprs dims;
    if (step.defines.empty()) return dims;
    for (const ValueId output : plan.graph.node(step.node).outputs) {
      const Exprs& own = plan.graph.tensor(output).dims;
      dims.insert(dims.end(), own.begin(), own.end());
    }
    return dims;
  }

  void write_output_dims(const PlannedStep& step, const Exprs& dims) {
    if (dims.empty()) return;
    std::vector<std::string> rows;
    for (const Expr& dim : dims) {
      rows.push_back(finds_out(step, dim) ? concat("{", dim.symbol().value, ", 0}")
                                          : concat("{kKnownDim, ", text(dim), "}"));
    }
    out_.line("const RoutineDim output_dims[] = {", join(rows, ", "), "};");
    out_.line("args.output_dims = output_dims;");
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
        const auto [numbers, texts] = routine_attributes(plan.graph.pool(), node.op);
        all.insert(all.end(), numbers.begin(), numbers.end());
        const Exprs output_dims = found_dims(plan, step);
        std::ranges::copy_if(output_dims, std::back_inserter(all),
                             [&](Expr dim) { return !finds_out(step, dim); });
        declare_dims(all);
        std::vector<std::string> rows;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
          const TensorType& type = plan.graph.tensor(node.inputs[i]);
          std::vector<std::string> dims;
          for (const Expr& dim : type.dims) dims.push_back(text(dim));
          if (dims.empty()) dims.push_back("0");
          out_.line("const i64 dims", i, "[] = {", join(dims, ", "), "};");
          rows.push_back(concat("{", info(type.dtype).onnx, ", ", type.rank(), ", dims", i, "}"));
        }
        if (rows.empty()) rows.push_back("{}");
        out_.line("const RoutineTensor inputs[] = {", join(rows, ", "), "};");
        write_output_dims(step, output_dims);
        if (!texts.empty()) write_texts(texts);
        if (!numbers.empty()) {
          std::vector<std::string> values;
          for (const Expr& number : numbers) values.push_back(text(number));
          out_.line("const i64 attributes[] = {", join(values, ", "), "};");
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
      declare_dims(all);
      std::vector<std::string> rows;
      for (size_t i = 0; i < operands.size(); ++i) {
        const TensorType& type = plan.graph.tensor(operands[i]);
        std::vector<std::string> dims;
        for (const Expr& dim : type.dims) dims.push_back(text(dim));
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
                 declare_dims(all);
                 for (size_t i = 0; i < node.inputs.size(); ++i) {
                   const Exprs& dims = plan.graph.tensor(node.inputs[i]).dims;
                   for (size_t a = 0; a < dims.size(); ++a) {
                     out_.line("dims[", i, " * kMaxRank + ", a, "] = ", text(dims[a]), ";");
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
    for (uint32_t body : step.bodies)
      bodies.push_back(concat("&", body_name(root_name_, body), "_program"));
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
      std::vector<uint32_t> symbols;
      for (Expr leaf : plan.steps[k].kernel_symbols) {
        symbols.push_back(dims_.map(leaf).symbol().value);
      }
      if (symbols.empty()) continue;
      out_.line("constexpr u32 ", name, "_kernel_symbols", k, "[] = {", join(symbols, ", "), "};");
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
                ", ", count, ", 0, 0, ", control ? concat("&", name, "_control", k) : "nullptr",
                ", ", table_text(concat(name, "_kernel_symbols", k), s.kernel_symbols.size()),
                "},");
          }
        },
        ";");
  }

  Writer& out_;
  DimTable& dims_;
  const ProgramPlan* root_;
  std::string_view root_name_;
};

}  // namespace

void write_work(Writer& out, const ProgramPlan& plan, std::string_view name) {
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const EmittedKernel& e = plan.kernels[k].emitted;
    out.block(concat("Work ", name, "_work", k, "([[maybe_unused]] const i64* symbols)"), [&] {
      const Expr flops = operations_of(plan.kernels[k].region);
      declare_symbols(out, std::array{e.units, e.unit_ns, e.scratch_bytes, flops});
      out.line("return {", cpu_size(e.units), ", double(", cpu_size(e.unit_ns), "), ",
               cpu_size(e.scratch_bytes), ", double(", cpu_size(flops), ")};");
    });
  }
}

void write_steps(Writer& out, const ProgramPlan& plan, std::string_view name, DimTable& dims,
                 const ProgramPlan& root, std::string_view root_name) {
  StepWriter(out, dims, root, root_name).write(plan, name);
}

}  // namespace ingot
