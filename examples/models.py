# examples/models.py: what the examples with models of Python packages have in common: where a package's file lies, the
# program's commands, ONNX Runtime where it is installed.
"""Imported by the demos; runs nothing by itself."""

import importlib.util
import json
import pathlib
import subprocess
import sys


def package_file(package, name):
    """A file of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        sys.exit(f"the package {package} is not installed; tools/setup examples installs it into .venv")
    return pathlib.Path(spec.origin).parent / name


def answer(ingot, *arguments):
    """What a command of the program prints with --json."""
    command = [ingot, *map(str, arguments), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}")
    return json.loads(done.stdout)


def peer(model):
    """A function from inputs by name to the outputs' list by ONNX Runtime; None where that is not installed."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)
