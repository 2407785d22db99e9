// codegen/product.cc: sizes and places of a product's operands.
#include "codegen/product.h"

#include "base/text.h"
#include "ops/conv.h"

namespace ingot {

Product::Product(TemplateWriter& w, const Node& of, Batches apart)
    : writer(w), node(of), pool(w.pool()) {
  const Exprs& b = w.body().tensor(node.inputs[1]).dims;
  const Exprs& y = w.body().tensor(node.outputs[0]).dims;
  // A convolution's one tap stands between the panels and their rows.
  const bool is_conv = node.op.is<ops::Conv>();
  k = w.body().tensor(node.inputs[0]).dims.back();
  n = y.back();
  width = b.back();
  panels = is_conv ? b.front() : b[b.size() - 3];
  batched = apart == Batches::apart ||
            (!is_conv && !element_count(pool, std::span(b).first(b.size() - 3)).is_int(1));
  const auto split = y.begin() + (batched ? static_cast<ptrdiff_t>(y.size()) - 2 : 0);
  batch_dims = Exprs(y.begin(), split);
  row_dims = Exprs(split, y.end() - 1);
  batches = element_count(pool, batch_dims);
  rows = element_count(pool, row_dims);
}

Exprs Product::index(Expr batch, Expr m) const {
  Exprs all = delinearize(pool, batch, batch_dims);
  const Exprs own = row_index(m);
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

Exprs Product::batch_index(Expr batch, const Exprs& dims, size_t matrix_rank) const {
  const Exprs at = delinearize(pool, batch, batch_dims);
  const size_t own = dims.size() - matrix_rank;
  Exprs all;
  for (size_t axis = 0; axis < own; ++axis) {
    const bool repeats = dims[axis].is_int(1);
    all.push_back(repeats ? pool.integer(0) : at[at.size() - own + axis]);
  }
  return all;
}

std::string Product::matrix(Expr batch, size_t slot, size_t matrix_rank) const {
  const std::string& name = writer.operand_name(node, slot);
  if (!batched) return name;
  const Exprs& dims = writer.body().tensor(node.inputs[slot]).dims;
  const Exprs at = batch_index(batch, dims, matrix_rank);
  Expr offset = pool.integer(0);
  for (size_t axis = 0; axis < at.size(); ++axis) offset = offset * dims[axis] + at[axis];
  offset = offset * element_count(pool, std::span(dims).last(matrix_rank));
  writer.exprs().begin_statement({offset});
  return concat(name, " + ", writer.exprs().write(offset));
}

Exprs Product::left_row(Expr batch, Expr m) const {
  const Exprs& a = writer.body().tensor(node.inputs[0]).dims;
  const Exprs own = row_index(m);
  Exprs front = batched ? batch_index(batch, a, 2) : Exprs{};
  const size_t left = a.size() - 1 - front.size();
  front.insert(front.end(), own.end() - static_cast<ptrdiff_t>(left), own.end());
  return front;
}

}  // namespace ingot
