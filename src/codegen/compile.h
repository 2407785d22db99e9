// codegen/compile.h: graph in, artefact out.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/census.h"
#include "codegen/toolchain.h"
#include "frontend/import.h"
#include "ir/graph.h"
#include "passes/pass.h"
#include "target/target.h"

namespace ingot {

enum class EmitKind : uint8_t {
  shared_library,
  static_library,  // OUT and, beside it, OUT's stem + ".h"
  source,          // a folder with a CMakeLists.txt
};

enum class WeightsChoice : uint8_t {
  automatic,  // embedded up to 64 MiB, then separate
  embedded,
  separate,  // OUT + ".weights" beside the artefact
  stripped,  // read again from the model's own files
};

/// Where the bytes of a constant lie in the model's files, for stripped weights.
struct ConstantSource {
  std::filesystem::path file;
  uint64_t offset = 0;
};

/// Where a constant lies in the model's files; constants are slices of mapped files, so its address
/// tells.
std::optional<ConstantSource> find_source(std::span<const ModelFile> files,
                                          const ConstantData& data);

struct CompileOptions {
  Target target;
  EmitKind emit = EmitKind::shared_library;
  WeightsChoice weights = WeightsChoice::automatic;
  bool updatable = false;  // keep the preparation program and the original constants
  int threads = 0;         // compile jobs; 0: as many as there are processors
  Toolchain toolchain;
  std::filesystem::path cache;        // of objects; empty: none
  std::filesystem::path keep_source;  // the generated sources are copied here
  std::set<std::string, std::less<>> disabled_passes;
  std::set<std::string, std::less<>> dump_after;  // names of passes
  std::filesystem::path dump_directory;
  bool verify = false;     // the graph after every pass; and warnings of the C++ compiler fail
  std::string model_hash;  // hex, of the model file
  std::function<std::optional<ConstantSource>(const ConstantData&)> source_of;  // stripped
  std::vector<SourceFile> custom_sources;             // C units of custom operators
  std::vector<std::filesystem::path> custom_objects;  // objects and static libraries of them
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(std::string_view stage, double fraction)> progress;
};

/// Wall seconds by stage.
struct CompileSeconds {
  double passes = 0, codegen = 0, toolchain = 0, write = 0, total = 0;
};

/// A kernel of the artefact.
struct KernelRecord {
  std::string name;
  size_t steps = 0;                     // that run it
  std::vector<std::string> provenance;  // the model's nodes it computes
};

/// What was made.
struct CompileReport {
  std::filesystem::path output;
  CompileSeconds seconds;
  size_t kernels = 0;  // bodies
  size_t steps = 0;
  uint64_t weight_bytes = 0;
  uint64_t code_bytes = 0;  // of all levels' objects, text sections included
  std::string workspace;    // bytes alive at once (MemoryCensus::alive) over the dims
  std::vector<PassRecord> passes;
  std::vector<KernelRecord> kernel_records;
  Census read, left;                 // of the graph as it came, and as it is run
  std::vector<MemorySample> memory;  // what the arena's values take
  std::vector<std::string> notes;    // what was approximated
};

/// The report of a compilation up to its plan, without a toolchain: nothing is written.
/// Errors: unsupported (all reasons).
Result<CompileReport> plan_compilation(Graph graph, const CompileOptions& options);

/// Compiles an imported graph. Nothing remains at `output` after an error.
/// Errors: unsupported (all reasons), toolchain, io, resource_exhausted, cancelled.
Result<CompileReport> compile(Graph graph, const std::filesystem::path& output,
                              const CompileOptions& options);

}  // namespace ingot
