// artifact/routines_scatter.cc: the routine that stores rows where a tensor says.
#include "artifact/routine_elements.h"
#include "artifact/routines.h"

namespace ingot::artifact {
namespace {

// By the numbers of ReduceKind.
enum class Combine : u8 { add, multiply, least, greatest };

template <class T>
T combined(Combine how, T a, T b) {
  switch (how) {
    case Combine::add:
      return static_cast<T>(a + b);
    case Combine::multiply:
      return static_cast<T>(a * b);
    case Combine::least:
      return a != a || a < b ? a : b;  // a NaN on either side wins
    case Combine::greatest:
      return a != a || b < a ? a : b;
  }
  return a;
}

// Integers wrap around, so they are combined without a sign unless their order matters.
template <class T, class Wide>
T combined_integers(Combine how, T a, T b) {
  if (how == Combine::least || how == Combine::greatest) return combined(how, a, b);
  return static_cast<T>(combined<Wide>(how, static_cast<Wide>(a), static_cast<Wide>(b)));
}

template <class T>
void combine_row(u8* y, const u8* updates, i64 count, Combine how) {
  T* to = reinterpret_cast<T*>(y);
  const T* from = reinterpret_cast<const T*>(updates);
  for (i64 k = 0; k < count; ++k) {
    if constexpr (static_cast<T>(0.5) != 0) {
      to[k] = combined(how, to[k], from[k]);
    } else {
      to[k] = combined_integers<T, u64>(how, to[k], from[k]);
    }
  }
}

template <float (*kWiden)(unsigned short), unsigned short (*kNarrow)(float)>
void combine_narrow_row(u8* y, const u8* updates, i64 count, Combine how) {
  auto* to = reinterpret_cast<unsigned short*>(y);
  const auto* from = reinterpret_cast<const unsigned short*>(updates);
  for (i64 k = 0; k < count; ++k) to[k] = kNarrow(combined(how, kWiden(to[k]), kWiden(from[k])));
}

using CombineRow = void (*)(u8* y, const u8* updates, i64 count, Combine how);

CombineRow find_combine(i32 dtype) {
  switch (dtype) {
    case INGOT_FLOAT32:
      return combine_row<float>;
    case INGOT_FLOAT64:
      return combine_row<double>;
    case INGOT_FLOAT16:
      return combine_narrow_row<half_to_float, float_to_half>;
    case INGOT_BFLOAT16:
      return combine_narrow_row<bfloat_to_float, float_to_bfloat>;
    case INGOT_INT8:
      return combine_row<signed char>;
    case INGOT_UINT8:
      return combine_row<u8>;
    case INGOT_INT16:
      return combine_row<short>;
    case INGOT_UINT16:
      return combine_row<unsigned short>;
    case INGOT_INT32:
      return combine_row<i32>;
    case INGOT_UINT32:
      return combine_row<u32>;
    case INGOT_INT64:
      return combine_row<i64>;
    case INGOT_UINT64:
      return combine_row<u64>;
    default:
      return nullptr;
  }
}

}  // namespace

extern "C" int ingot_scatter(RoutineArgs& args, const RoutineTensor* inputs) {
  const RoutineTensor& x = inputs[0];
  const bool combine = args.attributes[0] != 0;
  const auto how = static_cast<Combine>(args.attributes[1]);
  const CombineRow combine_rows = combine ? find_combine(x.dtype) : nullptr;
  const i64 size = value_bits(x.dtype) / 8;
  if (size == 0 || (combine && combine_rows == nullptr)) {
    *args.error = "scatter: the element type is not supported";
    return INGOT_UNSUPPORTED;
  }
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  i64 row = 1;
  for (u32 a = 1; a < x.rank; ++a) row *= x.dims[a];
  const i64 rows = x.dims[0];
  const auto* from = static_cast<const u8*>(args.values[2]);
  auto* y = static_cast<u8*>(args.values[3]);
  if (rows * row > 0) memcpy(y, args.values[0], static_cast<size_t>(rows * row * size));
  const auto* positions = static_cast<const i64*>(args.values[1]);
  for (i64 i = 0; i < inputs[1].dims[0]; ++i) {
    const i64 at = positions[i];
    if (at < 0 || at >= rows) continue;
    if (combine) {
      combine_rows(y + at * row * size, from + i * row * size, row, how);
    } else if (row > 0) {
      memcpy(y + at * row * size, from + i * row * size, static_cast<size_t>(row * size));
    }
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
