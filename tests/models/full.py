#!/usr/bin/env python3
"""full.py: the whole models of full.tar.xz, each compiled once and run at several sizes, against
onnxruntime and the fp64 interpreter. A line for each, a count at the end; 1 if one is wrong.

    INGOT=PROGRAM full.py FOLDER [NAME...]

FOLDER is for what it makes, up to 6 GB at a time, and is empty again afterwards.
"""

import pathlib
import shutil
import sys
import tarfile
import tempfile
import time

import fill
import judge

SKELETONS = pathlib.Path(__file__).resolve().parent / "full.tar.xz"
# For the interpreter, which takes some ten seconds for a billion products.
SMALL = {"batch": 1, "seq": 3, "past": 3, "time": 5, "tokens": 3, "height": 8, "width": 8}


def allows(name, dims):
    """Whether a model knows these sizes: its exporter took some for granted."""
    return not (name.startswith("sd_unet") and (dims.get("height", 0) % 4 or dims.get("width", 0) % 4))


def check(name, skeleton, folder):
    model, library = folder / "model.onnx", folder / "model.so"
    about = fill.fill(skeleton, model)
    start = time.monotonic()
    judge.good("compile", model, "-o", library)
    compiled = time.monotonic() - start
    peer = judge.Peer(model)
    worst, runs = 0.0, 0
    for dims in filter(lambda d: allows(name, d), judge.sizes_of(about["dims"])):
        feed = fill.make_inputs(about, dims)
        inputs = judge.save_inputs(folder / "inputs.npz", feed)
        try:
            worst = max(worst, judge.check(library, inputs, peer.run(feed), peer.kind, folder / "out"))
        except AssertionError as error:
            raise AssertionError(f"{dims}: {error}") from None
        runs += 1
    summary = f"compiled in {compiled:.0f} s, {runs} runs off by at most {worst:.1e}"
    if judge.is_detector([o.name for o in peer.sessions[0].get_outputs()]):
        # Hundreds of boxes whose order hangs on the last bits of their scores; tiny/ has detectors
        # with few, which fp64 gives in the same order.
        return summary
    feed = fill.make_inputs(about, {dim: min(SMALL[dim], size) for dim, size in about["dims"].items()})
    wanted = peer.run(feed)[0]
    inputs = judge.save_inputs(folder / "inputs.npz", feed)
    del peer
    start = time.monotonic()
    judge.verify(model, library, inputs, wanted, judge.kind_of(model))
    return f"{summary}, fp64 agrees in {time.monotonic() - start:.0f} s"


def main(folder, *names):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    skeletons = pathlib.Path(tempfile.mkdtemp(dir=folder))
    with tarfile.open(SKELETONS) as archive:
        archive.extractall(skeletons)
    names = names or sorted(p.stem for p in skeletons.glob("*.onnx"))

    def check_apart(name):
        place = pathlib.Path(tempfile.mkdtemp(dir=folder))
        (place / "out").mkdir()
        try:
            return check(name, skeletons / f"{name}.onnx", place)
        finally:
            shutil.rmtree(place)

    good = judge.count_good(names, check_apart)
    shutil.rmtree(skeletons)
    print(f"{good} of {len(names)} whole models agree")
    return int(good < len(names))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
