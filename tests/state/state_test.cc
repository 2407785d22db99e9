// tests/state/state_test.cc: a compiled attention step with a KV cache, contiguous and paged,
// against a recomputation in double over all tokens so far.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "codegen/compile.h"
#include "ops/attention.h"
#include "ops/matmul.h"
#include "ops/reshape.h"
#include "ops/state_append.h"
#include "runtime/model.h"

namespace ingot {
namespace {

constexpr int64_t kWidth = 16;  // of x
constexpr int64_t kHeads = 4;   // of q
constexpr int64_t kShared = 2;  // of k and v
constexpr int64_t kSize = 8;    // of a head
constexpr int64_t kToken = kShared * kSize;
constexpr int64_t kCapacity = 64;
constexpr int64_t kBlockSize = 7;
constexpr double kScale = 0.35;
// In float, keys and queries of up to 4 are off by up to 5e-7; a score, a sum of 8 of their
// products times 0.35, is off by up to 1e-5, and so is the logarithm of its weight.
constexpr double kTolerance = 1e-5;

std::vector<float> random_floats(Random& rng, int64_t count) {
  std::vector<float> values;
  for (int64_t k = 0; k < count; ++k) values.push_back(static_cast<float>(rng.real(-1, 1)));
  return values;
}

ConstantData constant_of(const std::vector<float>& values, std::vector<int64_t> dims) {
  Tensor tensor(DType::f32, std::move(dims));
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return to_constant(tensor);
}

/// The projections of one attention layer.
struct Layer {
  std::vector<float> q, k, v;  // [kWidth, heads * kSize]

  static Layer make() {
    Random rng(7);
    return {random_floats(rng, kWidth * kHeads * kSize), random_floats(rng, kWidth * kToken),
            random_floats(rng, kWidth * kToken)};
  }
};

/// x [B, T, kWidth] and two states -> y [B, T, kHeads, kSize] and the states.
Graph attention_graph(const Layer& layer, StateLayout layout) {
  Graph g;
  g.name = "step";
  ExprPool& pool = g.pool();
  StateType state;
  state.layout = layout;
  state.batch = pool.symbol("batch");
  state.length = pool.symbol("past");
  state.token = {pool.integer(kShared), pool.integer(kSize)};
  if (layout == StateLayout::paged) {
    state.capacity = pool.symbol("blocks");
    state.max_blocks = pool.symbol("row");
    state.block_size = kBlockSize;
  } else {
    state.capacity = pool.symbol("capacity");
  }
  const Expr t = pool.symbol("new");
  const ValueId x =
      g.add_input("x", TensorType{DType::f32, {state.batch, t, pool.integer(kWidth)}});
  const ValueId k_state = g.add_input("k", state);
  const ValueId v_state = g.add_input("v", state);
  const auto project = [&](const std::vector<float>& w, int64_t heads) {
    const ValueId weights = g.add_constant(constant_of(w, {kWidth, heads * kSize}));
    return g.must_add(ops::Reshape{{state.batch, t, pool.integer(heads), pool.integer(kSize)}},
                      {g.must_add(ops::MatMul{}, {x, weights})});
  };
  const ValueId q = project(layer.q, kHeads);
  const ValueId keys =
      g.must_add(ops::StateAppend{}, {k_state, project(layer.k, kShared)}, {"keys"});
  const ValueId values =
      g.must_add(ops::StateAppend{}, {v_state, project(layer.v, kShared)}, {"values"});
  const ValueId y =
      g.must_add(ops::Attention{.scale = kScale, .causal = true}, {q, keys, values}, {"attention"});
  g.set_outputs({{"y", y}, {"k_out", keys}, {"v_out", values}});
  return g;
}

/// One sequence, recomputed from all its tokens.
class Recomputed {
 public:
  explicit Recomputed(const Layer& layer) : layer_(layer) {}

  void append(const float* x) {
    keys_.push_back(project(layer_.k, x));
    values_.push_back(project(layer_.v, x));
    x_.assign(x, x + kWidth);
  }
  const std::vector<double>& key(size_t s) const { return keys_[s]; }
  const std::vector<double>& value(size_t s) const { return values_[s]; }

  /// [kHeads, kSize] for the last token.
  std::vector<double> attend() const {
    const std::vector<double> q = project(layer_.q, x_.data());
    std::vector<double> y;
    for (int64_t h = 0; h < kHeads; ++h) {
      const auto at = static_cast<size_t>(h / (kHeads / kShared) * kSize);
      std::vector<double> total(kSize);
      double sum = 0;
      for (size_t s = 0; s < keys_.size(); ++s) {
        double dot = 0;
        for (size_t d = 0; d < kSize; ++d) {
          dot += q[static_cast<size_t>(h * kSize) + d] * keys_[s][at + d];
        }
        const double weight = std::exp(dot * kScale);
        sum += weight;
        for (size_t d = 0; d < kSize; ++d) total[d] += weight * values_[s][at + d];
      }
      for (const double t : total) y.push_back(t / sum);
    }
    return y;
  }

 private:
  static std::vector<double> project(const std::vector<float>& w, const float* x) {
    const size_t columns = w.size() / kWidth;
    std::vector<double> y(columns);
    for (size_t e = 0; e < kWidth; ++e) {
      for (size_t n = 0; n < columns; ++n) y[n] += double{x[e]} * double{w[e * columns + n]};
    }
    return y;
  }

  const Layer& layer_;
  std::vector<float> x_;
  std::vector<std::vector<double>> keys_, values_;
};

/// Memory of the k and v states of one batch; memory that holds no token is NaN.
struct Cache {
  StateLayout layout;
  std::vector<int64_t> lengths;
  std::vector<float> k, v;
  std::vector<int32_t> table;
  int64_t blocks = 0, row = 0;

  static Cache make(StateLayout layout, int64_t batch) {
    Cache cache{layout, std::vector<int64_t>(static_cast<size_t>(batch)), {}, {}, {}, 0, 0};
    int64_t tokens = batch * kCapacity;
    if (layout == StateLayout::paged) {
      cache.row = (kCapacity + kBlockSize - 1) / kBlockSize;
      cache.blocks = batch * cache.row + 3;
      std::vector<int32_t> order;
      for (int32_t block = 0; block < cache.blocks; ++block) order.push_back(block);
      Random rng(11);
      for (size_t n = order.size(); n > 1; --n) {
        std::swap(order[n - 1],
                  order[static_cast<size_t>(rng.range(0, static_cast<int64_t>(n) - 1))]);
      }
      cache.table.assign(order.begin(), order.begin() + batch * cache.row);
      tokens = cache.blocks * kBlockSize;
    }
    cache.k.assign(static_cast<size_t>(tokens * kToken), std::nanf(""));
    cache.v = cache.k;
    return cache;
  }

  /// Where token s of sequence b begins.
  size_t at(int64_t b, int64_t s) const {
    int64_t token = b * kCapacity + s;
    if (layout == StateLayout::paged) {
      token = table[static_cast<size_t>(b * row + s / kBlockSize)] * kBlockSize + s % kBlockSize;
    }
    return static_cast<size_t>(token * kToken);
  }

  ingot_state state(std::vector<float>& data) {
    ingot_state s = INGOT_INIT(ingot_state);
    static constexpr int64_t kTokenDims[] = {kShared, kSize};
    s.layout = layout == StateLayout::paged ? INGOT_STATE_PAGED : INGOT_STATE_CONTIGUOUS;
    s.dtype = INGOT_FLOAT32;
    s.token_rank = 2;
    s.token_dims = kTokenDims;
    s.batch = static_cast<int64_t>(lengths.size());
    s.lengths = lengths.data();
    s.data = data.data();
    s.capacity = layout == StateLayout::paged ? 0 : kCapacity;
    s.blocks = blocks;
    s.block_size = layout == StateLayout::paged ? kBlockSize : 0;
    s.block_table = table.data();
    s.max_blocks = row;
    return s;
  }
};

ingot_tensor tensor_of(std::vector<float>& data, std::vector<int64_t>& dims) {
  ingot_tensor t = INGOT_INIT(ingot_tensor);
  t.dtype = INGOT_FLOAT32;
  t.rank = static_cast<int32_t>(dims.size());
  t.dims = dims.data();
  data.reserve(1);  // null would ask the run for memory
  t.data = data.data();
  return t;
}

/// One library per layout, compiled once; runs it on a cache.
class Stepped : public testing::TestWithParam<StateLayout> {
 protected:
  static Result<LoadedModel> load(StateLayout layout) {
    TRY(const TempDir folder, TempDir::create());
    CompileOptions options;
    options.target.levels = {host_level()};
    options.threads = 2;
    options.verify = true;
    options.cache = INGOT_BUILD_DIR "/tests/state/cache";  // each test is a process of its own
    TRY(options.toolchain, find_toolchain(INGOT_TEST_CXX));
    const auto path = folder.path() / "step.so";
    static const Layer layer = Layer::make();
    TRY_STATUS([&]() -> Status {
      TRY(const CompileReport report, compile(attention_graph(layer, layout), path, options));
      EXPECT_GT(report.kernels, 0U);
      return ok();
    }());
    return LoadedModel::open(path.string());
  }
  static const LoadedModel& model() {
    static std::map<StateLayout, Result<LoadedModel>> models;
    auto at = models.find(GetParam());
    if (at == models.end()) at = models.emplace(GetParam(), load(GetParam())).first;
    CHECK(at->second, at->second ? "" : to_text(at->second.error()));
    return *at->second;
  }

  /// y of [batch, tokens, kHeads, kSize].
  static Result<std::vector<float>> step(Cache& cache, std::vector<float> x, int64_t tokens) {
    const auto batch = static_cast<int64_t>(cache.lengths.size());
    std::vector<int64_t> x_dims = {batch, tokens, kWidth};
    std::vector<int64_t> y_dims = {batch, tokens, kHeads, kSize};
    std::vector<float> y(static_cast<size_t>(batch * tokens * kHeads * kSize));
    ingot_state k = cache.state(cache.k);
    ingot_state v = cache.state(cache.v);
    std::vector<ingot_tensor> inputs = {tensor_of(x, x_dims)};
    for (ingot_state* state : {&k, &v}) {
      ingot_tensor t = INGOT_INIT(ingot_tensor);
      t.kind = INGOT_KIND_STATE;
      t.data = state;
      inputs.push_back(t);
    }
    std::vector<ingot_tensor> outputs = {tensor_of(y, y_dims)};
    TRY_STATUS(model().run(inputs, outputs));
    return y;
  }

  Layer layer = Layer::make();
};

INSTANTIATE_TEST_SUITE_P(Layouts, Stepped,
                         testing::Values(StateLayout::contiguous, StateLayout::paged),
                         [](const auto& info) {
                           return info.param == StateLayout::paged ? "paged" : "contiguous";
                         });

/// Two sequences, the second 3 tokens ahead, and their caches.
struct Conversation {
  explicit Conversation(const Layer& layer, StateLayout layout)
      : sequences{Recomputed(layer), Recomputed(layer)}, cache(Cache::make(layout, 2)) {
    for (int64_t s = 0; s < 3; ++s) {
      sequences[1].append(random_floats(rng, kWidth).data());
      for (size_t d = 0; d < kToken; ++d) {
        const auto n = static_cast<size_t>(s);
        cache.k[cache.at(1, s) + d] = static_cast<float>(sequences[1].key(n)[d]);
        cache.v[cache.at(1, s) + d] = static_cast<float>(sequences[1].value(n)[d]);
      }
    }
    cache.lengths[1] = 3;
  }

  /// The expected y for `tokens` more tokens x of both.
  std::vector<double> append(const std::vector<float>& x, int64_t tokens) {
    std::vector<double> y;
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t t = 0; t < tokens; ++t) {
        sequences[static_cast<size_t>(b)].append(
            &x[static_cast<size_t>((b * tokens + t) * kWidth)]);
        const auto row = sequences[static_cast<size_t>(b)].attend();
        y.insert(y.end(), row.begin(), row.end());
      }
    }
    return y;
  }

  Random rng{3};
  Recomputed sequences[2];
  Cache cache;
};

void expect_near(const std::vector<float>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_NEAR(got[k], expected[k], kTolerance) << "element " << k;
  }
}

TEST_P(Stepped, FortyStepsEqualRecomputation) {
  Conversation c(layer, GetParam());
  for (int n = 0; n < 40; ++n) {
    SCOPED_TRACE(testing::Message() << "step " << n);
    const auto x = random_floats(c.rng, 2 * kWidth);
    const auto y = step(c.cache, x, 1);
    ASSERT_TRUE(y) << to_text(y.error());
    expect_near(*y, c.append(x, 1));
    ASSERT_EQ(c.cache.lengths, (std::vector<int64_t>{n + 1, n + 4}));
  }
}

TEST_P(Stepped, OneLibraryPrefillsAndSteps) {
  Conversation c(layer, GetParam());
  for (const int64_t tokens : {10, 1, 1, 5, 0, 20, 1}) {
    SCOPED_TRACE(testing::Message() << tokens << " tokens");
    const auto x = random_floats(c.rng, 2 * tokens * kWidth);
    const auto y = step(c.cache, x, tokens);
    ASSERT_TRUE(y) << to_text(y.error());
    expect_near(*y, c.append(x, tokens));
  }
  EXPECT_EQ(c.cache.lengths, (std::vector<int64_t>{38, 41}));
}

TEST_P(Stepped, KeepsTheTokensWhereTheCallerFindsThem) {
  Conversation c(layer, GetParam());
  const auto x = random_floats(c.rng, 2 * 9 * kWidth);
  c.append(x, 9);
  ASSERT_TRUE(step(c.cache, x, 9));
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t s = 0; s < c.cache.lengths[static_cast<size_t>(b)]; ++s) {
      for (size_t d = 0; d < kToken; ++d) {
        const Recomputed& sequence = c.sequences[b];
        const size_t at = c.cache.at(b, s) + d;
        // A sum of 16 products below 1, in float.
        EXPECT_NEAR(c.cache.k[at], sequence.key(static_cast<size_t>(s))[d], 1e-6);
        EXPECT_NEAR(c.cache.v[at], sequence.value(static_cast<size_t>(s))[d], 1e-6);
      }
    }
  }
}

TEST_P(Stepped, RefusesTokensThatDoNotFit) {
  Cache cache = Cache::make(GetParam(), 2);
  const int64_t room = GetParam() == StateLayout::paged ? cache.row * kBlockSize : kCapacity;
  cache.lengths = {5, room - 1};
  Random rng(1);
  const auto refused = step(cache, random_floats(rng, 2 * 2 * kWidth), 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().message, concat("state 'k': sequence 1: ", room - 1,
                                            " tokens and 2 new ones do not fit in ", room));
  EXPECT_EQ(cache.lengths, (std::vector<int64_t>{5, room - 1}));
  for (const float k : cache.k) EXPECT_TRUE(std::isnan(k));  // nothing was written
}

TEST_P(Stepped, RefusesForeignBlocks) {
  if (GetParam() != StateLayout::paged) return;  // contiguous states have none
  Cache cache = Cache::make(GetParam(), 2);
  cache.table[1] = static_cast<int32_t>(cache.blocks);
  Random rng(1);
  const auto refused = step(cache, random_floats(rng, 2 * 8 * kWidth), 8);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, concat("state 'k': block 1 of sequence 0: expected 0..",
                                            cache.blocks - 1, ", got ", cache.blocks));
}

TEST_P(Stepped, DescribesItsStates) {
  ASSERT_EQ(model().description().state_count, 2U);
  const ingot_state_info& state = model().state(1);
  EXPECT_STREQ(state.name, "v");
  EXPECT_STREQ(state.output_name, "v_out");
  EXPECT_EQ(state.dtype, INGOT_FLOAT32);
  ASSERT_EQ(state.token_rank, 2);
  EXPECT_EQ(state.token_dims[0], kShared);
  EXPECT_EQ(state.token_dims[1], kSize);
  EXPECT_EQ(state.block_size, GetParam() == StateLayout::paged ? kBlockSize : 0);
  EXPECT_EQ(state.appended, -1);
  EXPECT_STREQ(model().symbol(static_cast<uint32_t>(state.appended_symbol)).name, "new");
}

}  // namespace
}  // namespace ingot
