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

float least(float a, float b) { return b < a ? b : a; }
float greatest(float a, float b) { return a < b ? b : a; }

Box box_at(const float* boxes, i64 number, bool centre) {
  const float* b = boxes + number * 4;
  if (centre) {  // x, y, width, height
    return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  }
  return {least(b[0], b[2]), least(b[1], b[3]), greatest(b[0], b[2]), greatest(b[1], b[3])};
}

// Whether the boxes share more of their union than the threshold.
bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = least(a.y1, b.y1) - greatest(a.y0, b.y0);
  const float width = least(a.x1, b.x1) - greatest(a.x0, b.x0);
  if (!(height > 0) || !(width > 0)) return false;
  const float common = height * width;
  const float both = a.area() + b.area() - common;
  return a.area() > 0 && b.area() > 0 && both > 0 && common / both > threshold;
}

// The candidates of one class as a heap, the best of them at the root; of equal scores the lower
// number is better.
struct Heap {
  const float* scores;
  i64* items;
  i64 size;

  bool better(i64 a, i64 b) const {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  }
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
    const i64 first = found;
    while (heap.size > 0 && found - first < most) {
      const i64 number = heap.pop();
      const Box box = box_at(own_boxes, number, centre);
      bool covered = false;
      for (i64 k = first; k < found && !covered; ++k) {
        covered = overlap(box, box_at(own_boxes, chosen.data()[3 * k + 2], centre),
                          overlap_threshold);
      }
      if (covered) continue;
      if (!chosen.reserve(3 * (found + 1))) return INGOT_RESOURCE_EXHAUSTED;
      i64* triple = chosen.data() + 3 * found++;
      triple[0] = batch;
      triple[1] = group % classes;
      triple[2] = number;
    }
  }
  args.symbols[args.first_symbol] = found;
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  if (found > 0) memcpy(args.values[5], chosen.data(), static_cast<size_t>(3 * found) * sizeof(i64));
  return INGOT_OK;
}

}  // namespace ingot::artifact
