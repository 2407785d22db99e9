// tests/gpu/emulator/access.cc: judges one access: bounds, alignment, initialisation, races.
#include <link.h>

#include <cstring>
#include <utility>

#include "machine.h"
#include "memory.h"

namespace ingot::emu {
namespace {

std::vector<std::pair<uintptr_t, uintptr_t>> modules;

bool is_in_module(uintptr_t address) {
  for (const auto& [begin, end] : modules) {
    if (address >= begin && address < end) return true;
  }
  return false;
}

bool is_on_fiber_stack(uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(machine().stacks) < kStackBytes * kMaxThreads;
}

const char* verb(const Access& access) {
  return access.write ? "write" : "read";
}

/// "block (0,1,2) thread 3 at file.cc:4".
std::string who(const Access& access) {
  char text[96];
  std::snprintf(text, sizeof text, "block (%u,%u,%u) thread %u at ", current_block.x,
                current_block.y, current_block.z, current_fiber()->linear);
  return text + site_of(access);
}

/// True when the access `stamp` recorded cannot happen at the same time as this fiber's next one.
bool is_ordered_before_me(const Stamp& stamp) {
  const Machine& m = machine();
  const Fiber& self = *current_fiber();
  if (stamp.block != m.block_number) return stamp.block < m.first_block_number;
  if (stamp.thread == self.linear) return true;
  const int warp = stamp.thread / m.warp_size;
  const uint32_t known = m.clocks[self.warp][warp];
  // The own warp's clock has ticked if a barrier lies between.
  return warp == self.warp ? stamp.clock < known : stamp.clock <= known;
}

bool conflicts(const Stamp& earlier, const Access& access) {
  if (earlier.block == 0 || (earlier.atomic && access.atomic)) return false;
  return !is_ordered_before_me(earlier);
}

void report_race(const Region& region, size_t offset, const Access& access, const Stamp& earlier,
                 const char* earlier_verb) {
  const bool same_block = earlier.block == machine().block_number;
  report("race", "%s of '%s' byte %zu by %s is not ordered after the %s by thread %u of %s block",
         verb(access), region.name.c_str(), offset, who(access).c_str(), earlier_verb,
         earlier.thread, same_block ? "the same" : "another");
}

/// Judges and records an access of one byte. False ends the report at the first bad byte.
bool check_cell(Region& region, size_t offset, const Access& access) {
  const Machine& m = machine();
  const Fiber& self = *current_fiber();
  Cell& cell = region.cells[offset];
  bool good = true;
  if (conflicts(cell.write, access)) {
    report_race(region, offset, access, cell.write, "write");
    good = false;
  }
  if (!access.write && region.contents == Contents::kUninitialized && cell.write.block == 0) {
    report("uninit", "read of '%s' byte %zu, which nothing has written, by %s", region.name.c_str(),
           offset, who(access).c_str());
    good = false;
  }
  const Stamp now{m.block_number, m.clocks[self.warp][self.warp],
                  static_cast<uint16_t>(self.linear), access.atomic};
  if (!access.write) {
    Stamp* slot = nullptr;
    for (Stamp& read : cell.reads) {
      const bool mine = read.block == now.block && read.thread == now.thread;
      if (read.block == 0 || mine) {
        slot = &read;
        break;
      }
    }
    *(slot != nullptr ? slot : &cell.reads[random_bits() % 3]) = now;
    return good;
  }
  for (Stamp& read : cell.reads) {
    if (conflicts(read, access)) {
      report_race(region, offset, access, read, "read");
      good = false;
    }
    read = {};
  }
  cell.write = now;
  return good;
}

bool is_misaligned(uintptr_t address, const Access& access) {
  const bool is_power = access.bytes <= 16 && (access.bytes & (access.bytes - 1)) == 0;
  return access.must_align && is_power && address % access.bytes != 0;
}

/// The region this access lies in; reports and gives null when it lies in none.
Region* checked_region(uintptr_t address, const Access& access, bool shared) {
  Region* region = find_region(address);
  if (region != nullptr && region->contains(address, access.bytes)) return region;
  const char* name = region == nullptr ? "?" : region->name.c_str();
  report("oob", "%s of %zu bytes, %ld bytes past the start of %s '%s' (%zu bytes), by %s",
         verb(access), access.bytes,
         region == nullptr ? -1L : static_cast<long>(address - region->begin),
         shared ? "shared memory" : "device memory", name, region == nullptr ? 0 : region->bytes,
         who(access).c_str());
  return nullptr;
}

/// Locals and constants may be read; anything else is a host pointer that found its way in.
void check_other(uintptr_t address, const Access& access) {
  if (!machine().check || is_on_fiber_stack(address) || is_in_module(address)) return;
  report("wild", "%s of an address that is neither device nor shared memory by %s", verb(access),
         who(access).c_str());
}

}  // namespace

void find_modules() {
  modules.clear();
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          modules.emplace_back(begin, begin + header.p_memsz);
        }
        return 0;
      },
      nullptr);
}

bool check_access(const Access& access) {
  const auto address = reinterpret_cast<uintptr_t>(access.address);
  const Space space = space_of(address);
  if (space == Space::kOther) {
    check_other(address, access);
    return true;
  }
  Region* region = checked_region(address, access, space == Space::kShared);
  if (region == nullptr) return false;
  const size_t offset = address - region->begin;
  if (is_misaligned(address, access)) {
    report("align", "misaligned %zu-byte %s of '%s' at byte %zu by %s", access.bytes, verb(access),
           region->name.c_str(), offset, who(access).c_str());
  }
  if (machine().check) {
    if (!region->cells) region->cells = std::make_unique<Cell[]>(region->bytes);
    for (size_t i = 0; i < access.bytes; ++i) {
      if (!check_cell(*region, offset + i, access)) break;
    }
    const int preempt = config().preempt;
    if (preempt > 0 && random_bits() % static_cast<unsigned>(preempt) == 0) yield();
  }
  return true;
}

void load_checked(void* to, const void* from, size_t bytes, Location location) {
  if (check_access({.address = from, .bytes = bytes, .location = &location})) {
    std::memcpy(to, from, bytes);
  } else {
    std::memset(to, 0xFF, bytes);
  }
}

void store_checked(void* to, const void* from, size_t bytes, Location location) {
  if (check_access({.address = to, .bytes = bytes, .write = true, .location = &location})) {
    std::memcpy(to, from, bytes);
  }
}

void note_atomic(const void* pointer, size_t bytes, Location location) {
  Access access{.address = pointer, .bytes = bytes, .atomic = true, .location = &location};
  check_access(access);
  access.write = true;
  check_access(access);
}

}  // namespace ingot::emu
