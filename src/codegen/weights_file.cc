// codegen/weights_file.cc: files of weights.
#include "codegen/weights_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/file.h"
#include "base/text.h"

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

SideHeader header_of(uint64_t bytes, const Hash128& hash) {
  SideHeader header;
  header.bytes = bytes;
  header.hash[0] = hash.low;
  header.hash[1] = hash.high;
  return header;
}

}  // namespace

Result<WeightsFile> WeightsFile::create(const std::filesystem::path& path, uint64_t bytes,
                                        Form form) {
  const uint64_t head = form == Form::side ? kHeaderBytes : 0, total = head + bytes;
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return system_error(path, "create", errno);
  // Because a write to a hole of a full disk would be a SIGBUS, the blocks are taken first.
  const int full = ::posix_fallocate(fd, 0, static_cast<off_t>(total));
  if (full != 0) {
    ::close(fd);
    return system_error(path, "write", full);
  }
  void* data = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (data == MAP_FAILED) return system_error(path, "map", error);
  WeightsFile file;
  file.mapped_ = {static_cast<std::byte*>(data), total};
  file.data_ = file.mapped_.subspan(head);
  return file;
}

void WeightsFile::seal(const Hash128& hash) {
  if (data_.size() == mapped_.size()) return;
  const SideHeader header = header_of(data_.size(), hash);
  std::memcpy(mapped_.data(), &header, sizeof(header));
}

WeightsFile::~WeightsFile() {
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
}

std::string weights_assembly(const Hash128& hash, const std::string& embedded) {
  std::string text = concat(
      ".section .rodata.ingot_weights_hash,\"a\"\n.balign 8\n.globl ingot_weights_hash\n"
      ".hidden ingot_weights_hash\ningot_weights_hash:\n.quad ",
      hash.low, ", ", hash.high, "\n");
  if (!embedded.empty()) {
    // By its name a section of large data, which linkers put behind all others: code still reaches
    // by 32 bits what it refers to if the weights are over 2 GiB. To them only a pointer of 64 bits
    // refers. The flag for such sections (l) is not known to every assembler, and not needed.
    text += concat(
        ".section .lrodata.ingot_weights,\"a\",@progbits\n.balign 4096\n.globl ingot_weights\n"
        ".hidden ingot_weights\ningot_weights:\n.incbin ",
        quote(embedded), "\n.byte 0\n");
  }
  return text + ".section .note.GNU-stack,\"\",@progbits\n";
}

Status write_side_weights(const std::filesystem::path& path, const std::filesystem::path& bytes,
                          const Hash128& hash) {
  TRY(const MappedFile weights, MappedFile::open(bytes));
  TRY(AtomicFile file, AtomicFile::create(path));
  const SideHeader header = header_of(weights.size_bytes(), hash);
  std::vector<std::byte> head(kHeaderBytes);
  std::memcpy(head.data(), &header, sizeof(header));
  TRY_STATUS(file.write(head));
  TRY_STATUS(file.write(weights.bytes()));
  return file.commit();
}

}  // namespace ingot
