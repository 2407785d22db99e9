// tests/gpu/emulator/gpu_emu.h: the GPU prelude's back end for the emulator (g++ and clang).
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "emulator.h"

// Names that g++ does not know, in kernels that a GPU compiler reads unchanged.
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

#define GPU_KERNEL(threads) static
#define GPU_DEVICE inline
#define GPU_SHARED(type, name, n)        \
  static char name##_key;                \
  type* const name = static_cast<type*>( \
      ::ingot::emu::shared_variable(&name##_key, sizeof(type) * (n), alignof(type)))

#define threadIdx (::ingot::emu::current_lane->thread)
#define blockIdx (::ingot::emu::current_block)
#define gridDim (::ingot::emu::grid_size)

#ifndef INGOT_EMU_WARP
#define INGOT_EMU_WARP 32
#endif

#define GPU_HERE ::ingot::emu::Location location = ::ingot::emu::Location::current()

namespace gpu {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int kWarp = INGOT_EMU_WARP;

GPU_DEVICE void sync(GPU_HERE) {
  ::ingot::emu::block_barrier(location);
}
GPU_DEVICE void warp_sync(GPU_HERE) {
  ::ingot::emu::warp_barrier(location);
}

GPU_DEVICE u32 shuffle_xor(u32 value, int mask, GPU_HERE) {
  return ::ingot::emu::shuffle(value, ::ingot::emu::current_lane->lane ^ mask, location);
}

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

template <class To, class From>
INGOT_EMU_UNCHECKED inline To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

GPU_DEVICE u32 bits_of(float x) {
  return bit_cast<u32>(x);
}
GPU_DEVICE u64 bits_of(double x) {
  return bit_cast<u64>(x);
}
GPU_DEVICE float f32_of(u32 bits) {
  return bit_cast<float>(bits);
}
GPU_DEVICE double f64_of(u64 bits) {
  return bit_cast<double>(bits);
}

GPU_DEVICE float to_f32(f16 x) {
  return _cvtsh_ss(x.bits);
}
GPU_DEVICE f16 round_to_f16(float x) {
  const __m128i halves = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);
  return {static_cast<unsigned short>(_mm_cvtsi128_si32(halves))};
}

template <class V, class T>
INGOT_EMU_UNCHECKED inline V ld(const T* from, GPU_HERE) {
  V value;
  ::ingot::emu::load_checked(&value, from, sizeof value, location);
  return value;
}

template <class V, class T>
INGOT_EMU_UNCHECKED inline void st(T* to, const V& value, GPU_HERE) {
  ::ingot::emu::store_checked(to, &value, sizeof value, location);
}

/// For the emulator's own tests: loop nests have no atomics.
INGOT_EMU_UNCHECKED inline void atomic_add(float* to, float value, GPU_HERE) {
  ::ingot::emu::note_atomic(to, sizeof *to, location);
  *to += value;
}

#define GPU_UNARY_MATH(name)         \
  GPU_DEVICE float name(float x) {   \
    return ::name##f(x);             \
  }                                  \
  GPU_DEVICE double name(double x) { \
    return ::name(x);                \
  }
#define GPU_BINARY_MATH(name)                  \
  GPU_DEVICE float name(float x, float y) {    \
    return ::name##f(x, y);                    \
  }                                            \
  GPU_DEVICE double name(double x, double y) { \
    return ::name(x, y);                       \
  }

GPU_UNARY_MATH(exp)
GPU_UNARY_MATH(log)
GPU_UNARY_MATH(sqrt)
GPU_UNARY_MATH(sin)
GPU_UNARY_MATH(cos)
GPU_UNARY_MATH(tan)
GPU_UNARY_MATH(asin)
GPU_UNARY_MATH(acos)
GPU_UNARY_MATH(atan)
GPU_UNARY_MATH(sinh)
GPU_UNARY_MATH(cosh)
GPU_UNARY_MATH(tanh)
GPU_UNARY_MATH(asinh)
GPU_UNARY_MATH(acosh)
GPU_UNARY_MATH(atanh)
GPU_UNARY_MATH(erf)
GPU_UNARY_MATH(floor)
GPU_UNARY_MATH(ceil)
GPU_UNARY_MATH(rint)
GPU_UNARY_MATH(trunc)
GPU_UNARY_MATH(fabs)
GPU_BINARY_MATH(pow)
GPU_BINARY_MATH(fmod)
#undef GPU_UNARY_MATH
#undef GPU_BINARY_MATH

}  // namespace gpu

namespace ingot::emu {

template <class... Params, size_t... I>
INGOT_EMU_UNCHECKED inline void call_kernel(void (*kernel)(Params...), void** args,
                                            std::index_sequence<I...>) {
  kernel(*static_cast<Params*>(args[I])...);
}

template <auto kKernel>
struct Launcher;

/// Launcher<kernel>::launch(grid, block, arguments...) runs a kernel as <<<grid, block>>> would;
/// thunk is the untyped form.
template <class... Params, void (*kKernel)(Params...)>
struct Launcher<kKernel> {
  INGOT_EMU_UNCHECKED static void thunk(void** args) {
    call_kernel(kKernel, args, std::index_sequence_for<Params...>{});
  }
  INGOT_EMU_UNCHECKED static void launch(Dim3 grid, Dim3 block, Params... params) {
    void* args[] = {static_cast<void*>(&params)..., nullptr};
    emu::launch(thunk, args, grid, block);
  }
};

}  // namespace ingot::emu

/// Makes a kernel of a shared library callable as `ingot_emu_NAME(args)`, see Thunk.
#define INGOT_EMU_EXPORT(kernel)                                                           \
  extern "C" __attribute__((visibility("default"))) void ingot_emu_##kernel(void** args) { \
    ::ingot::emu::Launcher<kernel>::thunk(args);                                           \
  }
