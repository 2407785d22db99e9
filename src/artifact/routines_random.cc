// artifact/routines_random.cc: numbers that need those before them.
#include "artifact/routines.h"
#include "ingot/ingot.h"

namespace ingot::artifact {
namespace {

/// MT19937. Source: Matsumoto and Nishimura, mt19937ar.c.
class MersenneTwister {
 public:
  explicit MersenneTwister(u32 seed) {
    state_[0] = seed;
    for (u32 i = 1; i < kWords; ++i) {
      state_[i] = 1812433253 * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
    }
  }

  u32 next() {
    if (at_ == kWords) turn();
    u32 y = state_[at_++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680;
    y ^= y << 15 & 0xefc60000;
    return y ^ y >> 18;
  }

 private:
  static constexpr u32 kWords = 624, kOffset = 397;

  void turn() {
    for (u32 i = 0; i < kWords; ++i) {
      const u32 y = (state_[i] & 0x80000000) | (state_[(i + 1) % kWords] & 0x7fffffff);
      state_[i] = state_[(i + kOffset) % kWords] ^ y >> 1 ^ ((y & 1) != 0 ? 0x9908b0df : 0);
    }
    at_ = 0;
  }

  u32 state_[kWords];
  u32 at_ = kWords;
};

}  // namespace

extern "C" int ingot_mersenne_twister(RoutineArgs& args, const RoutineTensor*) {
  MersenneTwister words(static_cast<u32>(*static_cast<const i64*>(args.values[0])));
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  double* y = static_cast<double*>(args.values[1]);
  for (i64 i = 0; i < args.attributes[0]; ++i) {
    const double high = words.next() >> 5, low = words.next() >> 6;
    y[i] = (high * 0x1p26 + low) * 0x1p-53;
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
