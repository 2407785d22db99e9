// codegen/emit_matmul.cc: matrix products on the prelude's gemm; convolutions with one tap and
// nothing around the picture are such.
#include <algorithm>

#include "base/text.h"
#include "codegen/template_writer.h"
#include "ops/conv.h"
#include "ops/matmul.h"

namespace ingot {
namespace {

/// A unit is at least some two microseconds of work. Neighbours in a piece are one call, so small
/// units cost nothing, and are shared evenly.
constexpr double kUnitOperations = 4e5;
/// A right side this small stays in a core's own cache. Then a thread takes whole rows, as the
/// kernels before and after do: what it reads it has written itself, and nothing but these panels
/// is read by several. Larger ones are better split, panel by panel.
constexpr int64_t kRowsFirstBytes = int64_t{256} << 10;
/// Rows that are done before the next panel, where rows come first: each call reads all panels.
constexpr int64_t kLeastRows = 24;

class GemmWriter {
 public:
  explicit GemmWriter(TemplateWriter& writer) : w_(writer), pool_(writer.pool()) {
    const Exprs& b = w_.operand(1).dims;
    const Exprs& y = w_.result().dims;
    const ProductSizes sizes = product_sizes(w_.body(), w_.node());
    k_size_ = sizes.k;
    n_size_ = sizes.n;
    width_ = sizes.width;
    panels_ = sizes.panels;
    // Without a batch in b all rows form one matrix.
    batched_ = !w_.node().op.is<ops::Conv>() &&
               !element_count(pool_, std::span(b).first(b.size() - 3)).is_int(1);
    const size_t batch_rank = batched_ ? y.size() - 2 : 0;
    batch_dims_ = std::span(y).first(batch_rank);
    row_dims_ = std::span(y).subspan(batch_rank, y.size() - 1 - batch_rank);
    batches_ = element_count(pool_, batch_dims_);
    rows_ = element_count(pool_, row_dims_);
    choose_units();
  }

  EmittedKernel write(std::string_view name) {
    batch_ = pool_.fresh_index(batches_);
    m_ = pool_.fresh_index(rows_);
    w_.exprs().name_var(batch_.var(), "batch");
    w_.exprs().name_var(m_.var(), "m");
    w_.write_function(name, [&] { function_body(); });
    EmittedKernel kernel;
    kernel.text = w_.out().take();
    kernel.units = batches_ * groups_ * blocks_;
    const Expr operations = k_size_ * width_ * group_panels_ * (2 * row_block_);
    kernel.unit_ns = max(floordiv(operations, kGflops), pool_.integer(1));
    kernel.scratch_bytes = w_.is_produced() ? scratch_row() * (4 * row_block_) : pool_.integer(0);
    return kernel;
  }

 private:
  /// Panels are units of their own, unless rows are produced for all panels of a unit together.
  /// Units are counted panel by panel, or block by block of rows (rows_first_).
  void choose_units() {
    group_panels_ = pool_.integer(1);
    if (w_.is_produced()) {
      const int64_t repeats = worthwhile_repeats(operations(), n_size_);
      group_panels_ = max(ceildiv(panels_, repeats), pool_.integer(1));
      const int64_t bytes = k_size_.as_int().value_or(4096) * 4;
      row_block_ = std::clamp<int64_t>(kProducedBytes / std::max<int64_t>(bytes, 1) / 12 * 12, 12,
                                       kRowBlock);
    } else {
      const auto right = (k_size_ * panels_ * width_).as_int();
      rows_first_ = !batched_ && right && *right <= kRowsFirstBytes / 4;
      const auto tile = static_cast<double>((k_size_ * width_).as_int().value_or(4096 * 64)) * 24;
      const auto tiles = static_cast<int64_t>(kUnitOperations / std::max(tile, 1.0));
      row_block_ = std::clamp<int64_t>(12 * tiles, rows_first_ ? kLeastRows : 12, kRowBlock);
    }
    groups_ = floordiv(panels_ + group_panels_ - 1, group_panels_);
    blocks_ = ceildiv(rows_, row_block_);
  }

  double operations() { return w_.operations_of_operand(w_.operand(0).dims.size() - 1); }

  /// Floats between produced rows; produced_stride() of the prelude or more.
  Expr scratch_row() { return floordiv(k_size_ + 15, 16) * 16 + 16; }

  void function_body() {
    Writer& out = w_.out();
    out.line("const i64 rows = ", cpu_dim(rows_), ";");
    if (!rows_first_) {
      out.line("const i64 blocks = (rows + ", row_block_ - 1, ") / ", row_block_, ";");
    }
    out.block("while (begin < end)", [&] {
      std::string unit = "begin";
      if (batched_) {
        out.line("const i64 batch = begin / (blocks * ", cpu_dim(groups_), ");");
        out.line("const i64 unit = begin % (blocks * ", cpu_dim(groups_), ");");
        unit = "unit";
      }
      const std::string inner = rows_first_ ? cpu_dim(groups_) : "blocks";
      const std::string names[2] = {"group", "first"};  // which varies slowly, and which fast
      const std::string &slow = names[rows_first_ ? 1 : 0], &fast = names[rows_first_ ? 0 : 1];
      out.line("[[maybe_unused]] const i64 ", slow, " = ", unit, " / ", inner, ", ", fast, " = ",
               unit, " % ", inner, ";");
      out.line("const i64 count = min(i64(", inner, ") - ", fast, ", end - begin);");
      out.line("const i64 m_end = min(rows, (first + ", rows_first_ ? "1" : "count", ") * ",
               row_block_, ");");
      write_call();
      out.line("begin += count;");
    });
  }

  void write_call() {
    Writer& out = w_.out();
    const Expr n = pool_.fresh_index(n_size_);
    Exprs index = delinearize(pool_, batch_, batch_dims_);
    const Exprs row_index = delinearize(pool_, m_, row_dims_);
    index.insert(index.end(), row_index.begin(), row_index.end());
    index.push_back(n);
    w_.write_epilogue(index, n);
    std::string panels = rows_first_ ? "group, group + count" : "group, group + 1";
    if (w_.is_produced()) {
      write_producer(row_index);
      const std::string all = cpu_dim(panels_), each = cpu_dim(group_panels_);
      panels = concat("group * ", each, ", min(i64(", all, "), (group + 1) * ", each, ")");
      if (groups_.is_int(1)) panels = concat("0, ", all);
    }
    // Written first: offsets may need statements of their own in front of the call.
    const std::string right = at_batch(1, 3);
    const std::string left = w_.is_produced() ? std::string() : at_batch(0, 2);
    const std::string_view call = w_.is_produced() ? "gemm_produced" : "gemm";
    out.line(call, "(first * ", row_block_, ", m_end, ", panels, ", ", size_text(k_size_), ", ",
             columns_text(n_size_, width_), ",");
    if (w_.is_produced()) {
      out.line("  produce, static_cast<f32*>(args.scratch), ", row_block_, ", ", right,
               ", epilogue);");
    } else {
      out.line("  ", left, ", ", size_text(k_size_), ", ", right, ", epilogue);");
    }
  }

  /// An operand's matrix of the current batch.
  std::string at_batch(size_t slot, size_t matrix_rank) {
    const std::string& name = w_.operand_name(slot);
    if (!batched_) return name;
    const Exprs& dims = w_.operand(slot).dims;
    const Exprs at = batch_index(dims, matrix_rank);
    Expr offset = pool_.integer(0);
    for (size_t axis = 0; axis < at.size(); ++axis) offset = offset * dims[axis] + at[axis];
    offset = offset * element_count(pool_, std::span(dims).last(matrix_rank));
    w_.exprs().begin_statement({offset});
    return concat(name, " + ", w_.exprs().write(offset));
  }

  /// Indices of the current batch in an operand whose batch dims may be 1 or missing.
  Exprs batch_index(const Exprs& dims, size_t matrix_rank) {
    const Exprs at = delinearize(pool_, batch_, batch_dims_);
    const size_t own = dims.size() - matrix_rank;
    Exprs index;
    for (size_t axis = 0; axis < own; ++axis) {
      const bool repeats = dims[axis].is_int(1);
      index.push_back(repeats ? pool_.integer(0) : at[at.size() - own + axis]);
    }
    return index;
  }

  void write_producer(const Exprs& row_index) {
    const Exprs& a = w_.operand(0).dims;
    Exprs front = batched_ ? batch_index(a, 2) : Exprs{};
    const size_t left = a.size() - 1 - front.size();
    front.insert(front.end(), row_index.end() - static_cast<ptrdiff_t>(left), row_index.end());
    w_.out().block(
        "const auto produce = [&](i64 m, f32* row) INGOT_LAMBDA",
        [&] {
          w_.out().line("(void)m;");
          const auto scope = w_.exprs().save();
          w_.write_row(std::move(front), k_size_);
          w_.exprs().restore(scope);
        },
        ";");
  }

  TemplateWriter& w_;
  ExprPool& pool_;
  Expr k_size_, n_size_, width_, panels_, rows_, batches_;
  std::span<const Expr> batch_dims_, row_dims_;
  bool batched_ = false;
  int64_t row_block_ = kRowBlock;
  bool rows_first_ = false;
  Expr group_panels_, groups_;  // panels of a unit, and how many such groups there are
  Expr blocks_;                 // of rows
  Expr batch_, m_;
};

}  // namespace

EmittedKernel emit_gemm(TemplateWriter& writer, std::string_view name) {
  return GemmWriter(writer).write(name);
}

}  // namespace ingot
