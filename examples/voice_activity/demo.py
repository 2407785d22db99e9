#!/usr/bin/env python3
"""Compiles the voice-activity network of the package silero-vad, has the example's program listen to a recording, and
compares with ONNX Runtime.

Usage: demo.py INGOT PROGRAM FOLDER_FOR_THE_LIBRARY [RECORDING.wav: 16 kHz, 16 bits, mono]"""

import pathlib
import subprocess
import sys
import time
import wave

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from models import answer, package_file, peer  # noqa: E402

FRAME, CONTEXT = 512, 64
# Probabilities are at most 1. Both sides sum in fp32 in different orders, and the state feeds differences back; the
# program prints six digits.
TOLERANCE = 1e-4


def samples_of(path):
    """The recording as 16-bit samples."""
    with wave.open(str(path)) as recording:
        form = recording.getframerate(), recording.getsampwidth(), recording.getnchannels()
        if form != (16000, 2, 1):
            sys.exit(f"{path}: expected 16000 Hz, 2 bytes a sample, 1 channel, got {form}")
        return np.frombuffer(recording.readframes(recording.getnframes()), np.int16)


def listen(*command, samples):
    """What the program prints for the samples, and how long it took."""
    start = time.perf_counter()
    done = subprocess.run([*map(str, command)], input=samples.tobytes(), stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}")
    return done.stdout.decode(), time.perf_counter() - start


def probabilities_of(run, samples):
    """The same by another engine, frame by frame."""
    sound = np.concatenate([np.zeros(CONTEXT, np.float32), samples.astype(np.float32) / 32768])
    state, found = np.zeros((2, 1, 128), np.float32), []
    for at in range(0, len(sound) - CONTEXT - FRAME + 1, FRAME):
        frame = sound[None, at : at + CONTEXT + FRAME]
        probability, state = run({"input": frame, "state": state, "sr": np.array(16000)})
        found.append(probability[0, 0])
    return np.array(found)


def main():
    ingot, program, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    recording = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else HERE / "speech.wav"
    model = package_file("silero_vad", "data/silero_vad.onnx")
    library = folder / "voice_activity.so"
    compiled = answer(ingot, "compile", model, "-o", library)
    samples = samples_of(recording)
    segments, _ = listen(program, library, samples=samples)
    print(segments, end="")
    lines, seconds = listen(program, library, "--probabilities", samples=samples)
    found = np.array([float(line) for line in lines.split()])
    run, note = peer(model), ""
    if run is not None:
        worst = np.abs(found - probabilities_of(run, samples)).max(initial=0)
        note = f", within {worst:.1e} of ONNX Runtime"
        if not worst <= TOLERANCE:
            sys.exit(f"a probability is off by {worst:.1e}, expected at most {TOLERANCE}")
    print(f"voice_activity: {(found > 0.5).sum()} of {len(found)} frames hold speech{note}, "
          f"compiled in {compiled['seconds']['total']:.2f} s, {len(samples) / 16000:.1f} s heard in {seconds:.2f} s")
    if recording == HERE / "speech.wav":
        # By ONNX Runtime 1.32 with this model: 88 frames, 0.999 where it is loud, 0.005 in the silence in front.
        frames = samples[: len(found) * FRAME].reshape(-1, FRAME) / 32768
        loud = found[np.sqrt((frames**2).mean(1)) > 0.03].mean()
        expected = {"frames": 88, "loud": 0.999, "silence": 0.005}
        got = {"frames": int((found > 0.5).sum()), "loud": round(loud, 3), "silence": round(found[:20].mean(), 3)}
        if got != expected:
            sys.exit(f"expected {expected}, got {got}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
