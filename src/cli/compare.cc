// cli/compare.cc: compares tensors element by element.
#include "cli/compare.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace ingot::cli {
namespace {

std::string shape_text(const Tensor& tensor) {
  if (tensor.is_container()) return concat(tensor.items().size(), " items");
  return concat(tensor.dtype(), tensor.dims());
}

std::string element_text(const Tensor& tensor, int64_t k) {
  if (tensor.dtype() == DType::str) return quote(tensor.string(k));
  return tensor.holds_reals() ? format_number(tensor.real(k)) : concat(tensor.integer(k));
}

/// The error of element k: 0 if the two are the same, infinite if no distance can be told.
double error_of(const Tensor& got, const Tensor& expected, int64_t k) {
  if (expected.dtype() == DType::str) {
    return got.string(k) == expected.string(k) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (!expected.holds_reals()) {
    if (got.integer(k) == expected.integer(k)) return 0;
    const double apart =
        std::abs(static_cast<double>(got.integer(k)) - static_cast<double>(expected.integer(k)));
    return apart > 0 ? apart : 1;  // they differ, if only below a double's precision
  }
  const double g = got.real(k), e = expected.real(k);
  if (g == e || (std::isnan(g) && std::isnan(e))) return 0;
  const double apart = std::abs(g - e);
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

std::vector<int64_t> index_of(int64_t position, std::span<const int64_t> dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    index[axis] = position % dims[axis];
    position /= dims[axis];
  }
  return index;
}

}  // namespace

Difference compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance) {
  Difference result;
  if (got.is_container() != expected.is_container() ||
      (got.is_container() && got.items().size() != expected.items().size())) {
    result.mismatches = 1;
    result.text = concat("expected ", shape_text(expected), ", got ", shape_text(got));
    return result;
  }
  if (got.is_container()) {
    for (size_t k = 0; k < got.items().size(); ++k) {
      const Difference item = compare(got.items()[k], expected.items()[k], tolerance);
      result.max_abs = std::max(result.max_abs, item.max_abs);
      result.max_rel = std::max(result.max_rel, item.max_rel);
      result.mismatches += item.mismatches;
      if (!item.text.empty() && result.text.empty()) {
        result.text = concat("item ", k, ": ", item.text);
      }
    }
    return result;
  }
  if (got.dtype() != expected.dtype() || got.dims() != expected.dims()) {
    result.text = concat("expected ", shape_text(expected), ", got ", shape_text(got));
    result.mismatches = expected.size();
    return result;
  }
  double worst_close = 0, worst_bad = -1;
  int64_t close_at = -1, bad_at = -1;
  for (int64_t k = 0; k < expected.size(); ++k) {
    const double error = error_of(got, expected, k);
    if (error == 0) continue;
    const double size = expected.dtype() == DType::str ? 0 : std::abs(expected.real(k));
    if (std::isfinite(error)) {
      result.max_abs = std::max(result.max_abs, error);
      if (size > 0) result.max_rel = std::max(result.max_rel, error / size);
    }
    const bool close = expected.holds_reals() && std::isfinite(size) &&
                       error <= tolerance.absolute + tolerance.relative * size;
    if (!close) ++result.mismatches;
    double& worst = close ? worst_close : worst_bad;
    if (error > worst) {
      worst = error;
      (close ? close_at : bad_at) = k;
    }
  }
  const int64_t at = bad_at >= 0 ? bad_at : close_at;
  if (at >= 0) result.worst_index = index_of(at, expected.dims());
  if (result.mismatches > 0) {
    result.text = concat("element ", result.worst_index, ": expected ", element_text(expected, at),
                         ", got ", element_text(got, at), "; ", result.mismatches, " of ",
                         expected.size(), " elements differ");
  }
  return result;
}

}  // namespace ingot::cli
