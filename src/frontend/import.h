// frontend/import.h: reads a model file into a graph: the one door, whatever the format.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace ingot {

/// A node of the model, for whoever brought its operator.
struct CustomNode {
  std::string_view domain;  // empty: ai.onnx
  std::string_view op_type;
  std::string name;                             // as messages and provenance call it
  std::vector<ValueId> inputs;                  // all there
  std::vector<std::string_view> outputs;        // names
  std::map<std::string, Attribute> attributes;  // numbers, texts and lists of them
};
/// Adds to the graph what a node stands for; its outputs. Errors: unsupported makes the node a
/// placeholder, any other ends the import.
using BuildCustom = std::function<Result<std::vector<ValueId>>(Graph&, const CustomNode&)>;

/// What the caller knows beyond the file.
struct ImportOptions {
  /// Ranges of symbolic dims by name ("batch", or "INPUT.AXIS" for one without a name); a range of
  /// one number pins the dim.
  std::map<std::string, Range> dims;
  /// Dims of inputs by name; an axis without a number stays as the model says.
  std::map<std::string, std::vector<std::optional<int64_t>>> shapes;
  /// Inputs that are constants from now on, by name.
  std::map<std::string, ConstantData> constants;
  /// Values of the model, by name, that become outputs behind its own.
  std::vector<std::string> outputs;
  /// Operators that the format's reader does not know, by domain and name. They come before its own
  /// operators, behind the model's functions.
  std::map<std::pair<std::string, std::string>, BuildCustom> custom;
  /// Where external data of a model that came as bytes lies; for files it is their folder.
  std::filesystem::path folder;
};

/// A node of the model that nothing can be built for, and why.
struct UnimplementedNode {
  std::string node;
  std::string op_type;
  std::string domain;
  int64_t opset = 0;
  std::string reason;
};

/// How often an operator occurs.
struct OperatorCount {
  std::string domain;  // empty: ai.onnx
  std::string op_type;
  int64_t opset = 0;
  int64_t count = 0;
};

/// What is in a model, for people.
struct ModelSummary {
  std::string format;                                   // "ONNX, IR 8"
  std::string producer;                                 // "pytorch 2.1"
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain, version
  std::vector<std::string> inputs;                      // "image: f32[batch, 1, 32, 32]"
  std::vector<std::string> outputs;
  std::vector<OperatorCount> operators;  // sorted; functions are expanded
  int64_t parameters = 0;                // elements of the initializers
  int64_t parameter_bytes = 0;
  int64_t functions = 0;  // model-local
  std::vector<std::string> warnings;
  std::vector<UnimplementedNode> unsupported;  // every one, not the first alone
};

/// A file that constants of the graph may be slices of; `owner` keeps it mapped.
struct ModelFile {
  std::filesystem::path path;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

struct ImportedModel {
  Graph graph;
  ModelSummary summary;
  std::vector<ModelFile> files;  // the model's own first; none for a model in memory
};

/// Reads the model at `path`. Nodes that nothing can be built for become `unimplemented`, so that
/// all are known at once; legalisation refuses them. Constants stay mapped, not copied.
/// Errors: io (missing, unreadable, a folder), invalid_model (damaged or contradictory, or another
/// format, naming which), invalid_argument (options that do not fit the model), unsupported.
Result<ImportedModel> import_model_with_summary(const std::filesystem::path& path,
                                                const ImportOptions& options = {});
Result<Graph> import_model(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same for a model in memory, which is copied. `name` stands in messages.
Result<ImportedModel> import_model_bytes(std::span<const std::byte> bytes, std::string_view name,
                                         const ImportOptions& options = {});

/// The summary alone.
Result<ModelSummary> summarize_model(const std::filesystem::path& path,
                                     const ImportOptions& options = {});

/// Text of a summary, as `ingot inspect` prints it.
std::string to_text(const ModelSummary& summary);

}  // namespace ingot
