// tests/gpu/modes.h: the ways in which generated GPU code is run in the emulator.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

#include "codegen/dialect.h"

namespace ingot {

/// A dialect, plainly or with every check of the emulator.
struct NamedMode {
  const char* name;
  const Dialect& (*dialect)();
  bool check;
};

inline void PrintTo(const NamedMode& mode, std::ostream* out) {
  *out << mode.name;
}

inline std::string mode_name(const testing::TestParamInfo<NamedMode>& info) {
  return info.param.name;
}

inline constexpr std::array kModes = {
    NamedMode{"cuda_fast", cuda_dialect, false}, NamedMode{"cuda_check", cuda_dialect, true},
    NamedMode{"hip_fast", hip_dialect, false}, NamedMode{"hip_check", hip_dialect, true}};

}  // namespace ingot
