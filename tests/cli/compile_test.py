#!/usr/bin/env python3
"""compile_test.py: every way to write a compiled model; names that would break generated code."""

import json
import math
import re
import shutil
import subprocess
import unittest

import onnx_bytes as onnx
from program import DIGITS, FINE, MALFORMED, ProgramTest, npy

# Names that end comments and strings, escape line ends, are trigraphs, keywords, formats, markup.
HOSTILE = ['"', "'", "*/", "/*", "//", "\\", "a\\", "a\nb", "a\r\nb", "\t", "??/", "??/\n", '"); }',
           "%s%n%d", "{}", "#include", "int", "x y", " ", "\x01\x7f", "é𝄞", "a/b", "../a", "$PATH",
           "`id`", "R\"(", ")\"", "\\u000a", "#", "n" * 10000]


class Emit(ProgramTest):
    def test_weights(self):
        """Each way to keep weights gives the same results."""
        for mode in ("auto", "embedded", "separate", "stripped"):
            with self.subTest(mode):
                # Where stripped weights are looked for.
                path = self.model(name="out/model.onnx")
                library = self.compiled(path, f"{mode}.so", "--weights", mode)
                self.assertEqual((self.out / f"{mode}.so.weights").exists(), mode == "separate")
                self.run_dense(library)

    def test_stripped_weights_need_the_model(self):
        path = self.model()
        library = self.compiled(path, "model.so", "--weights", "stripped")
        # The model's file is looked for beside the artefact.
        shutil.copy(path, self.out)
        path.unlink()
        self.run_dense(library)
        (self.out / path.name).write_bytes(onnx.dense(graph="other"))
        self.bad(MALFORMED, [path.name, "checksum"], "run", library, "--random", "1",
                 "--verify-weights")
        (self.out / path.name).write_bytes(onnx.dense(graph="longer name"))
        self.bad(MALFORMED, [path.name], "run", library, "--random", "1")

    def test_weights_in_every_encoding(self):
        """Raw, listed, and so small that they stay in the program, of which some are prepared."""
        rows, columns = 8, 4
        weights = [float(k % 7 - 3) for k in range(rows * columns)]
        scale, bias = [1.0, 2.0, 0.5, -1.0], [4.0, 3.0, 2.0, 1.0]
        for write in (onnx.tensor, onnx.listed_tensor):
            path = self.model(onnx.model(
                [onnx.node("Mul", ["w", "scale"], ["scaled"]),
                 onnx.node("MatMul", ["x", "scaled"], ["product"]),
                 onnx.node("Softmax", ["bias"], ["soft"]),
                 onnx.node("Add", ["product", "soft"], ["sum"]),
                 onnx.node("Add", ["sum", "bias"], ["y"])],
                [onnx.value_info("x", ["batch", rows])], [onnx.value_info("y", ["batch", columns])],
                [write("w", [rows, columns], weights), onnx.tensor("scale", [columns], scale),
                 write("bias", [columns], bias)]), name="out/model.onnx")
            npy(self.folder / "x.npy", [1, rows], [1.0, -2, 3, 0, 1, 2, -1, 1])
            results = []
            for extra in (["auto"], ["embedded"], ["separate"], ["stripped"],
                          ["auto", "--updatable"], ["separate", "--updatable"]):
                library = self.compiled(path, "every.so", "--weights", *extra)
                done = self.good("run", library, "--input", f"x={self.folder / 'x.npy'}", "--json")
                results.append(done.json["outputs"][0]["values"])
            total = sum(math.exp(b) for b in bias)
            wanted = [sum(x * weights[r * columns + c] * scale[c]
                          for r, x in enumerate([1.0, -2, 3, 0, 1, 2, -1, 1]))
                      + math.exp(bias[c]) / total + bias[c] for c in range(columns)]
            for values in results:
                # One rounding of a sum near 10 and of a softmax: 1e-6 each.
                for got, want in zip(values[0], wanted, strict=True):
                    self.assertAlmostEqual(got, want, delta=1e-5)

    def test_nothing_to_strip(self):
        path = self.model(onnx.model(
            [onnx.node("Add", ["x", "b"], ["y"])], [onnx.value_info("x", ["batch", 2])],
            [onnx.value_info("y", ["batch", 2])], [onnx.tensor("b", [2], [1.0, 2.0])]))
        library = self.compiled(path, "alone.so", "--weights", "stripped")
        npy(self.folder / "x.npy", [1, 2], [1.0, 1.0])
        done = self.good("run", library, "--input", f"x={self.folder / 'x.npy'}", "--json")
        self.assertEqual(done.json["outputs"][0]["values"], [[2.0, 3.0]])

    def test_updatable(self):
        for mode in ("embedded", "separate"):
            self.run_dense(self.compiled(None, "model.so", "--updatable", "--weights", mode))

    def test_several_levels(self):
        library, sizes = self.out / "model.so", []
        for levels in (["x86-64"], ["x86-64", "x86-64-v3"], ["x86-64", "x86-64-v3", "x86-64-v4"]):
            extra = [word for level in levels for word in ("--cpu", level)]
            done = self.good("compile", self.model(), "-o", library, "--json", *extra)
            sizes.append(done.json["code_bytes"])
            self.run_dense(library)
        self.assertEqual(sizes, sorted(set(sizes)))

    def test_static_library(self):
        """Two of them, linked into a program in C that knows nothing but the headers."""
        self.compiled(None, "libdense.a", "--emit", "static")
        self.compiled(DIGITS, "digits.a", "--emit", "static")
        main = self.out / "main.c"
        main.write_text("""#include "libdense.h"
        #include "digits.h"
        #include <stdio.h>
        static int tell(const ingot_model_api* api) {
          ingot_model* model = 0;
          if (api->open(0, &model) != 0) { puts(api->last_error()); return 1; }
          printf("%s %u\\n", api->describe(model)->name, api->describe(model)->input_count);
          api->close(model);
          return 0;
        }
        int main(void) { return tell(ingot_model_v1_dense()) + tell(ingot_model_v1_digits()); }
        """)
        program = self.out / "program"
        subprocess.run(["gcc", str(main), str(self.out / "libdense.a"), str(self.out / "digits.a"),
                        "-o", str(program), "-lm", "-lpthread"], check=True)
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
        self.assertEqual(text, "graph 1\nmain_graph 1\n")

    def test_source_project(self):
        """Built by cmake without Ingot, it computes the same."""
        for mode in ("embedded", "separate"):
            with self.subTest(mode):
                project, build = self.out / mode, self.folder / f"build_{mode}"
                self.good("compile", self.model(), "-o", project, "--emit", "source", "--weights",
                          mode)
                # Neither optimised nor for long: what counts is that it builds and runs.
                for command in (["cmake", "-S", project, "-B", build,
                                 "-DCMAKE_CXX_FLAGS=-Werror"],
                                ["cmake", "--build", build, "-j", "2"]):
                    subprocess.run(list(map(str, command)), check=True, capture_output=True)
                if mode == "separate":
                    side = next(project.glob("*.weights"))
                    shutil.copy(side, build / side.name)
                self.run_dense(build / "model.so")

    def test_selfcontained(self):
        library = self.compiled(DIGITS, "digits.so")
        text = subprocess.run(["readelf", "-dW", "--dyn-syms", str(library)], check=True,
                              capture_output=True, text=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "libpthread.so.0",
                                      "ld-linux-x86-64.so.2"})
        exported = [line.split()[-1] for line in text.splitlines()
                    if re.search(r" (GLOBAL|WEAK) +DEFAULT +\d+ ", line)]
        self.assertEqual(exported, ["ingot_model_v1"])
        self.assertNotRegex(text, r"TEXTREL|RPATH|RUNPATH|INIT_ARRAY")
        self.assertNotIn(str(self.folder).encode(), library.read_bytes())

    def test_same_bytes_twice(self):
        for number, arguments in enumerate(([], ["--weights", "separate"], ["--threads", "1"])):
            first = self.compiled(DIGITS, f"a{number}.so", *arguments).read_bytes()
            # Without the objects of the first time.
            shutil.rmtree(self.folder / "cache")
            (self.out / f"a{number}.so").rename(self.out / "first.so")
            self.assertEqual(self.compiled(DIGITS, f"a{number}.so", *arguments).read_bytes(), first)

    def test_report_and_sources(self):
        report, sources = self.out / "report.json", self.out / "sources"
        done = self.good("compile", DIGITS, "-o", self.out / "digits.so", "--report", report,
                         "--keep-source", sources, "--json")
        keys = {"output", "kernels", "seconds", "weight_bytes", "code_bytes", "workspace"}
        self.assertLessEqual(keys, set(done.json))
        self.assertLessEqual({"import", "passes", "codegen", "toolchain", "tuning", "write",
                              "total"}, set(done.json["seconds"]))
        self.assertEqual(done.err, "", "no bar where there is no terminal")
        told = json.loads(report.read_text())
        self.assertLessEqual(keys | {"passes", "kernel_names", "steps", "approximations", "notes"},
                             set(told))
        self.assertEqual(len(told["kernel_names"]), told["kernels"])
        self.assertEqual([each["name"] for each in told["kernel_list"]], told["kernel_names"])
        self.assertTrue(all(each["steps"] > 0 for each in told["kernel_list"]))
        self.assertGreater(told["nodes"]["read"], 0)
        self.assertEqual(told["shape_nodes"], {"read": 0, "left": 0, "list": []})
        self.assertEqual(told["run_time_sizes"], [])
        self.assertEqual([sample["dims"] for sample in told["memory"]],
                         [{"batch": size} for size in (1, 16, 128, 1024)])
        self.assertEqual(told["approximations"], [])
        self.assertIn("batch", told["workspace"])
        # Stages make up the whole: nothing long is left out, nothing counted twice.
        stages = sum(value for key, value in told["seconds"].items() if key != "total")
        self.assertAlmostEqual(stages, told["seconds"]["total"],
                               delta=0.1 + 0.2 * told["seconds"]["total"])
        self.assertIn("model.cc", [path.name for path in sources.iterdir()])


class Passes(ProgramTest):
    def setUp(self):
        super().setUp()
        self.pictures = self.folder / "pictures.npy"
        npy(self.pictures, [1, 1, 32, 32], [(k % 37) / 37 for k in range(1024)])

    def names(self):
        report = self.out / "report.json"
        self.good("compile", DIGITS, "-o", self.out / "digits.so", "--report", report)
        passes = json.loads(report.read_text())["passes"]
        names = list(dict.fromkeys(one["name"] for one in passes
                                   if not one["name"].startswith("prepare_")))
        self.assertIn("canonicalize", names)
        return names

    def test_disabled(self):
        """The model means the same without any of them; legalize and fuse's rows are needed."""
        expected = None
        for name in [None, *self.names()]:
            with self.subTest(name):
                library = self.out / "digits.so"
                extra = ["--disable-pass", name] if name else []
                done = self.ingot("compile", DIGITS, "-o", library, *extra)
                self.assertEqual(done.status, FINE, done.err)
                done = self.good("run", library, "--input",
                                 f"{self.input_name(library)}={self.pictures}", "--json")
                values = done.json["outputs"][0]["values"][0]
                expected = expected or values
                # Probabilities in fp32: other orders of summation, some units of 6e-8.
                for got, wanted in zip(values, expected):
                    self.assertAlmostEqual(got, wanted, delta=1e-5)

    def input_name(self, library):
        return self.good("inspect", library, "--json").json["inputs"][0]["name"]

    def test_dumps(self):
        names = self.names()
        dumps = self.out / "dumps"
        extra = [word for name in names for word in ("--dump-after", name)]
        self.good("compile", DIGITS, "-o", self.out / "digits.so", *extra, "--dump-dir", dumps)
        files = {path.name for path in dumps.iterdir()}
        self.assertLessEqual({f"{name}.txt" for name in names}, files)
        self.assertIn("conv", (dumps / "canonicalize.txt").read_text())


class Names(ProgramTest):
    def test_hostile_names(self):
        """As names of inputs, outputs, dims, nodes and weights, all in one model."""
        nodes, inputs, outputs, weights = [], [], [], []
        for name in HOSTILE:
            nodes.append(onnx.node("MatMul", ["x" + name, "w" + name], ["y" + name], name))
            inputs.append(onnx.value_info("x" + name, ["b" + name, 3]))
            outputs.append(onnx.value_info("y" + name, ["b" + name, 2]))
            weights.append(onnx.tensor("w" + name, [3, 2], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
        path = self.model(onnx.model(nodes, inputs, outputs, weights))
        for extra in ([], ["--updatable"]):
            library, sources = self.out / "model.so", self.out / "sources"
            self.good("compile", path, "-o", library, "--keep-source", sources, *extra)
            seen = self.good("inspect", library, "--json").json
            self.assertEqual([x["name"] for x in seen["inputs"]], ["x" + n for n in HOSTILE])
            self.assertEqual([x["shape"] for x in seen["inputs"]], [["b" + n, 3] for n in HOSTILE])
            self.good("run", library, "--random", "1", "--output-dir", self.out / "npy")
            self.assertEqual(len(list((self.out / "npy").iterdir())), len(HOSTILE))

    def test_hostile_names_of_graphs(self):
        for name in ("*/ int x; /*", 'a\nb"', "n" * 10000):
            with self.subTest(name=name[:40]):
                self.compiled(self.model(onnx.dense(graph=name)))
                seen = self.good("inspect", self.out / "model.so", "--json").json
                self.assertEqual(seen["name"], name)

    def test_one_name_for_all(self):
        """Values, nodes, dims and the graph have names of their own."""
        text = onnx.dense(x="model", y="main", w="run", node_name="model", graph="model",
                          batch="model")
        self.good("run", self.compiled(self.model(text)), "--random", "1")

    def test_metadata(self):
        text = onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value_info("x", [2])],
                          [onnx.value_info("y", [2])],
                          metadata=[(name, name) for name in HOSTILE])
        path = self.model(text)
        library = self.compiled(path)
        self.good("run", library, "--random", "1")
        for each in (path, library):
            self.assertEqual(self.good("inspect", each, "--json").json["metadata"],
                             {name: name for name in HOSTILE})


if __name__ == "__main__":
    unittest.main()
