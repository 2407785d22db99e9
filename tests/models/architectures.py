"""architectures.py: the small models that export.py exports, and what their inputs are."""

import dataclasses
import math
from functools import partial

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from torchvision.models import detection

MODELS = {}


@dataclasses.dataclass
class Model:
    module: nn.Module
    inputs: list  # of input_of()
    dims: dict  # sizes by the names that input shapes hold
    outputs: list
    axes: dict  # by input or output: names of its dynamic axes
    takes_list: bool = False


def model(exporters):
    def register(make):
        make.exporters = exporters.split()
        MODELS[make.__name__] = make
        return make

    return register


# ---- inputs -------------------------------------------------------------------------------------

NORMAL = {"kind": "normal", "mean": 0.0, "std": 1.0}
UNIT = {"kind": "uniform", "low": 0.0, "high": 1.0}


def input_of(name, shape, values=None, dtype="FLOAT"):
    return {"name": name, "dtype": dtype, "shape": shape, "values": values or NORMAL}


def ids(name, vocabulary, shape):
    return input_of(name, shape, {"kind": "integers", "low": 0, "high": vocabulary}, "INT64")


def image_model(module, size, dynamic="batch", output="logits", **options):
    """One image of three channels to one output; `dynamic` names the dims that are not fixed."""
    shape = [n if n in dynamic.split() else s for n, s in (("batch", 1), ("height", size), ("width", size))]
    axes = {0: "batch", 2: "height", 3: "width"}
    axes = {a: n for a, n in axes.items() if n in dynamic.split()}
    dims = {n: 1 if n == "batch" else size for n in dynamic.split()}
    return Model(module.eval(), [input_of("image", [shape[0], 3, *shape[1:]])], dims, [output],
                 {"image": axes, output: {0: "batch"}} if axes else {}, **options)


# ---- weights that make every part of the graph count --------------------------------------------


def lively(module, linear=True):
    """No bias of all zeros, no norm weight of all ones: one that is left out must show. Linear
    weights get variance 1/fan_in, so that attention is not flat."""
    with torch.no_grad():
        for m in module.modules():
            if linear and type(m).__name__ in ("Linear", "Conv1D"):
                m.weight.normal_(0, 1 / math.sqrt(m.weight.shape[0 if type(m).__name__ == "Conv1D" else 1]))
            if not linear and isinstance(m, nn.Conv2d) and m.weight[0].numel() >= 8:
                m.weight -= m.weight.mean((1, 2, 3), keepdim=True)  # as if trained under batch norm
        for p in module.parameters():
            if p.numel() > 1 and float(p.std()) == 0:
                p.add_(torch.randn_like(p) * 0.05)
    return module


def settled(module, *batches):
    """With the running statistics of its batch norms from these inputs."""
    module.eval()
    for m in module.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            m.reset_running_stats()
            m.momentum = None
            m.train()
    with torch.no_grad():
        for batch in batches:
            module(batch)
    return module.eval()


# ---- images -------------------------------------------------------------------------------------


def small_resnet(planes=4):
    """Four stages of one or two bottleneck blocks; channels 16, 32, 64, 128."""
    net = torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10)
    net.inplanes = 8
    net.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
    net.bn1 = nn.BatchNorm2d(8)
    for k, blocks in enumerate((2, 1, 1, 1)):
        layer = net._make_layer(torchvision.models.resnet.Bottleneck, planes << k, blocks, 1 + (k > 0))
        setattr(net, f"layer{k + 1}", layer)
    net.fc = nn.Linear(planes * 32, 10)
    return net


@model("ts12 ts13 ts17bn dy18")
def resnet(exporter):
    net = settled(lively(small_resnet(), False), *torch.randn(2, 8, 3, 64, 64))
    return image_model(net, 64, {"ts12": "", "dy18": "batch height width"}.get(exporter, "batch"))


@model("ts13")
def resnet_fp16(exporter):
    m = resnet(exporter)
    m.inputs[0]["dtype"] = "FLOAT16"
    m.module.half()
    return m


@model("ts12 dy18")
def mobilenet_v2(exporter):
    settings = [[1, 8, 1, 1], [6, 8, 2, 2], [6, 16, 1, 2]]
    net = torchvision.models.MobileNetV2(10, inverted_residual_setting=settings)
    last = net.features[-1][0].in_channels
    net.features[-1] = torchvision.ops.Conv2dNormActivation(last, 64, kernel_size=1, activation_layer=nn.ReLU6)
    net.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(64, 10))
    net = settled(lively(net, False), *torch.randn(2, 8, 3, 32, 32))
    return image_model(net, 32, "batch height width" if exporter == "ts12" else "batch")


@model("ts13")
def mobilenet_v2_qdq(exporter):
    return mobilenet_v2(exporter)


@model("ts13 ts17 dy18")
def vit(exporter):
    import timm

    if exporter == "ts13":  # opset 13 has no fused attention
        timm.layers.set_fused_attn(False)
    net = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=32, depth=2,
                            num_heads=2, num_classes=10)
    return image_model(lively(net), 32)


class Features(nn.Module):
    """Three feature maps, by depthwise blocks with squeeze and excitation."""

    out_channels = (16, 24, 24)

    def __init__(self):
        super().__init__()
        config = torchvision.models.mobilenetv3.InvertedResidualConfig
        norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
        block = torchvision.models.mobilenetv3.InvertedResidual
        rows = [(8, 3, 16, 16, True, "RE", 2), (16, 5, 32, 24, True, "HS", 2), (24, 3, 32, 24, False, "HS", 2)]
        self.first = torchvision.ops.Conv2dNormActivation(3, 8, stride=2, norm_layer=norm,
                                                          activation_layer=nn.Hardswish)
        self.blocks = nn.ModuleList(block(config(*row, 1, 1.0), norm) for row in rows)

    def forward(self, x):
        x = self.first(x)
        maps = {}
        for k, block in enumerate(self.blocks):
            maps[str(k)] = x = block(x)
        return maps


def detector(net, size):
    net = settled(lively(net, False), *[[torch.rand(3, size, size) for _ in range(4)] for _ in range(2)])
    found = {n: {0: "found"} for n in ("boxes", "scores", "labels")}
    return Model(net, [input_of("image", [3, "height", "width"], UNIT)], {"height": size, "width": size},
                 list(found), {"image": {1: "height", 2: "width"}, **found}, takes_list=True)


@model("ts16")
def ssdlite(exporter):
    del exporter
    features = Features()
    anchors = detection.anchor_utils.DefaultBoxGenerator([[2, 3]] * 3, min_ratio=0.2, max_ratio=0.95)
    head = detection.ssdlite.SSDLiteHead(list(features.out_channels), anchors.num_anchors_per_location(), 5,
                                         partial(nn.BatchNorm2d, eps=0.001, momentum=0.03))
    net = detection.ssd.SSD(features, anchors, (64, 64), 5, head=head, score_thresh=0.001, nms_thresh=0.55,
                            detections_per_img=30, topk_candidates=40, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    return detector(net, 64)


@model("ts16")
def retinanet(exporter):
    del exporter
    body = torchvision.models.detection.backbone_utils.BackboneWithFPN(
        small_resnet(), {"layer2": "0", "layer3": "1", "layer4": "2"}, [32, 64, 128], 16,
        torchvision.ops.feature_pyramid_network.LastLevelP6P7(128, 16))
    sizes = tuple((x, int(x * 2 ** (1 / 3))) for x in (16, 24, 32, 48, 64))
    anchors = detection.anchor_utils.AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * 5)
    head = detection.retinanet.RetinaNetHead(16, anchors.num_anchors_per_location()[0], 5,
                                             norm_layer=partial(nn.GroupNorm, 4))
    net = detection.RetinaNet(body, 5, min_size=64, max_size=96, anchor_generator=anchors, head=head,
                              score_thresh=0.01, topk_candidates=60, detections_per_img=30)
    return detector(net, 64)


class Dense(nn.Module):
    """Five convolutions, each of which sees all before it."""

    def __init__(self, c=8, g=4):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(c + k * g, g if k < 4 else c, 3, 1, 1) for k in range(5))

    def forward(self, x):
        seen = [x]
        for conv in self.convs[:-1]:
            seen.append(F.leaky_relu(conv(torch.cat(seen, 1)), 0.2))
        return self.convs[-1](torch.cat(seen, 1)) * 0.2 + x


class UpScaler(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, 1, 1)
        self.parts = nn.Sequential(Dense(c), Dense(c))
        self.after, self.up1, self.up2, self.hr = (nn.Conv2d(c, c, 3, 1, 1) for _ in range(4))
        self.last = nn.Conv2d(c, 3, 3, 1, 1)

    def forward(self, image):
        x = self.first(image)
        x = x + self.after(self.parts(x) * 0.2 + x)
        x = F.leaky_relu(self.up1(F.interpolate(x, scale_factor=2.0, mode="nearest")), 0.2)
        x = F.leaky_relu(self.up2(F.interpolate(x, scale_factor=2.0, mode="nearest")), 0.2)
        return self.last(F.leaky_relu(self.hr(x), 0.2))


@model("ts13 dy18")
def rrdbnet(exporter):
    del exporter
    m = image_model(UpScaler(), 16, "batch height width", "upscaled")
    m.axes["upscaled"] = {0: "batch", 2: "height_x4", 3: "width_x4"}
    return m


class Calls(nn.Module):
    """A module under the names of its inputs, with tensors alone as results."""

    def __init__(self, inner, call):
        super().__init__()
        self.inner = inner
        self.call = call


class Unet(Calls):
    def forward(self, sample, timestep, encoder_hidden_states):
        return self.call(self.inner(sample, timestep, encoder_hidden_states, return_dict=False))


@model("ts17 dy18")
def unet(exporter):
    del exporter
    from diffusers import UNet2DConditionModel

    net = UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, block_out_channels=(16, 32), layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), norm_num_groups=8,
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=24, attention_head_dim=4)
    image = {0: "batch", 2: "height", 3: "width"}
    return Model(
        Unet(lively(net, False), lambda out: out[0]).eval(),
        [input_of("sample", ["batch", 4, "height", "width"]), ids("timestep", 1000, ["batch"]),
         input_of("encoder_hidden_states", ["batch", "tokens", 24])],
        {"batch": 2, "height": 16, "width": 8, "tokens": 5}, ["noise"],
        {"sample": image, "timestep": {0: "batch"}, "encoder_hidden_states": {0: "batch", 1: "tokens"},
         "noise": image})


# ---- text ---------------------------------------------------------------------------------------

TOKENS = 100
ROWS = ["batch", "seq"]


def attention_of(exporter):
    return "eager" if exporter in ("ts12", "ts13") else "sdpa"


def mask_input(shape):
    return input_of("attention_mask", shape, {"kind": "mask"}, "INT64")


def rows_axes(*names):
    return {n: {0: "batch", 1: "seq"} for n in names}


class Encoder(Calls):
    def forward(self, input_ids, attention_mask):
        return self.call(self.inner(input_ids=input_ids, attention_mask=attention_mask))


class Bert(Calls):
    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.call(self.inner(input_ids=input_ids, attention_mask=attention_mask,
                                    token_type_ids=token_type_ids))


def bert_inner(attention):
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=TOKENS, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=64, max_position_embeddings=64)
    config._attn_implementation = attention
    return lively(BertModel(config))


@model("ts13 ts17 dy18 dy23")
def bert(exporter):
    net = Bert(bert_inner(attention_of(exporter)), lambda o: (o.last_hidden_state, o.pooler_output))
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    return Model(net.eval(), [ids("input_ids", TOKENS, ROWS), mask_input(ROWS), ids("token_type_ids", 2, ROWS)],
                 {"batch": 1, "seq": 16}, ["last_hidden_state", "pooler_output"],
                 {**rows_axes(*inputs, "last_hidden_state"), "pooler_output": {0: "batch"}})


def encoder(net):
    return Model(Encoder(net, lambda o: o.last_hidden_state).eval(),
                 [ids("input_ids", TOKENS, ROWS), mask_input(ROWS)], {"batch": 1, "seq": 16},
                 ["last_hidden_state"], rows_axes("input_ids", "attention_mask", "last_hidden_state"))


@model("ts13")
def bert_dynq(exporter):
    return encoder(bert_inner(attention_of(exporter)))


@model("ts13 dy18")
def t5_encoder(exporter):
    from transformers import T5Config, T5EncoderModel

    # Of 100, not 128: log(distance / 8) / log(128 / 8) * 8 is a whole number at 16 and 32, where its
    # floor hangs on the last bit.
    config = T5Config(vocab_size=TOKENS, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                      relative_attention_max_distance=100)
    config._attn_implementation = attention_of(exporter)
    return encoder(lively(T5EncoderModel(config), False))


class Step(nn.Module):
    """One step of a decoder: ids, mask and cache to logits and cache."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask, *past):
        from transformers import DynamicCache

        cache = DynamicCache()
        for k in range(len(past) // 2):
            cache.update(past[2 * k], past[2 * k + 1], k)
        o = self.inner(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache,
                       use_cache=True)
        return (o.logits, *(t for layer in o.past_key_values.layers for t in (layer.keys, layer.values)))


class Prefill(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask):
        return self.inner(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits


def prefill(net):
    return Model(Prefill(net).eval(), [ids("input_ids", TOKENS, ROWS), mask_input(ROWS)],
                 {"batch": 1, "seq": 16}, ["logits"], rows_axes("input_ids", "attention_mask", "logits"))


def step(net, heads, size, layers=2):
    inputs = [ids("input_ids", TOKENS, ROWS), mask_input(["batch", "past+seq"])]
    axes = {**rows_axes("input_ids", "logits"), "attention_mask": {0: "batch", 1: "past_plus_seq"}}
    outputs = ["logits"]
    for k in range(layers):
        for part in ("key", "value"):
            inputs.append(input_of(f"past_key_values.{k}.{part}", ["batch", heads, "past", size]))
            axes[inputs[-1]["name"]] = {0: "batch", 2: "past"}
            outputs.append(f"present.{k}.{part}")
            axes[outputs[-1]] = {0: "batch", 2: "past_plus_seq"}
    return Model(Step(net).eval(), inputs, {"batch": 1, "seq": 1, "past": 15}, outputs, axes)


def codegen_inner(exporter):
    from transformers import CodeGenConfig, CodeGenForCausalLM

    config = CodeGenConfig(vocab_size=TOKENS, n_positions=64, n_ctx=64, n_embd=64, n_layer=2, n_head=4,
                           rotary_dim=8)
    config._attn_implementation = attention_of(exporter)
    return lively(CodeGenForCausalLM(config))


@model("ts13 dy18")
def codegen(exporter):
    return prefill(codegen_inner(exporter))


@model("ts13 dy18")
def codegen_decode(exporter):
    return step(codegen_inner(exporter), 4, 16)


@model("dy18")
def llama_decode(exporter):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=TOKENS, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=64,
                         rms_norm_eps=1e-5, tie_word_embeddings=True)
    config._attn_implementation = attention_of(exporter)
    return step(lively(LlamaForCausalLM(config)), 2, 8)


# ---- sound and sequences ------------------------------------------------------------------------


class Sound(Calls):
    def forward(self, input_features):
        return self.call(self.inner(input_features))


@model("ts17 dy18")
def whisper_encoder(exporter):
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(vocab_size=TOKENS, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=1,
                           encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
                           decoder_ffn_dim=64, max_source_positions=20, max_target_positions=20,
                           pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)
    config._attn_implementation = attention_of(exporter)
    net = Sound(lively(WhisperModel(config).get_encoder()), lambda o: o.last_hidden_state)
    return Model(net.eval(), [input_of("input_features", ["batch", 16, 40])], {"batch": 1},
                 ["last_hidden_state"], {"input_features": {0: "batch"}, "last_hidden_state": {0: "batch"}})


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(TOKENS, 16)
        self.lstm = nn.LSTM(16, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(48, 5)

    def forward(self, input_ids):
        y, (h, _) = self.lstm(self.table(input_ids))
        last = torch.cat([h[-2], h[-1]], 1)
        return torch.softmax(self.out(torch.cat([y.mean(1), last], 1)) * 4, -1)


@model("ts13 dy18")
def lstm_classifier(exporter):
    del exporter
    return Model(Classifier().eval(), [ids("input_ids", TOKENS, ROWS)], {"batch": 1, "seq": 11},
                 ["probabilities"], {**rows_axes("input_ids"), "probabilities": {0: "batch"}})


def decode(h, start, table, w_ih, w_hh, b_ih, b_hh, w_out, b_out, steps: int):
    token = start
    tokens = start.unsqueeze(1)
    score = torch.zeros_like(h[:, 0])
    for _ in range(steps):
        ri, zi, ni = (torch.matmul(table[token], w_ih) + b_ih).chunk(3, 1)
        rh, zh, nh = (torch.matmul(h, w_hh) + b_hh).chunk(3, 1)
        z = torch.sigmoid(zi + zh)
        h = (1 - z) * torch.tanh(ni + torch.sigmoid(ri + rh) * nh) + z * h
        p = torch.log_softmax(torch.matmul(h, w_out) + b_out, -1)
        best, token = p.max(-1)
        if bool(best.mean() < -2.0):
            score = score + best * 0.5
        else:
            score = score + best
        tokens = torch.cat([tokens, token.unsqueeze(1)], 1)
    return tokens, score


class Greedy(nn.Module):
    """An encoder and a scripted loop: values carried and growing, a branch inside."""

    SIZES = {"table": (30, 12), "w_ih": (12, 48), "w_hh": (16, 48), "b_ih": (48,), "b_hh": (48,),
             "w_out": (16, 30), "b_out": (30,)}

    def __init__(self):
        super().__init__()
        self.scripted = torch.jit.script(decode)
        self.encoder = nn.GRU(10, 16, batch_first=True)
        for name, shape in self.SIZES.items():
            scale = 1 if name == "table" else math.sqrt(shape[0])
            setattr(self, name, nn.Parameter(torch.randn(*shape) / scale))

    def forward(self, frames, start):
        _, h = self.encoder(frames)
        return self.scripted(h[0], start, *(getattr(self, n) for n in self.SIZES), 6)


@model("ts13")
def gru_greedy_loop(exporter):
    del exporter
    return Model(Greedy().eval(), [input_of("frames", ["batch", "time", 10]), ids("start", 30, ["batch"])],
                 {"batch": 2, "time": 9}, ["tokens", "score"],
                 {"frames": {0: "batch", 1: "time"}, "start": {0: "batch"},
                  "tokens": {0: "batch", 1: "length"}, "score": {0: "batch"}})
