// tests/gpu/prelude_kernels.cc: runs the GPU prelude's reductions in the emulator.
#include "prelude_kernels.h"

#include "gpu.h"

namespace ingot::emu {
namespace {

constexpr int kThreads = 256;

template <class Op, class T>
GPU_KERNEL(kThreads)
void reduce_kernel(const T* x, T* of_block, T* of_warp) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  of_block[i] = gpu::block_reduce<Op, kThreads>(x[i]);
  of_warp[i] = gpu::warp_reduce<Op>(x[i]);
}

GPU_KERNEL(32) void copy_kernel(const gpu::f16* from, gpu::f16* to, int count) {
  using Half8 = gpu::Vec<gpu::f16, 8>;
  const int i = static_cast<int>(blockIdx.x * 32 + threadIdx.x) * 8;
  if (i < count) gpu::st(to + i, gpu::ld<Half8>(from + i));
}

template <class Op, class T>
Reduced<T> run(std::span<const T> values) {
  const size_t count = values.size();
  auto* x = static_cast<T*>(device_alloc(count * sizeof(T), "x"));
  auto* of_block = static_cast<T*>(device_alloc(count * sizeof(T), "of_block"));
  auto* of_warp = static_cast<T*>(device_alloc(count * sizeof(T), "of_warp"));
  for (size_t i = 0; i < count; ++i) x[i] = values[i];
  const auto blocks = static_cast<unsigned>(count / kThreads);
  Launcher<reduce_kernel<Op, T>>::launch({blocks}, {kThreads}, x, of_block, of_warp);
  Reduced<T> result;
  result.of_block.assign(of_block, of_block + count);
  result.of_warp.assign(of_warp, of_warp + count);
  device_free(x);
  device_free(of_block);
  device_free(of_warp);
  return result;
}

template <class T>
Reduced<T> run_kind(JoinKind kind, std::span<const T> values) {
  switch (kind) {
    case JoinKind::kSum:
      return run<gpu::Sum>(values);
    case JoinKind::kProduct:
      return run<gpu::Product>(values);
    case JoinKind::kMin:
      return run<gpu::Min>(values);
    case JoinKind::kMax:
      return run<gpu::Max>(values);
  }
  return {};
}

}  // namespace

Reduced<float> reduce(JoinKind kind, std::span<const float> v) {
  return run_kind(kind, v);
}
Reduced<double> reduce(JoinKind kind, std::span<const double> v) {
  return run_kind(kind, v);
}
Reduced<int32_t> reduce(JoinKind kind, std::span<const int32_t> v) {
  return run_kind(kind, v);
}
Reduced<long long> reduce(JoinKind kind, std::span<const long long> v) {
  return run_kind(kind, v);
}
Reduced<bool> reduce_any(std::span<const bool> v) {
  return run<gpu::Any>(v);
}
Reduced<bool> reduce_all(std::span<const bool> v) {
  return run<gpu::All>(v);
}

void copy_by_vectors(const uint16_t* from, uint16_t* to, int count) {
  const auto blocks = static_cast<unsigned>((count + 255) / 256);
  Launcher<copy_kernel>::launch({blocks}, {32}, reinterpret_cast<const gpu::f16*>(from),
                                reinterpret_cast<gpu::f16*>(to), count);
}

}  // namespace ingot::emu
