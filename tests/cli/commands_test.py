#!/usr/bin/env python3
"""commands_test.py: verify, conformance, run, bench, inspect, doctor: results, keys, statuses."""

import json
import re
import unittest

import onnx_bytes as onnx
from program import (DIFFERS, DIGITS, FINE, MALFORMED, TOOLCHAIN, UNSUPPORTED, USAGE, ProgramTest)


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
        self.assertRegex(found["cases"][0]["message"], "Segmentation fault|ended with status")

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

    def test_bench(self):
        done = self.good("bench", self.compiled(), "--dim", "batch=3", "--threads", "1",
                         "--duration", "0.05", "--json")
        self.assertLessEqual({"latency", "runs", "threads", "concurrency", "throughput_per_s",
                              "load_ms", "first_run_ms", "peak_rss_bytes", "probe"},
                             set(done.json))
        self.assertLessEqual({"min", "median", "p90", "p99", "mean"}, set(done.json["latency"]))

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

    def test_doctor(self):
        self.assertIn("g++", self.good("doctor").out)

    def test_help(self):
        for command in ("compile", "run", "bench", "verify", "conformance", "inspect", "doctor"):
            text = self.good(command, "-h").out
            self.assertRegex(text, rf"Example:\s+ingot {command}")
        self.assertTrue(re.match(r"ingot \d", self.good("--version").out))


if __name__ == "__main__":
    unittest.main()
