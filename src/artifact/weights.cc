// artifact/weights.cc: embedded, separate and stripped weights; mapped or on huge pages.
#include "artifact/weights.h"

#include <sys/mman.h>

#include "artifact/error.h"
#include "artifact/hash.h"

namespace ingot::artifact {
namespace {

Hash expected_hash(const u64* hash) {
  return {hash[0], hash[1]};
}

ingot_status check_header(const Model& model, const char* path, const MappedFile& file) {
  WeightsHeader header;
  if (file.bytes < static_cast<i64>(sizeof header)) {
    return fail(INGOT_INVALID_MODEL,
                "weights '%s': expected a file of Ingot weights, got %lld bytes", path,
                static_cast<long long>(file.bytes));
  }
  memcpy(&header, file.data, sizeof header);
  if (memcmp(header.magic, kWeightsMagic, sizeof header.magic) != 0) {
    return fail(INGOT_INVALID_MODEL, "weights '%s': expected a file of Ingot weights", path);
  }
  if (header.version != kWeightsVersion || header.header_bytes != kWeightsHeaderBytes) {
    return fail(INGOT_INVALID_MODEL, "weights '%s': expected version %u, got %u", path,
                kWeightsVersion, header.version);
  }
  if (header.bytes != model.weights.bytes || header.hash[0] != model.weights.hash[0] ||
      header.hash[1] != model.weights.hash[1]) {
    return fail(INGOT_INVALID_MODEL,
                "weights '%s': belong to another build of the model (hash %016llx%016llx, expected "
                "%016llx%016llx)",
                path, static_cast<unsigned long long>(header.hash[1]),
                static_cast<unsigned long long>(header.hash[0]),
                static_cast<unsigned long long>(model.weights.hash[1]),
                static_cast<unsigned long long>(model.weights.hash[0]));
  }
  if (static_cast<u64>(file.bytes) - kWeightsHeaderBytes < header.bytes ||
      static_cast<u64>(file.bytes) < kWeightsHeaderBytes) {
    return fail(INGOT_INVALID_MODEL, "weights '%s': expected %llu bytes, the file has %lld", path,
                static_cast<unsigned long long>(header.bytes) + kWeightsHeaderBytes,
                static_cast<long long>(file.bytes));
  }
  return INGOT_OK;
}

ingot_status map_separate(const Model& model, const ingot_open_options& options,
                          LoadedWeights* weights) {
  char path[4096];
  if (options.weights_path == nullptr) {
    const ingot_status status = join_path(nullptr, model.weights.file_name, path, sizeof path);
    if (status != INGOT_OK) return status;
  }
  const char* chosen = options.weights_path != nullptr ? options.weights_path : path;
  ingot_status status = map_file(chosen, "weights", &weights->file);
  if (status == INGOT_OK) status = check_header(model, chosen, weights->file);
  if (status != INGOT_OK) return status;
  weights->base = static_cast<const u8*>(weights->file.data) + kWeightsHeaderBytes;
  return INGOT_OK;
}

ingot_status map_sources(const Model& model, const ingot_open_options& options,
                         LoadedWeights* weights) {
  weights->sources = allocate_array<MappedFile>(model.source_file_count);
  if (weights->sources == nullptr) return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory");
  weights->source_count = model.source_file_count;
  for (u32 i = 0; i < model.source_file_count; ++i) {
    const SourceFile& source = model.source_files[i];
    char path[4096];
    ingot_status status = join_path(options.source_folder, source.name, path, sizeof path);
    if (status == INGOT_OK) status = map_file(path, "original weights", &weights->sources[i]);
    if (status != INGOT_OK) return status;
    if (static_cast<u64>(weights->sources[i].bytes) != source.bytes) {
      return fail(
          INGOT_INVALID_MODEL,
          "original weights '%s': expected the %llu bytes that the model was compiled from, "
          "the file has %lld",
          path, static_cast<unsigned long long>(source.bytes),
          static_cast<long long>(weights->sources[i].bytes));
    }
  }
  return INGOT_OK;
}

// Private memory on huge pages where the system grants them.
u8* map_anonymous(LoadedWeights* weights, u64 bytes) {
  const i64 total = round_up(static_cast<i64>(bytes), kHugePageBytes) + kHugePageBytes;
  if (total > machine_bytes()) return nullptr;
  void* memory = mmap(nullptr, static_cast<size_t>(total), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, static_cast<size_t>(total), MADV_HUGEPAGE);
  weights->huge = memory;
  weights->huge_bytes = total;
  const i64 address = static_cast<i64>(reinterpret_cast<uintptr_t>(memory));
  return static_cast<u8*>(memory) + (round_up(address, kHugePageBytes) - address);
}

// Maps the pages of a file now, all in one call, which is many times cheaper than one by one in the
// first run. Source: madvise(2), MADV_POPULATE_READ since Linux 5.14; older systems refuse it, and
// pages are mapped as they are read.
void populate(const u8* data, u64 bytes) {
  constexpr int kPopulateRead = 22;
  const i64 skip = static_cast<i64>(reinterpret_cast<uintptr_t>(data) % kPageBytes);
  madvise(const_cast<u8*>(data) - skip, static_cast<size_t>(bytes) + static_cast<size_t>(skip),
          kPopulateRead);
}

ingot_status fail_for_memory(const Model& model) {
  return fail(INGOT_RESOURCE_EXHAUSTED, "open: no memory for %llu bytes of weights",
              static_cast<unsigned long long>(model.weights.bytes));
}

ingot_status load_stripped(const Model& model, const ingot_open_options& options,
                           LoadedWeights* weights) {
  const ingot_status status = map_sources(model, options, weights);
  if (status != INGOT_OK) return status;
  weights->writable = map_anonymous(weights, model.weights.bytes);
  if (weights->writable == nullptr) return fail_for_memory(model);
  if (model.weights.embedded_bytes > 0) {
    memcpy(weights->writable, model.weights.embedded, model.weights.embedded_bytes);
  }
  weights->base = weights->writable;
  return INGOT_OK;
}

}  // namespace

const char* weights_kind_name(WeightsKind kind) {
  switch (kind) {
    case WeightsKind::none:
      return "none";
    case WeightsKind::embedded:
      return "embedded";
    case WeightsKind::separate:
      return "separate";
    case WeightsKind::stripped:
      return "stripped";
  }
  return "unknown";
}

ingot_status load_weights(const Model& model, const ingot_open_options& options,
                          LoadedWeights* weights) {
  switch (model.weights.kind) {
    case WeightsKind::none:
      return INGOT_OK;
    case WeightsKind::embedded:
      weights->base = model.weights.embedded;
      break;
    case WeightsKind::separate: {
      const ingot_status status = map_separate(model, options, weights);
      if (status != INGOT_OK) return status;
      break;
    }
    case WeightsKind::stripped:
      return load_stripped(model, options, weights);
  }
  if (options.weights_mode == INGOT_WEIGHTS_HUGE && model.weights.bytes > 0) {
    u8* copy = map_anonymous(weights, model.weights.bytes);
    if (copy == nullptr) return fail_for_memory(model);
    memcpy(copy, weights->base, model.weights.bytes);
    weights->base = copy;
    unmap_file(&weights->file);
  } else {
    populate(weights->base, model.weights.bytes);
  }
  return INGOT_OK;
}

void free_weights(LoadedWeights* weights) {
  unmap_file(&weights->file);
  if (weights->huge != nullptr) munmap(weights->huge, static_cast<size_t>(weights->huge_bytes));
  for (u32 i = 0; i < weights->source_count; ++i) unmap_file(&weights->sources[i]);
  release(weights->sources);
  *weights = {};
}

ingot_status check_weights(const Model& model, const LoadedWeights& weights) {
  if (model.weights.kind == WeightsKind::stripped) {
    for (u32 i = 0; i < weights.source_count; ++i) {
      const Hash got =
          hash_bytes(weights.sources[i].data, static_cast<u64>(weights.sources[i].bytes));
      if (got == expected_hash(model.source_files[i].hash)) continue;
      return fail(INGOT_INVALID_MODEL,
                  "original weights '%s': the checksum differs from the file that the model was "
                  "compiled from",
                  model.source_files[i].name);
    }
    return INGOT_OK;
  }
  if (weights.base == nullptr) return INGOT_OK;
  const Hash got = hash_bytes(weights.base, model.weights.bytes);
  if (got == expected_hash(model.weights.hash)) return INGOT_OK;
  return fail(INGOT_INVALID_MODEL,
              "weights '%s': checksum %016llx%016llx, expected %016llx%016llx: the file is damaged",
              model.weights.kind == WeightsKind::separate ? model.weights.file_name : "embedded",
              static_cast<unsigned long long>(got.high), static_cast<unsigned long long>(got.low),
              static_cast<unsigned long long>(model.weights.hash[1]),
              static_cast<unsigned long long>(model.weights.hash[0]));
}

}  // namespace ingot::artifact
