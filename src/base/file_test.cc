// base/file_test.cc: files, temporary folders, hashes.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  fs::path path(const char* name) const { return dir_.path() / name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(dir_.path()), {}));
  }

  TempDir dir_ = *TempDir::create();
};

TEST_F(FileTest, WritesAndMaps) {
  ASSERT_TRUE(write_atomically(path("a"), "hello"));
  Result<MappedFile> file = MappedFile::open(path("a"));
  ASSERT_TRUE(file);
  MappedFile moved = *std::move(file);
  EXPECT_EQ(moved.text(), "hello");
  EXPECT_EQ(moved.bytes().size(), 5u);
  ASSERT_TRUE(write_atomically(path("a"), "again"));
  EXPECT_EQ(moved.text(), "hello") << "the old content stays mapped";
  EXPECT_EQ(*read_text(path("a")), "again");
  EXPECT_EQ(entries(), 1u);
  struct stat status {};
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0644u);
}

TEST_F(FileTest, MapsAnEmptyFile) {
  ASSERT_TRUE(write_atomically(path("empty"), ""));
  EXPECT_EQ(MappedFile::open(path("empty"))->size_bytes(), 0u);
}

TEST_F(FileTest, RefusesWhatIsNoFile) {
  const Result<MappedFile> folder = MappedFile::open(dir_.path());
  EXPECT_EQ(folder.error().code, Code::kIo);
  EXPECT_EQ(to_text(folder.error()), dir_.path().string() + ": expected a file, got a folder");
  EXPECT_EQ(to_text(MappedFile::open(path("none")).error()),
            path("none").string() + ": cannot open: No such file or directory");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(to_text(MappedFile::open(path("pipe")).error()),
            path("pipe").string() + ": expected a regular file, got a device, pipe or socket");
  EXPECT_FALSE(read_text(dir_.path()));
}

TEST_F(FileTest, WritingNeedsAPlaceAndLeavesNothingBehind) {
  EXPECT_EQ(write_atomically(path("no/such/folder"), "x").error().code, Code::kIo);
  EXPECT_EQ(write_atomically(dir_.path(), "x").error().code, Code::kIo);
  {
    Result<AtomicFile> file = AtomicFile::create(path("b"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half"));
  }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(FileTest, AFullDiskIsResourceExhausted) {
  EXPECT_EQ(system_error("x", "write", ENOSPC).code, Code::kResourceExhausted);
  EXPECT_EQ(to_text(system_error("x", "write", EACCES)), "x: cannot write: Permission denied");
}

TEST_F(FileTest, ReadsFilesThatDoNotKnowTheirSize) {
  const Result<std::string> text = read_text("/proc/self/status");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("Threads:"), std::string::npos);
}

TEST(TempDirTest, VanishesWithItsContent) {
  fs::path place;
  {
    const TempDir dir = *TempDir::create();
    place = dir.path();
    ASSERT_TRUE(write_atomically(place / "x", "y"));
    EXPECT_TRUE(fs::exists(place));
  }
  EXPECT_FALSE(fs::exists(place));
  EXPECT_EQ(TempDir::create("/no/such/folder").error().code, Code::kIo);
}

TEST(TempDirTest, SweepsWhatADeadProcessLeft) {
  TempDir place = *TempDir::create();
  const auto orphan = place.path() / "ingot-temporary-abc123",
             stranger = place.path() / "ingot-models";
  std::filesystem::create_directories(orphan / "inner");
  std::filesystem::create_directories(stranger);
  TempDir first = *TempDir::create(place.path());
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_TRUE(std::filesystem::exists(stranger));
  const TempDir second = *TempDir::create(place.path());
  EXPECT_TRUE(std::filesystem::exists(first.path()));
  TempDir moved = std::move(first);
  const TempDir third = *TempDir::create(place.path());
  EXPECT_TRUE(std::filesystem::exists(moved.path()));
}

TEST_F(FileTest, SweepsHalfAFileOfADeadProcess) {
  const auto orphan = path("out.tmp-abc123"), fresh = path("out.tmp-def456");
  const auto other = path("out.txt.tmp-abc123");
  for (const auto& file : {orphan, fresh, other}) ASSERT_TRUE(write_atomically(file, "half"));
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(orphan, long_ago);
  std::filesystem::last_write_time(other, long_ago);
  ASSERT_TRUE(write_atomically(path("out"), "whole"));
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_TRUE(std::filesystem::exists(fresh));  // may be in the hands of a linker
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST(Hash, IsXxh3) {
  // xxHash's own published test vector for XXH3_128bits of no bytes and seed 0.
  EXPECT_EQ(to_text(hash_text("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_text("a"), hash_bytes(std::as_bytes(std::span("a", 1))));
}

TEST(Hash, PiecesAndFields) {
  Hasher pieces;
  pieces.add(std::as_bytes(std::span("ab", 2)));
  pieces.add(std::as_bytes(std::span("c", 1)));
  EXPECT_EQ(pieces.finish(), hash_text("abc"));
  Hasher left, right;
  left.add_field("ab");
  left.add_field("c");
  right.add_field("a");
  right.add_field("bc");
  EXPECT_NE(left.finish(), right.finish());
}

}  // namespace
}  // namespace ingot
