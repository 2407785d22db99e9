// codegen/weights_file.h: the prepared weights of an artefact as a file that is filled in place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/result.h"

namespace ingot {

/// A file of a given size, mapped for writing, so that hundreds of megabytes of weights are never
/// anonymous memory of the compiler.
class WeightsFile {
 public:
  enum class Form : uint8_t {
    plain,  // the weights alone
    side,   // artifact::WeightsHeader in front of them, which seal() fills
  };

  /// Creates or replaces the file. Errors: io; resource_exhausted if the disk has no room for it.
  static Result<WeightsFile> create(const std::filesystem::path& path, uint64_t bytes,
                                    Form form = Form::plain);

  WeightsFile(WeightsFile&& other) noexcept
      : mapped_(std::exchange(other.mapped_, {})), data_(std::exchange(other.data_, {})) {}
  WeightsFile& operator=(WeightsFile&&) = delete;
  ~WeightsFile();

  std::byte* data() { return data_.data(); }
  Hash128 hash() const { return hash_bytes(data_); }
  /// Completes a file whose weights have this hash.
  void seal(const Hash128& hash);

 private:
  WeightsFile() = default;
  std::span<std::byte> mapped_;  // the whole file
  std::span<std::byte> data_;    // its weights
};

/// Assembly that defines `ingot_weights_hash` and, unless `embedded` is empty, `ingot_weights`: the
/// bytes of that file, aligned to 4096.
std::string weights_assembly(const Hash128& hash, const std::string& embedded);

/// Writes the weights in the form of artifact::WeightsHeader and bytes. Errors: io,
/// resource_exhausted.
Status write_side_weights(const std::filesystem::path& path, const std::filesystem::path& bytes,
                          const Hash128& hash);

}  // namespace ingot
