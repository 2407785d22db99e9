// cli/doctor.cc: ingot doctor.
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "base/threads.h"
#include "cli/command.h"
#include "codegen/toolchain.h"
#include "target/target.h"

namespace ingot::cli {
namespace {

/// A line of the report. What is optional may be missing.
struct Finding {
  enum class State : uint8_t { good, missing, bad } state = State::good;
  std::string what;
  std::string text;
};
using State = Finding::State;

std::string_view to_text(State state) {
  switch (state) {
    case State::good:
      return "ok";
    case State::missing:
      return "-";
    case State::bad:
      return "BAD";
  }
  return "";
}

Finding compiler(const std::string& command) {
  auto found = find_toolchain(command);
  const std::string what = command.empty() ? "compiler" : "INGOT_CXX";
  if (!found) return {State::bad, what, ingot::to_text(found.error())};
  std::string text = concat(found->command, " (", found->version, ")");
  // Measured: it crashes in its optimiser on the matrix product's tiles.
  const bool bad = found->family == Toolchain::Family::clang && found->major == 16;
  if (bad) text += ": clang 16 is known to crash on generated code; use another";
  return {bad ? State::bad : State::good, what, text};
}

/// Another compiler that could be named in INGOT_CXX.
Finding other_compiler(const char* command, std::string_view package) {
  auto found = find_toolchain(command);
  if (found) return {State::good, command, concat(found->version)};
  return {State::missing, command, concat("not needed; Debian: apt install ", package)};
}

/// A program on the path; the one that is found, or none.
std::string find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0) return file.string();
  }
  return {};
}

/// GPU code is only emitted as text so far, so that these are for people who compile it.
Finding gpu_tool(const char* name, std::string_view how) {
  const std::string found = find_program(name);
  if (!found.empty()) return {State::good, name, found};
  return {State::missing, name, concat("not needed; ", how)};
}

Finding processor() {
  std::vector<std::string_view> features;
#if defined(__x86_64__)
  const auto add = [&](std::string_view name, int there) {
    if (there != 0) features.push_back(name);
  };
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512vnni", __builtin_cpu_supports("avx512vnni"));
  add("avx512bf16", __builtin_cpu_supports("avx512bf16"));
#endif
  return {State::good, "processor",
          concat(info(host_level()).name, ", ", available_cpus(), " processors, ",
                 features.empty() ? "no vectors beyond the baseline" : join(features, " "))};
}

Finding cache() {
  const auto folder = cache_folder();
  if (folder.empty()) return {State::bad, "cache", "no folder: set INGOT_CACHE_DIR or HOME"};
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed || ::access(folder.c_str(), W_OK) != 0) {
    return {State::bad, "cache",
            concat(folder.string(), ": cannot be written; set INGOT_CACHE_DIR")};
  }
  return {State::good, "cache", folder.string()};
}

Result<int> run(bool json) {
  const std::vector<Finding> findings = {
      {State::good, "ingot", "0.1"},
      compiler(requested_compiler()),
      other_compiler("g++", "g++"),
      other_compiler("clang++", "clang"),
      processor(),
      cache(),
      gpu_tool("nvcc", "NVIDIA's CUDA toolkit has it"),
      gpu_tool("hipcc", "Debian: apt install hipcc"),
  };
  Json all = Json::array();
  std::string text;
  bool good = true;
  for (const Finding& f : findings) {
    good &= f.state != State::bad;
    all.push_back({{"what", f.what},
                   {"ok", f.state == State::good},
                   {"needed", f.state != State::missing},
                   {"text", f.text}});
    text += fmt::format("{:<12} {:<4} {}\n", f.what, to_text(f.state), f.text);
  }
  if (json) {
    print(Json{{"ok", good}, {"version", "0.1"}, {"findings", all}});
  } else {
    print(text);
  }
  return good ? 0 : exit_status(Code::kToolchain);
}

}  // namespace

Run setup_doctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print the result as JSON");
  return [json] { return run(*json); };
}

}  // namespace ingot::cli
