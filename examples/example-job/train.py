"""Task 1 of the example: learn to read digits, with a small neural network in plain numpy."""

import os
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # these matrices are too small to share out

import numpy as np

import digits
from run_folder import model_path

HIDDEN = 128
EPOCHS = 32
BATCH = 32
RATE = 0.05
WEIGHT_DECAY = 1e-4


def initial_weights(random):
    """Two layers of weights and biases."""
    inputs = digits.SIDE * digits.SIDE
    return {
        "w1": random.normal(0, np.sqrt(2 / inputs), (inputs, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": random.normal(0, np.sqrt(2 / HIDDEN), (HIDDEN, digits.CLASSES)),
        "b2": np.zeros(digits.CLASSES),
    }


def forward(weights, images):
    """Activations of the hidden layer and the probability of each digit."""
    hidden = np.maximum(images @ weights["w1"] + weights["b1"], 0)
    scores = hidden @ weights["w2"] + weights["b2"]
    scores -= scores.max(axis=1, keepdims=True)
    likely = np.exp(scores)
    return hidden, likely / likely.sum(axis=1, keepdims=True)


def step(weights, images, labels, rate):
    """One step down the gradient of the cross-entropy of a batch; returns its mean."""
    hidden, likely = forward(weights, images)
    rows = np.arange(len(labels))
    loss = -np.log(likely[rows, labels] + 1e-12).mean()
    slope = likely
    slope[rows, labels] -= 1
    slope /= len(labels)
    back = (slope @ weights["w2"].T) * (hidden > 0)
    gradients = {
        "w1": images.T @ back,
        "b1": back.sum(axis=0),
        "w2": hidden.T @ slope,
        "b2": slope.sum(axis=0),
    }
    for name, gradient in gradients.items():
        weights[name] -= rate * (gradient + WEIGHT_DECAY * weights[name])
    return loss


def accuracy(weights, images, labels):
    """Share of the pictures whose digit is read correctly."""
    return float((forward(weights, images)[1].argmax(axis=1) == labels).mean())


def save(weights, target):
    """Put the model in place whole or not at all: write beside it, then rename."""
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    with open(beside, "wb") as file:
        np.savez(file, **weights)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, target)


def main():
    """Train and save."""
    target = model_path()
    target.unlink(missing_ok=True)
    began = time.monotonic()
    random = np.random.default_rng(0)
    images, labels = digits.training_pictures()
    device = os.environ.get("NVIDIA_VISIBLE_DEVICES", "none")
    print(f"train: {len(labels)} pictures of digits, GPU device {device}", flush=True)
    weights = initial_weights(random)
    for epoch in range(1, EPOCHS + 1):
        order = random.permutation(len(labels))
        rate = RATE * (1 - (epoch - 1) / EPOCHS)
        losses = [
            step(weights, images[order[at : at + BATCH]], labels[order[at : at + BATCH]], rate)
            for at in range(0, len(order), BATCH)
        ]
        if epoch % 4 == 0 or epoch == 1:
            right = accuracy(weights, images, labels)
            loss = np.mean(losses)
            print(f"train: epoch {epoch}/{EPOCHS} loss {loss:.3f} accuracy {right:.1%}", flush=True)
    save(weights, target)
    print(f"train: model ready after {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
