#!/usr/bin/env python3
"""Exports small models of known architectures with PyTorch's own exporters, as skeletons.

    export.py --list
    export.py OUT [NAME...]     all of them without names; each in a process of its own

No test runs it: what it makes lies in tiny/. NAME is MODEL_ts13 (the TorchScript-based exporter,
opset 13) or MODEL_dy18 (the torch.export-based one, opset 18); fill.py makes whole models of them.
Made with torch 2.15.0, torchvision 0.29.2, timm 1.0.31, transformers 5.24.0, diffusers 0.42.1,
onnxscript 0.7.2, onnx 1.22.0, onnxruntime 1.32.0, numpy 2.4.6.
"""

import base64
import json
import multiprocessing
import pathlib
import sys
import tempfile
import warnings
import zlib

import architectures
import fill
import numpy as np
import onnx
import onnx.numpy_helper
import torch

# ---- quantisation -------------------------------------------------------------------------------


def quantise(name, path, about):
    from onnxruntime import quantization as q

    out = path.with_name(path.stem + "_q.onnx")
    if "_dynq_" in name:
        q.quantize_dynamic(path, out, weight_type=q.QuantType.QInt8)
        return out

    class Reader(q.CalibrationDataReader):
        left = 4

        def get_next(self):
            self.left -= 1
            feed = fill.make_inputs(about)
            return {k: v + 0.1 * self.left for k, v in feed.items()} if self.left >= 0 else None

    q.quantize_static(path, out, Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True,
                      activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8)
    return out


# ---- export -------------------------------------------------------------------------------------

# Sizes of the example: a 1 would be taken as fixed, and equal sizes as one.
EXAMPLE = {"batch": 2, "seq": 6, "past": 5, "tokens": 7}


def export(name, folder):
    key, exporter = name.rsplit("_", 1)
    torch.manual_seed(20)
    m = architectures.MODELS[key](exporter)
    about = {"name": name, "inputs": m.inputs, "dims": m.dims}
    example = fill.make_inputs(about, {k: EXAMPLE.get(k, v) for k, v in m.dims.items()})
    args = tuple(torch.from_numpy(v) for v in example.values())
    if m.takes_list:  # detectors take a list of images
        args = ([args[0]],)
    path = folder / f"{name}.onnx"
    names = [spec["name"] for spec in m.inputs]
    opset = int(exporter[2:].removesuffix("bn"))
    common = {"opset_version": opset, "input_names": names, "output_names": m.outputs}
    with torch.no_grad():
        if exporter.startswith("ts"):
            unfolded = exporter.endswith("bn")
            mode = torch.onnx.TrainingMode
            torch.onnx.export(m.module, args, path, dynamo=False, dynamic_axes=m.axes,
                              do_constant_folding=not unfolded,
                              training=mode.PRESERVE if unfolded else mode.EVAL, **common)
        else:
            shapes = [{a: torch.export.Dim.DYNAMIC for a in m.axes.get(n, {})} for n in names]
            if any(n.startswith("past_key_values") for n in names):
                shapes = [*shapes[:2], tuple(shapes[2:])]
            torch.onnx.export(m.module, args, path, dynamo=True, dynamic_shapes=tuple(shapes),
                              external_data=True, **common)
    if "_qdq_" in name or "_dynq_" in name:
        path = quantise(name, path, about)
    return path, about


# ---- skeletons ----------------------------------------------------------------------------------

KEPT_BYTES = 1024  # tensors up to this size stay in the graph


def packed(array):
    return {"kind": "exact", "zlib_b64": base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()}


def record_of_reals(a, stream):
    f = a.reshape(-1).astype(np.float64)
    head = a.tobytes()[: 1 << 18]
    if not np.isfinite(f).all() or len(zlib.compress(head)) < 0.25 * len(head):  # tables and masks
        return packed(a)
    record = {"kind": "normal", "mean": float(f.mean()), "std": float(f.std()), "stream": stream}
    if f.min() > 0:
        record["min"] = float(f.min())
    rows = f.reshape(a.shape[0], -1)
    limit = 5e-3 if a.dtype == np.float16 else 1e-4
    if a.ndim == 4 and rows.shape[1] >= 8 and (abs(rows.mean(1)) <= limit * rows.std(1) + 1e-12).all():
        record["center"] = True
    return record


def record_of(a, name, stream):
    """How to make such a tensor again, or None to keep it in the graph."""
    kind = onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(a.dtype))
    if a.nbytes <= KEPT_BYTES or kind not in fill.DTYPES:
        return None
    head = {"name": name, "dtype": kind, "shape": list(a.shape)}
    flat = a.reshape(-1)
    if (flat == flat[0]).all():
        return {**head, "kind": "fill", "value": flat[0].item()}
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] and (a == np.tril(np.ones(a.shape[-2:], a.dtype))).all():
        return {**head, "kind": "tril"}
    if a.dtype.kind == "f":
        return {**head, **record_of_reals(a, stream)}
    if a.dtype in (np.int8, np.uint8) and a.nbytes > 2048:
        limits = np.iinfo(a.dtype)
        std = float(flat.astype(np.float64).std())
        return {**head, "kind": "normal_int", "mean": float(flat.mean()), "std": std,
                "range": [limits.min, limits.max], "stream": stream}
    return {**head, **packed(a)}


def clean_entries(holder):
    """Notes of exporters hold paths of one machine, or are merely large."""
    holder.doc_string = ""
    del holder.metadata_props[:]


def clean(graph):
    clean_entries(graph)
    for node in graph.node:
        clean_entries(node)
        for attribute in node.attribute:
            attribute.doc_string = ""
            if attribute.HasField("g"):
                clean(attribute.g)
    for holder in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        clean_entries(holder)


def write_skeleton(path, about, out):
    model = onnx.load(path)
    records = []
    for tensor in fill.tensors_of(model):
        if tensor.data_type == onnx.TensorProto.STRING or not tensor.dims:
            continue
        record = record_of(onnx.numpy_helper.to_array(tensor), tensor.name, len(records))
        if record is None:
            continue
        for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "raw_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        del tensor.external_data[:]
        tensor.external_data.add(key="location", value=fill.MARK + str(len(records)))
        records.append(record)
    clean(model.graph)
    clean_entries(model)
    skeleton = out / f"{about['name']}.onnx"
    skeleton.write_bytes(model.SerializeToString())
    lines = ",\n".join("  " + json.dumps(r) for r in records)
    head = json.dumps(about, indent=1)[:-2]
    skeleton.with_suffix(".json").write_text(f'{head},\n "tensors": [\n{lines}\n ]\n}}\n')
    return f"{about['name']}: {skeleton.stat().st_size} bytes, {len(model.graph.node)} nodes"


def export_one(name, out):
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path, about = export(name, pathlib.Path(folder))
        print(write_skeleton(path, about, out), flush=True)


def main(arguments):
    every = [f"{key}_{e}" for key, make in architectures.MODELS.items() for e in make.exporters]
    if arguments == ["--list"]:
        print(*every, sep="\n")
        return 0
    failed = 0
    for name in arguments[1:] or every:
        # Exporters leave traces in the process, such as patched functions.
        target = {"target": export_one, "args": (name, pathlib.Path(arguments[0]))}
        child = multiprocessing.get_context("fork").Process(**target)
        child.start()
        child.join()
        if child.exitcode:
            failed += 1
            print(f"{name}: failed", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
