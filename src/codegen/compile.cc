// codegen/compile.cc: the way from a graph to an artefact, stage by stage.
#include "codegen/compile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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
#include "codegen/program.h"
#include "codegen/weights_file.h"
#include "ingot/ingot.h"
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

/// Compiles many units at once.
class Jobs {
 public:
  void add(SourceFile source, CpuLevel level) { jobs_.push_back({std::move(source), level, {}}); }

  /// Paths of the objects, in the order of add().
  Result<std::vector<std::filesystem::path>> run(const ObjectBuilder& builder, int threads) {
    std::vector<std::optional<Error>> errors(jobs_.size());
    parallel_for_each(jobs_.size(), threads, [&](size_t k) {
      auto object = builder.compile(jobs_[k].source, jobs_[k].level);
      if (object) {
        jobs_[k].object = *object;
      } else {
        errors[k] = object.error();
      }
    });
    std::vector<std::filesystem::path> objects;
    for (size_t k = 0; k < jobs_.size(); ++k) {
      if (errors[k]) return *errors[k];
      objects.push_back(jobs_[k].object);
    }
    return objects;
  }

 private:
  struct Job {
    SourceFile source;
    CpuLevel level;
    std::filesystem::path object;
  };
  std::vector<Job> jobs_;
};

/// A library of ours that this process opened, and closes.
class OpenLibrary {
 public:
  static Result<OpenLibrary> open(const std::filesystem::path& path) {
    OpenLibrary library;
    library.handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ == nullptr) return toolchain_error("preparing weights: ", ::dlerror());
    const auto entry =
        reinterpret_cast<const ingot_model_api* (*)()>(::dlsym(library.handle_, "ingot_model_v1"));
    if (entry == nullptr) return internal_error("preparing weights: no entry point");
    library.api_ = entry();
    if (library.api_->open(nullptr, &library.model_) != INGOT_OK) {
      return internal_error("preparing weights: ", library.api_->last_error());
    }
    return library;
  }
  OpenLibrary(OpenLibrary&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)),
        api_(other.api_),
        model_(std::exchange(other.model_, nullptr)) {}
  OpenLibrary& operator=(OpenLibrary&&) = delete;
  ~OpenLibrary() {
    if (model_ != nullptr) api_->close(model_);
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  const ingot_model_api& api() const { return *api_; }
  ingot_model* model() const { return model_; }

 private:
  OpenLibrary() = default;
  void* handle_ = nullptr;
  const ingot_model_api* api_ = nullptr;
  ingot_model* model_ = nullptr;
};

class Compilation {
 public:
  Compilation(Graph graph, std::filesystem::path output, const CompileOptions& options)
      : graph_(std::move(graph)),
        output_(std::move(output)),
        options_(options),
        threads_(options.threads > 0 ? options.threads : available_cpus()) {}

  Result<CompileReport> run() {
    const auto start = Clock::now();
    report_.output = output_;
    // What cannot be written is told before the work, not after it.
    if (options_.emit != EmitKind::source) TRY_STATUS(check_writable(output_));
    TRY(TempDir directory, TempDir::create());
    directory_ = directory.path();
    TRY_STATUS(optimise());
    TRY_STATUS(plan());
    TRY_STATUS(generate());
    TRY_STATUS(finish());
    report_.seconds.total = seconds_since(start);
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

  ObjectBuilder builder(std::string_view folder) const {
    const auto directory = directory_ / folder;
    std::filesystem::create_directories(directory);
    return ObjectBuilder({options_.toolchain, directory, options_.cache, options_.cancel});
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
    weight_bytes_ = static_cast<uint64_t>(place_constants(main_));
    report_.kernels = main_.kernels.size();
    report_.steps = main_.steps.size();
    for (const PlannedKernel& kernel : main_.kernels) report_.kernel_names.push_back(kernel.name);
    report_.workspace = workspace_text();
    report_.seconds.codegen = seconds_since(start);
    return ok();
  }

  /// Element types that generated code can hold, of inputs and of all that nodes compute.
  Status check_dtypes(const Graph& graph) const {
    for (const GraphInput& input : graph.inputs()) TRY_STATUS(check_dtype(graph, input.value));
    for (NodeId id : graph.nodes()) {
      for (ValueId value : graph.node(id).outputs) TRY_STATUS(check_dtype(graph, value));
      for (const GraphRef& body : ops::bodies_of(graph.node(id).op)) {
        TRY_STATUS(check_dtypes(*body));
      }
    }
    return ok();
  }

  static Status check_dtype(const Graph& graph, ValueId value) {
    if (!graph.type(value).is_tensor()) return ok();
    const DType dtype = graph.tensor(value).dtype;
    const bool held = dtype == DType::b8 || (is_int(dtype) && bits(dtype) >= 8) ||
                      dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 ||
                      dtype == DType::bf16;
    if (held) return ok();
    return unsupported("value '", graph.value(value).name, "': cpu code for elements of type ",
                       dtype, " is not there yet");
  }

  /// The arena's values, added up without sharing: an upper bound as a function of the dims.
  std::string workspace_text() const {
    Expr sum = main_.graph.pool().integer(0);
    for (const PlannedValue& value : main_.values) {
      const bool dependent =
          value.bytes && std::ranges::any_of(symbols_of(value.bytes), [&](uint32_t s) {
            return main_.graph.pool().symbol_info(SymbolId(s)).data_dependent;
          });
      if (value.kind == PlannedValue::Kind::arena && value.bytes && !dependent) {
        sum = sum + value.bytes;
      }
    }
    return to_text(sum);
  }

  ModelDescription describe() const {
    ModelDescription model;
    model.name = main_.graph.name;
    model.hash = options_.model_hash;
    model.toolchain = options_.toolchain.version;
    model.levels = options_.target.levels;
    model.main = &main_;
    model.metadata = main_.graph.metadata;
    return model;
  }

  /// The preparation program as a library of its own, for this machine.
  Result<std::filesystem::path> build_prepare() {
    ModelDescription model;
    model.name = "prepare";
    model.toolchain = options_.toolchain.version;
    model.levels = {host_level()};
    model.main = &prepare_;
    const int64_t bytes = place_constants(prepare_);
    ObjectBuilder build = builder("prepare");
    Jobs jobs;
    for (SourceFile& file : write_kernels(prepare_, "prepare_", Tiles::linked)) {
      jobs.add(std::move(file), host_level());
    }
    std::vector<std::filesystem::path> extra;
    if (bytes > 0) {
      const auto path = directory_ / "prepare.bin";
      TRY(WeightsFile file, WeightsFile::create(path, static_cast<uint64_t>(bytes)));
      for (const PlannedConstant& c : prepare_.constants) copy_constant(file, c);
      model.weights = {WeightsKind::embedded, static_cast<uint64_t>(bytes), "", file.hash(), 0};
      TRY(const auto object, build.embed(path));
      extra.push_back(object);
    }
    jobs.add(write_model(model), CpuLevel::v1);
    TRY(auto objects, jobs.run(build, std::max(threads_ / 2, 1)));
    objects.insert(objects.end(), extra.begin(), extra.end());
    const auto library = directory_ / "prepare.so";
    TRY_STATUS(build.add_tiles({host_level()}, objects));
    TRY_STATUS(build.link(objects, library));
    return library;
  }

  /// A source project is complete by itself.
  Tiles tiles() const {
    return options_.emit == EmitKind::source ? Tiles::in_each_unit : Tiles::linked;
  }

  static void copy_constant(WeightsFile& file, const PlannedConstant& c) {
    std::memcpy(file.data() + c.offset, c.data.bytes.data(), c.data.bytes.size());
  }

  /// Runs the preparation program into the weights.
  Status run_prepare(const std::filesystem::path& library, WeightsFile& weights) {
    TRY(const OpenLibrary prepare, OpenLibrary::open(library));
    std::vector<std::vector<int64_t>> dims;
    for (const ConstantData& c : split_->constants) dims.push_back(c.dims);
    std::vector<ingot_tensor> inputs;
    for (size_t k = 0; k < split_->constants.size(); ++k) {
      const ConstantData& c = split_->constants[k];
      ingot_tensor tensor = INGOT_INIT(ingot_tensor);
      tensor.dtype = info(c.dtype).onnx;
      tensor.rank = static_cast<int32_t>(dims[k].size());
      tensor.dims = dims[k].data();
      tensor.data = const_cast<std::byte*>(c.bytes.data());
      inputs.push_back(tensor);
    }
    // Constants of a model file may lie at any address; kernels want them aligned to an element.
    std::vector<std::vector<std::byte>> aligned;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto address = reinterpret_cast<uintptr_t>(inputs[k].data);
      if (address % 8 == 0) continue;
      const auto bytes = split_->constants[k].bytes;
      aligned.emplace_back(bytes.begin(), bytes.end());
      inputs[k].data = aligned.back().data();
    }
    std::vector<ingot_tensor> outputs;
    std::vector<std::vector<int64_t>> output_dims;
    for (const GraphOutput& output : prepare_.graph.outputs()) {
      output_dims.push_back(*static_dims(prepare_.graph.tensor(output.value)));
    }
    for (size_t k = 0; k < output_dims.size(); ++k) {
      ingot_tensor tensor = INGOT_INIT(ingot_tensor);
      tensor.dtype = info(prepare_.graph.tensor(prepare_.graph.outputs()[k].value).dtype).onnx;
      tensor.rank = static_cast<int32_t>(output_dims[k].size());
      tensor.dims = output_dims[k].data();
      outputs.push_back(tensor);
    }
    for (const PlannedConstant& c : main_.constants) {
      if (c.prepared >= 0) {
        outputs[static_cast<size_t>(c.prepared)].data = weights.data() + c.offset;
      }
    }
    const ingot_status status =
        prepare.api().run(prepare.model(), inputs.data(), static_cast<uint32_t>(inputs.size()),
                          outputs.data(), static_cast<uint32_t>(outputs.size()), nullptr);
    if (status != INGOT_OK) {
      return internal_error("preparing weights: ", prepare.api().last_error());
    }
    return ok();
  }

  // ---- toolchain ----

  Status generate() {
    const auto start = Clock::now();
    stage("toolchain", 0.2);
    std::filesystem::path prepare_library;
    std::optional<Error> prepare_failed, main_failed;
    std::vector<std::filesystem::path> objects;
    kernel_sources_ = write_kernels(main_, "", tiles());
    const bool emits_objects = options_.emit != EmitKind::source;
    // The two halves compile side by side.
    parallel_for_each(2, threads_, [&](size_t half) {
      if (half == 0 && has_prepare_) {
        auto built = build_prepare();
        if (built) {
          prepare_library = *built;
        } else {
          prepare_failed = built.error();
        }
      }
      if (half == 1 && emits_objects) {
        Jobs jobs;
        for (CpuLevel level : options_.target.levels) {
          for (const SourceFile& file : kernel_sources_) jobs.add(file, level);
        }
        auto made = jobs.run(builder("main"), has_prepare_ ? std::max(threads_ / 2, 1) : threads_);
        if (made) {
          objects = *made;
        } else {
          main_failed = made.error();
        }
      }
    });
    if (prepare_failed) return *prepare_failed;
    if (main_failed) return *main_failed;
    objects_ = std::move(objects);
    report_.seconds.toolchain = seconds_since(start);

    const auto before_weights = Clock::now();
    stage("weights", 0.7);
    TRY_STATUS(write_weights(prepare_library));
    report_.seconds.write = seconds_since(before_weights);
    return ok();
  }

  WeightsKind weights_kind() const {
    if (weight_bytes_ == 0) return WeightsKind::none;
    switch (options_.weights) {
      case WeightsChoice::embedded:
        return WeightsKind::embedded;
      case WeightsChoice::separate:
        return WeightsKind::separate;
      case WeightsChoice::stripped:
        return WeightsKind::stripped;
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

  Status write_weights(const std::filesystem::path& prepare_library) {
    weights_ = {};
    weights_.kind = weights_kind();
    weights_.bytes = weight_bytes_;
    if (weights_.kind == WeightsKind::none) return ok();
    report_.weight_bytes = weight_bytes_;
    weights_path_ = directory_ / "weights.bin";
    TRY(WeightsFile file, WeightsFile::create(weights_path_, weight_bytes_));
    for (const PlannedConstant& c : main_.constants) {
      if (c.prepared < 0) copy_constant(file, c);
    }
    if (has_prepare_) TRY_STATUS(run_prepare(prepare_library, file));
    weights_.hash = file.hash();
    if (weights_.kind == WeightsKind::separate) {
      weights_.file_name = side_file().filename().string();
    }
    if (weights_.kind == WeightsKind::stripped) TRY_STATUS(strip());
    return ok();
  }

  /// Records where the original constants lie; the artefact prepares them again when it is opened.
  Status strip() {
    if (!options_.source_of) {
      return invalid_argument("--weights stripped: the model was not read from a file");
    }
    std::map<std::filesystem::path, uint32_t> files;
    for (const ConstantData& c : split_->constants) {
      const auto source = options_.source_of(c);
      if (!source) {
        return unsupported(
            "--weights stripped: a constant is not stored as plain bytes in the "
            "model's files");
      }
      const auto [at, fresh] =
          files.try_emplace(source->file, static_cast<uint32_t>(sources_.size()));
      if (fresh) {
        TRY(const MappedFile mapped, MappedFile::open(source->file));
        sources_.push_back(
            {source->file.filename().string(), mapped.size_bytes(), hash_bytes(mapped.bytes())});
      }
      constant_sources_.push_back({at->second + 1, source->offset});
    }
    return ok();
  }

  bool keeps_prepare() const {
    return has_prepare_ && (options_.updatable || weights_.kind == WeightsKind::stripped);
  }

  ModelDescription full_description() {
    ModelDescription model = describe();
    model.weights = weights_;
    model.sources = sources_;
    if (!keeps_prepare()) return model;
    model.prepare = &prepare_;
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
      if (options_.updatable && k < original_offsets_.size()) {
        constant.offset = original_offsets_[k];
      }
      model.constants.push_back(std::move(constant));
    }
    return model;
  }

  /// Original constants travel behind the prepared ones, so that replacing one can prepare all
  /// again.
  Status append_originals() {
    if (!options_.updatable || !has_prepare_ || weights_.kind == WeightsKind::stripped) return ok();
    uint64_t end = weight_bytes_;
    for (const ConstantData& c : split_->constants) {
      original_offsets_.push_back(static_cast<int64_t>(end));
      end = (end + c.bytes.size() + 63) / 64 * 64;
    }
    TRY(WeightsFile file, WeightsFile::extend(weights_path_, end));
    for (size_t k = 0; k < split_->constants.size(); ++k) {
      const auto bytes = split_->constants[k].bytes;
      std::memcpy(file.data() + original_offsets_[k], bytes.data(), bytes.size());
    }
    weights_.bytes = end;
    weights_.hash = file.hash();
    report_.weight_bytes = end;
    return ok();
  }

  Status finish() {
    const auto start = Clock::now();
    stage("link", 0.8);
    TRY_STATUS(append_originals());
    if (keeps_prepare()) place_constants(prepare_);
    const ModelDescription model = full_description();
    const SourceFile model_source = write_model(model);
    std::vector<SourceFile> prepare_sources;
    if (keeps_prepare()) prepare_sources = write_kernels(prepare_, "prepare_", tiles());
    TRY_STATUS(keep_sources(model_source, prepare_sources));
    if (options_.emit == EmitKind::source) {
      if (!options_.custom_sources.empty() || !options_.custom_objects.empty()) {
        return unsupported(
            "--emit source: custom operators that are C functions are not written "
            "into the project yet");
      }
      std::vector<SourceFile> all = kernel_sources_;
      all.insert(all.end(), prepare_sources.begin(), prepare_sources.end());
      TRY_STATUS(
          write_project(output_, model, model_source, all, weights_path_, options_.toolchain));
      report_.seconds.write += seconds_since(start);
      return ok();
    }
    const ObjectBuilder build = builder("main");
    TRY(const auto custom, custom_objects(build));
    Jobs jobs;
    jobs.add(model_source, CpuLevel::v1);
    for (CpuLevel level : options_.target.levels) {
      for (const SourceFile& file : prepare_sources) jobs.add(file, level);
    }
    TRY(auto objects, jobs.run(build, threads_));
    objects.insert(objects.end(), objects_.begin(), objects_.end());
    TRY_STATUS(build.add_tiles(options_.target.levels, objects));
    objects.insert(objects.end(), custom.begin(), custom.end());
    report_.seconds.toolchain += seconds_since(start);

    const auto before_link = Clock::now();
    for (const auto& object : objects) {
      std::error_code ignored;
      report_.code_bytes += std::filesystem::file_size(object, ignored);
    }
    if (weights_.kind == WeightsKind::embedded) {
      TRY(const auto object, build.embed(weights_path_));
      objects.push_back(object);
    }
    TRY(AtomicFile made, AtomicFile::create(output_));
    // The linker runs in a folder of its own.
    const auto target = std::filesystem::absolute(made.temporary_path());
    if (options_.emit == EmitKind::static_library) {
      TRY_STATUS(build.archive(objects, target));
    } else {
      TRY_STATUS(build.link(objects, target));
    }
    if (weights_.kind == WeightsKind::separate) {
      TRY_STATUS(write_side_weights(side_file(), weights_path_, weights_.hash));
    }
    TRY_STATUS(made.commit());
    if (options_.emit == EmitKind::static_library) TRY_STATUS(write_header(output_));
    report_.seconds.write += seconds_since(before_link);
    stage("done", 1);
    return ok();
  }

  /// What custom operators bring to the link.
  Result<std::vector<std::filesystem::path>> custom_objects(const ObjectBuilder& build) const {
    std::vector<std::filesystem::path> objects;
    for (const SourceFile& source : options_.custom_sources) {
      TRY(objects.emplace_back(), build.compile_c(source));
    }
    for (const auto& object : options_.custom_objects) {
      std::error_code failed;
      objects.push_back(std::filesystem::absolute(object, failed));
      if (!std::filesystem::is_regular_file(objects.back(), failed)) {
        return io_error("custom operators: ", object.string(), ": no such file");
      }
      if (options_.emit == EmitKind::static_library && object.extension() == ".a") {
        return unsupported("custom operators: ", object.string(),
                           ": a static library takes objects in, no other library; link it beside");
      }
    }
    return objects;
  }

  Status keep_sources(const SourceFile& model, const std::vector<SourceFile>& prepare) const {
    if (options_.keep_source.empty()) return ok();
    std::error_code failed;
    std::filesystem::create_directories(options_.keep_source, failed);
    for (const auto* files : {&kernel_sources_, &prepare}) {
      for (const SourceFile& file : *files) {
        TRY_STATUS(write_atomically(options_.keep_source / file.name, file.text));
      }
    }
    return write_atomically(options_.keep_source / model.name, model.text);
  }

  Graph graph_;
  std::filesystem::path output_;
  const CompileOptions& options_;
  int threads_;
  std::filesystem::path directory_;
  CompileReport report_;
  std::optional<SplitGraph> split_;
  ProgramPlan main_, prepare_;
  bool has_prepare_ = false;
  uint64_t weight_bytes_ = 0;
  ModelWeights weights_;
  std::filesystem::path weights_path_;
  std::vector<SourceFile> kernel_sources_;
  std::vector<std::filesystem::path> objects_;
  std::vector<ModelSource> sources_;
  std::vector<std::pair<uint32_t, uint64_t>> constant_sources_;
  std::vector<int64_t> original_offsets_;
};

}  // namespace

Result<CompileReport> compile(Graph graph, const std::filesystem::path& output,
                              const CompileOptions& options) {
  return Compilation(std::move(graph), output, options).run();
}

}  // namespace ingot
