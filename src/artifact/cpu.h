// artifact/cpu.h: what a machine's processor must have for a level of code, as bits. No includes:
// the code generator writes these bits into Level::features, the runtime compares them with CPUID.
#pragma once

#include "artifact/program.h"

namespace ingot::artifact {

/// The x86-64 psABI levels. Each bit stands for what its level adds; the baseline is 0.
inline constexpr u64 kCpuV2 = 1u << 0;  // SSE4.2, SSSE3, POPCNT, CMPXCHG16B
inline constexpr u64 kCpuV3 =
    1u << 1;  // AVX2, FMA, BMI1/2, F16C, LZCNT, MOVBE, and an OS that saves YMM
inline constexpr u64 kCpuV4 = 1u << 2;  // AVX512F/BW/CD/DQ/VL, and an OS that saves ZMM
/// What code may ask for beyond a level.
inline constexpr u64 kCpuAvxVnni = 1u << 8;
inline constexpr u64 kCpuAvx512Vnni = 1u << 9;
inline constexpr u64 kCpuAvx512Bf16 = 1u << 10;
inline constexpr u64 kCpuAvx512Fp16 = 1u << 11;

/// A row of the table of features; levels first, lowest first.
struct CpuFeature {
  u64 bit;           // 0: the baseline
  u64 needs;         // with everything that it builds on
  const char* name;  // "x86-64-v3", "avx512bf16"
  bool level;
};
inline constexpr CpuFeature kCpuFeatures[] = {
    {0, 0, "x86-64", true},
    {kCpuV2, kCpuV2, "x86-64-v2", true},
    {kCpuV3, kCpuV2 | kCpuV3, "x86-64-v3", true},
    {kCpuV4, kCpuV2 | kCpuV3 | kCpuV4, "x86-64-v4", true},
    {kCpuAvxVnni, kCpuV2 | kCpuV3 | kCpuAvxVnni, "avxvnni", false},
    {kCpuAvx512Vnni, kCpuV2 | kCpuV3 | kCpuV4 | kCpuAvx512Vnni, "avx512vnni", false},
    {kCpuAvx512Bf16, kCpuV2 | kCpuV3 | kCpuV4 | kCpuAvx512Bf16, "avx512bf16", false},
    {kCpuAvx512Fp16, kCpuV2 | kCpuV3 | kCpuV4 | kCpuAvx512Fp16, "avx512fp16", false},
};

/// What this machine has (0 on other architectures: the baseline).
u64 detect_cpu();

/// Writes the highest level and the features beyond it, "x86-64-v4+avx512bf16", into `text`.
void print_cpu(u64 features, char* text, u32 text_bytes);

}  // namespace ingot::artifact
