// tests/threads/run_threads.cc: runs a compiled model on many threads while its constants are
// replaced.
//
// Usage: run_threads MODEL.so. Each result must be, bit for bit, that of a run by itself with one
// of the sets of constants: a run that saw parts of two would differ. Built with ThreadSanitizer,
// which watches whatever the threads share. The exit status is 1 if anything is wrong.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ingot/ingot.h"

namespace {

using Values = std::vector<float>;

constexpr float kFactors[] = {1, 0.5f, 1.25f};  // of all constants
constexpr size_t kSets = std::size(kFactors);
constexpr int kReaders = 4;
constexpr int kRounds = 30;
// For a variable dimension: steps that are worth many threads, few and one.
constexpr int64_t kDims[] = {40, 3, 1, 17};

const ingot_model_api* g_api;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "run_threads: %s: %s\n", what.c_str(), g_api ? g_api->last_error() : "");
  std::exit(1);
}

void must(ingot_status status, const char* what) {
  if (status != INGOT_OK) fail(what);
}

/// A float tensor and its memory.
struct Owned {
  explicit Owned(std::vector<int64_t> with) : dims(std::move(with)) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    data.resize(count);
  }
  ingot_tensor tensor() {
    ingot_tensor result = INGOT_INIT(ingot_tensor);
    result.dtype = INGOT_FLOAT32;
    result.rank = static_cast<int32_t>(dims.size());
    result.data = data.data();
    result.dims = dims.data();
    return result;
  }

  std::vector<int64_t> dims;
  Values data;
};

/// An open model, with more threads than a small machine has by itself.
class Model {
 public:
  Model() {
    ingot_open_options options = INGOT_INIT(ingot_open_options);
    options.threads = 3;
    must(g_api->open(&options, &model_), "open");
  }
  ~Model() { g_api->close(model_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// All outputs, one behind the other, with `size` for variable dims.
  Values run(int64_t size) const {
    const ingot_description& all = *g_api->describe(model_);
    std::vector<Owned> owned;
    for (uint32_t k = 0; k < all.input_count; ++k) {
      owned.push_back(make(*g_api->input(model_, k), size));
      Values& data = owned.back().data;
      for (size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<float>(i * 7 % 11) / 8 - 0.5f;
      }
    }
    for (uint32_t k = 0; k < all.output_count; ++k) {
      owned.push_back(make(*g_api->output(model_, k), size));
    }
    std::vector<ingot_tensor> tensors;
    for (Owned& each : owned) tensors.push_back(each.tensor());
    must(g_api->run(model_, tensors.data(), all.input_count, tensors.data() + all.input_count,
                    all.output_count, nullptr),
         "run");
    Values result;
    for (size_t k = all.input_count; k < owned.size(); ++k) {
      result.insert(result.end(), owned[k].data.begin(), owned[k].data.end());
    }
    return result;
  }

  /// The present values of the constants that can be replaced.
  std::vector<Owned> constants() const {
    std::vector<Owned> result;
    for (uint32_t k = 0; k < g_api->describe(model_)->constant_count; ++k) {
      const ingot_constant_info& info = *g_api->constant(model_, k);
      if (!info.replaceable || info.dtype != INGOT_FLOAT32) continue;
      result.emplace_back(std::vector<int64_t>(info.dims, info.dims + info.rank));
      ingot_tensor value = result.back().tensor();
      must(g_api->get_constant(model_, info.name, &value), "get_constant");
    }
    return result;
  }

  /// Replaces them by `values` times `factor`, all at once.
  void set_constants(std::vector<Owned> values, float factor) const {
    std::vector<const char*> names;
    std::vector<ingot_tensor> tensors;
    for (uint32_t k = 0; k < g_api->describe(model_)->constant_count; ++k) {
      const ingot_constant_info& info = *g_api->constant(model_, k);
      if (!info.replaceable || info.dtype != INGOT_FLOAT32) continue;
      Owned& value = values[names.size()];
      for (float& each : value.data) each *= factor;
      names.push_back(info.name);
      tensors.push_back(value.tensor());
    }
    must(g_api->set_constants(model_, names.data(), tensors.data(),
                              static_cast<uint32_t>(names.size())),
         "set_constants");
  }

 private:
  static Owned make(const ingot_value_info& info, int64_t size) {
    if (info.dtype != INGOT_FLOAT32) fail("a value that is not float");
    std::vector<int64_t> dims;
    for (int32_t a = 0; a < info.rank; ++a) {
      dims.push_back(info.dims[a].value >= 0 ? info.dims[a].value : size);
    }
    return Owned(std::move(dims));
  }

  ingot_model* model_ = nullptr;
};

/// What comes out by itself, with the sets of constants, for a size.
struct Expected {
  int64_t size;
  std::vector<Values> of_set;
};

void check(const Model& model, const Expected& expected, size_t sets) {
  const Values got = model.run(expected.size);
  for (size_t set = 0; set < sets; ++set) {
    if (got == expected.of_set[set]) return;
  }
  fail("a result that no set of constants gives");
}

void run() {
  const Model model;
  const std::vector<Owned> original = model.constants();
  if (original.empty()) fail("no constants to replace");
  std::vector<Expected> cases;
  for (const int64_t size : kDims) cases.push_back({size, {}});
  for (const float factor : kFactors) {
    model.set_constants(original, factor);
    for (Expected& each : cases) each.of_set.push_back(model.run(each.size));
  }
  for (const Expected& each : cases) {
    if (each.of_set[0] == each.of_set[1] || each.of_set[1] == each.of_set[2]) {
      fail("constants without an effect");
    }
  }
  model.set_constants(original, 1);

  std::atomic<int> reading = kReaders;
  std::vector<std::thread> threads;
  for (int r = 0; r < kReaders; ++r) {
    threads.emplace_back([&, r] {
      for (int round = 0; round < kRounds; ++round) {
        check(model, cases[static_cast<size_t>(r + round) % cases.size()], kSets);
      }
      --reading;
    });
  }
  threads.emplace_back([&] {
    for (size_t round = 0; reading > 0; ++round) {
      model.set_constants(original, kFactors[round % kSets]);
    }
  });
  threads.emplace_back([&] {  // reads them back: none is half of one set and half of another
    while (reading > 0) {
      const std::vector<Owned> now = model.constants();
      for (size_t k = 0; k < now.size(); ++k) {
        const bool is_whole = std::ranges::any_of(kFactors, [&](float factor) {
          return std::ranges::equal(now[k].data, original[k].data, {}, {},
                                    [&](float value) { return value * factor; });
        });
        if (!is_whole) fail("a constant of no set");
      }
    }
  });
  threads.emplace_back([&] {  // another handle keeps its own
    while (reading > 0) check(Model(), cases[1], 1);
  });
  for (std::thread& thread : threads) thread.join();
}

#ifdef PLANT_A_RACE
void race() {
  int shared = 0;
  std::thread other([&] { ++shared; });
  ++shared;
  other.join();
}
#endif

}  // namespace

int main(int argc, char** argv) {
#ifdef PLANT_A_RACE
  race();
#endif
  if (argc != 2) fail("usage: run_threads MODEL.so");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  g_api = reinterpret_cast<const ingot_model_api* (*)()>(dlsym(library, "ingot_model_v1"))();
  run();
  std::puts("all runs saw one set of constants");
  return 0;
}
