// codegen/prelude/cpu/conv_test.cc: convolutions against the sum written out.
#include "codegen/prelude/cpu/test_util.h"

namespace ingot::prelude_test {
namespace {

float step(const Level& level, float a, float b, float sum) {
  if (level.has_fma) return std::fma(a, b, sum);
  const volatile float product = a * b;
  return sum + product;
}

struct Case {
  const char* what;
  i64 b, h, w, c, oc, kh, kw;
  i64 stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  i64 pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  i64 pixel_gap = 0;  // elements between the channels of neighbours
};

// A case a paragraph, not a member a line.
// clang-format off
const Case kCases[] = {
    {.what = "one pixel", .b = 1, .h = 1, .w = 1, .c = 1, .oc = 1, .kh = 1, .kw = 1},
    {.what = "1x1", .b = 2, .h = 5, .w = 7, .c = 20, .oc = 70, .kh = 1, .kw = 1},
    {.what = "1x1 strided", .b = 1, .h = 7, .w = 7, .c = 16, .oc = 33, .kh = 1, .kw = 1,
     .stride_h = 2, .stride_w = 2},
    {.what = "3x3 padded, copied windows", .b = 1, .h = 6, .w = 6, .c = 8, .oc = 64, .kh = 3,
     .kw = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1},
    {.what = "3x3 padded, taps", .b = 2, .h = 5, .w = 9, .c = 70, .oc = 20, .kh = 3, .kw = 3,
     .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1},
    {.what = "3x3 unpadded, rows", .b = 1, .h = 9, .w = 11, .c = 40, .oc = 48, .kh = 3, .kw = 3},
    {.what = "3x3 stride 2", .b = 1, .h = 11, .w = 10, .c = 24, .oc = 100, .kh = 3, .kw = 3,
     .stride_h = 2, .stride_w = 2, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1},
    {.what = "7x7 first layer", .b = 1, .h = 21, .w = 23, .c = 3, .oc = 64, .kh = 7, .kw = 7,
     .stride_h = 2, .stride_w = 2, .pad_top = 3, .pad_left = 3, .pad_bottom = 3, .pad_right = 3},
    {.what = "5x5 of one channel", .b = 3, .h = 8, .w = 8, .c = 1, .oc = 8, .kh = 5, .kw = 5,
     .pad_top = 2, .pad_left = 2, .pad_bottom = 2, .pad_right = 2},
    {.what = "dilated", .b = 1, .h = 13, .w = 12, .c = 5, .oc = 17, .kh = 3, .kw = 3,
     .dilation_h = 2, .dilation_w = 3, .pad_top = 2, .pad_left = 3, .pad_bottom = 2,
     .pad_right = 3},
    {.what = "dilated downwards only", .b = 1, .h = 13, .w = 6, .c = 5, .oc = 16, .kh = 3, .kw = 2,
     .dilation_h = 4, .pad_top = 1, .pad_bottom = 1},
    {.what = "wider than the picture", .b = 1, .h = 2, .w = 2, .c = 4, .oc = 5, .kh = 5, .kw = 5,
     .pad_top = 3, .pad_left = 3, .pad_bottom = 3, .pad_right = 3},
    {.what = "all padding", .b = 1, .h = 1, .w = 1, .c = 3, .oc = 4, .kh = 1, .kw = 1,
     .pad_top = 2, .pad_left = 2, .pad_bottom = 2, .pad_right = 2},
    {.what = "uneven padding and strides", .b = 1, .h = 10, .w = 9, .c = 6, .oc = 30, .kh = 2,
     .kw = 4, .stride_h = 3, .stride_w = 2, .pad_top = 0, .pad_left = 2, .pad_bottom = 1,
     .pad_right = 1},
    {.what = "more taps than the table", .b = 1, .h = 11, .w = 11, .c = 2, .oc = 10, .kh = 9,
     .kw = 9, .dilation_w = 1, .pad_top = 4, .pad_left = 4, .pad_bottom = 4, .pad_right = 4,
     .pixel_gap = 1},
    {.what = "a channel group", .b = 2, .h = 6, .w = 5, .c = 4, .oc = 6, .kh = 3, .kw = 3,
     .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1, .pixel_gap = 12},
    {.what = "more channels than zeros", .b = 1, .h = 2, .w = 3, .c = 4100, .oc = 3, .kh = 2,
     .kw = 2, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1},
    {.what = "no channels", .b = 1, .h = 3, .w = 3, .c = 0, .oc = 5, .kh = 3, .kw = 3,
     .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1},
    {.what = "no picture", .b = 0, .h = 3, .w = 3, .c = 4, .oc = 5, .kh = 3, .kw = 3},
    {.what = "rows 4 KiB apart", .b = 1, .h = 5, .w = 6, .c = 1024, .oc = 16, .kh = 1, .kw = 1},
};
// clang-format on

i64 out_size(i64 in, i64 before, i64 after, i64 kernel, i64 stride, i64 dilation) {
  const i64 span = in + before + after - (kernel - 1) * dilation - 1;
  return span < 0 ? 0 : span / stride + 1;
}

class ConvTest : public LevelTest {
 protected:
  Conv shape_of(const Case& t) {
    Conv c = {};
    c.h = t.h, c.w = t.w, c.c = t.c, c.oc = t.oc, c.kh = t.kh, c.kw = t.kw;
    c.stride_h = t.stride_h, c.stride_w = t.stride_w;
    c.dilation_h = t.dilation_h, c.dilation_w = t.dilation_w;
    c.pad_top = t.pad_top, c.pad_left = t.pad_left;
    c.oh = out_size(t.h, t.pad_top, t.pad_bottom, t.kh, t.stride_h, t.dilation_h);
    c.ow = out_size(t.w, t.pad_left, t.pad_right, t.kw, t.stride_w, t.dilation_w);
    c.x_pixel_stride = t.c + t.pixel_gap;
    c.x_row_stride = c.w * c.x_pixel_stride;
    c.x_batch_stride = c.h * c.x_row_stride;
    c.pixel_end = t.b * c.oh * c.ow;
    return c;
  }

  size_t input_size(const Case& t, const Conv& c) {
    const i64 pixels = t.b * t.h * t.w;
    return pixels == 0 || t.c == 0 ? 0 : static_cast<size_t>((pixels - 1) * c.x_pixel_stride + t.c);
  }

  /// The sum of pixel m and output channel n over its window, from `start`; weight(kh, kw, c).
  /// skip_padding says whether taps outside the picture are left out or multiplied as zeros.
  template <class Weight>
  float window_sum(const Conv& c, const Guarded<float>& x, i64 m, i64 first, i64 count, float start,
                   bool skip_padding, Weight weight) {
    const i64 b = m / (c.oh * c.ow), oh = m / c.ow % c.oh, ow = m % c.ow;
    float sum = start;
    for (i64 kh = 0; kh < c.kh; ++kh) {
      for (i64 kw = 0; kw < c.kw; ++kw) {
        const i64 ih = oh * c.stride_h + kh * c.dilation_h - c.pad_top;
        const i64 iw = ow * c.stride_w + kw * c.dilation_w - c.pad_left;
        const bool inside = ih >= 0 && ih < c.h && iw >= 0 && iw < c.w;
        if (skip_padding && !inside) continue;
        for (i64 channel = first; channel < first + count; ++channel) {
          const i64 at =
              b * c.x_batch_stride + ih * c.x_row_stride + iw * c.x_pixel_stride + channel;
          sum = step(level(), inside ? x[static_cast<size_t>(at)] : 0.0f, weight(kh, kw, channel),
                     sum);
        }
      }
    }
    return sum;
  }
};

TEST_P(ConvTest, EqualsTheSumWrittenOut) {
  for (const Case& t : kCases) {
    for (Guard guard : {Guard::after, Guard::before}) {
      Conv c = shape_of(t);
      const i64 k = c.kh * c.kw * c.c, pixels = c.pixel_end;
      const i64 width = level().panel_width(c.oc), panels = (c.oc + width - 1) / width;
      Guarded<float> x(input_size(t, c), guard), weights(static_cast<size_t>(k * c.oc), guard);
      Guarded<float> packed(static_cast<size_t>(panels * width * k), guard);
      Guarded<float> initial(static_cast<size_t>(c.oc), guard);
      Guarded<float> y(static_cast<size_t>(pixels * c.oc), guard);
      fill_random(x, 1);
      fill_random(weights, 2);
      fill_random(initial, 3);
      level().pack(0, panels, k, c.oc, weights.data(), c.oc, 1, packed.data());
      c.x = x.data(), c.weights = packed.data(), c.y = y.data();
      // Four work units: pixels and panels in two parts each.
      for (int part = 0; part < 4; ++part) {
        Conv unit = c;
        (part % 2 == 0 ? unit.pixel_end : unit.pixel_begin) = pixels * 3 / 7;
        unit.panel_begin = part / 2 == 0 ? 0 : panels / 2;
        unit.panel_end = part / 2 == 0 ? panels / 2 : panels;
        if (guard == Guard::before) unit.initial = initial.data();
        level().conv(unit);
      }
      for (i64 m = 0; m < pixels; ++m) {
        for (i64 n = 0; n < c.oc; ++n) {
          const float start = guard == Guard::before ? initial[static_cast<size_t>(n)] : 0.0f;
          const float want =
              window_sum(c, x, m, 0, c.c, start, false, [&](i64 kh, i64 kw, i64 channel) {
                return weights[static_cast<size_t>(((kh * c.kw + kw) * c.c + channel) * c.oc + n)];
              });
          const float got = y[static_cast<size_t>(m * c.oc + n)];
          ASSERT_TRUE(same_bits(got, want)) << t.what << ": pixel " << m << ", channel " << n
                                            << ": expected " << want << ", got " << got;
        }
      }
      EXPECT_TRUE(y.untouched()) << t.what;
    }
  }
}

TEST_P(ConvTest, DepthwiseEqualsTheSumWrittenOut) {
  for (Case t : kCases) {
    if (t.c > 100) continue;
    t.oc = t.c;
    for (Guard guard : {Guard::after, Guard::before}) {
      Conv c = shape_of(t);
      const i64 pixels = c.pixel_end;
      Guarded<float> x(input_size(t, c), guard);
      Guarded<float> weights(static_cast<size_t>(c.kh * c.kw * c.c), guard);
      Guarded<float> initial(static_cast<size_t>(c.c), guard);
      Guarded<float> y(static_cast<size_t>(pixels * c.c), guard);
      fill_random(x, 1);
      fill_random(weights, 2);
      fill_random(initial, 3);
      c.x = x.data(), c.weights = weights.data(), c.y = y.data();
      for (int part = 0; part < 2; ++part) {
        Conv unit = c;
        (part == 0 ? unit.pixel_end : unit.pixel_begin) = pixels * 3 / 7;
        if (guard == Guard::before) unit.initial = initial.data();
        level().depthwise(unit);
      }
      for (i64 m = 0; m < pixels; ++m) {
        for (i64 n = 0; n < c.c; ++n) {
          const float start = guard == Guard::before ? initial[static_cast<size_t>(n)] : 0.0f;
          const float want =
              window_sum(c, x, m, n, 1, start, true, [&](i64 kh, i64 kw, i64 channel) {
                return weights[static_cast<size_t>((kh * c.kw + kw) * c.c + channel)];
              });
          const float got = y[static_cast<size_t>(m * c.c + n)];
          ASSERT_TRUE(same_bits(got, want)) << t.what << ": pixel " << m << ", channel " << n
                                            << ": expected " << want << ", got " << got;
        }
      }
      EXPECT_TRUE(y.untouched()) << t.what;
    }
  }
}

INSTANTIATE_LEVELS(ConvTest);

}  // namespace
}  // namespace ingot::prelude_test
