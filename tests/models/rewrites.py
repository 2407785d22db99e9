"""rewrites.py: what tools that people use make of a model before it is compiled."""

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.capi import _pybind_state as native

# Transformers in which onnxruntime's script finds attention and embeddings, or norms: kind, heads, width.
FUSED = {"bert_ts13": ("bert", 4, 32), "codegen_ts13": ("gpt2", 0, 0), "llama_decode_dy18": ("gpt2", 0, 0),
         "t5_encoder_ts13": ("t5", 0, 0), "vit_ts17": ("vit", 0, 0), "whisper_encoder_ts17": ("bart", 0, 0)}
# Those that are quantized after training, as a whole, and those whose products are of a few bits.
INTEGER = ("bert_ts13", "resnet_ts13")
FEW_BITS = ("codegen_ts13", "llama_decode_dy18")


def slim(path, out):
    import onnxslim

    onnx.save(onnxslim.slim(str(path)), out)


def simplify(path, out):
    import onnxsim

    model, agrees = onnxsim.simplify(str(path), check_n=0)
    assert agrees
    onnx.save(model, out)


def optimise(path, out, level):
    """onnxruntime's optimiser: with its own operators from the level EXTENDED on, with layouts for
    this machine at ALL."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def basic(path, out):
    optimise(path, out, "BASIC")


def extended(path, out):
    optimise(path, out, "EXTENDED")


def everything(path, out):
    optimise(path, out, "ALL")


def that_keep_numbers(name):
    return [slim, simplify, basic, extended, everything]


# ---- other numbers ------------------------------------------------------------------------------


def fuse(name):
    """onnxruntime's script for transformers, which takes each mask for one of padding on the right."""
    from onnxruntime.transformers import optimizer

    kind, heads, width = FUSED[name]

    def fused(path, out):
        made = optimizer.optimize_model(str(path), kind, heads, width, opt_level=0, only_onnxruntime=False)
        made.save_model_to_file(str(out))

    return fused


def dynamic(path, out):
    quantization.quantize_dynamic(path, out)


def static(form, feeds):
    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = list(feeds)

        def get_next(self):
            return self.left.pop() if self.left else None

    def quantized(path, out):
        quantization.quantize_static(path, out, Reader(), quant_format=quantization.QuantFormat[form])

    quantized.__name__ = form
    return quantized


def few_bits(path, out, block=16):
    """Products with constants by those of 4 bits, packed as onnxruntime's own script does."""
    model = onnx.load(path)
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        weights = held.get(node.input[1]) if node.op_type == "MatMul" else None
        if weights is None or len(weights.dims) != 2:
            continue
        rows, columns = weights.dims
        blocks = -(-rows // block)
        parts = [np.zeros((columns, blocks, block // 2), np.uint8), np.zeros(columns * blocks, np.float32),
                 np.zeros(columns * ((blocks + 1) // 2), np.uint8)]
        reals = onnx.numpy_helper.to_array(weights)
        native.quantize_matmul_4bits(parts[0], reals, *parts[1:], block, columns, rows, False)
        names = [f"{node.input[1]}_{node.output[0]}_{k}" for k in range(3)]
        model.graph.initializer.extend(map(onnx.numpy_helper.from_array, parts, names))
        made = onnx.helper.make_node("MatMulNBits", [node.input[0], *names], node.output, node.name,
                                     domain="com.microsoft", K=rows, N=columns, bits=4, block_size=block)
        node.CopyFrom(made)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, out)


def that_change_numbers(name, feeds):
    made = [fuse(name)] if name in FUSED else []
    if name in INTEGER:
        made += [dynamic, static("QOperator", feeds), static("QDQ", feeds)]
    return made + ([few_bits] if name in FEW_BITS else [])


def uses_blocks(path):
    """Whether channels lie in blocks, as onnxruntime has them for the machine that it runs on."""
    return any(node.domain == "com.microsoft.nchwc" for node in onnx.load(path).graph.node)
