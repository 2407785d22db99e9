// codegen/prelude/gpu/gpu_hip.h: the GPU prelude's back end for AMD GPUs (clang -x hip -nogpuinc).
//
// It stands on clang's builtins and on ROCm's device library (__ocml_*), which the compiler links
// as bitcode; the HIP headers are not needed.
#pragma once

#define GPU_KERNEL(threads) \
  extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#define GPU_DEVICE inline __attribute__((device, always_inline))
#define GPU_SHARED(type, name, n) static __attribute__((shared)) type name[n]

#define threadIdx (::gpu::thread_index())
#define blockIdx (::gpu::block_index())
#define gridDim (::gpu::grid_size())

#define GPU_OCML_UNARY(name)                                           \
  extern "C" __attribute__((device)) float __ocml_##name##_f32(float); \
  extern "C" __attribute__((device)) double __ocml_##name##_f64(double);
#define GPU_OCML_BINARY(name)                                                 \
  extern "C" __attribute__((device)) float __ocml_##name##_f32(float, float); \
  extern "C" __attribute__((device)) double __ocml_##name##_f64(double, double);

namespace gpu {

using i64 = long long;
using u32 = unsigned int;
using u64 = unsigned long long;

#if defined(__AMDGCN_WAVEFRONT_SIZE__)
constexpr int kWarp = __AMDGCN_WAVEFRONT_SIZE__;
#else
constexpr int kWarp = 64;  // host pass: never run
#endif

struct Index {
  u32 x;
};

GPU_DEVICE Index thread_index() {
  return {__builtin_amdgcn_workitem_id_x()};
}
GPU_DEVICE Index block_index() {
  return {__builtin_amdgcn_workgroup_id_x()};
}
GPU_DEVICE Index grid_size() {
  return {__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()};
}

GPU_DEVICE void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

GPU_DEVICE void warp_sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

GPU_DEVICE u32 shuffle_xor(u32 value, int mask) {
  const int lane = static_cast<int>(threadIdx.x) & (kWarp - 1);
  // The address is in bytes, four a lane.
  return static_cast<u32>(__builtin_amdgcn_ds_bpermute((lane ^ mask) * 4, static_cast<int>(value)));
}

struct f16 {
  unsigned short bits;
};
struct bf16 {
  unsigned short bits;
};

GPU_DEVICE u32 bits_of(float x) {
  return __builtin_bit_cast(u32, x);
}
GPU_DEVICE u64 bits_of(double x) {
  return __builtin_bit_cast(u64, x);
}
GPU_DEVICE float f32_of(u32 bits) {
  return __builtin_bit_cast(float, bits);
}
GPU_DEVICE double f64_of(u64 bits) {
  return __builtin_bit_cast(double, bits);
}

GPU_DEVICE float to_f32(f16 x) {
  return static_cast<float>(__builtin_bit_cast(_Float16, x.bits));
}

GPU_DEVICE f16 round_to_f16(float x) {
  return {__builtin_bit_cast(unsigned short, static_cast<_Float16>(x))};
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
  GPU_OCML_UNARY(name)               \
  GPU_DEVICE float name(float x) {   \
    return __ocml_##name##_f32(x);   \
  }                                  \
  GPU_DEVICE double name(double x) { \
    return __ocml_##name##_f64(x);   \
  }
#define GPU_BINARY_MATH(name)                  \
  GPU_OCML_BINARY(name)                        \
  GPU_DEVICE float name(float x, float y) {    \
    return __ocml_##name##_f32(x, y);          \
  }                                            \
  GPU_DEVICE double name(double x, double y) { \
    return __ocml_##name##_f64(x, y);          \
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
#undef GPU_OCML_UNARY
#undef GPU_OCML_BINARY

}  // namespace gpu
