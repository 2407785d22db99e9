"""Cases of single operators: attributes, versions and dims that the onnx package's own cases leave
out. Expected outputs come from onnxruntime, or from NumPy where it does not know the version."""

import numpy as np
from onnx import helper

RNG = np.random.default_rng(2027)


def normal(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def ints(*values):
    return np.array(values, dtype=np.int64)


def floats(*values):
    return np.array(values, dtype=np.float32)


def resize(cases):
    x = normal(1, 2, 5, 7)
    none = floats()
    for mode in ("nearest", "linear"):
        for transform in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            for sizes in ((1, 2, 10, 14), (1, 2, 3, 4), (1, 2, 8, 5)):
                tag = f"{mode}_{transform}_{sizes[2]}"
                cases.op("Resize", 11, [x], [none, none, ints(*sizes)], tag=tag, mode=mode,
                         coordinate_transformation_mode=transform,
                         nearest_mode="round_prefer_floor")
    for nearest in ("floor", "ceil", "round_prefer_ceil"):
        cases.op("Resize", 13, [x], [none, floats(1, 1, 2, 0.5)], tag=nearest, mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode=nearest)
    cases.op("Resize", 11, [x], [none, floats(1, 1, 2, 1.5)], tag="cubic", mode="cubic")
    cases.op("Resize", 13, [x], [none, none, ints(1, 2, 9, 4)], tag="cubic_outside", mode="cubic",
             exclude_outside=1, cubic_coeff_a=-0.5)
    cases.op("Resize", 18, [x], [none, none, ints(9, 4)], tag="axes", mode="linear", axes=[2, 3])
    cases.op("Resize", 10, [x], [floats(1, 1, 2, 3)], tag="nearest", mode="nearest")
    cases.op("Resize", 10, [x], [floats(1, 1, 2, 0.5)], tag="linear", mode="linear")
    cases.op("Upsample", 9, [x], [floats(1, 1, 2, 3)], tag="nearest", mode="nearest")
    cases.op("Upsample", 9, [x], [floats(1, 1, 2, 3)], tag="linear", mode="linear")
    cases.op("Upsample", 7, [x], expected=[x.repeat(2, axis=2).repeat(3, axis=3)],
             scales=[1.0, 1.0, 2.0, 3.0])
    cases.op("Upsample", 1, [x], expected=[x.repeat(2, axis=2)], height_scale=2.0, width_scale=1.0)
    # Sizes that follow from the input's own, as exporters write them.
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Slice", ["shape", "two", "four"], ["hw"]),
        helper.make_node("Mul", ["hw", "two"], ["twice"]),
        helper.make_node("Slice", ["shape", "zero", "two"], ["nc"]),
        helper.make_node("Concat", ["nc", "twice"], ["sizes"], axis=0),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear"),
    ]
    cases.graph("Resize_13_of_shape", nodes, {"x": x},
                {"zero": ints(0), "two": ints(2), "four": ints(4)}, 13,
                {"x": ["n", "c", "h", "w"]})
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["real"], to=1),
        helper.make_node("Mul", ["real", "factor"], ["wanted"]),
        helper.make_node("Floor", ["wanted"], ["whole"]),
        helper.make_node("Div", ["whole", "real"], ["scales"]),
        helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    ]
    cases.graph("Resize_13_scales_of_shape", nodes, {"x": x}, {"factor": floats(1, 1, 2, 1.7)}, 13,
                {"x": ["n", "c", "h", "w"]})


def top_k(cases):
    x = np.round(normal(3, 6, 2) * 2)
    order = np.argsort(-x, axis=1, kind="stable")[:, :4]
    cases.op("TopK", 1, [x], expected=[np.take_along_axis(x, order, 1), order], outputs=2, axis=1,
             k=4)
    cases.op("TopK", 10, [x], [ints(3)], outputs=2, axis=1)
    cases.op("TopK", 11, [x], [ints(6)], tag="smallest", outputs=2, axis=1, largest=0)
    cases.op("TopK", 11, [x.astype(np.int64)], [ints(2)], tag="integers", outputs=2, axis=-1)
    # As many as there are, or four.
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Slice", ["shape", "one", "two"], ["length"]),
        helper.make_node("Min", ["length", "four"], ["k"]),
        helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=1),
    ]
    cases.graph("TopK_13_of_shape", nodes, {"x": normal(2, 9)},
                {"one": ints(1), "two": ints(2), "four": ints(4)}, 13, {"x": ["n", "m"]},
                outputs=("y", "i"))


def recurrent(cases):
    steps, batch, size, hidden = 5, 3, 4, 6
    x = normal(steps, batch, size)
    lengths = np.array([5, 2, 4], dtype=np.int32)
    for name, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        outputs = 3 if name == "LSTM" else 2
        for direction, d in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            w = normal(d, gates * hidden, size) * 0.5
            r = normal(d, gates * hidden, hidden) * 0.5
            b = normal(d, 2 * gates * hidden) * 0.5
            states = [normal(d, batch, hidden) for _ in range(outputs - 1)]
            extra = [normal(d, 3 * hidden)] if name == "LSTM" else []
            cases.op(name, 14, [x], [w, r], tag=direction, outputs=outputs, hidden_size=hidden,
                     direction=direction)
            cases.op(name, 14, [x], [w, r, b, lengths, *states, *extra], tag=f"{direction}_all",
                     outputs=outputs, hidden_size=hidden, direction=direction)
    w, r, b = normal(1, 3 * hidden, size), normal(1, 3 * hidden, hidden), normal(1, 6 * hidden)
    cases.op("GRU", 7, [x], [w, r, b], tag="reset_after", outputs=2, hidden_size=hidden,
             linear_before_reset=1)
    cases.op("GRU", 14, [x], [w, r, b], tag="activations", outputs=2, hidden_size=hidden,
             activations=["HardSigmoid", "LeakyRelu"], activation_alpha=[0.3, 0.1],
             activation_beta=[0.4], clip=0.7)


def einsum(cases):
    a, b, c = normal(2, 3, 4), normal(2, 4, 5), normal(3, 5)
    for number, (equation, operands) in enumerate([
            ("bij,bjk->bik", [a, b]), ("bij,bjk->kib", [a, b]), ("bij,bjk,ik->b", [a, b, c]),
            ("...ij,...jk->...ik", [a, b]), ("bij->jb", [a]), ("ik,ik", [c, c]),
            ("bij,bij->bij", [a, a]), ("ik,jk->ij", [c, c]), ("bij,kj->bik", [a, normal(5, 4)])]):
        cases.op("Einsum", 12, operands, tag=str(number), equation=equation)
    square = normal(2, 3, 3)
    cases.op("Einsum", 12, [square], expected=[np.einsum("bii->bi", square)], tag="diagonal",
             equation="bii->bi")


def indices(cases):
    x = normal(4, 5, 3)
    cases.op("ScatterElements", 11, [x, ints(0, -1).reshape(1, 2, 1), normal(1, 2, 1)], axis=0)
    cases.op("ScatterElements", 16, [x, ints(0, 0).reshape(2, 1, 1), normal(2, 1, 1)], tag="add",
             axis=1, reduction="add")
    cases.op("ScatterND", 11, [x, ints(0, 1, 3, -2).reshape(2, 2), normal(2, 3)])
    cases.op("ScatterND", 16, [x, ints(1, 1).reshape(2, 1), normal(2, 5, 3)], tag="mul",
             reduction="mul")
    cases.op("Compress", 9, [x], [np.array([False, True, True])], tag="axis", axis=1)
    cases.op("Compress", 11, [x], [np.array([True, False, True, True])])


def pictures(cases):
    x = normal(2, 3, 6, 5)
    cases.op("MaxPool", 12, [x], outputs=2, tag="indices", kernel_shape=[3, 2], strides=[2, 1],
             pads=[1, 0, 1, 1])
    cases.op("MaxPool", 12, [x], outputs=2, tag="indices_ceil", kernel_shape=[2, 2],
             strides=[2, 2], ceil_mode=1)
    grid = (RNG.random((2, 4, 3, 2)) * 2.6 - 1.3).astype(np.float32)
    x = np.abs(x)  # sums of parts that do not cancel
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                cases.op("GridSample", 16, [x, grid], tag=f"{mode}_{padding}_{align}", mode=mode,
                         padding_mode=padding, align_corners=align)
    rois = floats(0, 0, 3, 4, 1.5, 0.5, 9, 8, 2, 2, 2, 2).reshape(3, 4)
    batch = ints(0, 1, 1)
    for ratio in (0, 2):
        cases.op("RoiAlign", 10, [x, rois], [batch], tag=f"avg_{ratio}", output_height=2,
                 output_width=3, sampling_ratio=ratio, spatial_scale=0.5)
        cases.op("RoiAlign", 16, [x, rois], [batch], tag=f"half_pixel_{ratio}", output_height=2,
                 output_width=2, sampling_ratio=ratio, spatial_scale=0.5,
                 coordinate_transformation_mode="half_pixel")
    x = normal(2, 3, 6, 5)
    # Inside, beyond every edge, inside out, one element, none.
    rois = floats(0, 0, 0, 3, 4, 1, -2, 1.5, 9, 12, 1, 4, 5, 1, 2, 0, 3, 3, 3, 3,
                  0, 20, 20, 24, 24).reshape(5, 5)
    cases.op("MaxRoiPool", 1, [x, rois], pooled_shape=[2, 3])
    cases.op("MaxRoiPool", 1, [x, rois], tag="scaled", pooled_shape=[4, 1], spatial_scale=0.5)
    cases.op("MaxRoiPool", 1, [x, rois[:0]], expected=[np.zeros((0, 3, 2, 2), np.float32)],
             tag="no_regions", pooled_shape=[2, 2])


def boxes(cases):
    corners = RNG.random((2, 12, 2)).astype(np.float32)
    b = np.concatenate([corners, corners + 0.3], axis=2)
    scores = RNG.random((2, 3, 12)).astype(np.float32)
    for tag, most, overlap, least in (("few", 2, 0.3, 0.2), ("all", 12, 0.5, 0.0),
                                      ("none", 0, 0.5, 0.0)):
        cases.op("NonMaxSuppression", 11, [b, scores],
                 [ints(most), floats(overlap), floats(least)], tag=tag)
    cases.op("NonMaxSuppression", 10, [b, scores], [ints(3)], tag="bare", center_point_box=1)


def contributed(cases):
    """Operators of onnxruntime's own domain."""
    # One sequence: onnxruntime quantises the states of several in groups of its own.
    steps, batch, size, hidden = 4, 1, 5, 3
    x = normal(steps, batch, size)
    for direction, d in (("forward", 1), ("bidirectional", 2)):
        w = RNG.integers(-127, 128, (d, size, 4 * hidden)).astype(np.int8)
        r = RNG.integers(-127, 128, (d, hidden, 4 * hidden)).astype(np.int8)
        constants = {"w": w, "r": r, "b": normal(d, 8 * hidden),
                     "ws": np.full(d, 0.01, np.float32), "wz": np.zeros(d, np.int8),
                     "rs": np.full(d, 0.01, np.float32), "rz": np.zeros(d, np.int8)}
        node = helper.make_node(
            "DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"],
            ["y", "h", "c"], domain="com.microsoft", direction=direction, hidden_size=hidden)
        cases.contributed(f"DynamicQuantizeLSTM_{direction}", node, {"x": x}, constants)


def add(cases):
    for family in (contributed, resize, top_k, recurrent, einsum, indices, pictures, boxes):
        family(cases)
