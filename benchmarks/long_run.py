"""A million steps: what quickfit keeps in memory and on disk must not grow with them.

Two loops in processes of their own, with all probes on: one drives Keras's own list of callbacks
as `fit` does, a million times; the other is written by hand, asks a real dataset for its batches
and calls a compiled function. Memory is the process's resident set at a tenth of the steps and at
the end. Prints both, the size of the recording, and the time to report on it.

    python benchmarks/long_run.py [--steps 1000000] [--hand-steps 200000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

MAX_RECORDING_BYTES = 50_000_000
# The allocator's own noise; a row kept per step would be hundreds of megabytes.
MAX_GROWTH_BYTES = 25_000_000

START = textwrap.dedent(
    """
    import json, os, sys, time
    from pathlib import Path
    from quickfit.probes import session

    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    session.start(folder, role="main")
    import keras
    import tensorflow as tf

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    kept = []

    def note(done):
        if done in (steps // 10, steps):
            time.sleep(1.0)  # let the background thread write what it has
            kept.append(resident())
    """
)
FIT = textwrap.dedent(
    """
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")

    def fit(callbacks, epoch_iterator):
        callbacks.on_train_begin()
        done = 0
        for epoch in range(10):
            callbacks.on_epoch_begin(epoch)
            for step in range(steps // 10):
                callbacks.on_train_batch_begin(step)
                callbacks.on_train_batch_end(step, {"loss": 0.5})
                done += 1
                if not step % 1000:
                    time.sleep(0.002)  # as often as any step lets other threads run
            note(done)
            callbacks.on_epoch_end(epoch, {"loss": 0.5})
        callbacks.on_train_end()

    fit(keras.callbacks.CallbackList([], add_history=False, model=model, epochs=10), None)
    print(json.dumps(kept))
    """
)
HAND = textwrap.dedent(
    """
    @tf.function
    def step(x):
        return x + 1

    done = 0
    for x in tf.data.Dataset.range(steps):
        step(x)
        done += 1
        note(done)
    print(json.dumps(kept))
    """
)


def main() -> int:
    """Print the figures; the exit code says whether they are within their bounds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--hand-steps", type=int, default=200_000)
    options = parser.parse_args()
    loops = {"callbacks of fit": (FIT, options.steps), "by hand": (HAND, options.hand_steps)}
    with tempfile.TemporaryDirectory() as temp:
        return max(show(Path(temp), name, *loop) for name, loop in loops.items())


def show(temp: Path, name: str, script: str, steps: int) -> int:
    """Run one loop and print what it left behind; 1 if that is too much."""
    folder = temp / f"{name.replace(' ', '-')}.qfrun"
    folder.mkdir()
    began = time.perf_counter()
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", START + script, str(folder), str(steps)]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    first, last = json.loads(done.stdout.splitlines()[-1])
    took_s = time.perf_counter() - began
    size = sum(file.stat().st_size for file in folder.iterdir())
    report_s = _report_s(folder)
    print(
        f"{name}: {steps:,} steps in {took_s:.0f} s; memory {first / 1e6:.0f} MB after a tenth,"
        f" {last / 1e6:.0f} MB at the end ({(last - first) / 1e6:+.1f} MB);"
        f" recording {size / 1e6:.1f} MB, reported in {report_s:.1f} s"
    )
    return int(last - first > MAX_GROWTH_BYTES or size > MAX_RECORDING_BYTES)


def _report_s(folder: Path) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "quickfit", "report", str(folder), "--format", "json"]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
