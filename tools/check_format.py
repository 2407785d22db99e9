#!/usr/bin/env python3
"""Checks the project's own C and C++ files with clang-format, and every text file for tabs, trailing blanks and
lines over their length. With --fix, clang-format rewrites what it finds."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CODE = (".c", ".cc", ".def", ".h", ".hpp")
TEXT = CODE + (".cmake", ".md", ".py", ".sh", ".txt")
MAX_COLUMNS = {".md": None, ".py": 120, ".txt": None}
# Algorithms that return a subrange: clang 14 cannot compile libstdc++ 12's.
SUBRANGES = re.compile(r"std::ranges::(?:unique|equal_range|partition|remove|remove_if|rotate|search|subrange)\b")
PATHS_OF_ONE_MACHINE = re.compile(r"/(?:work|root|home)/[a-z]")


def tracked_files():
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    return [ROOT / name for name in listing.decode().split("\0") if name and (ROOT / name).is_file()]


def text_problems(file):
    name = file.relative_to(ROOT)
    limit = MAX_COLUMNS.get(file.suffix, 100)
    text = file.read_text()
    if text and not text.endswith("\n"):
        yield f"{name}: no line break at the end"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip() and file.suffix not in (".md", ".txt"):
            yield f"{name}:{number}: trailing blanks"
        if "\t" in line and file.suffix in CODE:
            yield f"{name}:{number}: a tab"
        if limit and len(line) > limit and file.suffix not in CODE:
            yield f"{name}:{number}: {len(line)} columns, at most {limit}"
        if file.suffix in CODE and SUBRANGES.search(line):
            yield f"{name}:{number}: not for clang 14: std::ranges::unique and others that return a subrange"
        if file != pathlib.Path(__file__).resolve() and PATHS_OF_ONE_MACHINE.search(line):
            yield f"{name}:{number}: a path of one machine"


def main():
    files = tracked_files()
    code = [f for f in files if f.suffix in CODE]
    action = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "-Werror", "-ferror-limit=1"]
    formatted = subprocess.run(["clang-format", "--style=file", *action, *code], cwd=ROOT, check=False,
                               stderr=subprocess.PIPE, text=True)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", formatted.stderr, re.MULTILINE)))
    problems = [f"{pathlib.Path(f).relative_to(ROOT)}: not as clang-format writes it" for f in wrong]
    if formatted.returncode and not wrong:
        problems.append(formatted.stderr.strip() or "clang-format failed")
    for file in files:
        if file.suffix in TEXT:
            problems.extend(text_problems(file))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(code)} code files, {len(problems)} problems of format (tools/check_format.py --fix mends most)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
