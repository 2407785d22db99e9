"""Cases of single operators: attributes, versions and dims that the onnx package's own cases leave
out. Expected outputs come from onnxruntime, or from NumPy where it does not know the version."""

import ml_dtypes
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


def narrow(cases):
    """Elements that share bytes, moved so that they begin and end anywhere in one."""
    x = (RNG.integers(-9, 9, (3, 7)) / 4).astype(np.float32)
    scale, node = np.float32(0.25), helper.make_node
    for kind, low, high, dtype in (("i4", -8, 7, ml_dtypes.int4), ("u4", 0, 15, ml_dtypes.uint4),
                                   ("i2", -2, 1, ml_dtypes.int2), ("u2", 0, 3, ml_dtypes.uint2)):
        # From 1 to 5 columns of the transposed, twice, in front of the rows that are left.
        moved = [node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
                 node("Transpose", ["q"], ["t"], perm=[1, 0]),
                 node("Slice", ["t", "one", "six"], ["s"]),
                 node("Concat", ["s", "s", "t"], ["c"], axis=0),
                 node("Reshape", ["c", "list"], ["l"]),
                 node("Gather", ["l", "picked"], ["g"]),
                 node("DequantizeLinear", ["g", "scale"], ["y"])]
        picked = ints(50, 3, 8, 1, 1, 22, 49, 0, 7)
        turned = np.clip(np.rint(x / scale), low, high).T
        list_of = np.concatenate([turned[1:6], turned[1:6], turned]).reshape(-1)
        cases.graph(f"packed_{kind}", moved, {"x": x},
                    {"scale": scale, "zero": np.zeros((), dtype), "one": ints(1), "six": ints(6),
                     "list": ints(-1), "picked": picked}, 25, ir_version=13,
                    outputs=("g", "y"),
                    expected=[list_of[picked].astype(dtype),
                              (list_of[picked] * scale).astype(np.float32)])
    weights = RNG.integers(-8, 8, (32, 5)).astype(ml_dtypes.int4)
    scales = np.abs(normal(2, 5)) * 0.1
    x = normal(3, 32)
    blocks = [node("DequantizeLinear", ["w", "scales"], ["d"], axis=0, block_size=16),
              node("MatMul", ["x", "d"], ["y"])]
    real = weights.astype(np.float32) * scales.repeat(16, axis=0)
    cases.graph("packed_weights", blocks, {"x": x}, {"w": weights, "scales": scales}, 21,
                ir_version=10, expected=[x @ real])
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
        dtype = getattr(ml_dtypes, name)
        w = (normal(6, 5) * 20).astype(dtype)
        x = normal(3, 6)
        cases.graph(name, [node("Cast", ["w"], ["d"], to=1), node("MatMul", ["x", "d"], ["y"])],
                    {"x": x}, {"w": w}, 21, ir_version=10, expected=[x @ w.astype(np.float32)])


def newer(cases):
    """Operators whose cases are few, or whose bounds only a run knows."""
    for bounds in ((1, 3, 0.25), (3, 1, -0.5), (0, 0, 1)):
        cases.op("Range", 11, [np.array(b, np.float32) for b in bounds], tag=f"computed_{bounds[0]}")
    cases.op("Range", 11, [np.array(b) for b in (10, 1, -3)], tag="computed_integers")
    cases.op("OneHot", 11, [ints(0, 2, -1), np.array(4, np.float32), floats(1, 3)], tag="computed")
    words = RNG.integers(0, 5, (3, 9))
    for mode in ("TF", "IDF", "TFIDF"):
        cases.op("TfIdfVectorizer", 9, [words], tag=mode, mode=mode, min_gram_length=1,
                 max_gram_length=3, max_skip_count=2, ngram_counts=[0, 3, 9],
                 ngram_indexes=[2, 0, 1, 5, 3, 6, 4],
                 pool_int64s=[1, 4, 2, 1, 2, 0, 0, 3, 3, 1, 2, 3],
                 weights=[0.5, 2.0, 3.0, 1.0, 0.25, 4.0, 1.5])
    x, weight, bias = normal(2, 4, 6, 5), normal(6, 2, 3, 2), normal(6)
    offset = normal(2, 2 * 3 * 2 * 2, 4, 3) * 2
    mask = np.abs(normal(2, 2 * 3 * 2, 4, 3))
    cases.op("DeformConv", 19, [x, weight, offset, bias, mask], tag="groups", group=2,
             offset_group=2, strides=[1, 2], pads=[0, 1, 0, 1], dilations=[1, 2])


def drawn(cases):
    """Numbers after a seed: those of NumPy's first generator, as in ONNX's reference implementation."""
    def seeded():
        return np.random.RandomState(7)

    x = np.linspace(0, 1, 700).reshape(7, 100)
    drawn_low = (seeded().random_sample((3, 250)) * 4 - 1).astype(np.float32)
    cases.op("RandomUniform", 22, [], expected=[drawn_low], shape=[3, 250], low=-1.0, high=3.0,
             seed=7.0)
    cases.op("RandomUniformLike", 22, [x], expected=[seeded().random_sample(x.shape)], seed=7.0)
    cases.op("Bernoulli", 22, [x], expected=[seeded().binomial(1, x).astype(np.float64)], seed=7.0)
    kept = seeded().uniform(size=x.shape) >= 0.25
    cases.op("Dropout", 13, [x], [np.array(0.25), np.array(True)], outputs=2, seed=7,
             expected=[kept * x / 0.75, kept])


def long_transforms(cases):
    """Of numbers that are taken apart; no part of a result is near 0, where rounding is all there is."""
    rng = np.random.default_rng(5)

    def spectrum(*dims):
        return (rng.integers(0, 2, dims) * 2 - 1) + 1j * (rng.integers(0, 2, dims) * 2 - 1)

    def parts(x):
        return np.stack([x.real, x.imag], -1).astype(np.float32)

    for length in (1050, 4096):
        x = parts(np.fft.ifft(spectrum(2, length)))
        cases.op("DFT", 20, [x], expected=[parts(np.fft.fft(x[..., 0] + 1j * x[..., 1]))], tag=str(length))
        turned = spectrum(2, length) * length
        x = parts(np.fft.fft(turned) / length)
        cases.op("DFT", 20, [x], expected=[parts(np.fft.ifft(x[..., 0] + 1j * x[..., 1]))],
                 tag=f"inverse_{length}", inverse=1)
    x = np.fft.irfft(spectrum(3, 513)).astype(np.float32)[..., None]
    cases.op("DFT", 20, [x], expected=[parts(np.fft.rfft(x[..., 0]))], tag="onesided_1024", onesided=1)


def add(cases):
    for family in (contributed, resize, top_k, recurrent, einsum, indices, pictures, boxes, narrow,
                   newer, drawn, long_transforms):
        family(cases)
