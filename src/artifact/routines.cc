// artifact/routines.cc: operators that are plain functions instead of kernels.
#include "artifact/routines.h"

#include "artifact/bind.h"

namespace ingot::artifact {
namespace {

// Whether an element is zero shows in its bits: all but those of `ignored` are clear.
struct ZeroTest {
  i32 element_bits;
  u64 ignored;  // the sign of a format that has a negative zero
};

ZeroTest zero_test(i32 dtype) {
  const i32 bits = dtype_bits(dtype);
  switch (dtype) {
    case INGOT_FLOAT32:
    case INGOT_FLOAT64:
    case INGOT_FLOAT16:
    case INGOT_BFLOAT16:
    case INGOT_FLOAT8E4M3FN:
    case INGOT_FLOAT8E5M2:
    case INGOT_FLOAT4E2M1:
      return {bits, u64{1} << (bits - 1)};
    case INGOT_COMPLEX64:
      return {bits, u64{1} << 31 | u64{1} << 63};
    default:
      return {bits, 0};
  }
}

u64 read_element(const u8* bytes, i32 bits, i64 index) {
  u64 word = 0;
  if (bits < 8) {
    const i64 at = index * bits;
    return (bytes[at / 8] >> (at % 8)) & ((u64{1} << bits) - 1);
  }
  memcpy(&word, bytes + index * (bits / 8), static_cast<size_t>(bits / 8));
  return word;
}

}  // namespace

extern "C" int ingot_nonzero(RoutineArgs& args, const RoutineTensor* inputs) {
  const RoutineTensor& x = inputs[0];
  const ZeroTest test = zero_test(x.dtype);
  if (test.element_bits == 0 || test.element_bits > 64) {
    *args.error = "nonzero: the element type is not supported";
    return INGOT_UNSUPPORTED;
  }
  i64 elements = 1;
  for (u32 a = 0; a < x.rank; ++a) elements *= x.dims[a];
  const u8* bytes = static_cast<const u8*>(args.values[0]);
  i64 count = 0;
  for (i64 i = 0; i < elements; ++i) {
    count += (read_element(bytes, test.element_bits, i) & ~test.ignored) != 0;
  }
  args.symbols[args.first_symbol] = count;
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  i64* y = static_cast<i64*>(args.values[1]);
  i64 found = 0;
  for (i64 i = 0; i < elements; ++i) {
    if ((read_element(bytes, test.element_bits, i) & ~test.ignored) == 0) continue;
    i64 rest = i;
    for (u32 a = x.rank; a-- > 0;) {
      y[a * count + found] = rest % x.dims[a];
      rest /= x.dims[a];
    }
    ++found;
  }
  return INGOT_OK;
}

extern "C" int ingot_read_size(RoutineArgs& args, const RoutineTensor*) {
  constexpr i64 kOffset = i64{1} << 31;
  const i64 x = *static_cast<const i64*>(args.values[0]);
  const i64 clamped = max(1 - kOffset, min(x, kOffset - 1));
  args.symbols[args.first_symbol] = clamped + kOffset;
  return INGOT_OK;
}

extern "C" int ingot_concat(RoutineArgs& args, const RoutineTensor* inputs) {
  const i64 axis_given = args.attributes[0];
  const u32 axis = static_cast<u32>(axis_given < 0 ? axis_given + inputs[0].rank : axis_given);
  const u32 parts = static_cast<u32>(args.attributes[1]);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  i64 outer = 1, row_bytes = 0;
  for (u32 a = 0; a < axis; ++a) outer *= inputs[0].dims[a];
  const auto part_bytes = [&](u32 p) {
    i64 bytes = value_bits(inputs[p].dtype) / 8;
    for (u32 a = axis; a < inputs[p].rank; ++a) bytes *= inputs[p].dims[a];
    return bytes;
  };
  for (u32 p = 0; p < parts; ++p) row_bytes += part_bytes(p);
  u8* column = static_cast<u8*>(args.values[parts]);
  for (u32 p = 0; p < parts; ++p) {
    const i64 bytes = part_bytes(p);
    const u8* from = static_cast<const u8*>(args.values[p]);
    for (i64 o = 0; o < outer && bytes > 0; ++o) {
      memcpy(column + o * row_bytes, from + o * bytes, static_cast<size_t>(bytes));
    }
    column += bytes;
  }
  return INGOT_OK;
}

extern "C" int ingot_bitcast(RoutineArgs& args, const RoutineTensor* inputs) {
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  i64 elements = 1;
  for (u32 a = 0; a < inputs[0].rank; ++a) elements *= inputs[0].dims[a];
  const i64 bytes = (elements * dtype_bits(inputs[0].dtype) + 7) / 8;
  if (bytes > 0) memcpy(args.values[1], args.values[0], static_cast<size_t>(bytes));
  return INGOT_OK;
}

}  // namespace ingot::artifact
