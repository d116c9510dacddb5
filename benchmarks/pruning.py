"""What pruning keeps and saves, on scikit-learn's digits: three seeds with their spread.

    python benchmarks/pruning.py [--seeds 3]

A small residual network is trained, then pruned by a quarter and by a half: accuracy without any
training and after one epoch, the operations that are left, and the time of a training step beside
the original's, measured in turns. Needs scikit-learn. About two minutes.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

from quickfit.compression.batch_norm import recalibrated
from quickfit.compression.copying import copied
from quickfit.compression.flops import flops
from quickfit.compression.pruning import pruned

WIDTH, TRAINED, ROUNDS = 16, 1257, 12
RATIOS = (0.25, 0.5)


@dataclass(frozen=True)
class Demand:
    """What a row of the table must reach: points of accuracy lost, shares left, both at most."""

    untrained: float
    tuned: float
    flops: float
    step: float


DEMANDS = {0.25: Demand(0.02, 0.01, 0.6, 1.05), 0.5: Demand(0.06, 0.03, 0.3, 0.8)}


def main() -> int:
    """Measure and print the table; return 1 where a demand is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    results = [measured(seed) for seed in seeds]
    bases = [base for base, _ in results]
    print(f"accuracy of the original: {spread(bases)}")
    print(f"{'ratio':>6} {'untrained':>20} {'after an epoch':>20} {'FLOPs':>6} {'step':>18}")
    missed = 0
    for ratio in RATIOS:
        rows = [row[ratio] for _, row in results]
        cells = [spread([row[i] for row in rows]) for i in (0, 1, 3)]
        print(f"{ratio:>6} {cells[0]:>20} {cells[1]:>20} {rows[0][2]:>6.2f} {cells[2]:>18}")
        missed += verdict(ratio, bases, rows)
    return int(missed > 0)


def verdict(ratio: float, bases: list[float], rows: list[tuple[float, ...]]) -> int:
    """Print which demands are missed, on the mean over the seeds; return how many."""
    demand, base = DEMANDS[ratio], statistics.mean(bases)
    means = [statistics.mean(row[i] for row in rows) for i in range(4)]
    checks = {
        "accuracy without training": base - means[0] <= demand.untrained,
        "accuracy after an epoch": base - means[1] <= demand.tuned,
        "operations": means[2] <= demand.flops,
        "step time": means[3] <= demand.step,
    }
    for name, is_met in checks.items():
        if not is_met:
            print(f"       missed: {name}")
    return sum(not is_met for is_met in checks.values())


def spread(values: list[float]) -> str:
    """Return mean, least and most."""
    return f"{statistics.mean(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def measured(seed: int) -> tuple[float, dict[float, tuple[float, float, float, float]]]:
    """Train a network and prune it; return its accuracy and a row per ratio."""
    keras.utils.set_random_seed(seed)
    (x, y), (test_x, test_y) = digits(seed)
    model = network()
    fit(model, x, y, epochs=6, learning_rate=2e-3)
    rows = {}
    for ratio in RATIOS:
        student = pruned(model, x, ratio=ratio, seed=seed).model
        untrained = accuracy(student, test_x, test_y)
        left = flops(student).total / flops(model).total
        step = step_ratio(model, student, x, y)
        fit(student, x, y, epochs=1, learning_rate=3e-4)
        tuned = recalibrated(student, x)
        best = max((student, tuned), key=lambda one: accuracy(one, x, y))
        rows[ratio] = (untrained, accuracy(best, test_x, test_y), left, step)
    return accuracy(model, test_x, test_y), rows


def digits(seed: int) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return training and test images, 16×16, shuffled."""
    found = load_digits()
    images = np.kron(found.images / 16, np.ones((1, 2, 2)))[..., None].astype("float32")
    order = np.random.default_rng(seed).permutation(len(images))
    x, y = images[order], found.target[order]
    return (x[:TRAINED], y[:TRAINED]), (x[TRAINED:], y[TRAINED:])


def network() -> keras.Model:
    """Return a residual network of 36 thousand weights."""
    inputs = keras.Input((16, 16, 1))
    x = shortcut = convolved(inputs, WIDTH)
    x = convolved(convolved(x, WIDTH), WIDTH, activation=False)
    x = layers.MaxPooling2D()(layers.ReLU()(layers.Add()([x, shortcut])))
    x = layers.MaxPooling2D()(convolved(convolved(x, 2 * WIDTH), 2 * WIDTH))
    x = layers.GlobalAveragePooling2D()(convolved(x, 4 * WIDTH))
    return keras.Model(inputs, layers.Dense(10)(x))


def convolved(x: object, filters: int, *, activation: bool = True) -> object:
    """Return a convolution with normalization of a tensor."""
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization(momentum=0.9)(x)
    return layers.ReLU()(x) if activation else x


def fit(
    model: keras.Model, x: np.ndarray, y: np.ndarray, *, epochs: int, learning_rate: float
) -> None:
    """Train a model."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(learning_rate), loss)
    model.fit(x, y, epochs=epochs, batch_size=64, verbose=0)


def accuracy(model: keras.Model, x: np.ndarray, y: np.ndarray) -> float:
    """Return the share of images that a model knows."""
    return float(np.mean(np.argmax(model.predict(x, batch_size=512, verbose=0), -1) == y))


def step_ratio(model: keras.Model, student: keras.Model, x: np.ndarray, y: np.ndarray) -> float:
    """Return the time of a training step of the student, as a share; the fastest of both, in turns.

    Copies are trained, so that both models stay as they are.
    """
    pair = [copied(model), copied(student)]
    for one in pair:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        one.compile(keras.optimizers.Adam(1e-4), loss)
    batch = x[:64], y[:64]
    best = [float("inf")] * 2
    for turn in range(ROUNDS + 1):
        for number, one in enumerate(pair):
            start = time.perf_counter()
            for _ in range(5):
                one.train_on_batch(*batch)
            if turn:  # the first one builds the step
                best[number] = min(best[number], time.perf_counter() - start)
    return best[1] / best[0]


if __name__ == "__main__":
    raise SystemExit(main())
