// fuzz/driver.cc: runs a libFuzzer harness without libFuzzer: mutated seeds, a fixed number of
// times.
//
// Usage: fuzz_NAME RUNS SEED [FILE or FOLDER of seeds]...
// Run i mutates with the seed SEED + i, so a failure is repeated by `fuzz_NAME 1 SEED+i SEEDS...`,
// which a crash tells on stderr.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Called by a sanitizer before it ends the process; missing in a build without one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace ingot {
namespace {

using Bytes = std::vector<uint8_t>;

char g_repeat[64];  // how to repeat the current run; plain memory, for a signal handler

void tell_repeat() {
  // The result is of no use to a process that is about to end.
  [[maybe_unused]] const ssize_t written = ::write(2, g_repeat, std::strlen(g_repeat));
}

}  // namespace
}  // namespace ingot

// Called by UBSan in front of a report; its copy of the sanitizers' runtime knows no callback.
extern "C" void __ubsan_on_report() {
  ingot::tell_repeat();
}

namespace ingot {
namespace {

void handle_signal(int signal) {
  tell_repeat();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// The content of every file named or below a folder named, in the order of the names.
std::vector<Bytes> read_seeds(int count, char** names) {
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < count; ++i) {
    const std::filesystem::path path = names[i];
    if (!std::filesystem::is_directory(path)) {
      paths.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds = {{}};
  for (const auto& path : paths) {
    const Result<std::string> text = read_text(path);
    if (text) {
      seeds.emplace_back(text->begin(), text->end());
    } else {
      std::fprintf(stderr, "%s\n", to_text(text.error()).c_str());
    }
  }
  return seeds;
}

/// One small change: the kinds that parsers of lengths, tags and text are known to fall over.
void mutate_once(Random& random, const std::vector<Bytes>& seeds, Bytes& bytes) {
  const auto position = [&](size_t end) {
    return static_cast<ptrdiff_t>(random.range(0, static_cast<int64_t>(end)));
  };
  constexpr uint8_t kOddBytes[] = {0, 1, 0x7F, 0x80, 0xFE, 0xFF, '"', '\\', '\n', '(', ')', '{'};
  const int kind = static_cast<int>(random.range(0, 6));
  if (bytes.empty() || kind == 0) {
    bytes.insert(bytes.begin() + position(bytes.size()), random.pick(kOddBytes));
    return;
  }
  const ptrdiff_t at = position(bytes.size() - 1);
  const ptrdiff_t length = std::min(static_cast<ptrdiff_t>(bytes.size()) - at, position(32) + 1);
  switch (kind) {
    case 1:
      bytes[static_cast<size_t>(at)] ^= static_cast<uint8_t>(1 << random.range(0, 7));
      return;
    case 2:
      bytes[static_cast<size_t>(at)] = random.pick(kOddBytes);
      return;
    case 3:
      bytes.erase(bytes.begin() + at, bytes.begin() + at + length);
      return;
    case 4: {  // repeat a piece
      const Bytes piece(bytes.begin() + at, bytes.begin() + at + length);
      bytes.insert(bytes.begin() + position(bytes.size()), piece.begin(), piece.end());
      return;
    }
    case 5:
      bytes.resize(static_cast<size_t>(at));
      return;
    default: {  // the rest of another seed
      const Bytes& other = random.pick(seeds);
      bytes.resize(static_cast<size_t>(at));
      bytes.insert(bytes.end(), other.begin() + position(other.size()), other.end());
      return;
    }
  }
}

int run(int argc, char** argv) {
  const auto runs = argc > 1 ? parse_int(argv[1]) : std::nullopt;
  const auto seed = argc > 2 ? parse_int(argv[2]) : std::nullopt;
  if (!runs || !seed) {
    std::fprintf(stderr, "usage: %s RUNS SEED [FILE or FOLDER]...\n", argv[0]);
    return 2;
  }
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(&tell_repeat);
  } else {
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, &handle_signal);
  }
  const std::vector<Bytes> seeds = read_seeds(argc - 3, argv + 3);
  for (const Bytes& bytes : seeds) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  for (long long i = 0; i < *runs; ++i) {
    std::snprintf(g_repeat, sizeof(g_repeat), "repeat with: 1 %lld and the same seeds\n",
                  *seed + i);
    Random random(static_cast<uint64_t>(*seed + i));
    Bytes bytes = random.pick(seeds);
    for (int64_t change = random.range(1, 8); change > 0; --change) {
      mutate_once(random, seeds, bytes);
    }
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu seeds, %lld mutations\n", seeds.size(), *runs);
  return 0;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  return ingot::run(argc, argv);
}
