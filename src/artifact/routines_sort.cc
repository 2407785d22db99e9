// artifact/routines_sort.cc: routines that put elements in order.
#include "artifact/bind.h"
#include "artifact/routine_elements.h"
#include "artifact/routines.h"

namespace ingot::artifact {
namespace {

// One slice along an axis, and the heap of the best elements so far: positions along the axis, the
// worst of them at the root. It lies where the indices are wanted.
struct Slice {
  const Elements& x;
  bool largest;
  i64 base;    // of the slice in x
  i64 stride;  // between neighbours, in x and in the outputs
  i64* heap;

  i64& at(i64 i) const { return heap[i * stride]; }

  // Whether position a comes after position b.
  bool worse(i64 a, i64 b) const {
    const u64 key_a = x.order(base + a * stride), key_b = x.order(base + b * stride);
    if (key_a != key_b) return largest ? key_a < key_b : key_a > key_b;
    return a > b;
  }

  // Lets the element at `root` sink until none below it is worse.
  void sink(i64 root, i64 size) const {
    const i64 moved = at(root);
    for (;;) {
      i64 child = 2 * root + 1;
      if (child >= size) break;
      if (child + 1 < size && worse(at(child + 1), at(child))) ++child;
      if (!worse(at(child), moved)) break;
      at(root) = at(child);
      root = child;
    }
    at(root) = moved;
  }

  void select(i64 length, i64 k) const {
    if (k == 0) return;
    for (i64 i = 0; i < k; ++i) at(i) = i;
    for (i64 i = k / 2; i-- > 0;) sink(i, k);
    for (i64 i = k; i < length; ++i) {
      if (!worse(at(0), i)) continue;
      at(0) = i;
      sink(0, k);
    }
    for (i64 size = k; size-- > 1;) {
      const i64 worst = at(0);
      at(0) = at(size);
      at(size) = worst;
      sink(0, size);
    }
  }
};

}  // namespace

extern "C" int ingot_topk(RoutineArgs& args, const RoutineTensor* inputs) {
  const RoutineTensor& t = inputs[0];
  const i64 axis = args.attributes[0] < 0 ? args.attributes[0] + t.rank : args.attributes[0];
  i64 outer = 1, inner = 1;
  for (i64 a = 0; a < axis; ++a) outer *= t.dims[a];
  for (i64 a = axis + 1; a < t.rank; ++a) inner *= t.dims[a];
  const i64 length = t.dims[axis];
  const Elements x{static_cast<const u8*>(args.values[0]), t.dtype};
  if (!x.has_order()) {
    *args.error = "topk: the element type is not supported";
    return INGOT_UNSUPPORTED;
  }
  const i64 k = args.attributes[2];
  if (k < 0 || k > length) {
    *args.error = "topk: k is negative or more than the axis has";
    return INGOT_INVALID_ARGUMENT;
  }
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  u8* values = static_cast<u8*>(args.values[1]);
  i64* indices = static_cast<i64*>(args.values[2]);
  const i64 size = dtype_bits(t.dtype) / 8;
  for (i64 o = 0; o < outer; ++o) {
    for (i64 i = 0; i < inner; ++i) {
      const i64 to = o * k * inner + i;
      const Slice slice{x, args.attributes[1] != 0, o * length * inner + i, inner, indices + to};
      slice.select(length, k);
      for (i64 j = 0; j < k; ++j) {
        memcpy(values + (to + j * inner) * size,
               x.bytes + (slice.base + slice.at(j) * inner) * size, static_cast<size_t>(size));
      }
    }
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
