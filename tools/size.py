#!/usr/bin/env python3
"""Prints lines added and removed per folder: size.py [BASE], against the commit BASE (by default the one before HEAD),
and the largest files of the tree."""

import collections
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


def folder_of(name):
    """src/ops for src/ops/softmax.cc, docs for docs/x.md, "." for README.md."""
    parts = name.split("/")
    return "/".join(parts[:2 if parts[0] == "src" else 1]) if len(parts) > 1 else "."


def main():
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD~1"
    added, removed = collections.Counter(), collections.Counter()
    for line in git("diff", "--numstat", "--no-renames", base).splitlines():
        plus, minus, name = line.split("\t")
        if plus != "-":
            added[folder_of(name)] += int(plus)
            removed[folder_of(name)] += int(minus)
    print(f"{'folder':24} {'added':>7} {'removed':>7}")
    for folder in sorted(added):
        print(f"{folder:24} {added[folder]:7} {removed[folder]:7}")
    print(f"{'all':24} {added.total():7} {removed.total():7}\n\nlargest files:")
    code = [ROOT / name for name in git("ls-files").splitlines()
            if pathlib.Path(name).suffix in (".c", ".cc", ".def", ".h", ".hpp", ".py")]
    lengths = sorted(((len(f.read_text().splitlines()), f) for f in code if f.is_file()), reverse=True)
    for length, file in lengths[:10]:
        print(f"{length:7} {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
