// tests/compiled/artifact_test.cc: operators that are no kernels (composites, routines, control
// flow) in whole artefacts, against the reference: their derived cases, compiled, loaded and run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "codegen/compile.h"
#include "ops/registry.h"
#include "runtime/model.h"
#include "tests/op_harness.h"

namespace ingot {
namespace {

constexpr uint64_t kCases = 3;

/// Never compiled: a constant has no inputs, and what is unimplemented is refused.
bool is_compiled(const OpDef& def) {
  return def.name != "constant" && def.name != "unimplemented";
}

bool is_kernel(const OpDef& def) {
  return def.lower != nullptr || def.lower_scatter != nullptr;
}

Result<std::vector<Tensor>> run_model(const LoadedModel& model, std::span<const Tensor> inputs) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::vector<int64_t>> dims;
  for (const Tensor& input : inputs) {
    bytes.push_back(input.to_bytes());
    dims.push_back(input.dims());
  }
  std::vector<ingot_tensor> in, out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    ingot_tensor view = INGOT_INIT(ingot_tensor);
    view.dtype = info(inputs[k].dtype()).onnx;
    view.rank = static_cast<int32_t>(dims[k].size());
    view.dims = dims[k].data();
    view.data = bytes[k].data();
    in.push_back(view);
  }
  const uint32_t count = model.description().output_count;
  std::vector<std::vector<int64_t>> found(count);
  for (uint32_t k = 0; k < count; ++k) {
    ingot_tensor view = INGOT_INIT(ingot_tensor);
    view.dtype = model.output(k).dtype;
    view.rank = model.output(k).rank;
    found[k].resize(static_cast<size_t>(view.rank));
    view.dims = found[k].data();
    out.push_back(view);
  }
  TRY_STATUS(model.run(in, out));
  std::vector<Tensor> results;
  for (uint32_t k = 0; k < count; ++k) {
    const DType dtype = dtype_from_onnx(out[k].dtype).value_or(DType::f32);
    const auto size = static_cast<size_t>(count_of(found[k]) * std::max(bits(dtype) / 8, 1));
    std::vector<std::byte> copy(size);
    if (size > 0) std::memcpy(copy.data(), out[k].data, size);
    model.api().free_output(model.handle(), out[k].data);
    TRY(Tensor tensor, Tensor::from_bytes(dtype, found[k], copy));
    results.push_back(std::move(tensor));
  }
  return results;
}

Result<std::vector<Tensor>> run_artifact(const Graph& graph, std::span<const Tensor> inputs) {
  TRY(const TempDir directory, TempDir::create());
  CompileOptions options;
  options.target.levels = {host_level()};
  TRY(options.toolchain, find_toolchain(INGOT_TEST_CXX));
  options.verify = true;
  const auto path = directory.path() / "model.so";
  TRY_STATUS(compile(graph, path, options));
  TRY(const LoadedModel model, LoadedModel::open(path.string()));
  TRY(auto outputs, run_model(model, inputs));
  // A second run finds the memory of the first.
  TRY(const auto again, run_model(model, inputs));
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].to_bytes() != again[k].to_bytes()) {
      return internal_error("output ", k, " differs in the second run");
    }
  }
  return outputs;
}

TEST(Artifact, RunsWhatIsNoKernel) {
  for (const OpDef* def : all_ops()) {
    if (is_kernel(*def) || !is_compiled(*def)) continue;
    for (uint64_t seed = 0; seed < kCases; ++seed) {
      const auto c = draw_case(*def, seed);
      ASSERT_TRUE(c) << to_text(c.error());
      const auto got = run_artifact(c->graph, c->inputs);
      ASSERT_TRUE(got) << c->label << ": " << to_text(got.error()) << "\n" << to_text(c->graph);
      EXPECT_EQ(compare(*c, *got), "") << c->label;
    }
  }
}

}  // namespace
}  // namespace ingot
