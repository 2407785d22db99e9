// runtime/elf_check.cc: is this an artefact, whole, and for this machine? Answered without loading
// it.
//
// The system's loader trusts a library's tables. Here every table that it will follow is checked
// to lie inside the file first. Source: the ELF specification (gABI 4.3), glibc's elf/dl-load.c.
#include <elf.h>

#include "artifact/error.h"
#include "artifact/file.h"
#include "artifact/platform.h"
#include "ingot/loader.h"

namespace ingot::artifact {
namespace {

using ull = unsigned long long;

#if defined(__x86_64__)
constexpr u32 kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr u32 kMachine = EM_AARCH64;
#else
#error "the loader does not know this machine's ELF number"
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr u8 kByteOrder = ELFDATA2LSB;
#else
constexpr u8 kByteOrder = ELFDATA2MSB;
#endif

const char* machine_name(u32 machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    default:
      return "another machine";
  }
}

// The bytes of a file that claims to be an artefact.
class Image {
 public:
  Image(const void* bytes, u64 size, const char* name)
      : bytes_(static_cast<const u8*>(bytes)), size_(size), name_(name) {}

  ingot_status check();

 private:
  ingot_status check_header();
  ingot_status check_segments();
  ingot_status check_dynamic();
  ingot_status check_table(i64 address_tag, i64 size_tag, u64 entry_bytes);
  ingot_status check_hash_tables();
  ingot_status check_names();
  ingot_status find_entry();

  bool holds(u64 offset, u64 bytes) const { return offset <= size_ && bytes <= size_ - offset; }
  template <class T>
  T read(u64 offset) const {
    T object;
    memcpy(&object, bytes_ + offset, sizeof object);
    return object;
  }
  Elf64_Phdr segment(u32 index) const {
    return read<Elf64_Phdr>(header_.e_phoff + u64{index} * sizeof(Elf64_Phdr));
  }
  // Where the byte that will be at `address` lies in the file, and how many follow it; or false.
  bool find_address(u64 address, u64* offset, u64* bytes) const;
  // The value of a dynamic entry, or false if there is none.
  bool find_dynamic(i64 tag, u64* value) const;
  ingot_status refuse(const char* why) const {
    return fail(INGOT_INVALID_MODEL, "'%s': expected a compiled model: %s", name_, why);
  }

  const u8* bytes_;
  u64 size_;
  const char* name_;
  Elf64_Ehdr header_ = {};
  u64 dynamic_offset_ = 0, dynamic_count_ = 0;
};

ingot_status Image::check_header() {
  if (size_ < EI_NIDENT || memcmp(bytes_, ELFMAG, SELFMAG) != 0) {
    return refuse("this is no shared library");
  }
  if (bytes_[EI_CLASS] != ELFCLASS64 || bytes_[EI_DATA] != kByteOrder) {
    return fail(INGOT_WRONG_TARGET, "'%s': made for a machine with %s; this one has 64 bits and %s",
                name_, bytes_[EI_CLASS] != ELFCLASS64 ? "32 bits" : "the other byte order",
                kByteOrder == ELFDATA2LSB ? "little-endian words" : "big-endian words");
  }
  if (size_ < sizeof header_) return refuse("the file is cut off in its header");
  header_ = read<Elf64_Ehdr>(0);
  if (header_.e_machine != kMachine) {
    return fail(INGOT_WRONG_TARGET, "'%s': made for %s (ELF machine %u); this is %s", name_,
                machine_name(header_.e_machine), header_.e_machine, machine_name(kMachine));
  }
  if (header_.e_type != ET_DYN || header_.e_version != EV_CURRENT) {
    return refuse("this ELF file is no shared library");
  }
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
      !holds(header_.e_phoff, u64{header_.e_phnum} * sizeof(Elf64_Phdr))) {
    return refuse("its program headers lie outside the file; it may be cut off");
  }
  if (header_.e_shnum != 0 && !holds(header_.e_shoff, u64{header_.e_shnum} * header_.e_shentsize)) {
    return refuse("its section headers lie outside the file; it may be cut off");
  }
  return INGOT_OK;
}

ingot_status Image::check_segments() {
  u64 last_end = 0;
  bool any = false, dynamic = false;
  for (u32 i = 0; i < header_.e_phnum; ++i) {
    const Elf64_Phdr s = segment(i);
    if (s.p_type == PT_INTERP) return refuse("this is a program");
    if (s.p_type != PT_LOAD && s.p_type != PT_DYNAMIC && s.p_type != PT_TLS &&
        s.p_type != PT_NOTE && s.p_type != PT_GNU_RELRO && s.p_type != PT_GNU_EH_FRAME) {
      continue;
    }
    if (!holds(s.p_offset, s.p_filesz)) {
      return refuse("a segment lies outside the file; it is cut off");
    }
    if (s.p_filesz > s.p_memsz || s.p_memsz > u64{1} << 46 || s.p_vaddr > u64{1} << 46) {
      return refuse("a segment's sizes contradict each other");
    }
    if (s.p_type == PT_DYNAMIC) {
      dynamic = true;
      dynamic_offset_ = s.p_offset;
      dynamic_count_ = s.p_filesz / sizeof(Elf64_Dyn);
    }
    if (s.p_type != PT_LOAD) continue;
    const bool aligned = s.p_align != 0 && (s.p_align & (s.p_align - 1)) == 0 &&
                         s.p_align >= kPageBytes && (s.p_vaddr - s.p_offset) % s.p_align == 0;
    if (!aligned || (any && s.p_vaddr < last_end)) return refuse("its segments are out of order");
    any = true;
    last_end = s.p_vaddr + s.p_memsz;
  }
  if (!any || !dynamic) return refuse("this ELF file is no shared library");
  return INGOT_OK;
}

bool Image::find_address(u64 address, u64* offset, u64* bytes) const {
  for (u32 i = 0; i < header_.e_phnum; ++i) {
    const Elf64_Phdr s = segment(i);
    if (s.p_type != PT_LOAD || address < s.p_vaddr || address - s.p_vaddr >= s.p_filesz) continue;
    *offset = s.p_offset + (address - s.p_vaddr);
    *bytes = s.p_filesz - (address - s.p_vaddr);
    return true;
  }
  return false;
}

bool Image::find_dynamic(i64 tag, u64* value) const {
  for (u64 i = 0; i < dynamic_count_; ++i) {
    const Elf64_Dyn entry = read<Elf64_Dyn>(dynamic_offset_ + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL) return false;
    if (entry.d_tag != tag) continue;
    *value = entry.d_un.d_val;
    return true;
  }
  return false;
}

// An absent table is fine. A size of `size_tag` 0 is one entry at least.
ingot_status Image::check_table(i64 address_tag, i64 size_tag, u64 entry_bytes) {
  u64 address = 0, bytes = entry_bytes, offset = 0, room = 0;
  if (!find_dynamic(address_tag, &address)) return INGOT_OK;
  if (size_tag != DT_NULL) find_dynamic(size_tag, &bytes);
  if (bytes == 0) return INGOT_OK;
  if (!find_address(address, &offset, &room) || bytes > room) {
    return refuse("a table of its dynamic section lies outside the file");
  }
  return INGOT_OK;
}

ingot_status Image::check_dynamic() {
  struct Table {
    i64 address_tag, size_tag;
    u64 entry_bytes;
  };
  constexpr Table kTables[] = {
      {DT_STRTAB, DT_STRSZ, 1},
      {DT_SYMTAB, DT_NULL, sizeof(Elf64_Sym)},
      {DT_RELA, DT_RELASZ, 1},
      {DT_JMPREL, DT_PLTRELSZ, 1},
      {DT_REL, DT_RELSZ, 1},
      {DT_GNU_HASH, DT_NULL, 16},
      {DT_HASH, DT_NULL, 8},
      {DT_VERNEED, DT_NULL, sizeof(Elf64_Verneed)},
      {DT_VERSYM, DT_NULL, 2},
      {DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 1},
      {DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 1},
      {DT_INIT, DT_NULL, 1},
      {DT_FINI, DT_NULL, 1},
      {DT_PLTGOT, DT_NULL, 8},
  };
  for (const Table& table : kTables) {
    const ingot_status status = check_table(table.address_tag, table.size_tag, table.entry_bytes);
    if (status != INGOT_OK) return status;
  }
  return INGOT_OK;
}

// A table without buckets would be divided by, one with too many read past.
ingot_status Image::check_hash_tables() {
  u64 address = 0, offset = 0, room = 0;
  if (find_dynamic(DT_GNU_HASH, &address) && find_address(address, &offset, &room)) {
    const u64 buckets = read<u32>(offset), bloom_words = read<u32>(offset + 8);
    const bool power_of_two = bloom_words != 0 && (bloom_words & (bloom_words - 1)) == 0;
    if (buckets == 0 || !power_of_two || 16 + 8 * bloom_words + 4 * buckets > room) {
      return refuse("its table of symbol hashes is damaged");
    }
  }
  if (find_dynamic(DT_HASH, &address) && find_address(address, &offset, &room)) {
    const u64 buckets = read<u32>(offset), chains = read<u32>(offset + 4);
    if (buckets == 0 || 8 + 4 * (buckets + chains) > room) {
      return refuse("its table of symbol hashes is damaged");
    }
  }
  return INGOT_OK;
}

// The names of the libraries it needs, and its own, must end inside the table of strings.
ingot_status Image::check_names() {
  u64 strings = 0, strings_bytes = 0, strings_at = 0, room = 0;
  if (!find_dynamic(DT_STRTAB, &strings) || !find_dynamic(DT_STRSZ, &strings_bytes) ||
      strings_bytes == 0 || !find_address(strings, &strings_at, &room) ||
      bytes_[strings_at + strings_bytes - 1] != 0) {
    return refuse("its table of names is damaged");
  }
  for (u64 i = 0; i < dynamic_count_; ++i) {
    const Elf64_Dyn entry = read<Elf64_Dyn>(dynamic_offset_ + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL) break;
    const bool is_name = entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME ||
                         entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    if (is_name && entry.d_un.d_val >= strings_bytes)
      return refuse("its table of names is damaged");
  }
  return INGOT_OK;
}

// The symbol table's length is not told; as every linker lays it out, the strings follow it.
ingot_status Image::find_entry() {
  constexpr char kEntry[] = "ingot_model_v1";
  u64 symbols = 0, strings = 0, symbols_at = 0, symbols_room = 0, strings_at = 0, strings_room = 0;
  if (!find_dynamic(DT_SYMTAB, &symbols) || !find_dynamic(DT_STRTAB, &strings) ||
      !find_address(symbols, &symbols_at, &symbols_room) ||
      !find_address(strings, &strings_at, &strings_room)) {
    return refuse("it has no symbols");
  }
  if (strings_at > symbols_at && strings_at - symbols_at < symbols_room) {
    symbols_room = strings_at - symbols_at;
  }
  for (u64 i = 0; i < symbols_room / sizeof(Elf64_Sym); ++i) {
    const Elf64_Sym symbol = read<Elf64_Sym>(symbols_at + i * sizeof(Elf64_Sym));
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings_room ||
        strings_room - symbol.st_name < sizeof kEntry) {
      continue;
    }
    if (memcmp(bytes_ + strings_at + symbol.st_name, kEntry, sizeof kEntry) == 0) return INGOT_OK;
  }
  return refuse("this library does not export ingot_model_v1");
}

ingot_status Image::check() {
  ingot_status status = check_header();
  if (status == INGOT_OK) status = check_segments();
  if (status == INGOT_OK) status = check_dynamic();
  if (status == INGOT_OK) status = check_hash_tables();
  if (status == INGOT_OK) status = check_names();
  return status == INGOT_OK ? find_entry() : status;
}

}  // namespace
}  // namespace ingot::artifact

using namespace ingot::artifact;

ingot_status ingot_check_memory(const void* bytes, size_t size, const char* name) {
  if ((bytes == nullptr && size > 0) || name == nullptr) {
    return fail(INGOT_INVALID_ARGUMENT, "loader: expected bytes and a name, got null");
  }
  return Image(bytes, size, name).check();
}

ingot_status ingot_check_file(const char* path) {
  if (path == nullptr) return fail(INGOT_INVALID_ARGUMENT, "loader: expected a path, got null");
  MappedFile file;
  ingot_status status = map_file(path, "artefact", &file);
  if (status != INGOT_OK) return status;
  status = ingot_check_memory(file.data, static_cast<size_t>(file.bytes), path);
  unmap_file(&file);
  return status;
}
