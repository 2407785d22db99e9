// ops/random.cc: Philox4x32-10, a bijection of counters that mixes them well.
#include "ops/random.h"

#include <array>
#include <cmath>

#include "ops/checks.h"
#include "ops/registry.h"
#include "ops/sampling.h"

namespace ingot::ops {
namespace {

constexpr int kRounds = 10;
constexpr std::array<uint64_t, 2> kMultipliers = {0xD2511F53, 0xCD9E8D57};
constexpr std::array<uint64_t, 2> kWeyl = {0x9E3779B9, 0xBB67AE85};  // added to the key each round
constexpr uint64_t kWord = 0xFFFFFFFF;

int bits_of(DType dtype) {
  return dtype == DType::f64 ? 53 : 24;
}

}  // namespace

uint64_t philox(uint64_t counter, uint64_t stream, uint64_t key) {
  std::array<uint64_t, 4> c = {counter & kWord, counter >> 32, stream & kWord, stream >> 32};
  std::array<uint64_t, 2> k = {key & kWord, key >> 32};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = kMultipliers[0] * c[0], b = kMultipliers[1] * c[2];
    c = {(b >> 32) ^ c[1] ^ k[0], b & kWord, (a >> 32) ^ c[3] ^ k[1], a & kWord};
    for (size_t w = 0; w < 2; ++w) k[w] = (k[w] + kWeyl[w]) & kWord;
  }
  return c[0] << 32 | c[1];
}

Result<Types> RandomUniform::infer(InferContext& ctx) const {
  TRY_STATUS(expect_inputs<RandomUniform>(ctx));
  if (dtype != DType::f32 && dtype != DType::f64) {  // C2
    return invalid_argument(kName, ": expected f32 or f64, got ", dtype);
  }
  if (ctx.has(0) && (ctx.tensor(0).dtype != DType::i64 || ctx.tensor(0).rank() != 0)) {  // C3
    return invalid_argument(kName, ": expected a turn of i64[], got ", to_text(ctx.inputs[0]));
  }
  return one_tensor(kName, dtype, dims);  // C1
}

std::vector<Tensor> RandomUniform::reference(const ReferenceContext& ctx) const {
  Tensor y = ctx.make_output();
  const int bits = bits_of(dtype);
  const uint64_t turn = ctx.has(0) ? static_cast<uint64_t>(ctx.in[0].integer(0)) : 0;
  const uint64_t from = static_cast<uint64_t>(stream) ^ turn << 32;
  for (int64_t i = 0; i < y.size(); ++i) {
    const uint64_t words = philox(static_cast<uint64_t>(i), from, static_cast<uint64_t>(seed));
    y.set_real(i, std::ldexp(static_cast<double>(words >> (64 - bits)), -bits));
  }
  return {std::move(y)};
}

Expr RandomUniform::lower(Lowering& k, size_t, std::span<const Expr> index) const {
  const auto word = [&](uint64_t value) {
    return k.pool().integer(static_cast<int64_t>(value), DType::u64);
  };
  const auto high = [&](Expr e) { return binary(ExprKind::shift_right, e, word(32)); };
  const auto low = [&](Expr e) { return binary(ExprKind::bit_and, e, word(kWord)); };
  const auto mixed = [](Expr a, Expr b) { return binary(ExprKind::bit_xor, a, b); };
  Expr flat = k.integer(0);
  for (size_t a = 0; a < index.size(); ++a) flat = flat * dims[a] + index[a];
  const Expr counter = cast(flat, DType::u64);
  const uint64_t from = static_cast<uint64_t>(stream), key = static_cast<uint64_t>(seed);
  Exprs c = {low(counter), high(counter), word(from & kWord), word(from >> 32)};
  if (k.has(0)) c[3] = mixed(c[3], low(cast(k.load(0, {}), DType::u64)));
  std::array<uint64_t, 2> keys = {key & kWord, key >> 32};
  for (int round = 0; round < kRounds; ++round) {
    const Expr a = word(kMultipliers[0]) * c[0], b = word(kMultipliers[1]) * c[2];
    c = {mixed(mixed(high(b), c[1]), word(keys[0])), low(b),
         mixed(mixed(high(a), c[3]), word(keys[1])), low(a)};
    for (size_t w = 0; w < 2; ++w) keys[w] = (keys[w] + kWeyl[w]) & kWord;
  }
  const int bits = bits_of(dtype);
  const Expr words = binary(ExprKind::bit_or, binary(ExprKind::shift_left, c[0], word(32)), c[1]);
  const Expr kept = binary(ExprKind::shift_right, words, word(static_cast<uint64_t>(64 - bits)));
  // Both are exact: the number of bits was chosen so.
  const Expr whole = cast(cast(kept, dtype == DType::f64 ? DType::i64 : DType::i32), dtype);
  return whole * k.pool().real(std::ldexp(1.0, -bits), dtype);
}

Sample<RandomUniform> RandomUniform::sample(Random& rng, ExprPool& pool) {
  const int64_t rank = rng.range(0, 3);
  std::vector<Type> turn;
  if (rng.chance(0.3)) turn.push_back(TensorType{DType::i64, {}});
  return {{.dims = constant_dims(pool, sample_dims(rng, rank)),
           .seed = static_cast<int64_t>(rng.bits()),
           .stream = rng.range(-1, 2),
           .dtype = rng.chance(0.3) ? DType::f64 : DType::f32},
          std::move(turn)};
}

const OpDef& define_random() {
  return define<RandomUniform>();
}

}  // namespace ingot::ops
