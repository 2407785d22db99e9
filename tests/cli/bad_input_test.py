#!/usr/bin/env python3
"""bad_input_test.py: damaged models, full disks, missing compilers, wrong inputs, interrupts.

Each has its exit status and a message that names place, expected and given; no file is left."""

import os
import pathlib
import random
import resource
import shutil
import signal
import stat
import struct
import subprocess
import unittest

import onnx_bytes as onnx
from program import (DIGITS, FINE, FIXTURES, INTERRUPTED, MALFORMED, RESOURCES, TOOLCHAIN, UNSUPPORTED, USAGE,
                     WRONG_TARGET, ProgramTest, npy)

PLAIN_IN = [onnx.value_info("x", ["batch", 8])]
PLAIN_OUT = [onnx.value_info("y", ["batch", 8])]
# Statuses that a damaged model may end with. It may also happen to be right.
REFUSALS = (FINE, USAGE, UNSUPPORTED, MALFORMED)


def relu(inputs, outputs, name="n"):
    return onnx.node("Relu", inputs, outputs, name)


class Models(ProgramTest):
    def refuse(self, status, parts, text):
        path = self.model(text)
        parts = [parts] if isinstance(parts, str) else parts
        self.bad(status, [path.name, *parts], "compile", path, "-o", self.out / "model.so")

    def test_missing_file(self):
        self.bad(MALFORMED, ["nothing.onnx", "No such file"], "compile", "nothing.onnx", "-o",
                 self.out / "model.so")

    def test_folder(self):
        self.bad(MALFORMED, ["expected a file, got a folder"], "compile", self.folder, "-o",
                 self.out / "model.so")

    def test_empty_and_foreign(self):
        self.refuse(MALFORMED, [], b"")
        self.refuse(MALFORMED, [], b"hello, this is text\n")
        self.refuse(MALFORMED, [], b"\x89PNG\r\n\x1a\n" + bytes(40))

    def test_truncated(self):
        whole = onnx.dense()
        for length in range(0, len(whole), 23):
            path = self.model(whole[:length])
            self.bad_of((UNSUPPORTED, MALFORMED), path)

    def test_truncated_digits(self):
        whole = DIGITS.read_bytes()
        for part in range(1, 8):
            self.bad_of((UNSUPPORTED, MALFORMED), self.model(whole[: len(whole) * part // 8]))

    def bad_of(self, statuses, path):
        done = self.ingot("compile", path, "-o", self.out / "model.so")
        self.assertIn(done.status, statuses, done.err)
        self.assertIn(path.name, done.err)
        self.assertEqual(self.files(), [])

    def test_flipped_bits(self):
        whole = onnx.dense()
        rng = random.Random(2026)
        for _ in range(150):
            damaged = bytearray(whole)
            for _ in range(rng.randint(1, 3)):
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            done = self.ingot("inspect", self.model(bytes(damaged)))
            self.assertIn(done.status, REFUSALS, (bytes(damaged), done.err))
            if done.status != FINE:
                self.assertIn("model.onnx", done.err)

    def test_compile_of_flipped_bits(self):
        whole = onnx.dense()
        rng = random.Random(7)
        for _ in range(15):
            damaged = bytearray(whole)
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            done = self.ingot("compile", self.model(bytes(damaged)), "-o", self.out / "model.so")
            self.assertIn(done.status, REFUSALS, (bytes(damaged), done.err))
            if done.status == FINE:
                (self.out / "model.so").unlink()
            self.assertEqual(self.files(), [])

    def test_cycle(self):
        nodes = [onnx.node("Add", ["x", "b"], ["a"], "first"), relu(["a"], ["b"], "second")]
        self.refuse(MALFORMED, ["cycle", "'first'", "'second'"],
                    onnx.model(nodes, PLAIN_IN, [onnx.value_info("b", ["n", 8])]))

    def test_wrong_types(self):
        nodes = [onnx.node("Add", ["x", "k"], ["y"], "sum")]
        constants = [onnx.tensor("k", [1], [3])]
        self.refuse(MALFORMED, ["sum", "f32", "i64"],
                    onnx.model(nodes, PLAIN_IN, PLAIN_OUT, constants))

    def test_name_used_twice(self):
        nodes = [relu(["x"], ["y"], "one"), relu(["x"], ["y"], "two")]
        self.refuse(MALFORMED, "'y'", onnx.model(nodes, PLAIN_IN, PLAIN_OUT))

    def test_undefined_name(self):
        self.refuse(MALFORMED, "'missing'",
                    onnx.model([relu(["missing"], ["y"])], PLAIN_IN, PLAIN_OUT))

    def test_contradicting_dims(self):
        nodes = [onnx.node("MatMul", ["x", "w"], ["y"], "product")]
        constants = [onnx.tensor("w", [3, 2], [1.0] * 6)]
        self.refuse(MALFORMED, ["product", "8", "3"],
                    onnx.model(nodes, PLAIN_IN, PLAIN_OUT, constants))

    def test_negative_dims(self):
        """Exporters write -1 for a dim that they do not know: it gets a name."""
        path = self.model(onnx.model([relu(["x"], ["y"])], [onnx.value_info("x", [-1])],
                                     [onnx.value_info("y", [-1])]))
        self.assertEqual(self.good("inspect", path, "--json").json["inputs"][0]["shape"], ["x.0"])
        # The name is what --dim takes, for a model and for its library.
        for command in (["run", path], ["verify", path], ["run", self.compiled(path)]):
            self.good(*command, "--random", "1", "--dim", "x.0=3")

    def test_huge_constant_without_data(self):
        tensor = (onnx.fields(1, [10**6, 10**6]) + onnx.field(2, onnx.FLOAT)
                  + onnx.field(8, "w") + onnx.field(9, b"1234"))
        nodes = [onnx.node("Add", ["x", "w"], ["y"], "sum")]
        self.refuse(MALFORMED, ["'w'", "4"], onnx.model(nodes, PLAIN_IN, PLAIN_OUT, [tensor]))

    def test_huge_shape(self):
        """10^12 elements at run time: refused for the want of memory, not tried."""
        dims = [10**6, 10**6]
        path = self.model(onnx.model([relu(["x"], ["y"])], [onnx.value_info("x", dims)],
                                     [onnx.value_info("y", dims)]))
        done = self.ingot("compile", path, "-o", self.out / "model.so")
        if done.status == FINE:
            self.bad(RESOURCES, "'x'", "run", self.out / "model.so", "--random", "1")
        else:
            self.assertIn(done.status, (UNSUPPORTED, RESOURCES), done.err)

    def test_external_data(self):
        (self.folder / "outside.bin").write_bytes(bytes(400))
        inside = self.folder / "inside"
        inside.mkdir()
        (inside / "short.bin").write_bytes(bytes(8))
        (inside / "link.bin").symlink_to(self.folder / "outside.bin")
        for location, offset, length in (
                ("missing.bin", None, None), ("../outside.bin", None, None),
                (str(self.folder / "outside.bin"), None, None), ("link.bin", None, None),
                ("short.bin", None, None), ("short.bin", 4, 32), ("short.bin", -4, 32),
                ("short.bin", 1 << 63, 32), (".", None, None), ("", None, None)):
            tensor = onnx.external_tensor("w", [8], location, offset, length)
            path = inside / "model.onnx"
            path.write_bytes(onnx.model([onnx.node("Add", ["x", "w"], ["y"], "sum")], PLAIN_IN,
                                        PLAIN_OUT, [tensor]))
            with self.subTest(location=location, offset=offset):
                self.bad(MALFORMED, [path.name, "'w'"], "compile", path, "-o",
                         self.out / "model.so")

    def test_every_unsupported_node_is_named(self):
        nodes = [onnx.node("Frobnicate", ["x"], ["a"], "one"),
                 onnx.node("Obfuscate", ["a"], ["y"], "two")]
        self.refuse(UNSUPPORTED, ["Frobnicate", "Obfuscate", "one", "two"],
                    onnx.model(nodes, PLAIN_IN, PLAIN_OUT))


class Outputs(ProgramTest):
    def test_output_is_the_model(self):
        path = self.model(onnx.dense())
        before = path.read_bytes()
        for more in ([path], [self.out / "model.so", "--report", path]):
            self.bad(USAGE, [path.name, "file of the model"], "compile", path, "-o", *more)
            self.assertEqual(path.read_bytes(), before)

    def test_results_do_not_replace_models(self):
        """A report is written in place of another report, not of what else may lie there."""
        path = self.model(onnx.dense())
        library = self.compiled(path)
        kept = {file: file.read_bytes() for file in (path, library)}
        for file in kept:
            parts = [file.name, "something else than JSON"]
            self.bad(USAGE, parts, "run", library, "--random", "1", "--profile", file)
            self.bad(USAGE, parts, "bench", library, "--dim", "batch=1", "--trace", file)
            self.bad(USAGE, parts, "conformance", self.folder, "--json", file)
        self.bad(USAGE, ["something else than JSON"], "compile", path, "-o", self.out / "other.so",
                 "--report", library)
        self.assertEqual({file: file.read_bytes() for file in kept}, kept)
        self.bad(USAGE, ["--report", "another name"], "compile", path, "-o", self.out / "new.so",
                 "--report", self.out / "." / "new.so")
        report = self.folder / "profile.json"
        for _ in range(2):
            self.good("run", library, "--random", "1", "--profile", report)

    def test_outputs_do_not_replace_inputs(self):
        library = self.compiled()
        data = self.folder / "y.npy"
        npy(data, [1, 8], [1.0] * 8)
        before = data.read_bytes()
        self.bad(USAGE, ["y.npy", "file of an input"], "run", library, "--input", f"x={data}",
                 "--output-dir", self.folder)
        self.assertEqual(data.read_bytes(), before)

    def test_unwritable(self):
        path = self.model()
        for output in (self.folder / "no/such/folder/model.so", pathlib.Path("/proc/model.so"),
                       self.out):
            with self.subTest(output=output):
                self.bad(MALFORMED, [str(output), "cannot"], "compile", path, "-o", output)

    def test_unwritable_report(self):
        """Told before the work, so that nothing is made."""
        self.bad(MALFORMED, ["report.json", "cannot write"], "compile", self.model(), "-o",
                 self.out / "model.so", "--report", self.folder / "no/such/folder/report.json")

    def test_device(self):
        """A device keeps its place: nothing is renamed over it."""
        os.mkfifo(self.out / "pipe")
        self.bad(MALFORMED, ["pipe", "expected a new name or a regular file"], "compile",
                 self.model(), "-o", self.out / "pipe")
        self.assertTrue(stat.S_ISFIFO((self.out / "pipe").stat().st_mode))

    def test_source_folder_in_use(self):
        (self.out / "project").mkdir()
        (self.out / "project" / "mine.txt").write_text("keep")
        self.bad(MALFORMED, ["project", "expected a new or empty folder"], "compile", self.model(),
                 "-o", self.out / "project", "--emit", "source")

    def test_folder_for_temporary_files(self):
        """It may be named from here, and may be missing."""
        path = self.model()
        (self.folder / "here").mkdir()
        self.good("compile", path, "-o", self.out / "model.so", cwd=self.folder,
                  environment={"TMPDIR": "here"})
        self.assertEqual(list((self.folder / "here").iterdir()), [])
        (self.out / "model.so").unlink()
        self.bad(MALFORMED, ["TMPDIR"], "compile", path, "-o", self.out / "model.so",
                 environment={"TMPDIR": str(self.folder / "missing")})

    def test_limit_of_file_sizes(self):
        for limit in (0, 3000, 20000, 60000):
            with self.subTest(limit=limit):
                self.bad(RESOURCES, [], "compile", self.model(), "-o", self.out / "model.so",
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                               (limit, limit)))

    def test_full_disk(self):
        """On a small file system where one can be mounted; else the limit above stands for it."""
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "none", str(disk)],
                                 capture_output=True, check=False).returncode == 0
        if not mounted:
            return
        try:
            self.bad(RESOURCES, ["full"], "compile", self.model(), "-o", disk / "model.so")
            self.assertEqual(list(disk.iterdir()), [])
            self.bad(RESOURCES, [], "compile", self.model(), "-o", self.out / "model.so",
                     environment={"TMPDIR": str(disk)})
            self.assertEqual(list(disk.iterdir()), [])
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_full_disk_at_run_time(self):
        library = self.compiled()
        self.bad(RESOURCES, ["y.npy"], "run", library, "--random", "1", "--dim", "batch=2000",
                 "--output-dir", self.out,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)))


class Compilers(ProgramTest):
    def script(self, text):
        path = self.folder / "compiler"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def refuse(self, parts, compiler, **options):
        return self.bad(TOOLCHAIN, parts, "compile", self.model(), "-o", self.out / "model.so",
                        environment={"INGOT_CXX": str(compiler)}, **options)

    def test_missing(self):
        self.refuse(["/nonexistent/g++", "No such file"], "/nonexistent/g++")

    def test_none_at_all(self):
        self.bad(TOOLCHAIN, ["g++", "clang++", "apt install", "INGOT_CXX"], "compile", self.model(),
                 "-o", self.out / "model.so", environment={"PATH": str(self.out), "INGOT_CXX": ""})

    def test_something_else(self):
        self.refuse(["expected g++ or clang++", "hello"], self.script("echo hello\n"))
        self.refuse(["ended with 1", "boom"], self.script("echo boom; exit 1\n"))

    def test_too_old(self):
        self.refuse(["12 or newer", "4.8.5"],
                    self.script("echo 'g++ (Debian) 4.8.5'; echo Free Software Foundation\n"))

    def test_failing(self):
        script = self.script('case "$*" in *--version*) exec g++ --version;; esac\n'
                             "echo 'model.cc:1: error: out of luck' >&2; exit 3\n")
        self.refuse(["out of luck", "ended with 3"], script)

    def test_killed(self):
        script = self.script('case "$*" in *--version*) exec g++ --version;; esac\nkill -9 $$\n')
        self.refuse(["137"], script)

    def test_pretends_to_have_worked(self):
        script = self.script('case "$*" in *--version*) exec g++ --version;; esac\nexit 0\n')
        self.refuse(["wrote nothing"], script)

    def test_pretends_to_have_linked(self):
        script = self.script('case "$*" in *-shared*) exit 0;; esac\nexec g++ "$@"\n')
        self.refuse(["linking", "wrote nothing"], script)

    def interrupt(self, number):
        """A compiler may not live to remove its temporary files."""
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        script = self.script('case "$*" in *--version*) exec g++ --version;; esac\n'
                             "echo left > $TMPDIR/left.s\n"
                             f"echo $$ > {fifo}\nexec sleep 1000\n")
        process = self.start("compile", self.model(), "-o", self.out / "model.so", "--threads", "1",
                             environment={"INGOT_CXX": str(script)})
        compiler = int(fifo.read_text())  # waits until the compiler has been started
        process.send_signal(number)
        _, err = process.communicate()
        self.assertEqual(process.returncode, INTERRUPTED, err)
        self.assertIn(b"interrupted", err)
        self.assertEqual(self.files(), [])
        with self.assertRaises(ProcessLookupError):
            os.kill(compiler, 0)

    def test_interrupt(self):
        self.interrupt(signal.SIGINT)

    def test_terminate(self):
        self.interrupt(signal.SIGTERM)

    def test_hang_up(self):
        self.interrupt(signal.SIGHUP)


class Caches(ProgramTest):
    def damage(self, kind, how):
        files = [path for path in (self.folder / "cache" / kind).iterdir() if path.is_file()]
        self.assertTrue(files)
        for path in files:
            path.write_bytes(how(path.read_bytes()))

    DAMAGES = {
        "emptied": lambda text: b"",
        "cut off": lambda text: text[: len(text) // 2],
        "flipped": lambda text: text[:-20] + bytes([text[-20] ^ 16]) + text[-19:],
        "foreign": lambda text: b"INGOTOBJ9\n" + text[10:],
    }

    def test_objects(self):
        path = self.model()
        for name, how in self.DAMAGES.items():
            with self.subTest(name):
                self.compiled(path)
                self.damage("objects", how)
                self.run_dense(self.compiled(path))

    def test_models(self):
        path = self.model()
        for name, how in self.DAMAGES.items():
            with self.subTest(name):
                self.run_dense(path)
                self.damage("models", how)
                self.run_dense(path)

    def test_cached_model_follows_its_file(self):
        """Another model under the same name is another model; external data counts."""
        path = self.folder / "model.onnx"
        data = self.folder / "w.bin"
        tensor = onnx.external_tensor("w", [1], "w.bin")
        path.write_bytes(onnx.model([onnx.node("Add", ["x", "w"], ["y"], "sum")],
                                    [onnx.value_info("x", [1])], [onnx.value_info("y", [1])],
                                    [tensor]))
        npy(self.folder / "x.npy", [1], [0.0])
        for text, value in ((b"\0\0\x80\x3f", 1.0), (b"\0\0\0\x40", 2.0)):
            data.write_bytes(text)
            os.utime(data, ns=(0, int(value) * 10**9))
            done = self.good("run", path, "--input", f"x={self.folder / 'x.npy'}", "--json")
            self.assertEqual(done.json["outputs"][0]["values"], [value])

    def test_unwritable_cache(self):
        library = self.out / "model.so"
        self.good("compile", self.model(), "-o", library,
                  environment={"INGOT_CACHE_DIR": "/proc/none"})
        self.run_dense(library)
        self.bad(MALFORMED, ["/proc/none"], "run", self.model(), "--random", "1",
                 environment={"INGOT_CACHE_DIR": "/proc/none"})

    def test_shared_by_processes(self):
        path = self.model()
        runs = [self.start("run", path, "--random", "1", "--dim", "batch=3", "--json")
                for _ in range(4)]
        outputs = []
        for process in runs:
            out, err = process.communicate()
            self.assertEqual(process.returncode, FINE, err)
            outputs.append(out.split(b'"latency"')[0])
        self.assertEqual(len(set(outputs)), 1)
        self.assertEqual([p for p in (self.folder / "cache").rglob("*.tmp-*")], [])


class Artefacts(ProgramTest):
    def patched(self, position, new):
        text = bytearray(self.compiled().read_bytes())
        text[position:position + len(new)] = new
        path = self.folder / "patched.so"
        path.write_bytes(text)
        return path

    def test_another_machine(self):
        aarch64 = self.patched(18, (183).to_bytes(2, "little"))
        for command in (["run", aarch64, "--random", "1"], ["bench", aarch64, "--dim", "batch=1"],
                        ["inspect", aarch64]):
            self.bad(WRONG_TARGET, [str(aarch64), "aarch64"], *command)

    def test_another_level(self):
        """Code for a processor that no machine has can be looked at but not run."""
        library = FIXTURES / "layer_v9.so"
        for command in (["run", library, "--random", "1"], ["bench", library, "--dim", "batch=1"],
                        ["verify", self.model(), "--so", library, "--random", "1"]):
            self.bad(WRONG_TARGET, ["needs x86-64-v9", "this machine has x86-64"], *command)
        found = self.good("inspect", library, "--json").json
        self.assertEqual(found["inputs"][0]["name"], "x")
        self.assertEqual(found["levels"], ["x86-64-v9"])
        self.assertIsNone(found["weights_ok"])

    def test_another_word_size(self):
        path = self.patched(4, b"\x01")
        self.bad(WRONG_TARGET, [str(path), "32 bits"], "run", path, "--random", "1")

    def test_truncated(self):
        whole = self.compiled().read_bytes()
        path = self.folder / "cut.so"
        for part in range(1, 40, 3):
            path.write_bytes(whole[: max(4, len(whole) * part // 40)])
            self.bad(MALFORMED, [str(path)], "run", path, "--random", "1")

    def test_other_library(self):
        """A shared library that is no model."""
        source = self.folder / "other.cc"
        source.write_text("extern \"C\" int other() { return 1; }\n")
        path = self.folder / "other.so"
        subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
        self.bad(MALFORMED, [str(path)], "run", path, "--random", "1")

    def test_side_weights(self):
        library = self.compiled(None, "model.so", "--weights", "separate")
        side = self.out / "model.so.weights"
        whole = side.read_bytes()
        self.run_dense(library)
        side.write_bytes(whole[:-100])
        self.bad(MALFORMED, ["model.so.weights"], "run", library, "--random", "1")
        side.write_bytes(b"INGOTWTS\x09" + whole[9:])
        self.bad(MALFORMED, ["model.so.weights"], "run", library, "--random", "1")
        side.write_bytes(whole[:4200] + bytes([whole[4200] ^ 1]) + whole[4201:])
        self.bad(MALFORMED, ["model.so.weights"], "run", library, "--random", "1",
                 "--verify-weights")
        self.bad(MALFORMED, ["model.so.weights"], "inspect", library)
        side.unlink()
        self.bad(MALFORMED, ["model.so.weights"], "run", library, "--random", "1")

    def test_embedded_weights(self):
        library = self.compiled(None, "model.so", "--weights", "embedded")
        whole = library.read_bytes()
        at = whole.find(struct.pack("<4f", -3, 0, 3, -1))  # the first row of dense()'s weights
        self.assertGreater(at, 0)
        library.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        self.good("run", library, "--random", "1")  # not looked for unless asked
        for command in (["run", library, "--random", "1", "--verify-weights"], ["inspect", library]):
            self.bad(MALFORMED, [str(library), "checksum"], *command)

    def test_moved_away_from_weights(self):
        """What lies beside an artefact is looked for where it is now, and named when it is not."""
        moved = self.folder / "moved"
        moved.mkdir()
        path = self.model()
        for mode, side in (("separate", "model.so.weights"), ("stripped", path.name)):
            with self.subTest(mode):
                self.compiled(path, "model.so", "--weights", mode).replace(moved / "model.so")
                for command in ("run", "bench"):
                    self.bad(MALFORMED, [str(moved / side)], command, moved / "model.so",
                             "--random", "1")
                # What the model is can be told without them.
                found = self.good("inspect", moved / "model.so", "--json").json
                self.assertEqual(found["inputs"][0]["name"], "x")
                self.assertIsNone(found["weights_ok"])
                self.assertIn(str(moved / side), found["warnings"][0])
                shutil.copy(self.out / side if mode == "separate" else path, moved)
                self.run_dense(moved / "model.so")

    def test_side_weights_of_another_model(self):
        library = self.compiled(None, "model.so", "--weights", "separate")
        other = self.model(onnx.dense(columns=4).replace(b"\0\0\x40\x40", b"\0\0\x80\x40"),
                           "other.onnx")
        self.compiled(other, "other.so", "--weights", "separate")
        (self.out / "other.so.weights").replace(self.out / "model.so.weights")
        self.bad(MALFORMED, ["model.so.weights"], "run", library, "--random", "1")


class RunTime(ProgramTest):
    def setUp(self):
        super().setUp()
        self.library = self.compiled(None, "model.so", "--dim", "batch=0..4")
        self.x = self.folder / "x.npy"

    def refuse(self, parts, *arguments, status=USAGE):
        self.bad(status, parts, "run", self.library, *arguments)

    def test_name(self):
        npy(self.x, [1, 8], [0.0] * 8)
        self.refuse(["z=", "'x'"], "--input", f"z={self.x}")

    def test_missing_input(self):
        self.refuse(["'x'", "f32[batch, 8]"])

    def test_given_twice(self):
        npy(self.x, [1, 8], [0.0] * 8)
        self.refuse(["one file for 'x'", "two"], "--input", f"x={self.x}", "--input", f"x={self.x}")

    def test_dim_beside_a_file(self):
        npy(self.x, [2, 8], [0.0] * 16)
        self.refuse(["--dim batch=3", "expected 2", "'x'"], "--input", f"x={self.x}", "--dim", "batch=3")

    def test_dtype(self):
        npy(self.x, [1, 8], [0] * 8, "q")
        self.refuse(["'x'", "expected f32[batch, 8]", "got i64[1, 8]"], "--input", f"x={self.x}")

    def test_rank_and_dims(self):
        for shape in ([8], [1, 7], [1, 8, 1], []):
            count = 1
            for dim in shape:
                count *= dim
            npy(self.x, shape, [0.0] * count)
            self.refuse(["'x'", "expected f32[batch, 8]", "got f32["], "--input", f"x={self.x}")

    def test_range(self):
        npy(self.x, [5, 8], [0.0] * 40)
        self.refuse(["batch", "5", "4"], "--input", f"x={self.x}")
        self.refuse(["batch", "5", "4"], "--random", "1", "--dim", "batch=5")

    def test_shapes(self):
        done = self.good("run", self.library, "--input-shape", "x=3,8", "--json")
        self.assertEqual(done.json["outputs"][0]["shape"], [3, 4])
        self.refuse(["--input-shape z", "no input"], "--input-shape", "z=3,8")
        for shape in ("3,7", "3,8,1", "3"):
            self.refuse(["--input-shape x", "f32[batch, 8]"], "--input-shape", f"x={shape}")
        self.refuse(["batch", "5", "4"], "--input-shape", "x=5,8")

    def test_dims(self):
        self.refuse(["bacth", "they have batch"], "--dim", "bacth=2")
        self.refuse(["--dim", "batch=-1"], "--dim", "batch=-1")
        self.refuse(["--dim", "'batch'"], "--dim", "batch")

    def test_damaged_files(self):
        npy(self.x, [1, 8], [0.0] * 8)
        whole = self.x.read_bytes()
        self.x.write_bytes(whole[:-4])
        self.refuse([str(self.x)], "--input", f"x={self.x}", status=MALFORMED)
        self.x.write_bytes(whole[:20])
        self.refuse([str(self.x)], "--input", f"x={self.x}", status=MALFORMED)
        self.refuse(["missing.npy"], "--input", "x=missing.npy", status=MALFORMED)
        self.refuse([str(self.folder)], "--input", f"x={self.folder}")

    def shaped(self, nodes, size, outputs=("y",)):
        """A library of x f32[3, 4] and numbers s i64[size] that say sizes."""
        path = self.model(onnx.model(nodes, [onnx.value_info("x", [3, 4]),
                                             onnx.value_info("s", [size], onnx.INT64)],
                                     [onnx.field(1, name) for name in outputs], opset=18))
        npy(self.x, [3, 4], [float(k) for k in range(12)])
        return self.compiled(path, "shaped.so")

    def test_sizes_that_do_not_fit(self):
        """Sizes that only a run knows are checked when they are known, before what they are sizes of."""
        split = [onnx.node("Split", ["x", "s"], ["y", "z"], "split")]
        pad = [onnx.node("Pad", ["x", "s"], ["y"], "pad")]
        sums = [onnx.node("NonZero", ["x"], ["p"]), onnx.node("NonZero", ["s"], ["q"]),
                onnx.node("Add", ["p", "q"], ["y"], "sum")]
        reshape = [onnx.node("Reshape", ["x", "s"], ["r"], "reshape"), relu(["r"], ["y"])]
        for nodes, outputs, right, wrong, part in (
                (split, "yz", [1, 2], ([2, 2], [-1, 4], [1, 1], [4, -1]), "the sizes sum up to"),
                (pad, "y", [-1, 0, 0, 0], ([-2, 0, -2, 0], [-100] * 4), "expected at least 0"),
                (reshape, "y", [2, -1], ([5, 5], [1000, 2000], [-1, -1], [-2, -6], [2, 2], [-1, 5]),
                 "element counts"),
                (sums, "y", [1] * 11, ([1] * 10 + [0], [0] * 11), "broadcast dims are equal")):
            library = self.shaped(nodes, len(right), tuple(outputs))
            numbers = self.folder / "s.npy"
            given = ["--input", f"x={self.x}", "--input", f"s={numbers}"]
            npy(numbers, [len(right)], right, "q")
            self.good("run", library, *given)
            for values in wrong:
                with self.subTest(part, values=values):
                    npy(numbers, [len(values)], values, "q")
                    self.bad(USAGE, [part], "run", library, *given)

    def test_expanded_to_sizes_of_a_run(self):
        """A size of 1 leaves the input's."""
        library = self.shaped([onnx.node("Expand", ["x", "s"], ["y"])], 3)
        numbers = self.folder / "s.npy"
        for shape in ([2, 3, 4], [2, 1, 4], [2, 1, 1]):
            npy(numbers, [3], shape, "q")
            done = self.good("run", library, "--input", f"x={self.x}", "--input", f"s={numbers}",
                             "--json")
            self.assertEqual(done.json["outputs"][0]["shape"], [2, 3, 4])

    def test_nothing_to_do(self):
        """A batch of nothing gives nothing."""
        npy(self.x, [0, 8], [])
        done = self.good("run", self.library, "--input", f"x={self.x}", "--json")
        self.assertEqual(done.json["outputs"][0]["shape"], [0, 4])
        self.assertEqual(done.json["outputs"][0]["values"], [])
        done = self.good("run", self.library, "--dim", "batch=0", "--output-dir", self.out)
        self.assertIn(b"(0, 4)", (self.out / "y.npy").read_bytes())

    def test_options(self):
        self.bad(USAGE, ["--nonsense"], "run", self.library, "--nonsense")
        self.bad(USAGE, ["compile, run", "'frobnicate'"], "frobnicate")
        self.bad(USAGE, ["subcommand"])
        self.bad(USAGE, ["-o"], "compile", self.model())
        for option, text in (("--dim", "batch=4..2"), ("--dim", "batch="), ("--dim", "=3"),
                             ("--dim", "batch=99999999999"), ("--dim", "batch=1..4,x"),
                             ("--dim", "batch=1..4,5"), ("--dim", "batch=3,4"),
                             ("--dim", "batch=1..4,"),
                             ("--input-shape", "x=1,two"), ("--weights", "light"),
                             ("--emit", "gold"), ("--target", "abacus"), ("--cpu", "z80"),
                             ("--threads", "-1"), ("--tune", "maybe"),
                             ("--dump-after", "fuse")):
            with self.subTest(option=option, text=text):
                self.bad(USAGE, [option if option != "--target" else "abacus"], "compile",
                         self.model(), "-o", self.out / "other.so", option, text)
        self.bad(USAGE, ["--dump-after", "canonicalize", "'nonsense'"], "compile", self.model(),
                 "-o", self.out / "other.so", "--dump-after", "nonsense", "--dump-dir", self.out)
        # Every name that the messages list is one that the options take.
        for option, name in (("--disable-pass", "fuse_pointwise"), ("--dump-after", "fuse")):
            done = self.bad(USAGE, [option, name, "'nonsense'"], "compile", self.model(), "-o",
                            self.out / "other.so", option, "nonsense", "--dump-dir", self.out)
            listed = done.err.split("rules " if "rules" in done.err else "passes ")[1]
            for name in listed.split(", got")[0].split(", "):
                self.bad(USAGE, ["'nonsense'"], "compile", self.model(), "-o",
                         self.out / "other.so", option, name, option, "nonsense", "--dump-dir",
                         self.out)
        self.bad(USAGE, ["--disable-pass", "'fuse_reduction'"], "verify", self.model(), "--random",
                 "1", "--disable-pass", "fuse_reduction")
        self.bad(USAGE, ["--dim batch=3", "twice"], "compile", self.model(), "-o",
                 self.out / "other.so", "--dim", "batch=1..4", "--dim", "batch=3")
        self.bad(USAGE, ["--dim batch=3", "twice"], "run", self.library, "--dim", "batch=2", "--dim",
                 "batch=3")
        for option, text, parts in (("--dim", "nothing=3", ["'nothing'", "batch"]),
                                    ("--input-shape", "x=1,8,1", ["'x'", "2 dims", "3"]),
                                    ("--input-shape", "nothing=1", ["'nothing'"])):
            with self.subTest(option=option, text=text):
                self.bad(USAGE, parts, "compile", self.model(), "-o", self.out / "other.so", option,
                         text)


if __name__ == "__main__":
    unittest.main()
