// frontend/onnx/ops_ml_labels.cc: ai.onnx.ml: labels looked up in tables.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/perfect_hash.h"
#include "base/random.h"
#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// Keys or values of a label encoder.
struct LabelList {
  DType dtype = DType::f32;
  std::vector<double> reals;         // floats
  std::vector<int64_t> whole;        // integers
  std::vector<std::string> strings;  // strings

  size_t size() const { return reals.size() + whole.size() + strings.size(); }
  /// Appends element k of another list of the type.
  void take(const LabelList& from, size_t k) {
    if (is_int(dtype)) {
      whole.push_back(from.whole[k]);
    } else if (dtype == DType::str) {
      strings.push_back(from.strings[k]);
    } else {
      reals.push_back(from.reals[k]);
    }
  }
};

Result<LabelList> labels_in(const ConstantData& data) {
  LabelList list;
  list.dtype = data.dtype;
  list.strings = data.strings;
  if (data.dtype == DType::str) return list;
  TRY(const Tensor values, to_tensor(data));
  for (int64_t k = 0; k < values.size(); ++k) {
    if (values.holds_reals()) {
      list.reals.push_back(values.real(k));
    } else {
      list.whole.push_back(values.integer(k));
    }
  }
  return list;
}

/// The list in the attribute keys_* or values_* that is there.
Result<LabelList> read_label_list(OpContext& n, std::string_view kind) {
  const std::string floats = concat(kind, "_floats"), ints = concat(kind, "_int64s"),
                    strings = concat(kind, "_strings");
  LabelList list;
  if (n.has_attr(floats)) {
    TRY(list.reals, n.attr_reals(floats));
  } else if (n.has_attr(ints)) {
    list.dtype = DType::i64;
    TRY(list.whole, n.attr_ints(ints));
  } else if (n.has_attr(strings)) {
    list.dtype = DType::str;
    TRY(list.strings, n.attr_texts(strings));
  } else {
    TRY(const ConstantData data, n.attr_tensor(concat(kind, "_tensor")));
    return labels_in(data);
  }
  return list;
}

/// The value for keys that are not listed.
Result<LabelList> read_default_label(OpContext& n, DType dtype) {
  TRY(const double real, n.attr_real("default_float", -0.0));
  TRY(const int64_t whole, n.attr_int("default_int64", -1));
  TRY(std::string text, n.attr_text("default_string", "_Unused"));
  if (n.has_attr("default_tensor")) {
    TRY(const ConstantData data, n.attr_tensor("default_tensor"));
    TRY(LabelList one, labels_in(data));
    if (one.dtype == dtype && one.size() == 1) return one;
    return invalid_model("attribute 'default_tensor': expected one ", dtype, ", got ", one.size(),
                         " ", one.dtype);
  }
  if (is_int(dtype)) return LabelList{dtype, {}, {whole}, {}};
  if (dtype == DType::str) return LabelList{dtype, {}, {}, {std::move(text)}};
  return LabelList{dtype, {real}, {}, {}};
}

ValueId label_constant(OpContext& n, const LabelList& list) {
  const auto count = static_cast<int64_t>(list.size());
  if (is_int(list.dtype)) return integer_constant(n, list.dtype, list.whole, {count});
  if (is_float(list.dtype)) return number_constant(n, list.dtype, list.reals, {count});
  ConstantData data;
  data.dtype = list.dtype;
  data.dims = {count};
  data.strings = list.strings;
  return n.graph().add_constant(std::move(data));
}

/// Numbers of the keys in rising order, NaN at the end; of equal ones the last alone.
std::vector<size_t> sorted_order(const LabelList& keys) {
  const auto below = [&](size_t a, size_t b) {
    if (keys.dtype == DType::str) return keys.strings[a] < keys.strings[b];
    if (keys.dtype == DType::u64) {
      return static_cast<uint64_t>(keys.whole[a]) < static_cast<uint64_t>(keys.whole[b]);
    }
    if (is_int(keys.dtype)) return keys.whole[a] < keys.whole[b];
    if (std::isnan(keys.reals[a])) return false;
    return std::isnan(keys.reals[b]) || keys.reals[a] < keys.reals[b];
  };
  std::vector<size_t> all(keys.size()), order;
  for (size_t k = 0; k < all.size(); ++k) all[k] = k;
  std::ranges::stable_sort(all, below);
  for (size_t k = 0; k < all.size(); ++k) {
    if (k + 1 == all.size() || below(all[k], all[k + 1])) order.push_back(all[k]);
  }
  return order;
}

/// Up to so many numbers are found by halves: a few comparisons instead of a hash.
constexpr size_t kFewKeys = 16;

/// Where a key was found.
struct Found {
  ValueId place;                // i64
  std::vector<int64_t> key_at;  // by place: the number of the key there; kNoKey, also at the end,
                                // which is the place of what is no key
};
constexpr int64_t kNoKey = PerfectHash::kNoKey;

/// Keys are where they are in their list.
Found found_in_order(ValueId place, size_t count) {
  Found found{place, {}};
  for (size_t k = 0; k < count; ++k) found.key_at.push_back(static_cast<int64_t>(k));
  found.key_at.push_back(kNoKey);
  return found;
}

/// The place of the last key that is not above x, found by halves; NaN is above all numbers.
Result<ValueId> search_key(OpContext& n, ValueId x, ValueId keys, int64_t count) {
  TRY(ValueId at, n.map(DType::i64, {x}, [&](std::span<const Expr>) { return n.integer(0); }));
  int64_t step = 1;
  while (step * 2 < count) step *= 2;
  for (; step > 0 && count > 1; step /= 2) {
    TRY(const ValueId tried,
        n.map1(at, [&](Expr p) { return min(p + step, n.integer(count - 1)); }));
    TRY(const ValueId key, n.gather(keys, tried, 0));
    TRY(at, n.map(DType::i64, {x, key, at, tried}, [](std::span<const Expr> p) {
      Expr reached = less_equal(p[1], p[0]);
      if (is_float(p[0].dtype())) reached = logical_or(reached, unary(ExprKind::is_nan, p[0]));
      return select(reached, p[3], p[2]);
    }));
  }
  return at;
}

/// Finds one of a few numbers, which rise.
Result<Found> find_among_few(OpContext& n, ValueId x, const LabelList& sorted) {
  const auto count = static_cast<int64_t>(sorted.size());
  if (count == 0) {
    TRY(const ValueId none, n.fill(DType::i64, 0, n.dims(x)));
    return found_in_order(none, 0);
  }
  const ValueId listed = label_constant(n, sorted);
  TRY(const ValueId at, search_key(n, x, listed, count));
  TRY(const ValueId key, n.gather(listed, at, 0));
  TRY(const ValueId place, n.map(DType::i64, {x, key, at}, [&](std::span<const Expr> p) {
    Expr same = equal(p[0], p[1]);
    if (is_float(p[0].dtype())) {
      same = logical_or(same,
                        logical_and(unary(ExprKind::is_nan, p[0]), unary(ExprKind::is_nan, p[1])));
    }
    return select(same, p[2], n.integer(count));
  }));
  return found_in_order(place, sorted.size());
}

/// What stands for a NaN among the bits of numbers; no other number has these.
int64_t nan_bits(bool wide) {
  return wide ? std::bit_cast<int64_t>(std::numeric_limits<double>::quiet_NaN())
              : std::bit_cast<int32_t>(std::numeric_limits<float>::quiet_NaN());
}

/// x as integers that are equal where the numbers are, NaN being one number.
Result<ValueId> as_integers(OpContext& n, ValueId x) {
  if (!is_float(n.dtype(x))) return n.cast(x, DType::i64);
  const bool wide = n.dtype(x) == DType::f64;
  TRY(const ValueId number, n.cast(x, wide ? DType::f64 : DType::f32));
  TRY(const ValueId bits, n.add("bitcast", {{"to", wide ? DType::i64 : DType::i32}}, {number}));
  return n.map(DType::i64, {number, bits}, [&](std::span<const Expr> p) {
    const Expr same_zero =
        select(equal(p[0], n.number(p[0].dtype(), 0)), n.integer(0), ingot::cast(p[1], DType::i64));
    return select(unary(ExprKind::is_nan, p[0]), n.integer(nan_bits(wide)), same_zero);
  });
}

std::vector<int64_t> as_integers(const LabelList& keys) {
  if (!is_float(keys.dtype)) return keys.whole;
  const bool wide = keys.dtype == DType::f64;
  std::vector<int64_t> result;
  for (const double key : keys.reals) {
    const int64_t bits =
        wide ? std::bit_cast<int64_t>(key) : std::bit_cast<int32_t>(static_cast<float>(key));
    result.push_back(std::isnan(key) ? nan_bits(wide) : key == 0 ? 0 : bits);
  }
  return result;
}

/// Finds one of many numbers, all different, by a hash that is made for them.
class HashedKeys {
 public:
  explicit HashedKeys(std::vector<int64_t> keys) : keys_(std::move(keys)) {
    // Different keys keep different bits, so that one of the first factors serves.
    for (Random random(1); !hash_;) {
      factor_ = random.bits() | 1;
      std::vector<uint64_t> bits;
      for (const int64_t key : keys_) {
        const uint64_t product = static_cast<uint64_t>(key) * factor_;
        bits.push_back(product ^ product >> 32);
      }
      hash_ = make_perfect_hash(bits);
    }
  }

  Result<Found> find(OpContext& n, ValueId x) const {
    const int bucket_bits = hash_->bucket_bits, place_bits = hash_->place_bits;
    TRY(const ValueId bucket,
        n.map1(x, [&](Expr e) { return first_bits(bits_of(e), bucket_bits); }));
    std::vector<int64_t> multipliers;
    for (const uint64_t m : hash_->multipliers) multipliers.push_back(std::bit_cast<int64_t>(m));
    TRY(const ValueId multiplier, n.gather(n.ints(multipliers), bucket, 0));
    TRY(const ValueId there, n.map2(x, multiplier, [&](Expr e, Expr by) {
      return first_bits(bits_of(e) * by, place_bits);
    }));
    TRY(const ValueId key, n.gather(n.ints(keys_by_place()), there, 0));
    const auto nowhere = static_cast<int64_t>(hash_->keys.size());
    TRY(const ValueId place, n.map(DType::i64, {x, key, there}, [&](std::span<const Expr> p) {
      return select(equal(p[0], p[1]), p[2], n.integer(nowhere));
    }));
    Found found{place, hash_->keys};
    found.key_at.push_back(kNoKey);
    return found;
  }

 private:
  Expr bits_of(Expr e) const {
    const Expr product = e * e.pool().integer(std::bit_cast<int64_t>(factor_));
    return binary(ExprKind::bit_xor, product, first_bits(product, 32));
  }
  /// The first bits as a number; shifting an i64 alone keeps its sign.
  static Expr first_bits(Expr e, int count) {
    ExprPool& pool = e.pool();
    return binary(ExprKind::bit_and, binary(ExprKind::shift_right, e, pool.integer(64 - count)),
                  pool.integer((int64_t{1} << count) - 1));
  }
  /// At a place without one any key will do that has its own place elsewhere.
  std::vector<int64_t> keys_by_place() const {
    std::vector<int64_t> result;
    for (const int64_t k : hash_->keys) result.push_back(keys_[k < 0 ? 0 : static_cast<size_t>(k)]);
    return result;
  }

  std::vector<int64_t> keys_;
  uint64_t factor_ = 1;
  std::optional<PerfectHash> hash_;
};

/// Where x is among keys that rise.
Result<Found> find_key(OpContext& n, ValueId x, const LabelList& sorted) {
  if (sorted.dtype == DType::str) {
    TRY(const ValueId place, n.add("string_find", {{"texts", sorted.strings}}, {x}));
    return found_in_order(place, sorted.size());
  }
  if (sorted.size() <= kFewKeys) return find_among_few(n, x, sorted);
  TRY(const ValueId whole, as_integers(n, x));
  return HashedKeys(as_integers(sorted)).find(n, whole);
}

/// The values at the places of the keys, another one where there is no key.
Result<ValueIds> look_up(OpContext& n, const LabelList& keys, const LabelList& values) {
  const ValueId x = n.in(0);
  TRY(const LabelList otherwise, read_default_label(n, values.dtype));
  if (keys.size() != values.size()) {
    return invalid_model("expected as many values as keys, got ", values.size(), " and ",
                         keys.size());
  }
  if (keys.dtype != n.dtype(x)) {
    return invalid_model("expected keys of ", n.dtype(x), ", got ", keys.dtype);
  }
  const std::vector<size_t> order = sorted_order(keys);
  LabelList sorted{keys.dtype, {}, {}, {}}, table{values.dtype, {}, {}, {}};
  for (const size_t k : order) sorted.take(keys, k);
  TRY(Found found, find_key(n, x, sorted));
  if (values.dtype == DType::str && found.key_at.size() > order.size() + 1) {
    // Strings are not repeated for places without a key.
    for (int64_t& row : found.key_at)
      row = row == kNoKey ? static_cast<int64_t>(order.size()) : row;
    TRY(const ValueId row, n.gather(n.ints(found.key_at), found.place, 0));
    found = found_in_order(row, order.size());
  }
  for (const int64_t k : found.key_at) {
    if (k == kNoKey) {
      table.take(otherwise, 0);
    } else {
      table.take(values, order[static_cast<size_t>(k)]);
    }
  }
  return only(n.gather(label_constant(n, table), found.place, 0));
}

Result<ValueIds> label_encoder(OpContext& n) {
  TRY(const LabelList keys, read_label_list(n, "keys"));
  TRY(const LabelList values, read_label_list(n, "values"));
  return look_up(n, keys, values);
}

/// Numbers to strings where numbers come in, strings to numbers where strings do.
Result<ValueIds> translate(OpContext& n, const LabelList& numbers, const LabelList& strings) {
  const bool from_strings = n.dtype(n.in(0)) == DType::str;
  return from_strings ? look_up(n, strings, numbers) : look_up(n, numbers, strings);
}

Result<ValueIds> category_mapper(OpContext& n) {
  LabelList numbers{DType::i64, {}, {}, {}}, strings{DType::str, {}, {}, {}};
  TRY(numbers.whole, n.attr_ints("cats_int64s"));
  TRY(strings.strings, n.attr_texts("cats_strings"));
  return translate(n, numbers, strings);
}

/// The strings' numbers are their places.
Result<ValueIds> old_label_encoder(OpContext& n) {
  LabelList numbers{DType::i64, {}, {}, {}}, strings{DType::str, {}, {}, {}};
  TRY(strings.strings, n.attr_texts("classes_strings"));
  for (size_t k = 0; k < strings.size(); ++k) numbers.whole.push_back(static_cast<int64_t>(k));
  return translate(n, numbers, strings);
}

/// 1 where the category is the one of the place along a new last axis. A category that is not
/// listed gives zeros, with zeros = 0, too, where the standard would have the run fail.
Result<ValueIds> one_hot_encoder(OpContext& n) {
  n.has_attr("zeros");
  TRY(const std::vector<std::string> names, n.attr_texts("cats_strings"));
  TRY(const std::vector<int64_t> numbers, n.attr_ints("cats_int64s"));
  const bool are_strings = n.dtype(n.in(0)) == DType::str;
  if (!(are_strings ? numbers.empty() : names.empty())) {
    return invalid_model("expected categories of ", n.dtype(n.in(0)));
  }
  ValueId x = n.in(0);
  if (!are_strings) {
    TRY_STATUS(n.expect_numbers());
    TRY(x, n.cast(x, DType::i64));
  }
  std::vector<int64_t> codes = numbers;
  if (are_strings) {
    // Numbers stand for the strings, one that is not listed for all others.
    LabelList list{DType::str, {}, {}, names}, sorted{DType::str, {}, {}, {}};
    for (const size_t k : sorted_order(list)) sorted.take(list, k);
    for (const std::string& name : names) {
      codes.push_back(std::ranges::lower_bound(sorted.strings, name) - sorted.strings.begin());
    }
    TRY(x, n.add("string_find", {{"texts", sorted.strings}}, {x}));
  }
  Exprs dims = n.dims(x);
  dims.push_back(n.integer(1));
  TRY(const ValueId column, n.reshape(x, std::move(dims)));
  const ValueId categories = n.ints(codes);
  return only(n.map(DType::f32, {column, categories}, [&](std::span<const Expr> p) {
    return select(equal(p[0], p[1]), n.number(DType::f32, 1), n.number(DType::f32, 0));
  }));
}

constexpr OpRow kRows[] = {
    {"ai.onnx.ml.CategoryMapper", 1, 1, 1, category_mapper},
    {"ai.onnx.ml.LabelEncoder", 1, 1, 1, old_label_encoder},
    {"ai.onnx.ml.LabelEncoder", 2, 1, 1, label_encoder},
    {"ai.onnx.ml.OneHotEncoder", 1, 1, 1, one_hot_encoder},
};

}  // namespace

std::span<const OpRow> ml_label_rows() {
  return kRows;
}

}  // namespace ingot::onnx
