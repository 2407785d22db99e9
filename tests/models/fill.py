#!/usr/bin/env python3
"""Fills the skeletons of models: graphs of real exporters whose large tensors were taken out.

    fill.py NAME.onnx OUT.onnx

A tensor that was taken out is external, with location "skeleton:K"; record K of NAME.json says how
to make one like it: kind, shape, dtype and, for numbers that look drawn, a stream of the generator.
All is integer arithmetic up to the last scaling, so that every machine makes the same bits.
"""

import ast
import base64
import json
import pathlib
import sys
import zlib

import numpy as np
import onnx

MARK = "skeleton:"

DTYPES = {
    "FLOAT": np.float32, "DOUBLE": np.float64, "FLOAT16": np.float16, "INT8": np.int8,
    "UINT8": np.uint8, "INT16": np.int16, "UINT16": np.uint16, "INT32": np.int32,
    "UINT32": np.uint32, "INT64": np.int64, "UINT64": np.uint64, "BOOL": np.bool_,
}

# ---- the generator ------------------------------------------------------------------------------

CHUNK = 1 << 20
# Of the sum of four whole numbers of 16 bits each.
DEVIATION = float(np.sqrt(4 * (65536.0**2 - 1) / 12))


def draw(stream, start, count):
    """splitmix64 of the counters start..start+count of one stream."""
    base = (int(stream) * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) & (2**64 - 1)
    z = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(base) + z * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def chunks(stream, count):
    for at in range(0, count, CHUNK):
        yield slice(at, min(at + CHUNK, count)), draw(stream, at, min(CHUNK, count - at))


def normal(stream, count, mean, std, dtype=np.float32):
    """Bell-shaped numbers: the sum of the four 16-bit parts of one draw."""
    out = np.empty(count, dtype)
    for part, z in chunks(stream, count):
        s = z.view(np.uint16).reshape(-1, 4).sum(axis=1, dtype=np.int32) - 131070
        out[part] = (s.astype(np.float64) * (std / DEVIATION) + mean).astype(dtype)
    return out


def uniform(stream, count, low, high, dtype=np.float32):
    out = np.empty(count, dtype)
    for part, z in chunks(stream, count):
        u = (z >> np.uint64(40)).astype(np.float64) / (1 << 24)
        out[part] = (low + u * (high - low)).astype(dtype)
    return out


def integers(stream, count, low, high, dtype=np.int64):
    """Whole numbers, low <= x < high."""
    out = np.empty(count, dtype)
    for part, z in chunks(stream, count):
        out[part] = ((z >> np.uint64(33)) % np.uint64(high - low)).astype(np.int64) + low
    return out


# ---- tensors ------------------------------------------------------------------------------------


def make_normal(record, shape, dtype, count):
    a = normal(record["stream"], count, record["mean"], record["std"], dtype)
    if "min" in record:  # variances stay positive
        a = np.maximum(a, dtype(record["min"]))
    if record.get("center"):  # rows of a convolution that sum to zero
        rows = a.reshape(shape[0], -1)
        a = (rows - rows.mean(1, dtype=np.float64, keepdims=True)).astype(dtype)
    return a.reshape(shape)


def make_tensor(record):
    """The array that one record stands for."""
    shape, dtype = tuple(record["shape"]), DTYPES[record["dtype"]]
    count = int(np.prod(shape, dtype=np.int64))
    kind = record["kind"]
    if kind == "exact":
        raw = zlib.decompress(base64.b64decode(record["zlib_b64"]))
        return np.frombuffer(raw, dtype).reshape(shape)
    if kind == "fill":
        return np.full(shape, record["value"], dtype)
    if kind == "tril":  # ones on and below the diagonal
        a = np.tril(np.ones(shape[-2:], dtype))
        return np.ascontiguousarray(np.broadcast_to(a, shape))
    if kind == "sincos":  # a table of rotary positions: sines, then cosines
        n, d = shape[-2:]
        frequencies = 1.0 / (record["base"] ** (np.arange(0, d, 2, dtype=np.float32) / np.float32(d)))
        angles = np.arange(n, dtype=np.float32)[:, None] * frequencies[None, :].astype(np.float32)
        return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(dtype).reshape(shape)
    if kind == "normal":
        return make_normal(record, shape, dtype, count)
    if kind == "normal_int":
        low, high = record["range"]
        a = normal(record["stream"], count, record["mean"], record["std"], np.float64)
        return np.clip(np.rint(a), low, high).astype(dtype).reshape(shape)
    raise ValueError(f"unknown kind {kind!r} of tensor {record['name']!r}")


def tensors_of_nodes(nodes):
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from tensors_of_graph(graph)


def tensors_of_graph(graph):
    yield from graph.initializer
    yield from tensors_of_nodes(graph.node)


def tensors_of(model):
    """Every TensorProto: initializers, attributes, those of bodies and functions."""
    yield from tensors_of_graph(model.graph)
    for function in model.functions:
        yield from tensors_of_nodes(function.node)


def record_number(tensor):
    for entry in tensor.external_data:
        if entry.key == "location" and entry.value.startswith(MARK):
            return int(entry.value[len(MARK):])
    return None


def fill(skeleton, out):
    """Writes the whole model, and returns what its .json says of it."""
    skeleton = pathlib.Path(skeleton)
    about = json.loads(skeleton.with_suffix(".json").read_text())
    model = onnx.load(skeleton, load_external_data=False)
    for tensor in tensors_of(model):
        number = record_number(tensor)
        if number is not None:
            tensor.raw_data = np.ascontiguousarray(make_tensor(about["tensors"][number])).tobytes()
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
    size = sum(np.prod(r["shape"], dtype=np.int64) * np.dtype(DTYPES[r["dtype"]]).itemsize for r in about["tensors"])
    apart = size > 1_500_000_000  # protobuf's own limit is 2 GB
    options = {"save_as_external_data": True, "location": pathlib.Path(out).name + ".data"} if apart else {}
    onnx.save(model, out, **options)
    return about


# ---- inputs -------------------------------------------------------------------------------------


def size_of(expression, dims):
    """Such as "past+seq", for dims of those names."""
    if isinstance(expression, int):
        return expression
    return sum(dims[n.id] for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name))


def make_inputs(about, dims=()):
    """Arrays by name for the sizes of `about`, or others where `dims` has them."""
    sizes = {**about["dims"], **dict(dims)}
    out = {}
    for k, spec in enumerate(about["inputs"]):
        shape = tuple(size_of(d, sizes) for d in spec["shape"])
        count, dtype, values = int(np.prod(shape, dtype=np.int64)), DTYPES[spec["dtype"]], spec["values"]
        stream = 1000 + k
        if values["kind"] == "normal":
            a = normal(stream, count, values["mean"], values["std"], dtype)
        elif values["kind"] == "uniform":
            a = uniform(stream, count, values["low"], values["high"], dtype)
        elif values["kind"] == "integers":
            a = integers(stream, count, values["low"], values["high"], dtype)
        elif values["kind"] == "mask":  # ones and zeros, but no row without a one
            a = integers(stream, count, 0, 2, dtype)
            a.reshape(shape)[..., 0] = 1
        else:
            a = np.full(count, values["value"], dtype)
        out[spec["name"]] = a.reshape(shape)
    return out


if __name__ == "__main__":
    fill(*sys.argv[1:])
