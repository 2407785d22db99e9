// codegen/weights_file.h: the prepared weights of an artefact as a file that is filled in place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/result.h"

namespace ingot {

/// A file of a given size, mapped for writing, so that hundreds of megabytes of weights are never
/// anonymous memory of the compiler.
class WeightsFile {
 public:
  /// Errors: io; resource_exhausted if the disk has no room for it.
  static Result<WeightsFile> create(const std::filesystem::path& path, uint64_t bytes);
  /// Opens one that is there and makes it longer.
  static Result<WeightsFile> extend(const std::filesystem::path& path, uint64_t bytes);

  WeightsFile(WeightsFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  WeightsFile& operator=(WeightsFile&&) = delete;
  ~WeightsFile();

  std::byte* data() { return data_; }
  Hash128 hash() const { return hash_bytes({data_, bytes_}); }

 private:
  WeightsFile() = default;
  static Result<WeightsFile> map(const std::filesystem::path& path, uint64_t bytes, int flags);
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

/// Writes the weights in the form of artifact::WeightsHeader and bytes. Errors: io,
/// resource_exhausted.
Status write_side_weights(const std::filesystem::path& path, const std::filesystem::path& bytes,
                          const Hash128& hash);

}  // namespace ingot
