// codegen/prelude/cpu/winograd_test.cc: Winograd convolution against the sum written out in f64.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "codegen/prelude/cpu/test_util.h"

namespace ingot::prelude_test {
namespace {

constexpr double kG[6][3] = {{1.0 / 4, 0, 0},
                             {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                             {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                             {1.0 / 24, 1.0 / 12, 1.0 / 6},
                             {1.0 / 24, -1.0 / 12, 1.0 / 6},
                             {0, 0, 1}};

struct Case {
  i64 b, h, w, c, oc, pad;
};
const Case kCases[] = {
    {1, 6, 6, 1, 1, 0},     {1, 4, 4, 16, 16, 1}, {2, 7, 7, 40, 70, 1}, {1, 56, 56, 8, 8, 1},
    {1, 14, 14, 33, 64, 1}, {3, 5, 9, 17, 20, 1}, {1, 3, 3, 4, 5, 0},   {1, 1, 2, 3, 100, 1},
    {2, 13, 50, 5, 31, 2},  {0, 4, 4, 4, 4, 1},
};

class WinogradTest : public LevelTest {};

TEST_P(WinogradTest, AgreesWithTheSumWrittenOut) {
  for (const Case& t : kCases) {
    for (Guard guard : {Guard::after, Guard::before}) {
      Conv c = {};
      c.h = t.h, c.w = t.w, c.c = t.c, c.oc = t.oc, c.kh = c.kw = 3;
      c.stride_h = c.stride_w = c.dilation_h = c.dilation_w = 1;
      c.pad_top = c.pad_left = t.pad;
      c.oh = t.h + 2 * t.pad - 2, c.ow = t.w + 2 * t.pad - 2;
      c.x_pixel_stride = t.c, c.x_row_stride = t.w * t.c, c.x_batch_stride = t.h * c.x_row_stride;
      const i64 width = level().panel_width(t.oc), panels = (t.oc + width - 1) / width;
      const i64 pixels = t.b * c.oh * c.ow, matrix = panels * width * t.c;
      Guarded<float> x(static_cast<size_t>(t.b * t.h * t.w * t.c), guard);
      Guarded<float> weights(static_cast<size_t>(9 * t.c * t.oc));
      Guarded<float> plain(static_cast<size_t>(t.c * t.oc));
      Guarded<float> u(static_cast<size_t>(36 * matrix), guard);
      Guarded<float> initial(static_cast<size_t>(t.oc), guard);
      Guarded<float> y(static_cast<size_t>(pixels * t.oc), guard);
      Guarded<float> scratch(static_cast<size_t>(level().winograd_scratch_size(c.ow, t.c, t.oc)),
                             guard);
      fill_random(x, 1);
      fill_random(weights, 2);
      fill_random(initial, 3);
      for (int xi = 0; xi < 36; ++xi) {
        for (i64 i = 0; i < t.c * t.oc; ++i) {
          double sum = 0;
          for (int tap = 0; tap < 9; ++tap) {
            sum += kG[xi / 6][tap / 3] * kG[xi % 6][tap % 3] *
                   weights[static_cast<size_t>(tap * t.c * t.oc + i)];
          }
          plain[static_cast<size_t>(i)] = static_cast<float>(sum);
        }
        level().pack(0, panels, t.c, t.oc, plain.data(), t.oc, 1, u.data() + xi * matrix);
      }

      c.x = x.data(), c.weights = u.data(), c.y = y.data(), c.scratch = scratch.data();
      if (guard == Guard::before) c.initial = initial.data();
      const i64 rows = t.b * level().winograd_rows(c.oh);
      c.row_end = rows;
      level().winograd(c);
      const std::vector<float> whole(y.data(), y.data() + y.size());
      // In two work units it gives the same bits.
      std::fill_n(y.data(), y.size(), NAN);
      c.row_end = rows / 2;
      level().winograd(c);
      c.row_begin = rows / 2, c.row_end = rows;
      level().winograd(c);
      EXPECT_TRUE(std::equal(whole.begin(), whole.end(), y.data(), [](float a, float b) {
        return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
      }));
      EXPECT_TRUE(y.untouched() && scratch.untouched());

      for (i64 m = 0; m < pixels; ++m) {
        const i64 b = m / (c.oh * c.ow), oh = m / c.ow % c.oh, ow = m % c.ow;
        for (i64 n = 0; n < t.oc; ++n) {
          double sum = c.initial != nullptr ? initial[static_cast<size_t>(n)] : 0.0;
          double magnitude = std::fabs(sum);
          for (i64 tap = 0; tap < 9; ++tap) {
            const i64 ih = oh + tap / 3 - t.pad, iw = ow + tap % 3 - t.pad;
            if (ih < 0 || ih >= t.h || iw < 0 || iw >= t.w) continue;
            for (i64 channel = 0; channel < t.c; ++channel) {
              const double product =
                  static_cast<double>(
                      x[static_cast<size_t>(((b * t.h + ih) * t.w + iw) * t.c + channel)]) *
                  weights[static_cast<size_t>((tap * t.c + channel) * t.oc + n)];
              sum += product;
              magnitude += std::fabs(product);
            }
          }
          // The transforms amplify rounding: the largest rows of B^T and A^T sum to 10 and 19 in
          // magnitude, squared for two dimensions, so an error of 2^-24 of a transformed value of
          // some 10 in each of c terms may grow to 19^2 * 10 * 2^-24 * sqrt(c) = 2e-4 sqrt(c).
          const double bound = 2e-4 * std::sqrt(static_cast<double>(t.c)) + 1e-6 * magnitude;
          const double got = y[static_cast<size_t>(m * t.oc + n)];
          ASSERT_LE(std::fabs(got - sum), bound)
              << t.h << "x" << t.w << "x" << t.c << " > " << t.oc << ": pixel " << m << ", channel "
              << n << ": expected " << sum << ", got " << got;
        }
      }
    }
  }
}

INSTANTIATE_LEVELS(WinogradTest);

}  // namespace
}  // namespace ingot::prelude_test
