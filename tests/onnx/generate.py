#!/usr/bin/env python3
"""Writes cases in the form of ONNX's backend tests: generate.py FOLDER.

They cover what the onnx package's own cases leave out: operators as they were before their latest
version, initializers, symbolic dims, functions, external data, and whole small networks. Expected
outputs come from onnxruntime, or from NumPy where it does not know the old version.
"""

import pathlib
import sys

import container_cases
import control_cases
import map_cases
import microsoft_cases
import ml_cases
import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import operator_cases
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(2026)


def normal(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def info(name, array, dims=None):
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, array.shape if dims is None else dims)


def map_proto(value, kinds):
    """A dictionary as a MapProto from and to elements of `kinds`; onnxruntime gives Python's numbers."""
    key, element = kinds
    proto = onnx.MapProto(key_type=key)
    (proto.string_keys if key == TensorProto.STRING else proto.keys).extend(
        k.encode() if isinstance(k, str) else k for k in value)
    dtype = object if element == TensorProto.STRING else helper.tensor_dtype_to_np_dtype(element)
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    proto.values.tensor_values.extend(numpy_helper.from_array(np.array(v, dtype))
                                      for v in value.values())
    return proto


def map_kinds(kind):
    """The element types of a map's keys and values, also where it is the element of a sequence."""
    if kind.HasField("sequence_type"):
        return map_kinds(kind.sequence_type.elem_type)
    return kind.map_type.key_type, kind.map_type.value_type.tensor_type.elem_type


def serialized(value, kind=None):
    """A list is a sequence, a tuple of at most one item an optional, a dictionary a map of the TypeProto
    `kind`."""
    if isinstance(value, dict):
        return map_proto(value, map_kinds(kind)).SerializeToString()
    if isinstance(value, list) and value and isinstance(value[0], dict):
        maps = [map_proto(each, map_kinds(kind)) for each in value]
        return onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP,
                                  map_values=maps).SerializeToString()
    if isinstance(value, list):
        return numpy_helper.from_list(value).SerializeToString()
    if isinstance(value, tuple):
        optional = onnx.OptionalProto()
        if value and isinstance(value[0], list):
            optional.elem_type = onnx.OptionalProto.SEQUENCE
            optional.sequence_value.CopyFrom(numpy_helper.from_list(value[0]))
        else:
            optional.elem_type = onnx.OptionalProto.TENSOR
            if value:
                optional.tensor_value.CopyFrom(numpy_helper.from_array(value[0]))
        return optional.SerializeToString()
    return numpy_helper.from_array(np.asarray(value)).SerializeToString()


def all_typed(model):
    return all(output.type.tensor_type.elem_type for output in model.graph.output)


class Cases:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def write(self, name, model, inputs, outputs=None, external=False):
        """Writes one case; without `outputs` onnxruntime says what they are."""
        folder = self.folder / name
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        path = folder / "model.onnx"
        if external:
            onnx.save(model, path, save_as_external_data=True, location="weights.bin",
                      size_threshold=0)
        else:
            onnx.save(model, path)
        if outputs is None:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = (
                onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
            session = onnxruntime.InferenceSession(str(path), options,
                                                   providers=["CPUExecutionProvider"])
            outputs = session.run(None, inputs)
        for kind, arrays, infos in (("input", inputs.values(), model.graph.input),
                                    ("output", outputs, model.graph.output)):
            for number, (array, value) in enumerate(zip(arrays, infos, strict=True)):
                (data / f"{kind}_{number}.pb").write_bytes(serialized(array, value.type))

    def graph(self, name, nodes, inputs, constants=None, opset=17, dims=None, outputs=("y",),
              expected=None, functions=(), external=False, ir_version=8):
        """A model of several nodes; constants become initializers."""
        constants = constants or {}
        dims = dims or {}
        graph = helper.make_graph(
            nodes, name,
            [info(key, array, dims.get(key)) for key, array in inputs.items()],
            [helper.ValueInfoProto(name=output) if expected is not None
             else helper.make_empty_tensor_value_info(output) for output in outputs],
            [numpy_helper.from_array(array, key) for key, array in constants.items()])
        imports = [helper.make_opsetid("", opset)]
        imports += [helper.make_opsetid(d, 1) for d in sorted({node.domain for node in nodes} - {""})]
        model = helper.make_model(graph, opset_imports=imports, functions=list(functions),
                                  ir_version=ir_version)
        if expected is None:
            # onnxruntime wants typed outputs: inference knows them, strictly, but for its own operators'.
            typed = onnx.shape_inference.infer_shapes(model, data_prop=True)
            del model.graph.output[:]
            model.graph.output.extend(typed.graph.output if all_typed(typed) else
                                      [helper.ValueInfoProto(name=output) for output in outputs])
        self.write(name, model, inputs, expected, external)

    def contributed(self, name, node, inputs, constants, expected=None, opset=17, floats=()):
        """One node of onnxruntime's own domain; it infers the types of outputs, but for `floats`."""
        graph = helper.make_graph(
            [node], name, [info(key, array) for key, array in inputs.items()],
            [helper.ValueInfoProto(name=output) for output in node.output if output],
            [numpy_helper.from_array(array, key) for key, array in constants.items()])
        for output in graph.output:
            if output.name in floats:
                output.type.tensor_type.elem_type = TensorProto.FLOAT
        imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        self.write(name, helper.make_model(graph, opset_imports=imports, ir_version=8), inputs, expected)

    def microsoft(self, op_type, inputs, constants=None, expected=None, tag="", outputs=1, results=None,
                  order=None, floats=(), domain="com.microsoft", base=17, **attrs):
        """One node of onnxruntime's own domain. Arrays are inputs x0, x1, ... then the constants;
        `order` says where the node has them; `base` is the opset of the default domain. None is
        absent, as "" is of `results`."""
        arrays = [None if a is None else np.asarray(a) for a in [*inputs, *(constants or [])]]
        names = ["" if a is None else f"x{k}" for k, a in enumerate(arrays)]
        given = {f"x{k}": a for k, a in enumerate(arrays) if a is not None and k < len(inputs)}
        fixed = {f"x{k}": a for k, a in enumerate(arrays) if a is not None and k >= len(inputs)}
        node = helper.make_node(op_type, [names[k] for k in order or range(len(names))],
                                results or [f"y{k}" for k in range(outputs)], name="node", domain=domain,
                                **attrs)
        if expected is not None:
            expected = [a.astype(np.float32) if a.dtype == np.float64 else a for a in expected]
        name = f"{op_type}_microsoft" + (f"_{tag}" if tag else "")
        self.contributed(name, node, given, fixed, expected, base, floats)

    def foreign(self, name, node, inputs, kinds, domains, expected=None, opset=17):
        """One node of another domain than the default one, whose version `domains` has."""
        graph = helper.make_graph(
            [node], name, [info(key, array) for key, array in inputs.items()],
            [helper.make_tensor_value_info(output, kind, None)
             for output, kind in zip(node.output, kinds)])
        imports = [helper.make_opsetid("", opset)]
        imports += [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        self.write(name, model, inputs, expected)

    def op(self, op_type, opset, inputs, constants=None, expected=None, tag="", outputs=1, **attrs):
        """One node. Arrays are inputs x0, x1, ... then the constants, in order; None is absent."""
        names, given, fixed = [], {}, {}
        for number, array in enumerate(list(inputs) + list(constants or [])):
            if array is None:
                names.append("")
                continue
            name = f"x{number}"
            names.append(name)
            (given if number < len(inputs) else fixed)[name] = array
        results = [f"y{k}" for k in range(outputs)]
        node = helper.make_node(op_type, names, results, name="node", **attrs)
        name = f"{op_type}_{opset}" + (f"_{tag}" if tag else "")
        self.graph(name, [node], given, fixed, opset, outputs=results, expected=expected)


def ints(*values):
    return np.array(values, dtype=np.int64)


def legacy(cases):
    """Versions whose meaning later changed, by NumPy where onnxruntime no longer has them."""
    x, y = normal(2, 3, 4), normal(3)
    column = y[None, :, None]
    for name, fn in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply),
                     ("Div", np.divide)):
        cases.op(name, 6, [x, y], expected=[fn(x, column)], broadcast=1, axis=1)
        cases.op(name, 6, [x, x], expected=[fn(x, x)], tag="same")
    cases.op("Pow", 1, [np.abs(x), y], expected=[np.abs(x) ** column], broadcast=1, axis=1)
    cases.op("Greater", 1, [x, y], expected=[x > column], broadcast=1, axis=1)
    cases.op("Less", 1, [x, y], expected=[x < column], broadcast=1, axis=1)
    flags, row = x > 0, y > 0
    cases.op("And", 1, [flags, row], expected=[flags & row[None, :, None]], broadcast=1, axis=1)
    cases.op("Or", 1, [flags, row], expected=[flags | row[None, :, None]], broadcast=1, axis=1)
    cases.op("Xor", 1, [flags, row], expected=[flags ^ row[None, :, None]], broadcast=1, axis=1)
    cases.op("Equal", 1, [ints(1, 2), ints(1, 3)], expected=[np.array([True, False])])

    flat = x.reshape(2, 12)
    soft = np.exp(flat) / np.exp(flat).sum(1, keepdims=True)
    cases.op("Softmax", 11, [x], axis=1)
    cases.op("Softmax", 1, [x], expected=[soft.reshape(x.shape)])
    cases.op("LogSoftmax", 11, [x], axis=-1)
    cases.op("LogSoftmax", 1, [x], expected=[np.log(soft).reshape(x.shape)])
    cases.op("Hardmax", 11, [x], axis=1)
    cases.op("Clip", 6, [x], min=-0.5, max=0.5)
    cases.op("Clip", 6, [x], tag="min", min=-0.25)
    cases.op("Pad", 2, [x], pads=[0, 1, 2, 0, 0, 1], value=1.5)
    cases.op("Pad", 2, [x], tag="reflect", mode="reflect", pads=[0, 1, 2, 0, 0, 1])
    cases.op("Pad", 2, [x], tag="negative", pads=[0, -1, 2, 0, 0, -1])
    cases.op("Slice", 1, [x], axes=[1, 2], starts=[-2, 1], ends=[1000, -1])
    cases.op("Slice", 1, [x], tag="no_axes", starts=[1], ends=[2])
    cases.op("Squeeze", 11, [x[None]], axes=[0])
    cases.op("Squeeze", 11, [x[:1]], tag="all")
    cases.op("Unsqueeze", 11, [x], axes=[-1, 0])
    cases.op("Split", 11, [x], outputs=2, axis=2, split=[1, 3])
    cases.op("Split", 2, [x], outputs=2, axis=-1)
    cases.op("Reshape", 1, [x], expected=[x.reshape(2, 12)], shape=[0, -1])
    cases.op("Tile", 6, [x], [ints(1, 2, 3)])
    cases.op("Cast", 1, [x], expected=[x.astype(np.int32)], to="INT32")
    cases.op("Concat", 1, [x, x], expected=[np.concatenate([x, x], 1)])
    cases.op("Dropout", 7, [x], outputs=1)
    cases.op("Dropout", 10, [x])
    cases.op("Dropout", 6, [x], expected=[x, np.ones_like(x)], outputs=2, is_test=1)
    cases.op("Gather", 1, [x, np.array([[2, 0]], np.int32)], axis=1)
    cases.op("OneHot", 9, [ints(0, 2, 5)], [np.array(4, np.float32), np.array([1, 3], np.float32)])
    cases.op("Selu", 6, [x])
    cases.op("Selu", 1, [x],
             expected=[1.0507 * np.where(x > 0, x, 1.6732 * (np.exp(x) - 1)).astype(np.float32)])
    image = normal(1, 3, 5, 5)
    cases.op("PRelu", 6, [image, y], expected=[np.where(image < 0, y[:, None, None] * image, image)])
    scale, bias, mean, var = normal(3), normal(3), normal(3), np.abs(normal(3)) + 0.5
    norm = ((image - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-5)
            * scale[:, None, None] + bias[:, None, None])
    for opset, attrs in ((1, dict(is_test=1, consumed_inputs=[0, 0, 0, 1, 1])), (6, dict(is_test=1))):
        cases.op("BatchNormalization", opset, [image], [scale, bias, mean, var], expected=[norm],
                 epsilon=1e-5, **attrs)
    for opset in (7, 9, 14, 15):
        cases.op("BatchNormalization", opset, [image], [scale, bias, mean, var])
    a, b = normal(2, 3), normal(4, 3)
    c = normal(4)
    cases.op("Gemm", 6, [a, b], [c], expected=[0.5 * a @ b.T + 2 * c], broadcast=1, transB=1,
             alpha=0.5, beta=2.0)
    for kind in ("Max", "Min", "Sum", "Mean"):
        cases.op(kind, 8, [x, normal(2, 3, 4), normal(3, 1)])
    for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp",
                 "SumSquare"):
        base = np.abs(x) if kind == "LogSum" else x
        cases.op(f"Reduce{kind}", 11, [base], axes=[0, -1], keepdims=0)
        cases.op(f"Reduce{kind}", 11, [base], tag="all")
        if kind != "Sum":
            cases.op(f"Reduce{kind}", 18, [base], [ints(1)], tag="input")
    cases.op("ReduceSum", 13, [x], [ints(1)], tag="input")
    cases.op("ReduceSum", 13, [x], [ints()], tag="noop", noop_with_empty_axes=1)
    cases.op("ArgMax", 11, [x], axis=1, keepdims=0)
    cases.op("ArgMin", 12, [x], axis=-1, select_last_index=1)


def windows(cases):
    image = normal(2, 4, 9, 8)
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        cases.op("Conv", 11, [image], [normal(6, 4, 3, 2), normal(6)], tag=pad, auto_pad=pad,
                 strides=[2, 3])
        cases.op("MaxPool", 11, [image], tag=pad, auto_pad=pad, kernel_shape=[3, 2], strides=[2, 3])
        cases.op("AveragePool", 11, [image], tag=pad, auto_pad=pad, kernel_shape=[3, 2],
                 strides=[2, 3])
    cases.op("Conv", 11, [image], [normal(8, 2, 3, 3)], tag="groups", group=2, pads=[1, 0, 2, 1],
             dilations=[2, 1])
    cases.op("Conv", 11, [image], [normal(4, 1, 3, 3)], tag="depthwise", group=4)
    cases.op("Conv", 11, [normal(1, 2, 9)], [normal(3, 2, 3)], tag="1d", strides=[2])
    cases.op("Conv", 11, [normal(1, 2, 4, 5, 6)], [normal(3, 2, 2, 3, 2)], tag="3d")
    for pool in ("MaxPool", "AveragePool"):
        cases.op(pool, 12 if pool == "MaxPool" else 10, [image], tag="ceil", kernel_shape=[3, 3],
                 strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1])
    cases.op("AveragePool", 7, [image], tag="count", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
             count_include_pad=1)
    cases.op("ConvTranspose", 11, [image], [normal(4, 3, 3, 3), normal(3)], tag="strides",
             strides=[2, 3], pads=[1, 0, 1, 2], output_padding=[1, 0])
    cases.op("ConvTranspose", 11, [image], [normal(4, 3, 3, 3)], tag="groups", group=2,
             dilations=[2, 1])
    cases.op("LRN", 13, [image], size=3, alpha=0.5, beta=0.6, bias=1.5)
    cases.op("InstanceNormalization", 6, [image], [normal(4), normal(4)])
    cases.op("LpNormalization", 1, [image], axis=1, p=1)
    cases.op("GlobalMaxPool", 1, [image])


def elementwise(cases):
    x = normal(3, 4) * 2
    unit = np.tanh(x) * 0.9
    for name, opset, array in (
            ("Abs", 13, x), ("Acos", 7, unit), ("Acosh", 9, np.abs(x) + 1), ("Asin", 7, unit),
            ("Asinh", 9, x), ("Atan", 7, x), ("Atanh", 9, unit), ("Ceil", 13, x), ("Celu", 12, x),
            ("Cos", 7, x), ("Cosh", 9, x), ("Elu", 6, x), ("Erf", 13, x), ("Exp", 13, x),
            ("Floor", 13, x), ("HardSigmoid", 6, x), ("HardSwish", 14, x), ("LeakyRelu", 6, x),
            ("Log", 13, np.abs(x)), ("Neg", 13, x), ("Reciprocal", 13, x), ("Relu", 14, x),
            ("Round", 11, x), ("Sigmoid", 13, x), ("Sign", 13, x), ("Sin", 7, x), ("Sinh", 9, x),
            ("Softplus", 1, x), ("Softsign", 1, x), ("Sqrt", 13, np.abs(x)), ("Tan", 7, x),
            ("Tanh", 13, x), ("ThresholdedRelu", 10, x), ("Gelu", 20, x), ("Mish", 18, x)):
        cases.op(name, opset, [array])
    cases.op("Gelu", 20, [x], tag="tanh", approximate="tanh")
    cases.op("Pow", 12, [np.abs(x), np.array(3, np.int64)], tag="mixed")
    cases.op("Mod", 13, [ints(-7, 7, -7, 7), ints(3, 3, -3, -3)])
    cases.op("Mod", 13, [x, np.float32(1.5) + 0 * x], tag="fmod", fmod=1)
    cases.op("Where", 9, [x > 0, x, np.float32(0) * x])
    cases.op("Div", 14, [ints(-7, 7, 8), ints(2, -2, 3)], tag="ints")
    cases.op("Relu", 14, [ints(-7, 7, 8).astype(np.int32)], tag="ints")
    cases.op("CumSum", 14, [x], [np.array(1, np.int64)], exclusive=1, reverse=1)
    cases.op("Trilu", 14, [normal(2, 4, 5)], [np.array(1, np.int64)], upper=0)
    cases.op("GatherElements", 13, [x, ints(0, -1, 2, 1)[None]], axis=0)
    cases.op("GatherND", 12, [normal(2, 3, 4), ints(0, 2, 1, -1).reshape(2, 1, 2)], batch_dims=1)
    cases.op("Range", 11, [], [np.float32(1), np.float32(3), np.float32(0.25)], tag="float")
    cases.op("MatMulInteger", 10, [RNG.integers(0, 255, (3, 5)).astype(np.uint8)],
             [RNG.integers(-128, 127, (5, 2)).astype(np.int8), np.uint8(120), np.int8(3)])


def roundings(cases):
    """Numbers that are cast to fewer digits and back have lost them, whatever is fused. Expected: ml_dtypes."""
    node = helper.make_node
    x = normal(64)
    for kind, held in (("FLOAT16", np.float16), ("BFLOAT16", ml_dtypes.bfloat16),
                       ("FLOAT8E4M3FN", ml_dtypes.float8_e4m3fn), ("FLOAT8E5M2", ml_dtypes.float8_e5m2),
                       ("FLOAT8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz), ("FLOAT8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz),
                       ("FLOAT4E2M1", ml_dtypes.float4_e2m1fn)):
        back = x.astype(held).astype(np.float32)
        cases.graph(f"cast_there_and_back_{kind}",
                    [node("Cast", ["x"], ["few"], to=getattr(TensorProto, kind)),
                     node("Cast", ["few"], ["back"], to=TensorProto.FLOAT), node("Mul", ["back", "x"], ["y"])],
                    {"x": x}, opset=23, expected=[back * x])
        if kind.startswith("FLOAT8"):
            cases.graph(f"quantized_there_and_back_{kind}",
                        [node("QuantizeLinear", ["x", "scale"], ["few"], output_dtype=getattr(TensorProto, kind)),
                         node("DequantizeLinear", ["few", "scale"], ["back"]), node("Mul", ["back", "x"], ["y"])],
                        {"x": x}, {"scale": np.float32(0.25)}, opset=23,
                        expected=[(x * 4).astype(held).astype(np.float32) / 4 * x])


def networks(cases):
    """Small whole models with symbolic dims."""
    node = helper.make_node
    mlp = [node("Gemm", ["x", "w0", "b0"], ["h0"], transB=1), node("Relu", ["h0"], ["h1"]),
           node("MatMul", ["h1", "w1"], ["h2"]), node("Add", ["h2", "b1"], ["h3"]),
           node("Softmax", ["h3"], ["y"], axis=-1)]
    weights = {"w0": normal(16, 8), "b0": normal(16), "w1": normal(16, 5), "b1": normal(5)}
    cases.graph("mlp", mlp, {"x": normal(3, 8)}, weights, dims={"x": ["batch", 8]})
    cases.graph("mlp_external", mlp, {"x": normal(3, 8)}, weights, dims={"x": ["batch", 8]},
                external=True)

    # A step with a cache: products of two computed operands, both of symbolic sizes.
    step = [node("Concat", ["past", "k"], ["keys"], axis=2),
            node("Transpose", ["keys"], ["kt"], perm=[0, 1, 3, 2]),
            node("MatMul", ["q", "kt"], ["scores"]), node("Mul", ["scores", "scale"], ["scaled"]),
            node("Softmax", ["scaled"], ["weights"], axis=-1),
            node("MatMul", ["weights", "keys"], ["y"])]
    cases.graph("cached_step", step,
                {"q": normal(2, 3, 4, 8), "past": normal(2, 3, 5, 8), "k": normal(2, 3, 4, 8)},
                {"scale": np.array(0.35, np.float32)},
                dims={"q": ["batch", 3, "step", 8], "past": ["batch", 3, "past", 8],
                      "k": ["batch", 3, "step", 8]})

    cnn = [node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1, 1, 1, 1]),
           node("BatchNormalization", ["c0", "s", "b", "m", "v"], ["n0"]),
           node("Relu", ["n0"], ["r0"]), node("Conv", ["r0", "w1"], ["c1"], pads=[1, 1, 1, 1]),
           node("Add", ["c1", "r0"], ["a0"]),
           node("MaxPool", ["a0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
           node("GlobalAveragePool", ["p0"], ["g0"]), node("Flatten", ["g0"], ["f0"]),
           node("Gemm", ["f0", "wf", "bf"], ["y"], transB=1)]
    cases.graph("cnn", cnn, {"x": normal(2, 1, 12, 12)},
                {"w0": normal(6, 1, 3, 3), "b0": normal(6), "s": normal(6), "b": normal(6),
                 "m": normal(6), "v": np.abs(normal(6)) + 0.5, "w1": normal(6, 6, 3, 3),
                 "wf": normal(4, 6), "bf": normal(4)},
                dims={"x": ["batch", 1, "height", "width"]})

    # One encoder layer as exporters write it: heads split and joined by shape arithmetic.
    width, heads = 16, 4
    w = {name: normal(width, width) * 0.3 for name in ("wq", "wk", "wv", "wo")}
    w |= {"w1": normal(width, 32) * 0.3, "b1": normal(32), "w2": normal(32, width) * 0.3,
          "b2": normal(width), "table": normal(50, width), "g1": normal(width), "n1": normal(width),
          "g2": normal(width), "n2": normal(width), "zero": ints(0), "one": ints(1),
          "heads": ints(heads), "depth": ints(width // heads), "width": ints(width),
          "scale": np.float32(0.5), "half": np.float32(0.5), "unit": np.float32(1),
          "root": np.float32(2 ** 0.5), "axes": ints(1, 2), "limit": np.float32(-1e9)}
    nodes = [node("Gather", ["table", "ids"], ["e"]), node("Shape", ["ids"], ["shape"]),
             node("Slice", ["shape", "zero", "one"], ["batch"]),
             node("Slice", ["shape", "one", "two"], ["length"]),
             node("Concat", ["batch", "length", "heads", "depth"], ["split"], axis=0),
             node("Concat", ["batch", "length", "width"], ["joined"], axis=0),
             node("LayerNormalization", ["e", "g1", "n1"], ["x"], axis=-1)]
    w["two"] = ints(2)
    for name in "qkv":
        nodes += [node("MatMul", ["x", f"w{name}"], [f"{name}0"]),
                  node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
                  node("Transpose", [f"{name}1"], [name],
                       perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])]
    nodes += [node("MatMul", ["q", "k"], ["s0"]), node("Mul", ["s0", "scale"], ["s1"]),
              node("Unsqueeze", ["mask", "axes"], ["m0"]), node("Cast", ["m0"], ["m1"], to=1),
              node("Sub", ["unit", "m1"], ["m2"]), node("Mul", ["m2", "limit"], ["m3"]),
              node("Add", ["s1", "m3"], ["s2"]), node("Softmax", ["s2"], ["p"], axis=-1),
              node("MatMul", ["p", "v"], ["o0"]), node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
              node("Reshape", ["o1", "joined"], ["o2"]), node("MatMul", ["o2", "wo"], ["o3"]),
              node("Add", ["o3", "e"], ["r1"]),
              node("LayerNormalization", ["r1", "g2", "n2"], ["x2"], axis=-1),
              node("MatMul", ["x2", "w1"], ["f0"]), node("Add", ["f0", "b1"], ["f1"]),
              node("Div", ["f1", "root"], ["f2"]), node("Erf", ["f2"], ["f3"]),
              node("Add", ["f3", "unit"], ["f4"]), node("Mul", ["f1", "f4"], ["f5"]),
              node("Mul", ["f5", "half"], ["f6"]), node("MatMul", ["f6", "w2"], ["f7"]),
              node("Add", ["f7", "b2"], ["f8"]), node("Add", ["f8", "r1"], ["y"])]
    ids = RNG.integers(0, 50, (2, 7)).astype(np.int64)
    mask = np.ones((2, 7), np.int64)
    mask[1, 5:] = 0
    cases.graph("encoder", nodes, {"ids": ids, "mask": mask}, w,
                dims={"ids": ["batch", "sequence"], "mask": ["batch", "sequence"]})

    leaky = helper.make_function(
        "local", "leaky", ["a"], ["r"], [node("LeakyRelu", ["a"], ["t"]),
                                         node("Add", ["t", "t"], ["r"])],
        [helper.make_opsetid("", 17)], ["slope"])
    leaky.node[0].attribute.add(name="alpha", ref_attr_name="slope", type=1)
    cases.graph("function", [node("leaky", ["x"], ["y"], domain="local", slope=0.25)],
                {"x": normal(5)}, functions=[leaky])


def main():
    cases = Cases(sys.argv[1])
    for part in (legacy, windows, elementwise, roundings, networks, control_cases.add, operator_cases.add,
                 ml_cases.add, map_cases.add, microsoft_cases.add, container_cases.add):
        part(cases)


if __name__ == "__main__":
    main()
