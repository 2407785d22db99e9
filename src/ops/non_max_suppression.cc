// ops/non_max_suppression.cc: the boxes that no better box of their class covers.
#include "ops/non_max_suppression.h"

#include <algorithm>
#include <cmath>

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

struct Corners {
  double y0, x0, y1, x1;
  double area() const { return (y1 - y0) * (x1 - x0); }
};

Corners corners_of(const Tensor& boxes, int64_t box, bool centre) {
  const auto at = [&](int64_t k) { return boxes.real(box * 4 + k); };
  if (centre) {
    return {at(1) - at(3) / 2, at(0) - at(2) / 2, at(1) + at(3) / 2, at(0) + at(2) / 2};
  }
  return {std::min(at(0), at(2)), std::min(at(1), at(3)), std::max(at(0), at(2)),
          std::max(at(1), at(3))};
}

/// Intersection over union; 0 for boxes without an area.
double overlap_of(const Corners& a, const Corners& b) {
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0)) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

}  // namespace

Result<Types> NonMaxSuppression::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<NonMaxSuppression>(ctx));
  const TensorType& boxes = ctx.tensor(0);
  const TensorType& scores = ctx.tensor(1);
  if (boxes.dtype != DType::f32 || scores.dtype != DType::f32 || boxes.rank() != 3 ||
      scores.rank() != 3 || !boxes.dims[2].is_int(4)) {  // C1
    return invalid_argument(kName, ": expected boxes f32[B, N, 4] and scores f32[B, C, N], got ",
                            to_text(boxes), " and ", to_text(scores));
  }
  TRY_STATUS(
      expect_equal(ctx, kName, "batches of boxes and scores", boxes.dims[0], scores.dims[0]));
  TRY_STATUS(expect_equal(ctx, kName, "boxes and scores", boxes.dims[1], scores.dims[2]));
  for (size_t k = 2; k < 5; ++k) {  // C2
    if (ctx.tensor(k).rank() == 0 && ctx.tensor(k).dtype == (k == 2 ? DType::i64 : DType::f32)) {
      continue;
    }
    return invalid_argument(kName, ": expected ", kInputs[k].name, " ", k == 2 ? "i64" : "f32",
                            "[], got ", to_text(ctx.tensor(k)));
  }
  const Expr found = ctx.pool.fresh_symbol("boxes", true);
  const Range most = range_of(element_count(ctx.pool, scores.dims));
  ctx.pool.symbol_info(found.symbol()).range = {0, std::clamp<int64_t>(most.hi, 0, kMaxDim)};
  return one_tensor(kName, DType::i64, {found, ctx.pool.integer(3)});
}

std::vector<Tensor> NonMaxSuppression::reference(const ReferenceContext& ctx) const {
  const Tensor& boxes = ctx.in[0];
  const Tensor& scores = ctx.in[1];
  const int64_t count = boxes.dim(1), classes = scores.dim(1);
  const auto most = static_cast<size_t>(std::max<int64_t>(ctx.in[2].integer(0), 0));
  std::vector<std::array<int64_t, 3>> all;
  for (int64_t group = 0; group < boxes.dim(0) * classes; ++group) {
    const int64_t batch = group / classes;
    const auto score = [&](int64_t i) { return scores.real(group * count + i); };
    std::vector<int64_t> order, kept;
    for (int64_t i = 0; i < count; ++i) {
      if (score(i) > ctx.in[4].real(0)) order.push_back(i);
    }
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return score(a) > score(b); });
    for (const int64_t i : order) {
      if (kept.size() == most) break;
      const Corners box = corners_of(boxes, batch * count + i, centre);
      const bool covered = std::ranges::any_of(kept, [&](int64_t k) {
        const Corners other = corners_of(boxes, batch * count + k, centre);
        return overlap_of(box, other) > ctx.in[3].real(0);
      });
      if (!covered) kept.push_back(i);
    }
    for (const int64_t i : kept) all.push_back({batch, group % classes, i});
  }
  Tensor y(DType::i64, {static_cast<int64_t>(all.size()), 3});
  for (size_t k = 0; k < all.size() * 3; ++k) {
    y.set_integer(static_cast<int64_t>(k), all[k / 3][k % 3]);
  }
  return {std::move(y)};
}

Sample<NonMaxSuppression> NonMaxSuppression::sample(Random& rng, ExprPool& pool) {
  const int64_t batches = rng.range(1, 2), classes = rng.range(1, 3), count = rng.range(0, 6);
  return {{.centre = rng.chance(0.5)},
          {TensorType{DType::f32, constant_dims(pool, {batches, count, 4})},
           TensorType{DType::f32, constant_dims(pool, {batches, classes, count})},
           TensorType{DType::i64, {}}, TensorType{DType::f32, {}}, TensorType{DType::f32, {}}},
          {{2, {0, 4}}, {3, {0, 1}}, {4, {-1, 1}}}};
}

const OpDef& define_non_max_suppression() {
  return define<NonMaxSuppression>();
}

}  // namespace ingot::ops
