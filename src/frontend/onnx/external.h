// frontend/onnx/external.h: tensors' bytes that lie in files beside the model, mapped safely.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/onnx/wire.h"

namespace ingot::onnx {

/// A slice of a mapped file that `owner` keeps alive.
struct ExternalSlice {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

/// The files beside one model. A location is a relative path below the model's folder: no "..", no
/// absolute path, no symbolic link in any component, regular files only; a slice lies inside its
/// file and overlaps no slice of another tensor. Files are mapped once and never copied.
class ExternalFiles {
 public:
  /// `folder` empty: no model folder is known and every external tensor is refused.
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The `size_bytes` bytes of `tensor`. Errors: invalid_model for a bad location, offset or
  /// length, io for a file that is missing or unreadable.
  Result<ExternalSlice> slice(const TensorProto& tensor, uint64_t size_bytes);

  /// Every file that was mapped.
  std::vector<std::pair<std::filesystem::path, ExternalSlice>> mapped() const;

 private:
  struct File {
    std::shared_ptr<const void> owner;
    std::span<const std::byte> bytes;
    std::map<uint64_t, std::pair<uint64_t, std::string>> taken;  // begin -> (end, tensor)
  };
  Result<File*> open(const std::string& location);

  std::filesystem::path folder_;
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace ingot::onnx
