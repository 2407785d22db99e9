#!/usr/bin/env python3
"""Checks that every #include follows the layer map of docs/architecture.md, and that none runs in a circle."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

# What each room under src/ may include besides itself and the public headers of include/.
COMPILER = {
    "base": set(),
    # Freestanding, for the interpreter and for compiled models.
    "picture": set(),
    "target": {"base"},
    "kernel": {"base", "target"},
    "ir": {"base", "target", "kernel"},
    "ops": {"base", "picture", "target", "kernel", "ir"},
    "frontend": {"base", "target", "kernel", "ir", "ops"},
    "passes": {"base", "target", "kernel", "ir", "ops"},
}
COMPILER["codegen"] = set(COMPILER)
RUNTIME = {
    "artifact": {"picture"},
    # The loader is freestanding like what it loads, and shares its threads (decision 0002).
    "runtime": {"base", "artifact"},
    "llm": {"base", "runtime"},
    "server": {"base", "runtime", "llm"},
}
MAY_INCLUDE = COMPILER | RUNTIME
MAY_INCLUDE["cli"] = set(MAY_INCLUDE) - {"artifact"}

# Rooms whose headers are part of generated or freestanding code, and see no one else's at all.
PRELUDE = "codegen/prelude"

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def room_of(path):
    """The layer of a path relative to src/."""
    return PRELUDE if path.startswith(PRELUDE + "/") else path.split("/")[0]


def included(source):
    """The project's files that a file includes: (text of the directive, path relative to the root)."""
    for name in INCLUDE.findall(source.read_text(errors="replace")):
        for base in (ROOT / "src", ROOT / "include", source.parent):
            candidate = base / name
            if candidate.is_file():
                yield name, candidate.resolve().relative_to(ROOT).as_posix()
                break
        else:
            yield name, None


def allowed(source, target):
    """Whether the file `source` may include `target`, both relative to the root."""
    if target.startswith("include/"):
        # Generated code includes nothing but the prelude.
        return not source.startswith(f"src/{PRELUDE}/") or source.endswith("_test.cc")
    if source.startswith("include/"):
        return False
    source, target = source.removeprefix("src/"), target.removeprefix("src/")
    mine, theirs = room_of(source), room_of(target)
    if mine == theirs:
        return True
    is_test = source.endswith(("_test.cc", "_test.h")) or "/test_" in source
    if mine == PRELUDE:
        return is_test and theirs == "base"
    if theirs == PRELUDE:
        return is_test and mine == "codegen"
    # Tests of the freestanding code are ordinary programs and may use base.
    if mine in ("artifact", "picture") and is_test and theirs == "base":
        return True
    return theirs in MAY_INCLUDE[mine]


def find_cycle(edges):
    """A list of files that include each other in a circle, or none."""
    done, path = set(), []

    def visit(node):
        if node in done:
            return None
        if node in path:
            return path[path.index(node):] + [node]
        path.append(node)
        for successor in edges.get(node, ()):
            cycle = visit(successor)
            if cycle:
                return cycle
        path.pop()
        done.add(node)
        return None

    for start in sorted(edges):
        cycle = visit(start)
        if cycle:
            return cycle
    return None


def main():
    problems, edges = [], {}
    files = [f for top in ("src", "include") for f in sorted((ROOT / top).rglob("*"))
             if f.suffix in (".h", ".hpp", ".cc", ".c", ".def")]
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        if name.startswith("src/") and room_of(name[4:]) not in MAY_INCLUDE | {PRELUDE: 0}:
            problems.append(f"{name}: expected a room that tools/check_layers.py knows")
            continue
        for directive, target in included(file):
            if target is None or not target.startswith(("src/", "include/")):
                continue
            edges.setdefault(name, []).append(target)
            if not allowed(name, target):
                problems.append(f'{name}: may not include "{directive}" ({target})')
    cycle = find_cycle({k: v for k, v in edges.items() if not k.endswith(".def")})
    if cycle:
        problems.append("headers in a circle: " + " -> ".join(cycle))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(files)} files, {len(problems)} includes against the layer map")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
