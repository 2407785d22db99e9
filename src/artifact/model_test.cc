// artifact/model_test.cc: opening: levels, weights in each form, descriptions, fork; and what the
// shared library needs and shows.
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "artifact/program.h"
#include "artifact/test_fixture.h"

namespace ingot::artifact {
namespace {

namespace fs = std::filesystem;

// A folder of this test's own with a copy of a fixture.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/ingot_artifact_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string copy_fixture(const std::string& name) {
    fs::copy_file(fixture_path(name), path / (name + ".so"));
    return (path / (name + ".so")).string();
  }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }

  fs::path path;
};

template <class T>
void put(std::string& bytes, size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

const float kW[12] = {1, 0, -1, 0, 1, 0, 0, -1, 1, 0, 0, -1};
const float kTransposed[12] = {1, 0, 0, 0, 0, 1, -1, 0, -1, 0, 1, -1};
const float kB[3] = {0.5f, 0, -0.5f};

// The file that goes with testdata/layer.cc built for separate weights.
std::string make_weights_file() {
  std::string bytes(4096 + 320, '\0');
  WeightsHeader header = {};
  std::memcpy(header.magic, kWeightsMagic, 8);
  header.version = kWeightsVersion;
  header.header_bytes = kWeightsHeaderBytes;
  header.bytes = 320;
  header.hash[0] = 0x2f0cfc559b7d14eu;
  header.hash[1] = 0xf2a688744f8d2eecu;
  put(bytes, 0, header);
  put(bytes, 4096, kTransposed);
  put(bytes, 4096 + 64, kB);
  put(bytes, 4096 + 128, 2.0f);
  put(bytes, 4096 + 192, kW);
  put(bytes, 4096 + 256, kB);
  return bytes;
}

// The "original model" of the stripped build: the constants lie at odd places.
std::string make_source_file() {
  std::string bytes(80, 'x');
  put(bytes, 7, kW);
  put(bytes, 60, kB);
  return bytes;
}

// The first row of y for x = (1, 2, 3, 4): 2 relu((1, -1, -2) + b).
void expect_right(const ingot_model_api* api, ingot_model* model) {
  Owned<float> x(INGOT_FLOAT32, {1, 4}, {1, 2, 3, 4});
  Owned<float> y(INGOT_FLOAT32, {1, 3}, {9, 9, 9});
  ingot_tensor outputs[3] = {y.tensor, unknown_output(INGOT_INT64), unknown_output(INGOT_INT64)};
  ASSERT_EQ(api->run(model, &x.tensor, 1, outputs, 3, nullptr), INGOT_OK) << api->last_error();
  EXPECT_EQ(y.data, (std::vector<float>{3, 0, 0}));
  api->free_output(model, outputs[1].data);
  api->free_output(model, outputs[2].data);
}

void expect_opens(const ingot_model_api* api, const ingot_open_options& options) {
  ingot_model* model = nullptr;
  ASSERT_EQ(api->open(&options, &model), INGOT_OK) << api->last_error();
  expect_right(api, model);
  EXPECT_EQ(api->verify_weights(model), INGOT_OK) << api->last_error();
  api->close(model);
}

std::string fail_to_open(const ingot_model_api* api, const ingot_open_options& options,
                         ingot_status expected) {
  ingot_model* model = nullptr;
  EXPECT_EQ(api->open(&options, &model), expected);
  EXPECT_EQ(model, nullptr);
  return api->last_error();
}

TEST(Model, ChoosesTheBestLevelThatFits) {
  Fixture layer("layer");
  const ingot_description* description = layer.api->describe(layer.model);
  EXPECT_STREQ(description->level, "x86-64");
  EXPECT_STREQ(description->levels, "x86-64-v9, x86-64");
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  options.level = "x86-64-v9";
  EXPECT_NE(fail_to_open(layer.api, options, INGOT_WRONG_TARGET)
                .find("the artefact 'layer' needs x86-64-v9; this machine has x86-64"),
            std::string::npos);
  options.level = "sse";
  EXPECT_EQ(fail_to_open(layer.api, options, INGOT_INVALID_ARGUMENT),
            "open: the artefact 'layer' has no code for level 'sse'");
}

TEST(Model, CanBeDescribedOnAnyMachine) {
  const ingot_model_api* api = load_fixture(fixture_path("layer_v9"));
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  fail_to_open(api, options, INGOT_WRONG_TARGET);
  options.describe_only = 1;
  ingot_model* model = nullptr;
  ASSERT_EQ(api->open(&options, &model), INGOT_OK) << api->last_error();
  EXPECT_EQ(api->describe(model)->level, nullptr);
  EXPECT_STREQ(api->input(model, 0)->name, "x");
  EXPECT_EQ(api->run(model, nullptr, 0, nullptr, 0, nullptr), INGOT_INVALID_ARGUMENT);
  EXPECT_STREQ(api->last_error(), "run: the model was opened for description only");
  api->close(model);
}

TEST(Model, DescribesItself) {
  Fixture layer("layer");
  const ingot_model_api* api = layer.api;
  const ingot_description* d = api->describe(layer.model);
  EXPECT_STREQ(d->name, "layer");
  EXPECT_STREQ(d->hash, "00112233445566778899aabbccddeeff");
  EXPECT_STREQ(d->weights, "embedded");
  EXPECT_EQ(d->weight_bytes, 320u);
  const ingot_value_info* x = api->input(layer.model, 0);
  EXPECT_EQ(x->rank, 2);
  EXPECT_EQ(x->dims[0].symbol, 0);
  EXPECT_EQ(x->dims[0].max, 1000000);
  EXPECT_EQ(x->dims[1].value, 4);
  EXPECT_EQ(x->alignment, 4u);
  const ingot_value_info* closed = api->output(layer.model, 2);
  EXPECT_STREQ(closed->dims[0].text, "count + 1");
  EXPECT_EQ(closed->dims[0].symbol, -1);
  EXPECT_EQ(closed->dims[0].value, -1);
  EXPECT_NE(closed->data_dependent, 0);
  EXPECT_EQ(api->output(layer.model, 0)->data_dependent, 0);
  EXPECT_NE(api->symbol(layer.model, 1)->data_dependent, 0);
  EXPECT_NE(api->constant(layer.model, 0)->replaceable, 0);
  EXPECT_EQ(api->constant(layer.model, 0)->dims[1], 3);
  EXPECT_EQ(api->input(layer.model, 1), nullptr);
  const char *key = nullptr, *value = nullptr;
  ASSERT_EQ(api->metadata(layer.model, 0, &key, &value), INGOT_OK);
  EXPECT_STREQ(key, "labels");
  EXPECT_STREQ(value, "a,b,c");
  EXPECT_EQ(api->metadata(layer.model, 2, &key, &value), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->metadata(layer.model, 0, nullptr, &value), INGOT_INVALID_ARGUMENT);
}

TEST(Model, ReadsEmbeddedWeightsInEveryMode) {
  const ingot_model_api* api = load_fixture(fixture_path("layer"));
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  options.verify_weights = 1;
  expect_opens(api, options);
  options.weights_mode = INGOT_WEIGHTS_HUGE;
  expect_opens(api, options);
}

TEST(Model, ReadsSeparateWeights) {
  Folder folder;
  const std::string path = folder.copy_fixture("layer_separate");
  const ingot_model_api* api = load_fixture(path);
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  EXPECT_NE(fail_to_open(api, options, INGOT_IO).find("layer.weights': cannot open"),
            std::string::npos);
  folder.write("layer.weights", make_weights_file());
  expect_opens(api, options);
  options.weights_mode = INGOT_WEIGHTS_HUGE;
  expect_opens(api, options);
  options.weights_mode = INGOT_WEIGHTS_MAPPED;

  std::string bytes = make_weights_file();
  bytes[4096 + 5] ^= 1;
  const std::string damaged = folder.write("damaged", bytes);
  options.weights_path = damaged.c_str();
  options.verify_weights = 1;
  EXPECT_NE(fail_to_open(api, options, INGOT_INVALID_MODEL).find("the file is damaged"),
            std::string::npos);
}

TEST(Model, RefusesForeignWeights) {
  Folder folder;
  const ingot_model_api* api = load_fixture(folder.copy_fixture("layer_separate"));
  auto fail_with = [&](std::string bytes) {
    const std::string path = folder.write("foreign", bytes);
    ingot_open_options options = INGOT_INIT(ingot_open_options);
    options.weights_path = path.c_str();
    return fail_to_open(api, options, bytes.empty() ? INGOT_IO : INGOT_INVALID_MODEL);
  };
  EXPECT_NE(fail_with("").find("the file is empty"), std::string::npos);
  EXPECT_NE(fail_with("short").find("got 5 bytes"), std::string::npos);
  EXPECT_NE(fail_with(std::string(5000, 'q')).find("expected a file of Ingot weights"),
            std::string::npos);
  std::string bytes = make_weights_file();
  put(bytes, 8, u32{2});
  EXPECT_NE(fail_with(bytes).find("expected version 1, got 2"), std::string::npos);
  bytes = make_weights_file();
  put(bytes, 24, u64{5});
  EXPECT_NE(fail_with(bytes).find("belong to another build of the model"), std::string::npos);
  EXPECT_NE(fail_with(make_weights_file().substr(0, 4200)).find("expected 4416 bytes"),
            std::string::npos);
  EXPECT_NE(fail_with(make_weights_file().substr(0, 100)).find("expected 4416 bytes"),
            std::string::npos);
}

TEST(Model, PreparesStrippedWeightsFromTheOriginalFile) {
  Folder folder;
  const ingot_model_api* api = load_fixture(folder.copy_fixture("layer_stripped"));
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  EXPECT_NE(fail_to_open(api, options, INGOT_IO).find("layer.onnx': cannot open"),
            std::string::npos);
  folder.write("layer.onnx", make_source_file() + "more");
  EXPECT_NE(fail_to_open(api, options, INGOT_INVALID_MODEL).find("expected the 80 bytes"),
            std::string::npos);
  std::string other = make_source_file();
  other[0] = 'y';
  folder.write("layer.onnx", other);
  options.verify_weights = 1;
  EXPECT_NE(fail_to_open(api, options, INGOT_INVALID_MODEL).find("the checksum differs"),
            std::string::npos);
  folder.write("layer.onnx", make_source_file());
  expect_opens(api, options);

  ingot_model* model = nullptr;
  ASSERT_EQ(api->open(&options, &model), INGOT_OK) << api->last_error();
  Owned<float> b(INGOT_FLOAT32, {3}, {1, 2, 3});
  ASSERT_EQ(api->get_constant(model, "b", &b.tensor), INGOT_OK) << api->last_error();
  EXPECT_EQ(b.data, (std::vector<float>{0.5f, 0, -0.5f}));
  b.data = {10, 20, 30};
  const char* name = "b";
  ASSERT_EQ(api->set_constants(model, &name, &b.tensor, 1), INGOT_OK) << api->last_error();
  Owned<float> w(INGOT_FLOAT32, {4, 3}, std::vector<float>(12));
  ASSERT_EQ(api->get_constant(model, "w", &w.tensor), INGOT_OK);
  EXPECT_EQ(w.data, std::vector<float>(kW, kW + 12));
  api->close(model);
}

TEST(Model, ChecksOpenOptions) {
  const ingot_model_api* api = load_fixture(fixture_path("layer"));
  ingot_open_options options = {};
  EXPECT_EQ(fail_to_open(api, options, INGOT_INVALID_ARGUMENT),
            "open: the options' struct_size is 0; initialise them with INGOT_INIT");
  options = INGOT_INIT(ingot_open_options);
  options.threads = 1000;
  EXPECT_EQ(fail_to_open(api, options, INGOT_INVALID_ARGUMENT),
            "open: threads: expected 0..256, got 1000");
  options = INGOT_INIT(ingot_open_options);
  options.max_concurrent_runs = -1;
  EXPECT_EQ(fail_to_open(api, options, INGOT_INVALID_ARGUMENT),
            "open: max_concurrent_runs: expected at least 0, got -1");
  EXPECT_EQ(api->open(nullptr, nullptr), INGOT_INVALID_ARGUMENT);
  api->close(nullptr);
}

TEST(Model, TakesNullForEveryPointer) {
  Fixture layer("layer");
  const ingot_model_api* api = layer.api;
  EXPECT_EQ(api->describe(nullptr), nullptr);
  EXPECT_EQ(api->input(nullptr, 0), nullptr);
  EXPECT_EQ(api->output(nullptr, 0), nullptr);
  EXPECT_EQ(api->state(nullptr, 0), nullptr);
  EXPECT_EQ(api->symbol(nullptr, 0), nullptr);
  EXPECT_EQ(api->constant(nullptr, 0), nullptr);
  const char* text = nullptr;
  EXPECT_EQ(api->metadata(nullptr, 0, &text, &text), INGOT_INVALID_ARGUMENT);
  uint64_t bytes = 0;
  const int64_t symbols[2] = {1, 0};
  EXPECT_EQ(api->workspace_bytes(nullptr, symbols, 2, 0, &bytes), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->workspace_bytes(layer.model, nullptr, 2, 0, &bytes), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->workspace_bytes(layer.model, symbols, 2, 0, nullptr), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->run(layer.model, nullptr, 0, nullptr, 0, nullptr), INGOT_INVALID_ARGUMENT);
  const char* name = "w";
  const char* nobody = nullptr;
  Owned<float> w(INGOT_FLOAT32, {4, 3}, std::vector<float>(12));
  EXPECT_EQ(api->set_constants(nullptr, &name, &w.tensor, 1), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->set_constants(layer.model, nullptr, &w.tensor, 1), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->set_constants(layer.model, &nobody, &w.tensor, 1), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->set_constants(layer.model, &name, nullptr, 1), INGOT_INVALID_ARGUMENT);
  ingot_tensor no_dims = w.tensor;
  no_dims.dims = nullptr;
  EXPECT_EQ(api->set_constants(layer.model, &name, &no_dims, 1), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->get_constant(layer.model, nullptr, &w.tensor), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->get_constant(layer.model, "w", nullptr), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->get_constant(nullptr, "w", &w.tensor), INGOT_INVALID_ARGUMENT);
  EXPECT_EQ(api->verify_weights(nullptr), INGOT_INVALID_ARGUMENT);
  api->free_output(nullptr, nullptr);
}

TEST(Model, Logs) {
  std::string line;
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  options.threads = 2;
  options.log.context = &line;
  options.log.write = [](void* context, int32_t, const char* message) {
    *static_cast<std::string*>(context) = message;
  };
  Fixture layer("layer", options);
  EXPECT_EQ(line, "model=layer level=x86-64 threads=2 weights=embedded weight_bytes=320");
}

TEST(Model, TellsAForkedChildToOpenAnew) {
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  options.threads = 1;
  Fixture layer("layer", options);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused =
        layer.api->run(layer.model, nullptr, 0, nullptr, 0, nullptr) == INGOT_INVALID_ARGUMENT &&
        strstr(layer.api->last_error(), "open it anew after fork()") != nullptr;
    layer.api->close(layer.model);
    ingot_model* anew = nullptr;
    const bool opened = layer.api->open(nullptr, &anew) == INGOT_OK;
    layer.api->close(anew);
    _exit(refused && opened ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The file's dynamic symbols and the versions that it needs, read as the ELF specification says.
struct Dynamic {
  std::vector<std::string> exported, needed, versions;
};

Dynamic read_dynamic(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), bytes.data() + header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  Dynamic dynamic;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_link >= sections.size()) continue;
    const char* names = bytes.data() + sections[section.sh_link].sh_offset;
    const char* data = bytes.data() + section.sh_offset;
    if (section.sh_type == SHT_DYNSYM) {
      for (size_t i = 0; i < section.sh_size; i += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, data + i, sizeof symbol);
        if (symbol.st_shndx != SHN_UNDEF) dynamic.exported.emplace_back(names + symbol.st_name);
      }
    } else if (section.sh_type == SHT_DYNAMIC) {
      for (size_t i = 0; i < section.sh_size; i += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        std::memcpy(&entry, data + i, sizeof entry);
        if (entry.d_tag == DT_NEEDED) dynamic.needed.emplace_back(names + entry.d_un.d_val);
      }
    } else if (section.sh_type == SHT_GNU_verneed) {
      Elf64_Verneed need;
      for (const char* at = data;; at += need.vn_next) {
        std::memcpy(&need, at, sizeof need);
        Elf64_Vernaux version;
        for (const char* aux = at + need.vn_aux;; aux += version.vna_next) {
          std::memcpy(&version, aux, sizeof version);
          dynamic.versions.emplace_back(names + version.vna_name);
          if (version.vna_next == 0) break;
        }
        if (need.vn_next == 0) break;
      }
    }
  }
  return dynamic;
}

TEST(Library, ExportsItsEntryAlone) {
  EXPECT_EQ(read_dynamic(fixture_path("layer")).exported,
            std::vector<std::string>{"ingot_model_v1"});
}

#if !defined(INGOT_SANITIZED) && defined(__x86_64__)
TEST(Library, NeedsLibcAlone) {
  for (const std::string& library : read_dynamic(fixture_path("layer")).needed) {
    EXPECT_TRUE(library == "libc.so.6" || library == "libm.so.6" || library == "libpthread.so.0" ||
                library == "ld-linux-x86-64.so.2")
        << library;
  }
}

// glibc 2.17 is of 2012; the system of the build is much newer.
TEST(Library, NeedsNoNewerGlibcThan217) {
  for (const std::string& version : read_dynamic(fixture_path("layer")).versions) {
    int major = 0, minor = 0;
    ASSERT_GE(sscanf(version.c_str(), "GLIBC_%d.%d", &major, &minor), 2) << version;
    EXPECT_TRUE(major == 2 && minor <= 17) << version;
  }
}
#endif

}  // namespace
}  // namespace ingot::artifact
