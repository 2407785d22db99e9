// tests/op_compare.cc: how far the results of a case may lie from the reference.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "tests/op_harness.h"
#include "tests/op_planes.h"

namespace ingot {
namespace {

/// Distance between 1 and the next number, halved: the largest relative error of one rounding.
double rounding_unit(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-2;  // the formats of 8 and 4 bits have 1 to 3 bits of mantissa
  }
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.FEp127;
    case DType::f32:
      return 0x1.FFFFFEp127;
    default:
      return std::numeric_limits<double>::max();
  }
}

/// How far results of a case may lie from the reference.
class Bounds {
 public:
  Bounds(const OpCase& c, bool exact_reals) : case_(c), exact_reals_(exact_reals) {}

  double of(DType dtype, double expected) {
    const OpCase& c = case_;
    const double unit =
        exact_reals_ ? rounding_unit(DType::f64) : rounding_unit(compute_dtype(dtype));
    const double computed = c.op().def().accuracy.ulp * unit * 2 * terms() *
                            (std::abs(expected) + c.magnitude * c.magnitude);
    if (exact_reals_ || dtype == compute_dtype(dtype)) return computed;
    // f16 is the only storage type of narrow exponent here; 2^-25 is half its smallest number.
    return computed + rounding_unit(dtype) * std::abs(expected) + 0x1p-25;
  }

  bool agree(DType dtype, double expected, double got) {
    if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
    if (expected == got) return true;
    if (std::isinf(expected)) return false;
    const double bound = of(dtype, expected);
    if (std::isinf(got)) {
      return std::abs(expected) + bound > largest(dtype) &&
             std::signbit(got) == std::signbit(expected);
    }
    return std::abs(expected - got) <= bound;
  }

 private:
  /// Values that an output element gathers, at most. Only a run of the whole op tells, so it waits
  /// for the first result that is not the reference's.
  double terms() {
    if (terms_) return *terms_;
    terms_ = 1;
    if (case_.op().def().lower != nullptr) {
      const auto ran = run_lowered(case_.graph, case_.inputs, &*terms_);
      CHECK(ran, case_.label, ": ", ran.error());
    }
    return *terms_;
  }

  const OpCase& case_;
  bool exact_reals_;
  std::optional<double> terms_;
};

std::string index_text(std::span<const int64_t> dims, int64_t position) {
  std::vector<int64_t> index(dims.size());
  for (size_t a = dims.size(); a-- > 0; position /= dims[a]) index[a] = position % dims[a];
  return concat(index);
}

/// The first difference between two tensors of one shape, or nothing.
std::string first_difference(const OpCase& c, const Tensor& expected, const Tensor& got,
                             bool exact_reals) {
  if (expected.is_container() != got.is_container()) return "one is a container";
  if (expected.is_container()) {
    if (expected.items().size() != got.items().size()) {
      return concat("expected ", expected.items().size(), " items, got ", got.items().size());
    }
    for (size_t k = 0; k < expected.items().size(); ++k) {
      const Tensor& wanted = expected.items()[k];
      const Tensor& item = got.items()[k];
      if (!wanted.is_container() &&
          (wanted.dtype() != item.dtype() || wanted.dims() != item.dims())) {
        return concat("item ", k, ": expected ", wanted.dtype(), wanted.dims(), ", got ",
                      item.dtype(), item.dims());
      }
      const std::string difference = first_difference(c, wanted, item, exact_reals);
      if (!difference.empty()) return concat("item ", k, " at ", difference);
    }
    return {};
  }
  const bool to_the_bit = c.op().def().accuracy.kind == Accuracy::Kind::exact;
  Bounds bounds(c, exact_reals);
  for (int64_t k = 0; k < expected.size(); ++k) {
    const auto where = [&] { return index_text(expected.dims(), k); };
    if (expected.dtype() == DType::str) {
      if (expected.string(k) == got.string(k)) continue;
      return concat(where(), ": expected ", quote(expected.string(k)), ", got ",
                    quote(got.string(k)));
    } else if (!expected.holds_reals()) {
      if (expected.integer(k) == got.integer(k)) continue;
      return concat(where(), ": expected ", expected.integer(k), ", got ", got.integer(k));
    } else {
      const double wanted = expected.real(k);
      const double actual = got.real(k);
      const bool same = wanted == actual || (std::isnan(wanted) && std::isnan(actual));
      if (to_the_bit ? same : bounds.agree(expected.dtype(), wanted, actual)) continue;
      return concat(where(), ": expected ", format_number(wanted), ", got ", format_number(actual),
                    ", bound ",
                    format_number(to_the_bit ? 0.0 : bounds.of(expected.dtype(), wanted)));
    }
  }
  return {};
}

}  // namespace

std::string compare(const OpCase& c, std::span<const Tensor> got, bool exact_reals) {
  const auto report = [&](const auto&... parts) {
    return concat(c.label, ": ", parts..., "\n", to_text(c.graph));
  };
  if (got.size() != c.expected.size()) {
    return report("expected ", c.expected.size(), " output planes, got ", got.size());
  }
  for (size_t k = 0; k < got.size(); ++k) {
    const Tensor& wanted = c.expected[k];
    if (got[k].dtype() != wanted.dtype() || got[k].dims() != wanted.dims()) {
      return report("output plane ", k, ": expected ", wanted.dtype(), wanted.dims(), ", got ",
                    got[k].dtype(), got[k].dims());
    }
    const bool rounds = c.op().def().accuracy.kind == Accuracy::Kind::exact && !exact_reals;
    const std::string difference =
        first_difference(c, rounds ? rounded(wanted) : wanted, got[k], exact_reals);
    if (!difference.empty()) return report("output plane ", k, " at ", difference);
  }
  return {};
}

std::string check_case(const Backend& backend, const OpCase& c) {
  // Composites, routines and control flow are no kernels: whole artefacts test them.
  const OpDef& def = c.op().def();
  const bool is_kernel = def.lower != nullptr || def.lower_scatter != nullptr;
  const bool is_gap = backend.gaps.contains(def.name) || !is_kernel;
  const auto got = backend.run(c.graph, c.inputs);
  if (!got) {
    if (is_gap && got.error().code == Code::kUnsupported) return {};
    return concat(c.label, ": ", backend.name, ": ", to_text(got.error()), "\n", to_text(c.graph));
  }
  if (is_gap) return concat(c.label, ": ", backend.name, ": is no gap any more; remove it");
  const std::string difference = compare(c, *got, backend.exact_reals);
  return difference.empty() ? difference : concat(backend.name, ": ", difference);
}

}  // namespace ingot
