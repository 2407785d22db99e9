// artifact/routines_boxes.cc: the routine that chooses among overlapping boxes.
#include <stdlib.h>

#include "artifact/routine_elements.h"
#include "artifact/routines.h"

namespace ingot::artifact {
namespace {

// Memory of one call, from the C library: how much it takes depends on the data.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { free(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  i64* data() const { return data_; }
  // Room for at least `count` numbers, those that are there kept. False: no memory.
  bool reserve(i64 count) {
    if (count <= capacity_) return true;
    const i64 wanted = count > 2 * capacity_ ? count : 2 * capacity_;
    void* grown = realloc(data_, static_cast<size_t>(multiply_size(wanted, sizeof(i64))));
    if (grown == nullptr) return false;
    data_ = static_cast<i64*>(grown);
    capacity_ = wanted;
    return true;
  }

 private:
  i64* data_ = nullptr;
  i64 capacity_ = 0;
};

struct Box {
  float y0, x0, y1, x1;

  float area() const { return (y1 - y0) * (x1 - x0); }
};

inline float least(float a, float b) {
  return b < a ? b : a;
}
inline float greatest(float a, float b) {
  return a < b ? b : a;
}

Box box_at(const float* boxes, i64 number, bool centre) {
  const float* b = boxes + number * 4;
  if (centre) {  // x, y, width, height
    return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  }
  return {least(b[0], b[2]), least(b[1], b[3]), greatest(b[0], b[2]), greatest(b[1], b[3])};
}

// The boxes that a class has kept, each coordinate by itself so that many are compared at once.
class Kept {
 public:
  ~Kept() { release(data_); }
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  void clear() {
    count_ = 0;
    if (capacity_ > 0) memset(data_, 0, static_cast<size_t>(kFields * capacity_) * sizeof(float));
  }
  bool add(const Box& box) {
    if (count_ == capacity_ && !grow()) return false;
    const float fields[kFields] = {box.y0, box.x0, box.y1, box.x1, box.area()};
    for (i64 f = 0; f < kFields; ++f) data_[f * capacity_ + count_] = fields[f];
    ++count_;
    return true;
  }
  // Whether one of them shares more of its union with the box than the threshold.
  bool cover(const Box& box, float threshold) const {
    if (!(box.area() > 0)) return false;
    for (i64 k = 0; k < count_; k += kLanes) {
      if (cover_some(box, threshold, k)) return true;
    }
    return false;
  }

 private:
  static constexpr i64 kFields = 5, kLanes = 4;
  typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
  typedef i32 Ints __attribute__((vector_size(kLanes * sizeof(i32))));

  Floats field(i64 number, i64 first) const {
    Floats lanes;
    memcpy(&lanes, data_ + number * capacity_ + first, sizeof lanes);
    return lanes;
  }
  static Floats least_of(Floats a, float b) { return a < b ? a : Floats{} + b; }
  static Floats greatest_of(Floats a, float b) { return a > b ? a : Floats{} + b; }

  // Among kLanes boxes; behind the last there are boxes without an area.
  bool cover_some(const Box& box, float threshold, i64 first) const {
    const Floats height = least_of(field(2, first), box.y1) - greatest_of(field(0, first), box.y0);
    const Floats width = least_of(field(3, first), box.x1) - greatest_of(field(1, first), box.x0);
    const Floats area = field(4, first), common = height * width;
    const Floats both = area + box.area() - common;
    const Ints covered =
        (height > 0) & (width > 0) & (area > 0) & (both > 0) & (common / both > threshold);
    u64 parts[sizeof covered / sizeof(u64)];
    memcpy(parts, &covered, sizeof covered);
    return (parts[0] | parts[1]) != 0;
  }
  bool grow() {
    const i64 wanted = max(2 * capacity_, 32 * kLanes);
    auto* grown = allocate_array<float>(multiply_size(wanted, kFields));
    if (grown == nullptr) return false;
    for (i64 f = 0; f < kFields && count_ > 0; ++f) {
      memcpy(grown + f * wanted, data_ + f * capacity_,
             static_cast<size_t>(count_) * sizeof(float));
    }
    release(data_);
    data_ = grown;
    capacity_ = wanted;
    return true;
  }

  float* data_ = nullptr;  // [kFields][capacity_]
  i64 capacity_ = 0, count_ = 0;
};

// The candidates of one class as a heap, the best of them at the root; of equal scores the lower
// number is better.
struct Heap {
  const float* scores;
  i64* items;
  i64 size;

  bool better(i64 a, i64 b) const { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; }
  void sink(i64 root) const {
    const i64 moved = items[root];
    for (;;) {
      i64 child = 2 * root + 1;
      if (child >= size) break;
      if (child + 1 < size && better(items[child + 1], items[child])) ++child;
      if (!better(items[child], moved)) break;
      items[root] = items[child];
      root = child;
    }
    items[root] = moved;
  }
  void build() const {
    for (i64 i = size / 2; i-- > 0;) sink(i);
  }
  i64 pop() {
    const i64 best = items[0];
    items[0] = items[--size];
    if (size > 0) sink(0);
    return best;
  }
};

}  // namespace

extern "C" int ingot_non_max_suppression(RoutineArgs& args, const RoutineTensor* inputs) {
  const i64 batches = inputs[0].dims[0], count = inputs[0].dims[1], classes = inputs[1].dims[1];
  const auto* boxes = static_cast<const float*>(args.values[0]);
  const auto* scores = static_cast<const float*>(args.values[1]);
  const i64 most = *static_cast<const i64*>(args.values[2]);
  const float overlap_threshold = *static_cast<const float*>(args.values[3]);
  const float score_threshold = *static_cast<const float*>(args.values[4]);
  const bool centre = args.attributes[0] != 0;
  Scratch candidates, chosen;  // chosen: triples
  Kept kept;
  i64 found = 0;
  if (!candidates.reserve(count)) return INGOT_RESOURCE_EXHAUSTED;
  for (i64 group = 0; group < batches * classes && most > 0; ++group) {
    const i64 batch = group / classes;
    const float* own_boxes = boxes + batch * count * 4;
    Heap heap = {scores + group * count, candidates.data(), 0};
    for (i64 i = 0; i < count; ++i) {
      if (heap.scores[i] > score_threshold) heap.items[heap.size++] = i;
    }
    heap.build();
    kept.clear();
    const i64 first = found;
    while (heap.size > 0 && found - first < most) {
      const i64 number = heap.pop();
      const Box box = box_at(own_boxes, number, centre);
      if (kept.cover(box, overlap_threshold)) continue;
      if (!chosen.reserve(3 * (found + 1)) || !kept.add(box)) return INGOT_RESOURCE_EXHAUSTED;
      i64* triple = chosen.data() + 3 * found++;
      triple[0] = batch;
      triple[1] = group % classes;
      triple[2] = number;
    }
  }
  args.symbols[args.first_symbol] = found;
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  if (found > 0)
    memcpy(args.values[5], chosen.data(), static_cast<size_t>(3 * found) * sizeof(i64));
  return INGOT_OK;
}

}  // namespace ingot::artifact
