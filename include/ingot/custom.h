/* ingot/custom.h: what the C function behind a custom operator sees. */
#ifndef INGOT_CUSTOM_H_
#define INGOT_CUSTOM_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor in memory: row-major, without gaps, at least aligned to an element. */
typedef struct ingot_custom_tensor {
  const char* name; /**< of the value in the model */
  int32_t dtype;    /**< numbered as TensorProto.DataType of ONNX: 1 is float, 7 is int64_t */
  int32_t rank;
  const int64_t* dims; /**< [rank] */
  void* data;          /**< inputs are only read; outputs have garbage in them */
} ingot_custom_tensor;

/** Computes the outputs, whose shapes the operator's infer callback has told. 0, or an ingot_status
 * (ingot.h) with `*error` set to a text that lives for ever. One thread of a run calls it; runs
 * side by side call it side by side. It must be a pure function of its inputs: equal calls are made
 * once.
 */
typedef int (*ingot_custom_function)(const ingot_custom_tensor* inputs, int32_t input_count,
                                     const ingot_custom_tensor* outputs, int32_t output_count,
                                     const char** error);

#ifdef __cplusplus
}
#endif

#endif  // INGOT_CUSTOM_H_
