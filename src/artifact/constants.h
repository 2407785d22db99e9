// artifact/constants.h: a model's constants, which can be replaced while runs are in flight.
#pragma once

#include "artifact/run.h"
#include "artifact/weights.h"

namespace ingot::artifact {

/// One consistent set of constants. Runs hold the set that was current when they began.
struct ConstantSet {
  u32 uses;                   // guarded by the store's mutex; the store itself holds one
  const void** originals;     // [constants] as the author knows them; null: not kept
  const void** replacements;  // [values of main] new places of prepared constants, or null
  u8* is_replaced;            // [constants] 1: lies in `copies`
  void* copies;               // behind the originals that were replaced
  void* prepared;             // behind the prepared constants; null: those of the weights
  bool has_replacements;
};

/// The current set and how to make the next one. Safe for concurrent use.
class ConstantStore {
 public:
  ConstantStore(const Model& model, const LoadedWeights& weights, const ProgramRuntime& main)
      : model_(model), weights_(weights), main_(main) {}
  ~ConstantStore();
  ConstantStore(const ConstantStore&) = delete;
  ConstantStore& operator=(const ConstantStore&) = delete;

  /// Makes the first set; for stripped weights it prepares them, into `writable`.
  /// Errors: as set(), and invalid_model.
  ingot_status open(const KernelFn* prepare_kernels, u8* writable, const ingot_thread_pool& pool);

  /// The current set, which stays as it is until given back.
  ConstantSet* acquire();
  void give_back(ConstantSet* set);

  /// As ingot_model_api::set_constants. One at a time; runs go on meanwhile.
  ingot_status set(const char* const* names, const Tensors& values, const ingot_thread_pool& pool);
  /// As ingot_model_api::get_constant.
  ingot_status get(const char* name, ingot_tensor* value);

 private:
  ingot_status find(const char* name, const char* where, u32* index) const;
  ingot_status make_set(ConstantSet** set) const;
  ingot_status check_value(u32 index, const ingot_tensor& value) const;
  ingot_status check_values(const char* const* names, const Tensors& values,
                            const void** given) const;
  ingot_status copy_originals(const ConstantSet& before, const void* const* given,
                              ConstantSet* set) const;
  ingot_status measure_prepared();
  ingot_status find_original(u32 index, const void** original);
  ingot_status prepare(const ConstantSet& set, u8* const* places, const ingot_thread_pool& pool);
  ingot_status prepare_new(ConstantSet* set, const ingot_thread_pool& pool);
  ingot_status prepare_stripped(const ConstantSet& set, u8* writable,
                                const ingot_thread_pool& pool);

  const Model& model_;
  const LoadedWeights& weights_;
  const ProgramRuntime& main_;
  ProgramRuntime* prepare_ = nullptr;
  i64* prepared_bytes_ = nullptr;  // [prepared]
  i64 prepared_total_ = 0;
  u32* prepared_of_ = nullptr;  // [values of main] 1 + which prepared constant it lies in, or 0
  void** aligned_ = nullptr;    // [constants] copies of originals at odd places of a source file
  Mutex update_;                // held while a new set is being made
  Mutex mutex_;                 // guards current_ and the sets' counts
  ConstantSet* current_ = nullptr;
};

}  // namespace ingot::artifact
