// target/target.cc: names of targets, and what this machine can run.
#include "target/target.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {
namespace {

Result<CpuLevel> parse_level(std::string_view name) {
  if (name == "native") return host_level();
  for (const CpuLevelInfo& row : kCpuLevels) {
    if (row.name == name) return row.level;
  }
  return invalid_argument("--cpu: expected ", cpu_names(), ", got '", name, "'");
}

}  // namespace

std::string cpu_names() {
  std::vector<std::string_view> names = {"native"};
  for (const CpuLevelInfo& row : kCpuLevels) names.push_back(row.name);
  return join(names, ", ");
}

std::string to_text(const Target& target) {
  std::vector<std::string_view> names;
  for (CpuLevel level : target.levels) names.push_back(info(level).name);
  return "cpu:" + join(names, ",");
}

Result<Target> make_target(std::string_view kind, std::span<const std::string> cpus) {
  if (kind.starts_with("cuda") || kind.starts_with("hip")) {
    return unsupported("--target ", kind,
                       ": this version writes GPU kernels but not yet whole GPU models; use cpu");
  }
  if (kind != "cpu") {
    return invalid_argument("--target: expected cpu, cuda:ARCH or hip:ARCH, got '", kind, "'");
  }
  Target target;
  for (const std::string& name : cpus) {
    TRY(const CpuLevel level, parse_level(name));
    if (std::ranges::find(target.levels, level) == target.levels.end()) {
      target.levels.push_back(level);
    }
  }
  if (target.levels.empty()) target.levels.push_back(host_level());
  std::ranges::sort(target.levels, std::greater<>());
  return target;
}

Result<Target> parse_target(std::string_view text) {
  const size_t colon = text.find(':');
  std::vector<std::string> cpus;
  if (colon != std::string_view::npos && text.starts_with("cpu")) {
    for (std::string_view name : split(text.substr(colon + 1), ',')) cpus.emplace_back(name);
    text = text.substr(0, colon);
  }
  return make_target(text, cpus);
}

CpuLevel host_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return CpuLevel::v4;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return CpuLevel::v3;
  }
#endif
  return CpuLevel::v1;
}

}  // namespace ingot
