#!/usr/bin/env python3
"""Runs what the documents show: run_docs.py INGOT DOCUMENT...

Every ```sh block of a document runs, in order, in one fresh folder in which `ingot` is on the path and `examples/` and
`include/` lie as in the project. Every ```cpp and ```c block must compile against include/. Blocks of other kinds are
only read by people."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPILE = {"cpp": ["g++", "-std=c++20", "-x", "c++"], "c": ["gcc", "-std=c11", "-x", "c"]}


def run_document(document, ingot):
    """Runs the blocks of one document; returns how many there were."""
    text = document.read_text()
    blocks = [(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "path").mkdir()
        (place / "path/ingot").symlink_to(pathlib.Path(ingot).resolve())
        for name in ("examples", "include"):
            (place / name).symlink_to(ROOT / name)
        environment = os.environ | {"PATH": f"{place / 'path'}:{os.environ['PATH']}"}
        count = 0
        for kind, body, line in blocks:
            if kind == "sh":
                command = ["bash", "-euo", "pipefail", "-c", body]
            elif kind in COMPILE:
                command = [*COMPILE[kind], "-Wall", "-Wextra", "-Werror", "-Iinclude", "-fsyntax-only", "-"]
            else:
                continue
            done = subprocess.run(command, cwd=place, env=environment, check=False, text=True,
                                  input=body if kind in COMPILE else "", stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            count += 1
            if done.returncode:
                sys.exit(f"{document.relative_to(ROOT)}:{line}: exit {done.returncode}\n{body}\n{done.stdout}")
    return count


def main():
    ingot, documents = sys.argv[1], sys.argv[2:]
    for name in documents:
        document = pathlib.Path(name).resolve()
        print(f"{document.relative_to(ROOT)}: {run_document(document, ingot)} blocks hold")


if __name__ == "__main__":
    main()
