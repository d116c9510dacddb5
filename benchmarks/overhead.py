"""What quickfit costs: CPU per step on the main thread, the background thread, and the results.

Runs a real `fit`, a loop written by hand around a compiled step, and a `train_on_batch` loop in
child processes with all probes installed, and switches the probes off and on in alternating
blocks of ten steps. The main thread's own CPU time is compared, because wall time on a shared
machine says nothing about microseconds. A seeded script is then trained with and without
quickfit, and the losses are compared bit for bit.

    python benchmarks/overhead.py [--blocks 800] [--steps 10]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

MAX_STEP_CPU_S = 16e-6
MAX_CORE_SHARE = 0.01

MODEL = textwrap.dedent(
    """
    import json, sys, time
    from pathlib import Path
    from quickfit.probes import session

    folder, blocks, steps = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    session.start(folder, role="main")
    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    images = np.random.default_rng(0).random((64 * 32, 24, 24, 3), "float32")
    labels = np.arange(len(images)) % 10
    ds = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(32).prefetch(2)
    model = keras.Sequential([keras.Input((24, 24, 3)), keras.layers.Conv2D(16, 3),
                              keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(10)])
    model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    measured = []

    class Blocks:
        # Switches the probes off and on again every few steps and keeps each block's time.
        count, is_on, cpu_s, wall_s = 0, True, 0.0, 0.0

        def step_ends(self):
            self.count += 1
            if self.count % steps:
                return
            cpu_s, wall_s = time.thread_time(), time.perf_counter()
            state = "on" if self.is_on else "off"
            measured.append((state, (cpu_s - self.cpu_s) / steps, (wall_s - self.wall_s) / steps))
            # on off, off on, on off: a drift of the machine falls on both.
            if len(measured) % 2:
                self.is_on = not self.is_on
                session.pause(paused=not self.is_on)
            self.cpu_s, self.wall_s = time.thread_time(), time.perf_counter()

    timing = Blocks()
    total = steps * blocks
    """
)
LOOPS = {
    "fit": textwrap.dedent(
        """
        class Timing(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                timing.step_ends()

        model.fit(ds, steps_per_epoch=total, epochs=1, verbose=0, callbacks=[Timing()])
        """
    ),
    "by hand": textwrap.dedent(
        """
        optimizer, loss_of = model.optimizer, model.loss

        @tf.function
        def train_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
            return loss

        for x, y in ds.take(total):
            train_step(x, y)
            timing.step_ends()
        """
    ),
    "train_on_batch": textwrap.dedent(
        """
        x, y = images[:32], labels[:32]
        for _ in range(total):
            model.train_on_batch(x, y)
            timing.step_ends()
        """
    ),
}
END = """
session.pause(paused=False)
print(json.dumps(measured))
"""

SEEDED = textwrap.dedent(
    """
    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(7)
    tf.config.experimental.enable_op_determinism()
    x = np.random.default_rng(1).random((512, 12), "float32")
    y = (x.sum(axis=1) > 6).astype("int64")
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512, seed=3).batch(16)
    model = keras.Sequential([keras.layers.Dense(32, "relu"), keras.layers.Dropout(0.3),
                              keras.layers.Dense(2)])
    model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(ds, epochs=4, validation_data=(x[:64], y[:64]), verbose=0).history
    for name in sorted(history):
        print(name, [value.hex() for value in history[name]])
    print(float(sum(w.numpy().astype("float64").sum() for w in model.weights)).hex())
    """
)


def main() -> int:
    """Print the figures; the exit code says whether they are within the budget."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--blocks", type=int, default=800)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="only the cost per step")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temp:
        costs = [show_step_cost(Path(temp), name, options.blocks, options.steps) for name in LOOPS]
        background_ok = True if options.quick else show_background_cost(Path(temp))
        same = options.quick or show_results(Path(temp))
    return 0 if all(costs) and background_ok and same else 1


def show_step_cost(temp: Path, name: str, blocks: int, steps: int) -> bool:
    """Compare the main thread's CPU per step in blocks with and without probes."""
    folder = temp / f"{name.replace(' ', '-')}.qfrun"
    folder.mkdir()
    script = MODEL + LOOPS[name] + END
    measured = json.loads(run([sys.executable, "-c", script, str(folder), str(blocks), str(steps)]))
    warm = measured[20:]
    # Neighbouring blocks share the machine's mood; their differences are what counts.
    pairs = [{one[0]: one, two[0]: two} for one, two in zip(warm[::2], warm[1::2], strict=False)]
    pairs = [pair for pair in pairs if len(pair) == 2]
    differences = [pair["on"][1] - pair["off"][1] for pair in pairs]
    cost_s = statistics.median(differences)
    error_s = 1.25 * statistics.stdev(differences) / len(differences) ** 0.5
    print(f"{name}: main-thread CPU per step, {len(pairs)} pairs of blocks of {steps} steps:")
    for state in ("on", "off"):
        cpu_s = statistics.median(pair[state][1] for pair in pairs)
        wall_s = statistics.median(pair[state][2] for pair in pairs)
        print(f"  probes {state:3}: {cpu_s * 1e6:7.1f} µs CPU   ({wall_s * 1e3:6.2f} ms wall)")
    print(
        f"  difference: {cost_s * 1e6:.1f} µs (median over pairs, standard error"
        f" {error_s * 1e6:.1f} µs; budget {MAX_STEP_CPU_S * 1e6:.0f} µs)"
    )
    return cost_s <= MAX_STEP_CPU_S


def show_background_cost(temp: Path) -> bool:
    """Report the background thread's share of a core in a run of its own, as it records it."""
    script = temp / "steady.py"
    script.write_text(MODEL.split("session.start", 1)[0].split("from quickfit")[0] + STEADY)
    output = temp / "steady.qfrun"
    run([*quickfit(), "run", "--for", "45s", "--output", str(output), str(script)])
    report = json.loads(run([*quickfit(), "report", str(output), "--format", "json"]))
    share = report["overhead"]["threads_core_share"]
    step_s = report["overhead"]["step_cpu_s"]
    print(
        f"background thread: {share:.2%} of one core over a 45 s run"
        f" (budget {MAX_CORE_SHARE:.0%}); self-measured step cost {step_s * 1e6:.1f} µs"
    )
    return bool(share <= MAX_CORE_SHARE)


STEADY = textwrap.dedent(
    """
    import keras
    import numpy as np
    import tensorflow as tf

    x = np.random.default_rng(0).random((2048, 32, 32, 3), "float32")
    y = np.arange(2048) % 10
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).map(
        lambda a, b: (tf.image.random_flip_left_right(a), b)).batch(32)
    model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Conv2D(16, 3),
                              keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(10)])
    model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(ds, epochs=1000, verbose=0)
    """
)


def show_results(temp: Path) -> bool:
    """Train the same seeded script with and without quickfit and compare every bit."""
    script = temp / "seeded.py"
    script.write_text(SEEDED)
    plain = run([sys.executable, str(script)])
    watched = run([*quickfit(), "run", "--output", str(temp / "seeded.qfrun"), str(script)])
    same = plain == watched
    lines = len(plain.splitlines())
    print(
        f"seeded script with and without quickfit: {'bit-identical' if same else 'DIFFERENT'}"
        f" ({lines} lines of losses and weights compared)"
    )
    return same


def quickfit() -> list[str]:
    """Return the command of the installed quickfit."""
    return [sys.executable, "-m", "quickfit"]


def run(command: list[str]) -> str:
    """Run a command and return what it printed; its errors are shown and end the benchmark."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:6])} failed:\n{done.stderr[-3000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
