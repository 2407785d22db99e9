"""program.py: runs the program that INGOT names, in a folder of its own with caches of its own."""

import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import onnx_bytes

INGOT = os.environ["INGOT"]
# Where the artefacts lie that src/artifact/testdata/ builds by hand.
FIXTURES = pathlib.Path(os.environ["INGOT_FIXTURES"])
# Whether it was built with sanitizers, which turn some signals into reports.
SANITIZED = bool(os.environ.get("INGOT_SANITIZE"))
ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"

# The exit statuses of the program.
FINE, DIFFERS, USAGE, UNSUPPORTED, MALFORMED, TOOLCHAIN, RESOURCES, WRONG_TARGET = range(8)
INTERRUPTED = 130


class Done:
    """How the program ended."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def json(self):
        return json.loads(self.out)


def npy(path, shape, values, letter="f"):
    """Writes float32 ("f") or int64 ("q") values as .npy."""
    kind = {"f": "<f4", "q": "<i8"}[letter]
    dims = "".join(f"{dim}, " for dim in shape)
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(values)}{letter}", *values))


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ingot_cli_test_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.out.mkdir()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment = {**os.environ, "INGOT_CACHE_DIR": str(self.folder / "cache"),
                            "TMPDIR": str(self.temporary)}

    def model(self, text=None, name="model.onnx"):
        path = self.folder / name
        path.write_bytes(onnx_bytes.dense() if text is None else text)
        return path

    def start(self, *arguments, environment=(), **options):
        return subprocess.Popen([INGOT, *map(str, arguments)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                env={**self.environment, **dict(environment)}, **options)

    def ingot(self, *arguments, environment=(), **options):
        process = self.start(*arguments, environment=environment, **options)
        out, err = process.communicate()
        return Done(process.returncode, out.decode(), err.decode(errors="replace"))

    def good(self, *arguments, **options):
        done = self.ingot(*arguments, **options)
        self.assertEqual(done.status, FINE, done.err)
        return done

    def bad(self, status, parts, *arguments, **options):
        """The program must end with `status`, a message with all `parts`, and leave no file."""
        before = self.files()
        done = self.ingot(*arguments, **options)
        self.assertEqual(done.status, status, done.err + done.out)
        for part in [parts] if isinstance(parts, str) else parts:
            self.assertIn(part, done.err)
        self.assertEqual(self.files(), before, "files were left behind")
        return done

    def files(self):
        """Everything in the output folder and in that for temporary files."""
        return sorted([*self.out.rglob("*"), *self.temporary.rglob("*")])

    def compiled(self, model=None, name="model.so", *arguments):
        path = self.out / name
        self.good("compile", model or self.model(), "-o", path, *arguments)
        return path

    def run_dense(self, library, rows=((1.0,) * 8, (0.5, -1, 2, 0, 1, 3, -2, 1)), **options):
        """Runs a compiled dense() on rows and compares with Python."""
        npy(self.folder / "x.npy", [len(rows), 8], [value for row in rows for value in row])
        done = self.good("run", library, "--input", f"x={self.folder / 'x.npy'}", "--json",
                         **options)
        values = done.json["outputs"][0]["values"]
        # Small whole numbers and halves: exact in every order of summation.
        self.assertEqual(values, onnx_bytes.dense_result(rows))
