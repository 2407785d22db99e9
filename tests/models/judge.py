"""judge.py: runs compiled models and says how far their results are from onnxruntime's.

Departures are parts of the largest value of an output; what is allowed:
- float32: 2e-3. Sums of some thousand products in another order depart by 1e-5; a skipped layer, a
  wrong mask or a bias left out by 1e-1 and more.
- float16: 2e-2. Every value kept is rounded by 5e-4, at other places than onnxruntime does.
- 8-bit: 0.12. A value that falls on the other side of a rounding is one step of some 1/50 off, and
  layers add such steps up; onnxruntime departs as much from itself with its own rewriting off, and
  the nearer of the two counts."""

import collections
import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime

INGOT = os.environ["INGOT"]
ALLOWED = {"reals": 2e-3, "half": 2e-2, "steps": 0.12}

def count_good(names, check):
    """Prints a line for each: what `check` says of it, or how it fails. How many did not fail."""
    good = 0
    for name in names:
        try:
            print(f"ok   {name}: {check(name)}", flush=True)
            good += 1
        except Exception as error:  # whatever fails, the others are wanted
            print(f"FAIL {name}: {str(error) or repr(error)}", flush=True)
    return good


Done = collections.namedtuple("Done", "status out err")


def ingot(*arguments):
    done = subprocess.run([INGOT, *map(str, arguments)], check=False, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    return Done(done.returncode, done.stdout, done.stderr)


def good(*arguments):
    done = ingot(*arguments)
    if done.status:
        raise AssertionError(f"{arguments[0]} ended with {done.status}: {done.err.strip()[-400:]} {done.out[-400:]}")
    return done.out


def kind_of(path):
    """Which of ALLOWED holds for a model."""
    graph = onnx.load(path, load_external_data=False).graph
    if any("QuantizeLinear" in node.op_type for node in graph.node):
        return "steps"
    half = any(i.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16 for i in graph.input)
    return "half" if half else "reals"


def session(path, optimise=True, threads=2):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Peer:
    """onnxruntime, in as many ways as its results may differ."""

    def __init__(self, path):
        self.kind = kind_of(path)
        self.sessions = [session(path, optimise) for optimise in ([True, False] if self.kind == "steps" else [True])]

    def run(self, feed):
        names = [o.name for o in self.sessions[0].get_outputs()]
        return [dict(zip(names, s.run(None, feed), strict=True)) for s in self.sessions]


def departure(want, got):
    """Shape, type, whole numbers, NaN and infinities must be the same."""
    if got.shape != want.shape or got.dtype != want.dtype:
        raise AssertionError(f"{got.dtype}{got.shape}, want {want.dtype}{want.shape}")
    if want.dtype.kind != "f":
        if (got != want).any():
            raise AssertionError(f"{(got != want).sum()} of {want.size} whole numbers differ")
        return 0.0
    want, got = want.astype("f8"), got.astype("f8")
    finite = np.isfinite(want)
    if not np.array_equal(want[~finite], got[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        raise AssertionError("NaN or infinity in other places")
    largest = max(1e-6, np.abs(want[finite]).max(initial=0))
    return float(np.abs(got[finite] - want[finite]).max(initial=0) / largest)


def is_detector(outputs):
    return set(outputs) == {"boxes", "scores", "labels"}


def departure_of_boxes(want, got):
    """A detector's order hangs on scores that are all but equal: each box against the nearest of its
    label, both ways, but for 2 %, which scores at the threshold or overlaps at theirs may cost."""
    for name in want:
        if want[name].shape[1:] != got[name].shape[1:] or want[name].dtype != got[name].dtype:
            raise AssertionError(f"{name}: {got[name].dtype}{got[name].shape}, want another type")
        if not np.isfinite(got[name]).all():
            raise AssertionError(f"{name}: not finite")
    count = len(want["boxes"])
    if abs(len(got["boxes"]) - count) > 0.02 * count:
        raise AssertionError(f"{len(got['boxes'])} boxes, want {count}")
    far = np.zeros((count, len(got["boxes"])))
    for a, b in ((want["boxes"], got["boxes"]), (want["scores"][:, None], got["scores"][:, None])):
        far = np.maximum(far, np.abs(a[:, None] - b).max(-1) / max(1e-6, np.abs(a).max(initial=0)))
    far[want["labels"][:, None] != got["labels"]] = 1
    return float(max(np.quantile(far.min(axis), 0.98) for axis in (0, 1))) if far.size else 0.0


def departure_of_all(want, got):
    if want.keys() != got.keys():
        raise AssertionError(f"outputs {list(got)}, want {list(want)}")
    if is_detector(want):
        return departure_of_boxes(want, got)
    return max(departure(want[name], got[name]) for name in want)


def run(library, inputs, folder):
    """Outputs of a compiled model by name."""
    out = pathlib.Path(folder)
    text = good("run", library, "--inputs", inputs, "--output-dir", out, "--json")
    return {o["name"]: np.load(out / pathlib.Path(o["file"]).name) for o in json.loads(text)["outputs"]}


def check(library, inputs, wanted, kind, folder):
    """The departure from the nearest of `wanted`; an error if it is more than is allowed."""
    got = run(library, inputs, folder)
    least = min(departure_of_all(want, got) for want in wanted)
    if not least <= ALLOWED[kind]:
        raise AssertionError(f"departs from onnxruntime by {least:.2g}, allowed {ALLOWED[kind]}")
    return least


def sizes_of(dims):
    """Several sets of sizes for one library: those given, one at a time changed, and all."""
    others = {"batch": [2, 3], "seq": [1, 7, 33], "past": [1, 5]}
    changes = {name: [v for v in others.get(name, [size * 2 if size < 300 else size - size // 2]) if v != size]
               for name, size in dims.items()}
    yield {}
    for name, values in changes.items():
        for value in values:
            yield {name: value}
    if len(dims) > 1:
        yield {name: values[-1] for name, values in changes.items()}


def save_inputs(path, feed):
    np.savez(path, **feed)
    return path


def verify(model, library, inputs, wanted, kind, *more):
    """Against the fp64 interpreter, by the same measure: a part of the largest value."""
    largest = max((float(np.abs(w[np.isfinite(w)]).max(initial=0)) for w in wanted.values() if w.dtype.kind == "f"),
                  default=0)
    good("verify", model, "--so", library, "--inputs", inputs, "--rtol", 0, "--atol",
         ALLOWED[kind] * max(1e-6, largest), *more)
