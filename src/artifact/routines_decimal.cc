// artifact/routines_decimal.cc: numbers as text, and text as numbers.
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "artifact/handles.h"
#include "artifact/routines.h"

namespace ingot::artifact {
namespace {

// Numbers are written with a point, whatever the language of the process is: as long as this lives,
// the thread has the locale "C".
class PlainNumbers {
 public:
  PlainNumbers() : plain_(newlocale(LC_ALL_MASK, "C", nullptr)) {
    if (plain_ != nullptr) before_ = uselocale(plain_);
  }
  ~PlainNumbers() {
    if (plain_ == nullptr) return;
    uselocale(before_);
    freelocale(plain_);
  }
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;

 private:
  locale_t plain_;
  locale_t before_ = nullptr;
};

constexpr i64 kMostBytes = 32;  // of a number as text, its end included

int write_number(const void* values, i32 dtype, i64 k, char* to) {
  if (dtype == INGOT_INT64) {
    return snprintf(to, kMostBytes, "%lld",
                    static_cast<long long>(static_cast<const i64*>(values)[k]));
  }
  if (dtype == INGOT_UINT64) {
    return snprintf(to, kMostBytes, "%llu",
                    static_cast<unsigned long long>(static_cast<const u64*>(values)[k]));
  }
  const double value = dtype == INGOT_FLOAT32 ? static_cast<const float*>(values)[k]
                                              : static_cast<const double*>(values)[k];
  if (value != value) return snprintf(to, kMostBytes, "NaN");
  if (value - value != 0) return snprintf(to, kMostBytes, value < 0 ? "-INF" : "INF");
  return snprintf(to, kMostBytes, "%.8g", value);
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// The text behind which there is a zero, which strings do not have; white space around it left out.
const char* ended(const ingot_string& text, char* to) {
  size_t begin = 0, end = text.length;
  while (begin < end && is_space(text.data[begin])) ++begin;
  while (end > begin && is_space(text.data[end - 1])) --end;
  if (end > begin) memcpy(to, text.data + begin, end - begin);
  to[end - begin] = 0;
  return to + (end - begin);
}

// False: the text is no number of the type.
bool read_number(const ingot_string& given, i32 dtype, char* text, void* values, i64 k) {
  const char* last = ended(given, text);
  if (last == text) return false;
  char* end = nullptr;
  if (dtype == INGOT_FLOAT32) {
    static_cast<float*>(values)[k] = strtof(text, &end);
    return end == last;
  }
  const double real = strtod(text, &end);
  if (end != last) return false;
  if (dtype == INGOT_FLOAT64) {
    static_cast<double*>(values)[k] = real;
    return true;
  }
  const bool is_signed = dtype == INGOT_INT64;
  if (!is_signed && text[0] == '-') return false;
  i64* whole = static_cast<i64*>(values) + k;
  errno = 0;
  *whole = is_signed ? strtoll(text, &end, 10) : static_cast<i64>(strtoull(text, &end, 10));
  if (end == last) return errno == 0;
  // With a point or an exponent: what is behind the point is cut off.
  if (!(real < (is_signed ? 0x1p63 : 0x1p64)) || real < -0x1p63) return false;
  *whole = is_signed ? static_cast<i64>(real) : static_cast<i64>(static_cast<u64>(real));
  return true;
}

}  // namespace

extern "C" int ingot_number_to_string(RoutineArgs& args, const RoutineTensor* inputs) {
  const i64 count = count_elements(inputs[0].rank, inputs[0].dims);
  const i64 head = multiply_size(count, sizeof(ingot_string));
  void* memory = args.allocate(args.run, add_size(head, multiply_size(count, kMostBytes)));
  if (memory == nullptr) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  auto* made = static_cast<ingot_string*>(memory);
  char* bytes = static_cast<char*>(at_offset(memory, head));
  auto* y = static_cast<const ingot_string**>(args.values[1]);
  const PlainNumbers plain;
  for (i64 k = 0; k < count; ++k) {
    const int length = write_number(args.values[0], inputs[0].dtype, k, bytes);
    made[k] = {bytes, static_cast<size_t>(length)};
    y[k] = made + k;
    bytes += length;
  }
  return INGOT_OK;
}

extern "C" int ingot_string_to_number(RoutineArgs& args, const RoutineTensor* inputs) {
  const auto dtype = static_cast<i32>(args.attributes[0]);
  const i64 count = count_elements(inputs[0].rank, inputs[0].dims);
  const auto* x = static_cast<const ingot_string* const*>(args.values[0]);
  i64 longest = 0;
  for (i64 k = 0; k < count; ++k) {
    if (x[k] != nullptr) longest = max(longest, static_cast<i64>(x[k]->length));
  }
  char* text = static_cast<char*>(args.allocate(args.run, add_size(longest, 1)));
  if (text == nullptr) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const PlainNumbers plain;
  for (i64 k = 0; k < count; ++k) {
    if (x[k] != nullptr && read_number(*x[k], dtype, text, args.values[1], k)) continue;
    *args.error = "a string is no number of the type that it is cast to";
    return INGOT_INVALID_ARGUMENT;
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
