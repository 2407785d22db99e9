#!/usr/bin/env python3
"""Reads the text in a picture with the three networks of the package rapidocr: one finds lines, one tells whether they
stand upright, one reads them. OpenCV reads and cuts the picture.

Usage: demo.py INGOT FOLDER_FOR_THE_LIBRARIES [PICTURE]"""

import pathlib
import sys

import cv2
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from models import answer, package_file, peer  # noqa: E402

# Outputs are probabilities. Both sides sum in fp32 in different orders, over up to a hundred layers.
TOLERANCE = 1e-3


class Network:
    """A network of the package, compiled, and run beside ONNX Runtime where that is installed."""

    seconds, worst = 0.0, None

    def __init__(self, ingot, file, folder):
        model = package_file("rapidocr", f"models/{file}")
        self.ingot, self.folder, self.library = ingot, folder, folder / f"{file}.so"
        self.run_peer = peer(model)
        Network.seconds += answer(ingot, "compile", model, "-o", self.library)["seconds"]["total"]
        self.metadata = answer(ingot, "inspect", self.library).get("metadata", {})

    def __call__(self, x):
        """The first output for the input x."""
        np.savez(self.folder / "input.npz", x=x)
        inputs = self.folder / "input.npz"
        ran = answer(self.ingot, "run", self.library, "--inputs", inputs, "--output-dir", self.folder)
        y = np.load(ran["outputs"][0]["file"])
        if self.run_peer is not None:
            off = float(np.abs(y - self.run_peer({"x": x})[0]).max(initial=0))
            Network.worst = max(Network.worst or 0.0, off)
        return y


def as_input(picture, width=None):
    """[H,W,3] bytes as [1,3,H,width] around 0; zeros to the right."""
    x = ((picture.astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None]
    return x if width is None else np.pad(x, ((0, 0), (0, 0), (0, 0), (0, width - x.shape[3])))


def find_lines(detect, picture):
    """The lines' rectangles (centre, size, angle) in the picture, from top to bottom."""
    height, width = picture.shape[:2]
    size = [max(32, round(n / 32) * 32) for n in (width, height)]  # the network wants multiples of 32
    mask = detect(as_input(cv2.resize(picture, size)))[0, 0] > 0.3
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    scale = np.array([width / size[0], height / size[1]])
    lines = []
    for contour in contours:
        (x, y), (w, h), angle = cv2.minAreaRect((contour * scale).astype(np.float32))
        if min(w, h) < 3:
            continue
        # The mask shows the middle of the letters; DBNet's rule gives the margin around it (Liao et al. 2020, 3.4).
        margin = 2 * 1.6 * w * h / (2 * (w + h))
        lines.append(((x, y), (w + margin, h + margin), angle))
    return sorted(lines, key=lambda line: line[0][1])


def cut_out(picture, line):
    """The line as a picture of its own, lying."""
    centre, (w, h), angle = line
    if w < h:  # the longer side is the one to read along, to the right
        w, h, angle = h, w, angle - 90
    angle = (angle + 90) % 180 - 90
    turn = cv2.getRotationMatrix2D(centre, angle, 1)
    turn[:, 2] += np.array([w / 2, h / 2]) - centre
    return cv2.warpAffine(picture, turn, (round(w), round(h)), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


def to_height(picture, height=48):
    """The picture scaled to what the networks read."""
    return cv2.resize(picture, (max(1, round(picture.shape[1] * height / picture.shape[0])), height))


def text_of(scores, alphabet):
    """The best symbol of each place, repeats and blanks left out (CTC)."""
    best = scores.argmax(1)
    new = best[np.flatnonzero(np.diff(best, prepend=0))]
    return "".join(alphabet[k] for k in new if k)


def main():
    ingot, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    path = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else HERE / "two_lines.png"
    picture = cv2.imread(str(path))
    if picture is None:
        sys.exit(f"{path}: no picture that OpenCV can read")
    detect = Network(ingot, "PP-OCRv6_det_small.onnx", folder)
    upright = Network(ingot, "ch_ppocr_mobile_v2.0_cls_mobile.onnx", folder)
    read = Network(ingot, "PP-OCRv6_rec_small.onnx", folder)
    alphabet = ["", *read.metadata["character"].splitlines(), " "]
    texts, turns = [], []
    for line in find_lines(detect, picture):
        cut = to_height(cut_out(picture, line))
        turns.append(float(upright(as_input(cut[:, :192], 192))[0, 0]))
        if turns[-1] < 0.1:
            cut = cv2.rotate(cut, cv2.ROTATE_180)
        texts.append(text_of(read(as_input(cut, -(-cut.shape[1] // 8) * 8))[0], alphabet))
        print(texts[-1])
    note = ""
    if Network.worst is not None:
        note = f", within {Network.worst:.1e} of ONNX Runtime"
        if not Network.worst <= TOLERANCE:
            sys.exit(f"an output is off by {Network.worst:.1e}, expected at most {TOLERANCE}")
    print(f"read_text: {len(texts)} lines{note}, three networks compiled in {Network.seconds:.2f} s")
    if path == HERE / "two_lines.png":
        # What the picture says; ONNX Runtime 1.32 holds both lines for upright with probability 1.000.
        expected = ["Ingot compiles models", "Total: 1,204.50 EUR"]
        if texts != expected or min(turns) < 0.9995:
            sys.exit(f"expected {expected}, upright, got {texts}, upright with {turns}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
