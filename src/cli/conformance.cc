// cli/conformance.cc: ingot conformance: cases side by side, each in a process of its own.
#include <fcntl.h>
#include <poll.h>
#include <regex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/conformance_case.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> folders;
  std::string filter, json;
  int jobs = 0;
  bool by_op = false;
  Tolerance tolerance{1e-3, 1e-7};
  double timeout = 120;
  CompileArguments compile;
};

/// Time between the request to end and the end, for a case that hangs.
constexpr double kGrace = 2;
/// How often the clock and the interrupt flag are looked at.
constexpr int kPollMs = 50;
/// Bytes of a crashed case's last words that go into its message.
constexpr size_t kMostWords = 600;

/// An extended POSIX regular expression.
class Pattern {
 public:
  static Result<Pattern> compile(const std::string& text) {
    Pattern pattern;
    const int failed = ::regcomp(&*pattern.regex_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (failed == 0) return pattern;
    char reason[200];
    ::regerror(failed, &*pattern.regex_, reason, sizeof(reason));
    pattern.regex_.reset();
    return invalid_argument("--filter: expected a regular expression, got '", text, "': ", reason);
  }
  Pattern(Pattern&& other) noexcept : regex_(std::exchange(other.regex_, {})) {}
  Pattern& operator=(Pattern&&) = delete;
  ~Pattern() {
    if (regex_) ::regfree(&*regex_);
  }
  bool matches(const std::string& text) const {
    return ::regexec(&*regex_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  Pattern() : regex_(std::in_place) {}
  std::optional<regex_t> regex_;
};

// ---- cases -------------------------------------------------------------------------------------

/// Folders with a model.onnx at or below those given, sorted. Errors: io, invalid_argument.
Result<std::vector<fs::path>> find_cases(const Options& options) {
  std::optional<Pattern> filter;
  if (!options.filter.empty()) {
    TRY(Pattern pattern, Pattern::compile(options.filter));
    filter.emplace(std::move(pattern));
  }
  std::vector<fs::path> cases;
  const auto consider = [&](const fs::path& folder) {
    std::error_code failed;
    if (!fs::exists(folder / "model.onnx", failed)) return;
    const std::string name = fs::weakly_canonical(folder, failed).filename().string();
    if (!filter || filter->matches(name)) cases.push_back(folder);
  };
  for (const std::string& text : options.folders) {
    std::error_code failed;
    if (!fs::is_directory(text, failed)) return io_error(text, ": expected a folder of cases");
    consider(text);
    fs::recursive_directory_iterator all(text, failed);
    if (failed) return io_error(text, ": cannot be read: ", failed.message());
    for (; all != fs::recursive_directory_iterator(); all.increment(failed)) {
      if (failed) return io_error(text, ": cannot be read: ", failed.message());
      if (all->is_directory(failed)) consider(all->path());
    }
  }
  std::ranges::sort(cases);
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  if (cases.empty()) {
    return invalid_argument(
        join(options.folders, ", "), ": no folder with a model.onnx",
        options.filter.empty() ? "" : concat(" that --filter '", options.filter, "' matches"));
  }
  return cases;
}

std::string case_name(const fs::path& folder) {
  std::error_code failed;
  return fs::weakly_canonical(folder, failed).filename().string();
}

// ---- processes ---------------------------------------------------------------------------------

/// One case in a process of its own.
struct Worker {
  size_t index = 0;
  pid_t process = 0;
  int pipe = -1;
  fs::path folder;  // its temporary files, what it says on stderr
  std::string answer;
  Clock::time_point start;
  bool asked_to_end = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The result of a case in a process of its own. What is thrown ends that here: the frames above,
/// and the temporary folder that they own, are the parent's.
CaseResult run_alone(const fs::path& folder, const CompileOptions& compile,
                     const Tolerance& tolerance) {
  try {
    return run_case(folder, compile, tolerance);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(stderr);
    ::_exit(exit_status(Code::kInternal));
  }
}

/// Never returns: runs the case and writes its result as JSON to `pipe`.
[[noreturn]] void be_worker(const fs::path& folder, const fs::path& temporary, int pipe,
                            const CompileOptions& compile, const Tolerance& tolerance) {
  // What a crash leaves behind goes with the parent's folder.
  ::setenv("TMPDIR", temporary.c_str(), 1);
  if (std::freopen((temporary / "stderr").c_str(), "w", stderr) == nullptr) ::_exit(1);
  const CaseResult result = run_alone(folder, compile, tolerance);
  const Json json = {{"status", std::string(to_text(result.status))},
                     {"op", result.op},
                     {"opset", result.opset},
                     {"message", result.message}};
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(pipe, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) done += static_cast<size_t>(count);
  }
  ::_exit(0);
}

Result<Worker> start_worker(size_t index, const fs::path& folder, const fs::path& temporary,
                            const CompileOptions& compile, const Tolerance& tolerance) {
  Worker worker;
  worker.index = index;
  worker.folder = temporary / concat(index);
  std::error_code failed;
  fs::create_directories(worker.folder, failed);
  if (failed) return system_error(worker.folder, "be made", failed.value());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return resource_exhausted("conformance: cannot make a pipe: ", std::strerror(errno));
  }
  worker.start = Clock::now();
  worker.process = ::fork();
  if (worker.process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return resource_exhausted("conformance: cannot fork: ", std::strerror(errno));
  }
  if (worker.process == 0) {
    ::close(ends[0]);
    be_worker(folder, worker.folder, ends[1], compile, tolerance);
  }
  ::close(ends[1]);
  worker.pipe = ends[0];
  return worker;
}

std::string last_words(const fs::path& folder) {
  const auto text = read_text(folder / "stderr");
  if (!text) return {};
  const std::string_view words = trim(*text);
  return std::string(words.substr(words.size() - std::min(words.size(), kMostWords)));
}

/// Waits for a worker whose pipe has closed and makes a result of what it said.
CaseResult finish_worker(Worker& worker, double timeout) {
  ::close(worker.pipe);
  int status = 0;
  while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
  }
  const Json json = Json::parse(worker.answer, nullptr, false);
  CaseResult result;
  if (json.is_object() && json.contains("status") && !worker.asked_to_end) {
    result.status =
        case_status_from_text(json["status"].get<std::string>()).value_or(CaseStatus::crash);
    result.op = json.value("op", "");
    result.opset = json.value("opset", int64_t{0});
    result.message = json.value("message", "");
  } else {
    result.status = CaseStatus::crash;
    result.message = worker.asked_to_end   ? concat("still running after ", timeout, " s")
                     : WIFSIGNALED(status) ? concat("ended by ", strsignal(WTERMSIG(status)))
                                           : concat("ended with status ", WEXITSTATUS(status));
    const std::string words = last_words(worker.folder);
    if (!words.empty()) result.message += concat(": ", words);
  }
  std::error_code ignored;
  fs::remove_all(worker.folder, ignored);
  return result;
}

class Runner {
 public:
  Runner(const Options& options, const CompileOptions& compile, std::vector<fs::path> cases,
         fs::path temporary)
      : options_(options),
        compile_(compile),
        cases_(std::move(cases)),
        temporary_(std::move(temporary)),
        results_(cases_.size()) {}

  Result<std::vector<CaseResult>> run() {
    const auto jobs = static_cast<size_t>(options_.jobs > 0 ? options_.jobs : available_cpus());
    size_t next = 0;
    std::optional<Error> failed;
    while ((next < cases_.size() && !failed) || !workers_.empty()) {
      while (!failed && !interrupted() && next < cases_.size() && workers_.size() < jobs) {
        auto worker = start_worker(next, cases_[next], temporary_, compile_, options_.tolerance);
        ++next;
        if (worker) {
          workers_.push_back(std::move(*worker));
        } else {
          failed = worker.error();
        }
      }
      if (interrupted()) failed = cancelled("conformance: interrupted");
      end_late_ones(failed.has_value());
      listen();
    }
    if (failed) return *failed;
    return std::move(results_);
  }

 private:
  /// Asks workers beyond the time limit to end, and then makes them.
  void end_late_ones(bool all) {
    for (Worker& worker : workers_) {
      const double passed = seconds_since(worker.start);
      const bool late = all || passed > options_.timeout;
      if (late && !worker.asked_to_end) {
        ::kill(worker.process, SIGTERM);  // it ends its compiler then
        worker.asked_to_end = true;
        worker.start = Clock::now() - std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double>(options_.timeout));
      } else if (worker.asked_to_end && passed > options_.timeout + kGrace) {
        ::kill(worker.process, SIGKILL);
      }
    }
  }

  void listen() {
    std::vector<pollfd> waiting;
    for (const Worker& worker : workers_) waiting.push_back({worker.pipe, POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), kPollMs) <= 0) return;
    for (size_t k = workers_.size(); k-- > 0;) {
      if (waiting[k].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = ::read(workers_[k].pipe, buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count > 0) {
        workers_[k].answer.append(buffer, static_cast<size_t>(count));
        continue;
      }
      results_[workers_[k].index] = finish_worker(workers_[k], options_.timeout);
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(k));
      ++done_;
      progress_.update(static_cast<double>(done_) / static_cast<double>(cases_.size()),
                       concat(done_, " of ", cases_.size(), " cases"));
    }
  }

  const Options& options_;
  const CompileOptions& compile_;
  std::vector<fs::path> cases_;
  fs::path temporary_;
  std::vector<CaseResult> results_;
  std::vector<Worker> workers_;
  Progress progress_;
  size_t done_ = 0;
};

// ---- report ------------------------------------------------------------------------------------

/// Cases by status.
struct Counts {
  std::array<int64_t, 4> by_status{};
  int64_t& operator[](CaseStatus status) { return by_status[static_cast<size_t>(status)]; }
  void add_to(Json& json) const {
    for (size_t k = 0; k < by_status.size(); ++k) {
      json[std::string(to_text(static_cast<CaseStatus>(k)))] = by_status[k];
    }
  }
  std::string text() const {
    std::vector<std::string> parts;
    for (size_t k = 0; k < by_status.size(); ++k) {
      parts.push_back(concat(by_status[k], " ", to_text(static_cast<CaseStatus>(k))));
    }
    return join(parts, ", ");
  }
};

Result<int> run(const Options& options) {
  if (options.jobs < 0) return invalid_argument("--jobs: expected 0 or more, got ", options.jobs);
  if (!options.json.empty()) TRY_STATUS(check_json_output(options.json));
  TRY(std::vector<fs::path> cases, find_cases(options));
  TRY(CompileOptions compile, options.compile.parse());
  compile.threads = 1;
  TRY(const TempDir temporary, TempDir::create());
  const auto start = Clock::now();
  TRY(const std::vector<CaseResult> results,
      Runner(options, compile, cases, temporary.path()).run());

  Counts total;
  std::map<std::string, Counts> by_op;
  Json list = Json::array();
  std::string text;
  for (size_t k = 0; k < results.size(); ++k) {
    const CaseResult& result = results[k];
    const std::string name = case_name(cases[k]);
    ++total[result.status];
    ++by_op[result.op][result.status];
    list.push_back({{"name", name},
                    {"status", std::string(to_text(result.status))},
                    {"op", result.op},
                    {"opset", result.opset},
                    {"message", result.message}});
    if (result.status != CaseStatus::pass) {
      text += concat(to_text(result.status), " ", name, ": ", result.message, "\n");
    }
  }
  const auto count = static_cast<int64_t>(results.size());
  Json json = {{"total", count}};
  total.add_to(json);
  json["seconds"] = seconds_since(start);
  Json ops = Json::object();
  for (const auto& [op, counts] : by_op) {
    counts.add_to(ops[op]);
    if (options.by_op) text += concat(op, ": ", counts.text(), "\n");
  }
  if (options.by_op) json["by_op"] = std::move(ops);
  json["cases"] = std::move(list);
  if (!options.json.empty()) {
    TRY_STATUS(write_json(options.json, json, 1));
  }
  print(concat(text, count, " cases: ", total.text(), "\n"));
  return total[CaseStatus::pass] == count ? 0 : kCheckFailed;
}

}  // namespace

Run setup_conformance(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("folders", options->folders, "cases, or folders above cases")->required();
  app.add_option("--filter", options->filter, "only cases whose name this expression matches");
  app.add_option("--jobs", options->jobs, "cases at once; 0: one per processor")
      ->capture_default_str();
  app.add_flag("--by-op", options->by_op, "count by operator");
  app.add_option("--rtol", options->tolerance.relative, "of the expected value")
      ->capture_default_str();
  app.add_option("--atol", options->tolerance.absolute, "of any value")->capture_default_str();
  app.add_option("--timeout", options->timeout, "seconds after which a case counts as crashed")
      ->capture_default_str();
  app.add_option("--json", options->json, "a JSON file for the results");
  app.add_option("--cpu", options->compile.cpus, "native, x86-64, x86-64-v3 or x86-64-v4")
      ->allow_extra_args(false);
  app.add_option("--disable-pass", options->compile.disabled, "leave out a pass or rule")
      ->allow_extra_args(false);
  return [options] { return run(*options); };
}

}  // namespace ingot::cli
