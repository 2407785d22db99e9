#!/usr/bin/env python3
"""big.py: a model with more than 2 GiB of weights, which no 32-bit offset and no protobuf message
holds, with its weights embedded, separate and stripped. A line for each, a count at the end.

    INGOT=PROGRAM big.py FOLDER

FOLDER takes up to 8 GB, and is empty again afterwards. The weights are zeros, and so holes in
their files, but for a few, and of whole numbers: results must be exact.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import judge
import numpy as np
from onnx import TensorProto, helper

ROWS, WIDTH, COLUMNS = 320_000, 1024, 300_000
FLOAT = 4
SET_ROWS = (0, 7, ROWS // 2, ROWS - 1)
SET_COLUMNS = (0, 1, COLUMNS // 2, COLUMNS - 1)
# Of private memory, while 2.5 GB of weights pass: what is mapped of files is the system's to drop.
MOST_PRIVATE_MB = 200


def row(number):
    return ((np.arange(WIDTH) + number) % 5 - 2).astype("f4")


def column(number):
    values = np.zeros(WIDTH, "f4")
    values[[0, 5, WIDTH - 1]] = number % 4 + 1
    return values


def external(name, dims, folder):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims,
                         data_location=TensorProto.EXTERNAL)
    size = dims[0] * dims[1] * FLOAT
    for key, value in (("location", f"{name}.bin"), ("offset", "0"), ("length", str(size))):
        tensor.external_data.add(key=key, value=value)
    file = open(folder / f"{name}.bin", "wb")
    file.truncate(size)
    return tensor, file


def write_model(folder):
    """y = table[ids] @ weight; rows are gathered, columns become panels."""
    table, file = external("table", [ROWS, WIDTH], folder)
    with file:
        for number in SET_ROWS:
            file.seek(number * WIDTH * FLOAT)
            file.write(row(number).tobytes())
    weight, file = external("weight", [WIDTH, COLUMNS], folder)
    with file:
        for number in SET_COLUMNS:
            for k in np.flatnonzero(column(number)):
                file.seek((int(k) * COLUMNS + number) * FLOAT)
                file.write(column(number)[k].tobytes())
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["rows"]), helper.make_node("MatMul", ["rows", "weight"], ["y"])],
        "big", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", COLUMNS])], [table, weight])
    path = folder / "big.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
                     .SerializeToString())
    return path


def private_memory(process):
    """Of a running process, in MB."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(lines[0].split()[1]) // 1024 if lines else 0


def compile_watched(model, library, kind):
    command = [judge.INGOT, "compile", str(model), "-o", str(library), "--weights", kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    most, text = 0, None
    while text is None:
        most = max(most, private_memory(process))
        try:
            text, _ = process.communicate(timeout=0.05)  # from one look to the next
        except subprocess.TimeoutExpired:
            pass
    if process.returncode:
        raise AssertionError(f"compile ended with {process.returncode}: {text[-600:]}")
    if most > MOST_PRIVATE_MB:
        raise AssertionError(f"compile took {most} MB of private memory, allowed {MOST_PRIVATE_MB}")
    return most


def check(model, kind, folder):
    library = folder / f"{kind}.so"
    start = time.monotonic()
    most = compile_watched(model, library, kind)
    seconds = time.monotonic() - start
    ids = np.array([*SET_ROWS, ROWS - 2])
    inputs = judge.save_inputs(folder / "inputs.npz", {"ids": ids})
    (folder / "out").mkdir(exist_ok=True)
    got = judge.run(library, inputs, folder / "out")["y"]
    want = np.zeros((len(ids), COLUMNS), "f4")
    for k, r in enumerate(SET_ROWS):
        for c in SET_COLUMNS:
            want[k, c] = row(r) @ column(c)
    if got.shape != want.shape or (got != want).any():
        raise AssertionError(f"{(got != want).sum()} values are wrong" if got.shape == want.shape else f"{got.shape}")
    for file in folder.glob(f"{kind}.so*"):
        file.unlink()
    return f"compiled in {seconds:.0f} s with {most} MB of private memory, results exact"


def main(folder):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    place = pathlib.Path(tempfile.mkdtemp(dir=folder))
    model = write_model(place)
    kinds = ("separate", "stripped", "embedded")
    good = judge.count_good(kinds, lambda kind: check(model, kind, place))
    shutil.rmtree(place)
    print(f"{good} of {len(kinds)} forms of weights over 2 GiB work")
    return int(good < len(kinds))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
