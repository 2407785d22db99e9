// artifact/routines_lookup.cc: which of many texts a string is.
#include <string.h>

#include "artifact/routines.h"
#include "ingot/ingot.h"

namespace ingot::artifact {
namespace {

// base/text_table.h says what stands where.
class TextTable {
 public:
  TextTable(const Text& table, const Text* texts, i64 count)
      : texts_(texts), count_(count), multipliers_(table.data + 16) {
    u32 bucket_bits, place_bits;
    memcpy(&seed_, table.data, sizeof seed_);
    memcpy(&bucket_bits, table.data + 8, sizeof bucket_bits);
    memcpy(&place_bits, table.data + 12, sizeof place_bits);
    bucket_shift_ = 64 - bucket_bits;
    place_shift_ = 64 - place_bits;
    rows_ = multipliers_ + (sizeof(u64) << bucket_bits);
  }

  // Which text it is, or how many there are.
  i64 find(const ingot_string& text) const {
    const u64 bits = hash(text);
    u64 multiplier;
    memcpy(&multiplier, multipliers_ + (bits >> bucket_shift_) * sizeof multiplier,
           sizeof multiplier);
    i32 row;
    memcpy(&row, rows_ + (bits * multiplier >> place_shift_) * sizeof row, sizeof row);
    if (row < 0) return count_;
    const Text& there = texts_[row];
    const bool same = there.length == static_cast<i64>(text.length) &&
                      (text.length == 0 || memcmp(there.data, text.data, text.length) == 0);
    return same ? row : count_;
  }

 private:
  u64 hash(const ingot_string& text) const {
    constexpr u64 kOdd = 0x9E3779B97F4A7C15;
    u64 hash = seed_ ^ text.length * kOdd;
    for (size_t at = 0; at < text.length; at += sizeof(u64)) {
      u64 word = 0;
      const size_t left = text.length - at;
      if (left >= sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
      } else {
        memcpy(&word, text.data + at, left);
      }
      hash = (hash ^ word) * kOdd;
      hash ^= hash >> 32;
    }
    return hash;
  }

  const Text* texts_;
  i64 count_;
  const char* multipliers_;
  const char* rows_;
  u64 seed_;
  u32 bucket_shift_, place_shift_;
};

}  // namespace

extern "C" int ingot_string_find(RoutineArgs& args, const RoutineTensor* inputs) {
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const TextTable table(args.texts[0], args.texts + 1, args.attributes[0]);
  const auto* x = static_cast<const ingot_string* const*>(args.values[0]);
  auto* y = static_cast<i64*>(args.values[1]);
  i64 count = 1;
  for (u32 a = 0; a < inputs[0].rank; ++a) count *= inputs[0].dims[a];
  for (i64 k = 0; k < count; ++k) {
    y[k] = table.find(x[k] == nullptr ? ingot_string{nullptr, 0} : *x[k]);
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
