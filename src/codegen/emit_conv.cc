// codegen/emit_conv.cc: convolutions on the prelude's conv2d, depthwise and winograd.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "codegen/product.h"
#include "ops/conv.h"
#include "ops/conv_winograd.h"

namespace ingot {
namespace {

/// Below this many channels a row of a picture is the longer one to run lanes along.
constexpr int64_t kFewChannels = 8;
/// Tiles that the prelude's winograd does at once, if rows of tiles are shorter.
constexpr int64_t kWinogradTiles = 12;

/// One number per spatial dim as two: one spatial dim is a picture of height 1.
struct Pair {
  int64_t h, w;
  static Pair of(const std::vector<int64_t>& values, int64_t missing) {
    return values.size() == 2 ? Pair{values[0], values[1]} : Pair{missing, values[0]};
  }
};

/// What conv_winograd computes.
ops::Conv as_conv(const ops::ConvWinograd& op) {
  return {.strides = {1, 1},
          .dilations = {1, 1},
          .pads_begin = op.pads_begin,
          .pads_end = op.pads_end,
          .packed = true,
          .columns = op.columns};
}

ops::Conv conv_of(const Node& node) {
  const auto* winograd = node.op.as<ops::ConvWinograd>();
  return winograd != nullptr ? as_conv(*winograd) : *node.op.as<ops::Conv>();
}

class ConvWriter {
 public:
  ConvWriter(TemplateWriter& writer, TemplateKind kind)
      : w_(writer), pool_(writer.pool()), kind_(kind), op_(conv_of(writer.node())) {
    const Exprs& x = w_.operand(0).dims;
    const Exprs& w = w_.operand(1).dims;
    const Exprs& y = w_.result().dims;
    const size_t spatial = op_.strides.size();
    const size_t first_tap = op_.packed ? 1 : 0;
    const Expr one = pool_.integer(1);
    two_dims_ = spatial == 2;
    pictures_ = x.front();
    height_ = two_dims_ ? x[1] : one;
    width_ = x[spatial];
    channels_ = x.back();
    out_height_ = two_dims_ ? y[1] : one;
    out_width_ = y[spatial];
    const bool is_winograd = kind_ == TemplateKind::winograd;
    taps_h_ = is_winograd ? 3 : two_dims_ ? *w[first_tap].as_int() : 1;
    taps_w_ = is_winograd ? 3 : *w[first_tap + spatial - 1].as_int();
    filters_ = *y.back().as_int() / op_.groups;
    strides_ = Pair::of(op_.strides, 1);
    dilations_ = Pair::of(op_.dilations, 1);
    pads_ = Pair::of(op_.pads_begin, 0);
    pads_end_ = Pair::of(op_.pads_end, 0);
    if (const NodeId id = w_.is_produced() ? w_.product_of_operand() : NodeId(); id.valid()) {
      product_.emplace(w_, w_.body().node(id));
    }
    if (kind_ != TemplateKind::depthwise) {
      panels_ = op_.panels_per_group(*w.back().as_int());
      panel_width_ = *w.back().as_int();
    }
  }

  EmittedKernel write(std::string_view name) {
    const Expr pixels = pictures_ * out_height_ * out_width_;
    const Expr one = pool_.integer(1);
    m_ = pool_.fresh_index(pixels);
    w_.exprs().name_var(m_.var(), "m");
    EmittedKernel kernel;
    const bool depthwise = kind_ == TemplateKind::depthwise;
    const bool winograd = kind_ == TemplateKind::winograd;
    // Multiply-adds of a result, of all groups; by Winograd 36 make 16 results, not 144.
    const Expr terms = winograd ? floordiv(channels_ * 36, 16) : channels_ * (taps_h_ * taps_w_);
    Expr unit_terms = one, product_terms = pool_.integer(0);
    kernel.scratch_bytes = winograd ? winograd_floats() * 4 : pool_.integer(0);
    if (winograd) choose_tile_rows();
    if (w_.is_produced()) {
      choose_rows();
      kernel.units = pictures_ * ceildiv(out_height_, unit_rows_);
      unit_terms = terms * out_width_ * unit_rows_ * (depthwise ? 1 : panels_ * panel_width_);
      kernel.scratch_bytes = kernel.scratch_bytes + row_floats() * (4 * input_rows());
      if (product_) {
        product_terms = product_->k * channels_ * width_ * (unit_rows_ * strides_.h);
      }
    } else if (winograd) {
      kernel.units = ceildiv(pictures_ * ceildiv(out_height_, 4), unit_rows_ / 4);
      unit_terms = terms * out_width_ * (unit_rows_ * panels_ * panel_width_);
    } else if (depthwise) {
      kernel.units = is_one_row() ? ceildiv(pixels, kRowBlock) : pictures_ * out_height_;
      unit_terms = terms * row_pixels();
    } else {
      const Expr pixel_terms = floordiv(terms, op_.groups) * panel_width_;
      // Enough panels are shared out whole: each is read from its beginning to its end once.
      constexpr int64_t kManyPanels = 8;
      if (op_.groups * panels_ < kManyPanels) row_block_ = choose_row_block(pixel_terms);
      kernel.units = ceildiv(pixels, row_block_) * (op_.groups * panels_);
      unit_terms = pixel_terms * row_block_;
    }
    // A depthwise sum reads two vectors for every multiply-add.
    const int64_t slowdown = depthwise ? 4 : 1;
    kernel.unit_ns = max(floordiv(unit_terms * (2 * slowdown) + product_terms * 2, kGflops), one);
    w_.write_function(name, [&] {
      write_shape();
      if (w_.is_produced()) {
        write_produced();
      } else if (winograd) {
        write_tile_rows();
      } else if (depthwise) {
        write_epilogue_of(pool_.integer(0));
        const std::string each = cpu_dim(row_pixels());
        w_.out().line("depthwise(shape, begin * ", each, ", min(i64(", cpu_dim(pixels), "), end * ",
                      each, "), ", w_.operand_name(0), ", ", w_.operand_name(1), ", epilogue);");
      } else {
        write_blocks();
      }
    });
    kernel.text = w_.out().take();
    return kernel;
  }

 private:
  void write_shape() {
    Writer& out = w_.out();
    const auto field = [&](std::string_view what, const auto& value) {
      out.line("shape.", what, " = ", value, ";");
    };
    out.line("ConvShape shape;");
    field("h", cpu_dim(height_));
    field("w", cpu_dim(width_));
    field("c", cpu_dim(floordiv(channels_, group_divisor())));
    field("oh", cpu_dim(out_height_));
    field("ow", cpu_dim(out_width_));
    field("kh", taps_h_);
    field("kw", taps_w_);
    field("stride_h", strides_.h);
    field("stride_w", strides_.w);
    field("dilation_h", dilations_.h);
    field("dilation_w", dilations_.w);
    field("pad_top", pads_.h);
    field("pad_left", pads_.w);
    field("x_batch_stride", cpu_dim(height_ * width_ * channels_));
    field("x_row_stride", cpu_dim(width_ * channels_));
    field("x_pixel_stride", cpu_dim(channels_));
  }

  /// A depthwise unit is a row of a picture, or a part of the only one.
  bool is_one_row() const { return out_height_.is_int(1); }
  Expr row_pixels() const { return is_one_row() ? pool_.integer(kRowBlock) : out_width_; }

  int64_t group_divisor() const { return kind_ == TemplateKind::depthwise ? 1 : op_.groups; }

  /// The epilogue in terms of the pixel m and of the filter n of a group; `group` is in scope.
  void write_epilogue_of(Expr group) {
    const Exprs& y = w_.result().dims;
    const Expr n =
        pool_.fresh_index(kind_ == TemplateKind::depthwise ? y.back() : pool_.integer(filters_));
    Exprs index = delinearize(pool_, m_, std::span(y).first(y.size() - 1));
    index.push_back(group * filters_ + n);
    w_.write_epilogue(std::move(index), n);
  }

  /// Units are blocks of pixels for one panel of one group.
  void write_blocks() {
    Writer& out = w_.out();
    out.line("const i64 pixels = ", cpu_dim(pictures_ * out_height_ * out_width_), ";");
    out.line("const i64 blocks = (pixels + ", row_block_ - 1, ") / ", row_block_, ";");
    if (op_.groups == 1) write_epilogue_of(pool_.integer(0));
    out.block("while (begin < end)", [&] {
      out.line("const i64 panel = begin / blocks, first = begin % blocks;");
      out.line("const i64 count = min(blocks - first, end - begin);");
      out.line("const i64 m_end = min(pixels, (first + count) * ", row_block_, ");");
      write_group(concat("first * ", row_block_, ", m_end"), "shape", w_.is_produced());
      out.line("begin += count;");
    });
  }

  /// The call for one panel, which is called `panel` and counts through all groups.
  void write_group(std::string_view pixels, std::string_view shape, bool produced) {
    Writer& out = w_.out();
    const std::string x = produced ? "rows" : w_.operand_name(0);
    if (op_.groups == 1) {
      out.line("conv2d(", shape, ", ", pixels, ", panel, panel + 1, Lit<", filters_, ">{}, ", x,
               ", ", w_.operand_name(1), ", epilogue);");
      return;
    }
    const Expr group = pool_.fresh_index(pool_.integer(op_.groups));
    w_.exprs().name_var(group.var(), "group");
    out.line("const i64 group = panel / ", panels_, ", part = panel % ", panels_, ";");
    write_epilogue_of(group);
    const Expr group_weights =
        floordiv(channels_, op_.groups) * (taps_h_ * taps_w_ * panels_ * panel_width_);
    out.line("conv2d(", shape, ", ", pixels, ", part, part + 1, Lit<", filters_, ">{}, ", x,
             " + group * shape.c,");
    out.line("       ", w_.operand_name(1), " + group * ", cpu_dim(group_weights), ", epilogue);");
  }

  // ---- Winograd: units are rows of tiles ----

  /// Rows of tiles that the prelude does at once, but no more than half a picture, since two
  /// threads may share it.
  void choose_tile_rows() {
    const int64_t tiles = (out_width_.as_int().value_or(64) + 3) / 4;
    const int64_t rows = (out_height_.as_int().value_or(64) + 3) / 4;
    const int64_t block = (kWinogradTiles + tiles - 1) / std::max<int64_t>(tiles, 1);
    unit_rows_ = 4 * std::clamp<int64_t>(block, 1, std::max<int64_t>(1, rows / 2));
  }

  /// winograd_scratch_size() of the prelude.
  Expr winograd_floats() const {
    const Expr tiles = max(ceildiv(out_width_, 4), pool_.integer(1));
    const Expr block = tiles * floordiv(tiles + (kWinogradTiles - 1), tiles);
    const auto stride = [](Expr elements) { return ceildiv(elements, 16) * 16 + 16; };
    return (stride(block * channels_) + stride(block * filters_)) * 36;
  }

  void write_tile_rows() {
    write_epilogue_of(pool_.integer(0));
    const int64_t rows = unit_rows_ / 4;
    const Expr all = pictures_ * ceildiv(out_height_, 4);
    w_.out().line("winograd(shape, begin * ", rows, ", min(i64(", cpu_dim(all), "), end * ", rows,
                  "), Lit<", filters_, ">{}, ", w_.operand_name(0), ", ", w_.operand_name(1), ",");
    w_.out().line("         static_cast<f32*>(args.scratch), epilogue);");
  }

  // ---- prologues: a unit computes the rows of the picture that its windows see, and the empty
  // columns beside them ----

  int64_t extent_h() const { return (taps_h_ - 1) * dilations_.h + 1; }

  /// Rows of the result that a unit makes: some full blocks of pixels, and so many that the rows
  /// that two units share are not computed again more often than worthwhile_repeats() allows.
  void choose_rows() {
    const int64_t least = unit_rows_;
    // A quarter of a picture at most, since threads may share it.
    const int64_t high = std::max<int64_t>(out_height_.as_int().value_or(64), 1);
    const int64_t quarter = (high + 3) / 4;
    if (product_) {
      // As many as fit; pieces of several units do not compute again what these share.
      const int64_t row_bytes = row_floats().as_int().value_or(kRowBlock * kRowBlock) * 4;
      const int64_t fit = kProducedBytes / std::max<int64_t>(row_bytes, 1) - extent_h();
      unit_rows_ = std::min(std::max({least, int64_t{1}, fit / strides_.h + 1}), quarter);
      if (kind_ == TemplateKind::winograd) unit_rows_ = (unit_rows_ + 3) / 4 * 4;
      return;
    }
    const int64_t wide = out_width_.as_int().value_or(16);
    const int64_t shared = std::max<int64_t>(0, extent_h() - strides_.h);
    const double more = repeats_allowed() - 1;
    const auto few_repeats = static_cast<int64_t>(
        std::ceil(static_cast<double>(shared) / (static_cast<double>(strides_.h) * more)));
    const int64_t full = std::min(4 * kRowBlock / std::max<int64_t>(wide, 1), quarter);
    unit_rows_ = std::min(std::max({least, full, few_repeats}), high);
    if (kind_ == TemplateKind::winograd) unit_rows_ = (unit_rows_ + 3) / 4 * 4;
  }

  double repeats_allowed() {
    // At least a quarter: where evaluation is dear, few rows at a time still cost little more.
    const double operations = w_.operations_of_operand(lane_axis());
    const Expr columns = pool_.integer(filters_);
    const int64_t whole = worthwhile_repeats(operations, columns);
    return whole > 1 ? static_cast<double>(whole) : 1.25;
  }

  /// Few channels leave most lanes of a vector empty: then lanes run along a row of the picture.
  bool has_few_channels() const { return channels_.as_int().value_or(kFewChannels) < kFewChannels; }
  size_t lane_axis() const { return w_.operand(0).dims.size() - (has_few_channels() ? 2 : 1); }

  int64_t input_rows() const { return (unit_rows_ - 1) * strides_.h + extent_h(); }
  /// Rows of loops have empty columns beside them; those of a product lie as it makes them.
  Expr row_width() const { return product_ ? width_ : width_ + (pads_.w + pads_end_.w); }
  Expr row_floats() const { return row_width() * channels_; }

  void write_produced() {
    Writer& out = w_.out();
    const Expr row_groups = ceildiv(out_height_, unit_rows_);
    const bool shares_scratch = kind_ == TemplateKind::winograd;
    out.line("auto* const rows = static_cast<f32*>(args.scratch)",
             shares_scratch ? concat(" + ", cpu_dim(winograd_floats())) : std::string(), ";");
    if (product_) {
      write_product();
    } else {
      write_producer();
    }
    if (op_.groups == 1 || kind_ == TemplateKind::depthwise) write_epilogue_of(pool_.integer(0));
    out.line("const i64 row_floats = ", cpu_dim(row_floats()), ";");
    out.line("HeldRows held;");
    out.block("for (i64 unit = begin; unit < end; ++unit)", [&] {
      out.line("const i64 picture = unit / ", cpu_dim(row_groups), ";");
      out.line("const i64 top = unit % ", cpu_dim(row_groups), " * ", unit_rows_, ";");
      out.line("const i64 bottom = min(shape.oh, top + ", unit_rows_, ");");
      out.line("const i64 first = max(i64(0), top * ", strides_.h, " - ", pads_.h, ");");
      out.line("const i64 last = min(shape.h, (bottom - 1) * ", strides_.h, " - ", pads_.h, " + ",
               extent_h(), ");");
      out.line("const i64 missing = keep_rows(held, picture, first, last, row_floats, rows);");
      if (product_) {
        out.line("produce(picture, first, missing, last);");
      } else {
        out.block("for (i64 ih = missing; ih < last; ++ih)",
                  [&] { out.line("produce(picture, ih, rows + (ih - first) * row_floats);"); });
      }
      out.line("ConvShape local = shape;");
      out.line("local.h = shape.h - first;");
      out.line("local.pad_top = shape.pad_top + first;");
      if (!product_) {
        out.line("local.w = ", cpu_dim(row_width()), ";");
        out.line("local.pad_left = 0;");
      }
      out.line("local.x_batch_stride = 0;");
      out.line("local.x_row_stride = row_floats;");
      out.line("const i64 m = (picture * shape.oh + top) * shape.ow;");
      out.line("const i64 m_end = (picture * shape.oh + bottom) * shape.ow;");
      if (kind_ == TemplateKind::winograd) {
        out.line("const i64 tiles = picture * winograd_rows(shape.oh) + top / 4;");
        out.line("(void)m, (void)m_end;");
        out.line("winograd(local, tiles, tiles + winograd_rows(bottom - top), Lit<", filters_,
                 ">{}, rows, ", w_.operand_name(1), ",");
        out.line("         static_cast<f32*>(args.scratch), epilogue);");
      } else if (kind_ == TemplateKind::depthwise) {
        out.line("depthwise(local, m, m_end, rows, ", w_.operand_name(1), ", epilogue);");
      } else if (op_.groups == 1) {
        out.line("conv2d(local, m, m_end, 0, ", panels_, ", Lit<", filters_, ">{}, rows, ",
                 w_.operand_name(1), ", epilogue);");
      } else {
        out.block(concat("for (i64 panel = 0; panel < ", op_.groups * panels_, "; ++panel)"),
                  [&] { write_group("m, m_end", "local", true); });
      }
    });
  }

  /// Rows [missing, last) of a picture whose row `first` is the first of `rows`.
  void write_product() {
    Writer& out = w_.out();
    const Expr m = pool_.fresh_index(product_->rows), base = pool_.fresh_index(product_->rows);
    const Expr n = pool_.fresh_index(channels_);
    w_.exprs().name_var(m.var(), "m");
    w_.exprs().name_var(base.var(), "base");
    Exprs index = product_->row_index(m);
    index.push_back(n);
    out.block(
        "const auto produce = [&](i64 picture, i64 first, i64 missing, i64 last) INGOT_LAMBDA",
        [&] {
          out.line("const i64 top = picture * shape.h, base = (top + first) * shape.w;");
          out.line("f32* const kept = rows;");
          const Expr place = (m - base) * channels_ + n;
          w_.write_keeping(w_.node().inputs[0], index, n, place, "keep");
          const Expr no_batch = pool_.integer(0);
          out.line("gemm((top + missing) * shape.w, (top + last) * shape.w, 0, ",
                   cpu_dim(product_->panels), ", ", size_text(product_->k), ",");
          out.line("     ", columns_text(product_->n, product_->width), ", ",
                   product_->left(no_batch), ", ", cpu_dim(product_->k), ",");
          out.line("     ", product_->right(no_batch), ", keep);");
        },
        ";");
  }

  void write_producer() {
    Writer& out = w_.out();
    const Expr picture = pool_.fresh_index(pictures_), ih = pool_.fresh_index(height_);
    const Expr iw = pool_.fresh_index(width_);
    w_.exprs().name_var(picture.var(), "picture");
    w_.exprs().name_var(ih.var(), "ih");
    w_.exprs().name_var(iw.var(), "iw");
    const std::string c = cpu_dim(channels_);
    const auto clear = [&](int64_t columns) {
      if (columns > 0) out.line("copy_floats(nullptr, row, ", columns, " * ", c, ");");
      if (columns > 0) out.line("row += ", columns, " * ", c, ";");
    };
    out.block(
        "const auto produce = [&](i64 picture, i64 ih, f32* row) INGOT_LAMBDA",
        [&] {
          out.line("(void)picture, (void)ih;");
          const auto scope = w_.exprs().save();
          clear(pads_.w);
          Exprs front = two_dims_ ? Exprs{picture, ih} : Exprs{picture};
          if (has_few_channels()) {
            const int64_t count = *channels_.as_int();
            for (int64_t channel = 0; channel < count; ++channel) {
              w_.write_row(front, width_, {pool_.integer(channel)}, count, channel);
            }
            out.line("row += shape.w * ", c, ";");
          } else {
            front.push_back(iw);
            out.block(concat("for (i64 iw = 0; iw < shape.w; ++iw, row += ", c, ")"),
                      [&] { w_.write_row(front, channels_); });
          }
          clear(pads_end_.w);
          w_.exprs().restore(scope);
        },
        ";");
  }

  TemplateWriter& w_;
  ExprPool& pool_;
  TemplateKind kind_;
  const ops::Conv op_;
  Expr pictures_, height_, width_, channels_, out_height_, out_width_;
  int64_t taps_h_ = 1, taps_w_ = 1;
  int64_t filters_ = 0;  // of a group
  int64_t panels_ = 0, panel_width_ = 0;
  Pair strides_, dilations_, pads_, pads_end_;
  std::optional<Product> product_;  // that computes operand 0
  bool two_dims_ = false;
  int64_t unit_rows_ = 1;
  int64_t row_block_ = kRowBlock;  // pixels of a unit, where nothing else says so
  Expr m_;
};

}  // namespace

EmittedKernel emit_conv(TemplateWriter& writer, TemplateKind kind, std::string_view name) {
  return ConvWriter(writer, kind).write(name);
}

}  // namespace ingot
