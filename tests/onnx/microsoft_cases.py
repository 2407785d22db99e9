"""Cases of the operators of onnxruntime's own domain. Expected outputs come from its kernels; for
those that it has for GPUs alone from NumPy."""

import math

import numpy as np
from onnx import helper

RNG = np.random.default_rng(2028)


def normal(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def u8(*dims):
    return RNG.integers(0, 256, dims).astype(np.uint8)


def i8(*dims):
    return RNG.integers(-127, 128, dims).astype(np.int8)


def ints(*values):
    return np.array(values, dtype=np.int64)


def ints32(*values):
    return np.array(values, dtype=np.int32)


def real(value):
    return np.array(value, dtype=np.float32)


erf = np.vectorize(math.erf)


def gelu(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axes):
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)


def activations(cases):
    # Not so far below zero that only the rounding of erf and tanh is left.
    x, bias = np.maximum(normal(2, 3, 7) * 2, -2), np.maximum(normal(7), -0.5)
    cases.microsoft("Gelu", [x])
    cases.microsoft("QuickGelu", [x])
    cases.microsoft("QuickGelu", [x], tag="alpha", alpha=0.8)
    cases.microsoft("BiasGelu", [x], [bias])
    cases.microsoft("FastGelu", [x])
    cases.microsoft("FastGelu", [x], [bias], tag="bias")
    skip = normal(2, 3, 7)
    cases.microsoft("BiasAdd", [x], [bias, skip], expected=[x + bias + skip])
    wide, wide_bias = normal(2, 3, 10), normal(10)
    left, right = np.split(wide + wide_bias, 2, axis=-1)
    cases.microsoft("BiasSplitGelu", [wide], [wide_bias], expected=[left * gelu(right)])
    cases.microsoft("BiasDropout", [x, bias, skip], expected=[x + bias + skip, np.ones(x.shape, bool)],
                    outputs=2)
    cases.microsoft("BiasDropout", [x, bias], expected=[x + bias], tag="bare")
    scores = normal(2, 4, 3, 5)
    for tag, axis, mask in (("last", 3, normal(2, 1, 1, 5)), ("first", 3, normal(3, 5)),
                            ("two", 2, normal(2, 1, 3, 5))):
        axes = tuple(range(axis, 4))
        cases.microsoft("BiasSoftmax", [scores, mask], expected=[softmax(scores + mask, axes)], tag=tag,
                        axis=axis, is_inner_broadcast=int(tag == "last"))
    bad = x.copy()
    bad[0, 1, 2] = np.inf
    for tag, given, attrs, good in (("all", [x, bias], {}, True), ("inf", [x, bad], {}, False),
                                    ("nan_only", [bad], {"isnan_only": 1}, True)):
        cases.microsoft("IsAllFinite", given, expected=[np.array(good)], tag=tag, **attrs)


def norms(cases):
    x, skip, gamma, beta, bias = normal(2, 3, 11), normal(2, 3, 11), normal(11), normal(11), normal(11)
    cases.microsoft("SkipLayerNormalization", [x, skip], [gamma, beta])
    cases.microsoft("SkipLayerNormalization", [x, skip], [gamma], tag="no_beta", epsilon=1e-3)
    for tag, other in (("one", skip[:1]), ("rows", skip[0])):
        cases.microsoft("SkipLayerNormalization", [x, other], [gamma, beta, bias], tag=tag)
    cases.microsoft("SkipLayerNormalization", [x, skip], [gamma, beta, bias], tag="sum",
                    results=["y", "", "", "s"])
    cases.microsoft("SkipSimplifiedLayerNormalization", [x, skip], [gamma])
    cases.microsoft("SkipSimplifiedLayerNormalization", [x, skip], [gamma, bias], tag="sum",
                    results=["y", "", "", "s"], epsilon=1e-5)
    cases.microsoft("SkipSimplifiedLayerNormalization", [x[0], skip[0]], [gamma], tag="matrix")
    cases.microsoft("LayerNormalization", [x], [gamma, beta], base=13, domain="", epsilon=1e-3)
    cases.microsoft("LayerNormalization", [x], [normal(3, 11)], base=11, domain="", tag="axis", axis=1)
    cases.microsoft("SimplifiedLayerNormalization", [x], [gamma], base=13, domain="")
    cases.microsoft("SimplifiedLayerNormalization", [x], [normal(3, 11)], base=17, domain="",
                    tag="axis", axis=-2, epsilon=1e-2)

    ids = RNG.integers(0, 20, (3, 5)).astype(np.int32)
    kinds = RNG.integers(0, 2, (3, 5)).astype(np.int32)
    mask = (RNG.random((3, 5)) < 0.7).astype(np.int32)
    places = RNG.integers(0, 9, (3, 5)).astype(np.int32)
    tables = [normal(20, 8), normal(9, 8), normal(2, 8), normal(8), normal(8)]
    none = [None] * 2
    cases.microsoft("EmbedLayerNormalization", [ids, kinds], [*tables, mask], outputs=2)
    cases.microsoft("EmbedLayerNormalization", [ids, None], [*tables[:2], None, *tables[3:]],
                    tag="no_segments", outputs=2, epsilon=1e-5)
    cases.microsoft("EmbedLayerNormalization", [ids, kinds], [*tables, mask, places], tag="positions",
                    outputs=3)
    cases.microsoft("EmbedLayerNormalization", [ids, kinds], [*tables, None, places[:1]],
                    tag="one_row", results=["y", "", "s"])
    bytes_of = [u8(20, 8), u8(9, 8), u8(2, 8), u8(8), u8(8)]
    scales = [real(s) for s in (0.02, 0.03, 0.01, 0.004, 0.05)]
    zeros = [np.uint8(z) for z in (128, 120, 7, 0, 130)]
    cases.microsoft("QEmbedLayerNormalization", [ids, kinds], [*bytes_of, mask, *scales, *zeros],
                    outputs=2)
    del none

    image, wide_gamma, wide_beta = normal(2, 3, 5, 6), normal(6), normal(6)

    def grouped(x, groups, silu):
        n, c = x.shape[0], x.shape[-1]
        g = x.reshape(n, -1, groups, c // groups)
        g = (g - g.mean((1, 3), keepdims=True)) / np.sqrt(g.var((1, 3), keepdims=True) + 1e-5)
        y = g.reshape(x.shape) * wide_gamma + wide_beta
        return (y * sigmoid(y) if silu else y).astype(np.float32)

    first = (0, 3, 1, 2)
    for groups, silu in ((1, 0), (2, 1), (6, 1)):
        y = grouped(image, groups, silu)
        cases.microsoft("GroupNorm", [image], [wide_gamma, wide_beta], expected=[y], tag=str(groups),
                        groups=groups, activation=silu)
        cases.microsoft("GroupNorm", [image.transpose(first)], [wide_gamma, wide_beta],
                        expected=[y.transpose(first)], tag=f"{groups}_first", groups=groups,
                        activation=silu, channels_last=0)
    whole, one, extra = normal(2, 3, 5, 6), normal(2, 6), normal(6)
    for tag, skip, more in (("whole", whole, [extra]), ("flat", one, []),
                            ("ones", one.reshape(2, 1, 1, 6), [extra])):
        s = image + (one.reshape(2, 1, 1, 6) if tag == "flat" else skip) + (extra if more else 0)
        cases.microsoft("SkipGroupNorm", [image], [wide_gamma, wide_beta, skip, *more],
                        expected=[grouped(s, 3, 1), s], tag=tag, outputs=2, groups=3, activation=1)


def products(cases):
    for op in ("FusedMatMul", "TransposeMatMul"):
        for ta in (0, 1):
            for tb in (0, 1):
                a = normal(2, 3, *((5, 4) if ta else (4, 5)))
                b = normal(3, *((6, 5) if tb else (5, 6)))
                cases.microsoft(op, [a, b], tag=f"{ta}{tb}", alpha=0.5, transA=ta, transB=tb)
    for ta in (0, 1):
        for tb in (0, 1):
            # The batch lies behind the rows, or the columns.
            a = normal(3, 2, 4) if not ta else normal(4, 2, 3)
            b = normal(4, 2, 5) if not tb else normal(5, 2, 4)
            cases.microsoft("FusedMatMul", [a, b], tag=f"batches_{ta}{tb}", transA=ta, transB=tb,
                            transBatchA=1, transBatchB=1)
    cases.microsoft("FusedMatMul", [normal(3, 2, 5, 4), normal(2, 5, 4, 6)], tag="batches_one",
                    transBatchA=1)
    cases.microsoft("FusedMatMul", [normal(5), normal(2, 5, 3)], tag="vector", transA=1, alpha=2.0)
    cases.microsoft("FusedMatMul", [normal(2, 3, 5).astype(np.float64), normal(5, 3).astype(np.float64)],
                    tag="double", alpha=0.25)

    a, b, c = normal(3, 5), normal(5, 4), normal(4)
    for name, attrs in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Tanh", {}),
                        ("Sigmoid", {}), ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
                        ("Elu", {"activation_alpha": 0.7}), ("Softplus", {}), ("Softsign", {}),
                        ("ThresholdedRelu", {"activation_alpha": 0.5}), ("Celu", {"activation_alpha": 0.6}),
                        ("Selu", {"activation_alpha": 1.5, "activation_gamma": 1.1})):
        cases.microsoft("FusedGemm", [a], [b, c], tag=name, activation=name, **attrs)
    cases.microsoft("FusedGemm", [a.T.copy()], [b.T.copy(), normal(3, 1)], tag="turned", activation="Relu",
                    transA=1, transB=1, alpha=0.5, beta=2.0)
    y = a @ b + c
    cases.microsoft("GemmFastGelu", [a], [b, c],
                    expected=[0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))])
    cases.microsoft("MatMulInteger16", [RNG.integers(-999, 999, (3, 5)).astype(np.int16),
                                        RNG.integers(-999, 999, (5, 2)).astype(np.int16)])


def convolutions(cases):
    x, w, b, z = normal(2, 4, 7, 6), normal(6, 4, 3, 3), normal(6), normal(2, 6, 7, 6)
    pads = [1, 1, 1, 1]
    for name, parameters in (("Relu", []), ("LeakyRelu", [0.1]), ("Tanh", []), ("Sigmoid", []),
                             ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.2, 0.4]), ("HardSwish", [])):
        attrs = {"activation_params": parameters} if parameters else {}
        cases.microsoft("FusedConv", [x], [w, b], tag=name, activation=name, pads=pads, **attrs)
    cases.microsoft("FusedConv", [x], [w, b, z], tag="sum", activation="Relu", pads=pads)
    cases.microsoft("FusedConv", [x], [w, None, z], tag="no_bias", pads=pads)
    cases.microsoft("FusedConv", [x], [normal(4, 1, 3, 2)], tag="depthwise", group=4, strides=[2, 1],
                    activation="Relu", dilations=[1, 2])
    last, oihw = (0, 2, 3, 1), w
    want = np.maximum(convolved(x, oihw) + b[:, None, None] + z, 0)
    cases.microsoft("NhwcFusedConv", [x.transpose(last)], [w, b, z.transpose(last)],
                    expected=[want.transpose(last)], activation="Relu", pads=pads)
    cases.microsoft("NhwcConv", [x.transpose(last)], [w.transpose(last), b],
                    expected=[(convolved(x, oihw) + b[:, None, None]).transpose(last)], pads=pads)
    cases.microsoft("NhwcMaxPool", [u8(2, 7, 6, 5)], kernel_shape=[3, 2], strides=[2, 1])
    cases.microsoft("NhwcMaxPool", [i8(2, 7, 6, 5)], tag="padded", kernel_shape=[3, 3], pads=pads,
                    strides=[2, 2], ceil_mode=1)
    cases.microsoft("ConvTransposeWithDynamicPads", [x], [normal(4, 3, 3, 3), ints(1, 0, 1, 2), normal(3)],
                    strides=[2, 3])


def convolved(x, w):
    """3 x 3, padded by 1."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((x.shape[0], w.shape[0], *x.shape[2:]), np.float32)
    for i in range(3):
        for j in range(3):
            part = padded[:, :, i:i + x.shape[2], j:j + x.shape[3]]
            y += np.einsum("nchw,oc->nohw", part, w[:, :, i, j])
    return y


def attention(cases):
    batch, steps, width, heads = 2, 5, 12, 3
    x, w, b = normal(batch, steps, width), normal(width, 3 * width) * 0.3, normal(3 * width)
    cases.microsoft("Attention", [x], [w, b], num_heads=heads)
    cases.microsoft("Attention", [x], [w, b], tag="causal", num_heads=heads, unidirectional=1)
    cases.microsoft("Attention", [x], [w], tag="scale", num_heads=heads, scale=0.1)
    rows = np.ones((batch, steps), np.int32)
    rows[1, 3:] = 0
    square = (RNG.random((batch, steps, steps)) < 0.6).astype(np.int32)
    for tag, mask in (("ends", ints32(5, 3)), ("ends_starts", ints32(5, 4, 1, 0)), ("rows", rows),
                      ("square", square), ("nothing", np.zeros((batch, steps), np.int32))):
        if tag != "nothing":  # sums with -10000 keep little of scores
            cases.microsoft("Attention", [x], [w, b, mask], tag=tag, num_heads=heads)
        cases.microsoft("Attention", [x], [w, b, mask], tag=f"{tag}_causal", num_heads=heads,
                        unidirectional=1, mask_filter_value=-3.0)
    past = normal(2, batch, heads, 4, width // heads)
    longer = np.concatenate([rows, np.ones((batch, 4), np.int32)], 1)
    cases.microsoft("Attention", [x], [w, b, None, past], tag="past", outputs=2, num_heads=heads,
                    unidirectional=1)
    cases.microsoft("Attention", [x, w, b, longer, past], tag="past_mask", outputs=2, num_heads=heads)
    cases.microsoft("Attention", [x], [w, b, None, None, normal(1, heads, steps, steps)], tag="bias",
                    num_heads=heads)
    cases.microsoft("Attention", [x], [normal(width, 6 + 6 + 9), normal(21)], tag="sizes",
                    num_heads=heads, qkv_hidden_sizes=[6, 6, 9])
    cases.microsoft("Attention", [x], [w, b], tag="present", outputs=2, num_heads=heads)

    qx, qw = u8(batch, steps, width), i8(width, 3 * width)
    scales = [real(0.02), real(0.01)]
    cases.microsoft("QAttention", [qx], [qw, b, *scales, ints32(5, 3), np.uint8(120), np.int8(3)],
                    num_heads=heads)
    cases.microsoft("QAttention", [qx], [qw, b, real(0.02), np.abs(normal(3 * width)) * 0.01, None, np.uint8(128)],
                    tag="columns", num_heads=heads, unidirectional=1)
    cases.microsoft("QAttention", [qx], [u8(width, 3 * width), b, *scales, None, np.uint8(128), np.uint8(130), past],
                    tag="past", outputs=2, num_heads=heads, unidirectional=1)


def multi_head(cases):
    batch, steps, keys, width, heads = 2, 4, 6, 12, 3
    size = width // heads
    q, k, v = normal(batch, steps, width), normal(batch, keys, width), normal(batch, keys, 15)
    bias = normal(12 + 12 + 15)
    name = "MultiHeadAttention"
    cases.microsoft(name, [q, k, v], num_heads=heads)
    cases.microsoft(name, [q, k, v], [bias], tag="bias", num_heads=heads, scale=0.3)
    rows = np.ones((batch, keys), np.int32)
    rows[0, 2:] = 0
    square = (RNG.random((batch, steps, keys)) < 0.6).astype(np.int32)
    for tag, mask in (("lengths", ints32(6, 2)), ("rows", rows), ("square", square)):
        cases.microsoft(name, [q, k, v], [bias, mask], tag=tag, num_heads=heads)
    cases.microsoft(name, [q, k, v], [None, None, normal(1, heads, steps, keys)], tag="added",
                    num_heads=heads)
    cases.microsoft(name, [q, k, v], [None, None, normal(batch, 1, steps, keys)], tag="added_of_batch",
                    num_heads=heads)
    own, past = normal(batch, steps, width), normal(2, batch, heads, 3, size)
    cases.microsoft(name, [q, own, own], [None, None, None, past[0], past[1]], tag="past", outputs=3,
                    num_heads=heads, unidirectional=1)
    cases.microsoft(name, [q, own, own], [None, np.ones((batch, 7), np.int32), None, past[0], past[1]],
                    tag="past_mask", outputs=3, num_heads=heads)
    cases.microsoft(name, [q, own, own], tag="causal", num_heads=heads, unidirectional=1)
    cases.microsoft(name, [q, normal(batch, heads, keys, size), normal(batch, heads, keys, size)],
                    tag="heads", num_heads=heads)
    cases.microsoft(name, [q, own, own], [bias[:36], rows[:, :steps]], tag="scores", num_heads=heads,
                    results=["y", "", "", "scores"], floats=["scores"])
    # Packed ones are for GPUs.
    packed = normal(batch, keys, heads, 2, size)
    by_head = packed.transpose(3, 0, 2, 1, 4)
    cases.microsoft(name, [q, packed], expected=[attended(split(q, heads), *by_head)], tag="packed_keys",
                    num_heads=heads)
    packed = normal(batch, keys, heads, 3, size)
    cases.microsoft(name, [packed], expected=[attended(*packed.transpose(3, 0, 2, 1, 4))], tag="packed",
                    num_heads=heads)


def split(x, heads):
    """[B, T, hidden] as [B, heads, T, D]."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def attended(q, k, v):
    scores = np.einsum("bnsd,bntd->bnst", q, k) / np.sqrt(q.shape[-1])
    y = np.einsum("bnst,bntd->bsnd", softmax(scores, (3,)), v)
    return y.reshape(*y.shape[:2], -1)


def group_query(cases):
    name = "GroupQueryAttention"
    batch, heads, groups, size = 2, 4, 2, 16
    cos, sin = normal(32, size // 2), normal(32, size // 2)

    def case(tag, steps, before, lengths, total, held=None, packed=False, table=None, extra=(), size=size,
             batch=batch, **attrs):
        q, k, v = (normal(batch, steps, h * size) for h in (heads, groups, groups))
        past = [normal(batch, groups, before if held is None else held, size) for _ in range(2)]
        if held == 0:
            past = [None, None]
        inputs = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
        inputs += [*past, ints32(*lengths)]
        tables = list(table) if table is not None else [None, None]
        constants = [ints32(total).reshape(())] + (tables + list(extra) if table is not None or extra else [])
        cases.microsoft(name, inputs, constants, tag=tag, outputs=3, num_heads=heads, kv_num_heads=groups,
                        **attrs)

    case("prompt", 5, 0, [4, 4], 5, held=0)
    case("prompt_packed", 5, 0, [4, 4], 5, held=0, packed=True, scale=0.2)
    case("prompt_empty_past", 5, 0, [4, 4], 5)
    case("step", 1, 6, [6, 6], 7)
    case("step_ragged", 1, 6, [6, 3], 7)
    case("step_rotary", 1, 6, [6, 3], 7, table=(cos, sin), do_rotary=1)
    case("prompt_rotary", 4, 0, [3, 3], 4, held=0, table=(cos, sin), do_rotary=1, rotary_interleaved=1)
    case("half_rotary", 4, 0, [3, 3], 4, held=0, table=(cos, sin), size=32, do_rotary=1)
    case("window", 9, 0, [8, 8], 9, held=0, local_window_size=3)
    case("step_window", 1, 9, [9, 7], 10, local_window_size=4)
    case("softcap", 5, 0, [4, 4], 5, held=0, softcap=0.5)
    case("smooth", 5, 0, [4, 4], 5, held=0, smooth_softmax=1)
    case("positions", 1, 6, [6, 3], 7, table=(cos, sin), do_rotary=1, extra=[ints(6, 3).reshape(2, 1)])
    case("bias", 1, 6, [6, 3], 7, extra=[None, normal(batch, heads, 1, 7)])
    case("bias_softcap", 5, 0, [4, 4], 5, held=0, extra=[None, normal(1, 1, 5, 5)], softcap=1.5)
    case("sink", 5, 0, [4, 4], 5, held=0, extra=[None, None, normal(heads)])
    case("wide_buffer", 1, 10, [6, 3], 7)
    case("wide_buffer_bias", 1, 10, [6, 3], 7, extra=[None, normal(batch, heads, 1, 7)])
    case("wide_buffer_prompt", 4, 10, [3, 3], 4, table=(cos, sin), do_rotary=1)
    case("padded_prompt", 5, 0, [4, 2], 5, held=0, table=(cos, sin), do_rotary=1)
    case("prompt_positions", 4, 0, [3, 3], 4, held=0, table=(cos, sin), do_rotary=1,
         extra=[ints(0, 1, 2, 3, 0, 1, 2, 3).reshape(2, 4)])
    case("both_ways", 5, 0, [4, 4], 5, held=0, causal=0)
    case("chunk", 3, 4, [6], 7, batch=1)
    case("chunk_window", 3, 4, [6], 7, batch=1, table=(cos, sin), do_rotary=1, local_window_size=2)


def rotary(cases):
    name = "RotaryEmbedding"
    cos, sin = normal(20, 4), normal(20, 4)
    x, heads = normal(2, 3, 24), normal(2, 5, 3, 8)
    places = RNG.integers(0, 20, (2, 3)).astype(np.int64)
    for interleaved in (0, 1):
        cases.microsoft(name, [x, places], [cos, sin], tag=f"flat_{interleaved}", interleaved=interleaved)
        cases.microsoft(name, [heads, ints(7)], [cos, sin], tag=f"heads_{interleaved}",
                        interleaved=interleaved)
    cases.microsoft(name, [x, places], [cos[:, :2], sin[:, :2]], tag="part", num_heads=3,
                    rotary_embedding_dim=4)
    cases.microsoft(name, [heads, places], [cos[:, :2], sin[:, :2]], tag="part_heads", num_heads=5,
                    rotary_embedding_dim=4, interleaved=1)
    cases.microsoft(name, [x, places], [cos, sin], tag="scale", scale=0.5)


def quantized(cases):
    for op in ("QLinearAdd", "QLinearMul"):
        for kind, make, zero in (("u8", u8, np.uint8), ("i8", i8, np.int8)):
            cases.microsoft(op, [make(2, 3, 5)], [real(0.013), zero(11), make(3, 1), real(0.029), zero(7),
                                                  real(0.057), zero(100)], tag=kind)
    for op, attrs in (("QLinearLeakyRelu", {"alpha": 0.3}), ("QLinearSigmoid", {})):
        cases.microsoft(op, [u8(4, 9)], [real(0.031), np.uint8(120), real(0.0041), np.uint8(3)], tag="u8",
                        **attrs)
        cases.microsoft(op, [i8(4, 9)], [real(0.031), np.int8(-5), real(0.021), np.int8(4)], tag="i8",
                        **attrs)
    image, last = u8(2, 3, 7, 6), u8(2, 7, 6, 3)
    scales = [real(0.03123), np.uint8(113), real(0.02717), np.uint8(120)]
    for tag, x, attrs in (("first", image, {}), ("last", last, {"channels_last": 1})):
        cases.microsoft("QLinearAveragePool", [x], scales, tag=tag, kernel_shape=[3, 2], strides=[2, 1],
                        pads=[1, 0, 1, 1], **attrs)
        cases.microsoft("QLinearAveragePool", [x], scales, tag=f"{tag}_count", kernel_shape=[3, 3],
                        count_include_pad=1, pads=[1, 1, 1, 1], **attrs)
        cases.microsoft("QLinearGlobalAveragePool", [x], scales, tag=tag, **attrs)
    cases.microsoft("QLinearGlobalAveragePool", [i8(2, 5, 4, 3)],
                    [real(0.031), np.int8(-13), real(0.027), np.int8(12)], tag="i8")
    cases.microsoft("QLinearConcat", [real(0.05), np.uint8(120), u8(2, 3), real(0.031), np.uint8(100), u8(2, 4),
                                      real(0.05), np.uint8(120)], axis=1)
    cases.microsoft("QLinearConcat", [real(0.05), np.int8(12), i8(2, 3, 2), real(0.031), np.int8(-9), i8(1, 3, 2),
                                      real(0.08), np.int8(0)], tag="i8", axis=-3)
    for tag, opset, axis, scale in (("last", 13, -1, 0.071), ("middle", 13, 1, 0.031), ("flat", 12, 1, 0.05)):
        cases.microsoft("QLinearSoftmax", [u8(2, 5, 4)], [real(scale), np.uint8(128), real(1 / 256), np.uint8(0)],
                        tag=tag, axis=axis, opset=opset)
        cases.microsoft("QLinearSoftmax", [i8(2, 5, 4)], [real(scale), np.int8(2), real(1 / 256), np.int8(-128)],
                        tag=f"{tag}_i8", axis=axis, opset=opset)
    cases.microsoft("QLinearWhere", [RNG.random((2, 5)) < 0.5, u8(2, 5)],
                    [real(0.0311), np.uint8(100), u8(5), real(0.0523), np.uint8(9), real(0.0617), np.uint8(50)])
    y = ((u := u8(2, 3, 4)).astype(np.float32) - 100) * np.float32(0.031)
    cases.microsoft("QLinearReduceMean", [u], [real(0.031), np.uint8(100), real(0.0213), np.uint8(9)],
                    expected=[np.clip(np.rint(y.mean((0, 2)) / np.float32(0.0213)) + 9, 0, 255).astype(np.uint8)],
                    axes=[0, 2], keepdims=0)
    x = normal(2, 3, 4)
    for op, extra, given in (("QuantizeLinear", [real(0.031), np.uint8(100)], x),
                             ("DequantizeLinear", [real(0.031), np.uint8(100)], u8(2, 3, 4))):
        cases.microsoft(op, [given], extra)
        cases.microsoft(op, [given], [np.abs(normal(3)) * 0.02 + 0.01, np.array([1, 100, 200], np.uint8)],
                        tag="axis", axis=1)
    cases.microsoft("QuantizeLinear", [x], [real(0.0031), np.int16(-100)], tag="i16")
    cases.microsoft("DequantizeLinear", [RNG.integers(0, 65536, (2, 3)).astype(np.uint16)],
                    [real(0.0031), np.uint16(32000)], tag="u16")
    cases.microsoft("DequantizeLinear", [RNG.integers(-999, 999, (2, 3)).astype(np.int32)], [real(0.0031)],
                    tag="i32")


def quantized_products(cases):
    a, b, bias = u8(2, 3, 5), i8(5, 4), normal(4)
    columns = np.abs(normal(4)) * 0.01 + 0.001
    name = "MatMulIntegerToFloat"
    cases.microsoft(name, [a], [b, real(0.02), real(0.01), np.uint8(120), np.int8(3), bias])
    cases.microsoft(name, [a], [b, real(0.02), columns, np.uint8(120), i8(4)], tag="columns")
    cases.microsoft(name, [i8(3, 5)], [b, real(0.02), real(0.01)], tag="i8")
    name = "DynamicQuantizeMatMul"
    x = normal(2, 3, 5)
    cases.microsoft(name, [x], [b, real(0.01), np.int8(3), bias])
    cases.microsoft(name, [x], [b, columns, i8(4)], tag="columns")
    cases.microsoft(name, [x], [u8(5, 4), real(0.01), np.uint8(120)], tag="u8")
    cases.microsoft(name, [x], [b, real(0.01), None, bias], tag="no_zero")

    name = "QGemm"
    m, n, zero = u8(3, 5), i8(5, 4), np.uint8(120)
    scales = lambda w, s, z: [real(0.02), zero, w, s, z]
    c = RNG.integers(-5000, 5000, 4).astype(np.int32)
    cases.microsoft(name, [m], [*scales(n, real(0.01), np.int8(3)), c, real(0.07), np.uint8(100)])
    cases.microsoft(name, [m], [*scales(n, real(0.01), np.int8(3)), c], tag="floats", alpha=0.5)
    cases.microsoft(name, [m.T.copy()], [*scales(n.T.copy(), columns, i8(4)), None, real(0.07), np.uint8(100)],
                    tag="turned", transA=1, transB=1)
    image, w = u8(2, 3, 7, 6), i8(4, 3, 3, 3)
    scales = [real(0.02), np.uint8(120), w, np.abs(normal(4)) * 0.01 + 0.001, np.zeros(4, np.int8),
              real(0.5), np.uint8(100), RNG.integers(-500, 500, 4).astype(np.int32)]
    cases.microsoft("QLinearConv", [image], scales, pads=[1, 1, 1, 1])
    cases.microsoft("QLinearConv", [image.transpose(0, 2, 3, 1).copy()], scales, tag="last", channels_last=1,
                    strides=[2, 1])
    cases.microsoft("QLinearConv", [u8(2, 7, 6, 4)],
                    [real(0.02), np.uint8(120), i8(4, 1, 3, 3), real(0.01), np.int8(0), real(0.05), np.uint8(100)],
                    tag="depthwise", channels_last=1, group=4, pads=[1, 0, 1, 0])


def blocks(cases):
    def weights(rows, columns, block, bits):
        count = (rows + block - 1) // block
        packed = u8(columns, count, block * bits // 8)
        scales = np.abs(normal(columns, count)) * 0.1 + 0.01
        zeros = u8(columns, (count * bits + 7) // 8)
        return packed, scales, zeros

    name = "MatMulNBits"
    for bits in (4, 8, 2):
        for rows, columns, block in ((32, 5, 16), (40, 3, 32), (256, 4, 64), (300, 2, 256), (130, 3, 128)):
            packed, scales, zeros = weights(rows, columns, block, bits)
            a = normal(2, 3, rows) * 0.1
            attrs = {"K": rows, "N": columns, "bits": bits, "block_size": block, "tag": f"{bits}_{rows}_{block}"}
            cases.microsoft(name, [a], [packed, scales], **attrs)
            attrs["tag"] += "_zeros"
            cases.microsoft(name, [a], [packed, scales, zeros, None, normal(columns)], **attrs)
    packed, scales, zeros = weights(64, 4, 16, 4)
    a = normal(5, 64) * 0.1
    attrs = {"K": 64, "N": 4, "block_size": 16}
    cases.microsoft(name, [a], [packed, scales.reshape(-1), zeros.reshape(-1)], tag="flat", **attrs)
    cases.microsoft(name, [a], [packed, scales, np.abs(normal(4, 4)) * 8], tag="real_zeros", **attrs)
    groups = RNG.integers(0, 4, 64).astype(np.int32)
    cases.microsoft(name, [a], [packed, scales, None, groups], tag="groups", **attrs)

    for kind in (0, 1):
        for rows, columns, block in ((32, 5, 16), (33, 3, 32), (20, 7, 64)):
            cases.microsoft("MatMulBnb4", [normal(2, 3, rows)],
                            [u8((rows * columns + 1) // 2), np.abs(normal(-(-rows * columns // block)))],
                            tag=f"{kind}_{rows}", K=rows, N=columns, block_size=block, quant_type=kind)

    name = "GatherBlockQuantized"
    for bits in (4, 8, 2):
        table, scales = u8(9, 48 * bits // 8), np.abs(normal(9, 3)) * 0.1
        zeros = u8(9, (3 * bits + 7) // 8)
        ids = RNG.integers(-9, 9, (2, 3)).astype(np.int64)
        attrs = {"bits": bits, "block_size": 16}
        cases.microsoft(name, [ids], [table, scales], tag=f"{bits}", order=[1, 0, 2], **attrs)
        cases.microsoft(name, [ids.astype(np.int32)], [table, scales, zeros], tag=f"{bits}_zeros",
                        order=[1, 0, 2, 3], **attrs)


def halves(cases):
    def half(*dims):
        return normal(*dims).astype(np.float16)

    x, skip = half(2, 3, 11), half(2, 3, 11)
    cases.microsoft("SkipLayerNormalization", [x, skip], [half(11), half(11), half(11)], tag="half")
    cases.microsoft("SkipSimplifiedLayerNormalization", [x, skip], [half(11)], tag="half",
                    results=["y", "", "", "s"])
    cases.microsoft("MatMulNBits", [half(2, 3, 40)], [u8(5, 2, 16), half(5, 2)], tag="half", K=40, N=5,
                    block_size=32)
    q, k, v = half(2, 1, 64), half(2, 1, 32), half(2, 1, 32)
    cases.microsoft("GroupQueryAttention", [q, k, v, half(2, 2, 6, 16), half(2, 2, 6, 16), ints32(6, 3)],
                    [ints32(7).reshape(())], tag="half", outputs=3, num_heads=4, kv_num_heads=2)


def others(cases):
    x = normal(2, 3, 4)
    for axis in (0, 2, -1):
        cases.microsoft("ExpandDims", [x], [ints32(axis).reshape(())], tag=str(axis))
    square = normal(2, 5, 5) + 2 * np.eye(5, dtype=np.float32)
    cases.microsoft("Inverse", [square])
    cases.microsoft("Inverse", [np.array([[0, 2], [3, 0]], np.float64)], tag="swap")
    cases.microsoft("Trilu", [x], tag="plain")
    cases.microsoft("Trilu", [x], [ints(1).reshape(())], upper=0)
    cases.microsoft("Range", [], [ints(2).reshape(()), ints(11).reshape(()), ints(3).reshape(())])
    cases.microsoft("Range", [], [ints32(2), ints32(7)], tag="lists")
    cases.microsoft("GatherND", [x], [ints32(0, 2, 1, -1).reshape(2, 2)])
    cases.microsoft("Unique", [np.array([2, 1, 1, 3, 4, 3, 2], np.float32)], outputs=3)
    cases.microsoft("Pad", [x], [ints(0, 1, 0, 0, 0, 2), real([1.5])])
    cases.microsoft("Pad", [x], [ints(0, 1, 0, 0, 0, 2).reshape(1, 6)], tag="reflect", mode="reflect")
    for metric in ("sqeuclidean", "euclidean"):
        cases.microsoft("CDist", [normal(4, 7), normal(5, 7)], tag=metric, metric=metric)
    cases.microsoft("UnfoldTensor", [normal(3, 9, 2)], dim=1, size=4, step=2)
    cases.microsoft("UnfoldTensor", [normal(3, 9)], tag="last", size=3)
    signal = normal(3, 2, 8)
    spectrum = np.fft.rfft(signal)
    pairs = np.stack([spectrum.real, spectrum.imag], -1).astype(np.float32)
    cases.microsoft("Rfft", [signal], expected=[pairs], signal_ndim=1)
    cases.microsoft("Irfft", [pairs], expected=[signal], signal_ndim=1)
    picture = normal(2, 3, 6, 7)
    boxes = np.array([[0, 0, 1, 1], [0.23, 0.11, 0.71, 1.2], [0.92, 0.83, 0.15, 0.31]], np.float32)
    for mode in ("bilinear", "nearest"):
        for size in ((4, 6), (1, 3)) if mode == "bilinear" else ((4, 6),):
            cases.microsoft("CropAndResize", [picture, boxes], [ints32(0, 1, 1), ints32(*size)],
                            tag=f"{mode}_{size[0]}", mode=mode, extrapolation_value=0.5)
    grid = (RNG.random((2, 4, 3, 2)) * 2.6 - 1.3).astype(np.float32)
    for mode in ("bilinear", "nearest"):
        cases.microsoft("GridSample", [np.abs(picture), grid], tag=mode, mode=mode, padding_mode="border")
    ids = ints(1, 2, 3, 1, 2, 4, 1, 2, 5, 5, 5, 5, 5, 5, 5, 5).reshape(2, 8)
    for size in (1, 2, 3, 9):
        cases.microsoft("NGramRepeatBlock", [ids, normal(2, 7)], tag=str(size), ngram_size=size)


def of_domain(op_type, inputs, outputs, **attrs):
    return helper.make_node(op_type, inputs, outputs, domain="com.microsoft", **attrs)


def networks(cases):
    """Small models of symbolic dims, as scripts for transformers write them."""
    node = helper.make_node
    heads, groups, size, width = 4, 2, 16, 24
    # A step of a decoder: lengths follow from the mask of all tokens so far.
    step = [node("Shape", ["mask"], ["shape"]), node("Gather", ["shape", "one"], ["keys"]),
            node("Cast", ["keys"], ["total"], to=6), node("ReduceSum", ["mask", "ones"], ["counts"], keepdims=0),
            node("Sub", ["counts", "one"], ["last64"]), node("Cast", ["last64"], ["last"], to=6),
            node("SimplifiedLayerNormalization", ["x", "g1"], ["n1"], epsilon=1e-5),
            node("MatMul", ["n1", "wqkv"], ["qkv"]),
            of_domain("GroupQueryAttention", ["qkv", "", "", "pk", "pv", "last", "total", "cos", "sin"],
                      ["a", "k", "v"], num_heads=heads, kv_num_heads=groups, do_rotary=1),
            node("MatMul", ["a", "wo"], ["o"]),
            of_domain("SkipSimplifiedLayerNormalization", ["x", "o", "g2"], ["n2", "", "", "r"], epsilon=1e-5),
            of_domain("MatMulNBits", ["n2", "wn", "sn"], ["up"], K=width, N=width, block_size=16),
            of_domain("QuickGelu", ["up"], ["g"], alpha=1.0), node("Add", ["g", "r"], ["y"])]
    weights = {"one": ints(1).reshape(()), "ones": ints(1), "g1": normal(width), "g2": normal(width),
               "wqkv": normal(width, (heads + 2 * groups) * size) * 0.3, "wo": normal(heads * size, width) * 0.3,
               "cos": normal(32, size // 2), "sin": normal(32, size // 2), "wn": u8(width, 2, 8),
               "sn": np.abs(normal(width, 2)) * 0.02}
    dims = {"x": ["batch", "seq", width], "mask": ["batch", "total"], "pk": ["batch", groups, "past", size],
            "pv": ["batch", groups, "past", size]}
    for tag, steps, past, mask in (("prompt", 5, 0, [[1] * 5] * 2), ("step", 1, 4, [[1] * 5, [1, 1, 1, 0, 0]])):
        cases.graph(f"microsoft_decoder_{tag}", step,
                    {"x": normal(2, steps, width), "mask": np.array(mask, np.int64),
                     "pk": normal(2, groups, past, size), "pv": normal(2, groups, past, size)},
                    weights, dims=dims, outputs=("y", "k", "v"))
    encoder = [of_domain("EmbedLayerNormalization", ["ids", "kinds", "wt", "pt", "st", "g1", "b1", "mask"],
                         ["x", "counts"]),
               of_domain("Attention", ["x", "wqkv", "bqkv", "counts"], ["a"], num_heads=heads),
               node("MatMul", ["a", "wo"], ["o"]),
               of_domain("SkipLayerNormalization", ["o", "x", "g2", "b2", "bo"], ["r"]),
               of_domain("FusedMatMul", ["r", "w1"], ["u"], alpha=0.5, transB=1),
               of_domain("BiasGelu", ["u", "bu"], ["f"]), node("MatMul", ["f", "w2"], ["d"]),
               of_domain("SkipLayerNormalization", ["d", "r", "g2", "b2"], ["y"])]
    weights = {"wt": normal(50, width), "pt": normal(16, width), "st": normal(2, width), "g1": normal(width),
               "b1": normal(width), "wqkv": normal(width, 3 * width) * 0.3, "bqkv": normal(3 * width),
               "wo": normal(width, width) * 0.3, "g2": normal(width), "b2": normal(width), "bo": normal(width),
               "w1": normal(40, width), "bu": normal(40), "w2": normal(40, width) * 0.3}
    mask = np.ones((2, 7), np.int32)
    mask[1, 5:] = 0
    rows = ["batch", "seq"]
    cases.graph("microsoft_encoder", encoder,
                {"ids": RNG.integers(0, 50, (2, 7)).astype(np.int32),
                 "kinds": RNG.integers(0, 2, (2, 7)).astype(np.int32), "mask": mask},
                weights, dims={"ids": rows, "kinds": rows, "mask": rows})


    # Masks and biases over as many keys as a name says that is not the sum of the others.
    attention = [of_domain("MultiHeadAttention", ["q", "k", "v", "", "mask", "bias", "pk", "pv"], ["y", "nk", "nv"],
                           num_heads=2, unidirectional=1)]
    mask = np.ones((2, 5), np.int32)
    mask[1, 0] = 0
    cases.graph("microsoft_masked", attention,
                {"q": normal(2, 3, 8), "k": normal(2, 3, 8), "v": normal(2, 3, 8), "mask": mask,
                 "bias": normal(2, 2, 3, 5), "pk": normal(2, 2, 2, 4), "pv": normal(2, 2, 2, 4)},
                dims={**{name: ["batch", "seq", 8] for name in "qkv"}, "mask": ["batch", "total"],
                      "bias": ["batch", 2, "seq", "total"], "pk": ["batch", 2, "past", 4],
                      "pv": ["batch", 2, "past", 4]}, outputs=("y", "nk", "nv"))


def add(cases):
    for family in (activations, norms, products, convolutions, attention, multi_head, group_query, rotary,
                   quantized, quantized_products, blocks, halves, others, networks):
        family(cases)
