// artifact/handles.cc: checks containers, makes handles, packs what they refer to into one block.
#include "artifact/handles.h"

#include "artifact/bind.h"
#include "artifact/error.h"

namespace ingot::artifact {
namespace {

using ll = long long;

const char* kind_name(i32 kind) {
  constexpr const char* kNames[] = {"a tensor", "a state", "a sequence", "an optional", "a map"};
  return kind >= 0 && kind < 5 ? kNames[kind] : "an unknown kind";
}

// The items, whose struct may be of a later version and so longer than ours.
const ingot_tensor& item_of(const ingot_container& container, i64 index) {
  const u8* first = reinterpret_cast<const u8*>(container.items);
  return *reinterpret_cast<const ingot_tensor*>(first + index * container.items->struct_size);
}

ingot_status check_strings(const Port& port, const ingot_string* strings, i64 count) {
  for (i64 k = 0; k < count; ++k) {
    if (strings[k].length > static_cast<size_t>(PTRDIFF_MAX) ||
        (strings[k].data == nullptr && strings[k].length > 0)) {
      return fail(INGOT_INVALID_ARGUMENT,
                  "input '%s': string %lld: expected bytes for its length, got %p and %zu",
                  port.name, static_cast<ll>(k), static_cast<const void*>(strings[k].data),
                  strings[k].length);
    }
  }
  return INGOT_OK;
}

ingot_status check_item_kind(const Port& port, i64 index, const ingot_tensor& item, i32 kind) {
  if (item.struct_size < sizeof(ingot_tensor)) {
    return fail(
        INGOT_INVALID_ARGUMENT,
        "input '%s': item %lld: struct_size is %u, expected %zu; initialise with INGOT_INIT",
        port.name, static_cast<ll>(index), item.struct_size, sizeof(ingot_tensor));
  }
  if (item.kind == kind) return INGOT_OK;
  return fail(INGOT_INVALID_ARGUMENT, "input '%s': item %lld: expected %s, got %s", port.name,
              static_cast<ll>(index), kind_name(kind), kind_name(item.kind));
}

ingot_status check_item(const Port& port, i64 index, const ingot_tensor& item, i32 dtype) {
  if (item.dtype != dtype) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': item %lld: expected %s, got %s (dtype %d)",
                port.name, static_cast<ll>(index), dtype_name(dtype), dtype_name(item.dtype),
                item.dtype);
  }
  if (item.rank < 0 || item.rank > static_cast<i32>(kMaxRank) ||
      (item.rank > 0 && item.dims == nullptr) || item.strides != nullptr) {
    return fail(INGOT_INVALID_ARGUMENT,
                "input '%s': item %lld: expected dims for its rank and no strides", port.name,
                static_cast<ll>(index));
  }
  for (i32 a = 0; a < item.rank; ++a) {
    if (item.dims[a] >= 0 && item.dims[a] <= INT32_MAX) continue;
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': item %lld: dim %d: expected 0..%d, got %lld",
                port.name, static_cast<ll>(index), a, INT32_MAX, static_cast<ll>(item.dims[a]));
  }
  const i64 bytes = dense_bytes(dtype, static_cast<u32>(item.rank), item.dims);
  if (bytes > PTRDIFF_MAX / 2 || (item.data == nullptr && bytes > 0) ||
      (item.data_bytes != 0 && static_cast<u64>(bytes) > item.data_bytes) ||
      !is_aligned(item.data, dtype_alignment(dtype))) {
    return fail(INGOT_INVALID_ARGUMENT,
                "input '%s': item %lld: expected %lld aligned bytes for its dims", port.name,
                static_cast<ll>(index), static_cast<ll>(bytes));
  }
  if (dtype != INGOT_STRING) return INGOT_OK;
  return check_strings(port, static_cast<const ingot_string*>(item.data),
                       count_elements(static_cast<u32>(item.rank), item.dims));
}

// Keys and values that belong together.
ingot_status check_map(const Port& port, const ingot_container& map) {
  const ingot_tensor* lists[2] = {};
  for (i64 k = 0; k < 2; ++k) {
    lists[k] = &item_of(map, k);
    ingot_status status = check_item_kind(port, k, *lists[k], INGOT_KIND_TENSOR);
    if (status == INGOT_OK) {
      status = check_item(port, k, *lists[k], k == 0 ? port.key_dtype : port.dtype);
    }
    if (status != INGOT_OK) return status;
  }
  if (lists[0]->rank == 1 && lists[1]->rank == 1 && lists[0]->dims[0] == lists[1]->dims[0]) {
    return INGOT_OK;
  }
  return fail(INGOT_INVALID_ARGUMENT,
              "input '%s': expected keys and values of a map to be two lists of one length",
              port.name);
}

ingot_status check_container(const Port& port, const ingot_tensor& tensor, i32 item_kind) {
  const auto* container = static_cast<const ingot_container*>(tensor.data);
  const bool is_optional = tensor.kind == INGOT_KIND_OPTIONAL;
  const bool is_map = tensor.kind == INGOT_KIND_MAP;
  if (container == nullptr || !is_aligned(container, alignof(ingot_container)) ||
      container->struct_size < sizeof(ingot_container)) {
    return fail(INGOT_INVALID_ARGUMENT,
                "input '%s': expected data to point to an ingot_container with its struct_size",
                port.name);
  }
  const i64 most = is_optional ? 1 : INT32_MAX;
  if (container->count < 0 || container->count > most) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': expected 0..%lld items, got %lld", port.name,
                static_cast<ll>(most), static_cast<ll>(container->count));
  }
  if (container->count > 0 &&
      (container->items == nullptr || !is_aligned(container->items, alignof(ingot_tensor)))) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': expected items at an aligned address, got %p",
                port.name, static_cast<const void*>(container->items));
  }
  if (container->count > 0 && (container->items->struct_size % alignof(ingot_tensor) != 0 ||
                               container->items->struct_size > kLongestTensorStruct)) {
    return fail(INGOT_INVALID_ARGUMENT, "input '%s': item 0: struct_size is %u", port.name,
                container->items->struct_size);
  }
  if (is_map && container->count != 2) {
    return fail(INGOT_INVALID_ARGUMENT,
                "input '%s': expected a map's keys and values, got %lld items", port.name,
                static_cast<ll>(container->count));
  }
  if (is_map) return check_map(port, *container);
  for (i64 k = 0; k < container->count; ++k) {
    const ingot_tensor& item = item_of(*container, k);
    ingot_status status = check_item_kind(port, k, item, item_kind);
    if (status == INGOT_OK) {
      status = item_kind == INGOT_KIND_TENSOR ? check_item(port, k, item, port.dtype)
                                              : check_container(port, item, INGOT_KIND_TENSOR);
    }
    if (status != INGOT_OK) return status;
  }
  return INGOT_OK;
}

// The caller's container with items of our size one behind the other.
const ingot_container* take_container(RunHeap& heap, const ingot_container& given) {
  const i64 items = given.count * static_cast<i64>(sizeof(ingot_tensor));
  void* memory = heap.allocate(static_cast<i64>(sizeof(ingot_container)) + items);
  if (memory == nullptr) return nullptr;
  auto* taken = static_cast<ingot_container*>(memory);
  *taken = {sizeof(ingot_container), given.count, reinterpret_cast<ingot_tensor*>(taken + 1)};
  for (i64 k = 0; k < given.count; ++k) {
    ingot_tensor& item = taken->items[k];
    item = item_of(given, k);
    item.struct_size = sizeof(ingot_tensor);
    if (item.kind == INGOT_KIND_TENSOR) continue;
    item.data = const_cast<ingot_container*>(
        take_container(heap, *static_cast<const ingot_container*>(item.data)));
    if (item.data == nullptr) return nullptr;
  }
  return taken;
}

// Lays out a block, and writes it where there is one.
class Packer {
 public:
  explicit Packer(void* block) : block_(static_cast<u8*>(block)) {}

  i64 bytes() const { return at_; }

  void add_strings(const ingot_string* const* handles, i64 count) {
    auto* to = take<ingot_string>(count);
    for (i64 k = 0; k < count; ++k) {
      add_text(text_of(handles[k]), to == nullptr ? nullptr : to + k);
    }
  }

  void add_container(const ingot_container& from) {
    auto* to = take<ingot_container>(1);
    auto* items = take<ingot_tensor>(from.count);
    if (to != nullptr) *to = {sizeof(ingot_container), from.count, items};
    for (i64 k = 0; k < from.count; ++k) {
      add_item(from.items[k], items == nullptr ? nullptr : items + k);
    }
  }

 private:
  // Room for so many objects; null if this only measures.
  template <class T>
  T* take(i64 count, i64 alignment = alignof(T)) {
    const i64 at = round_up(at_, alignment);
    at_ = add_size(at, multiply_size(count, sizeof(T)));
    return block_ == nullptr ? nullptr : reinterpret_cast<T*>(block_ + at);
  }

  void add_text(const ingot_string& from, ingot_string* to) {
    char* bytes = take<char>(static_cast<i64>(from.length));
    if (to == nullptr) return;
    if (from.length > 0) memcpy(bytes, from.data, from.length);
    *to = {bytes, from.length};
  }

  void add_item(const ingot_tensor& from, ingot_tensor* to) {
    if (to != nullptr) *to = from;
    if (from.kind != INGOT_KIND_TENSOR) {
      round();
      if (to != nullptr) to->data = block_ + at_;
      add_container(*static_cast<const ingot_container*>(from.data));
      return;
    }
    const u32 rank = static_cast<u32>(from.rank);
    auto* dims = take<int64_t>(rank);
    const i64 bytes = dense_bytes(from.dtype, rank, from.dims);
    u8* data = take<u8>(bytes, kAlignment);
    if (to != nullptr) {
      if (rank > 0) memcpy(dims, from.dims, rank * sizeof(int64_t));
      if (bytes > 0) memcpy(data, from.data, static_cast<size_t>(bytes));
      to->dims = dims;
      to->data = data;
      to->data_bytes = static_cast<size_t>(bytes);
    }
    if (from.dtype != INGOT_STRING) return;
    const auto* texts = static_cast<const ingot_string*>(from.data);
    auto* packed = reinterpret_cast<ingot_string*>(data);
    for (i64 k = 0; k < count_elements(rank, from.dims); ++k) {
      add_text(texts[k], packed == nullptr ? nullptr : packed + k);
    }
  }

  void round() { at_ = round_up(at_, kAlignment); }

  u8* block_;
  i64 at_ = 0;
};

void pack(const Port& port, const void* handles, i64 count, Packer* packer) {
  if (port.kind == INGOT_KIND_TENSOR) {
    packer->add_strings(static_cast<const ingot_string* const*>(handles), count);
  } else {
    packer->add_container(**static_cast<const ingot_container* const*>(handles));
  }
}

}  // namespace

i64 count_elements(u32 rank, const i64* dims) {
  i64 count = 1;
  for (u32 a = 0; a < rank; ++a) count *= dims[a];
  return count;
}

ingot_status check_handles(const ingot_tensor& tensor, const Port& port) {
  if (port.kind != INGOT_KIND_TENSOR) return check_container(port, tensor, port.element_kind);
  if (tensor.strides != nullptr) return INGOT_OK;  // checked when they have been gathered
  return check_strings(port, static_cast<const ingot_string*>(tensor.data),
                       count_elements(port.rank, tensor.dims));
}

ingot_status take_handles(RunHeap& heap, const ingot_tensor& tensor, const Port& port,
                          const void* data, void** handles) {
  if (port.kind != INGOT_KIND_TENSOR) {
    const auto* taken = take_container(heap, *static_cast<const ingot_container*>(data));
    void* handle = taken == nullptr ? nullptr : heap.allocate(sizeof(void*));
    if (handle != nullptr) {
      *static_cast<const ingot_container**>(handle) = taken;
      *handles = handle;
      return INGOT_OK;
    }
  } else {
    const i64 count = count_elements(port.rank, tensor.dims);
    const auto* strings = static_cast<const ingot_string*>(data);
    const ingot_status status = check_strings(port, strings, count);
    if (status != INGOT_OK) return status;
    void* memory = heap.allocate(multiply_size(count, sizeof(ingot_string*)));
    if (memory != nullptr) {
      for (i64 k = 0; k < count; ++k) static_cast<const ingot_string**>(memory)[k] = strings + k;
      *handles = memory;
      return INGOT_OK;
    }
  }
  return fail(INGOT_RESOURCE_EXHAUSTED, "input '%s': no memory", port.name);
}

i64 packed_bytes(const Port& port, const void* handles, i64 count) {
  Packer packer(nullptr);
  pack(port, handles, count, &packer);
  return packer.bytes();
}

void pack_handles(const Port& port, const void* handles, i64 count, void* block) {
  Packer packer(block);
  pack(port, handles, count, &packer);
}

bool make_item(void* (*allocate)(void* run, i64 bytes), void* run, const RoutineTensor& type,
               const void* value, ingot_tensor* item) {
  const i64 bytes = dense_bytes(type.dtype, type.rank, type.dims);
  const i64 dims_bytes = round_up(static_cast<i64>(type.rank * sizeof(i64)), kAlignment);
  void* memory = allocate(run, add_size(dims_bytes, bytes));
  if (memory == nullptr) return false;
  *item = {};
  item->struct_size = sizeof *item;
  item->dtype = type.dtype;
  item->rank = static_cast<i32>(type.rank);
  item->dims = static_cast<int64_t*>(memory);
  item->data = at_offset(memory, dims_bytes);
  item->data_bytes = static_cast<size_t>(bytes);
  if (type.rank > 0) memcpy(item->dims, type.dims, type.rank * sizeof(i64));
  if (type.dtype != INGOT_STRING) {
    if (bytes > 0) memcpy(item->data, value, static_cast<size_t>(bytes));
    return true;
  }
  const auto* handles = static_cast<const ingot_string* const*>(value);
  auto* strings = static_cast<ingot_string*>(item->data);
  for (i64 k = 0; k < count_elements(type.rank, type.dims); ++k) {
    strings[k] = text_of(handles[k]);
  }
  return true;
}

}  // namespace ingot::artifact
