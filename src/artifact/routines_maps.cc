// artifact/routines_maps.cc: maps from numbers or strings.
//
// A map is a container of two tensors [n], the keys and their values (ingot.h).
#include <stdlib.h>

#include "artifact/bind.h"
#include "artifact/handles.h"
#include "artifact/routines.h"

namespace ingot::artifact {
namespace {

// Bytes of the texts among so many values.
i64 text_bytes(i32 dtype, const void* values, i64 count) {
  i64 bytes = 0;
  if (dtype != INGOT_STRING) return bytes;
  const auto* handles = static_cast<const ingot_string* const*>(values);
  for (i64 k = 0; k < count; ++k) {
    bytes = add_size(bytes, static_cast<i64>(text_of(handles[k]).length));
  }
  return bytes;
}

// Copies values as elements of a tensor of the C interface; the texts' bytes go to `bytes`.
void write_elements(i32 dtype, const void* values, i64 count, void* to, char*& bytes) {
  if (dtype != INGOT_STRING) {
    if (count > 0) memcpy(to, values, static_cast<size_t>(count * (dtype_bits(dtype) / 8)));
    return;
  }
  const auto* handles = static_cast<const ingot_string* const*>(values);
  for (i64 k = 0; k < count; ++k) {
    const ingot_string text = text_of(handles[k]);
    if (text.length > 0) memcpy(bytes, text.data, text.length);
    static_cast<ingot_string*>(to)[k] = {bytes, text.length};
    bytes += text.length;
  }
}

ingot_tensor list_of(i32 dtype, int64_t* dims, void* data) {
  ingot_tensor list = {};
  list.struct_size = sizeof list;
  list.dtype = dtype;
  list.rank = 1;
  list.dims = dims;
  list.data = data;
  list.data_bytes = static_cast<size_t>(dims[0] * (dtype_bits(dtype) / 8));
  return list;
}

// One row's map, in its place.
struct Row {
  ingot_container map;
  ingot_tensor lists[2];
};

// What all maps of a sequence lie in: one block, which refers to nothing outside.
struct MapBlock {
  ingot_container sequence;
  int64_t count;  // of each map
};

}  // namespace

extern "C" int ingot_map_rows(RoutineArgs& args, const RoutineTensor* inputs) {
  const i64 n = inputs[1].dims[0], c = inputs[1].dims[1], all = multiply_size(n, c);
  const i32 key = inputs[0].dtype, value = inputs[1].dtype;
  const i64 key_bytes = dtype_bits(key) / 8, value_bytes = dtype_bits(value) / 8;
  i64 bytes = sizeof(MapBlock);
  bytes = add_size(bytes, multiply_size(n, sizeof(ingot_tensor) + sizeof(Row)));
  bytes = add_size(bytes, multiply_size(c, key_bytes));
  bytes = add_size(bytes, multiply_size(all, value_bytes));
  bytes = add_size(bytes, text_bytes(key, args.values[0], c));
  bytes = add_size(bytes, text_bytes(value, args.values[1], all));
  void* memory = args.allocate(args.run, bytes);
  if (memory == nullptr) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  auto* block = static_cast<MapBlock*>(memory);
  auto* items = reinterpret_cast<ingot_tensor*>(block + 1);
  auto* rows = reinterpret_cast<Row*>(items + n);
  void* keys = rows + n;
  void* values = at_offset(keys, c * key_bytes);
  char* texts = static_cast<char*>(at_offset(values, all * value_bytes));
  *block = {{sizeof(ingot_container), n, items}, c};
  write_elements(key, args.values[0], c, keys, texts);
  write_elements(value, args.values[1], all, values, texts);
  for (i64 i = 0; i < n; ++i) {
    rows[i].map = {sizeof(ingot_container), 2, rows[i].lists};
    rows[i].lists[0] = list_of(key, &block->count, keys);
    rows[i].lists[1] = list_of(value, &block->count, at_offset(values, i * c * value_bytes));
    items[i] = {};
    items[i].struct_size = sizeof(ingot_tensor);
    items[i].kind = INGOT_KIND_MAP;
    items[i].data = &rows[i].map;
  }
  *static_cast<const ingot_container**>(args.values[2]) = &block->sequence;
  return INGOT_OK;
}

namespace {

struct Entry {
  i64 number;
  ingot_string text;  // instead of a number
  i64 place;
};

int compare_keys(const Entry& a, const Entry& b) {
  if (a.number != b.number) return a.number < b.number ? -1 : 1;
  const size_t common = a.text.length < b.text.length ? a.text.length : b.text.length;
  const int order = common == 0 ? 0 : memcmp(a.text.data, b.text.data, common);
  if (order != 0 || a.text.length == b.text.length) return order;
  return a.text.length < b.text.length ? -1 : 1;
}

int by_key_and_place(const void* a, const void* b) {
  const auto &left = *static_cast<const Entry*>(a), &right = *static_cast<const Entry*>(b);
  const int order = compare_keys(left, right);
  return order != 0 ? order : left.place < right.place ? -1 : 1;
}

// A map's keys in order, of equal ones the last alone.
class SortedMap {
 public:
  // False: no memory.
  bool sort(const RoutineArgs& args, const ingot_container& map) {
    const ingot_tensor& keys = map.items[0];
    values_ = &map.items[1];
    const i64 given = keys.dims[0];
    entries_ = static_cast<Entry*>(args.allocate(args.run, multiply_size(given, sizeof(Entry))));
    if (entries_ == nullptr) return false;
    for (i64 k = 0; k < given; ++k) {
      entries_[k] = {0, {nullptr, 0}, k};
      if (keys.dtype == INGOT_STRING) {
        entries_[k].text = static_cast<const ingot_string*>(keys.data)[k];
      } else {
        entries_[k].number = static_cast<const i64*>(keys.data)[k];
      }
    }
    if (given > 1) qsort(entries_, static_cast<size_t>(given), sizeof(Entry), by_key_and_place);
    for (i64 k = 0; k < given; ++k) {
      if (k + 1 < given && compare_keys(entries_[k], entries_[k + 1]) == 0) continue;
      entries_[count_++] = entries_[k];
    }
    return true;
  }

  i64 count() const { return count_; }
  const Entry& entry(i64 k) const { return entries_[k]; }

  // Null: there is none.
  const Entry* find(const Entry& key) const {
    i64 first = 0, end = count_;
    while (first < end) {
      const i64 middle = first + (end - first) / 2;
      const int order = compare_keys(key, entries_[middle]);
      if (order == 0) return &entries_[middle];
      if (order > 0) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    return nullptr;
  }

  // Writes an entry's value as element k of a value of the run.
  void write_value(const Entry& entry, void* to, i64 k) const {
    if (values_->dtype == INGOT_STRING) {
      static_cast<const ingot_string**>(to)[k] =
          static_cast<const ingot_string*>(values_->data) + entry.place;
      return;
    }
    const i64 size = dtype_bits(values_->dtype) / 8;
    memcpy(at_offset(to, k * size), at_offset(values_->data, entry.place * size),
           static_cast<size_t>(size));
  }

 private:
  const ingot_tensor* values_ = nullptr;
  Entry* entries_ = nullptr;
  i64 count_ = 0;
};

const ingot_container& map_of(const RoutineArgs& args) {
  return **static_cast<const ingot_container* const*>(args.values[0]);
}

}  // namespace

extern "C" int ingot_map_get(RoutineArgs& args, const RoutineTensor* inputs) {
  SortedMap map;
  if (!map.sort(args, map_of(args))) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const bool of_strings = inputs[1].dtype == INGOT_STRING;
  const i64 size = value_bits(inputs[2].dtype) / 8;
  const i64 count = count_elements(inputs[1].rank, inputs[1].dims);
  for (i64 k = 0; k < count; ++k) {
    Entry key = {0, {nullptr, 0}, 0};
    if (of_strings) {
      key.text = text_of(static_cast<const ingot_string* const*>(args.values[1])[k]);
    } else {
      key.number = static_cast<const i64*>(args.values[1])[k];
    }
    if (const Entry* found = map.find(key)) {
      map.write_value(*found, args.values[3], k);
    } else {
      memcpy(at_offset(args.values[3], k * size), args.values[2], static_cast<size_t>(size));
    }
  }
  return INGOT_OK;
}

extern "C" int ingot_map_values(RoutineArgs& args, const RoutineTensor*) {
  SortedMap map;
  if (!map.sort(args, map_of(args))) return no_memory(args);
  args.symbols[args.first_symbol] = map.count();
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  for (i64 k = 0; k < map.count(); ++k) map.write_value(map.entry(k), args.values[1], k);
  return INGOT_OK;
}

}  // namespace ingot::artifact
