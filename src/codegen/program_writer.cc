// codegen/program_writer.cc: the interface, values and sizes of a program.
#include "codegen/program_writer.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "codegen/emit_cpu.h"

namespace ingot {
namespace {

/// Parts of an expression that a person would read.
constexpr size_t kMostRead = 64;

/// A dimension as a person reads it.
std::string text_of(Expr dim) {
  std::vector<Expr> parts = {dim};
  for (size_t k = 0; k < parts.size(); ++k) {
    if (k == kMostRead) return "computed";
    for (int i = 0; i < 3; ++i) {
      if (const Expr operand = parts[k].operand(i)) parts.push_back(operand);
    }
  }
  return to_text(dim);
}

void collect_symbols(Expr expr, std::map<uint32_t, Expr>* symbols) {
  for_each(expr, [&](Expr part) {
    if (part.kind() == ExprKind::symbol) symbols->emplace(part.symbol().value, part);
  });
}

void declare(Writer& out, const std::map<uint32_t, Expr>& symbols) {
  for (const auto& [id, symbol] : symbols) {
    out.line("[[maybe_unused]] const i64 ", cpu_symbol(symbol), " = symbols[", id, "];");
  }
}

class ProgramWriter {
 public:
  explicit ProgramWriter(Writer& out) : out_(out) {}

  /// A program and those of its control steps.
  void write(const ProgramPlan& root, std::string_view name) {
    root_ = &root;
    root_name_ = name;
    write_work(out_, root, name);
    for (size_t k = 0; k < root.bodies.size(); ++k)
      write_tables(root.bodies[k], body_name(name, k));
    write_tables(root, name);
  }

 private:
  void write_tables(const ProgramPlan& plan, std::string_view name) {
    find_assumptions(plan);
    dims_.emplace(std::as_const(plan.graph.pool()));
    add_dims(plan);
    write_symbols(plan, name);
    write_ports(plan, name);
    write_states(plan, name);
    write_values(plan, name);
    write_steps(out_, plan, name, *dims_, *root_, root_name_);
    write_value_bytes(plan, name);
    write_output_dims(name);
    write_assumptions(name);
    write_derived(plan, name);
    out_.block(
        concat("constexpr Program ", name, "_program ="),
        [&] {
          const ExprPool& pool = plan.graph.pool();
          out_.line(table_text(concat(name, "_symbols"), pool.symbol_count()), ",");
          out_.line(table_text(concat(name, "_inputs"), plan.inputs.size()), ",");
          out_.line(table_text(concat(name, "_outputs"), plan.outputs.size()), ",");
          out_.line(table_text(concat(name, "_states"), plan.states.size()), ",");
          out_.line(table_text(concat(name, "_values"), plan.values.size()), ",");
          out_.line(table_text(concat(name, "_steps"), plan.steps.size()), ",");
          out_.line(name, "_value_bytes,");
          out_.line(name, "_output_dims,");
          out_.line(output_exprs_.size(), ",");
          out_.line(table_text(concat(name, "_assumptions"), assumptions_.size()), ",");
          out_.line(name, "_check_assumptions,");
          out_.line(plan.is_body ? "true" : "false", ", ", name, "_derive, ",
                    dims_->leaves().size() - pool.symbol_count(), ",");
        },
        ";");
  }

  /// Every dimension that a function of the program mentions.
  void add_dims(const ProgramPlan& plan) {
    const auto add = [&](const Exprs& exprs) {
      for (const Expr& e : exprs) dims_->add(e);
    };
    for (const PlannedValue& value : plan.values) {
      if (value.bytes) dims_->add(value.bytes);
    }
    for (const PlannedStep& step : plan.steps) {
      add(step.kernel_symbols);
      const Node& node = plan.graph.node(step.node);
      for (const auto* values : {&node.inputs, &node.outputs}) {
        for (ValueId value : *values) {
          if (value.valid() && !plan.graph.type(value).is_state()) {
            add(plan.graph.tensor(value).dims);
          }
        }
      }
      for (const Expr& e : expressions_of(node.op)) dims_->add(e);
    }
    const auto add_port = [&](ValueId value) {
      if (plan.graph.type(value).is_tensor()) add(plan.graph.tensor(value).dims);
    };
    for (const GraphInput& input : plan.graph.inputs()) add_port(input.value);
    for (const GraphOutput& output : plan.graph.outputs()) add_port(output.value);
    for (const auto& [a, known_by] : assumptions_) add({a.a, a.b});
  }

  static Exprs expressions_of(const OpRef& op) {
    Exprs found;
    for (size_t k = 0; k < op.def().fields.size(); ++k) {
      const Attribute value = op.attribute(k);
      if (const auto* dim = std::get_if<Expr>(&value)) found.push_back(*dim);
    }
    return found;
  }

  /// Each from those in front of it.
  void write_derived(const ProgramPlan& plan, std::string_view name) {
    const size_t first = plan.graph.pool().symbol_count();
    out_.block(concat("void ", name, "_derive([[maybe_unused]] i64* symbols)"), [&] {
      const size_t count = dims_->leaves().size();
      Exprs definitions;
      std::map<uint32_t, Expr> given;
      for (size_t k = first; k < count; ++k) {
        definitions.push_back(dims_->definition(k));
        collect_symbols(definitions.back(), &given);
        CHECK(given.empty() || given.rbegin()->first < k, "a leaf was not added in time");
      }
      given.erase(given.lower_bound(static_cast<uint32_t>(first)), given.end());
      declare(out_, given);
      for (size_t k = first; k < count; ++k) {
        out_.line("[[maybe_unused]] const i64 ", cpu_symbol(dims_->symbol(k)), " = symbols[", k,
                  "] = ", cpu_size(definitions[k - first]), ";");
      }
    });
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
      texts.push_back(quote(plain ? dim.pool().symbol_info(dim.symbol()).name : text_of(dim)));
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

  /// What a port's dtype is called: inside of a program handles are numbers.
  static int port_dtype(const Type& type, bool is_body) {
    const Type* tensor = &type;
    while (!is_body && tensor->is_container()) tensor = tensor->container.element.get();
    const DType dtype = tensor->tensor.dtype;
    return info(is_body && dtype == DType::str ? DType::u64 : dtype).onnx;
  }

  /// The fields of a Port behind its value.
  static std::string port_kinds(const Type& type, bool is_body) {
    if (!type.is_container()) {
      return type.tensor.dtype == DType::str ? ", 0, 0, Handles::strings" : "";
    }
    if (is_body) return ", 0, 0, Handles::containers";
    const auto number = [](const Type& of) {  // ingot_kind
      using Kind = ContainerType::Kind;
      return !of.is_container()                    ? 0
             : of.container.kind == Kind::sequence ? 2
             : of.container.kind == Kind::optional ? 3
                                                   : 4;
    };
    const Type& element = *type.container.element;
    const Type& map = number(type) == 4 ? type : element;
    return concat(", ", number(type), ", ", number(element), ", Handles::containers, ",
                  number(map) == 4 ? info(map.container.key).onnx : 0);
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
              out_.line("{", quote(label), ", ", port_dtype(plan.graph.type(value), plan.is_body),
                        ", ", type.rank(), ", ",
                        type.rank() == 0 ? std::string("nullptr, nullptr")
                                         : concat(dims, "_dims, ", dims, "_dim_text"),
                        ", ", values[k], port_kinds(plan.graph.type(value), plan.is_body), "},");
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

  void write_value_bytes(const ProgramPlan& plan, std::string_view name) {
    out_.block(concat("void ", name,
                      "_value_bytes([[maybe_unused]] const i64* symbols, "
                      "[[maybe_unused]] i64* bytes)"),
               [&] {
                 Exprs all;
                 for (const PlannedValue& v : plan.values) {
                   all.push_back(v.bytes ? dims_->map(v.bytes) : Expr());
                 }
                 declare_symbols(out_, all);
                 for (size_t k = 0; k < all.size(); ++k) {
                   out_.line("bytes[", k, "] = ", all[k] ? cpu_size(all[k]) : "0", ";");
                 }
               });
  }

  void write_output_dims(std::string_view name) {
    out_.block(concat("void ", name,
                      "_output_dims([[maybe_unused]] const i64* symbols, "
                      "[[maybe_unused]] i64* dims)"),
               [&] {
                 for (Expr& e : output_exprs_) e = dims_->map(e);
                 declare_symbols(out_, output_exprs_);
                 for (size_t k = 0; k < output_exprs_.size(); ++k) {
                   out_.line("dims[", k, "] = ", cpu_dim(output_exprs_[k]), ";");
                 }
               });
  }

  /// How many steps have run when the sizes that an assumption is about are known: 0 before all of
  /// them; nothing if no step finds one of them out.
  static std::optional<size_t> known_by(const ProgramPlan& plan, const Assumption& a) {
    size_t steps = 0;
    for (const Expr& side : {a.a, a.b}) {
      for (const uint32_t id : symbols_of(side)) {
        if (!is_found(plan, id)) continue;
        const auto finds = [&](const PlannedStep& step) {
          return std::ranges::find(step.defines, SymbolId(id)) != step.defines.end();
        };
        const auto step = std::ranges::find_if(plan.steps, finds);
        if (step == plan.steps.end()) return std::nullopt;
        steps = std::max(steps, static_cast<size_t>(step - plan.steps.begin()) + 1);
      }
    }
    return steps;
  }

  void find_assumptions(const ProgramPlan& plan) {
    assumptions_.clear();
    for (const Assumption& a : plan.graph.assumptions()) {
      if (const auto steps = known_by(plan, a)) assumptions_.emplace_back(a, *steps);
    }
  }

  void write_assumptions(std::string_view name) {
    if (!assumptions_.empty()) {
      out_.block(
          concat("constexpr Assumption ", name, "_assumptions[] ="),
          [&] {
            for (const auto& [a, known_by] : assumptions_) {
              const bool numbers = a.a.as_int() && a.b.as_int();  // which never agree
              const std::string expected =
                  numbers ? "" : concat(": expected ", text_of(a.a), " = ", text_of(a.b));
              out_.line("{", quote(a.text + expected), "},");
            }
          },
          ";");
    }
    out_.block(concat("i64 ", name,
                      "_check_assumptions([[maybe_unused]] const i64* symbols, "
                      "[[maybe_unused]] u32 steps)"),
               [&] {
                 Exprs all;
                 for (const auto& [a, known_by] : assumptions_) {
                   all.push_back(dims_->map(a.a));
                   all.push_back(dims_->map(a.b));
                 }
                 declare_symbols(out_, all);
                 for (size_t k = 0; k < assumptions_.size(); ++k) {
                   out_.line("if (steps == ", assumptions_[k].second, " && ", cpu_dim(all[2 * k]),
                             " != ", cpu_dim(all[2 * k + 1]), ") return ", k, ";");
                 }
                 out_.line("return -1;");
               });
  }

  Writer& out_;
  std::optional<DimTable> dims_;                            // of the program being written
  Exprs output_exprs_;                                      // of the program being written
  std::vector<std::pair<Assumption, size_t>> assumptions_;  // likewise, with known_by()
  const ProgramPlan* root_ = nullptr;
  std::string_view root_name_;
};

}  // namespace

void write_program(Writer& out, const ProgramPlan& root, std::string_view name) {
  ProgramWriter(out).write(root, name);
}

std::string table_text(const std::string& name, size_t count) {
  return count == 0 ? std::string("nullptr, 0") : concat(name, ", ", count);
}

void declare_symbols(Writer& out, std::span<const Expr> exprs) {
  std::map<uint32_t, Expr> used;
  for (const Expr& e : exprs) {
    if (e) collect_symbols(e, &used);
  }
  declare(out, used);
}

std::string body_name(std::string_view root_name, size_t number) {
  return concat(root_name, "_body", number);
}

}  // namespace ingot
