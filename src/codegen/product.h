// codegen/product.h: a matrix product of a region as text: sizes, operands, and rows made for it.
#pragma once

#include <span>
#include <string>

#include "codegen/template_writer.h"

namespace ingot {

/// The batches of matrix products; apart: counted even where the right operand has none.
enum class Batches : uint8_t { joined, apart };

/// A matmul with packed weights, or a convolution with one tap. The dims that a product has in
/// front of its columns are batches, each with a right matrix of its own, and rows.
struct Product {
  /// Without a batch in the right operand all rows form one matrix, unless batches are to be apart.
  Product(TemplateWriter& writer, const Node& node, Batches batches = Batches::joined);

  /// Indices of the result's row `m` of `batch`, without its column, and of those its own dims.
  Exprs index(Expr batch, Expr m) const;
  Exprs row_index(Expr m) const { return delinearize(pool, m, row_dims); }

  /// Indices of a batch in an operand whose batch dims may be 1 or missing.
  Exprs batch_index(Expr batch, const Exprs& dims, size_t matrix_rank) const;
  /// Text of an operand's matrix of a batch. May write constants first.
  std::string right(Expr batch) const { return matrix(batch, 1, 3); }
  std::string left(Expr batch) const { return matrix(batch, 0, 2); }
  /// Indices of the left operand's row `m` of `batch`, without its last.
  Exprs left_row(Expr batch, Expr m) const;

  /// Floats between produced rows; produced_stride() of the prelude or more.
  Expr scratch_row() const { return floordiv(k + 15, 16) * 16 + 16; }

  TemplateWriter& writer;
  const Node& node;
  ExprPool& pool;
  Expr k, n;           // terms and columns
  Expr width, panels;  // of the right operand
  bool batched;
  Exprs batch_dims, row_dims;
  Expr batches, rows;

 private:
  std::string matrix(Expr batch, size_t slot, size_t matrix_rank) const;
};

}  // namespace ingot
