// codegen/emit_matmul.cc: matrix products on the prelude's gemm; convolutions with one tap and
// nothing around the picture are such.
#include <algorithm>

#include "base/text.h"
#include "codegen/product.h"

namespace ingot {
namespace {

/// A right side this small stays in a core's own cache. Then a thread takes whole rows, as the
/// kernels before and after do: what it reads it has written itself, and nothing but these panels
/// is read by several. Larger ones are better split, panel by panel.
constexpr int64_t kRowsFirstBytes = int64_t{256} << 10;
/// Rows that are done before the next panel, where rows come first: each call reads all panels.
constexpr int64_t kLeastRows = 24;

class GemmWriter {
 public:
  explicit GemmWriter(TemplateWriter& writer)
      : w_(writer), pool_(writer.pool()), p_(writer, writer.node()) {
    choose_units();
  }

  EmittedKernel write(std::string_view name) {
    batch_ = pool_.fresh_index(p_.batches);
    m_ = pool_.fresh_index(p_.rows);
    w_.exprs().name_var(batch_.var(), "batch");
    w_.exprs().name_var(m_.var(), "m");
    w_.write_function(name, [&] { function_body(); });
    EmittedKernel kernel;
    kernel.text = w_.out().take();
    kernel.units = p_.batches * groups_ * blocks_;
    const Expr operations = p_.k * p_.width * group_panels_ * (2 * row_block_);
    kernel.unit_ns = max(floordiv(operations, kGflops), pool_.integer(1));
    kernel.scratch_bytes =
        w_.is_produced() ? p_.scratch_row() * (4 * row_block_) : pool_.integer(0);
    return kernel;
  }

 private:
  /// Panels are units of their own, unless rows are produced for all panels of a unit together.
  /// Units are counted panel by panel, or block by block of rows (rows_first_).
  void choose_units() {
    group_panels_ = pool_.integer(1);
    if (w_.is_produced()) {
      const int64_t repeats = worthwhile_repeats(operations(), p_.n);
      group_panels_ = max(ceildiv(p_.panels, repeats), pool_.integer(1));
      const int64_t bytes = p_.k.as_int().value_or(4096) * 4;
      row_block_ = std::clamp<int64_t>(kProducedBytes / std::max<int64_t>(bytes, 1) / 12 * 12, 12,
                                       kRowBlock);
    } else {
      const auto right = (p_.k * p_.panels * p_.width).as_int();
      rows_first_ = !p_.batched && right && *right <= kRowsFirstBytes / 4;
      row_block_ = choose_row_block(p_.k * p_.width, rows_first_ ? kLeastRows : 12);
    }
    groups_ = floordiv(p_.panels + group_panels_ - 1, group_panels_);
    blocks_ = ceildiv(p_.rows, row_block_);
  }

  double operations() { return w_.operations_of_operand(w_.operand(0).dims.size() - 1); }

  void function_body() {
    Writer& out = w_.out();
    out.line("const i64 rows = ", cpu_dim(p_.rows), ";");
    if (!rows_first_) {
      out.line("const i64 blocks = (rows + ", row_block_ - 1, ") / ", row_block_, ";");
    }
    out.block("while (begin < end)", [&] {
      std::string unit = "begin";
      if (p_.batched) {
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
    const Expr n = pool_.fresh_index(p_.n);
    Exprs index = p_.index(batch_, m_);
    index.push_back(n);
    w_.write_epilogue(index, n);
    std::string panels = rows_first_ ? "group, group + count" : "group, group + 1";
    if (w_.is_produced()) {
      write_producer();
      const std::string all = cpu_dim(p_.panels), each = cpu_dim(group_panels_);
      panels = concat("group * ", each, ", min(i64(", all, "), (group + 1) * ", each, ")");
      if (groups_.is_int(1)) panels = concat("0, ", all);
    }
    // Written first: offsets may need statements of their own in front of the call.
    const std::string right = p_.right(batch_);
    const std::string left = w_.is_produced() ? std::string() : p_.left(batch_);
    const std::string_view call = w_.is_produced() ? "gemm_produced" : "gemm";
    out.line(call, "(first * ", row_block_, ", m_end, ", panels, ", ", size_text(p_.k), ", ",
             columns_text(p_.n, p_.width), ",");
    if (w_.is_produced()) {
      out.line("  produce, static_cast<f32*>(args.scratch), ", row_block_, ", ", right,
               ", epilogue);");
    } else {
      out.line("  ", left, ", ", size_text(p_.k), ", ", right, ", epilogue);");
    }
  }

  void write_producer() {
    w_.out().block(
        "const auto produce = [&](i64 m, f32* row) INGOT_LAMBDA",
        [&] {
          w_.out().line("(void)m;");
          const auto scope = w_.exprs().save();
          w_.write_row(p_.left_row(batch_, m_), p_.k);
          w_.exprs().restore(scope);
        },
        ";");
  }

  TemplateWriter& w_;
  ExprPool& pool_;
  Product p_;
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
