// frontend/onnx/external.cc: opens external data component by component, without following links.
#include "frontend/onnx/external.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace ingot::onnx {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Mapping {
  void* data = nullptr;
  size_t size_bytes = 0;
  ~Mapping() {
    if (data != nullptr) ::munmap(data, size_bytes);
  }
};

Error bad_location(std::string_view location, std::string_view why) {
  return invalid_model("external data '", to_comment(location), "': ", why);
}

/// The parts of a relative path. Errors: anything that could lead out of the folder.
Result<std::vector<std::string>> components(std::string_view location) {
  if (location.empty()) return bad_location(location, "expected a path, got an empty location");
  if (location.find('\0') != std::string_view::npos) {
    return bad_location(location, "a path must not hold a NUL byte");
  }
  if (location.front() == '/') {
    return bad_location(location, "expected a path below the model's folder, got an absolute path");
  }
  std::vector<std::string> parts;
  for (const std::string_view part : split(location, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return bad_location(location, "expected a path below the model's folder, got '..' in it");
    }
    parts.emplace_back(part);
  }
  if (parts.empty()) return bad_location(location, "expected a file, got a folder");
  return parts;
}

/// Opens `parts` below `folder`, refusing links on the way.
Result<FileDescriptor> open_below(const std::filesystem::path& folder,
                                  const std::vector<std::string>& parts,
                                  std::string_view location) {
  FileDescriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) return system_error(folder, "open", errno);
  for (size_t k = 0; k < parts.size(); ++k) {
    const bool last = k + 1 == parts.size();
    // O_NONBLOCK: opening a pipe must not wait for a writer.
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY);
    const int fd = ::openat(at.get(), parts[k].c_str(), flags);
    if (fd < 0) {
      const int reason = errno;
      struct stat info {};
      if (::fstatat(at.get(), parts[k].c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISLNK(info.st_mode)) {
        return bad_location(location, "symbolic links are not followed; copy the file here");
      }
      return add_note(system_error(folder / std::string(location), "open", reason),
                      "external data");
    }
    at = FileDescriptor(fd);
  }
  return at;
}

/// The value of a decimal number, which protobuf stores as text.
Result<uint64_t> number(std::string_view location, std::string_view key, std::string_view text) {
  const auto value = parse_int(text);
  if (!value || *value < 0) {
    return bad_location(location,
                        concat("expected a number as its ", key, ", got '", to_comment(text), "'"));
  }
  return static_cast<uint64_t>(*value);
}

}  // namespace

Result<ExternalFiles::File*> ExternalFiles::open(const std::string& location) {
  if (const auto known = files_.find(location); known != files_.end()) return &known->second;
  TRY(const std::vector<std::string> parts, components(location));
  // "a", "./a" and "a/." are one file, so that overlaps between its names are seen.
  const std::string normal = join(parts, "/");
  if (normal != location) return open(normal);

  TRY(const FileDescriptor fd, open_below(folder_, parts, location));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error(folder_ / location, "read", errno);
  if (!S_ISREG(info.st_mode)) {
    return bad_location(location, "expected a regular file");
  }
  auto mapping = std::make_shared<Mapping>();
  if (info.st_size > 0) {
    const size_t size_bytes = static_cast<size_t>(info.st_size);
    void* data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) return system_error(folder_ / location, "map", errno);
    mapping->data = data;
    mapping->size_bytes = size_bytes;
  }
  File file;
  file.bytes = {static_cast<const std::byte*>(mapping->data), mapping->size_bytes};
  file.owner = std::move(mapping);
  return &files_.emplace(location, std::move(file)).first->second;
}

Result<ExternalSlice> ExternalFiles::slice(const TensorProto& tensor, uint64_t size_bytes) {
  std::string_view location;
  std::optional<std::string_view> offset_text;
  std::optional<std::string_view> length_text;
  for (const auto& [key, value] : tensor.external_data) {
    if (key == "location") location = value;
    if (key == "offset") offset_text = value;
    if (key == "length") length_text = value;
  }
  if (folder_.empty()) {
    return bad_location(location,
                        "the model came as bytes, so its folder is not known; "
                        "name the folder or import from a file");
  }
  uint64_t offset = 0;
  if (offset_text) {
    TRY(offset, number(location, "offset", *offset_text));
  }
  if (length_text) {
    TRY(const uint64_t length, number(location, "length", *length_text));
    if (length != size_bytes) {
      return bad_location(location, concat("expected a length of ", size_bytes,
                                           " bytes, as the shape says, got ", length));
    }
  }
  TRY(File* const file, open(std::string(location)));
  const uint64_t available = file->bytes.size();
  if (offset > available || size_bytes > available - offset) {
    return bad_location(location, concat("expected ", size_bytes, " bytes at offset ", offset,
                                         ", got a file of ", available, " bytes"));
  }
  if (size_bytes > 0) {
    const uint64_t end = offset + size_bytes;
    auto next = file->taken.lower_bound(offset);
    const auto overlaps = [&](const auto& entry) {
      return entry->first < end && entry->second.first > offset;
    };
    const auto found = next != file->taken.end() && overlaps(next) ? next
                       : next != file->taken.begin() && overlaps(std::prev(next))
                           ? std::prev(next)
                           : file->taken.end();
    if (found != file->taken.end()) {
      return bad_location(location, concat("the bytes at offset ", offset, " overlap those of '",
                                           to_comment(found->second.second), "'"));
    }
    file->taken.emplace(offset, std::pair(end, std::string(tensor.name)));
  }
  return ExternalSlice{file->owner, file->bytes.subspan(offset, size_bytes)};
}

std::vector<std::pair<std::filesystem::path, ExternalSlice>> ExternalFiles::mapped() const {
  std::vector<std::pair<std::filesystem::path, ExternalSlice>> all;
  for (const auto& [location, file] : files_) {
    all.emplace_back(folder_ / location, ExternalSlice{file.owner, file.bytes});
  }
  return all;
}

}  // namespace ingot::onnx
