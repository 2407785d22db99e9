// artifact/plan.cc: greedy best-fit placement, and the cache of plans.
#include "artifact/plan.h"

#include "artifact/error.h"

namespace ingot::artifact {
namespace {

// Larger first; equal ones in the program's order, so that a plan does not depend on the sort.
bool is_before(const Interval& a, const Interval& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.value < b.value;
}

void swap(Interval& a, Interval& b) {
  const Interval c = a;
  a = b;
  b = c;
}

void sift_down(Interval* heap, u32 hole, u32 count) {
  while (true) {
    u32 last = 2 * hole + 1;
    if (last >= count) return;
    if (last + 1 < count && is_before(heap[last], heap[last + 1])) ++last;
    if (!is_before(heap[hole], heap[last])) return;
    swap(heap[hole], heap[last]);
    hole = last;
  }
}

// Heap sort: in place, no worst case; qsort() may allocate.
void sort_intervals(Interval* intervals, u32 count) {
  for (u32 i = count / 2; i-- > 0;) sift_down(intervals, i, count);
  for (u32 end = count; end > 1; --end) {
    swap(intervals[0], intervals[end - 1]);
    sift_down(intervals, 0, end - 1);
  }
}

bool are_alive_together(const Interval& a, const Interval& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

}  // namespace

i64 place_intervals(Interval* intervals, u32 count, u32* order) {
  sort_intervals(intervals, count);
  i64 total = 0;
  for (u32 i = 0; i < count; ++i) {
    Interval& item = intervals[i];
    const i64 bytes = round_up(item.bytes, kAlignment);
    // `order` lists the placed ones by offset; between those alive with this one are the holes.
    i64 end = 0, best_offset = -1, best_hole = kTooManyBytes;
    for (u32 j = 0; j < i; ++j) {
      const Interval& other = intervals[order[j]];
      if (!are_alive_together(item, other)) continue;
      const i64 hole = other.offset - end;
      if (hole >= bytes && hole < best_hole) {
        best_hole = hole;
        best_offset = end;
      }
      end = max(end, add_size(other.offset, round_up(other.bytes, kAlignment)));
    }
    item.offset = best_offset >= 0 ? best_offset : end;
    total = max(total, add_size(item.offset, bytes));
    if (total == kTooManyBytes) return kTooManyBytes;
    u32 at = i;
    for (; at > 0 && intervals[order[at - 1]].offset > item.offset; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  return total;
}

PlanCache::~PlanCache() {
  for (Plan* plan : plans_) release(plan);
}

Plan* PlanCache::find(const i64* symbols) {
  const size_t key_bytes = layout_.program->symbol_count * sizeof(i64);
  for (Plan* plan : plans_) {
    if (plan == nullptr || memcmp(plan->symbols, symbols, key_bytes) != 0) continue;
    ++plan->uses;
    plan->last_use = ++clock_;
    return plan;
  }
  return nullptr;
}

// Another thread may have made the same plan meanwhile; then that one is used.
Plan* PlanCache::insert(Plan* plan) {
  if (Plan* other = find(plan->symbols)) {
    release(plan);
    return other;
  }
  plan->uses = 1;
  plan->last_use = ++clock_;
  Plan** slot = nullptr;
  for (Plan*& candidate : plans_) {
    if (candidate != nullptr && candidate->uses > 0) continue;
    if (slot == nullptr || (*slot != nullptr && candidate == nullptr) ||
        (*slot != nullptr && candidate->last_use < (*slot)->last_use)) {
      slot = &candidate;
    }
  }
  if (slot == nullptr) return plan;  // all are in use: this one lives as long as its run
  release(*slot);
  plan->cached = true;
  *slot = plan;
  return plan;
}

ingot_status PlanCache::acquire(const i64* symbols, const Plan** plan) {
  {
    Locked locked(mutex_);
    *plan = find(symbols);
    if (*plan != nullptr) return INGOT_OK;
  }
  Plan* made = nullptr;
  const ingot_status status = make(symbols, &made);
  if (status != INGOT_OK) return status;
  Locked locked(mutex_);
  *plan = insert(made);
  return INGOT_OK;
}

void PlanCache::release_plan(const Plan* plan) {
  if (plan == nullptr) return;
  Locked locked(mutex_);
  Plan* ours = const_cast<Plan*>(plan);
  if (--ours->uses == 0 && !ours->cached) release(ours);
}

ingot_status PlanCache::make(const i64* symbols, Plan** result) {
  const Program& program = *layout_.program;
  const i64 values = program.value_count, steps = program.step_count;
  constexpr i64 kItem = sizeof(i64);
  const i64 symbol_bytes = program.symbol_count * kItem, value_bytes = values * kItem;
  const i64 head = round_up(sizeof(Plan), 8);
  u8* memory = allocate_array<u8>(head + symbol_bytes + 2 * value_bytes +
                                  steps * static_cast<i64>(sizeof(Work)));
  Interval* intervals = allocate_array<Interval>(values);
  u32* order = allocate_array<u32>(values);
  i64* kernel_symbols = allocate_array<i64>(layout_.most_kernel_symbols);
  if (memory == nullptr || intervals == nullptr || order == nullptr || kernel_symbols == nullptr) {
    release(memory);
    release(intervals);
    release(order);
    release(kernel_symbols);
    return fail(INGOT_RESOURCE_EXHAUSTED, "run: no memory for a plan of %lld values",
                static_cast<long long>(values));
  }
  Plan* plan = new (In{memory}) Plan{};
  plan->symbols = reinterpret_cast<i64*>(memory + head);
  plan->bytes = reinterpret_cast<i64*>(memory + head + symbol_bytes);
  plan->offsets = reinterpret_cast<i64*>(memory + head + symbol_bytes + value_bytes);
  plan->work = reinterpret_cast<Work*>(memory + head + symbol_bytes + 2 * value_bytes);
  memcpy(plan->symbols, symbols, static_cast<size_t>(symbol_bytes));
  program.value_bytes(symbols, plan->bytes);

  u32 count = 0;
  bool too_many = false;
  for (u32 v = 0; v < values; ++v) {
    if (layout_.group[v] != 0) continue;
    if (plan->bytes[v] < 0 || plan->bytes[v] == kTooManyBytes) too_many = true;
    if (program.values[v].kind != ValueKind::arena) continue;
    intervals[count++] = {v, layout_.first_step[v], layout_.last_step[v], plan->bytes[v], 0};
  }
  plan->arena_bytes = too_many ? kTooManyBytes : place_intervals(intervals, count, order);
  for (u32 i = 0; i < count; ++i) plan->offsets[intervals[i].value] = intervals[i].offset;
  release(intervals);
  release(order);
  if (plan->arena_bytes > machine_bytes()) {
    const i64 arena_bytes = plan->arena_bytes;
    release(kernel_symbols);
    release(plan);
    return fail(INGOT_RESOURCE_EXHAUSTED,
                "run: the values for these dims need %s%lld bytes, this machine has %lld",
                arena_bytes == kTooManyBytes ? "at least " : "",
                static_cast<long long>(arena_bytes), static_cast<long long>(machine_bytes()));
  }

  // The first defining step's own work still depends on the inputs alone.
  plan->known_steps = layout_.group_count > 0 ? layout_.group_step[0] + 1 : program.step_count;
  for (u32 s = 0; s < plan->known_steps; ++s) {
    if (program.steps[s].work == nullptr) continue;
    const Step& step = program.steps[s];
    plan->work[s] = step.work(gather_symbols(step, symbols, kernel_symbols));
    plan->scratch_bytes =
        max(plan->scratch_bytes, round_up(plan->work[s].scratch_bytes, kAlignment));
  }
  release(kernel_symbols);
  *result = plan;
  return INGOT_OK;
}

}  // namespace ingot::artifact
