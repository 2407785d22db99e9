"""onnx_bytes.py: writes ONNX models byte by byte, so that the tests need no onnx package.

Field numbers are those of onnx.proto3. Tensors are float32 unless they hold ints (int64).
"""

import struct

FLOAT, INT64, STRING = 1, 7, 8


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def tensor(name, dims, values):
    """A TensorProto with raw data."""
    ints = all(isinstance(value, int) for value in values) and values
    kind, letter = (INT64, "q") if ints else (FLOAT, "f")
    raw = struct.pack(f"<{len(values)}{letter}", *values)
    return fields(1, dims) + field(2, kind) + field(8, name) + field(9, raw)


def listed_tensor(name, dims, values):
    """A float32 TensorProto whose values lie in its list of numbers."""
    return (fields(1, dims) + field(2, FLOAT) + field(4, struct.pack(f"<{len(values)}f", *values))
            + field(8, name))


def external_tensor(name, dims, location, offset=None, length=None):
    """A float32 TensorProto whose data lies in another file."""
    entries = {"location": location, "offset": offset, "length": length}
    pairs = [field(1, key) + field(2, str(value)) for key, value in entries.items()
             if value is not None]
    return (fields(1, dims) + field(2, FLOAT) + field(8, name) + fields(13, pairs)
            + field(14, 1))


def value_info(name, dims, kind=FLOAT):
    """Dims are numbers or names."""
    shape = fields(1, [field(1, dim) if isinstance(dim, int) else field(2, dim) for dim in dims])
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def strings(name, dims, values):
    """A TensorProto of strings: texts or bytes."""
    return fields(1, dims) + field(2, STRING) + fields(6, values) + field(8, name)


def sequence_info(name, kind=FLOAT, optional=False):
    """A sequence, or an optional, of tensors of unknown shape."""
    element = field(1, field(1, kind))
    return field(1, name) + field(2, field(9 if optional else 4, field(1, element)))


def sequence(tensors):
    """A SequenceProto or OptionalProto."""
    return field(2, 1) + fields(3, tensors)


def map_info(name, key, value, sequence=False):
    """A map from keys to values of these types, or a sequence of such maps."""
    kind = field(5, field(1, key) + field(2, field(1, field(1, value))))
    return field(1, name) + field(2, field(4, field(1, kind)) if sequence else kind)


def map_of(entries):
    """A MapProto from texts to one number each."""
    values = sequence([tensor("", [], [value]) for value in entries.values()])
    return field(2, STRING) + fields(4, entries) + field(5, values)


def attribute_strings(name, values):
    return field(1, name) + fields(9, values) + field(20, 8)


def attribute_int(name, value):
    return field(1, name) + field(3, value) + field(20, 2)


def node(op_type, inputs, outputs, name="", attributes=(), domain=""):
    return (fields(1, inputs) + fields(2, outputs) + field(3, name) + field(4, op_type)
            + fields(5, attributes) + (field(7, domain) if domain else b""))


def model(nodes, inputs, outputs, constants=(), name="graph", opset=17, metadata=()):
    graph = (fields(1, nodes) + field(2, name) + fields(5, constants) + fields(11, inputs)
             + fields(12, outputs))
    pairs = [field(1, key) + field(2, value) for key, value in metadata]
    return (field(1, 8) + field(2, "onnx_bytes") + field(7, graph)
            + field(8, field(1, "") + field(2, opset)) + fields(14, pairs))


def opset(domain, version):
    """One more import, to stand behind a model."""
    return field(8, field(1, domain) + field(2, version))


def dense(batch="batch", rows=8, columns=4, x="x", y="y", w="w", node_name="dense", graph="graph",
          dim=None):
    """relu(x @ w): x [batch, rows], w [rows, columns] of small whole numbers."""
    weights = [float((3 * k) % 7 - 3) for k in range(rows * columns)]
    return model(
        [node("MatMul", [x, w], [y + ".product"], node_name),
         node("Relu", [y + ".product"], [y], node_name + ".relu")],
        [value_info(x, [batch if dim is None else dim, rows])],
        [value_info(y, [batch if dim is None else dim, columns])],
        [tensor(w, [rows, columns], weights)], graph)


def dense_result(rows_of_x, rows=8, columns=4):
    """What dense() computes, by Python."""
    weights = [float((3 * k) % 7 - 3) for k in range(rows * columns)]
    return [[max(0.0, sum(row[k] * weights[k * columns + c] for k in range(rows)))
             for c in range(columns)] for row in rows_of_x]
