// tests/gpu/emulator/memory.cc: shared memory, device memory and the fibers' stacks.
#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/check.h"
#include "machine.h"

namespace ingot::emu {
namespace {

constexpr size_t kDeviceBytes = size_t{1} << 36;  // address space, not memory
constexpr size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xA5;
constexpr size_t kRedZoneBytes = 64;  // between shared variables; a GPU has none

char* reserve(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED, "emulator: no address space for ", bytes, " bytes");
  return static_cast<char*>(memory);
}

struct SharedVariable {
  const void* key;
  Region region;
};

std::vector<SharedVariable> variables;
size_t shared_used = 0;      // red zones included
size_t shared_declared = 0;  // what a GPU would need

std::map<uintptr_t, Region> allocations;
char* device_base = nullptr;
size_t device_top = 0;

size_t round_up(size_t value, size_t to) {
  return (value + to - 1) / to * to;
}

bool is_guard_intact(const char* guard) {
  return std::all_of(guard, guard + kGuardBytes,
                     [](char byte) { return static_cast<unsigned char>(byte) == kGuard; });
}

}  // namespace

void map_memory() {
  Machine& m = machine();
  if (m.shared != nullptr) return;
  m.shared = reserve(kSharedBytes);
  m.stacks = reserve(kStackBytes * kMaxThreads);
  for (int i = 0; i < kMaxThreads; ++i) m.fibers[i].stack = m.stacks + kStackBytes * i;
}

void reset_shared() {
  variables.clear();
  shared_used = shared_declared = 0;
}

void* shared_variable(const void* key, size_t bytes, size_t align) {
  char* base = machine().shared;
  for (const SharedVariable& variable : variables) {
    if (variable.key == key) return reinterpret_cast<char*>(variable.region.begin);
  }
  const size_t offset = round_up(shared_used + kRedZoneBytes, std::max<size_t>(align, 16));
  CHECK(offset + bytes <= kSharedBytes, "emulator: more than ", kSharedBytes,
        " bytes of shared memory");
  shared_declared = round_up(shared_declared, align) + bytes;
  if (shared_declared > config().max_shared_bytes) {
    report("shared", "block needs %zu bytes of shared memory, the limit is %zu", shared_declared,
           config().max_shared_bytes);
  }
  shared_used = offset + bytes;
  std::memset(base + offset, 0xFF, bytes);
  Region region;
  region.begin = reinterpret_cast<uintptr_t>(base + offset);
  region.bytes = bytes;
  region.name = "shared variable " + std::to_string(variables.size());
  region.shared = true;
  variables.push_back({key, std::move(region)});
  return base + offset;
}

void* device_alloc(size_t bytes, const char* name, Contents contents) {
  if (device_base == nullptr) device_base = reserve(kDeviceBytes);
  const size_t offset = round_up(device_top, 256) + kGuardBytes;
  device_top = offset + bytes + kGuardBytes;
  CHECK(device_top <= kDeviceBytes, "emulator: more than ", kDeviceBytes,
        " bytes of device memory");
  char* memory = device_base + offset;
  std::memset(memory - kGuardBytes, kGuard, kGuardBytes);
  std::memset(memory, 0xFF, bytes);
  std::memset(memory + bytes, kGuard, kGuardBytes);
  Region region;
  region.begin = reinterpret_cast<uintptr_t>(memory);
  region.bytes = bytes;
  region.name = name;
  region.contents = contents;
  allocations.emplace(region.begin, std::move(region));
  return memory;
}

void device_free(void* pointer) {
  if (pointer == nullptr) return;
  const auto found = allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == allocations.end()) {
    report("free", "device_free of an address that is not an allocation");
    return;
  }
  std::memset(pointer, 0xFF, found->second.bytes);
  allocations.erase(found);
}

void check_guards() {
  for (const auto& [begin, region] : allocations) {
    const char* memory = reinterpret_cast<const char*>(begin);
    const bool before = is_guard_intact(memory - kGuardBytes);
    if (before && is_guard_intact(memory + region.bytes)) continue;
    report("oob", "memory %s '%s' (%zu bytes) was overwritten", before ? "after" : "before",
           region.name.c_str(), region.bytes);
  }
}

Space space_of(uintptr_t address) {
  const auto shared = reinterpret_cast<uintptr_t>(machine().shared);
  const auto device = reinterpret_cast<uintptr_t>(device_base);
  if (shared != 0 && address - shared < kSharedBytes) return Space::kShared;
  if (device != 0 && address - device < kDeviceBytes) return Space::kDevice;
  return Space::kOther;
}

Region* find_region(uintptr_t address) {
  if (space_of(address) == Space::kDevice) {
    const auto above = allocations.upper_bound(address);
    return above == allocations.begin() ? nullptr : &std::prev(above)->second;
  }
  Region* nearest = nullptr;
  for (SharedVariable& variable : variables) {
    if (variable.region.begin <= address) nearest = &variable.region;
  }
  return nearest;
}

}  // namespace ingot::emu
