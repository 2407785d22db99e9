#!/usr/bin/env python3
"""models_test.py: one model of tiny/ from outside: compiled once and run at many sizes, against
onnxruntime and the fp64 interpreter; rewritten by the tools that people use; and with bad input.

    INGOT=PROGRAM models_test.py NAME
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import fill
import judge
import numpy as np
import onnx
import onnxruntime

USAGE, UNSUPPORTED, MALFORMED = 2, 3, 4
TINY = pathlib.Path(__file__).resolve().parent / "tiny"
# With sanitizers what counts is what the compiler does with a real graph: one size, as exported.
SANITIZED = bool(os.environ.get("INGOT_SANITIZE"))
NAME = sys.argv.pop(1)


def slim(path, out):
    import onnxslim

    onnx.save(onnxslim.slim(str(path)), out)


def simplify(path, out):
    import onnxsim

    model, agrees = onnxsim.simplify(str(path), check_n=0)
    assert agrees
    onnx.save(model, out)


def optimise(path, out):
    """onnxruntime's optimiser without its own operators."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class ModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot_models_test_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.model = cls.folder / "model.onnx"
        cls.about = fill.fill(TINY / f"{NAME}.onnx", cls.model)
        cls.peer = judge.Peer(cls.model)
        cls.library = cls.compiled(cls.model)
        cls.runs = []
        for dims in [{}] if SANITIZED else list(judge.sizes_of(cls.about["dims"])):
            feed = fill.make_inputs(cls.about, dims)
            inputs = judge.save_inputs(cls.folder / f"inputs{len(cls.runs)}.npz", feed)
            cls.runs.append((dims, inputs, cls.peer.run(feed)))

    @classmethod
    def compiled(cls, model):
        library = model.with_suffix(".so")
        judge.good("compile", model, "-o", library)
        return library

    def agree(self, library, runs):
        for dims, inputs, wanted in runs:
            with self.subTest(dims=dims):
                judge.check(library, inputs, wanted, self.peer.kind, self.folder)

    def test_sizes(self):
        self.agree(self.library, self.runs)

    def test_against_fp64(self):
        for dims, inputs, wanted in self.runs:
            with self.subTest(dims=dims):
                judge.verify(self.model, self.library, inputs, wanted[0], self.peer.kind)

    def test_rewritten(self):
        for rewrite in (slim, simplify, optimise):
            with self.subTest(rewrite=rewrite.__name__):
                model = self.folder / f"{rewrite.__name__}.onnx"
                rewrite(self.model, model)
                self.agree(self.compiled(model), [self.runs[0], self.runs[-1]])

    def test_truncated(self):
        whole = self.model.read_bytes()
        for part in range(8):
            path = self.folder / "truncated.onnx"
            path.write_bytes(whole[: len(whole) * part // 8])
            done = judge.ingot("compile", path, "-o", self.folder / "truncated.so")
            self.assertIn(done.status, (UNSUPPORTED, MALFORMED), done.err)
            self.assertIn(path.name, done.err)
            self.assertFalse((self.folder / "truncated.so").exists())

    def refuse(self, feed, *parts):
        inputs = judge.save_inputs(self.folder / "bad.npz", feed)
        out = self.folder / "bad"
        done = judge.ingot("run", self.library, "--inputs", inputs, "--output-dir", out)
        self.assertEqual(done.status, USAGE, done.err + done.out)
        for part in parts:
            self.assertIn(part, done.err)
        self.assertFalse(out.exists() and list(out.iterdir()))

    def test_inputs(self):
        feed = fill.make_inputs(self.about)
        # Names of dims as the graph has them: exporters may call equal ones by several.
        dims = {i.name: [d.dim_value or d.dim_param for d in i.type.tensor_type.shape.dim]
                for i in onnx.load(self.model).graph.input}
        self.refuse({**feed, "nonsense": np.zeros(3)}, "'nonsense'", "no input of that name")
        for spec in self.about["inputs"]:
            name, value = spec["name"], feed[spec["name"]]
            self.refuse({k: v for k, v in feed.items() if k != name}, f"'{name}'", "--input")
            other = np.float64 if value.dtype == np.int64 else np.int64
            self.refuse({**feed, name: value.astype(other)}, f"'{name}'", "expected", "got")
            self.refuse({**feed, name: value[None]}, f"'{name}'", "expected", "got")
            self.refuse({**feed, name: value.reshape(-1)[0]}, f"'{name}'", "expected", "got")
            for axis, dim in enumerate(dims[name]):
                if isinstance(dim, int) or sum(dim in shape for shape in dims.values()) > 1:
                    self.refuse({**feed, name: np.repeat(value, 3, axis)}, "expected", "got")


if __name__ == "__main__":
    if SANITIZED:
        del ModelTest.test_against_fp64, ModelTest.test_rewritten
    unittest.main()
