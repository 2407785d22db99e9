// codegen/prelude/cpu/gemm_test.cc: matrix multiplication against the sum written out.
#include "codegen/prelude/cpu/test_util.h"

namespace ingot::prelude_test {
namespace {

/// One step of the sum, as the level rounds it.
float step(const Level& level, float a, float b, float sum) {
  if (level.has_fma) return std::fma(a, b, sum);
  const volatile float product = a * b;
  return sum + product;
}

class GemmTest : public LevelTest {
 protected:
  /// Random A and initial values, and a packed random B.
  struct Problem {
    Problem(const Level& level, i64 m, i64 n, i64 k, i64 a_stride, Guard guard = Guard::after)
        : m(m),
          n(n),
          k(k),
          a_stride(a_stride),
          panels((n + level.panel_width(n) - 1) / level.panel_width(n)),
          a(m == 0 ? 0 : static_cast<size_t>((m - 1) * a_stride + k), guard),
          b(static_cast<size_t>(k * n), guard),
          initial(static_cast<size_t>(n), guard),
          packed(static_cast<size_t>(panels * level.panel_width(n) * k), guard) {
      fill_random(a, 1);
      fill_random(b, 2);
      fill_random(initial, 3);
      level.pack(0, panels, k, n, b.data(), n, 1, packed.data());
    }
    i64 m, n, k, a_stride, panels;
    Guarded<float> a, b, initial, packed;
  };

  Gemm call_for(const Problem& p, Guarded<float>& c, i64 c_stride) {
    Gemm g = {};
    g.m_end = p.m, g.panel_end = p.panels, g.m = p.m, g.n = p.n, g.k = p.k;
    g.a = p.a.data(), g.a_stride = p.a_stride, g.b = p.packed.data();
    g.c = c.data(), g.c_stride = c_stride;
    return g;
  }

  /// Every element equals the sum in ascending k, bit for bit, and the f64 sum to rounding.
  void expect_product(const Problem& p, const Guarded<float>& c, i64 c_stride, bool from_initial) {
    for (i64 m = 0; m < p.m; ++m) {
      for (i64 n = 0; n < p.n; ++n) {
        float want = from_initial ? p.initial[static_cast<size_t>(n)] : 0.0f;
        double exact = want, magnitude = std::fabs(want);
        for (i64 k = 0; k < p.k; ++k) {
          const float a = p.a[static_cast<size_t>(m * p.a_stride + k)];
          const float b = p.b[static_cast<size_t>(k * p.n + n)];
          want = step(level(), a, b, want);
          exact += static_cast<double>(a) * b;
          magnitude += std::fabs(static_cast<double>(a) * b);
        }
        const float got = c[static_cast<size_t>(m * c_stride + n)];
        ASSERT_TRUE(same_bits(got, want)) << p.m << "x" << p.n << "x" << p.k << " at [" << m << ", "
                                          << n << "]: expected " << want << ", got " << got;
        // Each of k steps rounds product and sum to half an ulp of at most `magnitude`.
        ASSERT_LE(std::fabs(got - exact),
                  static_cast<double>(p.k + 1) * 0x1p-23 * magnitude + 1e-30);
      }
    }
    EXPECT_TRUE(c.untouched());
  }
};

const i64 kSizes[][3] = {
    {0, 5, 3},    {1, 1, 1},     {1, 64, 7},    {1, 768, 33}, {2, 16, 5},   {3, 17, 8},
    {4, 32, 9},   {5, 33, 1},    {6, 48, 12},   {7, 63, 20},  {8, 64, 64},  {9, 65, 3},
    {11, 31, 2},  {12, 100, 40}, {13, 128, 16}, {14, 15, 17}, {15, 130, 5}, {27, 20, 6},
    {29, 47, 11}, {49, 96, 10},  {6, 64, 0},    {30, 2, 65},  {31, 40, 4},
};

TEST_P(GemmTest, EqualsTheSumWrittenOut) {
  for (Guard guard : {Guard::after, Guard::before}) {
    for (const auto& size : kSizes) {
      const Problem p(level(), size[0], size[1], size[2], size[2] + 3, guard);
      const i64 c_stride = p.n;
      Guarded<float> c(static_cast<size_t>(p.m * c_stride), guard);
      Gemm g = call_for(p, c, c_stride);
      level().gemm(g);
      expect_product(p, c, c_stride, false);
      g.initial = p.initial.data();
      level().gemm(g);
      expect_product(p, c, c_stride, true);
    }
  }
}

TEST_P(GemmTest, EverySplitGivesTheSameBits) {
  std::mt19937 random(7);
  for (const auto& size : {kSizes[13], kSizes[14], kSizes[19], kSizes[16]}) {
    const Problem p(level(), size[0], size[1], size[2], size[2]);
    for (int attempt = 0; attempt < 4; ++attempt) {
      Guarded<float> c(static_cast<size_t>(p.m * p.n));
      const i64 row = static_cast<i64>(random() % static_cast<uint32_t>(p.m + 1));
      const i64 panel = static_cast<i64>(random() % static_cast<uint32_t>(p.panels + 1));
      for (int part = 0; part < 4; ++part) {
        Gemm g = call_for(p, c, p.n);
        (part % 2 == 0 ? g.m_end : g.m_begin) = row;
        (part / 2 == 0 ? g.panel_end : g.panel_begin) = panel;
        level().gemm(g);
      }
      expect_product(p, c, p.n, false);
    }
  }
}

TEST_P(GemmTest, TakesRowsThatAreFourKibibytesApart) {
  const Problem p(level(), 29, 20, 5, 1024);
  Guarded<float> c(static_cast<size_t>(p.m * p.n));
  level().gemm(call_for(p, c, p.n));
  expect_product(p, c, p.n, false);
}

TEST_P(GemmTest, TakesRowsThatAreProduced) {
  for (i64 scratch_rows : {1, 5, 24}) {
    const Problem p(level(), 23, 70, 31, 31);
    Guarded<float> c(static_cast<size_t>(p.m * p.n));
    Guarded<float> scratch(static_cast<size_t>(level().gemm_scratch_size(p.k, scratch_rows)));
    Gemm g = call_for(p, c, p.n);
    g.produced = true;
    g.scratch = scratch.data();
    g.scratch_rows = scratch_rows;
    level().gemm(g);
    expect_product(p, c, p.n, false);
    EXPECT_TRUE(scratch.untouched());
  }
}

TEST_P(GemmTest, PacksAnyStrides) {
  for (i64 n : {1, 16, 30, 64, 100}) {
    const i64 k = 9, width = level().panel_width(n), panels = (n + width - 1) / width;
    Guarded<float> transposed(static_cast<size_t>(k * n));
    fill_random(transposed, 5);
    Guarded<float> packed(static_cast<size_t>(panels * width * k));
    for (i64 panel = 0; panel < panels; ++panel) {
      level().pack(panel, panel + 1, k, n, transposed.data(), 1, k, packed.data());
    }
    for (i64 panel = 0; panel < panels; ++panel) {
      for (i64 row = 0; row < k; ++row) {
        for (i64 j = 0; j < width; ++j) {
          const i64 column = panel * width + j;
          const float want = column < n ? transposed[static_cast<size_t>(column * k + row)] : 0.0f;
          EXPECT_EQ(packed[static_cast<size_t>((panel * k + row) * width + j)], want)
              << "n = " << n << ", k = " << row << ", column " << column;
        }
      }
    }
    EXPECT_TRUE(packed.untouched());
  }
}

TEST_P(GemmTest, PropagatesNaNAndInfinity) {
  Problem p(level(), 3, 18, 4, 4);
  p.a[0] = NAN;
  p.a[5] = INFINITY;
  Guarded<float> c(static_cast<size_t>(p.m * p.n));
  level().gemm(call_for(p, c, p.n));
  for (i64 n = 0; n < p.n; ++n) {
    EXPECT_TRUE(std::isnan(c[static_cast<size_t>(n)]));
    EXPECT_TRUE(std::isinf(c[static_cast<size_t>(p.n + n)]));
    EXPECT_TRUE(std::isfinite(c[static_cast<size_t>(2 * p.n + n)]));
  }
}

INSTANTIATE_LEVELS(GemmTest);

}  // namespace
}  // namespace ingot::prelude_test
