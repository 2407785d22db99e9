#!/usr/bin/env python3
"""Writes src/base/letter_case.def, the simple case mappings of Python's Unicode database."""
import unicodedata
from pathlib import Path


def rows(convert):
    """Mappings of one code point to one, as (first, last, step, delta)."""
    pairs = []
    for code in range(0x110000):
        other = convert(chr(code))
        if len(other) == 1 and ord(other) != code:
            pairs.append((code, ord(other) - code))
    found = []
    for code, delta in pairs:
        if found and found[-1][3] == delta:
            first, last, step, _ = found[-1]
            gap = code - last
            if (gap in (1, 2)) and (first == last or gap == step):
                found[-1] = (first, code, gap, delta)
                continue
        found.append((code, code, 1, delta))
    return found


lines = [
    "// base/letter_case.def: INGOT_CASE(first, last, step, delta), sorted. Written by",
    f"// tools/letter_case.py from Unicode {unicodedata.unidata_version}.",
]
for name, convert in (("LOWER", str.lower), ("UPPER", str.upper)):
    lines.append(f"#ifdef INGOT_{name}")
    lines += [f"INGOT_CASE(0x{f:X}, 0x{l:X}, {s}, {d})" for f, l, s, d in rows(convert)]
    lines.append("#endif")
target = Path(__file__).resolve().parent.parent / "src/base/letter_case.def"
target.write_text("\n".join(lines) + "\n")
