// tests/gpu/emulator/report.cc: findings in words, with source lines.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "machine.h"

namespace ingot::emu {
namespace {

std::string base_name(std::string path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// file:line of a return address, by addr2line on the module that holds it.
std::string line_of(const void* pc) {
  Dl_info info;
  if (!dladdr(pc, &info) || info.dli_fname == nullptr) return "?";
  // An executable that is not position-independent is linked at its run-time address.
  const auto at = reinterpret_cast<uintptr_t>(pc) - 1;
  const auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
  const uintptr_t offset = base < 0x1000000 ? at : at - base;
  char command[1200];
  // The main program's name may be relative to a folder that has been left.
  const bool is_program = info.dli_fname[0] != '/';
  std::snprintf(command, sizeof command, "addr2line -e '%s' 0x%zx 2>/dev/null",
                is_program ? "/proc/self/exe" : info.dli_fname, static_cast<size_t>(offset));
  if (is_program) {
    char program[1000];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    std::snprintf(command, sizeof command, "addr2line -e '%s' 0x%zx 2>/dev/null", program,
                  static_cast<size_t>(offset));
  }
  char line[512] = "?";
  if (FILE* pipe = popen(command, "r")) {
    if (std::fgets(line, sizeof line, pipe) == nullptr) std::strcpy(line, "?");
    pclose(pipe);
  }
  line[std::strcspn(line, "\n")] = 0;
  return base_name(line);
}

}  // namespace

std::vector<Report>& reports() {
  static std::vector<Report> all;
  return all;
}

void report(const char* kind, const char* format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (const Report& known : reports()) {
    if (known.kind == kind && known.text == text) return;
  }
  if (reports().size() < config().max_reports) reports().push_back({kind, text});
}

std::string to_text(const Location& location) {
  return base_name(location.file_name()) + ":" + std::to_string(location.line());
}

std::string site_of(const Access& access) {
  if (access.location != nullptr) return to_text(*access.location);
  static std::unordered_map<const void*, std::string> known;
  const auto [entry, is_new] = known.try_emplace(access.pc);
  if (is_new) entry->second = line_of(access.pc);
  return entry->second;
}

}  // namespace ingot::emu
