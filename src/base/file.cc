// base/file.cc: mapped reading, atomic writing, temporary folders, over POSIX.
#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
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

/// What mkstemp and mkdtemp fill in.
constexpr std::string_view kRandom = "XXXXXX";
/// A tool may replace the locked file by one of its own, which nobody has locked, and write to it;
/// one that was not written to for so long is nobody's.
constexpr std::chrono::minutes kAbandoned(10);

/// Whether a name in a folder is `stem` and what stands for kRandom.
bool is_temporary(std::string_view name, std::string_view stem) {
  return name.size() == stem.size() + kRandom.size() && name.starts_with(stem);
}

/// Removes what dead processes left in `folder` under names that are_temporary. A living owner
/// holds a lock.
void sweep(const fs::path& folder, std::string_view stem, fs::file_type type) {
  std::error_code error;
  fs::directory_iterator at(folder.empty() ? fs::path(".") : folder, error);
  if (error) return;
  for (; at != fs::directory_iterator(); at.increment(error)) {
    if (error) return;
    if (!is_temporary(at->path().filename().native(), stem)) continue;
    if (at->symlink_status(error).type() != type || error) continue;
    if (type == fs::file_type::regular) {
      const auto written = at->last_write_time(error);
      if (error || fs::file_time_type::clock::now() - written < kAbandoned) continue;
    }
    const Descriptor found(::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    if (found.get() < 0 || ::fstat(found.get(), &status) != 0) continue;
    if (status.st_uid != ::geteuid() || ::flock(found.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
  }
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
  const std::string stem = concat(path.filename().string(), ".tmp-");
  sweep(path.parent_path(), stem, fs::file_type::regular);
  AtomicFile file;
  std::string name = concat(path.string(), ".tmp-", kRandom);
  file.fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file.fd_ < 0) return system_error(path, "write", errno);
  ::flock(file.fd_, LOCK_EX | LOCK_NB);
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
  constexpr std::string_view kStem = "ingot-temporary-";
  sweep(place, kStem, fs::file_type::directory);
  for (;;) {
    TempDir dir;
    dir.path_ = place / concat(kStem, kRandom);
    std::string name = dir.path_.string();
    if (::mkdtemp(name.data()) == nullptr) {
      dir.keep();
      return system_error(place, "make a folder in it", errno);
    }
    dir.path_ = name;
    dir.lock_ = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Another process that sweeps may have taken the folder for an orphan before it was locked.
    struct stat status {};
    if (dir.lock_ >= 0) ::flock(dir.lock_, LOCK_EX);
    if (::stat(name.c_str(), &status) == 0) return dir;
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace ingot
