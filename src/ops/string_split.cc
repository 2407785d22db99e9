// ops/string_split.cc: the pieces of strings.
#include <algorithm>

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"
#include "ops/strings.h"

namespace ingot::ops {
namespace {

constexpr std::string_view kSpaces = " \t\n\v\f\r";

std::vector<std::string> words_of(std::string_view text, int64_t most_splits) {
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    if (text.empty()) return words;
    if (static_cast<int64_t>(words.size()) == most_splits) {
      words.emplace_back(text);
      return words;
    }
    const size_t end = std::min(text.find_first_of(kSpaces), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string> pieces_of(std::string_view text, std::string_view delimiter,
                                   int64_t most_splits) {
  std::vector<std::string> pieces;
  while (static_cast<int64_t>(pieces.size()) != most_splits) {
    const size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  pieces.emplace_back(text);
  return pieces;
}

}  // namespace

Result<Types> StringSplit::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<StringSplit>(ctx));
  TRY_STATUS(expect_strings(kName, "x", ctx.tensor(0).dtype));  // C1
  Exprs dims = ctx.tensor(0).dims;
  TRY(Types types, one_tensor(kName, DType::i64, dims));
  dims.push_back(ctx.pool.fresh_symbol("pieces", true));
  ctx.pool.symbol_info(dims.back().symbol()).range = {0, kMaxDim};
  TRY(const Types pieces, one_tensor(kName, DType::str, std::move(dims)));
  return Types{pieces[0], types[0]};
}

std::vector<Tensor> StringSplit::reference(const ReferenceContext& ctx) const {
  const Tensor& x = ctx.in[0];
  std::vector<std::vector<std::string>> pieces;
  size_t most = 0;
  Tensor n(DType::i64, x.dims());
  for (int64_t k = 0; k < x.size(); ++k) {
    pieces.push_back(delimiter.empty() ? words_of(x.string(k), most_splits)
                                       : pieces_of(x.string(k), delimiter, most_splits));
    most = std::max(most, pieces.back().size());
    n.set_integer(k, static_cast<int64_t>(pieces.back().size()));
  }
  std::vector<int64_t> dims = x.dims();
  dims.push_back(static_cast<int64_t>(most));
  Tensor y(DType::str, std::move(dims));
  for (size_t k = 0; k < pieces.size(); ++k) {
    for (size_t j = 0; j < pieces[k].size(); ++j) {
      y.set_string(static_cast<int64_t>(k * most + j), pieces[k][j]);
    }
  }
  return {std::move(y), std::move(n)};
}

Sample<StringSplit> StringSplit::sample(Random& rng, ExprPool& pool) {
  constexpr std::string_view kDelimiters[] = {"", "a", "b ", "  "};
  return {{std::string(kDelimiters[rng.range(0, 3)]), rng.range(-1, 3)},
          {TensorType{DType::str, constant_dims(pool, sample_dims(rng, rng.range(0, 2)))}}};
}

const OpDef& define_string_split() {
  return define<StringSplit>();
}

}  // namespace ingot::ops
