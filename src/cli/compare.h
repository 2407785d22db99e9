// cli/compare.h: how far computed tensors are from expected ones.
#pragma once

#include <string>
#include <vector>

#include "ir/tensor.h"

namespace ingot::cli {

/// A real passes if |got - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// What is between two tensors. Differences of finite values alone count for the maxima.
struct Difference {
  double max_abs = 0;
  double max_rel = 0;                // |got - expected| / |expected|, where expected is not 0
  int64_t mismatches = 0;            // elements outside the tolerance
  std::vector<int64_t> worst_index;  // of the mismatch with the largest error; else of max_abs
  std::string text;                  // empty if all is well; else what was expected and got
};

/// Integers, booleans and strings agree exactly; NaN equals NaN, an infinity itself.
Difference compare(const Tensor& got, const Tensor& expected, const Tolerance& tolerance);

}  // namespace ingot::cli
