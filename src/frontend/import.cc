// frontend/import.cc: tells formats apart by their first bytes; reads what has a reader, names the
// others.
#include "frontend/import.h"

#include <array>

#include "base/file.h"
#include "base/text.h"
#include "frontend/onnx/import.h"

namespace ingot {
namespace {

/// Reads a model whose bytes `owner` keeps alive and whose other files lie below a folder.
using Reader = Result<ImportedModel> (*)(std::span<const std::byte> bytes,
                                         std::shared_ptr<const void> owner,
                                         const std::filesystem::path& folder,
                                         const ImportOptions& options);

/// What a file looks like by the bytes at an offset, and what reads it; none: it is refused.
struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view what;
  Reader reader = nullptr;
};

using namespace std::string_view_literals;
constexpr std::array kSignatures = {
    Signature{0,
              "\x7f"
              "ELF"sv,
              "an ELF file; a compiled model is run, not compiled again"},
    Signature{0, "PK\x03\x04"sv, "a zip archive, such as a PyTorch (.pt, .pt2) or NumPy file"},
    Signature{0, "GGUF"sv, "a GGUF file"},
    Signature{0, "\x89HDF"sv, "an HDF5 file, such as a Keras model"},
    Signature{0, "\x1f\x8b"sv, "gzip-compressed; unpack it first"},
    Signature{0, "\x28\xb5\x2f\xfd"sv, "zstd-compressed; unpack it first"},
    Signature{0, "\x80\x02"sv, "a Python pickle, such as an old PyTorch file"},
    Signature{0, "\x80\x04"sv, "a Python pickle"},
    Signature{0, "\x89PNG"sv, "a PNG picture"},
    Signature{0, "version https://git-lfs"sv, "a Git LFS pointer; run 'git lfs pull'"},
    Signature{0, "<?xml"sv, "an XML file, such as an OpenVINO model"},
    Signature{0, "<!DOCTYPE"sv, "a web page; the download went wrong"},
    Signature{0, "<html"sv, "a web page; the download went wrong"},
    Signature{0, "{"sv, "a JSON text"},
    Signature{4, "TFL3"sv, "a TensorFlow Lite model"},
    Signature{4, "ORTM"sv, "an ONNX Runtime .ort file; use the .onnx it was made from"},
    Signature{8, "{\""sv, "a safetensors file, which has weights but no graph"},
};

/// The reader of the format that a file looks like. ONNX has no signature: it is what is left.
Result<Reader> find_reader(std::string_view bytes) {
  if (bytes.empty()) return invalid_model("the file is empty");
  for (const Signature& signature : kSignatures) {
    if (bytes.size() < signature.offset ||
        !bytes.substr(signature.offset).starts_with(signature.bytes)) {
      continue;
    }
    if (signature.reader != nullptr) return signature.reader;
    return invalid_model("expected an ONNX model, got ", signature.what);
  }
  return Reader{onnx::import_onnx};
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<ImportedModel> import_model_with_summary(const std::filesystem::path& path,
                                                const ImportOptions& options) {
  TRY(MappedFile file, MappedFile::open(path));
  const auto owner = std::make_shared<const MappedFile>(std::move(file));
  const std::string name = to_comment(path.filename().string());
  TRY(const Reader reader, add_note(find_reader(owner->text()), name));
  std::filesystem::path folder = options.folder.empty() ? path.parent_path() : options.folder;
  if (folder.empty()) folder = ".";
  TRY(ImportedModel model, add_note(reader(owner->bytes(), owner, folder, options), name));
  model.files.insert(model.files.begin(), {path, owner->bytes(), owner});
  return model;
}

Result<Graph> import_model(const std::filesystem::path& path, const ImportOptions& options) {
  TRY(ImportedModel model, import_model_with_summary(path, options));
  return std::move(model.graph);
}

Result<ImportedModel> import_model_bytes(std::span<const std::byte> bytes, std::string_view name,
                                         const ImportOptions& options) {
  const std::string shown = to_comment(name);
  TRY(const Reader reader, add_note(find_reader(as_text(bytes)), shown));
  const auto owner = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return add_note(reader(*owner, owner, options.folder, options), shown);
}

Result<ModelSummary> summarize_model(const std::filesystem::path& path,
                                     const ImportOptions& options) {
  TRY(ImportedModel model, import_model_with_summary(path, options));
  return std::move(model.summary);
}

std::string to_text(const ModelSummary& summary) {
  std::string out =
      concat(summary.format, summary.producer.empty() ? "" : ", by ", summary.producer, "\n");
  for (const auto& [domain, version] : summary.opsets) {
    out += concat("opset: ", to_comment(domain), " ", version, "\n");
  }
  for (const std::string& input : summary.inputs) out += concat("input: ", input, "\n");
  for (const std::string& output : summary.outputs) out += concat("output: ", output, "\n");
  out += concat("parameters: ", summary.parameters, " (",
                format_bytes(static_cast<unsigned long long>(summary.parameter_bytes)), ")\n");
  if (summary.functions > 0) out += concat("functions: ", summary.functions, "\n");
  for (const OperatorCount& op : summary.operators) {
    const std::string domain = op.domain.empty() ? "" : to_comment(op.domain) + ".";
    out += concat("operator: ", domain, to_comment(op.op_type), " (opset ", op.opset, ") x ",
                  op.count, "\n");
  }
  for (const std::string& warning : summary.warnings) out += concat("warning: ", warning, "\n");
  for (const UnimplementedNode& node : summary.unsupported) {
    out += concat("unsupported: node '", to_comment(node.node), "' (", to_comment(node.op_type),
                  ", opset ", node.opset, "): ", node.reason, "\n");
  }
  return out;
}

}  // namespace ingot
