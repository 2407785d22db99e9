// codegen/prelude/gpu/gpu_cuda.h: the GPU prelude's back end for CUDA (NVRTC and nvcc, sm_80 on).
#pragma once

#define GPU_KERNEL(threads) extern "C" __global__ __launch_bounds__(threads)
#define GPU_DEVICE __device__ __forceinline__
#define GPU_SHARED(type, name, n) __shared__ type name[n]

namespace gpu {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int kWarp = 32;

GPU_DEVICE void sync() {
  __syncthreads();
}
GPU_DEVICE void warp_sync() {
  __syncwarp();
}

GPU_DEVICE u32 shuffle_xor(u32 value, int mask) {
  return __shfl_xor_sync(0xFFFFFFFFu, value, mask);
}

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

GPU_DEVICE u32 bits_of(float x) {
  return __float_as_uint(x);
}
GPU_DEVICE u64 bits_of(double x) {
  return static_cast<u64>(__double_as_longlong(x));
}
GPU_DEVICE float f32_of(u32 bits) {
  return __uint_as_float(bits);
}
GPU_DEVICE double f64_of(u64 bits) {
  return __longlong_as_double(static_cast<i64>(bits));
}

GPU_DEVICE float to_f32(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

GPU_DEVICE f16 round_to_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

template <class V, class T>
GPU_DEVICE V ld(const T* from) {
  return *reinterpret_cast<const V*>(from);
}

template <class V, class T>
GPU_DEVICE void st(T* to, const V& value) {
  *reinterpret_cast<V*>(to) = value;
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
