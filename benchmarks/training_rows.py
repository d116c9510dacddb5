"""The acceptance figures of training: custom steps, accumulation, numerics and the batch finder.

    python benchmarks/training_rows.py [--skip-batches]

One line for each: what is demanded, what was measured, and whether it holds. What the guard costs
is measured by guard_cost.py.
"""

import io
import math
import os
import signal
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from quickfit.tuning import LossScaleWatch, find_batch_size, find_nan, make_train_step

ROUNDS = 15
MEMORY_LIMIT_BYTES = 1_000_000_000


def line(name, demand, said, holds):
    """Print one row."""
    print(f"{'holds ' if holds else 'MISSED'}  {name:<46} {demand:<44} {said}", flush=True)


def mlp(policy="float32", width=32, seed=0):
    """Return a small network and a batch for it."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((16,)),
            layers.Dense(width, activation="relu", dtype=policy),
            layers.Dense(4, dtype="float32"),
        ]
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 16)).astype("float32")
    return model, x, rng.integers(0, 4, 16)


def crossentropy():
    """Return the loss that all rows use."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def first_update(policy):
    """Return how far one step of make_train_step moves the weights."""
    model, x, y = mlp(policy)
    before = [weight.numpy().copy() for weight in model.trainable_variables]
    make_train_step(model, crossentropy(), keras.optimizers.SGD(0.5))(x, y)
    after = [weight.numpy() for weight in model.trainable_variables]
    return np.concatenate([(b - a).ravel() for a, b in zip(before, after, strict=True)])


def float16_update():
    """The first update in float16 beside that in float32."""
    plain, half = first_update("float32"), first_update("mixed_float16")
    off = float(np.linalg.norm(half - plain) / np.linalg.norm(plain))
    line("fp16 custom step, first update", "within 1 % of float32", f"{off:.2%} off", off <= 0.01)


def loss_scale_watch():
    """A float16 training whose every batch is bad."""
    model, _, y = mlp("mixed_float16")
    model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()), crossentropy())
    bad = np.full((16 * 200, 16), np.nan, "float32")
    watch = LossScaleWatch(file=io.StringIO())
    steps = []
    count = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: steps.append(1))
    model.fit(bad, np.resize(y, len(bad)), batch_size=16, verbose=0, callbacks=[watch, count])
    scale = float(model.optimizer.dynamic_scale.numpy())
    said = f"stopped after {len(steps)} of 200 steps, at a scale of {scale:g}"
    holds = len(steps) <= 20 and watch.message is not None
    line("LossScaleWatch", "stops and says so after ≤ 20 skips", said, holds)


def eager_step(model, optimizer):
    """Return a step as people write it, without tf.function."""
    loss = crossentropy()

    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return step


def compiled_step():
    """make_train_step beside an eager loop, in turns."""
    model, x, y = mlp()
    x, y = tf.constant(x), tf.constant(y)
    eager = eager_step(model, keras.optimizers.Adam())
    fast = make_train_step(mlp()[0], crossentropy(), keras.optimizers.Adam())
    ratios = []
    for number in range(ROUNDS + 3):
        eager_s, fast_s = timed(lambda: eager(x, y), 5), timed(lambda: fast(x, y), 50)
        if number >= 3:
            ratios.append(eager_s / fast_s)
    ratio = statistics.median(ratios)
    line("make_train_step beside eager, tiny MLP", "≥ 10×", f"{ratio:.0f}×", ratio >= 10)


def timed(call, times):
    """Return the time of one call."""
    began_s = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - began_s) / times


def several_steps():
    """steps_per_execution 32 beside 1 in `fit`, in turns."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8192, 16)).astype("float32"), rng.integers(0, 4, 8192)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
    models, losses = {}, {}
    for steps in (1, 32):
        model = models[steps] = mlp()[0]
        model.compile(keras.optimizers.Adam(), crossentropy(), steps_per_execution=steps)
        losses[steps] = model.fit(data, verbose=0, shuffle=False).history["loss"][0]
    ratios = []
    for _ in range(5):
        each_s = {
            n: timed(lambda model=model: model.fit(data, verbose=0, shuffle=False), 1)
            for n, model in models.items()
        }
        ratios.append(each_s[1] / each_s[32])
    ratio, off = statistics.median(ratios), abs(losses[1] - losses[32])
    said = f"{ratio:.2f}×, losses differ by {off:.1e}"
    holds = ratio >= 1.2 and off <= 1e-5
    line("steps_per_execution 32, tiny MLP", "≥ 1.2×, same loss to 1e-5", said, holds)


def accumulated():
    """4 micro-batches of 16 beside a batch of 64, and leftovers that are flushed."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 16)).astype("float32"), rng.integers(0, 4, 64)
    worst = 0.0
    optimizers = {
        "SGD": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        "AdamW": lambda: keras.optimizers.AdamW(1e-3, weight_decay=0.01, global_clipnorm=1.0),
    }
    for optimizer in optimizers.values():
        big, small = mlp()[0], mlp()[0]
        whole = make_train_step(big, crossentropy(), optimizer())
        parts = make_train_step(small, crossentropy(), optimizer(), accumulate=4)
        for _ in range(3):
            whole(x, y)
            for begin in range(0, 64, 16):
                parts(x[begin : begin + 16], y[begin : begin + 16])
        worst = max(worst, _apart(big, small))
    before = [weight.numpy().copy() for weight in small.trainable_variables]
    parts(x[:16], y[:16])
    parts.flush()
    is_flushed = any(
        np.any(weight.numpy() != old)
        for weight, old in zip(small.trainable_variables, before, strict=True)
    )
    said = f"{worst:.1e} apart, leftovers {'flushed' if is_flushed else 'lost'}"
    holds = worst <= 1e-5 and is_flushed
    line("accumulation beside a big batch", "≤ 1e-5, leftovers flushed", said, holds)


def _apart(one, other):
    pairs = zip(one.trainable_variables, other.trainable_variables, strict=True)
    return max(float(np.max(np.abs(a.numpy() - b.numpy()))) for a, b in pairs)


def guarded():
    """A batch of NaN between good ones: nothing may move."""
    model, x, y = mlp()
    step = make_train_step(model, crossentropy(), keras.optimizers.Adam(), guard=True)
    step(x, y)
    before = [weight.numpy().tobytes() for weight in model.variables]
    step(np.full_like(x, np.nan), y)
    same = before == [weight.numpy().tobytes() for weight in model.variables]
    said = "bit-identical" if same else "changed"
    line("guard, weights after a bad batch", "bit-identical", said, same)


def faults():
    """Yield six faults: the name of what is to blame, a model, and a batch."""
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    y = x[:, :1].copy()

    def net(middle=None, loss="mse"):
        keras.utils.set_random_seed(0)
        inputs = keras.Input((4,))
        hidden = layers.Dense(8, name="first")(inputs)
        hidden = middle(hidden) if middle else hidden
        model = keras.Model(inputs, layers.Dense(1, name="last")(hidden))
        model.compile("sgd", loss)
        return model

    def layer(name, function):
        return layers.Lambda(function, name=name, output_shape=(8,))

    spoiled = net()
    spoiled.get_layer("last").kernel.assign(np.full((8, 1), np.nan))
    yield "weight", "last", spoiled, (x, y)
    bad = x.copy()
    bad[3, 1] = np.inf
    yield "input", "", net(), (bad, y)
    label = y.copy()
    label[5] = np.nan
    yield "label", "", net(), (x, label)
    yield "layer", "logarithm", net(layer("logarithm", lambda v: ops.log(ops.relu(v)))), (x, y)
    yield "layer", "division", net(layer("division", lambda v: v / ops.zeros_like(v))), (x, y)
    root = layer("root", lambda v: ops.sqrt(ops.relu(v) * 0.0))
    yield "gradient", "", net(root), (x, y)


def nan_finder():
    """find_nan on six planted faults."""
    right, slowest_s, wrong = 0, 0.0, []
    for kind, name, model, batch in faults():
        began_s = time.perf_counter()
        culprit = find_nan(model, batch)
        slowest_s = max(slowest_s, time.perf_counter() - began_s)
        found = f"{culprit.kind} {culprit.name}" if culprit is not None else "nothing"
        if culprit is not None and kind in str(culprit.kind) and name in culprit.name:
            right += 1
        else:
            wrong.append(f"{kind} {name} → {found}")
    said = f"{right} of 6 right, slowest {slowest_s:.2f} s {'; '.join(wrong)}"
    line("NaN finder", "6 of 6 planted faults, < 5 s each", said, right == 6 and slowest_s < 5)


def dying(batch_size=16):
    """Return a small training, whose process is killed where the batch is 64 or more."""
    if batch_size >= 64:
        os.kill(os.getpid(), signal.SIGKILL)
    model, x, y = mlp()
    model.compile("adam", crossentropy())
    return model, (np.resize(x, (2048, 16)), np.resize(y, 2048))


def batch_finder():
    """A plan for a small CNN, one under a limit of memory, and one whose children are killed."""
    sys.path.insert(0, str(Path(__file__).parent / "tune"))
    began_s = time.perf_counter()
    plan = find_batch_size("cnn:build", limit=256)
    took_s = time.perf_counter() - began_s
    print(plan)
    line("batch finder, time of a plan", "≤ 90 s", f"{took_s:.0f} s", took_s <= 90)
    plan = find_batch_size("cnn:build", mode="max", memory_limit=MEMORY_LIMIT_BYTES)
    print(plan)
    peaks = [row.peak_bytes for row in plan.evidence if row.batch == plan.micro_batch]
    peak_bytes = max(peaks, default=math.inf)
    said = f"batch {plan.micro_batch}, {peak_bytes / 1e6:,.0f} MB {plan.reason}"
    line("batch finder, limit 1,000 MB", "peak ≤ limit", said, peak_bytes <= MEMORY_LIMIT_BYTES)
    plan = find_batch_size(dying, sizes=(16, 32, 64))
    killed = [row.batch for row in plan.evidence if row.failure is not None]
    line("batch finder, a child is killed", "the others count", f"killed: {killed}", killed == [64])


def main():
    """Measure every row."""
    for row in (
        *(float16_update, loss_scale_watch, compiled_step, several_steps),
        *(accumulated, guarded, nan_finder),
    ):
        row()
    if "--skip-batches" not in sys.argv:
        batch_finder()


if __name__ == "__main__":
    main()
