// artifact/weights.h: where a model's weights are in memory, for each way of shipping them.
#pragma once

#include "artifact/file.h"

namespace ingot::artifact {

/// The weights of an open model. Constants of the programs are offsets into `base`.
struct LoadedWeights {
  const u8* base = nullptr;  // Weights::bytes long, aligned to 4096; null if there are none
  u8* writable = nullptr;    // stripped: the same, to be filled by the prepare program
  MappedFile file;           // separate
  void* huge = nullptr;      // the private copy on huge pages
  i64 huge_bytes = 0;
  MappedFile* sources = nullptr;  // [source_file_count] stripped: the original files
  u32 source_count = 0;
};

/// Brings the weights into memory as the options say. Stripped ones are allocated, their embedded
/// part is there, and the original files are mapped; the rest is the prepare program's to write.
/// Errors: io, invalid_model (files that do not belong to the model), resource_exhausted.
ingot_status load_weights(const Model& model, const ingot_open_options& options,
                          LoadedWeights* weights);
void free_weights(LoadedWeights* weights);

/// Compares the weights, or a stripped model's original files, with their checksums.
/// Errors: invalid_model.
ingot_status check_weights(const Model& model, const LoadedWeights& weights);

/// "embedded" and so on.
const char* weights_kind_name(WeightsKind kind);

}  // namespace ingot::artifact
