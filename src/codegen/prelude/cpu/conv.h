// codegen/prelude/cpu/conv.h: fp32 two-dimensional convolution, channels last.
//
// Pasted behind gemm.h.
//
//   y[m, n] = initial(n) + sum over kh, kw, c of x[b, ih, iw, c] * w[kh, kw, c, n]
//   m = (b * OH + oh) * OW + ow,  ih = oh * stride_h + kh * dilation_h - pad_top,  iw likewise
//
// with x = 0 outside the picture. Accumulators are f32 and summed in ascending (kh, kw, c) with one
// fma per term, whatever the tile, the path or the split over threads: every split gives the same
// bits. (Padding is multiplied like any zero, so an infinite weight over it gives NaN.)
//
// Layouts. x: [B, H, W, C] with C contiguous and any strides of picture, row and pixel. Weights:
// panels of PW = panel_width(OC) output channels, [P, KH, KW, C, PW], zero beyond OC: what
// pack_panels makes of a matrix [KH * KW * C, OC]. No padded borders, no layout of its own.
//
//   conv2d(shape, pixel_begin, pixel_end, panel_begin, panel_end, n, x, w, epilogue[, initial])
//     The work unit: pixels m in [pixel_begin, pixel_end) of panels [panel_begin, panel_end).
//     n is the number of output channels OC, Lit<...> or i64. (An i64 compiles tiles for all four
//     panel widths.)
//   depthwise(shape, pixel_begin, pixel_end, x, w, epilogue[, initial])
//     groups == C == OC: one filter per channel, w [KH, KW, C]. Vectors run over channels. Taps
//     outside the picture are skipped.
//   Other groups: one conv2d per group, shape.c and n those of the group, x at the group's
//   first channel, w at its panels; the epilogue adds the group's first output channel.
//
// ConvShape is filled by the caller, with literals and run-time sizes alike. epilogue and initial
// are those of gemm.h, with m the pixel and n the output channel.
//
// How a tile (MR pixels of one panel) finds its input, from fast to general:
//   1. `rows`: dilation_w == 1, pixels adjacent in memory and all windows inside the picture from
//      left to right: the KW * C floats of a window row are contiguous, so a tile is KH dot
//      products of length KW * C. A window row above or below the picture is a row of zeros.
//   2. `windows`: as 1, but windows that stick out left or right are first copied, with zeros, to a
//      scratch block. For small KH * KW * C, as in first layers.
//   3. `taps`: one pointer per tap and pixel, to C floats or to zeros.
// Remainders are those of gemm.h.
#ifndef INGOT_PRELUDE_CPU_CONV_H
#define INGOT_PRELUDE_CPU_CONV_H

namespace ingot_cpu {
inline namespace INGOT_LEVEL {

/// Sizes, strides and padding of a convolution. Strides of x are in elements.
struct ConvShape {
  i64 h, w, c;                         // input picture and channels (of one group)
  i64 oh, ow;                          // output picture
  i64 kh, kw;                          // window
  i64 stride_h = 1, stride_w = 1;      // between windows
  i64 dilation_h = 1, dilation_w = 1;  // between taps
  i64 pad_top = 0, pad_left = 0;       // may be negative: cropped
  i64 x_batch_stride = 0, x_row_stride = 0, x_pixel_stride = 0;
};

/// What padding reads. Not const, so that it takes no room in the library's file.
[[maybe_unused]] constexpr i64 kZeroCount = 4096;
[[maybe_unused]] alignas(64) static f32 zeros[kZeroCount];

/// Taps that fit the table of a tile; more are summed in several calls.
[[maybe_unused]] constexpr i64 kTapTable = 64;
[[maybe_unused]] constexpr i64 kTallestTile = 12;
/// The largest window, in floats, that is copied.
[[maybe_unused]] constexpr i64 kWindowSize = 512;

/// Where an output pixel lies and where its window begins.
struct Pixel {
  i64 oh, ow;        // output coordinates
  i64 ih, iw;        // of tap (0, 0), possibly outside
  const f32* image;  // x of its picture
};
INGOT_FN Pixel pixel_at(const ConvShape& s, const f32* x, i64 m) {
  const i64 row = m / s.ow, picture = row / s.oh;
  Pixel p;
  p.oh = row - picture * s.oh;
  p.ow = m - row * s.ow;
  p.ih = p.oh * s.stride_h - s.pad_top;
  p.iw = p.ow * s.stride_w - s.pad_left;
  p.image = x + picture * s.x_batch_stride;
  return p;
}
INGOT_FN void advance(const ConvShape& s, Pixel& p) {
  p.iw += s.stride_w;
  if (++p.ow < s.ow) return;
  p.ow = 0;
  p.iw = -s.pad_left;
  p.ih += s.stride_h;
  if (++p.oh < s.oh) return;
  p.oh = 0;
  p.ih = -s.pad_top;
  p.image += s.x_batch_stride;
}

/// Whether a window lies inside the picture from left to right.
INGOT_FN bool inside_horizontally(const ConvShape& s, const Pixel& p) {
  return p.iw >= 0 && p.iw + (s.kw - 1) * s.dilation_w < s.w;
}
INGOT_FN bool is_row_inside(const ConvShape& s, i64 ih) {
  return ih >= 0 && ih < s.h;
}

/// Copies n floats, or zeros where `from` is null.
INGOT_FN void copy_floats(const f32* from, f32* to, i64 n) {
  for (i64 i = 0; i < n; i += W) {
    const vf32 v = from == nullptr ? vf32{} : load_partial(from + i, n - i);
    store_partial(to + i, v, n - i);
  }
}

/// Rows [first, last) of a picture, one after another in scratch.
struct HeldRows {
  i64 picture = -1, first = 0, last = 0;
};

/// Moves what is there of rows [first, last) to the front of `rows`, where the others are going to
/// follow. Returns the first that is missing. Wanted are rows further and further down a picture.
INGOT_FN i64 keep_rows(HeldRows& held, i64 picture, i64 first, i64 last, i64 row_floats,
                       f32* rows) {
  i64 missing = first;
  if (picture == held.picture && held.first <= first && first < held.last) {
    missing = held.last;
    copy_floats(rows + (first - held.first) * row_floats, rows, (missing - first) * row_floats);
  }
  held = {picture, first, last};
  return missing;
}

/// Copies a window to [KH, KW * C]; zeros outside the picture. Up to W - 1 floats behind it are
/// overwritten.
INGOT_FN void copy_window(const ConvShape& s, const Pixel& p, f32* to) {
  const i64 first = p.iw < 0 ? -p.iw : 0, last = s.w - p.iw < s.kw ? s.w - p.iw : s.kw;
  const i64 left = first * s.c, right = last * s.c, run = s.kw * s.c;
  for (i64 kh = 0; kh < s.kh; ++kh, to += run) {
    for (i64 i = 0; i < run; i += W) store(to + i, vf32{});
    const i64 ih = p.ih + kh * s.dilation_h;
    if (!is_row_inside(s, ih) || left >= right) continue;
    copy_floats(p.image + ih * s.x_row_stride + p.iw * s.c + left, to + left, right - left);
  }
}

#ifdef INGOT_TILES_ELSEWHERE
[[gnu::visibility("hidden")]] void convolve_tile(const ConvShape& s, i64 m, i64 count, i64 height,
                                                 MultiplyTile multiply, i64 width, const f32* x,
                                                 const f32* w, Later later, Start start, f32* tile,
                                                 f32* windows);
#else
// The tables are filled by functions of their own, not inlined, because they are the same for every
// convolution of a translation unit and cost little beside the sums they serve.

/// rows[kh * height + i]: the KW * C floats of window row kh of pixel i; false if some window must
/// be taken tap by tap. Copies go to `windows`, kWindowSize floats a pixel. Rows of the tile beyond
/// `count` take the last pixel again.
[[maybe_unused]] static bool find_rows(const ConvShape& s, Pixel p, i64 count, i64 height,
                                       const f32** rows, f32* windows) {
  const i64 run = s.kw * s.c;
  for (i64 i = 0, n; i < count; i += n) {  // n neighbours in an output row
    n = s.ow - p.ow < count - i ? s.ow - p.ow : count - i;
    for (i64 kh = 0; kh < s.kh; ++kh) {
      const i64 ih = p.ih + kh * s.dilation_h;
      const bool inside = is_row_inside(s, ih);
      const f32* from = inside ? p.image + ih * s.x_row_stride + p.iw * s.c : zeros;
      const i64 step = inside ? s.stride_w * s.c : 0;
      for (i64 k = 0; k < n; ++k, from += step) rows[kh * height + i + k] = from;
    }
    const auto use_copy = [&](i64 k, const Pixel& pixel) INGOT_LAMBDA {
      f32* const window = windows + (i + k) * kWindowSize;
      copy_window(s, pixel, window);
      for (i64 kh = 0; kh < s.kh; ++kh) rows[kh * height + i + k] = window + kh * run;
    };
    // From the left those that stick out to the left, from the right the others.
    Pixel left = p, right = p;
    right.iw += (n - 1) * s.stride_w;
    const bool fits = s.kh * run <= kWindowSize - W;
    i64 first = 0, last = n - 1;
    for (; first <= last && !inside_horizontally(s, left); ++first, left.iw += s.stride_w) {
      if (!fits) return false;
      use_copy(first, left);
    }
    for (; first <= last && !inside_horizontally(s, right); --last, right.iw -= s.stride_w) {
      if (!fits) return false;
      use_copy(last, right);
    }
    p.ow += n - 1;
    p.iw += (n - 1) * s.stride_w;
    advance(s, p);
  }
  for (i64 kh = 0; kh < s.kh; ++kh) {
    for (i64 i = count; i < height; ++i) rows[kh * height + i] = rows[kh * height + count - 1];
  }
  return true;
}

/// rows[t * height + i]: channels `channel` and up of tap first_tap + t of pixel i.
[[maybe_unused]] static void find_taps(const ConvShape& s, Pixel p, i64 count, i64 height,
                                       i64 first_tap, i64 taps, i64 channel, const f32** rows) {
  for (i64 i = 0; i < height; ++i) {
    i64 kh = first_tap / s.kw, kw = first_tap - kh * s.kw;
    for (i64 t = 0; t < taps; ++t) {
      const i64 ih = p.ih + kh * s.dilation_h, iw = p.iw + kw * s.dilation_w;
      const bool inside = is_row_inside(s, ih) && iw >= 0 && iw < s.w;
      const f32* from = p.image + ih * s.x_row_stride + iw * s.x_pixel_stride + channel;
      rows[t * height + i] = inside ? from : zeros;
      if (++kw == s.kw) kw = 0, ++kh;
    }
    if (i + 1 < count) advance(s, p);
  }
}

/// One tile of `height` rows by `multiply`, an instance for panels of `width`: pixels m .. m +
/// count of a part of a panel.
INGOT_TILE void convolve_tile(const ConvShape& s, i64 m, i64 count, i64 height,
                              MultiplyTile multiply, i64 width, const f32* x, const f32* w,
                              Later later, Start start, f32* tile, f32* windows) {
  const f32* rows[kTapTable * kTallestTile];
  const Pixel first = pixel_at(s, x, m);
  const i64 run = s.kw * s.c, taps = s.kh * s.kw;
  const bool by_rows = run * s.kh == 0 || (s.dilation_w == 1 && s.x_pixel_stride == s.c &&
                                           run <= kZeroCount && s.kh <= kTapTable);
  if (by_rows && find_rows(s, first, count, height, rows, windows)) {
    return multiply(rows, s.kh, run, w, later, start, tile);
  }
  // Channels in runs of at most kZeroCount, taps in groups of at most kTapTable; because the sum is
  // in order of (kh, kw, c), more than one run of channels means one tap at a time.
  const i64 group = s.c > kZeroCount ? 1 : kTapTable;
  for (i64 tap = 0; tap < taps; tap += group) {
    const i64 tap_count = taps - tap < group ? taps - tap : group;
    for (i64 c = 0; c < s.c; c += kZeroCount) {
      const i64 length = s.c - c < kZeroCount ? s.c - c : kZeroCount;
      find_taps(s, first, count, height, tap, tap_count, c, rows);
      multiply(rows, tap_count, length, w + (tap * s.c + c) * width, later, start, tile);
      later.at += tap_count * length * later.step;
      start = Start::tile;
    }
  }
}
#endif

/// Pixels [pixel_begin, pixel_end) of panels [panel_begin, panel_end); tiles go to `finish`, and
/// begin as `begin` leaves them (null: zero).
#ifdef INGOT_TILES_ELSEWHERE
template <i64 kWidth>
[[gnu::visibility("hidden")]] void convolve_block(const ConvShape& s, i64 pixel_begin,
                                                  i64 pixel_end, i64 panel_begin, i64 panel_end,
                                                  i64 n, const f32* x, const f32* w,
                                                  FinishTile finish, const void* epilogue,
                                                  StartTile begin, const void* initial);
#else
template <i64 kWidth>
INGOT_TILE void convolve_block(const ConvShape& s, i64 pixel_begin, i64 pixel_end, i64 panel_begin,
                               i64 panel_end, i64 n, const f32* x, const f32* w, FinishTile finish,
                               const void* epilogue, StartTile begin, const void* initial) {
  constexpr i64 NV = kTileVectors<kWidth>, MR = kTileRows<NV>, kSingle = kRowVectors<kWidth>;
  static_assert(MR <= kTallestTile);
  const Start start = begin == nullptr ? Start::zero : Start::tile;
  const bool aliased = s.x_pixel_stride * s.stride_w % 1024 == 0;
  // The next panel is fetched as in multiply_block.
  const i64 terms = s.kh * s.kw * s.c, tiles = (pixel_end - pixel_begin + MR - 1) / MR;
  const i64 later_step = (NV * W + tiles - 1) / tiles;
  alignas(64) f32 tile[(MR * NV > kSingle ? MR * NV : kSingle) * W];
  f32 windows[MR * kWindowSize];
  for (i64 panel = panel_begin; panel < panel_end; ++panel) {
    const f32* panel_w = w + panel * terms * kWidth;
    const i64 first_column = panel * kWidth, columns = n - first_column;
    if (pixel_end - pixel_begin == 1) {
      for (i64 part = 0; part < kWidth && part < columns; part += kSingle * W) {
        const i64 column = first_column + part;
        if (begin != nullptr) begin(initial, 1, column, kSingle, n, tile);
        convolve_tile(s, pixel_begin, 1, 1, multiply_tile<1, kSingle, kWidth>, kWidth, x,
                      panel_w + part, {w, 0}, start, tile, windows);
        finish(epilogue, pixel_begin, 1, column, kSingle, n, tile);
      }
      continue;
    }
    for (i64 part = 0; part < kWidth && part < columns; part += NV * W) {
      const i64 column = first_column + part;
      Later later = {panel_w + terms * kWidth + part * terms, later_step};
      for (i64 m = pixel_begin, height; m < pixel_end;
           m += height, later.at += terms * later.step) {
        height = tile_height<MR>(pixel_end - m, aliased);
        const i64 count = height < pixel_end - m ? height : pixel_end - m;
        if (begin != nullptr) begin(initial, height, column, NV, n, tile);
        convolve_tile(s, m, count, height, tall_tile<MR, NV, kWidth>(height), kWidth, x,
                      panel_w + part, later, start, tile, windows);
        finish(epilogue, m, count, column, NV, n, tile);
      }
    }
  }
}
#endif

/// Pixels [pixel_begin, pixel_end) of panels [panel_begin, panel_end); see the head of this file.
template <class NT, class Epilogue, class Initial = FromZero>
INGOT_FN void conv2d(const ConvShape& s, i64 pixel_begin, i64 pixel_end, i64 panel_begin,
                     i64 panel_end, NT n, const f32* x, const f32* w, Epilogue&& epilogue,
                     Initial&& initial = Initial{}) {
  if (pixel_begin >= pixel_end) return;
  with_panel_width(n, [&](auto width) INGOT_LAMBDA {
    convolve_block<decltype(width)::value>(s, pixel_begin, pixel_end, panel_begin, panel_end, n, x,
                                           w, finish_tile_with<Epilogue>, &epilogue,
                                           start_tile_with<Initial>(), &initial);
  });
}

/// Output pixels that depthwise sums side by side, so that a weight is loaded once for all.
constexpr i64 kDepthwisePixels = INGOT_LEVEL_NUMBER == 4 ? 8 : 4;

/// One vector of channels of kPixels neighbours in an output row, all windows inside the picture
/// from left to right or a single pixel.
template <i64 kPixels>
INGOT_FN void depthwise_tile(const ConvShape& s, const Pixel& p, const f32* w, i64 channel,
                             i64 lanes, vf32 (&acc)[kPixels]) {
  for (i64 kh = 0; kh < s.kh; ++kh) {
    const i64 ih = p.ih + kh * s.dilation_h;
    if (!is_row_inside(s, ih)) continue;
    for (i64 kw = 0; kw < s.kw; ++kw) {
      const i64 iw = p.iw + kw * s.dilation_w;
      if (kPixels == 1 && (iw < 0 || iw >= s.w)) continue;
      const f32* from = p.image + ih * s.x_row_stride + iw * s.x_pixel_stride + channel;
      const vf32 weight = load_partial(w + (kh * s.kw + kw) * s.c + channel, lanes);
      INGOT_UNROLL for (i64 i = 0; i < kPixels; ++i) {
        acc[i] = fma(load_partial(from + i * s.stride_w * s.x_pixel_stride, lanes), weight, acc[i]);
      }
    }
  }
}

/// A row's pixels [ow, ow_end), for one vector of channels; p and m are those of ow.
template <class Epilogue, class Initial>
INGOT_FN void depthwise_row(const ConvShape& s, Pixel p, i64 m, i64 ow_end, const f32* w,
                            i64 channel, i64 lanes, Epilogue& epilogue, Initial& initial) {
  vf32 first = {};
  if constexpr (!kSame<Initial, FromZero>) first = initial(channel, lanes);
  while (p.ow < ow_end) {
    const i64 last_iw = p.iw + (kDepthwisePixels - 1) * s.stride_w + (s.kw - 1) * s.dilation_w;
    if (p.ow + kDepthwisePixels <= ow_end && p.iw >= 0 && last_iw < s.w) {
      vf32 acc[kDepthwisePixels];
      INGOT_UNROLL for (i64 i = 0; i < kDepthwisePixels; ++i) acc[i] = first;
      depthwise_tile<kDepthwisePixels>(s, p, w, channel, lanes, acc);
      INGOT_UNROLL for (i64 i = 0; i < kDepthwisePixels; ++i) {
        epilogue(m + i, channel, acc[i], lanes);
      }
      p.ow += kDepthwisePixels;
      p.iw += kDepthwisePixels * s.stride_w;
      m += kDepthwisePixels;
    } else {
      vf32 acc[1] = {first};
      depthwise_tile<1>(s, p, w, channel, lanes, acc);
      epilogue(m, channel, acc[0], lanes);
      ++p.ow;
      p.iw += s.stride_w;
      ++m;
    }
  }
}

/// Pixels [pixel_begin, pixel_end) of a convolution with one filter per channel.
template <class Epilogue, class Initial = FromZero>
INGOT_FN void depthwise(const ConvShape& s, i64 pixel_begin, i64 pixel_end, const f32* x,
                        const f32* w, Epilogue&& epilogue, Initial&& initial = Initial{}) {
  for (i64 m = pixel_begin; m < pixel_end;) {
    const Pixel p = pixel_at(s, x, m);
    const i64 ow_end = s.ow - p.ow < pixel_end - m ? s.ow : p.ow + (pixel_end - m);
    i64 channel = 0;
    for (; channel + W <= s.c; channel += W) {
      depthwise_row(s, p, m, ow_end, w, channel, W, epilogue, initial);
    }
    if (channel < s.c) depthwise_row(s, p, m, ow_end, w, channel, s.c - channel, epilogue, initial);
    m += ow_end - p.ow;
  }
}

}  // namespace INGOT_LEVEL
}  // namespace ingot_cpu

#endif  // INGOT_PRELUDE_CPU_CONV_H
