// base/file.cc: mapped reading, atomic writing, temporary folders, over POSIX.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ingot {
namespace fs = std::filesystem;
namespace {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// The permissions that a newly created file gets. Asking for the umask means setting it, which
/// other threads would notice; the file system's default for mkstemp (0600) is not what users
/// expect.
constexpr mode_t kNewFileMode = 0644;

/// The size of an open file, which must be a regular one.
Result<size_t> check_regular(const fs::path& path, int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(path, "examine", errno);
  if (S_ISDIR(status.st_mode)) return io_error(path.string(), ": expected a file, got a folder");
  if (!S_ISREG(status.st_mode)) {
    return io_error(path.string(), ": expected a regular file, got a device, pipe or socket");
  }
  return static_cast<size_t>(status.st_size);
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

Error system_error(const fs::path& path, std::string_view verb, int error_number) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG ||
                    error_number == ENOMEM || error_number == EMFILE || error_number == ENFILE;
  return Error{full ? Code::kResourceExhausted : Code::kIo,
               concat(path.string(), ": cannot ", verb, ": ", std::strerror(error_number)),
               {}};
}

Result<MappedFile> MappedFile::open(const fs::path& path) {
  // O_NONBLOCK: opening a pipe without a writer must not wait; it is refused below.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error(path, "open", errno);
  TRY(const size_t size_bytes, check_regular(path, file.get()));
  MappedFile mapped;
  if (size_bytes == 0) return mapped;
  void* data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return system_error(path, "map", errno);
  mapped.data_ = static_cast<const std::byte*>(data);
  mapped.size_bytes_ = size_bytes;
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_bytes_);
}

Result<std::string> read_text(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error(path, "open", errno);
  TRY([[maybe_unused]] const size_t size_bytes, check_regular(path, file.get()));
  std::string text;
  while (true) {
    char buffer[1 << 14];
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "read", errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
}

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  if (path.filename().empty()) return io_error(path.string(), ": expected the name of a file");
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return io_error(path.string(), ": cannot write: a folder has this name");
  }
  // Renaming over a device such as /dev/null would replace it.
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    return io_error(path.string(), ": cannot write: expected a new name or a regular file");
  }
  AtomicFile file;
  std::string name = path.string() + ".tmp-XXXXXX";
  file.fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file.fd_ < 0) return system_error(path, "write", errno);
  file.path_ = path;
  file.temporary_ = name;
  if (::fchmod(file.fd_, kNewFileMode) != 0) return system_error(path, "write", errno);
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(path_, "write", errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return ok();
}

Status AtomicFile::write(std::string_view text) {
  return write(as_bytes(text));
}

Status AtomicFile::commit() {
  // A full disk may be told only here, when delayed writes are given their place.
  if (::close(std::exchange(fd_, -1)) != 0) return system_error(path_, "write", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error(path_, "write", errno);
  temporary_.clear();
  return ok();
}

Status write_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  TRY(AtomicFile file, AtomicFile::create(path));
  TRY_STATUS(file.write(bytes));
  return file.commit();
}

Status write_atomically(const fs::path& path, std::string_view text) {
  return write_atomically(path, as_bytes(text));
}

Result<TempDir> TempDir::create(const fs::path& parent) {
  fs::path place = parent;
  if (place.empty()) {
    std::error_code error;
    place = fs::temp_directory_path(error);
    if (error) {
      return io_error("the folder for temporary files (TMPDIR) cannot be used: ", error.message());
    }
  }
  // Programs that are started elsewhere are told of it.
  std::error_code failed;
  place = fs::absolute(place, failed);
  if (failed) return io_error(place.string(), ": cannot be found: ", failed.message());
  std::string name = (place / "ingot-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return system_error(place, "make a folder in it", errno);
  TempDir dir;
  dir.path_ = name;
  return dir;
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace ingot
