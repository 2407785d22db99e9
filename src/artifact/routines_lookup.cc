// artifact/routines_lookup.cc: which of many texts a string is.
#include <string.h>

#include "artifact/handles.h"
#include "artifact/hash.h"
#include "artifact/routines.h"

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
  // hash_for_table() of base/text_table.h.
  u64 hash(const ingot_string& text) const {
    const Hash both = hash_bytes(text.data, text.length);
    return both.low ^ both.high * (2 * seed_ + 1);
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
  const i64 count = count_elements(inputs[0].rank, inputs[0].dims);
  for (i64 k = 0; k < count; ++k) y[k] = table.find(text_of(x[k]));
  return INGOT_OK;
}

}  // namespace ingot::artifact
