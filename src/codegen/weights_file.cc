// codegen/weights_file.cc: files of weights.
#include "codegen/weights_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/file.h"

namespace ingot {
namespace {

/// Mirrors artifact::WeightsHeader (artifact/program.h), which this half of the house may not
/// include; a test reads a file with the other half.
struct SideHeader {
  char magic[8] = {'I', 'N', 'G', 'O', 'T', 'W', 'T', 'S'};
  uint32_t version = 1;
  uint32_t header_bytes = 4096;
  uint64_t bytes = 0;
  uint64_t hash[2] = {0, 0};
};
constexpr size_t kHeaderBytes = 4096;

}  // namespace

Result<WeightsFile> WeightsFile::map(const std::filesystem::path& path, uint64_t bytes, int flags) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0644);
  if (fd < 0) return system_error(path, "create", errno);
  // Because a write to a hole of a full disk would be a SIGBUS, the blocks are taken first.
  const int full = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  if (full != 0) {
    ::close(fd);
    return system_error(path, "write", full);
  }
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (data == MAP_FAILED) return system_error(path, "map", error);
  WeightsFile file;
  file.data_ = static_cast<std::byte*>(data);
  file.bytes_ = bytes;
  return file;
}

Result<WeightsFile> WeightsFile::create(const std::filesystem::path& path, uint64_t bytes) {
  return map(path, bytes, O_CREAT | O_TRUNC);
}

Result<WeightsFile> WeightsFile::extend(const std::filesystem::path& path, uint64_t bytes) {
  return map(path, bytes, 0);
}

WeightsFile::~WeightsFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Status write_side_weights(const std::filesystem::path& path, const std::filesystem::path& bytes,
                          const Hash128& hash) {
  TRY(const MappedFile weights, MappedFile::open(bytes));
  TRY(AtomicFile file, AtomicFile::create(path));
  SideHeader header;
  header.bytes = weights.size_bytes();
  header.hash[0] = hash.low;
  header.hash[1] = hash.high;
  std::vector<std::byte> head(kHeaderBytes);
  std::memcpy(head.data(), &header, sizeof(header));
  TRY_STATUS(file.write(head));
  TRY_STATUS(file.write(weights.bytes()));
  return file.commit();
}

}  // namespace ingot
