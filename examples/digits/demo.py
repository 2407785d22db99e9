#!/usr/bin/env python3
"""Compiles the digits model, reads the twenty pictures with it, and compares with the labels and with what ONNX
Runtime answered. The last step of ./quickstart. Usage: demo.py INGOT FOLDER_FOR_THE_LIBRARY"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from models import answer  # noqa: E402

# Both sides sum in fp32 in different orders; the probabilities are at most 1.
TOLERANCE = 1e-5


def flatten(values):
    """Nested lists as one list."""
    return [x for v in values for x in flatten(v)] if isinstance(values, list) else [values]


def main():
    ingot, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    library = folder / "digits.so"
    compiled = answer(ingot, "compile", HERE / "digits.onnx", "-o", library)
    labels = json.loads((HERE / "labels.json").read_text())
    expected = json.loads((HERE / "expected.json").read_text())
    right, worst = 0, 0.0
    for name, label in labels.items():
        picture = HERE / name
        ran = answer(ingot, "run", library, "--input", f"image={picture}:nchw,gray,scale=1/255", "--print")
        probabilities = flatten(ran["outputs"][0]["values"])
        digit = max(range(10), key=lambda i: probabilities[i])
        right += digit == label
        worst = max(worst, *(abs(a - b) for a, b in zip(probabilities, expected[name], strict=True)))
        remark = "" if digit == label else f", but it is a {label}"
        print(f"{name}: {digit} ({probabilities[digit]:.1%}){remark}")
    latency = answer(ingot, "bench", library, "--threads", 1, "--duration", 0.5, "--dim", "batch=1")["latency"]
    good = right == len(labels) and worst <= TOLERANCE
    print(f"digits: {right} of {len(labels)} right, within {worst:.1e} of ONNX Runtime, "
          f"compiled in {compiled['seconds']['total']:.2f} s, "
          f"{latency['median'] * 1000:.0f} us a picture on one thread")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
