// artifact/routines_strings.cc: operators on strings.
#include <stdlib.h>

#include "artifact/handles.h"
#include "artifact/routines.h"

namespace ingot::artifact {
namespace {

const ingot_string* const* strings_of(const RoutineArgs& args, u32 operand) {
  return static_cast<const ingot_string* const*>(args.values[operand]);
}

bool equal(const ingot_string& a, const ingot_string& b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

// Elements that an operator makes: the strings, and the bytes of all of them behind.
struct Strings {
  ingot_string* first = nullptr;
  char* bytes = nullptr;

  bool allocate(const RoutineArgs& args, i64 count, i64 length) {
    const i64 head = multiply_size(count, sizeof(ingot_string));
    void* memory = args.allocate(args.run, add_size(head, length));
    if (memory == nullptr) return false;
    first = static_cast<ingot_string*>(memory);
    bytes = reinterpret_cast<char*>(first + count);
    return true;
  }
};

// Walks over the dims of two operands broadcast to one another.
class BroadcastWalk {
 public:
  BroadcastWalk(const RoutineTensor& x, const RoutineTensor& y) {
    rank_ = x.rank > y.rank ? x.rank : y.rank;
    i64 step_x = 1, step_y = 1;
    for (u32 a = rank_; a-- > 0;) {
      const i64 dim_x = dim_of(x, a), dim_y = dim_of(y, a);
      dims_[a] = dim_x == 1 ? dim_y : dim_x;
      steps_[0][a] = dim_x == 1 ? 0 : step_x;
      steps_[1][a] = dim_y == 1 ? 0 : step_y;
      step_x *= dim_x;
      step_y *= dim_y;
      index_[a] = 0;
    }
  }

  i64 count() const { return count_elements(rank_, dims_); }
  /// Whether both have the broadcast dims, or 1.
  static bool fits(const RoutineTensor& x, const RoutineTensor& y) {
    const u32 rank = x.rank > y.rank ? x.rank : y.rank;
    for (u32 a = 0; a < rank; ++a) {
      const auto at = [&](const RoutineTensor& t) {
        return a + t.rank < rank ? 1 : t.dims[a + t.rank - rank];
      };
      if (at(x) != at(y) && at(x) != 1 && at(y) != 1) return false;
    }
    return true;
  }

  i64 x() const { return at_[0]; }
  i64 y() const { return at_[1]; }
  void next() {
    for (u32 a = rank_; a-- > 0;) {
      at_[0] += steps_[0][a];
      at_[1] += steps_[1][a];
      if (++index_[a] < dims_[a]) return;
      at_[0] -= steps_[0][a] * dims_[a];
      at_[1] -= steps_[1][a] * dims_[a];
      index_[a] = 0;
    }
  }

 private:
  i64 dim_of(const RoutineTensor& tensor, u32 axis) const {
    return axis + tensor.rank < rank_ ? 1 : tensor.dims[axis + tensor.rank - rank_];
  }

  u32 rank_;
  i64 dims_[kMaxRank], index_[kMaxRank], steps_[2][kMaxRank];
  i64 at_[2] = {0, 0};
};

int refuse_dims(RoutineArgs& args) {
  *args.error = "the dims of its operands do not broadcast";
  return INGOT_INVALID_ARGUMENT;
}

}  // namespace

extern "C" int ingot_string_constant(RoutineArgs& args, const RoutineTensor*) {
  const i64 count = args.attributes[0];
  Strings made;
  if (!made.allocate(args, count, 0)) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  auto* handles = static_cast<const ingot_string**>(args.values[0]);
  for (i64 k = 0; k < count; ++k) {
    made.first[k] = {args.texts[k].data, static_cast<size_t>(args.texts[k].length)};
    handles[k] = made.first + k;
  }
  return INGOT_OK;
}

extern "C" int ingot_string_equal(RoutineArgs& args, const RoutineTensor* inputs) {
  if (!BroadcastWalk::fits(inputs[0], inputs[1])) return refuse_dims(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const auto* x = strings_of(args, 0);
  const auto* y = strings_of(args, 1);
  u8* z = static_cast<u8*>(args.values[2]);
  BroadcastWalk walk(inputs[0], inputs[1]);
  for (i64 k = walk.count(); k > 0; --k, walk.next()) {
    *z++ = equal(text_of(x[walk.x()]), text_of(y[walk.y()]));
  }
  return INGOT_OK;
}

extern "C" int ingot_string_concat(RoutineArgs& args, const RoutineTensor* inputs) {
  if (!BroadcastWalk::fits(inputs[0], inputs[1])) return refuse_dims(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const auto* x = strings_of(args, 0);
  const auto* y = strings_of(args, 1);
  BroadcastWalk measured(inputs[0], inputs[1]), walk(inputs[0], inputs[1]);
  const i64 count = walk.count();
  i64 length = 0;
  for (i64 k = 0; k < count; ++k, measured.next()) {
    length = add_size(length, static_cast<i64>(text_of(x[measured.x()]).length));
    length = add_size(length, static_cast<i64>(text_of(y[measured.y()]).length));
  }
  Strings made;
  if (!made.allocate(args, count, length)) return no_memory(args);
  auto* z = static_cast<const ingot_string**>(args.values[2]);
  for (i64 k = 0; k < count; ++k, walk.next()) {
    const ingot_string a = text_of(x[walk.x()]), b = text_of(y[walk.y()]);
    if (a.length > 0) memcpy(made.bytes, a.data, a.length);
    if (b.length > 0) memcpy(made.bytes + a.length, b.data, b.length);
    made.first[k] = {made.bytes, a.length + b.length};
    made.bytes += a.length + b.length;
    z[k] = made.first + k;
  }
  return INGOT_OK;
}

namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Takes pieces off a string, one at each call.
class Splitter {
 public:
  Splitter(const ingot_string& text, const Text& delimiter, i64 most_cuts)
      : rest_(text.data),
        length_(static_cast<i64>(text.length)),
        delimiter_(delimiter),
        cuts_left_(most_cuts) {
    if (delimiter.length == 0) skip_spaces();
  }

  // False: there are no more.
  bool next(ingot_string* piece) {
    const bool words = delimiter_.length == 0;
    if (done_ || (words && length_ == 0)) return false;
    i64 end = 0;
    if (cuts_left_ == 0) {
      end = length_;
    } else if (words) {
      while (end < length_ && !is_space(rest_[end])) ++end;
    } else {
      end = find_delimiter();
    }
    *piece = {rest_, static_cast<size_t>(end)};
    done_ = end == length_;
    advance(end);
    if (words) skip_spaces();
    if (!words && !done_) advance(delimiter_.length);
    if (cuts_left_ > 0) --cuts_left_;
    return true;
  }

 private:
  void advance(i64 count) {
    if (count > 0) rest_ += count;
    length_ -= count;
  }
  void skip_spaces() {
    while (length_ > 0 && is_space(*rest_)) advance(1);
  }
  i64 find_delimiter() const {
    for (i64 at = 0; at + delimiter_.length <= length_; ++at) {
      if (memcmp(rest_ + at, delimiter_.data, static_cast<size_t>(delimiter_.length)) == 0)
        return at;
    }
    return length_;
  }

  const char* rest_;
  i64 length_;
  const Text& delimiter_;
  i64 cuts_left_;  // negative: as many as there are
  bool done_ = false;
};

}  // namespace

extern "C" int ingot_string_split(RoutineArgs& args, const RoutineTensor* inputs) {
  const Text& delimiter = args.texts[0];
  const i64 most_cuts = args.attributes[0];
  const RoutineTensor& type = inputs[0];
  const i64 count = count_elements(type.rank, type.dims);
  const auto* x = strings_of(args, 0);
  i64 most = 0, all = 0;
  ingot_string piece;
  for (i64 k = 0; k < count; ++k) {
    i64 pieces = 0;
    for (Splitter splitter(text_of(x[k]), delimiter, most_cuts); splitter.next(&piece);) ++pieces;
    most = max(most, pieces);
    all += pieces;
  }
  args.symbols[args.first_symbol] = most;
  Strings made;
  if (!made.allocate(args, all, 0)) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  auto* y = static_cast<const ingot_string**>(args.values[1]);
  auto* n = static_cast<i64*>(args.values[2]);
  ingot_string* next = made.first;
  for (i64 k = 0; k < count; ++k) {
    i64 pieces = 0;
    for (Splitter splitter(text_of(x[k]), delimiter, most_cuts); splitter.next(next); ++next) {
      y[k * most + pieces++] = next;
    }
    n[k] = pieces;
    for (i64 rest = pieces; rest < most; ++rest) y[k * most + rest] = nullptr;
  }
  return INGOT_OK;
}

namespace {

struct Rune {
  u32 code;
  i32 bytes;  // 0: the byte is no UTF-8
};

// Source: RFC 3629.
Rune decode(const char* text, i64 length) {
  const auto byte = [&](i32 k) { return static_cast<u32>(static_cast<u8>(text[k])); };
  const u32 first = byte(0);
  if (first < 0x80) return {first, 1};
  const i32 bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes == 0 || length < bytes) return {first, 0};
  u32 code = first & (0x7Fu >> bytes);
  for (i32 k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return {first, 0};
    code = code << 6 | (byte(k) & 0x3F);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {first, 0};
  return {code, bytes};
}

i32 encode(u32 code, char* to) {
  const auto put = [&](i32 k, u32 value) { to[k] = static_cast<char>(value); };
  const auto tail = [&](i32 shift) { return 0x80 | (code >> shift & 0x3F); };
  if (code < 0x80) {
    put(0, code);
    return 1;
  }
  if (code < 0x800) {
    put(0, 0xC0 | code >> 6);
    put(1, tail(0));
    return 2;
  }
  if (code < 0x10000) {
    put(0, 0xE0 | code >> 12);
    put(1, tail(6));
    put(2, tail(0));
    return 3;
  }
  put(0, 0xF0 | code >> 18);
  put(1, tail(12));
  put(2, tail(6));
  put(3, tail(0));
  return 4;
}

u32 read_word(const Text& table, i64 index) {
  u32 value;
  memcpy(&value, table.data + index * 4, sizeof value);
  return value;
}

// Rows of first, last, step, delta (base/letter_case.h).
u32 map_case(const Text& table, u32 code) {
  i64 first = 0, end = table.length / 16;
  while (first < end) {  // the first row that begins behind the code
    const i64 middle = (first + end) / 2;
    if (read_word(table, middle * 4) <= code) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  if (first == 0) return code;
  const i64 row = (first - 1) * 4;
  const u32 begin = read_word(table, row);
  const bool held =
      code <= read_word(table, row + 1) && (code - begin) % read_word(table, row + 2) == 0;
  return held ? code + read_word(table, row + 3) : code;
}

// Bytes in the other case, at most kCaseGrowth times as many; written where `to` is not null.
constexpr i64 kCaseGrowth = 3;
i64 change_case(const Text& table, const ingot_string& text, char* to) {
  i64 length = 0;
  const i64 end = static_cast<i64>(text.length);
  for (i64 at = 0; at < end;) {
    const Rune rune = decode(text.data + at, end - at);
    char bytes[4] = {text.data[at]};
    const i32 count = rune.bytes == 0 ? 1 : encode(map_case(table, rune.code), bytes);
    if (to != nullptr) memcpy(to + length, bytes, static_cast<size_t>(count));
    length += count;
    at += rune.bytes == 0 ? 1 : rune.bytes;
  }
  return length;
}

int compare(const ingot_string& a, const Text& b) {
  const i64 length = static_cast<i64>(a.length), common = min(length, b.length);
  const int order = common == 0 ? 0 : memcmp(a.data, b.data, static_cast<size_t>(common));
  if (order != 0) return order;
  return length == b.length ? 0 : length < b.length ? -1 : 1;
}

// Which of the texts, which rise, it is; or how many they are.
i64 find_text(const Text* texts, i64 count, const ingot_string& text) {
  i64 first = 0, end = count;
  while (first < end) {
    const i64 middle = first + (end - first) / 2;
    const int order = compare(text, texts[middle]);
    if (order == 0) return middle;
    if (order > 0) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return count;
}

}  // namespace

extern "C" int ingot_string_normalize(RoutineArgs& args, const RoutineTensor* inputs) {
  const Text& lower = args.texts[0];
  const Text& upper = args.texts[1];
  const Text* words = args.texts + 2;
  const i64 letters = args.attributes[0], word_count = args.attributes[2];
  const bool case_sensitive = args.attributes[1] != 0;
  const i64 count = count_elements(inputs[0].rank, inputs[0].dims);
  const auto* x = strings_of(args, 0);
  i64 longest = 0, length = 0;
  for (i64 k = 0; k < count; ++k) {
    longest = max(longest, static_cast<i64>(text_of(x[k]).length));
    length = add_size(length, static_cast<i64>(text_of(x[k]).length));
  }
  Strings made, folded;
  if (!made.allocate(args, max(count, 1), letters == 0 ? 0 : multiply_size(length, kCaseGrowth)) ||
      !folded.allocate(args, 0, case_sensitive ? 0 : multiply_size(longest, kCaseGrowth))) {
    return no_memory(args);
  }
  i64 kept = 0;
  for (i64 k = 0; k < count; ++k) {
    const ingot_string text = text_of(x[k]);
    ingot_string compared = text;
    if (!case_sensitive) {
      compared = {folded.bytes, static_cast<size_t>(change_case(lower, text, folded.bytes))};
    }
    if (find_text(words, word_count, compared) < word_count) continue;
    made.first[kept] = text;
    if (letters != 0) {
      const i64 bytes = change_case(letters == 1 ? lower : upper, text, made.bytes);
      made.first[kept] = {made.bytes, static_cast<size_t>(bytes)};
      made.bytes += bytes;
    }
    ++kept;
  }
  if (kept == 0) made.first[kept++] = {nullptr, 0};
  args.symbols[args.first_symbol] = kept;
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  auto* y = static_cast<const ingot_string**>(args.values[1]);
  for (i64 k = 0; k < kept; ++k) y[k] = made.first + k;
  return INGOT_OK;
}

namespace {

struct Placed {
  ingot_string text;
  i64 place;
};

int by_text(const void* a, const void* b) {
  const ingot_string& other = static_cast<const Placed*>(b)->text;
  return compare(static_cast<const Placed*>(a)->text, {other.data, static_cast<i64>(other.length)});
}

}  // namespace

extern "C" int ingot_string_rank(RoutineArgs& args, const RoutineTensor* inputs) {
  const i64 count = count_elements(inputs[0].rank, inputs[0].dims);
  auto* sorted =
      static_cast<Placed*>(args.allocate(args.run, multiply_size(count, sizeof(Placed))));
  if (sorted == nullptr) return no_memory(args);
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const auto* x = strings_of(args, 0);
  for (i64 k = 0; k < count; ++k) sorted[k] = {text_of(x[k]), k};
  qsort(sorted, static_cast<size_t>(count), sizeof(Placed), by_text);
  auto* y = static_cast<i64*>(args.values[1]);
  for (i64 k = 0, rank = 0; k < count; ++k) {
    if (k > 0 && !equal(sorted[k - 1].text, sorted[k].text)) ++rank;
    y[sorted[k].place] = rank;
  }
  return INGOT_OK;
}

extern "C" int ingot_regex_match(RoutineArgs& args, const RoutineTensor* inputs) {
  if (args.allocate_outputs(args.run) == 0) return INGOT_RESOURCE_EXHAUSTED;
  const Text& table = args.texts[0];
  const u32 classes = read_word(table, 0), states = read_word(table, 1);
  const auto* class_of = reinterpret_cast<const u8*>(table.data + 8);
  const u8* next = class_of + 256;
  const u8* accepts = next + u64{2} * classes * states;
  const auto* x = strings_of(args, 0);
  u8* y = static_cast<u8*>(args.values[1]);
  for (i64 k = 0; k < count_elements(inputs[0].rank, inputs[0].dims); ++k) {
    const ingot_string text = text_of(x[k]);
    u64 state = 1;
    for (size_t at = 0; at < text.length && state != 0; ++at) {
      const u8* entry = next + 2 * (state * classes + class_of[static_cast<u8>(text.data[at])]);
      state = entry[0] | static_cast<u64>(entry[1]) << 8;
    }
    y[k] = accepts[state];
  }
  return INGOT_OK;
}

}  // namespace ingot::artifact
