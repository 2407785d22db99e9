// tests/compiled/idioms_test.cc: what exporters write in many ways is as few kernels in each of
// them: operands commuted, Identity and Cast nodes between, other axes and constants.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"
#include "frontend/import.h"
#include "frontend/test_model.h"
#include "ops/fusion.h"
#include "passes/pass.h"
#include "passes/split_prepare.h"
#include "tests/compiled/plan_runner.h"
#include "tests/random_graph.h"

namespace ingot {
namespace {

using namespace ingot::testing;  // NOLINT(google-build-using-namespace): the writers

/// Rounding of sums of 48 products, and of erf and tanh in fp32.
constexpr double kTolerance = 2e-5;

/// Ways to write the same; each line is "y = Op(a, b; axis=-1)".
struct Idiom {
  std::string name;
  size_t kernels;  // without those that prepare weights
  std::vector<std::string> ways;
};

// x[n, 12, 48] is multiplied by w[48, 48], the picture p[n, 8, 6, 6] convolved with k[16, 8, 3, 3].
constexpr std::string_view kDense = "h = MatMul(x, w)\nv = Add(h, b)\n";
constexpr std::string_view kPicture =
    "h = Conv(p, k; pads=[1 1 1 1])\nv = BatchNormalization(h, scale, c, c, variance)\n";

std::string behind(std::string_view front, std::string_view rest) {
  return concat(front, rest);
}

std::vector<Idiom> idioms() {
  std::vector<Idiom> all;
  all.push_back(
      {"gelu",
       1,
       {behind(kDense,
               "d = Div(v, sqrt2)\ne = Erf(d)\na = Add(e, one)\nm = Mul(v, a)\n"
               "y = Mul(m, half)"),
        behind(kDense,
               "d = Mul(rsqrt2, v)\ne = Erf(d)\na = Add(one, e)\nm = Mul(half, v)\n"
               "y = Mul(a, m)"),
        "h = MatMul(x, w)\nv = Add(b, h)\ni = Identity(v)\nd = Div(i, sqrt2)\n"
        "e = Erf(d)\nf = Cast(e; to=1)\na = Add(f, one)\nm = Mul(a, half)\nj = Identity(m)\n"
        "y = Mul(j, v)",
        behind(kDense, "y = Gelu(v)")}});
  all.push_back({"gelu by tanh",
                 1,
                 {behind(kDense,
                         "p3 = Pow(v, three)\nm = Mul(p3, gelu_c)\na = Add(v, m)\n"
                         "s = Mul(a, gelu_s)\nt = Tanh(s)\nu = Add(t, one)\nz = Mul(v, half)\n"
                         "y = Mul(z, u)"),
                  behind(kDense,
                         "p2 = Mul(v, v)\np3 = Mul(p2, v)\nm = Mul(gelu_c, p3)\na = Add(m, v)\n"
                         "i = Identity(a)\ns = Mul(gelu_s, i)\nt = Tanh(s)\nu = Add(one, t)\n"
                         "z = Mul(u, v)\ny = Mul(half, z)"),
                  behind(kDense, "y = Gelu(v; approximate=tanh)")}});
  for (const std::string_view front : {kDense, kPicture}) {
    all.push_back({"silu",
                   1,
                   {behind(front, "s = Sigmoid(v)\ny = Mul(v, s)"),
                    behind(front,
                           "s = Sigmoid(v)\ni = Identity(s)\nf = Cast(v; to=1)\n"
                           "y = Mul(i, f)"),
                    behind(front, "m = Neg(v)\ne = Exp(m)\na = Add(e, one)\ny = Div(v, a)")}});
    all.push_back({"hard swish",
                   1,
                   {behind(front, "y = HardSwish(v)"),
                    behind(front, "s = HardSigmoid(v; alpha=0.16666667)\ny = Mul(v, s)"),
                    behind(front,
                           "a = Add(v, three)\nl = Clip(a, zero, six)\nm = Mul(v, l)\n"
                           "y = Div(m, six)"),
                    behind(front,
                           "a = Add(three, v)\nr = Relu(a)\nl = Min(r, six)\n"
                           "d = Div(l, six)\ny = Mul(d, v)")}});
    all.push_back({"mish",
                   1,
                   {behind(front, "s = Softplus(v)\nt = Tanh(s)\ny = Mul(v, t)"),
                    behind(front, "s = Softplus(v)\nt = Tanh(s)\ni = Identity(t)\ny = Mul(i, v)"),
                    behind(front, "y = Mish(v)")}});
  }
  all.push_back(
      {"residual",
       1,
       {behind(kDense, "a = Add(v, x)\ns = Sigmoid(a)\ny = Mul(a, s)"),
        behind(kDense, "i = Identity(v)\na = Add(x, i)\ns = Sigmoid(a)\ny = Mul(s, a)")}});
  all.push_back({"softmax with a guard",
                 1,
                 {"s = Softmax(x; axis=-1)\nn = IsNaN(s)\ny = Where(n, zero, s)",
                  "s = Softmax(x; axis=2)\ni = Identity(s)\nn = IsNaN(i)\nm = Not(n)\n"
                  "y = Where(m, s, zero)"}});
  // Two kernels pack keys and values.
  const std::string_view scores = "z = Transpose(x; perm=[0 2 1])\ns = MatMul(x, z)\n";
  all.push_back(
      {"attention",
       3,
       {behind(scores, "m = Mul(s, half)\nq = Softmax(m; axis=-1)\ny = MatMul(q, x)"),
        behind(scores,
               "i = Identity(s)\nm = Mul(half, i)\nf = Cast(m; to=1)\nq = Softmax(f; axis=2)\n"
               "j = Identity(q)\ny = MatMul(j, x)"),
        behind(scores,
               "d = Div(s, two)\nm = ReduceMax(d, last)\ng = Sub(d, m)\ne = Exp(g)\n"
               "t = ReduceSum(e, last)\nr = Reciprocal(t)\nq = Mul(r, e)\ny = MatMul(q, x)"),
        "h = Mul(half, x)\nz = Transpose(x; perm=[0 2 1])\ns = MatMul(h, z)\n"
        "q = Softmax(s; axis=-1)\nn = IsNaN(q)\nf = Where(n, zero, q)\nu = Identity(f)\ny = "
        "MatMul(u, x)"}});
  for (const std::string_view axis : {"last", "first"}) {
    all.push_back(
        {concat("softmax over the ", axis),
         1,
         {concat("m = ReduceMax(x, ", axis, ")\nd = Sub(x, m)\ne = Exp(d)\ns = ReduceSum(e, ", axis,
                 ")\ny = Div(e, s)"),
          concat("m = ReduceMax(x, ", axis,
                 ")\ni = Identity(m)\nd = Sub(x, i)\n"
                 "e = Exp(d)\ns = ReduceSum(e, ",
                 axis, ")\nr = Reciprocal(s)\ny = Mul(r, e)")}});
    const std::string mean = concat("m = ReduceMean(x, ", axis, ")\nd = Sub(x, m)\n");
    for (const std::string_view eps : {"eps", "large_eps"}) {
      const std::string rest = concat("q = ReduceMean(s, ", axis, ")\na = Add(", eps, ", q)\n");
      all.push_back(
          {concat("layer norm over the ", axis, ", ", eps),
           1,
           {concat(mean, "s = Mul(d, d)\n", rest,
                   "r = Sqrt(a)\nt = Div(d, r)\nu = Mul(t, b)\n"
                   "y = Add(u, b)"),
            concat(mean, "s = Pow(d, two)\n", rest,
                   "r = Sqrt(a)\ni = Identity(r)\n"
                   "t = Div(d, i)\nu = Mul(b, t)\ny = Add(b, u)"),
            concat(
                mean, "f = Cast(d; to=1)\ns = Pow(f, two)\n", rest,
                "r = Sqrt(a)\no = Reciprocal(r)\nt = Mul(o, d)\nu = Mul(t, b)\ny = Add(u, b)")}});
      const std::string squares = concat("q = ReduceMean(s, ", axis, ")\na = Add(q, ", eps, ")\n");
      all.push_back(
          {concat("rms norm over the ", axis, ", ", eps),
           1,
           {concat("s = Pow(x, two)\n", squares, "r = Sqrt(a)\nt = Div(x, r)\ny = Mul(t, b)"),
            concat("s = Mul(x, x)\n", squares,
                   "r = Sqrt(a)\no = Reciprocal(r)\nt = Mul(x, o)\n"
                   "y = Mul(b, t)"),
            concat("i = Identity(x)\ns = Mul(x, i)\n", squares,
                   "o = Pow(a, minus_half)\n"
                   "t = Mul(o, x)\ny = Mul(t, b)")}});
    }
  }
  return all;
}

std::string attribute_of(std::string_view text) {
  const auto parts = split(text, '=');
  const std::string name(trim(parts[0]));
  const std::string_view value = trim(parts[1]);
  if (value.starts_with('[')) {
    Ints numbers;
    for (std::string_view one : split(value.substr(1, value.size() - 2), ' ')) {
      numbers.push_back(std::stoll(std::string(one)));
    }
    return attr_ints(name, numbers);
  }
  if (value.find('.') != std::string_view::npos) {
    return attr_float(name, std::stof(std::string(value)));
  }
  const bool word = value[0] >= 'a';
  return word ? attr_text(name, value) : attr_int(name, std::stoll(std::string(value)));
}

/// "y = Op(a, b; axis=1, pads=[1 1])" as a NodeProto.
std::string node_of(std::string_view line) {
  const size_t equals = line.find('='), open = line.find('('), semicolon = line.find(';');
  const size_t close = line.rfind(')');
  Strings inputs, attributes;
  for (std::string_view name :
       split(line.substr(open + 1, std::min(semicolon, close) - open - 1), ','))
    inputs.emplace_back(trim(name));
  if (semicolon != std::string_view::npos) {
    for (std::string_view one : split(line.substr(semicolon + 1, close - semicolon - 1), ','))
      attributes.push_back(attribute_of(one));
  }
  return node(trim(line.substr(equals + 1, open - equals - 1)), inputs,
              {std::string(trim(line.substr(0, equals)))}, attributes);
}

std::vector<float> numbers(size_t count, double scale) {
  Random rng(count);
  std::vector<float> values;
  for (size_t k = 0; k < count; ++k) values.push_back(static_cast<float>(rng.real(-1, 1) * scale));
  return values;
}

Result<Graph> graph_of(const std::string& way) {
  GraphParts parts;
  for (std::string_view line : split(way, '\n')) parts.nodes.push_back(node_of(line));
  parts.inputs = {value_info("x", 1, {"n", 12, 48}), value_info("p", 1, {"n", 8, 6, 6})};
  parts.outputs = {Message().text(1, "y").bytes};
  const auto number = [&](std::string_view name, float value) {
    parts.initializers.push_back(floats(name, {}, {value}));
  };
  number("zero", 0), number("half", 0.5F), number("one", 1), number("two", 2), number("three", 3);
  number("six", 6), number("sqrt2", 1.41421354F), number("rsqrt2", 0.707106769F);
  number("gelu_c", 0.044715F), number("gelu_s", 0.797884583F), number("minus_half", -0.5F);
  number("eps", 1e-5F), number("large_eps", 0.1F);
  parts.initializers.push_back(int64s("last", {-1}));
  parts.initializers.push_back(int64s("first", {1}));
  parts.initializers.push_back(floats("w", {48, 48}, numbers(48 * 48, 0.25)));
  parts.initializers.push_back(floats("b", {48}, numbers(48, 1)));
  parts.initializers.push_back(floats("k", {16, 8, 3, 3}, numbers(16 * 8 * 9, 0.25)));
  for (const char* name : {"scale", "c"}) {
    parts.initializers.push_back(floats(name, {16}, numbers(16, 1)));
  }
  parts.initializers.push_back(floats("variance", {16}, std::vector<float>(16, 0.75F)));
  const std::string bytes = model(parts, 20);
  TRY(ImportedModel imported, import_model_bytes(std::as_bytes(std::span(bytes)), "m.onnx", {}));
  ExprPool& pool = imported.graph.pool();
  pool.symbol_info(pool.symbol("n").symbol()).range = {1, 3};
  return std::move(imported.graph);
}

size_t kernels_of(const Graph& graph) {
  SplitGraph halves = split_prepare(graph);
  auto records = run_passes(halves.main, closing_pipeline(), {});
  EXPECT_TRUE(records) << to_text(records.error());
  size_t count = 0;
  for (NodeId id : halves.main.nodes()) count += halves.main.node(id).op.is<Constant>() ? 0 : 1;
  return count;
}

TEST(Idioms, AreOneKernelHoweverTheyAreWritten) {
  struct Case {
    std::string label;
    RandomGraph graph;
    size_t number;
  };
  PlanBatch batch;
  std::vector<Case> cases;
  for (const Idiom& idiom : idioms()) {
    for (const std::string& way : idiom.ways) {
      const std::string label = concat(idiom.name, ":\n", way);
      auto graph = graph_of(way);
      ASSERT_TRUE(graph) << label << ": " << to_text(graph.error());
      Graph optimised = *graph;
      PassOptions options;
      options.verify = true;
      auto records = run_passes(optimised, pipeline(), options);
      ASSERT_TRUE(records) << label << ": " << to_text(records.error());
      EXPECT_EQ(kernels_of(optimised), idiom.kernels) << label;
      auto number = batch.add(optimised);
      ASSERT_TRUE(number) << label << ": " << to_text(number.error());
      cases.push_back({label, {std::move(*graph), {}}, *number});
    }
  }
  ASSERT_TRUE(batch.build(host_level()));
  for (const Case& c : cases) {
    const std::vector<Tensor> inputs = random_inputs(c.graph, 1);
    Interpreter interpreter(c.graph.graph);
    auto expected = interpreter.run(inputs);
    ASSERT_TRUE(expected) << to_text(expected.error());
    auto got = batch.run(c.number, inputs, interpreter.symbols);
    ASSERT_TRUE(got) << c.label << ": " << to_text(got.error());
    EXPECT_EQ(find_difference(*expected, *got, kTolerance), "") << c.label;
  }
}

}  // namespace
}  // namespace ingot
