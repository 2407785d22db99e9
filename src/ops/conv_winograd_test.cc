// ops/conv_winograd_test.cc: literal cases against a direct convolution, and the constraints.
#include "ops/conv_winograd.h"

#include <gtest/gtest.h>

#include "tests/op_harness.h"

namespace ingot::ops {
namespace {

/// u = G w G^T of one filter of one channel, as a panel of width 1.
Tensor transformed(const double (&w)[3][3]) {
  Tensor u(DType::f64, {36, 1, 1, 1});
  for (int64_t p = 0; p < 6; ++p) {
    for (int64_t q = 0; q < 6; ++q) {
      double sum = 0;
      for (int64_t a = 0; a < 3; ++a) {
        for (int64_t b = 0; b < 3; ++b) {
          sum += ConvWinograd::kG[p][a] * w[a][b] * ConvWinograd::kG[q][b];
        }
      }
      u.set_real(6 * p + q, sum);
    }
  }
  return u;
}

TEST(ConvWinograd, IsAConvolution) {
  constexpr double w[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, -9}};
  constexpr int64_t kSize = 5;  // one tile and a part of others
  Tensor x(DType::f64, {1, kSize, kSize, 1});
  for (int64_t k = 0; k < x.size(); ++k) x.set_real(k, static_cast<double>(k * k % 13));
  const Tensor bias = tensor_of(DType::f64, {1}, {0.5});
  const Tensor y =
      run_reference(ConvWinograd{.pads_begin = {1, 1}, .pads_end = {1, 1}, .columns = 1},
                    std::make_shared<ExprPool>(), {x, transformed(w), bias});
  ASSERT_EQ(y.dims(), (std::vector<int64_t>{1, kSize, kSize, 1}));
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      double sum = 0.5;
      for (int64_t a = 0; a < 3; ++a) {
        for (int64_t b = 0; b < 3; ++b) {
          const int64_t r = i + a - 1, s = j + b - 1;
          const bool inside = r >= 0 && r < kSize && s >= 0 && s < kSize;
          if (inside) sum += w[a][b] * x.real(r * kSize + s);
        }
      }
      EXPECT_NEAR(y.real(i * kSize + j), sum, 1e-11) << i << ", " << j;  // a few hundred in fp64
    }
  }
}

TEST(ConvWinograd, Infer) {
  ExprPool pool;
  const ConvWinograd op{.pads_begin = {1, 1}, .pads_end = {1, 0}, .columns = 20};
  EXPECT_EQ(infer_text(op, pool, {"f32[n, 8, 9, 3]", "f32[36, 2, 3, 16]"}), "f32[n, 8, 8, 20]");
}

}  // namespace
}  // namespace ingot::ops
