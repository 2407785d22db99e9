// tests/gpu/kernel_case.cc: loop nests with data, run as generated GPU code in the emulator.
#include "kernel_case.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/file.h"
#include "base/text.h"
#include "emulator.h"

namespace ingot {
namespace {

/// Runs a shell command; its output, standard error included, is in `log`.
int run_command(const std::string& command, std::string& log) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return -1;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) log.append(buffer, n);
  return pclose(pipe);
}

std::string in_quotes(const std::filesystem::path& path) {
  return concat("'", path.string(), "'");
}

/// A buffer in the emulator's device memory.
class DeviceBuffer {
 public:
  DeviceBuffer(const std::string& name, const BufferValues& values, bool from_host) {
    const size_t count = values.reals.size() + values.ints.size();
    const auto bytes = static_cast<size_t>(bits(values.dtype)) / 8 * count;
    memory_ = emu::device_alloc(
        bytes, name.c_str(), from_host ? emu::Contents::kFromHost : emu::Contents::kUninitialized);
    if (!from_host) return;
    for (size_t k = 0; k < values.reals.size(); ++k) {
      store_from_double(values.dtype, memory_, k, values.reals[k]);
    }
    for (size_t k = 0; k < values.ints.size(); ++k) {
      store_from_int(values.dtype, memory_, k, values.ints[k]);
    }
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() { emu::device_free(memory_); }

  void* memory() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

/// The distance of neighbouring numbers of a type around `magnitude`.
double unit_in_last_place(DType dtype, double magnitude) {
  const int mantissa = dtype == DType::f64    ? 52
                       : dtype == DType::f32  ? 23
                       : dtype == DType::f16  ? 10
                       : dtype == DType::bf16 ? 7
                                              : 0;
  const double smallest = dtype == DType::f16 ? 0x1p-14 : 0x1p-126;
  return std::ldexp(1.0, std::ilogb(std::max(magnitude, smallest)) - mantissa);
}

bool is_close(double expected, double got, double tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  return expected == got || std::abs(expected - got) <= tolerance;
}

/// The values in memory, as many as `like` has.
BufferValues read_back(const BufferValues& like, const void* memory) {
  BufferValues values{like.dtype, {}, {}};
  for (size_t k = 0; k < like.reals.size(); ++k) {
    values.reals.push_back(load_as_double(like.dtype, memory, k));
  }
  for (size_t k = 0; k < like.ints.size(); ++k) {
    values.ints.push_back(load_as_int(like.dtype, memory, k));
  }
  return values;
}

Status compare(const KernelCase& at, const BufferParam& buffer, const BufferValues& expected,
               const BufferValues& got_values) {
  for (size_t k = 0; k < expected.ints.size(); ++k) {
    const int64_t got = got_values.ints[k];
    if (got == expected.ints[k]) continue;
    return invalid_argument(at.label, ": buffer '", buffer.name, "'[", k, "]: expected ",
                            expected.ints[k], ", got ", got);
  }
  // Sums cancel: what is lost depends on the size of what was added, of which the largest result
  // tells something.
  double largest = 0;
  for (const double x : expected.reals) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  for (size_t k = 0; k < expected.reals.size(); ++k) {
    const double want = expected.reals[k];
    const double got = got_values.reals[k];
    const double tolerance = at.ulp * unit_in_last_place(expected.dtype, largest);
    if (is_close(want, got, tolerance)) continue;
    return invalid_argument(at.label, ": buffer '", buffer.name, "'[", k, "]: expected ", want,
                            ", got ", got, ", tolerance ", tolerance);
  }
  return ok();
}

std::string reports_text() {
  std::string text;
  for (const emu::Report& report : emu::reports()) {
    text += concat("\n  [", report.kind, "] ", report.text);
  }
  return text;
}

}  // namespace

BufferValues buffer_of(const Tensor& tensor, DType dtype) {
  return {dtype,
          {tensor.reals().begin(), tensor.reals().end()},
          {tensor.ints().begin(), tensor.ints().end()}};
}

Tensor to_tensor(const Tensor& like, const BufferValues& values) {
  Tensor tensor(like.dtype(), like.dims());
  std::ranges::copy(values.reals, tensor.reals().begin());
  std::ranges::copy(values.ints, tensor.ints().begin());
  return tensor;
}

struct EmulatedBatch::State {
  std::span<const KernelCase> cases;
  EmulatedMode mode;
  TempDir folder;
  std::vector<GpuKernel> kernels;
  void* library = nullptr;

  State(std::span<const KernelCase> all, EmulatedMode how, TempDir dir)
      : cases(all), mode(how), folder(std::move(dir)) {}
  State(const State&) = delete;
  ~State() {
    if (library != nullptr) dlclose(library);
  }

  Status launch(const KernelData& at, const GpuLaunch& launch,
                const std::vector<DeviceBuffer>& buffers) const;
};

EmulatedBatch::EmulatedBatch() = default;
EmulatedBatch::EmulatedBatch(EmulatedBatch&&) noexcept = default;
EmulatedBatch& EmulatedBatch::operator=(EmulatedBatch&&) noexcept = default;
EmulatedBatch::~EmulatedBatch() = default;

Result<EmulatedBatch> EmulatedBatch::compile(std::span<const KernelCase> cases, EmulatedMode mode) {
  TRY(TempDir folder, TempDir::create());
  EmulatedBatch batch;
  batch.state_ = std::make_unique<State>(cases, mode, std::move(folder));
  State& state = *batch.state_;
  std::string source = "#include \"gpu.h\"\n";
  for (const KernelCase& at : cases) {
    TRY(GpuKernel kernel, add_note(emit_gpu(at.kernel, *mode.dialect), at.label));
    source += mode.edit ? mode.edit(state.kernels.size(), kernel.text) : kernel.text;
    for (const GpuLaunch& launch : kernel.launches) {
      source += concat("INGOT_EMU_EXPORT(", launch.name, ")\n");
    }
    state.kernels.push_back(std::move(kernel));
  }
  const std::filesystem::path file = state.folder.path() / "kernels.cc";
  const std::filesystem::path library = state.folder.path() / "kernels.so";
  TRY_STATUS(write_atomically(file, source));
  const std::string command = concat(
      INGOT_EMU_CXX, " -std=c++20 -march=x86-64-v3 -fPIC -fvisibility=hidden -fwrapv",
      " -Wall -Wextra -Werror -Wno-unused-function -DINGOT_GPU_EMULATOR=1 -DINGOT_EMU_WARP=",
      mode.dialect->warp_size, mode.check ? " -O1 -g1 -fsanitize=thread -c" : " -O1 -shared",
      " -I" INGOT_SOURCE_DIR "/tests/gpu/emulator -I" INGOT_SOURCE_DIR "/src/codegen/prelude/gpu ",
      in_quotes(file), " -o ", in_quotes(mode.check ? state.folder.path() / "kernels.o" : library));
  std::string log;
  int status = run_command(command, log);
  if (status == 0 && mode.check) {
    // Linked without the option: the emulator answers the calls that libtsan would.
    status =
        run_command(concat(INGOT_EMU_CXX, " -shared ", in_quotes(state.folder.path() / "kernels.o"),
                           " -o ", in_quotes(library)),
                    log);
  }
  if (status != 0) {
    state.folder.keep();
    return toolchain_error(file.string(), ": does not compile: ", log);
  }
  state.library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (state.library == nullptr) return toolchain_error(dlerror());
  return batch;
}

Status EmulatedBatch::State::launch(const KernelData& at, const GpuLaunch& launch,
                                    const std::vector<DeviceBuffer>& buffers) const {
  // A small grid makes threads and blocks stride over several units.
  constexpr int64_t kMostBlocks = 64;
  const int64_t blocks = std::min(block_count(launch, at.symbols), kMostBlocks);
  if (blocks == 0) return ok();
  const std::string name = concat("ingot_emu_", launch.name);
  const auto kernel = reinterpret_cast<emu::Thunk>(dlsym(library, name.c_str()));
  if (kernel == nullptr) return toolchain_error("no kernel ", name);

  std::vector<void*> pointers;
  for (const uint32_t b : launch.buffers) pointers.push_back(buffers[b].memory());
  std::vector<long long> symbols;
  for (const SymbolId symbol : launch.symbols) symbols.push_back(at.symbols[symbol.index()]);
  std::vector<void*> args;
  for (void*& pointer : pointers) args.push_back(&pointer);
  for (long long& symbol : symbols) args.push_back(&symbol);
  const auto scratch_bytes =
      static_cast<size_t>(evaluate_dim(launch.scratch_bytes, at.symbols) * blocks);
  void* scratch = emu::device_alloc(scratch_bytes, "scratch", emu::Contents::kUninitialized);
  args.push_back(&scratch);
  emu::launch(kernel, args.data(), {static_cast<unsigned>(blocks), 1, 1},
              {static_cast<unsigned>(launch.threads), 1, 1});
  emu::device_free(scratch);
  return ok();
}

Result<std::vector<BufferValues>> EmulatedBatch::run_only(size_t k) const {
  return run_on(k, state_->cases[k]);
}

Result<std::vector<BufferValues>> EmulatedBatch::run_on(size_t k, const KernelData& data) const {
  const KernelCase& at = state_->cases[k];
  emu::config() = emu::Config{};
  emu::config().seed = k + 1;
  emu::config().order = emu::Order::kRandom;
  emu::config().warp_size = state_->mode.dialect->warp_size;
  emu::config().max_shared_bytes = static_cast<size_t>(state_->mode.dialect->max_shared_bytes);
  emu::config().check = state_->mode.check;
  emu::reports().clear();

  std::vector<DeviceBuffer> buffers;
  for (size_t b = 0; b < at.kernel.buffers.size(); ++b) {
    // What is only written begins as nothing; a read of it is then an error.
    const bool only_written =
        at.kernel.buffers[b].written && data.before[b].reals.empty() && data.before[b].ints.empty();
    buffers.emplace_back(at.kernel.buffers[b].name, only_written ? data.after[b] : data.before[b],
                         !only_written);
  }
  for (const GpuLaunch& launch : state_->kernels[k].launches) {
    TRY_STATUS(state_->launch(data, launch, buffers));
  }
  if (!emu::reports().empty()) return internal_error(at.label, ":", reports_text());
  std::vector<BufferValues> values;
  for (size_t b = 0; b < at.kernel.buffers.size(); ++b) {
    values.push_back(read_back(data.after[b], buffers[b].memory()));
  }
  return values;
}

Status EmulatedBatch::run(size_t k) const {
  const KernelCase& at = state_->cases[k];
  TRY(const std::vector<BufferValues> got, run_only(k));
  for (size_t b = 0; b < at.kernel.buffers.size(); ++b) {
    if (!at.kernel.buffers[b].written) continue;
    TRY_STATUS(compare(at, at.kernel.buffers[b], at.after[b], got[b]));
  }
  return ok();
}

Result<std::string> gpu_source(std::span<const KernelCase> cases, const Dialect& dialect) {
  std::string source = gpu_prelude(dialect);
  for (const KernelCase& at : cases) {
    TRY(const GpuKernel kernel, add_note(emit_gpu(at.kernel, dialect), at.label));
    source += concat("\n", kernel.text);
  }
  return source;
}

namespace {

/// NVRTC of the tests' Python environment, or of an installed CUDA toolkit.
std::string find_nvrtc() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const auto& python : fs::directory_iterator(INGOT_SOURCE_DIR "/.venv/lib", ignored)) {
    const fs::path library = python.path() / "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
    if (fs::exists(library)) return library.string();
  }
  for (const char* library : {"/usr/local/cuda/lib64/libnvrtc.so"}) {
    if (fs::exists(library)) return library;
  }
  return {};
}

/// Writes the text to a file and runs `command` with {source} and {output} replaced.
Status compile_text(const std::string& source, std::string_view extension,
                    std::string_view command) {
  TRY(TempDir folder, TempDir::create());
  const std::filesystem::path file = folder.path() / concat("kernels", extension);
  TRY_STATUS(write_atomically(file, source));
  std::string log;
  const int status = run_command(
      fill(command, {{"source", in_quotes(file)}, {"output", in_quotes(folder.path() / "out")}}),
      log);
  if (status == 0 && log.find("warning") == std::string::npos) return ok();
  folder.keep();
  return toolchain_error(file.string(), ": ", log.substr(0, 8000));
}

}  // namespace

Status compile_cuda(const std::string& source, std::string_view arch) {
  const std::string library = find_nvrtc();
  if (library.empty()) {
    return toolchain_error(
        "no NVRTC: expected the Python package nvidia-cuda-nvrtc-cu12 in .venv (run tools/setup) ",
        "or a CUDA toolkit in /usr/local/cuda");
  }
  return compile_text(source, ".cu",
                      concat(INGOT_NVRTC_COMPILE, " '", library, "' {source} ", arch, " {output}"));
}

Status compile_hip(const std::string& source, std::string_view arch) {
  constexpr std::string_view kBitcode = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";
  if (!std::filesystem::exists("/usr/bin/clang++-19")) {
    return toolchain_error("no clang++-19: install Debian's clang-19 and lld-19 (run tools/setup)");
  }
  if (!std::filesystem::exists(kBitcode)) {
    return toolchain_error("no ", kBitcode,
                           ": install Debian's rocm-device-libs (run tools/setup)");
  }
  // Bounds of generated code may be such that a condition is always true, which clang remarks.
  return compile_text(source, ".hip",
                      concat("clang++-19 -x hip -std=c++20 -O3 -Wall -Wextra -Werror "
                             "-Wno-tautological-compare --rocm-path=/usr "
                             "--rocm-device-lib-path=",
                             kBitcode, " -nogpuinc -mcode-object-version=5 --offload-arch=", arch,
                             " --cuda-device-only --no-gpu-bundle-output -c {source} -o {output}"));
}

}  // namespace ingot
