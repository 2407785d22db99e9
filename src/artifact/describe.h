// artifact/describe.h: a model's description as the C interface shows it.
#pragma once

#include "artifact/platform.h"
#include "ingot/ingot.h"

namespace ingot::artifact {

/// The structs that ingot_model_api's describing functions point into; lives as long as the model.
struct Tables {
  ingot_description description;
  ingot_value_info* inputs = nullptr;
  ingot_value_info* outputs = nullptr;
  ingot_state_info* states = nullptr;
  ingot_symbol_info* symbols = nullptr;
  ingot_constant_info* constants = nullptr;
  void* memory = nullptr;  // behind the arrays
};

/// `level` may be null. Errors: resource_exhausted.
ingot_status make_tables(const Model& model, const Level* level, Tables* tables);
void free_tables(Tables* tables);

}  // namespace ingot::artifact
