// cli/main.cc: the program `ingot`: its commands, errors and exit statuses.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <new>
#include <stdexcept>

#include "base/check.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command.h"

namespace ingot::cli {
namespace {

constexpr Command kCommands[] = {
    {"compile", "make a shared library of a model", "ingot compile model.onnx -o model.so",
     setup_compile},
    {"run", "run a compiled model once", "ingot run model.so --random 1 --dim batch=1 --print",
     setup_run},
    {"bench", "measure latency and throughput", "ingot bench model.so --dim batch=1 --threads 1",
     setup_bench},
    {"verify", "compare compiled results with the fp64 reference",
     "ingot verify model.onnx --random 1 --dim batch=2", setup_verify},
    {"conformance", "run test cases in the form of the ONNX backend suite",
     "ingot conformance onnx/backend/test/data/node --jobs 2", setup_conformance},
    {"inspect", "show what is in a model or a compiled model", "ingot inspect model.onnx",
     setup_inspect},
    {"doctor", "show compilers, processor and folders, and what is missing", "ingot doctor",
     setup_doctor},
};

std::atomic<bool> interrupt_seen = false;
volatile int interrupt_flag = 0;

extern "C" void on_interrupt(int) {
  interrupt_seen = true;
  interrupt_flag = 1;
  // A second one ends the program at once.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

/// A mistake of the program: on its way out what it holds of files goes, as with any other error.
void end_with_failure(const CheckFailure& failure) {
  throw std::logic_error(concat("this is a bug of ingot: ", failure.message,
                                failure.dump.empty() ? "" : "\n", failure.dump));
}

int report(const Error& error) {
  std::fprintf(stderr, "ingot: %s\n", to_text(error).c_str());
  return exit_status(error.code);
}

/// `status`, unless what was printed could not be written.
int finish_output(int status) {
  const bool failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed) return status;
  return report(system_error("stdout", "write", errno));
}

/// What each exit status means, for people: "2 invalid argument, 3 unsupported, ...".
std::string exit_statuses() {
  std::map<int, std::vector<std::string>> names = {{0, {"fine"}}, {1, {"a check did not hold"}}};
  const auto add = [&](std::string name, int status) {
    std::ranges::replace(name, '_', ' ');
    names[status].push_back(std::move(name));
  };
#define INGOT_ERROR_CODE(enumerator, name, c_status, exit, ...) add(name, exit);
#include "base/error.def"
#undef INGOT_ERROR_CODE
  std::vector<std::string> lines;
  for (const auto& [status, meanings] : names) {
    lines.push_back(fmt::format("  {:>3}  {}", status, join(meanings, ", ")));
  }
  return join(lines, "\n");
}

/// The first word that should be a command is one; other mistakes are the parser's to tell.
Status check_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return ok();
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  if (std::ranges::find(names, argv[1]) != names.end()) return ok();
  return invalid_argument("expected one of the commands ", join(names, ", "), ", got '", argv[1],
                          "'");
}

int run_program(int argc, char** argv) {
  CLI::App app("Casts trained networks into native code.", "ingot");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ingot 0.1");
  app.footer(
      std::string("Example:\n  ingot compile model.onnx -o model.so\n  ingot run model.so --random "
                  "1 --print\n") +
      "\n`ingot COMMAND -h` tells more.\n\nExit status:\n" + exit_statuses() +
      "\n\nEnvironment:\n"
      "  INGOT_CACHE_DIR  where compiled code is kept; otherwise ingot/ in the user's cache "
      "folder\n"
      "  INGOT_CXX        the compiler of generated code; otherwise g++ or clang++, as found");
  std::vector<std::pair<CLI::App*, Run>> runs;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer(concat("Example:\n  ", command.example));
    runs.emplace_back(sub, command.setup(*sub));
  }
  if (const Status known = check_command(argc, argv); !known) return report(known.error());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "ingot: %s\nRun with --help for more information.\n", error.what());
    return exit_status(Code::kInvalidArgument);
  }
  for (const auto& [sub, run] : runs) {
    if (!sub->parsed()) continue;
    const auto status = run();
    if (status) return finish_output(*status);
    if (interrupted()) {
      std::fputs("ingot: interrupted\n", stderr);
      return exit_status(Code::kCancelled);
    }
    return report(status.error());
  }
  return exit_status(Code::kInternal);
}

}  // namespace

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print(const Json& json) {
  print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void warn(const std::string& text) {
  std::fprintf(stderr, "ingot: warning: %s\n", text.c_str());
}

EndsAtOnce::EndsAtOnce() {
  if (interrupted()) return;  // the next one does already
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}
EndsAtOnce::~EndsAtOnce() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

const std::atomic<bool>& interrupted() {
  return interrupt_seen;
}
const volatile int* interrupted_flag() {
  return &interrupt_flag;
}

std::filesystem::path cache_folder() {
  if (const char* chosen = std::getenv("INGOT_CACHE_DIR"); chosen != nullptr && *chosen != 0) {
    return chosen;
  }
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && *xdg != 0) return std::filesystem::path(xdg) / "ingot";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != 0) return std::filesystem::path(home) / ".cache/ingot";
  return {};
}

std::string requested_compiler() {
  const char* chosen = std::getenv("INGOT_CXX");
  return chosen == nullptr ? "" : chosen;
}

}  // namespace ingot::cli

int main(int argc, char** argv) {
  std::signal(SIGINT, ingot::cli::on_interrupt);
  std::signal(SIGTERM, ingot::cli::on_interrupt);
  // A terminal that goes away; nohup has it ignored.
  if (std::signal(SIGHUP, ingot::cli::on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit is an error like a full disk
  ingot::set_check_handler(ingot::cli::end_with_failure);
  try {
    return ingot::cli::run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("ingot: out of memory\n", stderr);
    return ingot::exit_status(ingot::Code::kResourceExhausted);
  } catch (const std::exception& error) {  // of a library: ours come as values
    std::fprintf(stderr, "ingot: %s\n", error.what());
    return ingot::exit_status(ingot::Code::kInternal);
  }
}
