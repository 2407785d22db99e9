// fuzz/onnx_fuzz.cc: arbitrary bytes as an ONNX model: an Error or a graph that verifies.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "frontend/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto model = ingot::import_model_bytes(bytes, "fuzz.onnx");
  if (!model) {
    CHECK(model.error().code != ingot::Code::kInternal, to_text(model.error()));
    return 0;
  }
  const ingot::Status verified = ingot::verify(model->graph);
  CHECK(verified, verified ? "" : to_text(verified.error()));
  (void)to_text(model->summary);
  return 0;
}
