// codegen/prelude/gpu/gpu_reduce.h: joins the values of a block's threads into one that all get.
//
// Values are joined by a butterfly inside each warp, then the warps' results in ascending order of
// warps: for a given number of threads the order is always the same. It stands on gpu_math.h.
#pragma once

namespace gpu {

struct Sum {
  template <class T>
  static GPU_DEVICE T join(T a, T b) {
    return add(a, b);
  }
};
struct Product {
  template <class T>
  static GPU_DEVICE T join(T a, T b) {
    return mul(a, b);
  }
};
struct Min {
  template <class T>
  static GPU_DEVICE T join(T a, T b) {
    return min(a, b);
  }
};
struct Max {
  template <class T>
  static GPU_DEVICE T join(T a, T b) {
    return max(a, b);
  }
};
struct Any {
  static GPU_DEVICE bool join(bool a, bool b) { return a || b; }
};
struct All {
  static GPU_DEVICE bool join(bool a, bool b) { return a && b; }
};

GPU_DEVICE float exchange(float x, int mask) {
  return f32_of(shuffle_xor(bits_of(x), mask));
}
GPU_DEVICE u64 exchange(u64 x, int mask) {
  const u64 low = shuffle_xor(static_cast<u32>(x), mask);
  const u64 high = shuffle_xor(static_cast<u32>(x >> 32), mask);
  return high << 32 | low;
}
GPU_DEVICE double exchange(double x, int mask) {
  return f64_of(exchange(bits_of(x), mask));
}
/// Integers of up to 32 bits, and booleans.
template <class T>
GPU_DEVICE T exchange(T x, int mask) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(exchange(static_cast<u64>(x), mask));
  } else {
    return static_cast<T>(shuffle_xor(static_cast<u32>(x), mask));
  }
}

/// All lanes of the warp take part and get the joined value.
template <class Op, class T>
GPU_DEVICE T warp_reduce(T value) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    value = Op::join(value, exchange(value, mask));
  }
  return value;
}

/// All kThreads threads of the block take part and get the joined value. Threads are counted along
/// x and fill whole warps.
template <class Op, int kThreads, class T>
GPU_DEVICE T block_reduce(T value) {
  static_assert(kThreads % kWarp == 0, "a block consists of whole warps");
  constexpr int kWarps = kThreads / kWarp;
  value = warp_reduce<Op>(value);
  if constexpr (kWarps > 1) {
    GPU_SHARED(T, parts, kWarps);
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = value;
    sync();
    value = parts[0];
    for (int i = 1; i < kWarps; ++i) value = Op::join(value, parts[i]);
    sync();  // because the next call writes `parts` again
  }
  return value;
}

}  // namespace gpu
