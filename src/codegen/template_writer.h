// codegen/template_writer.h: what kernels around the prelude's templates share: the function, its
// operands and symbols, the generated epilogue and the generated prologue.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "codegen/closure.h"
#include "codegen/emit_cpu.h"
#include "codegen/emit_template.h"
#include "codegen/schedule.h"
#include "passes/templates.h"

namespace ingot {

/// Rows of one work unit: a multiple of 6 and 12, so that tiles are full, and about 10 us of work
/// for K = 256.
inline constexpr int64_t kRowBlock = 96;
/// Throughput that work is estimated with, in GFLOP/s: two thirds of a usual core.
inline constexpr int64_t kGflops = 80;
/// Rows of one work unit, a multiple of 12 and kRowBlock at the most, each of so many
/// multiply-adds: some two microseconds of work. Neighbours in a piece are one call, so small units
/// cost nothing, and are shared evenly.
int64_t choose_row_block(Expr row_terms, int64_t least = 12);
/// Bytes of produced rows that a unit keeps: they stay in the L2 beside a panel of weights.
inline constexpr int64_t kProducedBytes = int64_t{512} << 10;

/// `Lit<5>{}` for a constant, else the expression.
std::string size_text(Expr dim);
/// `Lit<5>{}` for a constant, else the number of columns with the width of their panels.
std::string columns_text(Expr columns, Expr panel_width);

/// Indices of the element number `flat` of a tensor of `dims`.
Exprs delinearize(ExprPool& pool, Expr flat, std::span<const Expr> dims);

/// Writes one kernel around a template node.
class TemplateWriter {
 public:
  TemplateWriter(const Graph& body, NodeId node, BufferNames names);

  const Graph& body() const { return body_; }
  const Node& node() const { return node_; }
  ExprPool& pool() const { return pool_; }
  Writer& out() { return out_; }
  CpuExprWriter& exprs() { return exprs_; }
  /// Types of the node's operands and result.
  const TensorType& operand(size_t slot) const { return body_.tensor(node_.inputs[slot]); }
  const TensorType& result() const { return body_.tensor(node_.outputs[0]); }

  /// Whether operand 0 is computed here and not read from memory.
  bool is_produced() const { return is_produced(node_); }
  bool is_produced(const Node& node) const { return body_.value(node.inputs[0]).producer.valid(); }
  /// The name of an operand that lies in memory, of this node or of another.
  const std::string& operand_name(size_t slot) { return operand_name(node_, slot); }
  const std::string& operand_name(const Node& node, size_t slot);

  /// The function `name` around `body`, with the buffers and symbols that it may use declared.
  void write_function(std::string_view name, const std::function<void()>& body);

  /// The product that operand 0 is made of; none: loops make it, or it lies in memory.
  NodeId product_of_operand() const;

  /// Defines `epilogue`, to be called with (i64 m, i64 n, vf32 acc, i64 count), for the result's
  /// `index` in terms of m and of `lane`, which is called n.
  void write_epilogue(Exprs index, Expr lane);

  /// Defines `name`, an epilogue of product_of_operand(): what its result at `index` becomes as an
  /// element of `rows` is stored to kept[place]. From then on the last index of `rows` is the place
  /// in `row`, where the rest of the region finds it.
  void write_keeping(ValueId rows, Exprs index, Expr lane, Expr place, std::string_view name);

  /// Statements that store operand 0 at index [front.., lane, back..] for all of 0 <= lane < extent
  /// to row[lane * stride + first], where `row` is in scope.
  void write_row(Exprs front, Expr extent, Exprs back = {}, int64_t stride = 1, int64_t first = 0) {
    write_row_of(node_, std::move(front), extent, std::move(back), stride, first);
  }
  void write_row_of(const Node& node, Exprs front, Expr extent, Exprs back = {}, int64_t stride = 1,
                    int64_t first = 0);
  /// The same for rows that reductions are part of.
  void write_reduced_row(Exprs front, Expr extent);

  /// What an element of operand 0 costs with lanes along `axis`; 0 if it lies in memory.
  double operations_of_operand(size_t axis);

  /// Definitions that the kernel needs in front of it.
  const std::vector<std::string>& shared() const { return shared_; }

 private:
  void declare_buffers();
  void declare_symbols();
  Exprs dims_of_region() const;
  /// Makes the sum of a product known as `acc`.
  void bind_sum(const Node& product);
  /// `store` as a function object called `name`, in terms of `lane`.
  void write_closure(std::string_view name, Expr lane, const std::function<void()>& store);
  void write_segment(Expr value, Expr lane, Expr extent, int64_t begin, int64_t stride,
                     int64_t first);

  const Graph& body_;
  const Node& node_;
  Region region_;
  ExprPool& pool_;
  Writer out_;
  CpuExprWriter exprs_;
  BufferNames names_;
  Captures captures_;  // buffers and symbols, as the kernel declares them
  ScratchNumbers numbers_;
  std::vector<std::string> shared_;
};

/// The kernel of two products, of which the left operand of the second is made of the rows of the
/// first: `inner` of the region.
EmittedKernel emit_chain(TemplateWriter& writer, const Node& inner, std::string_view name);
EmittedKernel emit_gemm(TemplateWriter& writer, std::string_view name);
EmittedKernel emit_conv(TemplateWriter& writer, TemplateKind kind, std::string_view name);

}  // namespace ingot
