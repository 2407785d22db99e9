// runtime/loader_test.cc: the loader opens artefacts, refuses everything else, and shares one pool.
#include "ingot/loader.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/model.h"

namespace ingot {
namespace {

std::string fixture_path(const std::string& name) {
  return std::string(INGOT_FIXTURES) + "/" + name + ".so";
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

ingot_status check_bytes(const std::string& bytes) {
  // A copy of exactly the size, so that a sanitizer sees any read past it.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  return ingot_check_memory(exact.data(), exact.size(), "test");
}

std::string refuse(const std::string& bytes, ingot_status expected) {
  EXPECT_EQ(check_bytes(bytes), expected);
  return ingot_loader_error();
}

template <class T>
std::string with(std::string bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

// y of testdata/layer.cc for one row of ones: 2 relu(x w + b) = (2 * 1.5, 0, 0) since h = (1.5, 0,
// -2.5).
void expect_runs(const ingot_model_api* api, ingot_model* model) {
  std::vector<float> x(4, 1), y(3, 9);
  int64_t x_dims[2] = {1, 4}, y_dims[2] = {1, 3};
  ingot_tensor input = INGOT_INIT(ingot_tensor);
  input.dtype = INGOT_FLOAT32;
  input.rank = 2;
  input.dims = x_dims;
  input.data = x.data();
  ingot_tensor outputs[3] = {input, INGOT_INIT(ingot_tensor), INGOT_INIT(ingot_tensor)};
  outputs[0].dims = y_dims;
  outputs[0].data = y.data();
  outputs[1].dtype = outputs[2].dtype = INGOT_INT64;
  ASSERT_EQ(api->run(model, &input, 1, outputs, 3, nullptr), INGOT_OK) << api->last_error();
  EXPECT_EQ(y, (std::vector<float>{3, 0, 0}));
  api->free_output(model, outputs[1].data);
  api->free_output(model, outputs[2].data);
}

TEST(Loader, OpensFiles) {
  ingot_loaded loaded = INGOT_INIT(ingot_loaded);
  ASSERT_EQ(ingot_open_file(fixture_path("layer").c_str(), nullptr, &loaded), INGOT_OK)
      << ingot_loader_error();
  expect_runs(loaded.api, loaded.model);
  ingot_close(&loaded);
  EXPECT_EQ(loaded.model, nullptr);
  ingot_close(&loaded);
  ingot_close(nullptr);
}

TEST(Loader, OpensDifferentModelsFromMemory) {
  const std::string layer = read_file(fixture_path("layer")),
                    outer = read_file(fixture_path("outer"));
  ingot_loaded first = INGOT_INIT(ingot_loaded), second = INGOT_INIT(ingot_loaded);
  ASSERT_EQ(ingot_open_memory(layer.data(), layer.size(), nullptr, &first), INGOT_OK)
      << ingot_loader_error();
  ASSERT_EQ(ingot_open_memory(outer.data(), outer.size(), nullptr, &second), INGOT_OK)
      << ingot_loader_error();
  EXPECT_STREQ(first.api->describe(first.model)->name, "layer");
  EXPECT_STREQ(second.api->describe(second.model)->name, "outer");
  expect_runs(first.api, first.model);
  ingot_close(&first);
  ingot_close(&second);
}

TEST(Loader, MemoryModelsNeedToBeToldWhereTheirWeightsAre) {
  const std::string bytes = read_file(fixture_path("layer_separate"));
  ingot_loaded loaded = INGOT_INIT(ingot_loaded);
  EXPECT_EQ(ingot_open_memory(bytes.data(), bytes.size(), nullptr, &loaded), INGOT_IO);
  EXPECT_NE(std::string(ingot_loader_error()).find("was loaded from memory"), std::string::npos)
      << ingot_loader_error();
}

TEST(Loader, SharesOnePool) {
  auto pool_of = [](const std::string& name, ingot_loaded* loaded) {
    *loaded = INGOT_INIT(ingot_loaded);
    EXPECT_EQ(ingot_open_file(fixture_path(name).c_str(), nullptr, loaded), INGOT_OK);
    return loaded->shares_pool;
  };
  ingot_loaded first, second;
  EXPECT_EQ(pool_of("layer", &first), 1);
  EXPECT_EQ(pool_of("outer", &second), 1);
  ingot_close(&first);
  ingot_close(&second);
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  options.threads = 1;
  ingot_loaded third = INGOT_INIT(ingot_loaded);
  ASSERT_EQ(ingot_open_file(fixture_path("layer").c_str(), &options, &third), INGOT_OK);
  EXPECT_EQ(third.shares_pool, 0);
  ingot_close(&third);
}

TEST(Loader, AForkedChildGetsAPoolOfItsOwn) {
  ingot_loaded parent = INGOT_INIT(ingot_loaded);
  ASSERT_EQ(ingot_open_file(fixture_path("layer").c_str(), nullptr, &parent), INGOT_OK);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ingot_loaded own = INGOT_INIT(ingot_loaded);
    const bool opened = ingot_open_file(fixture_path("layer").c_str(), nullptr, &own) == INGOT_OK;
    if (opened) expect_runs(own.api, own.model);
    ingot_close(&own);
    ingot_close(&parent);
    _exit(opened && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_runs(parent.api, parent.model);
  ingot_close(&parent);
}

TEST(Loader, RefusesWhatIsNoArtefact) {
  ingot_loaded loaded = INGOT_INIT(ingot_loaded);
  EXPECT_EQ(ingot_open_file("/nowhere/model.so", nullptr, &loaded), INGOT_IO);
  EXPECT_EQ(ingot_open_file("/", nullptr, &loaded), INGOT_IO);
  EXPECT_STREQ(ingot_loader_error(), "artefact '/': cannot read: Is a directory");
  EXPECT_EQ(ingot_open_file(nullptr, nullptr, &loaded), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(ingot_open_file(fixture_path("layer").c_str(), nullptr, nullptr),
            INGOT_INVALID_ARGUMENT);
  EXPECT_NE(refuse("no library at all", INGOT_INVALID_MODEL).find("this is no shared library"),
            std::string::npos);
  EXPECT_NE(refuse(read_file("/proc/self/exe"), INGOT_INVALID_MODEL).find("this is a program"),
            std::string::npos)
      << ingot_loader_error();
  EXPECT_NE(refuse(read_file("/lib/x86_64-linux-gnu/libm.so.6"), INGOT_INVALID_MODEL)
                .find("does not export ingot_model_v1"),
            std::string::npos)
      << ingot_loader_error();
}

TEST(Loader, RefusesOtherMachines) {
  const std::string layer = read_file(fixture_path("layer"));
  EXPECT_NE(
      refuse(with(layer, offsetof(Elf64_Ehdr, e_machine), uint16_t{EM_AARCH64}), INGOT_WRONG_TARGET)
          .find("made for aarch64 (ELF machine 183); this is x86-64"),
      std::string::npos);
  EXPECT_NE(refuse(with(layer, EI_CLASS, uint8_t{ELFCLASS32}), INGOT_WRONG_TARGET).find("32 bits"),
            std::string::npos);
  EXPECT_NE(refuse(with(layer, EI_DATA, uint8_t{ELFDATA2MSB}), INGOT_WRONG_TARGET)
                .find("the other byte order"),
            std::string::npos);
  ingot_loaded loaded = INGOT_INIT(ingot_loaded);
  EXPECT_EQ(ingot_open_file(fixture_path("layer_v9").c_str(), nullptr, &loaded),
            INGOT_WRONG_TARGET);
  EXPECT_NE(std::string(ingot_loader_error()).find("needs x86-64-v9"), std::string::npos);
  EXPECT_NE(std::string(ingot_loader_error()).find("layer_v9.so': "), std::string::npos)
      << ingot_loader_error();
}

TEST(Loader, RefusesEveryTruncation) {
  const std::string layer = read_file(fixture_path("layer"));
  ASSERT_EQ(check_bytes(layer), INGOT_OK) << ingot_loader_error();
  for (size_t size = 0; size < layer.size(); size += size < 5000 ? 1 : 997) {
    EXPECT_EQ(check_bytes(layer.substr(0, size)), INGOT_INVALID_MODEL) << size;
  }
  EXPECT_EQ(check_bytes(layer.substr(0, layer.size() - 1)), INGOT_INVALID_MODEL);
}

// Nothing is loaded here; the check itself must stay inside the bytes.
TEST(Loader, SurvivesDamage) {
  const std::string layer = read_file(fixture_path("outer"));
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = layer;
    for (int i = 0; i < 4; ++i) damaged[random() % 4096] = static_cast<char>(random());
    const ingot_status status = check_bytes(damaged);
    EXPECT_TRUE(status == INGOT_OK || status == INGOT_INVALID_MODEL ||
                status == INGOT_WRONG_TARGET);
  }
}

TEST(LoadedModel, OpensRunsAndMoves) {
  Result<LoadedModel> opened = LoadedModel::open(fixture_path("outer"));
  ASSERT_TRUE(opened) << to_text(opened.error());
  LoadedModel model = *std::move(opened);
  LoadedModel other = std::move(model);
  EXPECT_STREQ(other.description().name, "outer");
  EXPECT_STREQ(other.input(1).name, "b");
  const int64_t symbols[2] = {2, 3};
  const Result<uint64_t> bytes = other.workspace_bytes(symbols, 1);
  ASSERT_TRUE(bytes);
  EXPECT_GE(*bytes, 24u);
  EXPECT_TRUE(other.verify_weights());
  const Status failed = other.run({}, {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kInvalidArgument);
}

TEST(LoadedModel, MapsErrors) {
  const Result<LoadedModel> opened = LoadedModel::open(fixture_path("layer_v9"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kWrongTarget);
  EXPECT_FALSE(check_artifact("/nowhere"));
  EXPECT_TRUE(check_artifact(fixture_path("layer_v9")));
}

// ingot.h and base/error.def name the same failures by the same numbers.
TEST(Status, EqualsTheTableOfErrors) {
  EXPECT_EQ(abi_status(Code::kInvalidArgument), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(abi_status(Code::kUnsupported), INGOT_UNSUPPORTED);
  EXPECT_EQ(abi_status(Code::kInvalidModel), INGOT_INVALID_MODEL);
  EXPECT_EQ(abi_status(Code::kIo), INGOT_IO);
  EXPECT_EQ(abi_status(Code::kToolchain), INGOT_TOOLCHAIN);
  EXPECT_EQ(abi_status(Code::kResourceExhausted), INGOT_RESOURCE_EXHAUSTED);
  EXPECT_EQ(abi_status(Code::kWrongTarget), INGOT_WRONG_TARGET);
  EXPECT_EQ(abi_status(Code::kDevice), INGOT_DEVICE);
  EXPECT_EQ(abi_status(Code::kCancelled), INGOT_CANCELLED);
  EXPECT_EQ(abi_status(Code::kInternal), INGOT_INTERNAL);
  EXPECT_EQ(abi_status(Code::kDeadline), INGOT_DEADLINE);
}

}  // namespace
}  // namespace ingot
