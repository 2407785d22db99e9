// tests/gpu/emulator/memory.h: where kernels may read and write, and the shadow behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "emulator.h"

namespace ingot::emu {

/// An access of one byte, remembered: by whom and when. `block` 0 means none.
struct Stamp {
  uint32_t block = 0;
  uint32_t clock = 0;
  uint16_t thread = 0;
  bool atomic = false;
};

/// The shadow of one byte: its last write and up to three reads since. Three are enough to find a
/// race on the runs that follow: which ones are kept is random, so another seed keeps others.
struct Cell {
  Stamp write;
  Stamp reads[3];
};

/// A piece of memory with a name and a shadow.
struct Region {
  uintptr_t begin = 0;
  size_t bytes = 0;
  std::string name;
  Contents contents = Contents::kUninitialized;
  bool shared = false;
  std::unique_ptr<Cell[]> cells;  // made at the first checked access

  bool contains(uintptr_t address, size_t size) const {
    return address >= begin && address + size <= begin + bytes;
  }
};

enum class Space : uint8_t { kShared, kDevice, kOther };

/// The kind of memory an address belongs to, allocated or not.
Space space_of(uintptr_t address);

/// The region that holds, or lies nearest below, a shared or device address; null if there is none.
Region* find_region(uintptr_t address);

}  // namespace ingot::emu
