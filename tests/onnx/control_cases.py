"""control_cases.py: If, Loop and Scan, and sizes that are computed; for generate.py."""

import numpy as np
from onnx import TensorProto, helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RNG = np.random.default_rng(7)


def normal(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def value(name, kind=F, dims=None):
    return helper.make_tensor_value_info(name, kind, dims)


def tensor(name, array):
    array = np.asarray(array)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor(name, kind, array.shape, array.ravel())


def body(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


def model(nodes, inputs, outputs, constants=(), opset=17):
    graph = helper.make_graph(nodes, "control", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


node = helper.make_node


def branches(cases):
    """Branches of different sizes, which the graph behind them goes on with."""
    then = body([node("Add", ["x", "y"], ["t"])], [], [value("t")])
    other = body([node("Slice", ["x", "first", "last"], ["s"]), node("Relu", ["s"], ["e"])], [],
                 [value("e")], [tensor("first", [0]), tensor("last", [2])])
    graph = model(
        [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["c"]),
         node("If", ["c"], ["r"], then_branch=then, else_branch=other), node("Exp", ["r"], ["z"])],
        [value("x", F, ["n", 4]), value("y", F, ["n", 4])], [value("r"), value("z")],
        [tensor("zero", np.float32(0))])
    x = np.abs(normal(5, 4))
    cases.write("if_then", graph, {"x": x, "y": normal(5, 4)})
    cases.write("if_else", graph, {"x": -x, "y": normal(5, 4)})


def weights_in_bodies(cases):
    """Products with constants of a loop's body, and values stacked over the turns."""
    turn = body(
        [node("MatMul", ["h", "W"], ["a"]), node("Tanh", ["a"], ["h1"]),
         node("Add", ["h1", "bias"], ["h2"]), node("Identity", ["cin"], ["cout"])],
        [value("i", I, []), value("cin", B, []), value("h")],
        [value("cout", B, []), value("h2"), value("h1")], [tensor("W", 0.3 * normal(8, 8))])
    graph = model([node("Loop", ["M", "", "h0"], ["hn", "all"], body=turn)],
                  [value("M", I, []), value("h0", F, ["b", 8]), value("bias", F, [8])],
                  [value("hn"), value("all")])
    for trips in (1, 2, 7):
        cases.write(f"loop_{trips}_turns", graph,
                    {"M": np.array(trips), "h0": normal(3, 8), "bias": normal(8)})
    h0 = normal(3, 8)
    # No turn: nothing is stacked, but its other dims are known (onnxruntime gives f32[0]).
    cases.write("loop_no_turn", graph, {"M": np.array(0), "h0": h0, "bias": normal(8)},
                [h0, np.zeros((0, 3, 8), np.float32)])


def growing_values(cases):
    """An If inside a loop whose value grows in some turns; the condition ends the loop."""
    then = body([node("Concat", ["v", "h0"], ["tv"], axis=0)], [], [value("tv")])
    other = body([node("Identity", ["v"], ["ev"])], [], [value("ev")])
    turn = body(
        [node("ReduceSum", ["v"], ["sum"], keepdims=0), node("Less", ["sum", "limit"], ["grow"]),
         node("If", ["grow"], ["next"], then_branch=then, else_branch=other),
         node("Less", ["i", "four"], ["cout"])],
        [value("i", I, []), value("cin", B, []), value("v")],
        [value("cout", B, []), value("next")], [tensor("four", np.int64(4))])
    graph = model([node("Loop", ["", "go", "h0"], ["v_end"], body=turn),
                   node("ReduceMean", ["v_end"], ["mean"], axes=[0], keepdims=0)],
                  [value("go", B, []), value("h0", F, ["b", 3]), value("limit", F, [])],
                  [value("v_end"), value("mean")], opset=13)
    for name, go in (("loop_grows", True), ("loop_never_begins", False)):
        cases.write(name, graph, {"go": np.array(go), "h0": np.ones((2, 3), np.float32),
                                  "limit": np.array(20, np.float32)})


def carried_and_stacked(cases):
    """What a turn takes, gives on and gives out differs in size; the first may be the last."""
    turn = body([node("Concat", ["v", "x"], ["next"], axis=0), node("Neg", ["v"], ["taken"]),
                 node("Exp", ["next"], ["given"]), node("Identity", ["go"], ["on"])],
                [value("i", I, []), value("go", B, []), value("v", F, ["a"])],
                [value("on", B, []), value("next", F, ["b"]), value("taken", F, ["c"]),
                 value("given", F, ["d"])])
    graph = model([node("Loop", ["M", "", "v0"], ["v", "takens", "givens"], body=turn)],
                  [value("M", I, []), value("v0", F, [2]), value("x", F, [1])],
                  [value("v"), value("takens"), value("givens")])
    for turns in (0, 1):
        cases.write(f"loop_stacks_what_grows_{turns}", graph,
                    {"M": np.array(turns), "v0": normal(2), "x": normal(1)})


def loops_in_loops(cases):
    """The value that the inner loop lets grow has grown in the outer one, too."""
    inner = body([node("Concat", ["w", "x"], ["longer"], axis=0), node("Identity", ["g"], ["o"])],
                 [value("j", I, []), value("g", B, []), value("w", F, ["a"])],
                 [value("o", B, []), value("longer", F, ["b"])])
    outer = body([node("Loop", ["i", "", "v"], ["next"], body=inner), node("Shape", ["v"], ["size"]),
                  node("Identity", ["go"], ["on"])],
                 [value("i", I, []), value("go", B, []), value("v", F, ["a"])],
                 [value("on", B, []), value("next", F, ["b"]), value("size", I, [1])])
    graph = model([node("Loop", ["M", "", "v0"], ["v", "sizes"], body=outer)],
                  [value("M", I, []), value("v0", F, [1]), value("x", F, [1])],
                  [value("v"), value("sizes", I)])
    for turns in (0, 1, 4):
        cases.write(f"loop_in_loop_grows_{turns}", graph,
                    {"M": np.array(turns), "v0": normal(1), "x": normal(1)})


def scans(cases):
    """A scan over two inputs along different axes, one of them backward."""
    turn = body([node("Mul", ["a", "b"], ["p"]), node("Add", ["s", "p"], ["s1"]),
                 node("Sub", ["a", "s1"], ["d"]), node("Identity", ["s1"], ["each"])],
                [value("s", F, [3]), value("a", F, [3]), value("b", F, [3])],
                [value("s1", F, [3]), value("each", F, [3]), value("d", F, [3])])
    graph = model([node("Scan", ["s0", "A", "B"], ["sn", "sums", "rest"], body=turn,
                        num_scan_inputs=2, scan_input_axes=[0, 1], scan_input_directions=[0, 1],
                        scan_output_axes=[0, 1], scan_output_directions=[0, 1])],
                  [value("s0", F, [3]), value("A", F, ["n", 3]), value("B", F, [3, "n"])],
                  [value("sn"), value("sums"), value("rest")])
    cases.write("scan_axes", graph, {"s0": normal(3), "A": normal(5, 3), "B": normal(3, 5)})


def computed_sizes(cases):
    """Shapes, starts and counts that are computed from data."""
    x = normal(4, 6)
    graph = model([node("Reshape", ["x", "shape"], ["a"]), node("Relu", ["a"], ["y"])],
                  [value("x", F, ["n", 6]), value("shape", I, [3])], [value("y")])
    for name, shape in (("free", [2, -1, 3]), ("copied", [0, 3, 2]), ("plain", [3, 4, 2])):
        cases.write(f"reshape_{name}_at_run_time", graph,
                    {"x": x, "shape": np.array(shape, np.int64)})
    graph = model([node("Slice", ["x", "first", "last", "axes"], ["a"]), node("Neg", ["a"], ["y"])],
                  [value("x", F, ["n", 6]), value("first", I, [1]), value("last", I, [1])],
                  [value("y")], [tensor("axes", [1])])
    for name, first, last in (("inner", 1, 4), ("negative", -3, -1), ("beyond", 2, 2**62),
                              ("empty", 5, 2)):
        cases.write(f"slice_{name}_at_run_time", graph,
                    {"x": x, "first": np.array([first]), "last": np.array([last])})
    graph = model([node("NonZero", ["x"], ["at"]), node("Shape", ["at"], ["dims"]),
                   node("Gather", ["dims", "one"], ["count"]),
                   node("Range", ["zero", "count", "one"], ["numbers"]),
                   node("Cast", ["numbers"], ["y"], to=F)],
                  [value("x", F, ["n", 6])], [value("y")],
                  [tensor("one", np.int64(1)), tensor("zero", np.int64(0))])
    cases.write("range_of_found_count", graph, {"x": np.maximum(x, 0)})


def add(cases):
    for make in (branches, weights_in_bodies, growing_values, carried_and_stacked, loops_in_loops,
                 scans, computed_sizes):
        make(cases)
