"""What the guard costs: one step of a CNN and of a tiny MLP, plain and guarded, taken in turn.

    python benchmarks/guard_cost.py [rounds]

Prints the fastest of the rounds and the median of the ratios. At most 10 % on the CNN is the
demand.
"""

import os
import statistics
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from quickfit.tuning.numerics import GuardedOptimizer, guard_model


def cnn():
    """Return a small CNN for 32×32 images."""
    block = [
        part
        for width in (16, 32, 64)
        for part in (
            layers.Conv2D(width, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
        )
    ]
    return keras.Sequential([keras.Input((32, 32, 3)), *block, layers.Flatten(), layers.Dense(10)])


def mlp():
    """Return the worst case: a step with hardly any work."""
    return keras.Sequential([keras.Input((16,)), layers.Dense(32), layers.Dense(10)])


def step_of(build, guard, **options):
    """Return a function that takes one step as `fit` does, on one batch that is held."""
    keras.utils.set_random_seed(0)
    model = build()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam()
    model.compile(
        GuardedOptimizer(optimizer) if guard == "optimizer" else optimizer, loss, **options
    )
    if guard == "model":
        guard_model(model)
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(32, *model.input_shape[1:])), tf.float32)
    y = tf.constant(rng.integers(0, 10, 32))
    data = iter(tf.data.Dataset.from_tensors((x, y)).repeat())
    model.make_train_function()
    return lambda: model.train_function(data)


def main():
    """Measure every pair and print a line for each."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    cases = [("CNN", cnn, {}), ("CNN, XLA", cnn, {"jit_compile": True}), ("tiny MLP", mlp, {})]
    for name, build, options in cases:
        steps = {guard: step_of(build, guard, **options) for guard in ("no", "optimizer", "model")}
        times = {guard: [] for guard in steps}
        for number in range(rounds + 5):
            for guard, step in steps.items():
                begun = time.perf_counter()
                step()
                if number >= 5:
                    times[guard].append(time.perf_counter() - begun)
        plain = times.pop("no")
        said = [f"{name:<9} plain {min(plain) * 1e3:.2f} ms"]
        for guard, each in times.items():
            ratio = statistics.median(b / a for a, b in zip(plain, each, strict=True))
            said.append(f"guarded {guard} {min(each) * 1e3:.2f} ms (median ratio {ratio:.3f})")
        print("  ".join(said), flush=True)


if __name__ == "__main__":
    main()
