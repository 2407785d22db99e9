"""threads_test.py: a compiled model, all of it built with ThreadSanitizer, runs on many threads while its constants
are replaced. The compiler writes it as sources; CXX builds these, and run_threads.cc."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SANITIZE = "-fsanitize=thread -fno-omit-frame-pointer -g1 -Werror"


class ThreadsTest(unittest.TestCase):
    def run_command(self, *command, status=0):
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.environment)
        self.assertEqual(done.returncode, status, f"{command}:\n{done.stdout}")
        return done.stdout

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ingot_threads_test_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "INGOT_CACHE_DIR": str(self.folder / "cache"),
                            "TSAN_OPTIONS": "exitcode=66 halt_on_error=1"}

    def program(self, *flags):
        path = self.folder / "run_threads"
        self.run_command(os.environ["CXX"], "-std=c++20", "-O1", *SANITIZE.split(), *flags,
                         f"-I{ROOT / 'include'}", ROOT / "tests" / "threads" / "run_threads.cc",
                         "-o", path, "-ldl", "-lpthread")
        return path

    def test_constants_are_replaced_while_it_runs(self):
        project, build = self.folder / "project", self.folder / "build"
        self.run_command(os.environ["INGOT"], "compile", ROOT / "examples/digits/digits.onnx", "-o",
                         project, "--emit", "source", "--updatable")
        self.run_command(os.environ["CMAKE"], "-S", project, "-B", build,
                         f"-DCMAKE_CXX_FLAGS={SANITIZE} -DINGOT_SANITIZED=1")
        self.run_command(os.environ["CMAKE"], "--build", build, "-j", "2")
        out = self.run_command(self.program(), build / "model.so")
        self.assertIn("all runs saw one set of constants", out)

    def test_a_race_would_be_seen(self):
        """Otherwise the test above would prove nothing."""
        self.assertIn("data race", self.run_command(self.program("-DPLANT_A_RACE"), status=66))


if __name__ == "__main__":
    unittest.main()
