"""Trains the digit classifier of this folder on optdigits, the scanned digits that scikit-learn ships, and writes
digits.onnx, twenty held-back pictures with labels.json, and expected.json, what ONNX Runtime answers for them.

    pip install torch scikit-learn pillow onnx onnxruntime && python examples/digits/train.py

With --expected only expected.json is made anew, from the model and the pictures that are there.
"""

import json
import pathlib
import sys

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
SIDE = 32
EPOCHS, BATCH, PICTURES = 25, 64, 20


def build_network():
    """A residual CNN of about 78,000 parameters: image [B,1,32,32] in 0..1 -> probabilities [B,10]."""
    from torch import nn
    from torch.nn import functional

    class Residual(nn.Module):
        def __init__(self, channels_in, channels_out, stride):
            super().__init__()
            self.c1 = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
            self.b1 = nn.BatchNorm2d(channels_out)
            self.c2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
            self.b2 = nn.BatchNorm2d(channels_out)
            self.sc = nn.Identity()
            if channels_in != channels_out or stride != 1:
                self.sc = nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False),
                                        nn.BatchNorm2d(channels_out))

        def forward(self, x):
            inner = functional.relu(self.b1(self.c1(x)))
            return functional.relu(self.b2(self.c2(inner)) + self.sc(x))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16),
                                      nn.ReLU(), nn.MaxPool2d(2))
            self.l1, self.l2, self.l3 = Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2)
            self.fc = nn.Linear(64, 10)

        def forward(self, image):
            features = self.l3(self.l2(self.l1(self.stem(image)))).mean((2, 3))
            return functional.softmax(self.fc(features), -1)

    return Network()


def enlarge(images):
    """[B,1,8,8] -> [B,1,32,32]."""
    from torch.nn import functional
    return functional.interpolate(images, size=(SIDE, SIDE), mode="bilinear", align_corners=False)


def jitter(images):
    """Turns, scales and shifts each picture a little and adds noise."""
    import torch
    from torch.nn import functional
    count = len(images)
    angle = (torch.rand(count) - .5) * .5
    scale = 1 + (torch.rand(count) - .5) * .25
    transform = torch.zeros(count, 2, 3)
    transform[:, 0, 0], transform[:, 0, 1] = scale * angle.cos(), -angle.sin()
    transform[:, 1, 0], transform[:, 1, 1] = angle.sin(), scale * angle.cos()
    transform[:, :, 2] = (torch.rand(count, 2) - .5) * .25
    grid = functional.affine_grid(transform, images.shape, align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False) + .05 * torch.randn_like(images)


def train():
    """Trains, prints the accuracy on held-back digits, and writes the model, the pictures and their labels."""
    import torch
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from torch.nn import functional
    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(digits.target)
    training, held_back = train_test_split(np.arange(len(labels)), test_size=.25, random_state=0,
                                           stratify=digits.target)
    network = build_network()
    steps = len(training) // BATCH
    optimizer = torch.optim.AdamW(network.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=EPOCHS * steps)
    for epoch in range(EPOCHS):
        network.train()
        order = torch.tensor(np.random.default_rng(epoch).permutation(training))
        for batch in order[:steps * BATCH].split(BATCH):
            probabilities = network(jitter(enlarge(images[batch])))
            loss = functional.nll_loss((probabilities + 1e-9).log(), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    network.eval()
    with torch.no_grad():
        right = network(enlarge(images[held_back])).argmax(1) == labels[held_back]
    print(f"accuracy {right.float().mean():.4f} on {len(held_back)} held-back digits")
    torch.onnx.export(network, (torch.zeros(1, 1, SIDE, SIDE),), str(HERE / "digits.onnx"),
                      input_names=["image"], output_names=["probabilities"], opset_version=17,
                      dynamic_axes={"image": {0: "batch"}, "probabilities": {0: "batch"}}, dynamo=False)
    answers = {}
    for number, index in enumerate(held_back[:PICTURES]):
        pixels = (enlarge(images[index:index + 1])[0, 0].clamp(0, 1) * 255).round().byte().numpy()
        name = f"digit_{number:02d}.png"
        Image.fromarray(pixels).save(HERE / name)
        answers[name] = int(labels[index])
    (HERE / "labels.json").write_text(json.dumps(answers, indent=1) + "\n")


def write_expected():
    """Writes what ONNX Runtime answers for the pictures."""
    import onnxruntime
    session = onnxruntime.InferenceSession(HERE / "digits.onnx", providers=["CPUExecutionProvider"])
    labels = json.loads((HERE / "labels.json").read_text())
    expected, right = {}, 0
    for name, label in labels.items():
        image = np.asarray(Image.open(HERE / name), np.float32)[None, None] / 255
        probabilities = session.run(None, {"image": image})[0][0]
        expected[name] = [float(f"{p:.9g}") for p in probabilities]
        right += int(probabilities.argmax() == label)
    rows = (f"{json.dumps(name)}: {json.dumps(values)}" for name, values in expected.items())
    (HERE / "expected.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{right} of {len(labels)} pictures right")


if __name__ == "__main__":
    if "--expected" not in sys.argv[1:]:
        train()
    write_expected()
