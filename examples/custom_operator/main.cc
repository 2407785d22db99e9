// examples/custom_operator/main.cc: compiles a model with operators that Ingot does not know: one
// as an expression, one as a C function; then runs it.
//
// Usage: custom_operator model.onnx FOLDER     (for the compiled model)
#include <cstdio>

#include "ingot/compiler.h"
#include "ingot/ingot.hpp"

namespace {

namespace compiler = ingot::compiler;

// y = x / (1 + |sharpness * x|), written once per node, fused with what is around it.
std::string softsign(const compiler::CustomNode& node) {
  const double sharpness = std::get<double>(node.attributes.at("sharpness"));
  return "p0 / (1.0 + abs(p0 * " + std::to_string(sharpness) + "))";
}

// y[r, k] = x[r, 0] + .. + x[r, k]; without an infer callback y is as x.
constexpr const char* kRunningSum = R"(
#include "ingot/custom.h"

int running_sum(const ingot_custom_tensor* x, int32_t inputs, const ingot_custom_tensor* y,
                int32_t outputs, const char** error) {
  (void)inputs, (void)outputs, (void)error;
  for (int64_t r = 0; r < x->dims[0]; ++r) {
    const float* from = (const float*)x->data + r * x->dims[1];
    float* to = (float*)y->data + r * x->dims[1];
    float sum = 0;
    for (int64_t k = 0; k < x->dims[1]; ++k) to[k] = sum += from[k];
  }
  return 0;
}
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: custom_operator MODEL.onnx FOLDER\n"), 2;
  const std::string library = std::string(argv[2]) + "/custom.so";
  const std::vector<compiler::CustomOperator> operators = {
      {.domain = "com.example", .name = "SoftSign", .body = compiler::ElementBody{softsign}},
      {.domain = "com.example",
       .name = "RunningSum",
       .body = compiler::FunctionBody{"running_sum", kRunningSum}}};
  const auto made = compiler::compile(argv[1], library, {.operators = operators});
  if (!made) return std::fprintf(stderr, "custom_operator: %s\n", made.message.c_str()), 1;

  const auto model = ingot::api::Model::load(library);
  if (!model) return std::fprintf(stderr, "%s\n", model.failure().message.c_str()), 1;
  std::vector<float> x = {1, 0, -1, 2, 0.5F, 0.5F, 0.5F, 0.5F};
  const auto outputs = model->run({ingot::api::Tensor(std::span(x), {2, 4})});
  if (!outputs) return std::fprintf(stderr, "%s\n", outputs.failure().message.c_str()), 1;
  for (const float y : outputs->front().as<float>()) std::printf("%.4f ", y);
  std::printf("\n");
  return 0;
}
