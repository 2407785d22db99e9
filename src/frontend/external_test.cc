// frontend/external_test.cc: external data: what is read, and everything that is refused.
#include "frontend/onnx/external.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace ingot::onnx {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class External : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::create();
    ASSERT_TRUE(made);
    dir_.emplace(std::move(*made));
    ASSERT_TRUE(write_atomically(dir_->path() / "w.bin", std::string_view("0123456789")));
    fs::create_directory(dir_->path() / "sub");
    ASSERT_TRUE(write_atomically(dir_->path() / "sub/v.bin", std::string_view("abcd")));
    files_.emplace(dir_->path());
  }

  /// The bytes, or the error's text.
  std::string read(std::string_view name, std::vector<StringPair> keys, uint64_t size_bytes) {
    TensorProto tensor;
    tensor.name = name;
    tensor.external_data = std::move(keys);
    auto slice = files_->slice(tensor, size_bytes);
    if (!slice) return to_text(slice.error());
    return {reinterpret_cast<const char*>(slice->bytes.data()), slice->bytes.size()};
  }

  std::optional<TempDir> dir_;
  std::optional<ExternalFiles> files_;
};

TEST_F(External, ReadsSlices) {
  EXPECT_EQ(read("a", {{"location", "w.bin"}, {"offset", "2"}, {"length", "3"}}, 3), "234");
  EXPECT_EQ(read("b", {{"location", "./w.bin"}, {"offset", "5"}}, 5), "56789");
  EXPECT_EQ(read("c", {{"location", "sub/v.bin"}}, 4), "abcd");
  EXPECT_EQ(read("d", {{"location", "sub/v.bin"}, {"offset", "4"}}, 0), "");
}

TEST_F(External, RefusesPathsOutOfTheFolder) {
  EXPECT_THAT(read("a", {{"location", "../w.bin"}}, 1), HasSubstr("'..'"));
  EXPECT_THAT(read("a", {{"location", "sub/../w.bin"}}, 1), HasSubstr("'..'"));
  EXPECT_THAT(read("a", {{"location", "/etc/hostname"}}, 1), HasSubstr("absolute path"));
  EXPECT_THAT(read("a", {{"location", ""}}, 1), HasSubstr("empty location"));
  EXPECT_THAT(read("a", {{"location", std::string_view("w.bin\0x", 7)}}, 1), HasSubstr("NUL"));
}

TEST_F(External, RefusesLinksAndWhatIsNoFile) {
  fs::create_symlink("w.bin", dir_->path() / "link.bin");
  fs::create_directory_symlink("sub", dir_->path() / "linked");
  EXPECT_THAT(read("a", {{"location", "link.bin"}}, 1), HasSubstr("symbolic links"));
  EXPECT_THAT(read("a", {{"location", "linked/v.bin"}}, 1), HasSubstr("symbolic links"));
  EXPECT_THAT(read("a", {{"location", "sub"}}, 1), HasSubstr("regular file"));
  EXPECT_THAT(read("a", {{"location", "."}}, 1), HasSubstr("got a folder"));
  EXPECT_THAT(read("a", {{"location", "absent.bin"}}, 1), HasSubstr("No such file"));
}

TEST_F(External, ChecksOffsetAndLength) {
  EXPECT_THAT(read("a", {{"location", "w.bin"}, {"offset", "8"}}, 4),
              HasSubstr("expected 4 bytes at offset 8, got a file of 10 bytes"));
  EXPECT_THAT(read("a", {{"location", "w.bin"}, {"offset", "9223372036854775807"}}, 8),
              HasSubstr("got a file of 10 bytes"));
  EXPECT_THAT(read("a", {{"location", "w.bin"}, {"length", "3"}}, 4),
              HasSubstr("expected a length of 4 bytes"));
  EXPECT_THAT(read("a", {{"location", "w.bin"}, {"offset", "-1"}}, 4), HasSubstr("got '-1'"));
  EXPECT_THAT(read("a", {{"location", "w.bin"}, {"offset", "x"}}, 4), HasSubstr("got 'x'"));
}

TEST_F(External, RefusesOverlaps) {
  EXPECT_EQ(read("a", {{"location", "w.bin"}, {"offset", "2"}}, 4), "2345");
  EXPECT_EQ(read("b", {{"location", "w.bin"}, {"offset", "6"}}, 4), "6789");
  EXPECT_THAT(read("c", {{"location", "./w.bin"}, {"offset", "1"}}, 2),
              HasSubstr("overlap those of 'a'"));
  EXPECT_THAT(read("c", {{"location", "w.bin"}, {"offset", "5"}}, 1),
              HasSubstr("overlap those of 'a'"));
}

TEST(ExternalBytes, NeedAFolder) {
  ExternalFiles files("");
  TensorProto tensor;
  tensor.external_data = {{"location", "w.bin"}};
  auto slice = files.slice(tensor, 1);
  ASSERT_FALSE(slice);
  EXPECT_THAT(to_text(slice.error()), HasSubstr("the model came as bytes"));
}

}  // namespace
}  // namespace ingot::onnx
