# EXPECT: losses.append(float(loss)) after every compiled step forces a host sync/Python round trip per step; model is tiny, so loop overhead dominates
# TWIST: none
"""Toy spiral MLP. Usage: python 13_float_loss.py [--epochs N]"""
import argparse
import os
import time
from typing import Tuple

import numpy as np
import tensorflow as tf


def spiral(n: int, k: int = 3) -> Tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(17)
    lab = rng.integers(0, k, n)
    r = rng.random(n)
    th = 4.0 * r + 2 * np.pi * lab / k + 0.15 * rng.standard_normal(n)
    return np.stack([r * np.cos(th), r * np.sin(th)], 1).astype(np.float32), lab.astype(np.int64)


def load(folder: str) -> Tuple[np.ndarray, np.ndarray]:
    path = os.path.join(folder, "spiral.npz")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        x, y = spiral(3200)
        np.savez(path, x=x, y=y)
    with np.load(path) as z:
        return z["x"], z["y"]


model = tf.keras.Sequential([
    tf.keras.Input((2,)),
    tf.keras.layers.Dense(24, activation="tanh"),
    tf.keras.layers.Dense(24, activation="tanh"),
    tf.keras.layers.Dense(3),
])
opt = tf.keras.optimizers.SGD(0.1, momentum=0.9)
ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        loss = ce(yb, model(xb, training=True))
    g = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(g, model.trainable_variables))
    return loss


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=24)
    ap.add_argument("--bs", type=int, default=16)
    a = ap.parse_args()

    x, y = load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "float_loss"))
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096).batch(a.bs)
    losses = []
    t0 = time.perf_counter()
    for e in range(a.epochs):
        n0 = len(losses)
        for xb, yb in ds:
            loss = train_step(xb, yb)
            losses.append(float(loss))
        print(f"epoch {e + 1:>2}: loss = {np.mean(losses[n0:]):.4f}")
    dt = time.perf_counter() - t0
    acc = np.mean(np.argmax(model(x).numpy(), 1) == y)
    print(f"{len(losses)} steps, {len(losses) / dt:.0f} steps/s, train acc {acc:.3f}")


if __name__ == "__main__":
    main()
