#!/usr/bin/env python3
"""suite_test.py: ONNX's backend suite as compiled code, against docs/conformance.md, which lists what does not pass.

    suite_test.py INGOT DATA

With UPDATE_GOLDEN=1 it writes the page anew. A case that is listed and passes is a failure, too: the list only
shrinks."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
HEAD = """# ONNX's backend suite

The cases of onnx 1.22 as compiled code, as `ingot conformance` runs them: rtol 1e-3 and atol 1e-7; whole numbers,
types and shapes exact. Nothing is skipped. Bernoulli and dropout in training fail because NumPy drew other numbers,
which the standard leaves open; `src/frontend/random_test.cc` tests distributions. The DFT cases expect 1e-7 of noise
where there is 0. What follows is written and compared by `tests/onnx/suite_test.py`.

"""


def run(program, data):
    """[{name, status, op, message}] of all cases."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "cases.json"
        folders = [data / kind for kind in KINDS]
        done = subprocess.run([program, "conformance", *folders, "--jobs", "2", "--json", result],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if not result.exists():
            sys.exit(f"conformance ended with {done.returncode}:\n{done.stdout}")
        return json.loads(result.read_text())["cases"]


def page(cases):
    count = collections.Counter(case["status"] for case in cases)
    lines = [f"{len(cases)} cases: {count['pass']} pass, {count['fail']} fail, "
             f"{count['unsupported']} unsupported, {count['crash']} crash.",
             "", "| case | status | operator |", "|---|---|---|"]
    for case in sorted(cases, key=lambda c: (c["status"], c.get("op", ""), c["name"])):
        if case["status"] != "pass":
            lines.append(f"| {case['name'].rsplit('/', 1)[-1]} | {case['status']} | {case.get('op', '')} |")
    return HEAD + "\n".join(lines) + "\n"


def main(program, data):
    cases = run(program, pathlib.Path(data))
    written = page(cases)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(written)
    known = PAGE.read_text() if PAGE.exists() else ""
    if written == known:
        print(f"{len(cases)} cases end as docs/conformance.md says")
        return 0
    for line in sorted(set(written.splitlines()) ^ set(known.splitlines())):
        print(("now:  " if line in written else "page: ") + line)
    for case in cases:
        if case["status"] in ("fail", "crash"):
            print(f"{case['name']}: {case['message'][:2000]}")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
