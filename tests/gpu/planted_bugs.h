// tests/gpu/planted_bugs.h: small kernels with one mistake each, and their harmless twins.
#pragma once

#include <span>

namespace ingot::emu {

/// Memory that the kernels work on.
struct BugBuffers {
  float* x;           // 100 device floats with values
  float* y;           // 128 device floats with values
  float* fresh;       // 64 device floats that hold nothing yet
  const float* host;  // 64 floats the device must not touch
};

struct PlantedBug {
  const char* name;
  const char* kind;  // of the report that must appear; null for a harmless twin
  void (*run)(const BugBuffers& buffers);
};

/// All of them. The kernels must be compiled with -fsanitize=thread for these to be found.
std::span<const PlantedBug> planted_bugs();

}  // namespace ingot::emu
