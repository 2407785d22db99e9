// ir/graph_test.cc: the five verbs, the verifier, symbolic contents and the interpreter.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/test_ops.h"
#include "kernel/stmt.h"

namespace ingot {
namespace {

using test_ops::Everything;
using test_ops::FourTimes;
using test_ops::Positions;
using test_ops::Product;
using test_ops::Shape;
using test_ops::Sum;
using test_ops::Twice;

Type f32(Exprs dims) {
  return TensorType{DType::f32, std::move(dims)};
}

std::string problem(const Status& status) {
  return status ? "" : to_text(status.error());
}

TEST(Graph, AddRunsInfer) {
  Graph g;
  const ValueId x = g.add_input("x", f32({g.pool().integer(2)}));
  const ValueId y = g.must_add(Twice{}, {x});
  EXPECT_EQ(to_text(g.type(y)), "f32[2]");
  const ValueId z = g.add_input("z", f32({g.pool().integer(3)}));
  const auto bad = g.add(make_op(Sum{}), {x, z}, {"add1"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(to_text(bad.error()),
            "node 'add1': sum_of: expected dims that agree, got f32[2] and f32[3]");
}

TEST(Graph, AddChecksTheNumberOfInputs) {
  Graph g;
  const ValueId x = g.add_input("x", f32({}));
  EXPECT_EQ(to_text(g.add(make_op(Sum{}), {x}).error()), "sum_of: expected 2 to 3 inputs, got 1");
  EXPECT_EQ(to_text(g.add(make_op(Sum{}), {x, x, x, x}).error()),
            "sum_of: expected 2 to 3 inputs, got 4");
  EXPECT_EQ(to_text(g.add(make_op(Sum{}), {ValueId(), x}).error()),
            "sum_of: input 0 is required, but absent");
  EXPECT_EQ(to_text(g.add(make_op(Twice{}), {x, x}).error()), "twice: expected 1 inputs, got 2");
}

TEST(Graph, KeepsAssumptionsOnce) {
  Graph g;
  const ValueId x = g.add_input("x", f32({g.pool().symbol("a")}));
  const ValueId y = g.add_input("y", f32({g.pool().symbol("b")}));
  g.must_add(Sum{}, {x, y});
  g.must_add(Sum{}, {x, y});
  ASSERT_EQ(g.assumptions().size(), 1u);
  EXPECT_EQ(g.assumptions()[0].text, "operands of sum_of");
}

TEST(Graph, CompactDropsAndSorts) {
  Graph g;
  const ValueId x = g.add_input("x", f32({}));
  const ValueId a = g.must_add(Twice{}, {x});
  const ValueId b = g.must_add(Twice{}, {a});
  g.must_add(FourTimes{}, {x});  // nobody uses it
  g.set_outputs({{"y", b}});
  const ValueId late = g.must_add(FourTimes{}, {x});
  g.replace_uses(a, late);
  EXPECT_NE(problem(verify(g)), "");
  g.compact();
  EXPECT_EQ(problem(verify(g)), "");
  EXPECT_EQ(to_text(g),
            "graph \"\" {\n"
            "  input %0 \"x\": f32[]\n"
            "  %1 = four_times(%0): f32[]\n"
            "  %2 = twice(%1): f32[]\n"
            "  output %2 \"y\"\n"
            "}\n");
}

TEST(Graph, ReplaceUsesMovesOutputs) {
  Graph g;
  const ValueId x = g.add_input("x", f32({}));
  const ValueId a = g.must_add(Twice{}, {x});
  g.set_outputs({{"y", a}, {"z", a}});
  g.replace_uses(a, x);
  EXPECT_FALSE(g.is_graph_output(a));
  EXPECT_EQ(g.value(x).output_count, 2u);
  g.remove_if_unused(g.value(a).producer);
  EXPECT_TRUE(g.value(x).uses.empty());
  g.compact();
  EXPECT_EQ(g.node_count(), 0u);
  EXPECT_EQ(problem(verify(g)), "");
}

TEST(Graph, RemoveIfUnusedGoesUpstream) {
  Graph g;
  const ValueId x = g.add_input("x", f32({}));
  const ValueId a = g.must_add(Twice{}, {x});
  const ValueId b = g.must_add(Twice{}, {a});
  const ValueId c = g.must_add(Sum{}, {a, b});
  g.set_outputs({{"y", a}});
  g.remove_if_unused(g.value(c).producer);
  EXPECT_EQ(g.nodes().size(), 1u);
  EXPECT_TRUE(g.value(a).uses.empty());
}

TEST(Graph, SetOpKeepsTypes) {
  Graph g;
  const ValueId x = g.add_input("x", f32({}));
  const ValueId a = g.must_add(Twice{}, {x});
  g.set_outputs({{"y", a}});
  g.set_op(g.value(a).producer, make_op(FourTimes{}));
  EXPECT_NE(g.producer_as<FourTimes>(a), nullptr);
  EXPECT_EQ(g.producer_as<Twice>(a), nullptr);
}

TEST(Graph, CompactIsLinear) {
  Graph g;
  ValueId v = g.add_input("x", f32({}));
  for (int k = 0; k < 100000; ++k) v = g.must_add(Twice{}, {v});
  g.set_outputs({{"y", v}});
  g.compact();
  EXPECT_EQ(g.node_count(), 100000u);
}

TEST(OpRef, EqualsByAttributes) {
  const OpRef a = make_op(Everything{.texts = {"a"}});
  EXPECT_EQ(a, make_op(Everything{.texts = {"a"}}));
  EXPECT_FALSE(a == make_op(Everything{.texts = {"b"}}));
  EXPECT_FALSE(a == make_op(Twice{}));
  EXPECT_EQ(make_op(Constant{to_constant(Tensor::of_ints({1, 2}))}),
            make_op(Constant{to_constant(Tensor::of_ints({1, 2}))}));
}

TEST(OpDef, MakesFromAttributes) {
  const OpDef& def = op_def<Everything>();
  const auto op = def.make({{"real", Attribute(int64_t{3})}, {"flag", Attribute(int64_t{1})}});
  ASSERT_TRUE(op);
  EXPECT_EQ(op->as<Everything>()->real, 3.0);
  EXPECT_TRUE(op->as<Everything>()->flag);
  EXPECT_EQ(to_text(def.make({{"size", Attribute(int64_t{3})}}).error()),
            "everything: has no attribute 'size'");
  EXPECT_EQ(to_text(def.make({{"integer", Attribute(std::string("x"))}}).error()),
            "everything: attribute 'integer': expected an integer, got a text \"x\"");
}

// ---- Text form ---------------------------------------------------------------------------------

/// Prints, reads, prints: both texts must agree.
void expect_round_trip(const Graph& g, const ConstantLookup& constants = {}) {
  const std::string text = to_text(g);
  const auto back = parse_graph(text, test_ops::lookup, constants);
  ASSERT_TRUE(back) << to_text(back.error()) << "\n" << text;
  EXPECT_EQ(to_text(*back), text);
  EXPECT_EQ(problem(verify(*back)), "");
}

TEST(GraphText, RoundTripsEverything) {
  Graph g;
  g.name = "odd \"name\"\n";
  g.metadata = {{"author", "a, b"}, {"", "="}};
  ExprPool& pool = g.pool();
  const Expr n = pool.symbol("n");
  pool.symbol_info(n.symbol()).range = {1, 512};
  pool.symbol_info(n.symbol()).divisor = 8;
  const ValueId x = g.add_input("in", f32({n, pool.symbol("m")}));
  g.set_value_name(x, "another");
  auto body = std::make_shared<Graph>(g.shared_pool());
  body->name = "body";
  const ValueId inner = body->add_input("i", f32({n}));
  body->set_outputs({{"o", body->must_add(Twice{}, {inner})}});
  const Tensor texts = Tensor::of_strings({2}, std::vector<std::string>{"a\"b", ""});
  const auto add = [&](Everything op) { return g.must_add(std::move(op), {}, {"p", "q\n"}); };
  std::vector<GraphOutput> outputs;
  const auto output = [&](ValueId id) { outputs.push_back({"y", id}); };
  output(add({.flag = true, .integer = -7, .real = 0.1, .text = "t", .dtype = DType::bf16}));
  output(add({.real = -INFINITY, .kind = ReduceKind::max, .integers = {1, -2}, .reals = {1, 2.5}}));
  output(add({.texts = {"a", "b,c"}, .dims = {n * 2, pool.integer(3)}}));
  output(add({.value = pool.param(0, DType::f32) * pool.param(2, DType::f32) + pool.real(1.5)}));
  output(add({.value = cast(pool.param(1, DType::i64) + n, DType::f16)}));
  output(add({.data = to_constant(Tensor::of_ints({1, 2, 3})), .body = body}));
  output(g.add_constant(to_constant(texts), "names"));
  output(g.must_add(Sum{}, {x, x, x}));
  output(g.must_add(Positions{}, {g.add_constant(to_constant(Tensor::of_ints({1})))}));
  g.assumptions().push_back({n, pool.symbol("m"), "two \"dims\""});
  g.set_outputs(outputs);
  g.compact();
  expect_round_trip(g);
}

TEST(GraphText, AsksForLargeConstants) {
  Graph g;
  Tensor large(DType::f32, {100});
  for (int64_t k = 0; k < 100; ++k) large.set_real(k, static_cast<double>(k));
  const ConstantData data = to_constant(large);
  g.set_outputs({{"y", g.add_constant(data)}});
  const std::string hash = content_hash(data);
  EXPECT_NE(to_text(g).find("f32[100]#" + hash), std::string::npos);
  EXPECT_FALSE(parse_graph(to_text(g), test_ops::lookup));
  expect_round_trip(g, [&](std::string_view wanted) {
    return wanted == hash ? std::optional(data) : std::nullopt;
  });
}

TEST(GraphText, ConstantsOfEveryDType) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.kind == DTypeKind::kString || row.kind == DTypeKind::kComplex) continue;
    Graph g;
    Tensor t(row.dtype, {3});
    t.set_real(0, 1);
    t.set_real(1, is_signed(row.dtype) ? -1 : 0);
    t.set_integer(2, -1);
    g.set_outputs({{"y", g.add_constant(to_constant(t))}});
    expect_round_trip(g);
  }
}

TEST(GraphText, SaysWhereAndWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto graph = parse_graph(text, test_ops::lookup);
    return graph ? std::string("parsed") : to_text(graph.error());
  };
  EXPECT_EQ(message("graph \"a\" {\n  output %0 \"y\"\n}"),
            "line 2: expected a value above, got %0 before, got '\"y\"'");
  EXPECT_EQ(message("graph \"a\" {\n  %0 = foo()\n}"),
            "line 2: expected a known operator, got 'foo' before, got '()'");
  EXPECT_EQ(message("graph \"a\" {"),
            "line 1: expected symbols, metadata, input, a node, assume, output or '}', got ''");
  EXPECT_EQ(message("graph \"a\" { input %0 \"x\": f32[2] %1 = twice(%0): f32[3] }"),
            "line 1: expected type f32[2] of twice before, not f32[3], got '}'");
  EXPECT_EQ(message("graph \"a\" { %0 = everything(; flag=true, flag=true): f32[] }"),
            "line 1: expected each attribute once, got 'flag' again before, got '): f32[] }'");
  // What was made before would read back simplified further.
  EXPECT_EQ(message("graph \"a\" { input %0 \"x\": f32[n // 4] symbols: n in 0..2 }"),
            "line 1: expected symbols only in front of all inputs, nodes and assumptions, got "
            "'symbols: n in 0..2 }'");
}

TEST(GraphText, SurvivesDamage) {
  Graph g;
  const ValueId x = g.add_input("x", f32({g.pool().symbol("n")}));
  g.set_outputs(
      {{"y", g.must_add(Everything{.texts = {"a"}, .dims = {g.pool().symbol("n")}}, {x})}});
  const std::string text = to_text(g);
  Random rng(1);
  for (int k = 0; k < 3000; ++k) {
    std::string damaged = text;
    const size_t at = static_cast<size_t>(rng.range(0, static_cast<int64_t>(text.size()) - 1));
    if (rng.chance(0.3)) {
      damaged.resize(at);
    } else if (rng.chance(0.5)) {
      damaged[at] = static_cast<char>(rng.range(1, 127));
    } else {
      damaged.insert(at, damaged.substr(static_cast<size_t>(rng.range(0, 40)), 9));
    }
    (void)parse_graph(damaged, test_ops::lookup);
  }
}

// ---- Symbolic contents -------------------------------------------------------------------------

TEST(SymbolicContents, FollowsShapeArithmetic) {
  Graph g;
  const Expr n = g.pool().symbol("n");
  const ValueId x = g.add_input("x", f32({n, g.pool().integer(3)}));
  const ValueId shape = g.must_add(Shape{}, {x});
  const ValueId doubled = g.must_add(Twice{}, {shape});
  EXPECT_EQ(symbolic_contents(g, doubled), (Exprs{n * 2, g.pool().integer(6)}));
  EXPECT_EQ(symbolic_contents(g, g.must_add(Product{}, {doubled})), Exprs{n * 12});
}

TEST(SymbolicContents, ReadsConstants) {
  Graph g;
  const ValueId c = g.add_constant(to_constant(Tensor::of_ints({5, -1})));
  EXPECT_EQ(symbolic_contents(g, g.must_add(Twice{}, {c})),
            (Exprs{g.pool().integer(10), g.pool().integer(-2)}));
}

TEST(SymbolicContents, StopsAtDataAndSize) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType{DType::i64, {g.pool().integer(2)}});
  EXPECT_FALSE(symbolic_contents(g, g.must_add(Twice{}, {x})));
  const ValueId wide = g.add_constant(to_constant(Tensor(DType::i64, {65})));
  EXPECT_FALSE(symbolic_contents(g, wide));
  EXPECT_TRUE(symbolic_contents(g, wide, 65));
  const ValueId real = g.add_constant(to_constant(Tensor(DType::f32, {2})));
  EXPECT_FALSE(symbolic_contents(g, real));
}

TEST(SymbolicContents, RemembersLongChains) {
  Graph g;
  ValueId v = g.add_constant(to_constant(Tensor::of_ints({0, 0})));
  SymbolicContents contents(g);
  for (int k = 0; k < 20000; ++k) {
    v = g.must_add(Twice{}, {v});
    ASSERT_TRUE(contents.find(v));
  }
  EXPECT_FALSE(symbolic_contents(g, v)) << "deeper than one question may follow";
}

// ---- Interpreter -------------------------------------------------------------------------------

TEST(Interpreter, RunsNodesAndComposites) {
  Graph g;
  const ValueId x = g.add_input("x", f32({g.pool().symbol("n")}));
  g.set_outputs({{"y", g.must_add(FourTimes{}, {x})}, {"s", g.must_add(Shape{}, {x})}});
  Interpreter interpreter(g);
  Tensor in(DType::f32, {2});
  in.set_real(0, 1.5);
  const auto out = interpreter.run(std::span(&in, 1));
  ASSERT_TRUE(out) << to_text(out.error());
  EXPECT_EQ((*out)[0].real(0), 6);
  EXPECT_EQ((*out)[1].integer(0), 2);
  EXPECT_EQ(interpreter.symbols[0], 2);
}

TEST(Interpreter, BindsDataDependentDims) {
  Graph g;
  const ValueId x = g.add_input("x", TensorType{DType::i64, {g.pool().integer(4)}});
  const ValueId found = g.must_add(Positions{}, {x});
  g.set_outputs({{"y", g.must_add(Twice{}, {found})}});
  Interpreter interpreter(g);
  const Tensor in = Tensor::of_ints({0, 3, 0, 7});
  const auto out = interpreter.run(std::span(&in, 1));
  ASSERT_TRUE(out) << to_text(out.error());
  EXPECT_EQ(std::vector<int64_t>((*out)[0].ints().begin(), (*out)[0].ints().end()),
            (std::vector<int64_t>{2, 6}));
}

TEST(Interpreter, AnEmptyTensorFitsHoweverLongItsOtherDims) {
  Graph g;
  const ValueId x =
      g.add_input("x", f32({g.pool().symbol("a"), g.pool().symbol("b"), g.pool().symbol("c")}));
  g.set_outputs({{"y", g.must_add(Twice{}, {x})}});
  Interpreter interpreter(g);
  const Tensor in(DType::f32, {1 << 30, 1 << 30, 0});
  const auto out = interpreter.run(std::span(&in, 1));
  ASSERT_TRUE(out) << to_text(out.error());
  EXPECT_EQ((*out)[0].dims(), in.dims());
}

TEST(Interpreter, RefusesInputsThatDoNotFit) {
  Graph g;
  const Expr n = g.pool().symbol("n");
  g.pool().symbol_info(n.symbol()).range = {2, 8};
  g.pool().symbol_info(n.symbol()).divisor = 2;
  const ValueId x = g.add_input("x", f32({n, n}));
  const ValueId y = g.add_input("y", f32({g.pool().symbol("m"), n}));
  g.set_outputs({{"z", g.must_add(Sum{}, {x, y})}});
  Interpreter interpreter(g);
  const auto run = [&](Tensor a, Tensor b) {
    const std::vector<Tensor> in = {std::move(a), std::move(b)};
    const auto out = interpreter.run(in);
    return out ? std::string() : to_text(out.error());
  };
  const auto of = [](std::vector<int64_t> dims) { return Tensor(DType::f32, std::move(dims)); };
  EXPECT_EQ(run(of({4, 4}), of({4, 4})), "");
  EXPECT_EQ(run(of({4, 5}), of({4, 4})), "input 'x': expected dim 1 (n) to be 4, got 5");
  EXPECT_EQ(run(of({4}), of({4, 4})), "input 'x': expected f32[n, n], got dims [4]");
  EXPECT_EQ(run(Tensor(DType::f64, {4, 4}), of({4, 4})), "input 'x': expected f32, got f64");
  EXPECT_EQ(run(of({3, 3}), of({3, 3})), "dim n: expected 2..8, a multiple of 2, got 3");
  EXPECT_EQ(run(of({4, 4}), of({2, 4})), "operands of sum_of: expected n == m, got 4 and 2");
  const Tensor one = of({4, 4});
  EXPECT_EQ(to_text(interpreter.run(std::span(&one, 1)).error()),
            "graph '': expected 2 inputs, got 1");
}

TEST(Interpreter, RefusesDimsThatNothingTells) {
  Graph g;
  const Expr n = g.pool().symbol("n");
  const ValueId x = g.add_input("x", f32({n * 2}));
  g.set_outputs({{"y", (*g.add(make_op(Twice{}), {x}, {"double"}))[0]}});
  const Tensor in(DType::f32, {4});
  Interpreter interpreter(g);
  const auto out = interpreter.run(std::span(&in, 1));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::kInvalidArgument);
  EXPECT_EQ(to_text(out.error()),
            "node 'double': twice: no input tells the dim n * 2 of its result f32[n * 2]");
  interpreter.known_symbols = {2};
  EXPECT_TRUE(interpreter.run(std::span(&in, 1)));
}

TEST(Interpreter, RefusesSizesThatMakeNoSense) {
  Graph g;
  const Expr n = g.pool().symbol("n");
  const ValueId x = g.add_input("x", f32({n}));
  const ValueId shifted = g.add_input("s", f32({n - 3}));
  const ValueId huge = g.add_input("h", f32({n * 1000000000000}));
  g.set_outputs({{"y", g.must_add(Twice{}, {x})},
                 {"t", g.must_add(Twice{}, {shifted})},
                 {"u", g.must_add(Twice{}, {huge})}});
  const auto run = [&](int64_t size, int64_t rest) {
    const std::vector<Tensor> in = {Tensor(DType::f32, {size}), Tensor(DType::f32, {rest}),
                                    Tensor(DType::f32, {0})};
    const auto out = Interpreter(g).run(in);
    return out ? std::string() : to_text(out.error());
  };
  EXPECT_EQ(run(0, 0), "input 's': expected dim 0 (n - 3) to be -3, got 0");
  EXPECT_EQ(run(3, 0), "input 'h': expected dim 0 (n * 1000000000000) to be 3000000000000, got 0");
}

Type state_type(ExprPool& pool, StateLayout layout) {
  StateType state;
  state.layout = layout;
  state.batch = pool.symbol("batch");
  state.length = pool.symbol("past");
  state.capacity = pool.symbol("capacity");
  state.token = {pool.integer(2)};
  if (layout == StateLayout::paged) {
    state.max_blocks = pool.symbol("row");
    state.block_size = 4;
  }
  return state;
}

TEST(Interpreter, ChecksTheLengthsOfStates) {
  Graph g;
  const ValueId state = g.add_input("kv", state_type(g.pool(), StateLayout::contiguous));
  g.set_outputs({{"kv_out", state}});
  const auto run = [&](int64_t capacity, std::vector<int64_t> lengths) {
    const std::vector<Tensor> in = {
        Tensor(DType::f32, {static_cast<int64_t>(lengths.size()), capacity, 2}),
        Tensor::of_ints(lengths)};
    const auto out = Interpreter(g).run(in);
    return out ? std::string() : to_text(out.error());
  };
  EXPECT_EQ(run(3, {3, 0}), "");
  EXPECT_EQ(run(0, {0, 0}), "");
  EXPECT_EQ(run(3, {}), "");
  EXPECT_EQ(run(3, {1, 4}), "input 'kv': sequence 1: 4 tokens and 0 new ones do not fit in 3");
  EXPECT_EQ(run(3, {1, -1}), "input 'kv': length 1: expected at least 0, got -1");
}

TEST(Interpreter, ChecksTheLengthsOfPagedStates) {
  Graph g;
  const ValueId state = g.add_input("kv", state_type(g.pool(), StateLayout::paged));
  g.set_outputs({{"kv_out", state}});
  const auto run = [&](int64_t blocks, int64_t row, std::vector<int64_t> lengths) {
    const auto batch = static_cast<int64_t>(lengths.size());
    const std::vector<Tensor> in = {Tensor(DType::f32, {blocks, 4, 2}),
                                    Tensor(DType::i64, {batch, row}), Tensor::of_ints(lengths)};
    const auto out = Interpreter(g).run(in);
    return out ? std::string() : to_text(out.error());
  };
  EXPECT_EQ(run(3, 2, {8, 0}), "");
  EXPECT_EQ(run(0, 0, {0, 0}), "");
  EXPECT_EQ(run(0, 0, {}), "");
  EXPECT_EQ(run(3, 0, {1}), "input 'kv': sequence 0: 1 tokens and 0 new ones do not fit in 0");
  EXPECT_EQ(run(0, 2, {1}), "input 'kv': expected at least 1 block for 1 tokens, got 0");
}

TEST(Interpreter, NamesWhatIsUnimplemented) {
  Graph g;
  Unimplemented op;
  op.op_type = "Foo";
  op.reason = "no such operator";
  const auto y = g.add(make_op(op), {}, {"foo1"});
  ASSERT_TRUE(y);
  g.set_outputs({{"y", (*y)[0]}});
  EXPECT_EQ(to_text(Interpreter(g).run({}).error()),
            "node 'foo1': unimplemented: no such operator");
}

TEST(Interpreter, ShowsEveryValue) {
  Graph g;
  const ValueId x = g.add_input("x", f32({}));
  const ValueId a = g.must_add(Twice{}, {x});
  g.set_outputs({{"y", g.must_add(Twice{}, {a})}});
  Interpreter interpreter(g);
  std::vector<double> seen;
  interpreter.on_value = [&](ValueId, const Tensor& t) { seen.push_back(t.real(0)); };
  const Tensor in = Tensor::scalar(DType::f32, 3);
  ASSERT_TRUE(interpreter.run(std::span(&in, 1)));
  EXPECT_EQ(seen, (std::vector<double>{6, 12}));
}

}  // namespace
}  // namespace ingot
