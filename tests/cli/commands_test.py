#!/usr/bin/env python3
"""commands_test.py: verify, conformance, run, bench, inspect, doctor: results, keys, statuses."""

import json
import re
import subprocess
import unittest

import onnx_bytes as onnx
from program import (DIFFERS, DIGITS, FINE, INGOT, MALFORMED, RESOURCES, SANITIZED, TOOLCHAIN,
                     UNSUPPORTED, USAGE, ProgramTest, npy)


class Verify(ProgramTest):
    def test_holds(self):
        done = self.good("verify", DIGITS, "--random", "1", "--dim", "batch=2", "--json")
        self.assertTrue(done.json["ok"])
        self.assertIsNone(done.json["first_bad_value"])
        self.assertEqual([out["name"] for out in done.json["outputs"]], ["probabilities"])
        self.assertLessEqual({"name", "max_abs", "max_rel", "mismatches", "worst_index"},
                             set(done.json["outputs"][0]))
        self.assertIn("every inner value agrees", self.good(
            "verify", DIGITS, "--random", "1", "--every-value").out)

    def test_does_not_hold(self):
        """The library of a model with one other weight."""
        text = onnx.dense()
        model = self.model(text)
        weight = b"\0\0\x40\x40"  # 3.0
        other = self.model(text.replace(weight, b"\0\0\x80\x40", 1), "other.onnx")
        library = self.compiled(other)
        done = self.ingot("verify", model, "--so", library, "--random", "3", "--dim", "batch=5",
                          "--json")
        self.assertEqual(done.status, DIFFERS, done.err)
        self.assertIn("was compiled from another file than", done.err)
        self.assertFalse(done.json["ok"])
        self.assertGreater(done.json["outputs"][0]["mismatches"], 0)
        self.assertEqual(len(done.json["outputs"][0]["worst_index"]), 2)
        done = self.ingot("verify", model, "--so", library, "--random", "3", "--every-value")
        self.assertEqual(done.status, DIFFERS, done.err)
        self.assertIn("FAIL y: element [0, ", done.out)
        self.good("verify", model, "--so", library, "--random", "3", "--atol", "1e6")

    def test_tolerance(self):
        done = self.ingot("verify", DIGITS, "--random", "1", "--rtol", "0", "--atol", "0")
        self.assertEqual(done.status, DIFFERS, "fp32 does not round as fp64 does")
        self.bad(USAGE, ["--rtol", "-1"], "verify", DIGITS, "--random", "1", "--rtol", "-1")

    def test_refusals(self):
        self.bad(MALFORMED, ["missing.onnx"], "verify", "missing.onnx", "--random", "1")
        self.bad(USAGE, ["--random"], "verify", self.model())
        text = onnx.model([onnx.node("Frobnicate", ["x"], ["y"], "one")],
                          [onnx.value_info("x", [2])], [onnx.value_info("y", [2])])
        self.bad(UNSUPPORTED, ["Frobnicate"], "verify", self.model(text), "--random", "1")


class Conformance(ProgramTest):
    def case(self, name, op, value, expected, **settings):
        """y = op(x) with x = [value]."""
        data = self.folder / "cases" / name / "test_data_set_0"
        data.mkdir(parents=True)
        text = onnx.model([onnx.node(op, ["x"], ["y"], "n")], [onnx.value_info("x", [1])],
                          [onnx.value_info("y", [1])])
        (data.parent / "model.onnx").write_bytes(text)
        (data / "input_0.pb").write_bytes(onnx.tensor("x", [1], [value]))
        (data / "output_0.pb").write_bytes(onnx.tensor("y", [1], [expected]))
        if settings:
            (data.parent / "data.json").write_text(json.dumps(settings))

    def conform(self, status, *arguments, **options):
        result = self.out / "result.json"
        done = self.ingot("conformance", self.folder / "cases", "--json", result, *arguments,
                          **options)
        self.assertEqual(done.status, status, done.err)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return json.loads(result.read_text())

    def test_statuses(self):
        self.case("right", "Relu", -1.0, 0.0)
        self.case("wrong", "Relu", 3.0, 4.0)
        self.case("nan", "Relu", float("nan"), float("nan"))
        self.case("unknown", "Frobnicate", 3.0, 3.0)
        self.case("near", "Neg", 3.0, -3.2, atol=0.5)
        (self.folder / "cases" / "no_case").mkdir()
        result = self.conform(DIFFERS, "--by-op")
        found = {case["name"]: case["status"] for case in result["cases"]}
        self.assertEqual(found, {"right": "pass", "wrong": "fail", "nan": "pass", "near": "pass",
                                 "unknown": "unsupported"})
        self.assertEqual([result[key] for key in
                          ("total", "pass", "fail", "unsupported", "crash")], [5, 3, 1, 1, 0])
        case = next(case for case in result["cases"] if case["name"] == "wrong")
        self.assertEqual((case["op"], case["opset"]), ("Relu", 17))
        self.assertIn("expected 4.0, got 3.0", case["message"])
        self.assertEqual(result["by_op"]["Relu"]["pass"], 2)
        self.assertEqual(self.conform(FINE, "--filter", "^(right|nan)$")["total"], 2)
        self.assertEqual(self.conform(FINE, "--filter", "wrong", "--rtol", "0.5")["pass"], 1)
        self.bad(USAGE, ["nothing_here"], "conformance", self.folder / "cases", "--filter",
                 "nothing_here")
        self.bad(USAGE, ["--filter", "("], "conformance", self.folder / "cases", "--filter", "(")
        self.bad(MALFORMED, ["missing"], "conformance", self.folder / "missing")

    def test_one_case_is_enough(self):
        self.case("right", "Relu", -1.0, 0.0)
        self.good("conformance", self.folder / "cases" / "right")

    def test_damaged_case(self):
        self.case("damaged", "Relu", 1.0, 1.0)
        self.case("right", "Relu", 1.0, 1.0)
        model = self.folder / "cases" / "damaged" / "model.onnx"
        model.write_bytes(model.read_bytes()[:-9])
        found = self.conform(DIFFERS)
        self.assertEqual((found["pass"], found["fail"]), (1, 1))

    def test_crash_takes_no_other_down(self):
        """The first compiler that is called kills the process that called it."""
        for name in ("a", "b", "c"):
            self.case(name, "Relu", 1.0, 1.0)
        script = self.folder / "compiler"
        script.write_text('#!/bin/sh\ncase "$*" in *--version*) exec g++ --version;; esac\n'
                          f"mkdir {self.folder}/once 2>/dev/null && kill -SEGV $PPID\n"
                          'exec g++ "$@"\n')
        script.chmod(0o755)
        found = self.conform(DIFFERS, "--jobs", "1", environment={"INGOT_CXX": str(script)})
        self.assertEqual((found["crash"], found["pass"]), (1, 2))
        # A sanitizer turns the signal into a report and an exit status.
        self.assertIn("ended with status" if SANITIZED else "ended by Segmentation fault",
                      found["cases"][0]["message"])

    def test_hang_takes_no_other_down(self):
        for name in ("a", "b"):
            self.case(name, "Relu", 1.0, 1.0)
        script = self.folder / "compiler"
        script.write_text('#!/bin/sh\ncase "$*" in *--version*) exec g++ --version;; esac\n'
                          f"mkdir {self.folder}/once 2>/dev/null && exec sleep 1000\n"
                          'exec g++ "$@"\n')
        script.chmod(0o755)
        found = self.conform(DIFFERS, "--jobs", "1", "--timeout", "15",
                             environment={"INGOT_CXX": str(script)})
        self.assertEqual((found["crash"], found["pass"]), (1, 1))
        self.assertIn("still running after 15", found["cases"][0]["message"])

    def test_no_compiler(self):
        self.case("right", "Relu", 1.0, 1.0)
        self.bad(TOOLCHAIN, ["/nonexistent"], "conformance", self.folder / "cases",
                 environment={"INGOT_CXX": "/nonexistent"})


class Others(ProgramTest):
    def test_run(self):
        library = self.compiled()
        done = self.good("run", library, "--random", "1", "--dim", "batch=3", "--json")
        self.assertEqual(done.json["outputs"][0]["shape"], [3, 4])
        self.assertLessEqual({"name", "dtype", "shape", "values"}, set(done.json["outputs"][0]))
        self.assertIn("latency", done.json)
        done = self.good("run", library, "--random", "1", "--output-dir", self.out / "npy")
        self.assertTrue((self.out / "npy" / "y.npy").read_bytes().startswith(b"\x93NUMPY"))
        self.run_dense(self.model())  # a model in place of a library

    def test_inner_values(self):
        """Values of the model behind its outputs; what a library has is fixed."""
        model = self.model()
        x = self.folder / "x.npy"
        row = [0.5, -1.0, 2.0, 0.0, 1.0, 3.0, -2.0, 1.0]
        npy(x, [1, 8], row)
        done = self.good("run", model, "--input", f"x={x}", "--output", "y.product", "--output",
                         "x", "--output", "w", "--output", "y", "--json")
        outputs = {out["name"]: out["values"] for out in done.json["outputs"]}
        self.assertEqual(list(outputs), ["y", "y.product", "x", "w"])
        self.assertEqual(outputs["x"], [row])
        # Small whole numbers and halves: exact in every order of summation.
        self.assertEqual([max(0, value) for value in outputs["y.product"][0]], outputs["y"][0])
        self.assertLess(min(outputs["y.product"][0]), 0)
        self.assertEqual(outputs["y"], onnx.dense_result([row]))
        done = self.good("run", model, "--input", f"x={x}", "--json")
        self.assertEqual([out["name"] for out in done.json["outputs"]], ["y"])
        self.bad(USAGE, ["no value 'y.prduct'", "'y.product'"], "run", model, "--random", "1",
                 "--output", "y.prduct")
        self.bad(USAGE, ["--output y.product", "model.so", "the model"], "run",
                 self.compiled(model), "--random", "1", "--output", "y.product")

    def test_bench(self):
        done = self.good("bench", self.compiled(), "--dim", "batch=3", "--threads", "1",
                         "--duration", "0.05", "--json")
        self.assertLessEqual({"latency", "runs", "threads", "concurrency", "throughput_per_s",
                              "load_ms", "first_run_ms", "peak_rss_bytes", "probe"},
                             set(done.json))
        self.assertLessEqual({"min", "median", "p90", "p99", "mean"}, set(done.json["latency"]))

    def test_bench_side_by_side(self):
        """Runs at a time have lanes of their own in the trace; their steps are added up."""
        library, trace = self.compiled(), self.out / "trace.json"
        for option in ("--concurrency", "--streams"):
            done = self.good("bench", library, "--dim", "batch=3", "--threads", "1", option, "3",
                             "--duration", "0.05", "--warmup", "1", "--profile", "--trace", trace,
                             "--json")
            self.assertEqual(done.json["concurrency"], 3)
            events = json.loads(trace.read_text())["traceEvents"]
            self.assertEqual({event["tid"] for event in events}, {1, 2, 3})
            for event in events:
                self.assertLessEqual({"name", "ph", "ts", "dur", "pid"}, set(event))
                self.assertGreaterEqual(event["ts"], 0)
            for row in done.json["profile"]:
                self.assertLessEqual({"step", "name", "nodes", "ms"}, set(row))
                self.assertGreaterEqual(row["ms"], 0)
            row = done.json["profile"][0]
            self.assertLessEqual({"gflops", "gbs", "roofline_percent"}, set(row))
            # 3 rows of 8 numbers times a matrix of 8 x 4, then relu: 2 * 96 + 12 operations.
            self.assertAlmostEqual(row["gflops"] * row["ms"] * 1e6, 204, delta=1)
        text = self.good("bench", library, "--dim", "batch=2", "--duration", "0.02",
                         "--profile").out
        self.assertRegex(text, r"latency ms: min .*\nthroughput .*\nprobe: ")
        self.assertIn("dense", text)

    def test_bench_refusals(self):
        library = self.compiled()
        for option, value in (("--concurrency", "0"), ("--concurrency", "100000"),
                              ("--streams", "-1"), ("--threads", "-1"), ("--threads", "1000"),
                              ("--warmup", "-1"), ("--duration", "0"), ("--duration", "nan")):
            with self.subTest(option=option, value=value):
                self.bad(USAGE, [option.strip("-")], "bench", library, "--dim", "batch=1", option,
                         value)

    def test_inspect(self):
        keys = {"inputs", "outputs", "dims", "ops", "parameters", "weight_bytes", "unsupported",
                "warnings"}
        model = self.model()
        for path in (model, self.compiled(model)):
            found = self.good("inspect", path, "--json").json
            self.assertLessEqual(keys, set(found))
            self.assertEqual(found["inputs"][0]["shape"], ["batch", 8])
        self.assertEqual(self.good("inspect", model, "--json").json["ops"],
                         {"MatMul": 1, "Relu": 1})
        self.assertIn("matmul", self.good("inspect", model, "--graph").out)
        self.bad(USAGE, ["--graph", "model.so"], "inspect", self.out / "model.so", "--graph")

    def test_inspect_plans(self):
        """Counts before and after, sizes that only runs know, memory for growing dims."""
        def ints(name, *values):
            return onnx.tensor(name, [len(values)], values)
        nodes = [onnx.node("Shape", ["x"], ["shape"]),
                 onnx.node("Gather", ["shape", "zero"], ["n"]),
                 onnx.node("Concat", ["n", "rest"], ["flat"], attributes=[
                     onnx.attribute_int("axis", 0)]),
                 onnx.node("Reshape", ["x", "flat"], ["a"]),
                 onnx.node("Softmax", ["a"], ["b"]),
                 onnx.node("NonZero", ["b"], ["y"], "find")]
        text = onnx.model(nodes, [onnx.value_info("x", ["n", 2, 3])],
                          [onnx.value_info("y", [2, "found"], onnx.INT64)],
                          [ints("zero", 0), ints("rest", 6)])
        model = self.model(text)
        found = self.good("inspect", model, "--json").json
        self.assertEqual(found["nodes"]["read"], 3)
        self.assertEqual(found["shape_nodes"]["left"], 0)
        self.assertEqual([size["nodes"] for size in found["run_time_sizes"]], [["find"]])
        self.assertEqual(sum(each["steps"] for each in found["kernel_list"]) + 1, found["steps"])
        self.assertEqual([sample["dims"]["n"] for sample in found["memory"]], [1, 16, 128, 1024])
        for sample in found["memory"]:
            # What the softmax gives, at least.
            self.assertGreaterEqual(sample["peak"], 24 * sample["dims"]["n"])
            self.assertGreaterEqual(sample["sum"], sample["peak"])
        told = self.good("inspect", model).out
        self.assertIn("known when nonzero 'find' has run", told)
        self.assertIn("memory for n=16", told)
        library = self.compiled(model, "model.so", "--dim", "n=4..20")
        memory = self.good("inspect", library, "--json").json["memory"]
        self.assertEqual([sample["dims"] for sample in memory], [{"n": 4}, {"n": 16}, {"n": 20}])
        self.assertLess(memory[0]["bytes"], memory[2]["bytes"])

    def test_inspect_dims(self):
        model = self.model()
        library = self.compiled(model, "model.so", "--dim", "batch=2..64,8,16")
        found = self.good("inspect", library, "--json").json
        self.assertEqual(found["dims"], [{"name": "batch", "min": 2, "max": 64}])
        self.assertEqual(found["workspace"]["dims"], {"batch": 2})
        self.assertGreaterEqual(found["workspace"]["bytes"], 0)
        self.assertTrue(found["weights_ok"])
        found = self.good("inspect", library, "--json", "--dim", "batch=64").json
        self.assertEqual(found["workspace"]["dims"], {"batch": 64})
        self.bad(USAGE, ["batch", "65"], "inspect", library, "--dim", "batch=65")
        self.bad(USAGE, ["bacth"], "inspect", library, "--dim", "bacth=3")
        found = self.good("inspect", model, "--json", "--dim", "batch=3").json
        self.assertEqual(found["inputs"][0]["shape"], [3, 8])
        found = self.good("inspect", model, "--json", "--input-shape", "x=5,8").json
        self.assertEqual(found["outputs"][0]["shape"], [5, 4])

    def test_inspect_lists_all_that_is_missing(self):
        nodes = [onnx.node("Frobnicate", ["x"], ["a"], "one"),
                 onnx.node("Obfuscate", ["a"], ["b"], "two", domain="com.example"),
                 onnx.node("Relu", ["b"], ["y"], "three")]
        text = onnx.model(nodes, [onnx.value_info("x", [2])], [onnx.value_info("y", [2])])
        text += onnx.opset("com.example", 3)
        missing = self.good("inspect", self.model(text), "--json").json["unsupported"]
        self.assertEqual([(each["node"], each["op"]) for each in missing],
                         [("one", "Frobnicate"), ("two", "Obfuscate")])
        self.assertEqual(missing[1]["opset"], 3)
        for each in missing:
            self.assertLessEqual({"node", "op", "opset", "reason"}, set(each))

    def test_inspect_remarks(self):
        nodes = [onnx.node("Relu", ["x"], ["y"]), onnx.node("Neg", ["x"], ["lost"], "forgotten"),
                 onnx.node("Cast", ["x"], ["wide"], attributes=[onnx.attribute_int("to", 11)]),
                 onnx.node("Cast", ["wide"], ["z"], attributes=[onnx.attribute_int("to", 1)]),
                 onnx.node("MatMul", ["x", "v"], ["p"])]
        text = onnx.model(nodes, [onnx.value_info("x", [2, "rows"]), onnx.value_info("v", ["m", 3]),
                                  onnx.value_info("unused", [1])],
                          [onnx.value_info(name, dims) for name, dims in
                           (("y", [2, "rows"]), ("z", [2, "rows"]), ("p", [2, 3]))],
                          [onnx.tensor("spare", [1], [1.0])])
        told = self.good("inspect", self.model(text), "--json").json["warnings"]
        for part in ("outputs of nodes: 'forgotten'", "inputs: 'unused'", "initializers: 'spare'",
                     "f64, though no input is: 'wide'", "must be equal: rows and m"):
            self.assertIn(part, "\n".join(told))
        self.assertEqual(self.good("inspect", self.model(), "--json").json["warnings"], [])

    def test_inspect_knows_custom_operators(self):
        text = onnx.model([onnx.node("Twice", ["x"], ["y"], domain="com.example")],
                          [onnx.value_info("x", [2])], [onnx.value_info("y", [2])])
        model = self.model(text + onnx.opset("com.example", 1))
        described = self.out / "twice.json"
        described.write_text(json.dumps(
            {"domain": "com.example", "name": "Twice", "expression": "p0 * 2.0"}))
        found = self.good("inspect", model, "--json", "--custom-op", described).json
        self.assertEqual((found["unsupported"], found["kernels"]), ([], 1))
        self.assertEqual(len(self.good("inspect", model, "--json").json["unsupported"]), 1)

    def test_doctor(self):
        default = {"INGOT_CXX": ""}
        self.assertIn("g++", self.good("doctor", environment=default).out)
        found = self.good("doctor", "--json", environment=default).json
        self.assertTrue(found["ok"])
        self.assertLessEqual({"compiler", "processor", "cache", "nvcc", "clang++"},
                             {each["what"] for each in found["findings"]})
        done = self.ingot("doctor", environment={**default, "PATH": str(self.out)})
        self.assertEqual(done.status, TOOLCHAIN)
        self.assertIn("apt install g++", done.out)
        done = self.ingot("doctor", environment={"INGOT_CACHE_DIR": "/proc/none"})
        self.assertNotEqual(done.status, FINE)
        self.assertIn("INGOT_CACHE_DIR", done.out)

    def test_help(self):
        for command in ("compile", "run", "bench", "verify", "conformance", "inspect", "doctor"):
            text = self.good(command, "-h").out
            self.assertRegex(text, rf"Example:\s+ingot {command}")
        self.assertRegex(self.good("-h").out, r"Example:\s+ingot compile")
        for line in ("0  fine", "3  unsupported", "130  cancelled", "INGOT_CACHE_DIR"):
            self.assertIn(line, self.good("-h").out)
        self.assertTrue(re.match(r"ingot \d", self.good("--version").out))

    def test_output_that_cannot_be_written(self):
        model = self.model()
        with open("/dev/full", "w", encoding="utf-8") as full:
            process = subprocess.run([INGOT, "inspect", model], stdout=full, check=False,
                                     stderr=subprocess.PIPE, env=self.environment)
        self.assertEqual(process.returncode, RESOURCES)
        self.assertIn(b"stdout", process.stderr)


if __name__ == "__main__":
    unittest.main()
