#!/usr/bin/env python3
"""Any model in Ingot and in its peers, side by side: bench/peers.py MODEL.onnx... [options].

Every engine runs the same inputs in turns, round after round, so that a noisy machine is noisy for
all of them; the best and the median of all runs are kept. Prints a Markdown table; --json and
--svg write the same figures for programs and for people: the picture has bars of time, and a
roofline with a dot for each of Ingot's kernels.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLOURS = {"ingot": "#d9542b", "onnxruntime": "#3b6ea5", "openvino": "#6a9a3c"}


def timed(call, seconds, least=3):
    """Times of repeated calls in milliseconds."""
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < seconds or len(times) < least:
        before = time.perf_counter()
        call()
        times.append((time.perf_counter() - before) * 1e3)
    return times


class OnnxRuntime:
    name = "onnxruntime"
    version = onnxruntime.__version__

    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        start = time.perf_counter()
        self.session = onnxruntime.InferenceSession(str(model), options,
                                                    providers=["CPUExecutionProvider"])
        self.open_ms = (time.perf_counter() - start) * 1e3

    def outputs(self, feed):
        return dict(zip((o.name for o in self.session.get_outputs()),
                        self.session.run(None, feed)))

    def run(self, feed, seconds):
        return timed(lambda: self.session.run(None, feed), seconds)


class OpenVino:
    name = "openvino"

    def __init__(self, model, threads):
        import openvino
        self.version = openvino.__version__.split("-")[0]
        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                    "PERFORMANCE_HINT": "LATENCY"}
        start = time.perf_counter()
        compiled = openvino.Core().compile_model(str(model), "CPU", settings)
        self.open_ms = (time.perf_counter() - start) * 1e3
        self.request = compiled.create_infer_request()

    def run(self, feed, seconds):
        return timed(lambda: self.request.infer(feed, share_inputs=True, share_outputs=True),
                     seconds)


class Ingot:
    name = "ingot"

    def __init__(self, program, library, inputs, threads):
        self.command = [str(program), "bench", str(library), "--inputs", str(inputs), "--threads",
                        str(threads), "--json"]
        self.version = ""
        self.details = {}

    def run(self, _, seconds):
        done = subprocess.run([*self.command, "--duration", str(seconds)], capture_output=True,
                              text=True)
        if done.returncode:
            sys.exit(f"{' '.join(self.command)}: {done.stderr.strip()}")
        report = json.loads(done.stdout)
        if not self.details or report["latency"]["min"] < self.details["latency"]["min"]:
            self.details = report
        self.open_ms = report["load_ms"]
        return [report["latency"]["min"], report["latency"]["median"]]

    def profile(self, seconds):
        """What each kernel reached, after the timing: recording costs a little."""
        done = subprocess.run([*self.command, "--duration", str(seconds), "--profile"],
                              capture_output=True, text=True, check=True)
        report = json.loads(done.stdout)
        return report["profile"], report["probe"]


def sample_inputs(model, dims, seed=0):
    """Random inputs of a model; symbolic dims as given, or 1."""
    rng = np.random.default_rng(seed)
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64,
             "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
             "tensor(uint8)": np.uint8, "tensor(int8)": np.int8, "tensor(bool)": np.bool_}
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    feed = {}
    for port in session.get_inputs():
        shape = [d if isinstance(d, int) else dims.get(d, 1) for d in port.shape]
        kind = np.dtype(kinds[port.type])
        feed[port.name] = (rng.standard_normal(shape).astype(kind) if kind.kind == "f"
                           else rng.integers(0, 2, shape).astype(kind))
    return feed


def compile_model(program, model, library):
    start = time.perf_counter()
    done = subprocess.run([str(program), "compile", str(model), "-o", str(library), "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{model}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    report["wall_s"] = time.perf_counter() - start
    return report


def difference(wanted, folder, outputs):
    """The largest error as a part of the largest value."""
    worst = 0.0
    for output in outputs:
        got = np.load(folder / os.path.basename(output["file"])).astype(np.float64)
        want = wanted[output["name"]].astype(np.float64)
        finite = np.isfinite(want)
        scale = max(1e-6, np.abs(want[finite]).max(initial=0))
        worst = max(worst, np.abs(got - want)[finite].max(initial=0) / scale)
    return float(worst)


def check(program, library, inputs, wanted, folder):
    done = subprocess.run([str(program), "run", str(library), "--inputs", str(inputs),
                           "--output-dir", str(folder), "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{library}: {done.stderr.strip()}")
    return difference(wanted, folder, json.loads(done.stdout)["outputs"])


def compare(model, feed, options, folder):
    """All engines on one model: rows of figures, one per thread count and engine."""
    inputs, library = folder / "inputs.npz", folder / "model.so"
    np.savez(inputs, **feed)
    compiled = compile_model(options.program, model, library)
    rows = []
    for threads in options.threads:
        peers = [OnnxRuntime(model, threads)]
        error = check(options.program, library, inputs, peers[0].outputs(feed), folder)
        if options.openvino:
            peers.append(OpenVino(model, threads))
        engines = [Ingot(options.program, library, inputs, threads), *peers]
        times = {engine.name: [] for engine in engines}
        for _ in range(options.rounds):
            for engine in engines:
                times[engine.name].append(engine.run(feed, options.seconds))
        for engine in engines:
            every = [t for times_of_round in times[engine.name] for t in times_of_round]
            rounds = [min(times_of_round) for times_of_round in times[engine.name]]
            rows.append({"model": options.names[model], "threads": threads, "engine": engine.name,
                         "version": engine.version, "best_ms": min(every),
                         "median_ms": statistics.median(every),
                         "spread": max(rounds) / min(rounds), "open_ms": engine.open_ms})
        own = rows[-len(engines)]
        details = engines[0].details
        own["profile"], probe = engines[0].profile(options.seconds)
        best = {key: max(probe[key], details["probe"][key]) for key in probe}
        own.update(error=error, first_run_ms=details["first_run_ms"],
                   peak_rss_bytes=details["peak_rss_bytes"], probe=best,
                   compile_s=compiled["wall_s"], code_bytes=compiled["code_bytes"])
    return rows


def groups(rows):
    """Rows by model and thread count, in their order."""
    found = {}
    for row in rows:
        found.setdefault((row["model"], row["threads"]), []).append(row)
    return found


def table(rows):
    lines = ["| model | threads | ingot ms | best peer ms | times faster | error | open ms, peer's "
             "| first run / median | compile s |", "|---|---|---|---|---|---|---|---|---|"]
    for (model, threads), engines in groups(rows).items():
        own, peers = engines[0], engines[1:]
        best = min(peers, key=lambda row: row["best_ms"])
        lines.append(
            f"| {model} | {threads} | {own['best_ms']:.3g} | {best['best_ms']:.3g} "
            f"({best['engine']}) | {best['best_ms'] / own['best_ms']:.2f} | {own['error']:.1g} | "
            f"{own['open_ms']:.2g}, {engines[1]['open_ms']:.3g} | "
            f"{own['first_run_ms'] / own['median_ms']:.2f} | {own['compile_s']:.2f} |")
    return "\n".join(lines)


def bars(rows, width):
    """Bars of time relative to onnxruntime, shorter is faster: SVG elements and their height."""
    parts, y, left, scale = [], 34, 190, (width - 290) / 1.5
    for (model, threads), engines in groups(rows).items():
        base = engines[1]["best_ms"]
        parts.append(f'<text x="{left - 8}" y="{y + 9 * len(engines)}" text-anchor="end">{model}, '
                     f'{threads} thread{"s" if threads > 1 else ""}</text>')
        for row in engines:
            length = min(1.5, row["best_ms"] / base) * scale
            parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="14" '
                         f'fill="{COLOURS[row["engine"]]}"/><text x="{left + length + 6:.1f}" '
                         f'y="{y + 11}">{row["best_ms"]:.3g} ms</text>')
            y += 17
        y += 12
    legend = "".join(f'<rect x="{left + 130 * k}" y="8" width="12" height="12" fill="{colour}"/>'
                     f'<text x="{left + 17 + 130 * k}" y="18">{name}</text>'
                     for k, (name, colour) in enumerate(COLOURS.items()))
    return legend + "".join(parts), y


def roofline(rows, width, height=330):
    """Kernels at 1 thread as dots, their area the time: SVG elements. Both axes are logarithmic."""
    own = [row for row in rows if "profile" in row and row["threads"] == min(
        r["threads"] for r in rows)]
    peak = max(row["probe"]["fma_gflops"] for row in own)
    memory = max(row["probe"]["read_gbs"] for row in own)
    left, right, top, bottom = 60, width - 150, 40, height - 40
    lowest, highest = 0.25, 512.0  # operations per byte
    floor, ceiling = peak / 512, peak * 2

    def x(intensity):
        part = math.log(intensity / lowest) / math.log(highest / lowest)
        return left + min(max(part, 0), 1) * (right - left)

    def y(gflops):
        part = math.log(gflops / floor) / math.log(ceiling / floor)
        return bottom - min(max(part, 0), 1) * (bottom - top)

    knee = peak / memory
    parts = [f'<text x="{left}" y="22">GFLOP/s of each kernel against operations per byte, '
             f'{own[0]["threads"]} thread; the area of a dot is its time</text>',
             f'<path d="M{x(lowest):.1f},{y(memory * lowest):.1f} L{x(knee):.1f},{y(peak):.1f} '
             f'L{right},{y(peak):.1f}" fill="none" stroke="#333" stroke-width="1.5"/>',
             f'<text x="{right + 6}" y="{y(peak) + 4:.1f}">{peak:.0f} GFLOP/s</text>',
             f'<text x="{x(2) + 10:.1f}" y="{y(memory * 2) + 18:.1f}">'
             f'{memory:.0f} GB/s of memory</text>',
             f'<path d="M{left},{top} V{bottom} H{right}" fill="none" stroke="#999"/>']
    for power in range(-2, 10):
        at = 2.0 ** power
        parts.append(f'<text x="{x(at):.1f}" y="{bottom + 16}" text-anchor="middle" '
                     f'fill="#666">{at:g}</text>')
    for part in (1, 1 / 4, 1 / 16, 1 / 64):
        parts.append(f'<text x="{left - 6}" y="{y(peak * part) + 4:.1f}" text-anchor="end" '
                     f'fill="#666">{peak * part:.0f}</text>')
    palette = ["#d9542b", "#3b6ea5", "#6a9a3c", "#8e5ea2", "#c49a2b", "#4aa3a2", "#777777"]
    for number, row in enumerate(own):
        colour = palette[number % len(palette)]
        total = sum(step["ms"] for step in row["profile"])
        for step in row["profile"]:
            if "gflops" not in step or "gbs" not in step or step["gbs"] <= 0:
                continue
            radius = 24 * math.sqrt(step["ms"] / total)
            parts.append(f'<circle cx="{x(step["gflops"] / step["gbs"]):.1f}" '
                         f'cy="{y(step["gflops"]):.1f}" r="{max(radius, 1):.1f}" fill="{colour}" '
                         f'fill-opacity="0.45"><title>{row["model"]}: {step["name"]}, '
                         f'{step["ms"]:.3g} ms</title></circle>')
        parts.append(f'<circle cx="{right + 12}" cy="{bottom - 16 * number - 4}" r="5" '
                     f'fill="{colour}"/><text x="{right + 22}" y="{bottom - 16 * number}">'
                     f'{row["model"]}</text>')
    return "".join(parts), height


def picture(rows, width=760):
    above, y = bars(rows, width)
    below, height = roofline(rows, width)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + height}" '
            f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" '
            f'fill="white"/>{above}<g transform="translate(0 {y})">{below}</g></svg>\n')


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, help="ONNX files")
    parser.add_argument("--inputs", type=pathlib.Path, help=".npz of inputs, for one model")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE")
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")],
                        default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each engine in each round")
    parser.add_argument("--no-openvino", dest="openvino", action="store_false")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "bin/ingot")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = parse()
    # model.onnx says nothing: its folder does.
    options.names = {m: m.parent.name if m.stem == "model" else m.stem for m in options.models}
    dims = {name: int(size) for name, size in (d.split("=") for d in options.dim)}
    rows = []
    for model in options.models:
        if options.inputs:
            with np.load(options.inputs) as stored:
                feed = dict(stored)
        else:
            feed = sample_inputs(model, dims)
        with tempfile.TemporaryDirectory(prefix="ingot_peers_") as folder:
            rows += compare(model, feed, options, pathlib.Path(folder))
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.svg:
        options.svg.write_text(picture(rows))


if __name__ == "__main__":
    main()
