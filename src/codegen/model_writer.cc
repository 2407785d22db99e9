// codegen/model_writer.cc: model.cc of an artefact.
#include "codegen/model_writer.h"

#include "base/text.h"
#include "codegen/program_writer.h"

namespace ingot {
namespace {

/// What compiling model.cc takes, in milliseconds: as it is, and a character of it.
constexpr double kModelCost = 20, kTextCost = 0.003;

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
        write_program(out_, *model_.main, "main");
        if (model_.prepare != nullptr) write_program(out_, *model_.prepare, "prepare");
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
        // Inline as in the prelude, which may stand in the same unit.
        out_.block(concat("inline namespace ", info(level).prelude_namespace), [&] {
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

  void write_levels() {
    for (CpuLevel level : model_.levels) {
      const std::string_view space = info(level).prelude_namespace;
      for (const auto& [plan, label] :
           {std::pair(model_.main, "main"), std::pair(model_.prepare, "prepare")}) {
        if (plan == nullptr || plan->kernels.empty()) continue;
        out_.block(
            concat("constexpr KernelFn ", label, "_kernels_", space, "[] ="),
            [&, &plan = plan] {
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
          out_.line(table_text("constants", model_.constants.size()), ",");
          out_.line(table_text("prepared", prepared_count_), ",");
          out_.line(table_text("metadata", model_.metadata.size()), ",");
          out_.line("{WeightsKind::", kKinds[static_cast<size_t>(w.kind)], ", ",
                    embedded ? "ingot_weights" : "nullptr", ", ", w.bytes, "u, ",
                    w.kind == WeightsKind::separate ? quote(w.file_name) : std::string("nullptr"),
                    ", ", w.kind != WeightsKind::none ? "ingot_weights_hash" : "nullptr", ", ",
                    w.embedded_bytes, "u},");
          out_.line(table_text("source_files", model_.sources.size()), ",");
        },
        ";");
  }

  static constexpr std::string_view kCompilerVersion = "ingot 0.1";

  const ModelDescription& model_;
  Writer out_;
  size_t prepared_count_ = 0;
};

}  // namespace

SourceFile write_model(const ModelDescription& model) {
  const std::string text = ModelWriter(model).write();
  return {"model.cc",
          concat("// model.cc: ", to_comment(model.name), " as a table of steps; made by ingot.\n",
                 pasted("artifact/program.h"), text),
          kModelCost + kTextCost * static_cast<double>(text.size())};
}

std::vector<SourceFile> write_whole(const ModelDescription& model, std::string_view prefix) {
  std::vector<SourceFile> files = write_kernels(*model.main, prefix, Tiles::linked);
  if (files.empty()) return {write_model(model)};
  const std::string text = ModelWriter(model).write();
  files[0].text += text;
  files[0].cost += kTextCost * static_cast<double>(text.size());
  return files;
}

}  // namespace ingot
