// cli/command.h: what the commands of the program share: their table, output, errors, interrupts.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace ingot::cli {

using Json = nlohmann::ordered_json;

/// Exit status 1: the check did not hold (verify, conformance).
inline constexpr int kCheckFailed = 1;

/// One command: adds its options to `app` and returns what runs it. The state of the options lives
/// in the returned function. An Error becomes its exit status and a line on stderr.
using Run = std::function<Result<int>()>;
using Setup = Run (*)(CLI::App& app);

struct Command {
  const char* name;
  const char* summary;
  const char* example;  // shown by -h
  Setup setup;
};

Run setup_bench(CLI::App& app);
Run setup_compile(CLI::App& app);
Run setup_conformance(CLI::App& app);
Run setup_doctor(CLI::App& app);
Run setup_inspect(CLI::App& app);
Run setup_run(CLI::App& app);
Run setup_verify(CLI::App& app);

/// Prints to stdout: text for people, or one JSON document and nothing else.
void print(const std::string& text);
void print(const Json& json);

/// A line on stderr: "ingot: warning: ...".
void warn(const std::string& text);

/// While it lives, SIGINT and SIGTERM end the program at once: for work that cannot look whether it
/// was interrupted.
class EndsAtOnce {
 public:
  EndsAtOnce();
  ~EndsAtOnce();
  EndsAtOnce(const EndsAtOnce&) = delete;
  EndsAtOnce& operator=(const EndsAtOnce&) = delete;
};

/// Turns true at the first SIGINT or SIGTERM; commands that take long look at it.
const std::atomic<bool>& interrupted();
/// The same as an int, for ingot_run_options::cancel.
const volatile int* interrupted_flag();

/// Where caches go: INGOT_CACHE_DIR, or the user's cache folder. Empty if there is neither.
std::filesystem::path cache_folder();
/// INGOT_CXX, or empty.
std::string requested_compiler();

}  // namespace ingot::cli
