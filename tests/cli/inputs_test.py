#!/usr/bin/env python3
"""inputs_test.py: every form in which inputs are given, what comes out, and damaged ones."""

import base64
import io
import json
import pickle
import struct
import unittest
import zipfile
import zlib

import onnx_bytes as onnx
from program import MALFORMED, UNSUPPORTED, USAGE, ProgramTest, npy

# 8 x 8 grey pixels of 100.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywt"
    "QFdBRkxOUlNSMj5aYVpQYEpRUk//wAALCAAIAAgBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QA"
    "tRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0"
    "NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2"
    "t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/AM6v/9k=")
ROWS = [[1.0, 2.0], [3.0, -4.0], [0.5, 6.0]]


def png(rows, channels):
    """A PNG of rows of pixels, each `channels` bytes."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))
    kind = {1: 0, 3: 2}[channels]
    header = struct.pack(">IIBBBBB", len(rows[0]) // channels, len(rows), 8, kind, 0, 0, 0)
    data = b"".join(b"\0" + bytes(row) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data))
            + chunk(b"IEND", b""))


def identity(dims, kind=onnx.FLOAT, names=("x",)):
    """Outputs y... that are the inputs."""
    nodes = [onnx.node("Identity", [name], ["y" + name], name) for name in names]
    return onnx.model(nodes, [onnx.value_info(name, dims, kind) for name in names],
                      [onnx.value_info("y" + name, dims, kind) for name in names])


class Tensors(ProgramTest):
    """One model with an input [n, 2] of float; each form gives the same values."""

    def setUp(self):
        super().setUp()
        self.library = self.compiled(self.model(identity(["n", 2])))
        self.values = [value for row in ROWS for value in row]

    def check(self, *arguments):
        done = self.good("run", self.library, *arguments, "--json")
        self.assertEqual(done.json["outputs"][0]["values"], ROWS)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def test_npy(self):
        path = self.folder / "a=b.npy"
        npy(path, [3, 2], self.values)
        self.check("--input", f"x={path}")

    def test_fortran_order(self):
        path = self.folder / "x.npy"
        npy(path, [3, 2], [row[k] for k in range(2) for row in ROWS])
        path.write_bytes(path.read_bytes().replace(b"False", b"True ", 1))
        self.check("--input", f"x={path}")

    def test_pb(self):
        self.check("--input", f"x={self.write('x.pb', onnx.tensor('any', [3, 2], self.values))}")

    def test_bin(self):
        path = self.write("x.bin", struct.pack("<6f", *self.values))
        self.check("--input", f"x={path}:f32[3,2]")
        for text, part in (("f32[3,3]", "expected 36 bytes"), ("f32[3,n]", "DTYPE[SIZE"),
                           ("", "DTYPE[SIZE"), ("q8[1]", "q8"), ("f32[-1]", "f32[-1]"),
                           ("f32[99999999999,99999999999]", "x.bin")):
            with self.subTest(text):
                self.bad(USAGE, [part], "run", self.library, "--input", f"x={path}:{text}")

    def test_npz(self):
        memory = io.BytesIO()
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(memory, "w", method) as archive:
                npy(self.folder / "x.npy", [3, 2], self.values)
                archive.write(self.folder / "x.npy", "x.npy")
            self.check("--inputs", self.write("in.npz", memory.getvalue()))
        with zipfile.ZipFile(memory, "w") as archive:
            archive.write(self.folder / "x.npy", "other.npy")
        self.bad(USAGE, ["'other'"], "run", self.library, "--inputs",
                 self.write("in.npz", memory.getvalue()))
        self.bad(MALFORMED, ["in.npz"], "run", self.library, "--inputs",
                 self.write("in.npz", memory.getvalue()[:40]))

    def test_folders(self):
        folder = self.folder / "set"
        folder.mkdir()
        (folder / "input_0.pb").write_bytes(onnx.tensor("other", [3, 2], self.values))
        self.check("--inputs", folder)
        (folder / "input_0.pb").unlink()
        npy(folder / "x.npy", [3, 2], self.values)
        self.check("--inputs", folder)
        (folder / "x.npy").unlink()
        self.bad(USAGE, ["'x'"], "run", self.library, "--inputs", folder)
        self.bad(MALFORMED, ["missing"], "run", self.library, "--inputs", self.folder / "missing")

    def test_random(self):
        first = self.good("run", self.library, "--random", "7", "--dim", "n=4", "--json").json
        again = self.good("run", self.library, "--random", "7", "--dim", "n=4", "--json").json
        other = self.good("run", self.library, "--random", "8", "--dim", "n=4", "--json").json
        self.assertEqual(first["outputs"], again["outputs"])
        self.assertNotEqual(first["outputs"], other["outputs"])
        self.assertEqual(first["outputs"][0]["shape"], [4, 2])

    def test_unknown_forms(self):
        path = self.write("x.txt", b"1 2 3")
        self.bad(USAGE, ["x.txt", ".npy"], "run", self.library, "--input", f"x={path}")
        self.bad(MALFORMED, ["x.npy"], "run", self.library, "--input",
                 f"x={self.write('x.npy', b'no array')}")
        self.bad(MALFORMED, ["x.pb"], "run", self.library, "--input",
                 f"x={self.write('x.pb', b'no tensor')}")


class Outputs(ProgramTest):
    def test_types(self):
        """What goes in as a type comes out as it, as .npy and as JSON."""
        for number, (kind, size, letter, values) in enumerate((
                (2, 1, "B", [0, 255]), (3, 1, "b", [-128, 127]), (5, 2, "h", [-32768, 32767]),
                (6, 4, "i", [-2**31, 2**31 - 1]), (7, 8, "q", [-2**63, 2**63 - 1]),
                (11, 8, "d", [0.1, -1e300]), (9, 1, "?", [True, False]),
                (10, 2, "e", [0.5, -65504.0]))):
            name = {2: "u8", 3: "i8", 5: "i16", 6: "i32", 7: "i64", 9: "b8", 10: "f16",
                    11: "f64"}[kind]
            with self.subTest(name):
                model = self.model(identity([2], kind), f"{number}.onnx")
                path = self.folder / f"{number}.bin"
                path.write_bytes(struct.pack(f"<2{letter}", *values))
                arguments = ("run", model, "--input", f"x={path}:{name}[2]")
                output = self.good(*arguments, "--json").json["outputs"][0]
                self.assertEqual((output["dtype"], output["values"]), (name, values))
                self.good(*arguments, "--output-dir", self.out)
                self.assertEqual((self.out / "yx.npy").read_bytes()[-2 * size:],
                                 path.read_bytes())

    def test_names_become_files(self):
        names = ("a/b", "..", ".hidden", "x y", "ä", "%41", "A")
        path = self.model(identity([1], names=names))
        done = self.good("run", path, "--random", "1", "--output-dir", self.out / "npy", "--json")
        files = [out["file"] for out in done.json["outputs"]]
        self.assertEqual(len(set(files)), len(names))
        self.assertEqual(sorted(files), sorted(str(p) for p in (self.out / "npy").iterdir()))

    def test_print(self):
        done = self.good("run", self.model(identity(["n", 2])), "--random", "1", "--dim", "n=2",
                         "--print")
        self.assertRegex(done.out, r"^yx: f32\[2, 2\] = \[\[.*\],\[.*\]\]\n$")
        self.assertEqual(done.err, "")

    def test_repeat_and_profile(self):
        profile = self.out / "profile.json"
        done = self.good("run", self.model(), "--random", "1", "--repeat", "5", "--profile",
                         profile, "--threads", "1", "--json")
        self.assertLessEqual(done.json["latency"]["min"], done.json["latency"]["median"])
        steps = json.loads(profile.read_text())["steps"]
        self.assertTrue(steps)
        self.assertLessEqual({"name", "nodes", "ms", "threads"}, set(steps[0]))
        for option in ("--repeat", "--threads"):
            self.bad(USAGE, [option.strip("-")], "run", self.model(), "--random", "1", option, "-1")

    def test_not_a_number(self):
        path = self.folder / "x.bin"
        path.write_bytes(struct.pack("<3f", float("nan"), float("inf"), float("-inf")))
        done = self.good("run", self.model(identity([3])), "--input", f"x={path}:f32[3]", "--json")
        self.assertEqual(done.json["outputs"][0]["values"], ["nan", "inf", "-inf"])


class Pictures(ProgramTest):
    def setUp(self):
        super().setUp()
        self.picture = self.folder / "p.png"
        self.picture.write_bytes(png([[10, 20, 30, 40, 50, 60], [70, 80, 90, 100, 110, 120]], 3))

    def run_picture(self, dims, how, kind=onnx.FLOAT, path=None):
        model = self.model(identity(dims, kind), f"{len(dims)}{kind}.onnx")
        done = self.good("run", model, "--input", f"x={path or self.picture}{how}", "--json")
        return done.json["outputs"][0]["values"]

    def test_layouts(self):
        bytes_ = 2
        self.assertEqual(self.run_picture([1, 3, "h", "w"], "", bytes_),
                         [[[[10, 40], [70, 100]], [[20, 50], [80, 110]], [[30, 60], [90, 120]]]])
        self.assertEqual(self.run_picture([1, "h", "w", 3], ":nhwc,bgr", bytes_),
                         [[[[30, 20, 10], [60, 50, 40]], [[90, 80, 70], [120, 110, 100]]]])

    def test_scale_mean_std(self):
        got = self.run_picture([1, 3, "h", "w"], ":nchw,rgb,scale=1/2,mean=1:2:3,std=2:4:8")
        # (pixel / 2 - mean) / std; every number is exact in fp32.
        self.assertEqual(got, [[[[2.0, 9.5], [17.0, 24.5]], [[2.0, 5.75], [9.5, 13.25]],
                                [[1.5, 3.375], [5.25, 7.125]]]])
        got = self.run_picture([1, 3, "h", "w"], ":scale=2")
        self.assertEqual(got[0][0], [[20.0, 80.0], [140.0, 200.0]])

    def test_gray(self):
        path = self.folder / "g.png"
        path.write_bytes(png([[0, 128, 255]], 1))
        self.assertEqual(self.run_picture([1, 1, "h", "w"], ":gray,scale=1", path=path),
                         [[[[0.0, 128.0, 255.0]]]])

    def test_jpeg(self):
        for name in ("p.jpg", "p.jpeg"):
            path = self.folder / name
            path.write_bytes(JPEG)
            self.assertEqual(self.run_picture([1, 1, "h", "w"], ":gray,size=8x8", 2, path),
                             [[[[100] * 8] * 8]])

    def test_refusals(self):
        model = self.model(identity([1, 3, "h", "w"]))
        for how, part in ((":sepia", "sepia"), (":size=3x3", "expected 3x3 pixels, got 2x2"),
                          (":scale=x", "scale"), (":mean=1:2", "mean"), (":std=0", "std"),
                          (":scale=1/0", "scale")):
            with self.subTest(how):
                self.bad(USAGE, [part], "run", model, "--input", f"x={self.picture}{how}")
        self.bad(USAGE, ["'x'", "f32", "u8"], "run", model, "--input", f"x={self.picture}")
        for name, whole in (("p.png", self.picture.read_bytes()), ("p.jpg", JPEG)):
            for damaged in (whole[:30], whole[:len(whole) // 2], b"", b"text"):
                path = self.folder / name
                path.write_bytes(damaged)
                self.bad(MALFORMED, [name], "run", model, "--input", f"x={path}:scale=1")


class Containers(ProgramTest):
    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def test_strings(self):
        library = self.compiled(self.model(identity(["n"], onnx.STRING)))
        path = self.write("x.pb", onnx.strings("any", [3], ["a", "", b"\xff\0b"]))
        done = self.good("run", library, "--input", f"x={path}", "--json").json
        self.assertEqual(done["outputs"][0]["values"], ["a", "", "\ufffd\0b"])
        self.good("run", library, "--input", f"x={path}", "--output-dir", self.folder / "res")
        # What comes out is what went in, byte for byte, but for its name.
        self.assertEqual((self.folder / "res" / "yx.pb").read_bytes(),
                         onnx.field(1, onnx.varint(3)) + onnx.field(2, onnx.STRING)
                         + onnx.fields(6, ["a", "", b"\xff\0b"]) + onnx.field(8, "yx"))
        again = self.good("run", library, "--input", f"x={self.folder / 'res' / 'yx.pb'}",
                          "--json").json
        self.assertEqual(again, {**done, "latency": again["latency"]})
        for descr, data in (("|S2", b"a\0\0\0bc"), ("<U2", "a\0\0\0bc".encode("utf-32-le"))):
            header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (3,), }}\n".encode()
            array = self.write("x.npy", b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little")
                               + header + data)
            done = self.good("run", library, "--input", f"x={array}", "--json").json
            self.assertEqual(done["outputs"][0]["values"], ["a", "", "bc"])
        # Objects are Python's pickles, which are programs.
        header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n"
        path_of_objects = self.write("o.npy", b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little")
                                     + header + pickle.dumps(["a"]))
        self.bad(UNSUPPORTED, ["o.npy", "|O"], "run", library, "--input", f"x={path_of_objects}")
        self.bad(UNSUPPORTED, ["'x'", "random"], "run", library, "--random", "1")
        self.bad(USAGE, ["'x'", "str[n]", "f32[3, 2]"], "run", library, "--input",
                 f"x={self.write('f.pb', onnx.tensor('any', [3, 2], [0.5] * 6))}")
        self.good("bench", library, "--input", f"x={path}", "--duration", "0.01", "--warmup", "1")

    def test_sequences(self):
        model = onnx.model([onnx.node("Identity", ["x"], ["y"])], [onnx.sequence_info("x")],
                           [onnx.sequence_info("y")])
        library = self.compiled(self.model(model))
        tensors = [onnx.tensor("", [2], [1.0, 2.0]), onnx.tensor("", [], [3.0])]
        path = self.write("x.pb", onnx.sequence(tensors))
        done = self.good("run", library, "--input", f"x={path}", "--json").json["outputs"][0]
        self.assertEqual(done["values"], [[1.0, 2.0], 3.0])
        self.assertEqual((done["kind"], done["items"]), ("sequence", 2))
        self.good("run", library, "--input", f"x={path}", "--output-dir", self.folder / "res")
        done = self.good("run", library, "--input", f"x={self.folder / 'res' / 'y.pb'}",
                         "--json").json["outputs"][0]
        self.assertEqual(done["values"], [[1.0, 2.0], 3.0])
        empty = self.good("run", library, "--input", f"x={self.write('e.pb', b'')}", "--json").json
        self.assertEqual(empty["outputs"][0]["values"], [])
        wrong = self.write("w.pb", onnx.sequence([onnx.tensor("", [1], [7])]))
        self.bad(USAGE, ["'x'", "a sequence of f32", "sequence of i64"], "run", library, "--input",
                 f"x={wrong}")
        damaged = self.write("d.pb", onnx.sequence(tensors)[:-3])
        self.bad(MALFORMED, ["d.pb"], "run", library, "--input", f"x={damaged}")
        self.good("verify", self.model(model), "--input", f"x={path}")
        shown = self.good("inspect", library)
        self.assertIn("input: x: sequence(f32[])\n", shown.out)
        self.assertIn("output: y: sequence(f32[])\n", shown.out)

    def test_optionals(self):
        model = onnx.model([onnx.node("OptionalHasElement", ["x"], ["y"])],
                           [onnx.sequence_info("x", optional=True)],
                           [onnx.value_info("y", [], 9)], opset=18)
        library = self.compiled(self.model(model))
        for tensors in ([], [onnx.tensor("", [1], [2.0])]):
            path = self.write("x.pb", onnx.sequence(tensors))
            done = self.good("run", library, "--input", f"x={path}", "--json").json
            self.assertEqual(done["outputs"][0]["values"], bool(tensors))
        shown = self.good("inspect", library, "--json").json["inputs"]
        self.assertEqual(shown, [{"name": "x", "type": "optional(f32[])"}])
        path = self.write("x.pb", onnx.sequence([onnx.tensor("", [1], [2.0])] * 2))
        self.bad(MALFORMED, ["x.pb", "at most one item"], "run", library, "--input", f"x={path}")

    def test_maps(self):
        domain = "ai.onnx.ml"
        names = onnx.attribute_strings("string_vocabulary", ["a", "none", "b"])
        labels = onnx.attribute_strings("classlabels_strings", ["z", "y", "x"])
        model = onnx.model(
            [onnx.node("DictVectorizer", ["m"], ["row"], attributes=[names], domain=domain),
             onnx.node("ZipMap", ["row"], ["maps"], attributes=[labels], domain=domain)],
            [onnx.map_info("m", onnx.STRING, onnx.FLOAT)],
            [onnx.value_info("row", [1, 3]),
             onnx.map_info("maps", onnx.STRING, onnx.FLOAT, sequence=True)])
        model = self.model(model + onnx.opset(domain, 1))
        library = self.compiled(model)
        path = self.write("m.pb", onnx.map_of({"b": 2.5, "": 7.0, "a": -1.0}))
        maps = [{"x": 2.5, "y": 0.0, "z": -1.0}]
        row, zipped = self.good("run", library, "--input", f"m={path}", "--json").json["outputs"]
        self.assertEqual((row["values"], zipped["values"]), ([[-1.0, 0.0, 2.5]], maps))
        self.assertEqual((zipped["kind"], zipped["keys"], zipped["dtype"], zipped["items"]),
                         ("sequence", "str", "f32", 1))
        self.assertIn("input: m: map(str, f32[])\n", self.good("inspect", library).out)
        self.good("verify", model, "--input", f"m={path}")
        done = self.good("run", library, "--input", f"m={path}", "--output-dir",
                         self.folder / "res").out
        self.assertIn("maps: sequence of maps from str to f32", done)
        written = onnx.field(4, "x") + onnx.field(4, "y") + onnx.field(4, "z")
        self.assertIn(written, (self.folder / "res" / "maps.pb").read_bytes())
        empty = self.good("run", library, "--input",
                          f"m={self.write('e.pb', onnx.map_of({}))}", "--json").json["outputs"]
        self.assertEqual(empty[0]["values"], [[0.0, 0.0, 0.0]])
        self.bad(USAGE, ["'m'", "a map from str to f32", "map from str to i64"], "run", library,
                 "--input", f"m={self.write('i.pb', onnx.map_of({'a': 1}))}")
        short = onnx.field(2, onnx.STRING) + onnx.fields(4, ["a", "b"]) + onnx.field(
            5, onnx.sequence([onnx.tensor("", [], [1.0])]))
        self.bad(MALFORMED, ["s.pb", "expected 2 values"], "run", library, "--input",
                 f"m={self.write('s.pb', short)}")
        self.bad(UNSUPPORTED, ["'m'", "random"], "run", library, "--random", "1")


if __name__ == "__main__":
    unittest.main()
