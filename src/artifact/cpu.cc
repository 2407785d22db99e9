// artifact/cpu.cc: reads CPUID. Source: Intel SDM vol. 2 CPUID; x86-64 psABI, micro-architecture
// levels.
#include "artifact/cpu.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ingot::artifact {

#if defined(__x86_64__)
namespace {

struct Registers {
  u32 a, b, c, d;
};

Registers read_cpuid(u32 leaf, u32 subleaf) {
  Registers r = {0, 0, 0, 0};
  if (static_cast<u32>(__get_cpuid_max(leaf & 0x80000000u, nullptr)) < leaf) return r;
  __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
  return r;
}

constexpr bool has_all(u32 word, u32 bits) {
  return (word & bits) == bits;
}

constexpr u32 bit(int number) {
  return 1u << number;
}

u64 read_xcr0() {
  u32 low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<u64>(high) << 32 | low;
}

}  // namespace

u64 detect_cpu() {
  const Registers basic = read_cpuid(1, 0);
  const Registers extended = read_cpuid(7, 0);
  const Registers more = read_cpuid(7, 1);
  const Registers amd = read_cpuid(0x80000001u, 0);
  u64 features = 0;

  // SSE3 0, SSSE3 9, CMPXCHG16B 13, SSE4.1 19, SSE4.2 20, POPCNT 23; LAHF-SAHF amd 0.
  const u32 v2 = bit(0) | bit(9) | bit(13) | bit(19) | bit(20) | bit(23);
  if (!has_all(basic.c, v2) || !has_all(amd.c, bit(0))) return features;
  features |= kCpuV2;

  // FMA 12, MOVBE 22, OSXSAVE 27, AVX 28, F16C 29; BMI1 3, AVX2 5, BMI2 8; LZCNT amd 5; XCR0: SSE
  // 1, YMM 2.
  const u32 v3 = bit(12) | bit(22) | bit(27) | bit(28) | bit(29);
  if (!has_all(basic.c, v3) || !has_all(extended.b, bit(3) | bit(5) | bit(8)) ||
      !has_all(amd.c, bit(5)) || (read_xcr0() & 6) != 6) {
    return features;
  }
  features |= kCpuV3;
  if (has_all(more.a, bit(4))) features |= kCpuAvxVnni;

  // AVX512F 16, DQ 17, CD 28, BW 30, VL 31; XCR0: opmask 5, upper ZMM 6, ZMM16-31 7.
  if (!has_all(extended.b, bit(16) | bit(17) | bit(28) | bit(30) | bit(31)) ||
      (read_xcr0() & 0xe0) != 0xe0) {
    return features;
  }
  features |= kCpuV4;
  if (has_all(extended.c, bit(11))) features |= kCpuAvx512Vnni;
  if (has_all(more.a, bit(5))) features |= kCpuAvx512Bf16;
  if (has_all(extended.d, bit(23))) features |= kCpuAvx512Fp16;
  return features;
}
#else
u64 detect_cpu() {
  return 0;
}
#endif

void print_cpu(u64 features, char* text, u32 text_bytes) {
  const CpuFeature* level = &kCpuFeatures[0];
  for (const CpuFeature& feature : kCpuFeatures) {
    if (feature.level && (features & feature.needs) == feature.needs) level = &feature;
  }
  snprintf(text, text_bytes, "%s", level->name);
  u64 named = level->needs;
  for (const CpuFeature& feature : kCpuFeatures) {
    if (feature.level || (features & feature.bit) == 0) continue;
    const size_t used = strlen(text);
    snprintf(text + used, text_bytes - used, "+%s", feature.name);
    named |= feature.bit;
  }
  if ((features & ~named) != 0) {
    const size_t used = strlen(text);
    snprintf(text + used, text_bytes - used, "+unknown(%llx)",
             static_cast<unsigned long long>(features & ~named));
  }
}

}  // namespace ingot::artifact
