// base/file.h: files: mapped reading, atomic writing, temporary folders. Error texts name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace ingot {

/// A read-only view of a whole file, mapped. Movable; the bytes live as long as it. A file that
/// shrinks while mapped is the one danger that cannot be reported as an Error.
class MappedFile {
 public:
  /// Errors: io if it is missing, unreadable, or not a regular file (a folder, a pipe).
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_bytes_}; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

/// The file's bytes, copied; also for files that do not know their size, as those of /proc and
/// /sys. Errors: as MappedFile::open.
Result<std::string> read_text(const std::filesystem::path& path);

/// Writes a file under a temporary name beside `path` and renames it, so that there is never half a
/// file at `path`. A file that is there is replaced; the new one is rw-r--r--. Errors: io;
/// resource_exhausted if the disk or quota is full.
Status write_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
Status write_atomically(const std::filesystem::path& path, std::string_view text);

/// Streams a file that appears at `path` only at commit(); without it nothing remains. What a
/// process that was killed left beside `path` goes when the next one writes there.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  /// Where the bytes lie until commit(), for a tool that writes the file itself.
  const std::filesystem::path& temporary_path() const { return temporary_; }
  Status commit();

 private:
  AtomicFile() = default;
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
};

/// A new folder that vanishes with everything in it when this ends; if the process is killed, when
/// the next one is made in the same place.
class TempDir {
 public:
  /// Made in the system's folder for temporary files, or in `parent`. Errors: io,
  /// resource_exhausted.
  static Result<TempDir> create(const std::filesystem::path& parent = {});

  TempDir(TempDir&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();

  const std::filesystem::path& path() const { return path_; }
  /// Leaves the folder behind.
  void keep() { path_.clear(); }

 private:
  TempDir() = default;
  std::filesystem::path path_;
  int lock_ = -1;  // the folder, opened and locked: a sign that its owner lives
};

/// The Error of a failed system call: "`path`: cannot `verb`: reason"; a full disk or quota is
/// resource_exhausted, everything else io.
Error system_error(const std::filesystem::path& path, std::string_view verb, int error_number);

}  // namespace ingot
