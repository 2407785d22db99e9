// codegen/emit_chain.cc: two matrix products, and between them what is made of rows of the first,
// as one kernel; attention is one. A unit computes a block of rows of the first product into
// scratch that stays in the cache, makes there what the second one reads, and multiplies it. The
// first product's result never exists as a whole.
#include <algorithm>

#include "base/text.h"
#include "codegen/product.h"
#include "passes/epilogue.h"

namespace ingot {
namespace {

/// Rows of a unit: few, so that there are units for all threads, but several tiles for what is read
/// of the right operands; and no more than keep kKeptBytes, as long as those are kLeastRows.
constexpr int64_t kMostRows = 48;
constexpr int64_t kLeastRows = 24;
constexpr int64_t kKeptBytes = int64_t{1} << 20;
/// Every level's tallest tile for panels of 64 columns divides it.
constexpr int64_t kTile = 6;

class ChainWriter {
 public:
  ChainWriter(TemplateWriter& writer, const Node& inner)
      : w_(writer),
        pool_(writer.pool()),
        inner_(writer, inner, Batches::apart),
        outer_(writer, writer.node(), Batches::apart) {
    batch_ = pool_.fresh_index(outer_.batches);
    m_ = pool_.fresh_index(outer_.rows);
    choose_block();
  }

  EmittedKernel write(std::string_view name) {
    w_.exprs().name_var(batch_.var(), "batch");
    w_.exprs().name_var(m_.var(), "m");
    w_.write_function(name, [&] { function_body(); });
    EmittedKernel kernel;
    kernel.text = w_.out().take();
    kernel.units = outer_.batches * divide_up(outer_.rows, block_);
    const auto operations = [&](const Product& p) { return p.k * p.width * p.panels; };
    kernel.unit_ns = max(floordiv((operations(inner_) + operations(outer_)) * block_ * 2, kGflops),
                         pool_.integer(1));
    kernel.scratch_bytes = kept_floats() * 4;
    if (w_.is_produced(inner_.node)) {
      kernel.scratch_bytes = kernel.scratch_bytes + inner_.scratch_row() * block_ * 4;
    }
    return kernel;
  }

 private:
  /// Known numbers of rows are cut into blocks of about the same height.
  void choose_block() {
    const Expr fit = floordiv(pool_.integer(kKeptBytes / 4), outer_.scratch_row());
    block_ = min(max(fit, pool_.integer(kLeastRows)), pool_.integer(kMostRows));
    const auto rows = outer_.rows.as_int(), most = block_.as_int();
    if (!rows || !most) return;
    const int64_t blocks = std::max<int64_t>((*rows + *most - 1) / *most, 1);
    const int64_t tiles = ((*rows + blocks - 1) / blocks + kTile - 1) / kTile;
    block_ = pool_.integer(std::max<int64_t>(tiles, 1) * kTile);
  }

  static Expr divide_up(Expr a, Expr b) { return floordiv(a + b - 1, b); }

  Expr kept_floats() const { return outer_.scratch_row() * block_; }

  void function_body() {
    Writer& out = w_.out();
    out.line("const i64 rows = ", cpu_dim(outer_.rows), ", block = ", cpu_dim(block_), ";");
    out.line("const i64 blocks = (rows + block - 1) / block;");
    out.line("f32* const kept = static_cast<f32*>(args.scratch);");
    out.line("const i64 stride = produced_stride(", cpu_dim(outer_.k), ");");
    out.block("for (; begin < end; ++begin)", [&] {
      out.line("[[maybe_unused]] const i64 batch = begin / blocks;");
      out.line("const i64 first = begin % blocks * block, m_end = min(rows, first + block);");
      write_first();
      write_second();
    });
  }

  void write_first() {
    Writer& out = w_.out();
    const Expr n = pool_.fresh_index(inner_.n), first = pool_.fresh_index(outer_.rows);
    const Expr stride = pool_.fresh_index(outer_.scratch_row() + 1);
    w_.exprs().name_var(first.var(), "first");
    w_.exprs().name_var(stride.var(), "stride");
    Exprs index = inner_.index(batch_, m_);
    index.push_back(n);
    rows_ = end_of_rows(w_.body(), inner_.node.outputs[0]);
    w_.write_keeping(rows_, index, n, (m_ - first) * stride + n, "keep");
    const bool is_produced = w_.is_produced(inner_.node);
    if (is_produced) {
      write_producer("produce_left",
                     [&] { w_.write_row_of(inner_.node, inner_.left_row(batch_, m_), inner_.k); });
    }
    const std::string right = inner_.right(batch_);
    const std::string left = is_produced ? std::string() : inner_.left(batch_);
    out.line(is_produced ? "gemm_produced" : "gemm", "(first, m_end, 0, ", cpu_dim(inner_.panels),
             ", ", size_text(inner_.k), ", ", columns_text(inner_.n, inner_.width), ",");
    if (is_produced) {
      out.line("  produce_left, kept + ", cpu_dim(kept_floats()), ", block, ", right, ", keep);");
    } else {
      out.line("  ", left, ", ", size_text(inner_.k), ", ", right, ", keep);");
    }
  }

  void write_second() {
    Writer& out = w_.out();
    const Expr n = pool_.fresh_index(outer_.n);
    Exprs index = outer_.index(batch_, m_);
    index.push_back(n);
    w_.write_epilogue(index, n);
    write_producer("produce", [&] {
      if (rows_ != outer_.node.inputs[0]) {
        w_.write_reduced_row(outer_.left_row(batch_, m_), outer_.k);
      } else {
        out.line("(void)row;");
      }
    });
    const std::string right = outer_.right(batch_);
    out.line("gemm_produced(first, m_end, 0, ", cpu_dim(outer_.panels), ", ", size_text(outer_.k),
             ", ", columns_text(outer_.n, outer_.width), ",");
    out.line("  produce, kept, block, ", right, ", epilogue);");
  }

  template <class Body>
  void write_producer(std::string_view name, Body body) {
    w_.out().block(
        concat("const auto ", name, " = [&](i64 m, f32* row) INGOT_LAMBDA"),
        [&] {
          w_.out().line("(void)m;");
          const auto scope = w_.exprs().save();
          body();
          w_.exprs().restore(scope);
        },
        ";");
  }

  TemplateWriter& w_;
  ExprPool& pool_;
  Product inner_, outer_;
  Expr batch_, m_;
  Expr block_;    // rows of a unit
  ValueId rows_;  // what is kept of the first product
};

}  // namespace

EmittedKernel emit_chain(TemplateWriter& writer, const Node& inner, std::string_view name) {
  return ChainWriter(writer, inner).write(name);
}

}  // namespace ingot
