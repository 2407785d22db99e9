// codegen/model_writer.h: planned programs as the C++ sources of an artefact.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "codegen/program.h"
#include "target/target.h"

namespace ingot {

/// A file of generated source.
struct SourceFile {
  std::string name;
  std::string text;
  double cost = 0;  // of compiling it, in about milliseconds
};

/// A constant of the model as its author knows it; mirrors artifact::Constant.
struct ModelConstant {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  bool replaceable = false;
  uint32_t prepare_input = 0;
  int64_t offset = -1;       // of its original bytes in the weights
  uint32_t source_file = 0;  // 1 + number, stripped
  uint64_t source_offset = 0;
};

enum class WeightsKind : uint8_t { none, embedded, separate, stripped };

struct ModelWeights {
  WeightsKind kind = WeightsKind::none;
  uint64_t bytes = 0;
  std::string file_name;        // separate
  Hash128 hash;                 // not in the text: weights_assembly() defines it
  uint64_t embedded_bytes = 0;  // stripped: kept bytes at the beginning
};

struct ModelSource {
  std::string name;
  uint64_t bytes = 0;
  Hash128 hash;
};

/// Everything that model.cc says.
struct ModelDescription {
  std::string name;
  std::string hash;
  std::string toolchain;
  std::vector<CpuLevel> levels;  // best first
  const ProgramPlan* main = nullptr;
  const ProgramPlan* prepare = nullptr;  // kept in the artefact, or null
  std::vector<ModelConstant> constants;
  std::vector<std::pair<std::string, std::string>> metadata;
  ModelWeights weights;
  std::vector<ModelSource> sources;
};

/// Where the bodies of the matrix product's tiles come from.
enum class Tiles : uint8_t {
  in_each_unit,  // the unit is complete by itself
  linked,        // from the objects that travel inside the compiler
};

/// Kernels of a program as translation units that compile once per level. Each holds those headers
/// of the prelude that it needs.
std::vector<SourceFile> write_kernels(const ProgramPlan& plan, std::string_view prefix,
                                      Tiles tiles);

/// The unit that ties kernels and runtime together.
SourceFile write_model(const ModelDescription& model);

/// Kernels and model in as few units as it takes, for a program that is compiled for one level.
std::vector<SourceFile> write_whole(const ModelDescription& model, std::string_view prefix);

/// A header of the compiler's resources for pasting: without what only makes sense in a file of its
/// own.
std::string pasted(std::string_view name);

/// What stands in front of and behind the kernels of a translation unit: the headers that `kernels`
/// use, and namespaces.
std::string kernel_prologue(std::string_view kernels, Tiles tiles);
std::string kernel_epilogue();

}  // namespace ingot
