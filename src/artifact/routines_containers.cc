// artifact/routines_containers.cc: sequences and optionals.
#include "artifact/bind.h"
#include "artifact/handles.h"
#include "artifact/routines.h"

namespace ingot::artifact {
namespace {

const ingot_container& container_of(const RoutineArgs& args, u32 operand) {
  return **static_cast<const ingot_container* const*>(args.values[operand]);
}

int refuse(RoutineArgs& args, const char* why) {
  *args.error = why;
  return INGOT_INVALID_ARGUMENT;
}

// A container of `count` items that are still to be written, or null.
ingot_container* make_container(const RoutineArgs& args, i64 count) {
  const i64 items = multiply_size(count, sizeof(ingot_tensor));
  void* memory = args.allocate(args.run, add_size(sizeof(ingot_container), items));
  if (memory == nullptr) return nullptr;
  auto* made = static_cast<ingot_container*>(memory);
  *made = {sizeof(ingot_container), count, reinterpret_cast<ingot_tensor*>(made + 1)};
  return made;
}

void copy_items(const ingot_container& from, i64 first, i64 count, ingot_tensor* to) {
  if (count <= 0) return;
  memcpy(to, from.items + first, static_cast<size_t>(count) * sizeof(ingot_tensor));
}

int give(RoutineArgs& args, u32 output, const ingot_container* container) {
  if (container == nullptr) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  *static_cast<const ingot_container**>(args.values[output]) = container;
  return INGOT_OK;
}

// A position that may be counted from the end. False: it is outside.
bool find_position(const RoutineArgs& args, u32 operand, i64 count, i64 end, i64* position) {
  *position = *static_cast<const i64*>(args.values[operand]);
  if (*position < 0) *position += count;
  return *position >= 0 && *position < end;
}

// Sets the dims of the only output, or says that they are not those that were known before.
bool set_dims(RoutineArgs& args, u32 rank, const i64* dims) {
  for (u32 a = 0; a < rank; ++a) {
    const RoutineDim& dim = args.output_dims[a];
    if (dim.symbol != kKnownDim) {
      args.symbols[dim.symbol] = dims[a];
    } else if (dim.value != dims[a]) {
      return false;
    }
  }
  return true;
}

void write_elements(const ingot_tensor& from, i64 first, i64 count, void* to) {
  if (count <= 0) return;
  if (from.dtype == INGOT_STRING) {
    const auto* strings = static_cast<const ingot_string*>(from.data) + first;
    auto* handles = static_cast<const ingot_string**>(to);
    for (i64 k = 0; k < count; ++k) handles[k] = strings + k;
    return;
  }
  const i64 size = dtype_bits(from.dtype) / 8;
  memcpy(to, at_offset(from.data, first * size), static_cast<size_t>(count * size));
}

}  // namespace

extern "C" int ingot_container_of(RoutineArgs& args, const RoutineTensor* inputs) {
  const i64 count = args.attributes[0];
  const bool nested = args.attributes[1] != 0;
  ingot_container* made = make_container(args, count);
  for (i64 k = 0; k < count && made != nullptr; ++k) {
    if (nested) {
      made->items[k] = {};
      made->items[k].struct_size = sizeof(ingot_tensor);
      made->items[k].kind = INGOT_KIND_SEQUENCE;
      made->items[k].data = const_cast<ingot_container*>(&container_of(args, static_cast<u32>(k)));
    } else if (!make_item(args.allocate, args.run, inputs[k], args.values[k], &made->items[k])) {
      made = nullptr;
    }
  }
  return give(args, static_cast<u32>(count), made);
}

extern "C" int ingot_container_copy(RoutineArgs& args, const RoutineTensor*) {
  return give(args, 1, &container_of(args, 0));
}

extern "C" int ingot_container_length(RoutineArgs& args, const RoutineTensor*) {
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  *static_cast<i64*>(args.values[1]) = container_of(args, 0).count;
  return INGOT_OK;
}

extern "C" int ingot_container_at(RoutineArgs& args, const RoutineTensor*) {
  const ingot_container& from = container_of(args, 0);
  const i64 rank = args.attributes[0];
  i64 position = 0;
  if (!find_position(args, 1, from.count, from.count, &position)) {
    return refuse(args, from.count == 0 ? "it is empty" : "the position is outside of it");
  }
  const ingot_tensor& item = from.items[position];
  if (item.kind != INGOT_KIND_TENSOR) {
    return give(args, 2, static_cast<const ingot_container*>(item.data));
  }
  if (item.rank != rank) return refuse(args, "the item has another rank than the model says");
  if (!set_dims(args, static_cast<u32>(rank), item.dims)) {
    return refuse(args, "the item has other dims than the model says");
  }
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  write_elements(item, 0, count_elements(static_cast<u32>(rank), item.dims), args.values[2]);
  return INGOT_OK;
}

extern "C" int ingot_sequence_insert(RoutineArgs& args, const RoutineTensor* inputs) {
  const ingot_container& from = container_of(args, 0);
  const bool has_position = args.attributes[0] != 0;
  i64 position = from.count;
  if (has_position && !find_position(args, 2, from.count, from.count + 1, &position)) {
    return refuse(args, "the position is outside of the sequence");
  }
  ingot_container* made = make_container(args, from.count + 1);
  if (made != nullptr) {
    copy_items(from, 0, position, made->items);
    copy_items(from, position, from.count - position, made->items + position + 1);
    if (!make_item(args.allocate, args.run, inputs[1], args.values[1], &made->items[position])) {
      made = nullptr;
    }
  }
  return give(args, has_position ? 3 : 2, made);
}

extern "C" int ingot_sequence_erase(RoutineArgs& args, const RoutineTensor*) {
  const ingot_container& from = container_of(args, 0);
  const bool has_position = args.attributes[0] != 0;
  i64 position = from.count - 1;
  if (from.count == 0) return refuse(args, "the sequence is empty");
  if (has_position && !find_position(args, 1, from.count, from.count, &position)) {
    return refuse(args, "the position is outside of the sequence");
  }
  ingot_container* made = make_container(args, from.count - 1);
  if (made != nullptr) {
    copy_items(from, 0, position, made->items);
    copy_items(from, position + 1, from.count - position - 1, made->items + position);
  }
  return give(args, has_position ? 2 : 1, made);
}

namespace {

// How a dim is cut into pieces.
struct Pieces {
  i64 length;        // of the dim
  i64 chunk;         // of each piece but the last; or 0
  const i64* sizes;  // or of each
  i64 count;

  i64 size(i64 k) const { return sizes != nullptr ? sizes[k] : min(chunk, length - k * chunk); }
};

// Null, or what is wrong.
const char* find_pieces(const RoutineArgs& args, const RoutineTensor* inputs, bool has_sizes,
                        Pieces* pieces) {
  if (!has_sizes) {
    pieces->chunk = 1;
  } else if (inputs[1].rank == 0) {
    pieces->chunk = *static_cast<const i64*>(args.values[1]);
    if (pieces->chunk < 1) return "expected pieces of at least one element";
  } else {
    pieces->sizes = static_cast<const i64*>(args.values[1]);
    pieces->count = inputs[1].dims[0];
    i64 rest = pieces->length;
    for (i64 k = 0; k < pieces->count; ++k) {
      if (pieces->sizes[k] < 0 || pieces->sizes[k] > rest) rest = -1;
      if (rest >= 0) rest -= pieces->sizes[k];
    }
    return rest == 0 ? nullptr : "the sizes of the pieces do not add up to the dim";
  }
  pieces->count = pieces->length == 0 ? 0 : (pieces->length - 1) / pieces->chunk + 1;
  return nullptr;
}

}  // namespace

extern "C" int ingot_sequence_split(RoutineArgs& args, const RoutineTensor* inputs) {
  const RoutineTensor& x = inputs[0];
  const u32 axis =
      static_cast<u32>(args.attributes[0] < 0 ? args.attributes[0] + x.rank : args.attributes[0]);
  const bool keepdims = args.attributes[1] != 0, has_sizes = args.attributes[2] != 0;
  Pieces pieces = {x.dims[axis], 0, nullptr, 0};
  if (const char* wrong = find_pieces(args, inputs, has_sizes, &pieces)) return refuse(args, wrong);
  ingot_container* made = make_container(args, pieces.count);
  const i64 outer = count_elements(axis, x.dims);
  const i64 inner = count_elements(x.rank - axis - 1, x.dims + axis + 1);
  const i64 element = value_bits(x.dtype) / 8;
  i64 begin = 0;
  for (i64 k = 0; k < pieces.count && made != nullptr; ++k) {
    i64 dims[kMaxRank];
    if (x.rank > 0) memcpy(dims, x.dims, x.rank * sizeof(i64));
    dims[axis] = pieces.size(k);
    // Dense first, since items are made of dense values.
    const i64 row = dims[axis] * inner * element;
    void* dense = args.allocate(args.run, multiply_size(outer, row));
    for (i64 o = 0; o < outer && dense != nullptr && row > 0; ++o) {
      memcpy(at_offset(dense, o * row),
             at_offset(args.values[0], (o * x.dims[axis] + begin) * inner * element),
             static_cast<size_t>(row));
    }
    begin += dims[axis];
    u32 rank = x.rank;
    if (!keepdims && !has_sizes) {
      for (u32 a = axis; a + 1 < rank; ++a) dims[a] = dims[a + 1];
      --rank;
    }
    const RoutineTensor type = {x.dtype, rank, dims};
    if (dense == nullptr || !make_item(args.allocate, args.run, type, dense, &made->items[k])) {
      made = nullptr;
    }
  }
  return give(args, has_sizes ? 2 : 1, made);
}

extern "C" int ingot_sequence_concat(RoutineArgs& args, const RoutineTensor*) {
  const ingot_container& from = container_of(args, 0);
  const bool new_axis = args.attributes[1] != 0;
  const u32 rank = static_cast<u32>(args.attributes[2]);
  const u32 result_rank = rank + (new_axis ? 1 : 0);
  const u32 axis = static_cast<u32>(args.attributes[0] < 0 ? args.attributes[0] + result_rank
                                                           : args.attributes[0]);
  if (from.count == 0) return refuse(args, "the sequence is empty");
  i64 dims[kMaxRank + 1];
  i64 length = new_axis ? from.count : 0;
  for (i64 k = 0; k < from.count; ++k) {
    const ingot_tensor& item = from.items[k];
    if (item.rank != static_cast<i32>(rank)) {
      return refuse(args, "an item has another rank than the model says");
    }
    for (u32 a = 0; a < rank; ++a) {
      const bool is_along = !new_axis && a == axis;
      if (is_along) length += item.dims[a];
      if (!is_along && item.dims[a] != from.items->dims[a]) {
        return refuse(args, "the items have different dims");
      }
    }
  }
  for (u32 a = 0, next = 0; a < result_rank; ++a) {
    dims[a] = a == axis ? length : from.items->dims[next];
    if (a != axis || !new_axis) ++next;
  }
  if (!set_dims(args, result_rank, dims)) {
    return refuse(args, "the items have other dims than the model says");
  }
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const i64 outer = count_elements(axis, dims);
  const i64 inner = count_elements(result_rank - axis - 1, dims + axis + 1);
  const i64 element = value_bits(from.items->dtype) / 8;
  i64 begin = 0;
  for (i64 k = 0; k < from.count; ++k) {
    const i64 row = (new_axis ? 1 : from.items[k].dims[axis]) * inner;
    for (i64 o = 0; o < outer; ++o) {
      write_elements(from.items[k], o * row, row,
                     at_offset(args.values[1], (o * length * inner + begin) * element));
    }
    begin += row;
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
