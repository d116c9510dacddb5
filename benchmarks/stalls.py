"""Does a watched training stand still longer at the end of its epochs than an unwatched one?

    python benchmarks/stalls.py [--style fit …] [--only NAME …] [--runs 10] [--epochs 60]
                                [--epoch-s 0.4] [--together 1] [--tree SRC] [--json FILE]

TensorFlow waits for the thread that tunes a pipeline when an iterator ends. That thread sleeps 20,
40, 80 ms and so on, and often misses that it should end: then the script stands still for the rest
of the sleep, which is at most as long as the iterator is old (docs/decisions/0029). It wakes by
itself when the iterator is about 0.3, 0.6 and 1.3 s old: epochs of these lengths would compare how
long steps are, not how often it misses its end.

Each run is a process that trains for many short epochs, in one of three styles: `fit`, `fit` with
validation, a `for` loop over the dataset. The ways to run it (not watched, watched, watched with
one part of quickfit switched off) take turns, so that all of them meet the same machine; where its
load changes from minute to minute, `--together 2` runs neighbours at the same time. From the second
epoch on, every time between two moments of the training loop is looked at. Printed per way:
how many iterators ended, how many of these times were over 0.1, 1 and 5 s, the longest, how much
time was lost in those over 0.1 s, and the CPU time of an epoch.

`--tree` adds the watched way of another checkout, for a comparison, and its parts switched off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"
STYLES = ("fit", "validation", "for")
# Parts of quickfit that come near an iterator, switched off one at a time.
PARTS = ("tf_data", "stacks", "iterator_ends", "fit_shapes")
LIMITS_S = (0.1, 1.0, 5.0)
ROW = "{:11} {:37} {:>5} {:>6} {:>7} {:>6} {:>6} {:>9} {:>9} {:>10} {:>9}"

# Stamps the moments of a training loop; written for a person who has never heard of quickfit.
SCRIPT = textwrap.dedent(
    """
    import json, sys, time

    style, epochs, epoch_s, result, *without = sys.argv[1:]
    epochs, epoch_s, STEP_S = int(epochs), float(epoch_s), 0.01
    for part in without:
        from quickfit.probes import fit_shapes, iterator_ends
        from quickfit.probes._state import Current
        if part == "iterator_ends":
            iterator_ends.watch = lambda *_: None
        elif part == "fit_shapes":
            fit_shapes.note = lambda *_: None
        else:
            Current.state.probes[part].turn_off("off", "switched off by the benchmark")

    import keras
    import numpy as np
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    images = np.random.default_rng(0).random((64 * 32, 24, 24, 3), "float32")
    labels = np.arange(len(images)) % 10
    model = keras.Sequential([keras.Input((24, 24, 3)), keras.layers.Conv2D(16, 3),
                              keras.layers.GlobalMaxPooling2D(), keras.layers.Dense(10)])
    model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def pipeline(batches):
        ds = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().shuffle(256)
        ds = ds.map(lambda x, y: (tf.image.random_flip_left_right(x), y),
                    num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(32).take(batches).prefetch(tf.data.AUTOTUNE)

    stamps, begins = [], []

    def stamp(*_, **__):
        stamps.append(time.perf_counter())

    def epoch_begins(*_, **__):
        begins.append((len(stamps), time.process_time()))
        stamp()

    def step_ends(*_, **__):
        # Epochs of all runs last alike, also on a machine whose speed changes.
        time.sleep(max(stamps[-1] + STEP_S - time.perf_counter(), 0))
        stamp()

    moments = dict.fromkeys(("train_batch_begin", "test_batch_begin", "test_batch_end",
                             "test_begin", "test_end", "epoch_end", "train_end"), stamp)
    moments |= {"train_batch_end": step_ends, "epoch_begin": epoch_begins}
    Stamps = type("Stamps", (keras.callbacks.Callback,),
                  {f"on_{name}": staticmethod(note) for name, note in moments.items()})

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = model.loss(y, model(x, training=True))
        weights = model.trainable_variables
        model.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    ds = pipeline(int(epoch_s / STEP_S))
    if style == "for":
        for _ in range(epochs):
            epoch_begins()
            for x, y in ds:
                stamp()
                train_step(x, y)
                step_ends()
            stamp()
    else:
        given = {"validation_data": pipeline(8)} if style == "validation" else {}
        model.fit(ds, epochs=epochs, verbose=0, callbacks=[Stamps()], **given)
    stamp()
    first, cpu_s = begins[1]
    gaps = [two - one for one, two in zip(stamps[first:], stamps[first + 1:])]
    with open(result, "w") as file:
        json.dump({"gaps_s": [gap for gap in gaps if gap > 0.05],
                   "epochs": epochs - 1,
                   "train_s": stamps[-1] - stamps[first],
                   "cpu_s": time.process_time() - cpu_s}, file)
    """
)


@dataclass
class Way:
    """One way to run the script, and what its runs have shown so far."""

    style: str
    name: str
    source: Path | None = None
    without: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)

    def command(self, script: Path, place: Path, options: argparse.Namespace) -> list[str]:
        """Return the command line of a run that leaves its result in a folder."""
        python = [sys.executable]
        if self.source is not None:
            python += ["-m", "quickfit", "run", "--output", str(place / "run.qfrun")]
        given = [self.style, str(options.epochs), str(options.epoch_s), str(place / "result.json")]
        return [*python, str(script), *given, *([self.without] if self.without else [])]

    def run(self, script: Path, options: argparse.Namespace) -> None:
        """Run the script once and keep what it measured."""
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        if self.source is not None:
            environment["PYTHONPATH"] = str(self.source)
        with tempfile.TemporaryDirectory(prefix="quickfit-stalls-") as temp:
            command = self.command(script, Path(temp), options)
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, cwd=temp, check=False
            )
            if done.returncode:
                sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
            self.runs.append(json.loads((Path(temp) / "result.json").read_text()))

    def row(self) -> str:
        """Return its line of the table."""
        gaps = [gap for run in self.runs for gap in run["gaps_s"]]
        epochs = sum(run["epochs"] for run in self.runs)
        counts = [str(sum(gap > limit for gap in gaps)) for limit in LIMITS_S]
        lost_s = sum(gap for gap in gaps if gap > LIMITS_S[0])
        train_s, cpu_s = (sum(run[name] for run in self.runs) for name in ("train_s", "cpu_s"))
        times = (f"{max(gaps, default=0):.2f} s", f"{lost_s:.1f} s")
        times += (f"{train_s / epochs:.3f} s", f"{cpu_s / epochs:.3f} s")
        ends = epochs * (2 if self.style == "validation" else 1)
        return ROW.format(self.style, self.name, len(self.runs), ends, *counts, *times)


def ways(options: argparse.Namespace) -> list[Way]:
    """Return the ways that take turns."""
    trees = {"watched": SOURCE}
    if options.tree:
        trees["other tree"] = options.tree.resolve()
    found: list[Way] = []
    for style in options.style:
        found.append(Way(style, "not watched"))
        for name, source in trees.items():
            found.append(Way(style, name, source))
            found += [Way(style, f"{name}, no {part}", source, part) for part in PARTS]
    return [way for way in found if not options.only or way.name in options.only]


def main() -> None:
    """Run all ways in turns and print their table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--style", nargs="+", choices=STYLES, default=STYLES)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="ways, as the table calls them")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--epoch-s", type=float, default=0.4)
    parser.add_argument("--together", type=int, default=1, help="ways that run at the same time")
    parser.add_argument("--tree", type=Path, help="the `src` of another checkout")
    parser.add_argument("--json", type=Path, help="where all long times are written")
    options = parser.parse_args()
    taking_turns = ways(options)
    with tempfile.TemporaryDirectory(prefix="quickfit-stalls-") as temp:
        script = Path(temp) / "train.py"
        script.write_text(SCRIPT)
        for turn in range(options.runs):
            # Forwards and backwards: no way always runs after the same one.
            in_order = taking_turns[:: -1 if turn % 2 else 1]
            size = options.together
            for at in range(0, len(in_order), size):
                with ThreadPoolExecutor(size) as pool:
                    list(pool.map(lambda way: way.run(script, options), in_order[at : at + size]))
            if options.json:
                rows = [(way.style, way.name, way.runs) for way in taking_turns]
                options.json.write_text(json.dumps(rows))
    heads = [f">{limit:g} s" for limit in LIMITS_S]
    print(ROW.format(*("style", "run", "runs", "ends", *heads, "longest", "lost"), "epoch", "CPU"))
    for way in taking_turns:
        print(way.row())


if __name__ == "__main__":
    main()
