// codegen/compile.cc: the way from a graph to an artefact, stage by stage.
#include "codegen/compile.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "base/check.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/threads.h"
#include "codegen/emit_cpu.h"
#include "codegen/emit_project.h"
#include "codegen/jobs.h"
#include "codegen/prepare_program.h"
#include "codegen/program.h"
#include "codegen/weights_file.h"
#include "ops/bitcast.h"
#include "ops/control.h"
#include "passes/fuse.h"
#include "passes/split_prepare.h"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

/// Largest weights that are linked in by themselves: linking hundreds of megabytes takes seconds.
constexpr uint64_t kMostEmbedded = uint64_t{64} << 20;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Compilation {
 public:
  Compilation(Graph graph, std::filesystem::path output, const CompileOptions& options)
      : graph_(std::move(graph)),
        output_(std::move(output)),
        options_(options),
        threads_(options.threads > 0 ? options.threads : available_cpus()) {}

  Result<CompileReport> run() {
    report_.output = output_;
    // What cannot be written is told before the work, not after it.
    if (options_.emit != EmitKind::source) TRY_STATUS(check_writable(output_));
    TRY(TempDir directory, TempDir::create());
    directory_ = directory.path();
    temporary_.emplace(std::move(directory));
    TRY_STATUS(optimise());
    TRY_STATUS(plan());
    TRY_STATUS(describe());
    TRY_STATUS(generate());
    TRY_STATUS(write_weights());
    TRY_STATUS(finish());
    return std::move(report_);
  }

  /// The same up to the plan: writes nothing.
  Result<CompileReport> run_to_plan() {
    TRY_STATUS(optimise());
    TRY_STATUS(plan());
    return std::move(report_);
  }

 private:
  static Status check_writable(const std::filesystem::path& output) {
    TRY([[maybe_unused]] const AtomicFile file, AtomicFile::create(output));
    return ok();
  }

  void stage(std::string_view name, double fraction) const {
    if (options_.progress) options_.progress(name, fraction);
  }

  /// How to build in a folder of the compilation's own.
  ObjectBuilder::Options build_in(std::string_view folder) const {
    const auto directory = directory_ / folder;
    std::filesystem::create_directories(directory);
    return {options_.toolchain, directory, options_.cache, options_.cancel, options_.verify};
  }

  // ---- passes ----

  PassOptions pass_options() const {
    PassOptions options;
    options.disabled = options_.disabled_passes;
    // Without fusion every op is a region of its own: regions there must be.
    if (options.disabled.erase("fuse") > 0) {
      for (const std::string_view part : fuse_parts()) options.disabled.emplace(part);
    }
    options.verify |= options_.verify;
    return options;
  }

  Status run_rows(Graph& graph, std::span<const Pass> rows, std::string_view label) {
    PassOptions options = pass_options();
    Status dumped = ok();
    options.after = [&](std::string_view pass, const Graph& g) {
      if (!options_.dump_after.contains(pass)) return;
      std::error_code failed;
      std::filesystem::create_directories(options_.dump_directory, failed);
      const auto path = options_.dump_directory / concat(label, pass, ".txt");
      if (auto written = write_atomically(path, to_text(g)); !written) dumped = written.error();
    };
    TRY(auto records, run_passes(graph, rows, options));
    for (PassRecord& record : records) {
      record.name = concat(label, record.name);
      report_.passes.push_back(std::move(record));
    }
    return dumped;
  }

  Status optimise() {
    const auto start = Clock::now();
    stage("passes", 0);
    report_.read = take_census(graph_, graph_.inputs().size());
    TRY_STATUS(run_rows(graph_, pipeline(), ""));
    const bool through_prepare = options_.updatable || options_.weights == WeightsChoice::stripped;
    split_.emplace(split_prepare(
        graph_, through_prepare ? KeepConstants::in_prepare : KeepConstants::in_main));
    TRY_STATUS(run_rows(split_->main, closing_pipeline(), ""));
    if (!split_->prepare.outputs().empty()) {
      TRY_STATUS(run_rows(split_->prepare, closing_pipeline(), "prepare_"));
    }
    report_.seconds.passes = seconds_since(start);
    return ok();
  }

  // ---- planning and source ----

  Status plan() {
    const auto start = Clock::now();
    stage("codegen", 0.1);
    TRY_STATUS(check_dtypes(split_->main));
    TRY_STATUS(check_dtypes(split_->prepare));
    main_ = plan_program(std::move(split_->main), split_->first_prepared, "");
    has_prepare_ = !split_->prepare.outputs().empty();
    if (has_prepare_) {
      prepare_ = plan_program(std::move(split_->prepare), split_->constants.size(), "prepare_");
    }
    weight_bytes_ = static_cast<uint64_t>(place_constants(main_, Placed::all));
    report_.kernels = main_.kernels.size();
    report_.steps = main_.steps.size();
    report_.left = take_census(main_.graph, split_->first_prepared);
    MemoryCensus memory = sample_memory(main_);
    report_.memory = std::move(memory.samples);
    report_.workspace = to_text(memory.alive);
    for (const PlannedKernel& kernel : main_.kernels) {
      report_.kernel_records.push_back({kernel.name, 0, kernel.provenance});
    }
    count_steps(main_);
    for (const ProgramPlan& body : main_.bodies) count_steps(body);
    report_.seconds.codegen = seconds_since(start);
    return ok();
  }

  void count_steps(const ProgramPlan& plan) {
    for (const PlannedStep& step : plan.steps) {
      const bool has_kernel = step.routine == nullptr && step.bodies.empty();
      if (has_kernel) ++report_.kernel_records[step.kernel].steps;
    }
  }

  /// Element types that generated code can hold, of inputs and of all that nodes compute.
  Status check_dtypes(const Graph& graph) const {
    for (const GraphInput& input : graph.inputs()) TRY_STATUS(check_dtype(graph, input.value));
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      for (ValueId value : node.outputs) TRY_STATUS(check_dtype(graph, value));
      TRY_STATUS(check_packed(graph, node));
      for (const GraphRef& body : ops::bodies_of(node.op)) {
        TRY_STATUS(check_dtypes(*body));
      }
    }
    return ok();
  }

  static Status check_dtype(const Graph& graph, ValueId value) {
    const Type* type = &graph.type(value);
    while (type->is_container()) type = type->container.element.get();
    if (!type->is_tensor()) return ok();
    const DType dtype = type->tensor.dtype;
    if (dtype == DType::str || dtype == DType::b8 || is_int(dtype) || is_float(dtype)) return ok();
    return unsupported("value '", graph.value(value).name, "': cpu code for elements of type ",
                       dtype, " is not there yet");
  }

  /// Elements that share bytes are moved by kernels, not by routines, which copy whole bytes.
  static Status check_packed(const Graph& graph, const Node& node) {
    const auto expect_bytes = [&](ValueId value) -> Status {
      if (!value.valid() || !graph.type(value).is_tensor()) return ok();
      const DType dtype = graph.tensor(value).dtype;
      if (!is_packed(dtype)) return ok();
      return unsupported(node.op.name(), " of '", graph.value(value).name, "': elements of type ",
                         dtype, " share bytes, which it does not take apart yet");
    };
    if (const auto* loop = node.op.as<ops::Loop>()) {
      for (size_t k = loop->carried_count(); k < node.outputs.size(); ++k) {
        TRY_STATUS(expect_bytes(node.outputs[k]));
      }
    }
    if (node.op.def().routine == nullptr || node.op.is<ops::Bitcast>()) return ok();
    for (const ValueId value : node.inputs) TRY_STATUS(expect_bytes(value));
    return ok();
  }

  // ---- the model's description ----

  WeightsKind weights_kind() const {
    if (weight_bytes_ == 0) return WeightsKind::none;
    switch (options_.weights) {
      case WeightsChoice::embedded:
        return WeightsKind::embedded;
      case WeightsChoice::separate:
        return WeightsKind::separate;
      case WeightsChoice::stripped:
        // What is all held in the artefact needs no files beside it.
        return has_prepare_ ? WeightsKind::stripped : WeightsKind::embedded;
      case WeightsChoice::automatic:
        break;
    }
    return weight_bytes_ <= kMostEmbedded ? WeightsKind::embedded : WeightsKind::separate;
  }

  std::filesystem::path side_file() const {
    auto path = output_;
    path += ".weights";
    return path;
  }

  /// Everything that model.cc says; the hash of the weights, known last, is not among it.
  Status describe() {
    const auto start = Clock::now();
    model_.name = main_.graph.name;
    model_.hash = options_.model_hash;
    model_.toolchain = options_.toolchain.version;
    model_.levels = options_.target.levels;
    model_.main = &main_;
    model_.metadata = main_.graph.metadata;
    model_.weights.kind = weights_kind();
    model_.weights.bytes = weight_bytes_;
    if (model_.weights.kind == WeightsKind::separate) {
      model_.weights.file_name = side_file().filename().string();
    }
    if (model_.weights.kind == WeightsKind::stripped) TRY_STATUS(strip());
    keeps_prepare_ =
        has_prepare_ && (options_.updatable || model_.weights.kind == WeightsKind::stripped);
    if (keeps_prepare_) {
      place_originals();
      model_.prepare = &prepare_;
      describe_constants();
    }
    if (model_.weights.kind != WeightsKind::none) report_.weight_bytes = model_.weights.bytes;
    kernel_sources_ = write_kernels(main_, "", tiles());
    if (keeps_prepare_) {
      for (SourceFile& file : write_kernels(prepare_, "prepare_", tiles())) {
        kernel_sources_.push_back(std::move(file));
      }
    }
    model_source_ = write_model(model_);
    report_.seconds.codegen += seconds_since(start) - report_.seconds.write;
    return keep_sources();
  }

  /// Records where the original constants lie; the artefact prepares them again when it is opened.
  /// What the model's files do not hold as plain bytes travels in front of the weights that the
  /// artefact makes: constants that kernels read as they are, and originals in other encodings.
  Status strip() {
    const auto start = Clock::now();
    if (!options_.source_of) {
      return invalid_argument("--weights stripped: the model was not read from a file");
    }
    int64_t end = place_constants(prepare_, Placed::held, place_constants(main_, Placed::held));
    std::map<std::filesystem::path, uint32_t> files;
    for (const ConstantData& c : split_->constants) {
      const auto source = options_.source_of(c);
      original_offsets_.push_back(source ? -1 : end);
      constant_sources_.push_back({0, 0});
      if (!source) {
        end = aligned(end + static_cast<int64_t>(c.bytes.size()));
        continue;
      }
      const auto [at, fresh] =
          files.try_emplace(source->file, static_cast<uint32_t>(model_.sources.size()));
      if (fresh) {
        TRY(const MappedFile mapped, MappedFile::open(source->file));
        model_.sources.push_back(
            {source->file.filename().string(), mapped.size_bytes(), hash_bytes(mapped.bytes())});
      }
      constant_sources_.back() = {at->second + 1, source->offset};
    }
    model_.weights.embedded_bytes = static_cast<uint64_t>(end);
    weight_bytes_ = static_cast<uint64_t>(place_constants(main_, Placed::prepared, end));
    model_.weights.bytes = weight_bytes_;
    report_.seconds.write += seconds_since(start);
    return ok();
  }

  /// Original constants, and those of the program that prepares them, travel behind the prepared
  /// ones, so that replacing one can prepare all again.
  void place_originals() {
    if (model_.weights.kind == WeightsKind::stripped) return;
    auto end = static_cast<int64_t>(weight_bytes_);
    for (const ConstantData& c : split_->constants) {
      original_offsets_.push_back(end);
      end = aligned(end + static_cast<int64_t>(c.bytes.size()));
    }
    model_.weights.bytes = static_cast<uint64_t>(place_constants(prepare_, Placed::held, end));
  }

  /// Constants that may be replaced, or read again, under their original names.
  void describe_constants() {
    for (size_t k = 0; k < split_->constants.size(); ++k) {
      const ConstantData& c = split_->constants[k];
      ModelConstant constant;
      constant.name = prepare_.graph.inputs()[k].name;
      constant.dtype = c.dtype;
      constant.dims = c.dims;
      constant.replaceable = true;
      constant.prepare_input = static_cast<uint32_t>(k);
      if (k < constant_sources_.size()) {
        constant.source_file = constant_sources_[k].first;
        constant.source_offset = constant_sources_[k].second;
      }
      if (k < original_offsets_.size()) constant.offset = original_offsets_[k];
      model_.constants.push_back(std::move(constant));
    }
  }

  /// A source project is complete by itself.
  Tiles tiles() const {
    return options_.emit == EmitKind::source ? Tiles::in_each_unit : Tiles::linked;
  }

  Status keep_sources() const {
    if (options_.keep_source.empty()) return ok();
    std::error_code failed;
    std::filesystem::create_directories(options_.keep_source, failed);
    for (const SourceFile& file : kernel_sources_) {
      TRY_STATUS(write_atomically(options_.keep_source / file.name, file.text));
    }
    return write_atomically(options_.keep_source / model_source_.name, model_source_.text);
  }

  // ---- toolchain ----

  /// Compiles the artefact's units and the preparation program side by side.
  Status generate() {
    const auto start = Clock::now();
    stage("toolchain", 0.2);
    Jobs jobs;
    if (has_prepare_) {
      TRY_STATUS(prepare_program_.emplace(prepare_, build_in("prepare")).add_jobs(jobs));
    }
    if (options_.emit != EmitKind::source) {
      build_.emplace(build_in("main"));
      TRY_STATUS(find_custom_objects());
      const std::vector<CpuLevel>& levels = options_.target.levels;
      objects_.resize(1 + levels.size() * kernel_sources_.size() + options_.custom_sources.size());
      size_t next = 0;
      add_unit(jobs, next++, model_source_, CpuLevel::v1, Effort::light);
      for (CpuLevel level : levels) {
        for (const SourceFile& file : kernel_sources_) {
          add_unit(jobs, next++, file, level, Effort::full);
        }
      }
      for (const SourceFile& file : options_.custom_sources) {
        jobs.add(file.cost, [this, k = next++, &file]() -> Status {
          TRY(objects_[k], build_->compile_c(file));
          return ok();
        });
      }
    }
    TRY_STATUS(jobs.run(threads_));
    report_.seconds.toolchain = seconds_since(start);
    return ok();
  }

  void add_unit(Jobs& jobs, size_t object, const SourceFile& file, CpuLevel level, Effort effort) {
    jobs.add(file.cost, [this, object, &file, level, effort]() -> Status {
      TRY(objects_[object], build_->compile(file, level, effort));
      return ok();
    });
  }

  /// Objects that custom operators bring to the link.
  Status find_custom_objects() {
    for (const auto& object : options_.custom_objects) {
      std::error_code failed;
      custom_objects_.push_back(std::filesystem::absolute(object, failed));
      if (!std::filesystem::is_regular_file(custom_objects_.back(), failed)) {
        return io_error("custom operators: ", object.string(), ": no such file");
      }
      if (options_.emit == EmitKind::static_library && object.extension() == ".a") {
        return unsupported("custom operators: ", object.string(),
                           ": a static library takes objects in, no other library; link it beside");
      }
    }
    return ok();
  }

  // ---- weights ----

  /// Fills the weights where they will lie: in the file beside the artefact if they are separate.
  Status write_weights() {
    const auto start = Clock::now();
    stage("weights", 0.7);
    ModelWeights& weights = model_.weights;
    if (weights.kind == WeightsKind::none) return ok();
    weights_path_ = directory_ / "weights.bin";
    auto form = WeightsFile::Form::plain;
    if (weights.kind == WeightsKind::separate && options_.emit != EmitKind::source) {
      TRY(AtomicFile file, AtomicFile::create(side_file()));
      side_file_.emplace(std::move(file));
      weights_path_ = side_file_->temporary_path();
      form = WeightsFile::Form::side;
    }
    TRY(WeightsFile file, WeightsFile::create(weights_path_, weights.bytes, form));
    const auto hold = [&](const ProgramPlan& plan) {
      for (const PlannedConstant& c : plan.constants) {
        if (c.prepared < 0) std::ranges::copy(c.data.bytes, file.data() + c.offset);
      }
    };
    hold(main_);
    if (keeps_prepare_) hold(prepare_);
    if (has_prepare_) {
      std::vector<std::byte*> outputs(prepare_.graph.outputs().size());
      for (const PlannedConstant& c : main_.constants) {
        if (c.prepared >= 0) outputs[static_cast<size_t>(c.prepared)] = file.data() + c.offset;
      }
      TRY_STATUS(prepare_program_->run(split_->constants, outputs));
    }
    for (size_t k = 0; k < original_offsets_.size(); ++k) {
      const auto bytes = split_->constants[k].bytes;
      if (original_offsets_[k] >= 0) std::ranges::copy(bytes, file.data() + original_offsets_[k]);
    }
    weights.hash = file.hash();
    file.seal(weights.hash);
    if (weights.kind == WeightsKind::stripped && weights.embedded_bytes > 0) {
      embedded_path_ = directory_ / "embedded.bin";
      TRY_STATUS(write_atomically(embedded_path_,
                                  std::span<const std::byte>(file.data(), weights.embedded_bytes)));
    } else if (weights.kind == WeightsKind::embedded) {
      embedded_path_ = weights_path_;
    }
    report_.seconds.write += seconds_since(start);
    return ok();
  }

  // ---- the artefact ----

  Status finish() {
    const auto start = Clock::now();
    stage("link", 0.8);
    TRY_STATUS(options_.emit == EmitKind::source ? make_project() : make_library());
    report_.seconds.write += seconds_since(start);
    stage("done", 1);
    return ok();
  }

  Status make_project() {
    if (!options_.custom_sources.empty() || !options_.custom_objects.empty()) {
      return unsupported(
          "--emit source: custom operators that are C functions are not written "
          "into the project yet");
    }
    const auto& weights = embedded_path_.empty() ? weights_path_ : embedded_path_;
    return write_project(output_, model_, model_source_, kernel_sources_, weights,
                         options_.toolchain);
  }

  Status make_library() {
    std::vector<std::filesystem::path> objects = objects_;
    TRY_STATUS(build_->add_tiles(options_.target.levels, objects));
    objects.insert(objects.end(), custom_objects_.begin(), custom_objects_.end());
    for (const auto& object : objects) {
      std::error_code ignored;
      report_.code_bytes += std::filesystem::file_size(object, ignored);
    }
    if (model_.weights.kind != WeightsKind::none) {
      TRY(objects.emplace_back(), build_->weights(model_.weights.hash, embedded_path_));
    }
    TRY(AtomicFile made, AtomicFile::create(output_));
    // The linker runs in a folder of its own.
    const auto target = std::filesystem::absolute(made.temporary_path());
    if (options_.emit == EmitKind::static_library) {
      TRY_STATUS(build_->archive(objects, static_entry(output_), target));
    } else {
      TRY_STATUS(build_->link(objects, target));
    }
    if (side_file_) TRY_STATUS(side_file_->commit());
    TRY_STATUS(made.commit());
    if (options_.emit == EmitKind::static_library) TRY_STATUS(write_header(output_));
    return ok();
  }

  Graph graph_;
  std::filesystem::path output_;
  const CompileOptions& options_;
  int threads_;
  std::optional<TempDir> temporary_;
  std::filesystem::path directory_;
  CompileReport report_;
  std::optional<SplitGraph> split_;
  ProgramPlan main_, prepare_;
  bool has_prepare_ = false;
  bool keeps_prepare_ = false;  // in the artefact
  uint64_t weight_bytes_ = 0;   // of what kernels read, and of what lies in front of it
  std::vector<std::pair<uint32_t, uint64_t>> constant_sources_;
  std::vector<int64_t> original_offsets_;
  ModelDescription model_;
  SourceFile model_source_;
  std::vector<SourceFile> kernel_sources_;
  std::optional<PrepareProgram> prepare_program_;
  std::optional<ObjectBuilder> build_;
  std::vector<std::filesystem::path> objects_, custom_objects_;
  std::filesystem::path weights_path_;
  std::filesystem::path embedded_path_;  // the part of the weights that the artefact holds
  std::optional<AtomicFile> side_file_;
};

}  // namespace

std::optional<ConstantSource> find_source(std::span<const ModelFile> files,
                                          const ConstantData& data) {
  for (const ModelFile& file : files) {
    const std::byte* first = file.bytes.data();
    const std::byte* at = data.bytes.data();
    if (std::less_equal<>()(first, at) &&
        std::less_equal<>()(at + data.bytes.size(), first + file.bytes.size())) {
      return ConstantSource{file.path, static_cast<uint64_t>(at - first)};
    }
  }
  return std::nullopt;
}

Result<CompileReport> plan_compilation(Graph graph, const CompileOptions& options) {
  return Compilation(std::move(graph), {}, options).run_to_plan();
}

Result<CompileReport> compile(Graph graph, const std::filesystem::path& output,
                              const CompileOptions& options) {
  const auto start = Clock::now();
  CompileReport report;
  auto working = start;
  {
    Compilation compilation(std::move(graph), output, options);
    TRY(report, compilation.run());
    working = Clock::now();
  }
  // Giving back what held the weights takes a while when they are large.
  report.seconds.write += seconds_since(working);
  report.seconds.total = seconds_since(start);
  return report;
}

}  // namespace ingot
