// tests/gpu/kernel_case.h: loop nests with data, run as generated GPU code in the emulator.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/emit_gpu.h"
#include "ir/tensor.h"
#include "kernel/stmt.h"

namespace ingot {

/// What a kernel is run on, and what must come out.
struct KernelData {
  std::vector<int64_t> symbols;      // by SymbolId
  std::vector<BufferValues> before;  // per buffer; values are representable in its dtype
  std::vector<BufferValues> after;   // expected, of the buffers that are written
};

/// A kernel with data.
struct KernelCase : KernelData {
  std::string label;  // reproduces it: the op, its attributes, the seed
  Kernel kernel;      // its name is unique in the batch
  double ulp = 0;     // tolerance in units of the last place, 0: exact
};

/// The tensor as a buffer that holds `dtype`: a table of blocks is i64 in tensors, i32 in memory.
BufferValues buffer_of(const Tensor& tensor, DType dtype);
/// The buffer's values with the dtype and dims of `like`.
Tensor to_tensor(const Tensor& like, const BufferValues& values);

/// How a batch of kernels is compiled and run.
struct EmulatedMode {
  const Dialect* dialect = nullptr;
  bool check = false;  // instrumented, with every check of the emulator
  /// Changes the text of case k before it is compiled, to plant mistakes; none: as it is.
  std::function<std::string(size_t k, const std::string& text)> edit = {};
};

/// Kernels of one batch as one shared library for the emulator. The cases outlive it.
class EmulatedBatch {
 public:
  /// Emits and compiles all of them. Errors: of the emitter, of the compiler.
  static Result<EmulatedBatch> compile(std::span<const KernelCase> cases, EmulatedMode mode);

  EmulatedBatch(EmulatedBatch&&) noexcept;
  EmulatedBatch& operator=(EmulatedBatch&&) noexcept;
  ~EmulatedBatch();

  /// Runs case number k and gives its buffers. Errors: what the emulator reported.
  Result<std::vector<BufferValues>> run_only(size_t k) const;

  /// Runs the kernel of case k on other data. What is only written has nothing in `before`; `after`
  /// tells how much it holds.
  Result<std::vector<BufferValues>> run_on(size_t k, const KernelData& data) const;

  /// Runs case number k and compares. Errors: what the emulator reported, or the first element that
  /// is wrong, as "label: buffer 'y'[3]: expected 1.5, got 2".
  Status run(size_t k) const;

 private:
  EmulatedBatch();
  struct State;
  std::unique_ptr<State> state_;
};

/// All kernels of the cases with the dialect's prelude in front, for the GPU's own compiler.
Result<std::string> gpu_source(std::span<const KernelCase> cases, const Dialect& dialect);

/// Compiles CUDA text with NVRTC for an architecture such as "sm_90". Errors: NVRTC is missing
/// (what to install), the text does not compile or warns (its log), registers spill.
Status compile_cuda(const std::string& source, std::string_view arch);

/// Compiles HIP text with clang for an architecture such as "gfx90a". Errors: likewise.
Status compile_hip(const std::string& source, std::string_view arch);

}  // namespace ingot
