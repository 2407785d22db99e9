// frontend/onnx/ops_einsum.cc: Einsum, one operand after the other, as products of matrices.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "frontend/onnx/ops.h"
#include "frontend/onnx/positions.h"

namespace ingot::onnx {
namespace {

/// A subscript: a letter, or -1, -2, .. for the dims of the ellipsis counted from its last one.
using Label = int;
using Labels = std::vector<Label>;

bool contains(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// One term of an equation such as "b...ij", for an ellipsis of `hidden` dims.
Result<Labels> parse_term(std::string_view term, int64_t hidden) {
  Labels labels;
  bool has_ellipsis = false;
  for (size_t k = 0; k < term.size(); ++k) {
    if (is_letter(term[k])) {
      labels.push_back(term[k]);
    } else if (term.substr(k, 3) == "..." && !has_ellipsis) {
      for (int64_t h = hidden; h > 0; --h) labels.push_back(static_cast<Label>(-h));
      has_ellipsis = true;
      k += 2;
    } else {
      return invalid_model("attribute 'equation': unexpected '", to_comment(term.substr(k, 1)),
                           "'");
    }
  }
  return labels;
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

Result<Equation> parse_equation(OpContext& n, std::string text) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string_view left = std::string_view(text).substr(0, arrow);
  std::vector<std::string_view> terms;
  for (size_t from = 0;;) {
    const size_t comma = left.find(',', from);
    terms.push_back(left.substr(from, comma - from));
    if (comma == std::string_view::npos) break;
    from = comma + 1;
  }
  if (terms.size() != n.input_count()) {
    return invalid_model("attribute 'equation': expected ", n.input_count(), " terms, got ",
                         terms.size());
  }
  Equation e;
  int64_t widest = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    const int64_t letters = std::ranges::count_if(terms[k], is_letter);
    const bool has_ellipsis = terms[k].find("...") != std::string_view::npos;
    const int64_t hidden = n.rank(n.in(k)) - letters;
    if (hidden < 0 || (hidden > 0 && !has_ellipsis)) {
      return invalid_model("attribute 'equation': term ", k, " has ", letters,
                           " letters for an input of rank ", n.rank(n.in(k)));
    }
    widest = std::max(widest, hidden);
    TRY(Labels labels, parse_term(terms[k], hidden));
    e.inputs.push_back(std::move(labels));
  }
  if (arrow != std::string::npos) {
    TRY(e.output, parse_term(std::string_view(text).substr(arrow + 2), widest));
  } else {
    // The ellipsis, then the letters that occur once, sorted.
    std::map<Label, int> seen;
    for (const Labels& labels : e.inputs) {
      for (const Label label : labels) ++seen[label];
    }
    for (const auto& [label, count] : seen) {
      if (label < 0 || count == 1) e.output.push_back(label);
    }
  }
  std::set<Label> known;
  for (const Labels& labels : e.inputs) known.insert(labels.begin(), labels.end());
  std::set<Label> once;
  for (const Label label : e.output) {
    if (!known.contains(label) || !once.insert(label).second) {
      return invalid_model(
          "attribute 'equation': its output has a letter twice, or one that no "
          "input has");
    }
  }
  return e;
}

/// A value whose dims go by labels, each once.
struct Term {
  ValueId value;
  Labels labels;
};

Expr dim_of(OpContext& n, const Term& t, Label label) {
  const auto at = std::ranges::find(t.labels, label);
  return n.dim(t.value, at - t.labels.begin());
}

/// x where equal labels have equal indices.
Result<Term> diagonal(OpContext& n, ValueId x, const Labels& labels) {
  Term t{x, {}};
  Exprs dims, strides;
  const Exprs own = row_major_strides(n.pool(), n.dims(x));
  for (size_t a = 0; a < labels.size(); ++a) {
    const auto at = std::ranges::find(t.labels, labels[a]);
    if (at == t.labels.end()) {
      t.labels.push_back(labels[a]);
      dims.push_back(n.dims(x)[a]);
      strides.push_back(own[a]);
    } else {
      Expr& stride = strides[static_cast<size_t>(at - t.labels.begin())];
      stride = stride + own[a];
    }
  }
  if (t.labels.size() == labels.size()) return t;
  ValueIds indices;
  for (size_t a = 0; a < dims.size(); ++a) {
    TRY(const ValueId i, n.iota(dims, static_cast<int64_t>(a)));
    indices.push_back(i);
  }
  TRY(const ValueId positions, n.map(DType::i64, indices, [&](std::span<const Expr> p) {
    Expr at = n.integer(0);
    for (size_t a = 0; a < p.size(); ++a) at = at + p[a] * strides[a];
    return at;
  }));
  TRY(t.value, take_flat(n, x, positions));
  return t;
}

/// Sums over the labels that nobody needs any more.
Result<Term> sum_out(OpContext& n, Term t, const std::set<Label>& needed) {
  std::vector<int64_t> axes;
  Labels kept;
  for (size_t a = 0; a < t.labels.size(); ++a) {
    if (needed.contains(t.labels[a])) {
      kept.push_back(t.labels[a]);
    } else {
      axes.push_back(static_cast<int64_t>(a));
    }
  }
  TRY(const ValueId y, n.reduce(ReduceKind::sum, t.value, std::move(axes), false));
  return Term{y, std::move(kept)};
}

/// The dims in the order of `labels`; labels that the term lacks are dims of 1.
Result<ValueId> arrange(OpContext& n, const Term& t, const Labels& labels) {
  std::vector<int64_t> order;
  Exprs dims;
  for (const Label label : labels) {
    const auto at = std::ranges::find(t.labels, label);
    if (at == t.labels.end()) {
      dims.push_back(n.integer(1));
    } else {
      order.push_back(at - t.labels.begin());
      dims.push_back(n.dim(t.value, order.back()));
    }
  }
  TRY(const ValueId turned, n.transpose(t.value, std::move(order)));
  return n.reshape(turned, std::move(dims));
}

/// The product of two terms, summed over what only they have and nobody needs afterwards.
Result<Term> multiply(OpContext& n, Term a, Term b, const std::set<Label>& needed) {
  std::set<Label> for_a = needed, for_b = needed;
  for_a.insert(b.labels.begin(), b.labels.end());
  for_b.insert(a.labels.begin(), a.labels.end());
  TRY(a, sum_out(n, std::move(a), for_a));
  TRY(b, sum_out(n, std::move(b), for_b));
  Labels batch, rows, inner, columns;
  for (const Label label : a.labels) {
    if (!contains(b.labels, label)) {
      rows.push_back(label);
    } else {
      (needed.contains(label) ? batch : inner).push_back(label);
    }
  }
  for (const Label label : b.labels) {
    if (!contains(a.labels, label)) columns.push_back(label);
  }
  Labels result = batch;
  result.insert(result.end(), rows.begin(), rows.end());
  result.insert(result.end(), columns.begin(), columns.end());
  if (inner.empty()) {
    TRY(const ValueId x, arrange(n, a, result));
    TRY(const ValueId y, arrange(n, b, result));
    TRY(const ValueId product, n.map2(x, y, [](Expr p, Expr q) { return p * q; }));
    return Term{product, std::move(result)};
  }
  const auto joined = [&](const Term& t, const Labels& labels) {
    Expr size = n.integer(1);
    for (const Label label : labels) size = size * dim_of(n, t, label);
    return size;
  };
  const auto matrix = [&](const Term& t, const Labels& first, const Labels& second) {
    Labels order = batch;
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), second.begin(), second.end());
    Exprs dims;
    for (const Label label : batch) dims.push_back(dim_of(n, t, label));
    dims.push_back(joined(t, first));
    dims.push_back(joined(t, second));
    return std::pair(order, dims);
  };
  const auto [a_order, a_dims] = matrix(a, rows, inner);
  const auto [b_order, b_dims] = matrix(b, inner, columns);
  TRY(ValueId x, arrange(n, a, a_order));
  TRY(x, n.reshape(x, a_dims));
  TRY(ValueId y, arrange(n, b, b_order));
  TRY(y, n.reshape(y, b_dims));
  TRY(const ValueId product, n.matmul(x, y));
  Exprs dims(n.dims(product).begin(), n.dims(product).end() - 2);
  for (const Label label : rows) dims.push_back(dim_of(n, a, label));
  for (const Label label : columns) dims.push_back(dim_of(n, b, label));
  TRY(const ValueId apart, n.reshape(product, std::move(dims)));
  return Term{apart, std::move(result)};
}

Result<ValueIds> einsum(OpContext& n) {
  TRY_STATUS(n.expect_numbers());
  TRY(std::string text, n.attr_text("equation"));
  TRY(const Equation e, parse_equation(n, std::move(text)));
  TRY(Term result, diagonal(n, n.in(0), e.inputs[0]));
  for (size_t k = 1; k <= e.inputs.size(); ++k) {
    std::set<Label> needed(e.output.begin(), e.output.end());
    for (size_t later = k + 1; later < e.inputs.size(); ++later) {
      needed.insert(e.inputs[later].begin(), e.inputs[later].end());
    }
    if (k == e.inputs.size()) {
      TRY(result, sum_out(n, std::move(result), needed));
      break;
    }
    TRY(Term next, diagonal(n, n.in(k), e.inputs[k]));
    TRY(result, multiply(n, std::move(result), std::move(next), needed));
  }
  return only(arrange(n, result, e.output));
}

constexpr OpRow kRows[] = {
    {"Einsum", 12, 1, kVariadic, einsum},
};

}  // namespace

std::span<const OpRow> einsum_rows() {
  return kRows;
}

}  // namespace ingot::onnx
