// ops/ops_test.cc: the tests that follow from every operator's hooks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "base/file.h"
#include "base/text.h"
#include "ops/page.h"
#include "ops/registry.h"
#include "tests/op_harness.h"

namespace ingot {
namespace {

constexpr uint64_t kCases = 48;

class Op : public testing::TestWithParam<const OpDef*> {
 protected:
  const OpDef& def() const { return *GetParam(); }
  bool has_dynamic_dims() const {
    return def().name != "constant" && def().name != "unimplemented" && def().name != "iota" &&
           def().name != "random" && def().name != "mersenne_twister" && def().name != "fusion" &&
           def().name != "if" && def().name != "loop" && def().name != "read_size" &&
           !takes_containers();  // no inputs, or inputs that the attributes fix
  }
  bool takes_containers() const {
    const auto c = draw_case(def(), 0);
    return c && std::ranges::any_of(c->input_types(), &Type::is_container);
  }
  void for_each_case(const std::function<void(const OpCase&)>& fn, uint64_t cases = kCases) {
    for (uint64_t seed = 0; seed < cases; ++seed) {
      auto c = draw_case(def(), seed);
      ASSERT_TRUE(c) << to_text(c.error());
      fn(*c);
      if (HasFatalFailure()) return;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, Op, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

// The interpreter refuses results whose dims are not those that infer promised.
TEST_P(Op, InferGivesTheShapesOfTheReference) {
  for_each_case([&](const OpCase& c) { EXPECT_TRUE(verify(c.graph)) << c.label; });
}

TEST_P(Op, PrintsAndParsesBack) {
  for_each_case([&](const OpCase& c) {
    const std::string text = to_text(c.graph);
    const auto* constant = c.op().as<Constant>();
    const auto parsed =
        parse_graph(text, find_op, [&](std::string_view) -> std::optional<ConstantData> {
          return constant == nullptr ? std::nullopt : std::optional(constant->data);
        });
    ASSERT_TRUE(parsed) << to_text(parsed.error()) << "\n" << text;
    EXPECT_EQ(to_text(*parsed), text);
  });
}

TEST_P(Op, IsMadeFromItsAttributes) {
  for_each_case([&](const OpCase& c) {
    Attributes attributes;
    for (size_t k = 0; k < def().fields.size(); ++k) {
      attributes.emplace(def().fields[k], c.op().attribute(k));
    }
    const auto made = def().make(attributes);
    ASSERT_TRUE(made) << to_text(made.error());
    EXPECT_EQ(*made, c.op());
  });
}

TEST_P(Op, LowerAgreesWithTheReference) {
  const Backend lowered = lowered_backend();
  for_each_case([&](const OpCase& c) { ASSERT_EQ(check_case(lowered, c), ""); });
}

TEST_P(Op, DynamicDimsGiveWhatStaticDimsGive) {
  const Backend lowered = lowered_backend();
  int symbols = 0;
  for_each_case([&](const OpCase& c) {
    if (c.expected.empty()) return;
    const auto dynamic = with_dynamic_dims(c, &symbols);
    ASSERT_TRUE(dynamic) << to_text(dynamic.error());
    ASSERT_EQ(compare(*dynamic, c.expected, true), "");
    ASSERT_EQ(check_case(lowered, *dynamic), "");
  });
  if (has_dynamic_dims()) {
    EXPECT_GT(symbols, 10) << "hardly any dim may be a symbol: does infer ask for its number? Ops "
                              "that do, because attributes fix the dims, are in has_dynamic_dims()";
  }
}

TEST_P(Op, FoldingGivesWhatRunningGives) {
  for_each_case([&](const OpCase& c) {
    if (c.expected.empty()) return;
    const auto folded = with_constant_inputs(c);
    ASSERT_TRUE(folded) << to_text(folded.error());
    ASSERT_EQ(compare(*folded, c.expected, true), "");
    for (size_t k = 0; k < folded->graph.outputs().size(); ++k) {
      const auto contents = symbolic_contents(folded->graph, folded->graph.outputs()[k].value);
      if (!contents) continue;
      for (size_t e = 0; e < contents->size(); ++e) {
        EXPECT_EQ((*contents)[e].as_int(), c.expected[k].integer(static_cast<int64_t>(e)))
            << c.label << ", element " << e;
      }
    }
  });
}

/// The case's types with every dim of size `from` made `to`.
std::vector<Type> with_size(const OpCase& c, int64_t from, int64_t to) {
  std::vector<Type> types = c.input_types();
  for (Type& type : types) {
    for (Expr& dim : type.tensor.dims) {
      if (dim.is_int(from)) dim = c.graph.pool().integer(to);
    }
  }
  return types;
}

// What infer accepts must run: nothing else guards the other hooks against odd sizes.
TEST_P(Op, EmptyAndScalarInputsRunOrAreRefused) {
  const Backend lowered = lowered_backend();
  if (def().reference == nullptr || def().name == "unimplemented") return;
  for_each_case(
      [&](const OpCase& c) {
        std::vector<std::vector<Type>> variants;
        for (int64_t size = 1; size < 6; ++size) variants.push_back(with_size(c, size, 0));
        for (int64_t size = 2; size < 6; ++size) variants.push_back(with_size(c, size, 1));
        std::vector<Type> scalars = with_size(c, 0, 0);
        for (Type& type : scalars) type.tensor.dims.clear();
        const bool symbolic =
            c.graph.pool().symbol_count() > 0;  // told from dims, so those have to stay
        if (!symbolic) variants.push_back(scalars);
        for (const auto& types : variants) {
          auto odd =
              make_case(c.label + ", odd sizes", c.op(), c.graph.shared_pool(), types, c.ranges, 1);
          if (!odd) {
            ASSERT_EQ(odd.error().code, Code::kInvalidArgument) << to_text(odd.error());
            continue;
          }
          ASSERT_EQ(check_case(lowered, *odd), "");
        }
      },
      kCases / 4);  // each makes up to ten
}

std::vector<Attribute> hostile_values(const Attribute& value, ExprPool& pool) {
  const std::vector<int64_t> numbers = {
      std::numeric_limits<int64_t>::min(), -kMaxDim - 1, -1, 0, 1, 7, kMaxDim, kMaxDim + 1,
      std::numeric_limits<int64_t>::max()};
  std::vector<Attribute> result;
  if (std::holds_alternative<int64_t>(value)) result.assign(numbers.begin(), numbers.end());
  if (std::holds_alternative<bool>(value)) result = {true, false};
  if (std::holds_alternative<double>(value)) {
    result = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
              -1.0};
  }
  if (std::holds_alternative<std::string>(value)) result = {std::string("\"*/\n")};
  if (std::holds_alternative<DType>(value)) result = {DType::str, DType::c64, DType::b8, DType::i4};
  if (std::holds_alternative<ReduceKind>(value)) result = {ReduceKind::any, ReduceKind::product};
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    for (const int64_t number : numbers) {
      std::vector<int64_t> changed = *list;
      changed.push_back(number);
      result.emplace_back(changed);
      changed = *list;
      for (int64_t& element : changed) element = number;
      result.emplace_back(changed);
    }
    result.emplace_back(std::vector<int64_t>{});
  }
  const auto odd_exprs = [&] {
    Exprs exprs = {Expr{}, pool.param(0, DType::i64), pool.real(1), pool.symbol("n") - 1};
    for (const int64_t number : numbers) exprs.push_back(pool.integer(number));
    return exprs;
  };
  if (std::holds_alternative<Expr>(value)) {
    for (const Expr e : odd_exprs()) result.emplace_back(e);
  }
  if (const auto* list = std::get_if<Exprs>(&value)) {
    for (const Expr e : odd_exprs()) {
      Exprs changed = *list;
      changed.push_back(e);
      result.emplace_back(changed);
      result.emplace_back(Exprs(list->size(), e));
    }
  }
  return result;
}

// Attributes come from model files: whatever they hold, infer answers.
TEST_P(Op, HostileAttributesAreAnswered) {
  for_each_case([&](const OpCase& c) {
    ExprPool& pool = c.graph.pool();
    const std::vector<Type> types = c.input_types();
    for (size_t k = 0; k < def().fields.size(); ++k) {
      for (const Attribute& value : hostile_values(c.op().attribute(k), pool)) {
        Attributes attributes;
        for (size_t j = 0; j < def().fields.size(); ++j) {
          attributes.emplace(def().fields[j], j == k ? value : c.op().attribute(j));
        }
        const auto op = def().make(attributes);
        ASSERT_TRUE(op) << to_text(op.error());
        InferContext ctx{pool, types, c.present(), {}};
        const auto answer = def().infer(op->data(), ctx);
        if (!answer) {
          ASSERT_EQ(answer.error().code, Code::kInvalidArgument) << to_text(answer.error());
        }
      }
    }
  });
}

// Other inputs than an op can take, of each kind of type.
TEST_P(Op, WrongInputsAreAnswered) {
  auto c = draw_case(def(), 0);
  ASSERT_TRUE(c) << to_text(c.error());
  ExprPool& pool = c->graph.pool();
  const TensorType text{DType::str, {pool.integer(2)}};
  const TensorType number{DType::f32, {pool.integer(2), pool.integer(3)}};
  StateType state;
  state.batch = state.capacity = state.length = pool.integer(2);
  const std::vector<Type> choices = {text, number, state, ContainerType{}};
  for (size_t count = 0; count < 5; ++count) {
    for (const Type& choice : choices) {
      const std::vector<Type> types(count, choice);
      for (const bool present : {true, false}) {
        InferContext ctx{pool, types, std::vector<bool>(count, present), {}};
        const auto answer = def().infer(c->op().data(), ctx);
        if (!answer) {
          EXPECT_EQ(answer.error().code, Code::kInvalidArgument) << to_text(answer.error());
        }
      }
    }
  }
}

TEST(Registry, FindsEveryOpAndNothingElse) {
  std::string_view last;
  for (const OpDef* def : all_ops()) {
    EXPECT_LT(last, def->name) << "ops.def is sorted";
    EXPECT_EQ(find_op(def->name), def);
    last = def->name;
  }
  EXPECT_EQ(find_op("softmacks"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
}

TEST(Registry, EveryOpHasItsFile) {
  for (const OpDef* def : all_ops()) {
    if (def->name == "constant" || def->name == "unimplemented") continue;  // ir/builtin_ops.cc
    const std::string path = concat(INGOT_SOURCE_DIR, "/src/ops/", def->name);
    EXPECT_TRUE(std::filesystem::exists(path + ".cc")) << path;
    EXPECT_TRUE(std::filesystem::exists(path + "_test.cc")) << path;
  }
}

TEST(Page, IsUpToDate) {
  const std::string path = concat(INGOT_SOURCE_DIR, "/docs/ops.md");
  const std::string page = ops_page(all_ops());
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    const Status written = write_atomically(path, page);
    ASSERT_TRUE(written) << to_text(written.error());
  }
  const auto held = read_text(path);
  ASSERT_TRUE(held) << to_text(held.error());
  EXPECT_EQ(*held, page) << "run with UPDATE_GOLDEN=1 to write docs/ops.md anew";
}

}  // namespace
}  // namespace ingot
