// tests/gpu/prelude_kernels.h: runs the GPU prelude's reductions in the emulator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::emu {

/// For every block of 256 values: what each of its threads got from block_reduce, and what each
/// lane got from warp_reduce.
template <class T>
struct Reduced {
  std::vector<T> of_block;
  std::vector<T> of_warp;
};

enum class JoinKind : uint8_t { kSum, kProduct, kMin, kMax };

/// Joins `values`, a multiple of 256 in number.
Reduced<float> reduce(JoinKind kind, std::span<const float> values);
Reduced<double> reduce(JoinKind kind, std::span<const double> values);
Reduced<int32_t> reduce(JoinKind kind, std::span<const int32_t> values);
Reduced<long long> reduce(JoinKind kind, std::span<const long long> values);
Reduced<bool> reduce_any(std::span<const bool> values);
Reduced<bool> reduce_all(std::span<const bool> values);

/// to[i] = from[i] by 16-byte accesses; a multiple of 8 halves.
void copy_by_vectors(const uint16_t* from, uint16_t* to, int count);

}  // namespace ingot::emu
