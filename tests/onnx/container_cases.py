"""container_cases.py: strings, sequences and optionals; for generate.py. Expected outputs come from
onnxruntime, or from NumPy and Python where it cannot do it."""

import re

import numpy as np
from onnx import TensorProto, helper

F, I, S, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL
RNG = np.random.default_rng(11)
node = helper.make_node


def normal(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def texts(*values):
    return np.array(values, dtype=object)


def ints(*values):
    return np.array(values, dtype=np.int64)


def value(name, kind=F, dims=None):
    return helper.make_tensor_value_info(name, kind, dims)


def sequence(name, kind=F, dims=None):
    return helper.make_tensor_sequence_value_info(name, kind, dims)


def model(nodes, inputs, outputs, constants=(), opset=17):
    graph = helper.make_graph(nodes, "containers", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def tensor(name, array):
    array = np.asarray(array)
    if array.dtype == object:
        return helper.make_tensor(name, S, array.shape, [t.encode() for t in array.ravel()])
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor(name, kind, array.shape, array.ravel())


WORDS = texts("zero", "", "two", "dr\u00ed", "vier", "f\u00fcnf f\u00fcnf").reshape(2, 3)


def moving(cases):
    """What moves numbers moves strings."""
    def case(op_type, inputs, expected, opset=17, constants=(), outputs=1, tag="", **attrs):
        names = [f"x{k}" for k in range(len(inputs))] + [f"c{k}" for k in range(len(constants))]
        results = [f"y{k}" for k in range(outputs)]
        graph = model([node(op_type, names, results, **attrs)],
                      [value(f"x{k}", S if array.dtype == object else B if array.dtype == bool
                             else I, array.shape) for k, array in enumerate(inputs)],
                      [helper.ValueInfoProto(name=name) for name in results],
                      [tensor(f"c{k}", array) for k, array in enumerate(constants)], opset)
        cases.write(f"strings_{op_type}{tag}", graph,
                    {f"x{k}": array for k, array in enumerate(inputs)}, expected)

    w = WORDS
    case("Identity", [w], [w])
    case("Reshape", [w], [w.reshape(3, 2)], constants=[ints(3, 2)])
    case("Transpose", [w], [w.T], perm=[1, 0])
    case("Slice", [w], [w[:, 1:]], constants=[ints(1), ints(3), ints(1)])
    case("Concat", [w, w], [np.concatenate([w, w], 1)], axis=1)
    case("Split", [w], [w[:, :1], w[:, 1:]], constants=[ints(1, 2)], outputs=2, axis=1)
    case("Gather", [w, ints(2, 0)], [w[:, [2, 0]]], axis=1)
    case("GatherElements", [w, ints(2, 0).reshape(2, 1)], [texts("two", "dr\u00ed").reshape(2, 1)],
         axis=1)
    case("GatherND", [w, ints(1, 2, 0, 0).reshape(2, 2)], [texts(w[1, 2], w[0, 0])])
    case("Expand", [w.reshape(1, 2, 3)], [np.stack([w, w])], constants=[ints(2, 2, 3)])
    case("Tile", [w], [np.tile(w, (1, 2))], constants=[ints(1, 2)])
    case("Unsqueeze", [w], [w[None]], constants=[ints(0)])
    case("Squeeze", [w[None]], [w], constants=[ints(0)])
    case("Flatten", [w], [w.reshape(1, 6)], axis=0)
    case("Pad", [w], [np.pad(w, ((0, 0), (1, 2)), constant_values="-")],
         constants=[ints(0, 1, 0, 2), np.array("-", object)])
    case("Pad", [w], [np.pad(w, ((0, 0), (1, 0)), constant_values="")], constants=[ints(0, 1, 0, 0)],
         tag="_empty")
    case("Where", [np.array([True, False, True]), w, texts("other")],
         [np.where([True, False, True], w, texts("other"))])
    case("Compress", [w, np.array([True, False, True])], [w[:, [0, 2]]], axis=1)
    case("ScatterElements", [w, ints(0, 1).reshape(2, 1), texts("new", "newer").reshape(2, 1)],
         [texts("new", "", "two", "dr\u00ed", "newer", w[1, 2]).reshape(2, 3)], axis=1)
    case("ScatterND", [w, ints(0, 1).reshape(1, 2), texts("new")],
         [texts("zero", "new", "two", "dr\u00ed", "vier", w[1, 2]).reshape(2, 3)])
    case("OneHot", [ints(1, 0)], [texts("off", "on", "on", "off").reshape(2, 2)],
         constants=[ints(2), texts("off", "on")])
    case("Shape", [w], [ints(2, 3)])
    case("Size", [w], [np.array(6, np.int64)])
    case("DepthToSpace", [texts(*"abcd").reshape(1, 4, 1, 1)],
         [texts(*"abcd").reshape(1, 1, 2, 2)], blocksize=2)
    case("ReverseSequence", [w, ints(2, 1)], [texts("", "zero", "two", *w[1]).reshape(2, 3)],
         batch_axis=0, time_axis=1)
    case("Equal", [w, texts("two")], [w == "two"], opset=19)

    nodes = [node("Gather", ["table", "at"], ["found"]), node("Equal", ["found", "x"], ["same"]),
             node("Where", ["same", "x", "found"], ["y"])]
    graph = model(nodes, [value("at", I, ["n"]), value("x", S, ["n"])],
                  [value("y", S, ["n"]), value("same", B, ["n"])],
                  [tensor("table", texts("a", "b", "c"))], 19)
    cases.write("strings_from_a_table", graph, {"at": ints(2, 0), "x": texts("c", "x")},
                [texts("c", "a"), np.array([True, False])])


def string_operators(cases):
    def one(name, op_type, x, expected, outputs=1, **attrs):
        results = [f"y{k}" for k in range(outputs)]
        graph = model([node(op_type, ["x"], results, **attrs)], [value("x", S, x.shape)],
                      [helper.ValueInfoProto(name=name) for name in results], opset=20)
        cases.write(f"{op_type}_{name}", graph, {"x": x}, expected)

    x = texts("a,b,,c", "", ",", "abc", "a , b")
    for name, delimiter, most in (("comma", ",", -1), ("once", ",", 1), ("never", ",", 0),
                                  ("long", ", ", -1), ("space", " ", -1)):
        split = [t.split(delimiter, most) for t in x]
        widest = max(map(len, split))
        padded = texts(*sum([s + [""] * (widest - len(s)) for s in split], []))
        one(name, "StringSplit", x, [padded.reshape(len(x), widest),
                                     ints(*[len(s) for s in split])], 2, delimiter=delimiter,
            **({"maxsplit": most} if most >= 0 else {}))
    for name, pattern in (("words", r"\w+( \w+)*"), ("case", "(?i)ABC?"),
                          ("classes", "[^a-c,]*|[[:alpha:]]{3}"), ("letters", "stra\u00dfe|\u4e2d."),
                          ("boundaries", r".*\bb\b.*|\Bx.*")):
        x = texts("ab", "abc", "a b", "", "x,y", "xyz", "stra\u00dfe", "\u4e2d\u6587", "a\nb")
        python = pattern.replace("[[:alpha:]]", "[A-Za-z]")
        # RE2's \w is ASCII.
        expected = np.array([re.compile(python, re.ASCII).fullmatch(t) is not None for t in x])
        one(name, "RegexFullMatch", x, [expected], pattern=pattern)
    x = texts("\u00c4pfel", "und", "UND", "Stra\u00dfe", "\u0394\u03c3")
    one("upper", "StringNormalizer", x, [texts("\u00c4PFEL", "STRA\u00dfE", "\u0394\u03a3")],
        case_change_action="UPPER", is_case_sensitive=0, stopwords=["und"])
    one("lower", "StringNormalizer", x, [texts("\u00e4pfel", "und", "stra\u00dfe", "\u03b4\u03c3")],
        case_change_action="LOWER", is_case_sensitive=1, stopwords=["und"])


def numbers_as_text(cases):
    def cast(array, kind, tag=""):
        given = S if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)
        names = [TensorProto.DataType.Name(each).lower() for each in (given, kind)]
        cases.write("Cast_" + "_to_".join(names) + tag,
                    model([node("Cast", ["x"], ["y"], to=kind)], [value("x", given, array.shape)],
                          [value("y", kind, array.shape)], opset=19), {"x": array})

    reals = np.array([0.0, -0.0, 1 / 3, 1e7, 123456789, -1.5e-10, 2.5, np.nan, np.inf, -np.inf])
    for kind in (np.float16, np.float32, np.float64):
        with np.errstate(over="ignore"):
            cast(reals.astype(kind), S)
    for whole in (np.array([True, False]), np.array([-128, 127], np.int8),
                  np.array([2**64 - 1, 3], np.uint64), ints(-2**63, 0)):
        cast(whole, S)
    for kind in (F, TensorProto.DOUBLE, TensorProto.FLOAT16):
        cast(texts("1.5", " -2 ", "1e3", "nan", "-INF", "+infinity", ".25", "16777217"), kind)
    for kind in (I, TensorProto.INT32, TensorProto.UINT8, TensorProto.UINT64, B):
        cast(texts("1", " 0 ", "+42", "007"), kind)
    for kind in (I, TensorProto.INT32):
        cast(texts("100.5", " -3.99", "+7."), kind, "_cut_off")


def unique_strings(cases):
    x = texts("b", "", "b", "\u00e4", "a", "", "b", "a").reshape(4, 2)
    results = ["y", "first", "which", "count"]
    for name, attrs in (("sorted", {}), ("as_they_come", {"sorted": 0}), ("rows", {"axis": 0})):
        flat = x if "axis" in attrs else x.ravel()
        keys = [tuple(row) for row in flat] if "axis" in attrs else list(flat)
        order = sorted(set(keys)) if attrs.get("sorted", 1) else list(dict.fromkeys(keys))
        first = [keys.index(key) for key in order]
        graph = model([node("Unique", ["x"], results, **attrs)], [value("x", S, x.shape)],
                      [value("y", S, None)] + [value(result, I, None) for result in results[1:]])
        cases.write(f"Unique_strings_{name}", graph, {"x": x},
                    [flat[first], ints(*first), ints(*[order.index(key) for key in keys]),
                     ints(*[keys.count(key) for key in order])])


def ngrams_of_strings(cases):
    x = texts("a", "b", "c", "a", "b", "\u00e4", "b", "c").reshape(2, 4)
    graph = model([node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1,
                        max_gram_length=2, max_skip_count=1, ngram_counts=[0, 3],
                        ngram_indexes=[3, 0, 1, 2, 4],
                        pool_strings=["\u00e4", "b", "c", "a", "b", "b", "c"])],
                  [value("x", S, x.shape)], [value("y", F, None)])
    cases.write("TfIdfVectorizer_strings", graph, {"x": x})


def sequences(cases):
    a, b = normal(2, 3), normal(1, 3)
    nodes = [node("SequenceConstruct", ["a", "b"], ["s"]),
             node("SequenceInsert", ["s", "b", "at"], ["t"]),
             node("SequenceErase", ["t", "at"], ["u"]),
             node("SequenceLength", ["t"], ["n"]),
             node("SequenceAt", ["t", "at"], ["item"]),
             node("ConcatFromSequence", ["u"], ["all"], axis=0)]
    graph = model(nodes, [value("a", F, ["n", 3]), value("b", F, ["m", 3]), value("at", I, [])],
                  [value("n", I, []), value("item", F, ["k", 3]), value("all", F, ["l", 3]),
                   sequence("t")])
    for at in (0, 1, -1):
        cases.write(f"sequence_at_{at}", graph, {"a": a, "b": b, "at": np.array(at, np.int64)})

    words = texts("b", "", "a b")
    nodes = [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0),
             node("SequenceInsert", ["s", "y"], ["t"]),
             node("ConcatFromSequence", ["t"], ["all"], axis=0, new_axis=1)]
    graph = model(nodes, [value("x", S, ["n"]), value("y", S, [])],
                  [value("all", S, ["m"]), sequence("t", S, [])])
    cases.write("sequence_of_strings", graph, {"x": words, "y": np.array("last", object)},
                [np.append(words, texts("last")), [np.array(w, object) for w in [*words, "last"]]])

    # Sequences that grow, and what a turn makes of them.
    turn = helper.make_graph(
        [node("SequenceAt", ["whole", "i"], ["item"]), node("Mul", ["item", "item"], ["square"]),
         node("SequenceInsert", ["so_far", "square", "zero"], ["next"]),
         node("ReduceSum", ["item"], ["sum"], keepdims=0), node("Identity", ["go"], ["on"])],
        "turn", [value("i", I, []), value("go", B, []), sequence("so_far", F, [None, 3])],
        [value("on", B, []), sequence("next", F, [None, 3]), value("sum", F, [])],
        [tensor("zero", np.int64(0))])
    nodes = [node("SequenceLength", ["whole"], ["n"]), node("SequenceEmpty", [], ["none"]),
             node("Loop", ["n", "", "none"], ["squares", "sums"], body=turn),
             node("ConcatFromSequence", ["squares"], ["y"], axis=0)]
    graph = model(nodes, [sequence("whole", F, [None, 3])],
                  [value("y", F, ["k", 3]), value("sums", F, ["n"])])
    items = [normal(k, 3) for k in (2, 1, 3)]
    cases.write("sequence_loop", graph, {"whole": items},
                [np.concatenate([x * x for x in reversed(items)]),
                 np.array([x.sum() for x in items], np.float32)])

    # Many turns make far more than is alive at the end.
    turn = helper.make_graph(
        [node("SequenceInsert", ["s", "x"], ["longer"]),
         node("SequenceErase", ["longer", "zero"], ["next"]),
         node("Concat", ["word", "tail"], ["words"], axis=0),
         node("Slice", ["words", "one", "three"], ["word2"]), node("Identity", ["go"], ["on"])],
        "turn", [value("i", I, []), value("go", B, []), sequence("s"), value("word", S, [2])],
        [value("on", B, []), sequence("next"), value("word2", S, [2])],
        [tensor("zero", np.int64(0)), tensor("one", ints(1)), tensor("three", ints(3))])
    nodes = [node("SequenceConstruct", ["x", "x"], ["s0"]),
             node("Loop", ["n", "", "s0", "word0"], ["s", "word"], body=turn)]
    graph = model(nodes, [value("x", F, [1000]), value("n", I, []), value("word0", S, [2]),
                          value("tail", S, [1])], [sequence("s"), value("word", S, [2])])
    x = normal(1000)
    cases.write("sequence_many_turns", graph,
                {"x": x, "n": np.array(3000, np.int64), "word0": texts("a", "b"),
                 "tail": texts("t")}, [[x, x], texts("t", "t")])


def optionals(cases):
    then = helper.make_graph([node("OptionalGetElement", ["o"], ["t"])], "then", [],
                             [value("t", F, ["n"])])
    other = helper.make_graph([node("Identity", ["x"], ["e"])], "else", [], [value("e", F, ["n"])])
    nodes = [node("OptionalHasElement", ["o"], ["has"]),
             node("If", ["has"], ["y"], then_branch=then, else_branch=other)]
    o = helper.make_value_info("o", helper.make_optional_type_proto(
        helper.make_tensor_type_proto(F, ["n"])))
    graph = model(nodes, [o, value("x", F, ["m"])], [value("y", F, ["k"]), value("has", B, [])],
                  opset=18)
    x, held = normal(3), normal(2)
    cases.write("optional_given", graph, {"o": (held,), "x": x}, [held, np.array(True)])
    cases.write("optional_absent", graph, {"o": (), "x": x}, [x, np.array(False)])


def add(cases):
    moving(cases)
    string_operators(cases)
    numbers_as_text(cases)
    ngrams_of_strings(cases)
    unique_strings(cases)
    sequences(cases)
    optionals(cases)
