#!/usr/bin/env python3
"""Runs clang-tidy on the sources, by the list of checks in .clang-tidy: tidy.py [FILE or FOLDER...]; all without one.

Most of the time would go into the same headers, so files are read several at a time, as one translation unit: files
without a local name in common; if they do not compile together all the same, they are read apart."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "tidy"
TOGETHER = 8  # files, at most
# A local name: the last word in front of the first of these signs, on an unindented line.
LOCAL = re.compile(r"^(?!using \w+::|template|//|#|\})[^\s({=;\[].*?(\w+)\s*[({=;\[]", re.MULTILINE)
ANONYMOUS = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
FINDING = re.compile(r"^(/[^:]+:\d+:\d+): (?:error|warning): ")


def commands():
    """(file, flags) of all sources of the project, without those of the tests."""
    configured = subprocess.run(["cmake", "--preset", "tidy"], cwd=ROOT, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
    if configured.returncode != 0:
        sys.exit(configured.stdout)
    known = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        if file.suffix != ".cc" or ROOT not in file.parents or ROOT / "build" in file.parents:
            continue
        words = shlex.split(entry["command"])
        words = words[next(i for i, word in enumerate(words) if word.startswith("-")):]
        output = words.index("-o")
        del words[output:output + 2]
        known.setdefault(file, tuple(w for w in words if w != "-c" and w != entry["file"]))
    return sorted(known.items())


def local_names(file):
    """Names that a file has for itself, and that no other file of its translation unit may have."""
    return {name for part in ANONYMOUS.findall(file.read_text()) for name in LOCAL.findall(part)}


def batches(files):
    """Lists of files with the same flags and without a local name in common."""
    made = []  # (flags, names, files)
    for file, flags in files:
        names = local_names(file)
        for other_flags, other_names, batch in made:
            if flags == other_flags and len(batch) < TOGETHER and not names & other_names:
                other_names |= names
                batch.append(file)
                break
        else:
            made.append((flags, names, [file]))
    return [(flags, batch) for flags, _, batch in made]


def findings(output):
    """The parts of clang-tidy's output, each a finding with its notes."""
    parts = []
    for line in output.splitlines():
        if FINDING.match(line):
            parts.append([])
        if parts:
            parts[-1].append(line)
    return {"\n".join(part) for part in parts}


def check(batch):
    """What clang-tidy finds in files that are read together."""
    flags, files = batch
    unit = BUILD / "units" / ("+".join(file.stem for file in files)[:200] + ".cc")
    unit.write_text("".join(f'#include "{file}"\n' for file in files))
    done = subprocess.run(
        ["clang-tidy", "--quiet", "--checks=-bugprone-suspicious-include", unit, "--", *flags],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = findings(done.stdout)
    if len(files) > 1 and any("[clang-diagnostic-error]" in each for each in found):
        half = len(files) // 2
        return check((flags, files[:half])) | check((flags, files[half:]))
    if done.returncode != 0 and not found:
        found = {f"{' '.join(map(str, files))}: clang-tidy failed:\n{done.stdout}{done.stderr}"}
    return found


def main(arguments):
    wanted = [pathlib.Path(each).resolve() for each in arguments] or [ROOT]
    files = [(file, flags) for file, flags in commands()
             if any(each == file or each in file.parents for each in wanted)]
    (BUILD / "units").mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = set().union(*pool.map(check, batches(files)))
    for each in sorted(found):
        print(each.replace(f"{ROOT}/", ""))
    print(f"{len(files)} files, {len(found)} findings of clang-tidy")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
