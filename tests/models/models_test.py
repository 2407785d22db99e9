#!/usr/bin/env python3
"""models_test.py: one model of tiny/ from outside: compiled once and run at many sizes, against
onnxruntime and the fp64 interpreter; rewritten by the tools that people use; and with bad input.

    INGOT=PROGRAM models_test.py NAME
"""

import contextlib
import io
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
import rewrites

USAGE, UNSUPPORTED, MALFORMED = 2, 3, 4
TINY = pathlib.Path(__file__).resolve().parent / "tiny"
# With sanitizers what counts is what the compiler does with a real graph: one size, as exported.
SANITIZED = bool(os.environ.get("INGOT_SANITIZE"))
NAME = sys.argv.pop(1)


class ModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot_models_test_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.model = cls.folder / "model.onnx"
        cls.about = fill.fill(TINY / f"{NAME}.onnx", cls.model)
        cls.peer = judge.Peer(cls.model)
        cls.seen = set()
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

    def agree(self, library, runs, kind=None):
        for dims, inputs, wanted in runs:
            with self.subTest(dims=dims):
                judge.check(library, inputs, wanted, kind or self.peer.kind, self.folder)

    def test_sizes(self):
        self.agree(self.library, self.runs)

    def test_against_fp64(self):
        for dims, inputs, wanted in self.runs:
            with self.subTest(dims=dims):
                judge.verify(self.model, self.library, inputs, wanted[0], self.peer.kind)

    def rewritten(self, rewrite, path):
        """The model that a tool makes; none where it is one that was made before."""
        model = self.folder / f"{path.stem}_{rewrite.__name__}.onnx"
        with contextlib.redirect_stdout(io.StringIO()):  # some print what they see
            rewrite(path, model)
        graph = onnx.load(model).graph.SerializeToString(deterministic=True)
        if graph in self.seen:
            return None
        self.seen.add(graph)
        return model

    def check_rewritten(self, rewrite, path, runs, kind=None):
        model = self.rewritten(rewrite, path)
        if model is None:
            return
        if not rewrites.uses_blocks(model):
            self.agree(self.compiled(model), runs, kind)
            return
        done = judge.ingot("compile", model, "-o", model.with_suffix(".so"))
        self.assertEqual(done.status, UNSUPPORTED, done.err)
        self.assertIn("ORT_ENABLE_EXTENDED", done.err)

    def test_rewritten(self):
        for rewrite in rewrites.that_keep_numbers(NAME):
            with self.subTest(rewrite=rewrite.__name__):
                self.check_rewritten(rewrite, self.model, [self.runs[0], self.runs[-1]])

    def test_other_numbers(self):
        """What gives other results than the model, as the tool writes it and as onnxruntime optimises
        that, against onnxruntime's results of the same."""
        feeds = [fill.make_inputs(self.about, dims) for dims in (self.runs[0][0], self.runs[-1][0])]
        for change in rewrites.that_change_numbers(NAME, feeds[:1]):
            with self.subTest(change=change.__name__):
                model = self.rewritten(change, self.model)
                peer = judge.Peer(model)
                runs = [(dims, inputs, peer.run(feed))
                        for (dims, inputs, _), feed in zip([self.runs[0], self.runs[-1]], feeds, strict=True)]
                self.agree(self.compiled(model), runs, peer.kind)
                for rewrite in (rewrites.extended, rewrites.everything):
                    self.check_rewritten(rewrite, model, runs, peer.kind)

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
        del ModelTest.test_against_fp64, ModelTest.test_other_numbers, ModelTest.test_rewritten
    unittest.main()
