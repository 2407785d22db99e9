// target/target.h: what a machine is that code is made for, as a value with a text form.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot {

/// An x86-64 instruction set level of the psABI. Each includes those before it.
/// Source: System V Application Binary Interface, x86-64 psABI, section "Micro-Architecture
/// Levels".
enum class CpuLevel : uint8_t { v1, v3, v4 };

/// What the compiler and the loader know about a level.
struct CpuLevelInfo {
  CpuLevel level;
  std::string_view name;               // "x86-64-v4"
  std::string_view march;              // for -march=
  std::string_view extra_flags;        // further compiler flags
  std::string_view prelude_namespace;  // in codegen/prelude/cpu/types.h
  uint64_t feature_bits;               // of artifact/cpu.h
};

inline constexpr std::array kCpuLevels = {
    CpuLevelInfo{CpuLevel::v1, "x86-64", "x86-64", "", "v1", 0},
    CpuLevelInfo{CpuLevel::v3, "x86-64-v3", "x86-64-v3", "", "v3", 3},
    CpuLevelInfo{CpuLevel::v4, "x86-64-v4", "x86-64-v4", "-mprefer-vector-width=512", "v4", 7},
};

static_assert(
    [] {
      for (size_t k = 0; k < kCpuLevels.size(); ++k) {
        if (kCpuLevels[k].level != static_cast<CpuLevel>(k)) return false;
      }
      return true;
    }(),
    "the rows stand in the order of CpuLevel: info() counts on it");

constexpr const CpuLevelInfo& info(CpuLevel level) {
  return kCpuLevels[static_cast<size_t>(level)];
}

/// A target: so far a CPU with one or more levels, best first.
struct Target {
  std::vector<CpuLevel> levels;
  friend bool operator==(const Target&, const Target&) = default;
};

/// "cpu:x86-64-v4,x86-64-v3"; parse_target reads it back.
std::string to_text(const Target& target);

/// A target from the values of `--target` ("cpu") and `--cpu` ("native", "x86-64-v3", ...; none:
/// native). Errors: invalid_argument that lists the names; unsupported for the GPU targets that the
/// command line names but this version cannot build.
Result<Target> make_target(std::string_view kind, std::span<const std::string> cpus);
Result<Target> parse_target(std::string_view text);

/// The values of `--cpu`, for help and messages: "native, x86-64, x86-64-v3, x86-64-v4".
std::string cpu_names();

/// The best level that this machine and its operating system can run.
CpuLevel host_level();

}  // namespace ingot
