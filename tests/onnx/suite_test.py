#!/usr/bin/env python3
"""suite_test.py: ONNX's backend suite as compiled code, against docs/conformance.md, which lists what does not pass.

    suite_test.py INGOT DATA NEXT

DATA is the suite's folder in the onnx package, NEXT a folder with a newer package, whose node cases run where they
are new or others. With UPDATE_GOLDEN=1 it writes the page anew. A case that is listed and passes is a failure, too:
the list only shrinks."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
HEAD = """# ONNX's backend suite

Cases of the onnx package as compiled code, as `ingot conformance` runs them: rtol 1e-3 and atol 1e-7; whole numbers,
types and shapes exact. Nothing is skipped. Operator by operator: [onnx.md](onnx.md). What follows is written and
compared by `tests/onnx/suite_test.py`.

"""
NEXT_HEAD = """
## onnx {version}

What this newer package makes of its {count} node cases that 1.22 lacks or has otherwise.

"""
# Why cases do not pass: the first line whose pattern is found in the name.
REASONS = [(re.compile(pattern), why) for pattern, why in (
    ("bernoulli", "expects what NumPy drew behind the input's numbers, in a stream that no model tells of"),
    ("dft_inverse", "expects 1.9e-7, a rounding of one transform in fp32, where the sum is 0"),
    ("jpeg2k", "no decoder of JPEG 2000"),
    ("webp", "no decoder of WebP"),
    ("gradient_of", "derivatives of a part of a model"),
    ("attention.*bf16", "expects each step rounded to bfloat16, as NumPy does"),
    ("attention.*fp16_expanded", "two elements are two units off in half precision: NumPy rounds other steps"),
)]


def light_models(data, folder):
    """The nine light models as folders of cases, with the inputs that ONNX's own runner makes."""
    for path in sorted((data / "light").glob("*.onnx")):
        case = folder / path.stem / "test_data_set_0"
        case.mkdir(parents=True)
        shutil.copy(path, case.parent / "model.onnx")
        graph = onnx.load(path).graph
        given = {tensor.name for tensor in graph.initializer}
        for k, x in enumerate(x for x in graph.input if x.name not in given):
            dims = [dim.dim_value or 1 for dim in x.type.tensor_type.shape.dim]
            values = (np.arange(np.prod(dims)) / np.prod(dims)).astype(np.float32).reshape(dims)
            tensor = numpy_helper.from_array(values, x.name)
            (case / f"input_{k}.pb").write_bytes(tensor.SerializeToString())
        for k in range(len(graph.output)):
            shutil.copy(path.with_name(f"{path.stem}_output_{k}.pb"), case / f"output_{k}.pb")
    return folder


def run(program, folders):
    """[{name, status, op, message}] of all cases."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "cases.json"
        done = subprocess.run([program, "conformance", *folders, "--jobs", "2", "--json", result],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if not result.exists():
            sys.exit(f"conformance ended with {done.returncode}:\n{done.stdout}")
        return json.loads(result.read_text())["cases"]


def write_next(package, data, folder):
    """Writes the node cases of a newer onnx package; its version and their number."""
    script = pathlib.Path(__file__).with_name("next_cases.py")
    done = subprocess.run([sys.executable, script, data, folder], stdout=subprocess.PIPE, text=True, check=True,
                          env=os.environ | {"PYTHONPATH": package})
    return done.stdout.strip()


def reason(name):
    return next((why for pattern, why in REASONS if pattern.search(name)), None)


def listing(cases):
    count = collections.Counter(case["status"] for case in cases)
    lines = [f"{len(cases)} cases: {count['pass']} pass, {count['fail']} fail, "
             f"{count['unsupported']} unsupported, {count['crash']} crash.",
             "", "| case | status | operator | why |", "|---|---|---|---|"]
    for case in sorted(cases, key=lambda c: (c["status"], c.get("op", ""), c["name"])):
        if case["status"] != "pass":
            name = case["name"].rsplit("/", 1)[-1]
            lines.append(f"| {name} | {case['status']} | {case.get('op', '')} | {reason(name)} |")
    return "\n".join(lines) + "\n"


def main(program, data, package):
    data = pathlib.Path(data)
    if not pathlib.Path(package, "onnx").is_dir():
        sys.exit(f"{package}: no newer onnx package; tools/setup makes it")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        cases = run(program, [data / kind for kind in KINDS] + [light_models(data, folder / "light")])
        version, count = write_next(package, data, folder / "next").split()
        newer = run(program, [folder / "next"])
    written = HEAD + listing(cases) + NEXT_HEAD.format(version=version, count=count) + listing(newer)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(written)
    known = PAGE.read_text() if PAGE.exists() else ""
    bad = [case for case in cases + newer if case["status"] != "pass" and reason(case["name"]) is None]
    if written == known and not bad:
        print(f"{len(cases) + len(newer)} cases end as docs/conformance.md says")
        return 0
    for line in sorted(set(written.splitlines()) ^ set(known.splitlines())):
        print(("now:  " if line in written else "page: ") + line)
    for case in bad:
        print(f"{case['name']} does not pass and has no reason: {case['message'][:2000]}")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
