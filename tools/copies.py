#!/usr/bin/env python3
"""Reports pieces of code that stand in two places: copies.py [MIN_LINES]. Lines are compared without blanks and
comments; a piece is reported once, at its longest. A report to read, not a verdict."""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Lines that say nothing by themselves.
TRIVIAL = re.compile(
    r"^(?:[{}()\[\];,]*|else|#include.*|#pragma.*|namespace.*|using.*|public:|private:|break;|return.?;)$")


def code_lines(file):
    """(line number, line without blanks) of the lines that say something."""
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        line = re.sub(r"\s+", "", re.sub(r"//.*", "", line))
        if not TRIVIAL.match(line):
            yield number, line


def find_copies(files, window):
    """Yields (length, (file, line), (file, line)) of pieces of at least `window` lines that stand twice."""
    lines = {f: list(code_lines(f)) for f in files}
    places = collections.defaultdict(list)
    for file, content in lines.items():
        for i in range(len(content) - window + 1):
            places[tuple(text for _, text in content[i:i + window])].append((file, i))
    covered = set()
    for found in places.values():
        for (file_a, a), (file_b, b) in zip(found, found[1:]):
            if (file_a, a, file_b, b) in covered or (file_a == file_b and b < a + window):
                continue
            length = 0
            while (a + length < len(lines[file_a]) and b + length < len(lines[file_b])
                   and lines[file_a][a + length][1] == lines[file_b][b + length][1]):
                covered.add((file_a, a + length, file_b, b + length))
                length += 1
            yield length, (file_a, lines[file_a][a][0]), (file_b, lines[file_b][b][0])


def main():
    window = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    names = subprocess.run(["git", "ls-files", "src", "include", "tools", "fuzz", "bench", "examples"], cwd=ROOT,
                           stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    files = [ROOT / n for n in names if n.endswith((".c", ".cc", ".h", ".hpp", ".py")) and (ROOT / n).is_file()]
    copies = sorted(find_copies(files, window), reverse=True, key=lambda c: c[0])
    for length, *ends in copies:
        print(f"{length} lines: " + " and ".join(f"{f.relative_to(ROOT)}:{n}" for f, n in ends))
    print(f"{len(copies)} pieces of {window} lines or more stand twice")


if __name__ == "__main__":
    main()
