#!/usr/bin/env python3
"""next_cases.py: ONNX's node cases as a newer onnx package makes them, as folders: those that the
data of an older one lacks or has otherwise.

    PYTHONPATH=the newer package next_cases.py OLDER_DATA FOLDER"""

import argparse
import pathlib
import sys
import warnings

import onnx
from onnx.backend.test import cmd_tools
from onnx.backend.test.case.node import collect_testcases


def meaning(model):
    """A model but for who wrote it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = 0
    copy.ClearField("producer_name")
    copy.ClearField("producer_version")
    return copy.SerializeToString(deterministic=True)


def write_cases(older, folder):
    """How many there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some cases divide by zero
        cases = collect_testcases(None)
    chosen = []
    for case in cases:
        path = older / "node" / case.name / "model.onnx"
        if not path.exists() or meaning(onnx.load(path)) != meaning(case.model):
            chosen.append(case)
    cmd_tools.model_test.collect_testcases = lambda: chosen
    cmd_tools.generate_data(argparse.Namespace(output=str(folder)))
    return len(chosen)


if __name__ == "__main__":
    print(onnx.__version__, write_cases(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
