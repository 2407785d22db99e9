// codegen/process.cc: posix_spawn, a pipe for the output, and a poll so that it can be cancelled.
#include "codegen/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

extern char** environ;

namespace ingot {
namespace {

constexpr size_t kMostOutput = size_t{64} << 10;
/// How often a cancel flag is looked at while the program is silent.
constexpr int kPollMs = 20;
/// How long a program that was asked to end may take to remove its temporary files.
constexpr std::chrono::seconds kGrace(2);

/// Closes a file descriptor when it goes.
struct Descriptor {
  int fd = -1;
  ~Descriptor() { close_now(); }
  void close_now() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

/// This process's environment with another folder for temporary files; empty: as it is.
std::vector<std::string> environment_with(const std::filesystem::path& temporary) {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (temporary.empty() || !text.starts_with("TMPDIR=")) variables.emplace_back(text);
  }
  if (!temporary.empty()) variables.push_back("TMPDIR=" + temporary.string());
  return variables;
}

/// Pointers as posix_spawn wants them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& arguments,
                                  const ProcessOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return resource_exhausted(arguments[0], ": cannot make a pipe: ", std::strerror(errno));
  }
  Descriptor reader{ends[0]}, writer{ends[1]};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writer.fd, 1);
  posix_spawn_file_actions_adddup2(&actions, writer.fd, 2);
  if (!options.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  }
  // A group of its own: a compiler driver is ended together with the programs that it started.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t reset;
  sigemptyset(&reset);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&reset, signal);
  posix_spawnattr_setsigdefault(&attributes, &reset);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  const std::vector<char*> argv = pointers_to(arguments);
  // What a compiler that was ended leaves behind goes with the folder.
  const std::vector<std::string> variables = environment_with(options.directory);
  const std::vector<char*> environment = pointers_to(variables);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  writer.close_now();
  if (failed != 0) {
    return toolchain_error(arguments[0], ": cannot be started: ", std::strerror(failed));
  }

  ProcessResult result;
  std::optional<std::chrono::steady_clock::time_point> asked_to_end;
  char buffer[4096];
  for (;;) {
    if (options.cancel != nullptr && options.cancel->load()) {
      const auto now = std::chrono::steady_clock::now();
      if (!asked_to_end) {
        asked_to_end = now;
        ::kill(-child, SIGTERM);
      } else if (now - *asked_to_end > kGrace) {
        ::kill(-child, SIGKILL);
      }
    }
    pollfd waiting{reader.fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kPollMs);
    if (ready <= 0) continue;
    const ssize_t count = ::read(reader.fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const size_t room = kMostOutput - std::min(kMostOutput, result.output.size());
    result.output.append(buffer, std::min(static_cast<size_t>(count), room));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (asked_to_end) return cancelled(arguments[0], ": cancelled");
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace ingot
