// frontend/onnx/ops_ngrams.cc: TfIdfVectorizer: how often known sequences of words occur.
#include <algorithm>
#include <map>

#include "frontend/onnx/ml.h"
#include "frontend/onnx/ops.h"

namespace ingot::onnx {
namespace {

/// The distances between words are written out, so that more make models that take long to compile.
constexpr int64_t kMostSkipped = 256;

/// A known sequence of words, the number of its output, and its weight there.
struct Ngram {
  std::vector<int64_t> words;
  int64_t output = 0;
  double weight = 1;
};

struct Vocabulary {
  std::map<size_t, std::vector<Ngram>> by_length;
  int64_t outputs = 0;
  int64_t shortest = 1;
  int64_t most_skipped = 0;
};

/// The words that the n-grams are made of, as numbers, and x likewise.
struct Words {
  std::vector<int64_t> pool;
  ValueId x;
};
Result<Words> read_words(OpContext& n) {
  Words words;
  TRY(words.pool, n.attr_ints("pool_int64s"));
  TRY(const std::vector<std::string> texts, n.attr_texts("pool_strings"));
  const bool are_strings = n.dtype(n.in(0)) == DType::str;
  if (!(are_strings ? words.pool.empty() : texts.empty())) {
    return invalid_model("expected words of ", n.dtype(n.in(0)));
  }
  if (!are_strings) {
    if (!is_int(n.dtype(n.in(0)))) return unsupported("words of type ", n.dtype(n.in(0)));
    TRY(words.x, n.cast(n.in(0), DType::i64));
    return words;
  }
  std::vector<std::string> known = texts;
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const std::string& text : texts) {
    words.pool.push_back(std::ranges::lower_bound(known, text) - known.begin());
  }
  TRY(words.x, n.add("string_find", {{"texts", known}}, {n.in(0)}));
  return words;
}

/// The n-grams of the lengths that are asked for. Of equal ones the last counts.
Result<Vocabulary> read_vocabulary(OpContext& n, std::span<const int64_t> pool) {
  TRY(const std::vector<int64_t> starts, n.attr_ints("ngram_counts"));
  TRY(const std::vector<int64_t> outputs, n.attr_ints("ngram_indexes"));
  TRY(const std::vector<double> weights, n.attr_reals("weights"));
  Vocabulary v;
  TRY(v.shortest, n.attr_int("min_gram_length"));
  TRY(const int64_t longest, n.attr_int("max_gram_length"));
  TRY(v.most_skipped, n.attr_int("max_skip_count"));
  if (v.shortest < 1 || longest < v.shortest || v.most_skipped < 0) {
    return invalid_model(
        "expected 1 <= min_gram_length <= max_gram_length and a max_skip_count of "
        "0 or more, got ",
        v.shortest, ", ", longest, " and ", v.most_skipped);
  }
  const auto size = static_cast<int64_t>(pool.size());
  size_t number = 0;
  for (size_t k = 0; k < starts.size(); ++k) {
    const int64_t start = starts[k], end = k + 1 < starts.size() ? starts[k + 1] : size;
    const auto length = static_cast<int64_t>(k) + 1;
    if (start < 0 || end < start || end > size || (end - start) % length != 0) {
      return invalid_model("attribute 'ngram_counts': ", start, " to ", end, " of ", size,
                           " words are no sequences of ", length);
    }
    std::map<std::vector<int64_t>, size_t> found;
    for (int64_t at = start; at < end; at += length, ++number) {
      if (number >= outputs.size() || outputs[number] < 0 || outputs[number] >= kMaxDim) {
        return invalid_model("attribute 'ngram_indexes': expected an output of sequence ", number);
      }
      if (!weights.empty() && number >= weights.size()) {
        return invalid_model("attribute 'weights': expected one of sequence ", number);
      }
      found[{pool.begin() + at, pool.begin() + at + length}] = number;
    }
    if (length < v.shortest || length > longest) continue;
    for (const auto& [words, which] : found) {
      v.by_length[k + 1].push_back({words, outputs[which], weights.empty() ? 1 : weights[which]});
    }
  }
  for (const int64_t output : outputs) v.outputs = std::max(v.outputs, output + 1);
  return v;
}

/// f32 [B, G]: how often each n-gram of one length occurs in x [B, C], its words `distance` apart.
Result<ValueId> occurrences(OpContext& n, ValueId x, const std::vector<Ngram>& ngrams,
                            int64_t distance) {
  const auto length = static_cast<int64_t>(ngrams[0].words.size());
  const Expr places = max(n.dim(x, 1) - distance * (length - 1), n.integer(0));
  ValueIds xs;
  for (int64_t k = 0; k < length; ++k) {
    // Where there is no place, the slice of nothing begins inside, too.
    const Expr first = min(n.integer(k * distance), n.dim(x, 1) - places);
    TRY(ValueId word, n.slice_axis(x, 1, first, places));
    TRY(word, n.reshape(word, {n.dim(x, 0), n.integer(1), places}));
    std::vector<int64_t> wanted;
    for (const Ngram& ngram : ngrams) wanted.push_back(ngram.words[static_cast<size_t>(k)]);
    const ValueId list = n.ints(wanted);
    TRY(const ValueId column, n.reshape(list, {n.dim(list, 0), n.integer(1)}));
    xs.insert(xs.end(), {word, column});
  }
  TRY(const ValueId hits, n.map(DType::f32, xs, [&](std::span<const Expr> p) {
    Expr all = equal(p[0], p[1]);
    for (size_t k = 2; k < p.size(); k += 2) all = logical_and(all, equal(p[k], p[k + 1]));
    return select(all, n.number(DType::f32, 1), n.number(DType::f32, 0));
  }));
  return n.reduce(ReduceKind::sum, hits, {2}, false);
}

/// How many words are skipped at most between those of sequences of `length` in `words`.
Result<int64_t> most_skipped(const Vocabulary& v, size_t length, Expr words) {
  // Words alone are the same at any distance: they count once.
  if (length == 1) return 0;
  // What is further apart than there are words does not occur.
  const int64_t furthest = (range_of(words).hi - 1) / static_cast<int64_t>(length - 1);
  const int64_t most = std::clamp<int64_t>(furthest - 1, 0, v.most_skipped);
  if (most > kMostSkipped) return unsupported("more than ", kMostSkipped, " words skipped");
  return most;
}

enum class Weighting : uint8_t { count, presence, weighted_count };

/// What counts [B, G] of n-grams say: the counts, or the weights of those that occur, or both.
Result<ValueId> weigh_counts(OpContext& n, ValueId counts, const std::vector<Ngram>& ngrams,
                             Weighting how) {
  if (how == Weighting::count) return counts;
  std::vector<double> weights;
  for (const Ngram& ngram : ngrams) weights.push_back(ngram.weight);
  const ValueId list =
      number_constant(n, DType::f32, weights, {static_cast<int64_t>(weights.size())});
  return n.map2(counts, list, [&](Expr count, Expr weight) {
    if (how == Weighting::weighted_count) return count * weight;
    return select(less(n.number(DType::f32, 0), count), weight, n.number(DType::f32, 0));
  });
}

/// The counts [B, G] at the places of their outputs [B, outputs].
Result<ValueId> place_outputs(OpContext& n, ValueId counts, const std::vector<Ngram>& ngrams,
                              int64_t outputs) {
  std::vector<int64_t> numbers;
  for (const Ngram& ngram : ngrams) numbers.push_back(ngram.output);
  const ValueId list = n.ints(numbers);
  TRY(const ValueId column, n.reshape(list, {n.dim(list, 0), n.integer(1)}));
  TRY(const ValueId output, n.iota({n.integer(outputs)}, 0));
  TRY(const ValueId chooses, n.map(DType::f32, {column, output}, [&](std::span<const Expr> p) {
    return select(equal(p[0], p[1]), n.number(DType::f32, 1), n.number(DType::f32, 0));
  }));
  return n.matmul(counts, chooses);
}

/// Source: ONNX TfIdfVectorizer-9.
Result<ValueIds> tf_idf(OpContext& n) {
  constexpr std::string_view kModes[] = {"TF", "IDF", "TFIDF"};
  TRY(const size_t mode, n.attr_choice("mode", kModes, 0));
  TRY(const Words words, read_words(n));
  TRY(const Vocabulary v, read_vocabulary(n, words.pool));
  ValueId x = words.x;
  const int64_t rank = n.rank(x);
  if (rank > 2) return invalid_model("expected words [C] or [B, C], got rank ", rank);
  const Expr batch = rank == 2 ? n.dim(x, 0) : n.integer(1);
  TRY(x, n.reshape(x, {batch, rank == 0 ? n.integer(1) : n.dims(x).back()}));
  TRY(ValueId y, n.fill(DType::f32, 0, {batch, n.integer(v.outputs)}));
  for (const auto& [length, ngrams] : v.by_length) {
    ValueId counts;
    TRY(const int64_t most, most_skipped(v, length, n.dim(x, 1)));
    for (int64_t skipped = 0; skipped <= most; ++skipped) {
      TRY(const ValueId more, occurrences(n, x, ngrams, skipped + 1));
      if (!counts.valid()) {
        counts = more;
      } else {
        TRY(counts, n.map2(counts, more, [](Expr a, Expr b) { return a + b; }));
      }
    }
    TRY(counts, weigh_counts(n, counts, ngrams, static_cast<Weighting>(mode)));
    TRY(const ValueId placed, place_outputs(n, counts, ngrams, v.outputs));
    TRY(y, n.map2(y, placed, [](Expr a, Expr b) { return a + b; }));
  }
  return only(rank == 2 ? Result<ValueId>(y) : n.reshape(y, {n.integer(v.outputs)}));
}

constexpr OpRow kRows[] = {
    {"TfIdfVectorizer", 9, 1, 1, tf_idf},
};

}  // namespace

std::span<const OpRow> ngram_rows() {
  return kRows;
}

}  // namespace ingot::onnx
