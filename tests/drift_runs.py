"""Runs whose parts grow or do not, as a recording has them: steps, counters, stacks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quickfit.recording.reader import ProcessRecording, Recording
from quickfit.recording.schema import columns
from quickfit.signals import Signals

SCRIPT = "/project/train.py"
SOURCE = """\
import keras

class Log(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.mean = np.mean(self.seen)
        time.sleep(0.001)
    def on_epoch_end(self, epoch, logs=None):
        self.plot(self.seen)

def batches():
    while True:
        order = sorted(seen)
        yield x, y

for epoch in range(3):
    for x, y in ds:
        train_step(x, y)
        history = np.append(history, x)
    np.save("history", history)

ds = ds.map(augment)
model.fit(ds, epochs=3)
"""
GROWN_LINE, EPOCH_HOOK_LINE, GENERATOR_LINE, LOOP_LINE = 5, 8, 12, 16
HOST_LINE, AFTER_LINE, WRAP_LINE, FIT_LINE = 18, 19, 21, 22
START_S = 1000.0
Of = Callable[[int], float]  # seconds of a part, by step


def flat(value: float) -> Of:
    """Return a part that stays the same."""
    return lambda _: value


def rising(first: float, last: float, steps: int) -> Of:
    """Return a part that grows evenly from one value to another."""
    return lambda step: first + (last - first) * step / steps


class DriftRun:
    """Writes the rows of a run step by step; see `drifting` for what can be given."""

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.random = random.Random(given.get("seed", 7))
        self.tables: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("steps", "machine", "samples", "epochs")
        }
        self.at_s, self.read_s = START_S, START_S
        self.cpu_s = self.main_s = self.delay_s = self.busy_s = 0.0
        self.input_s = self.input_cpu_s = self.gap_s = 0.0
        self.cpu_from = (-1, 0.0)
        self.bytes, self.parts = (
            0.0,
            dict.fromkeys(("call", "callbacks", "between", "input", "after"), 0.0),
        )

    def part(self, name: str, step: int, usual: float = 0.0) -> float:
        """Return the seconds of a part in a step, with a little noise."""
        return float(self.given.get(name, flat(usual))(step)) * self.random.uniform(0.93, 1.07)

    def step(self, number: int) -> None:
        """Write one step and, twice a second, the counters."""
        call_s = self.part("call", number, 0.010)
        callbacks_s, between_s = self.part("callbacks", number), self.part("between", number)
        made_s = self.part("input", number)
        wait_s = max(made_s - call_s - callbacks_s - between_s, 0.0)
        slower = self.given.get("slower", flat(1.0))(number)  # others take cores away
        work_s = call_s + callbacks_s + between_s + wait_s
        took_s, is_fit = work_s * slower, self.is_fit
        self.gap_s = (work_s - wait_s) * slower
        inflated = 1 + 0.5 * (slower - 1)
        host_s = (callbacks_s + between_s) * (0.0 if self.given.get("sleeps") else 1.0) * inflated
        self.main_s += host_s + 0.002 * inflated
        epoch = number * self.given.get("epochs", 3) // self.given["steps"]
        is_watched = number < 100 or number % 17 == 0
        row = {"loop": 1, "epoch": epoch + 1, "step": number + 1, "begin_s": self.at_s}
        row |= {"call_s": (call_s + (wait_s if is_fit else 0.0)) * slower, "logs_s": None}
        row |= {"callbacks_s": callbacks_s * slower if is_fit else None}
        row |= {"callbacks_cpu_s": host_s if is_fit and is_watched else None}
        row |= {"end_s": self.at_s + took_s, "wait_s": None if is_fit else wait_s * slower}
        row |= {"cpu_s": self.watched(number) if is_watched else None}
        self.tables["steps"].append(row)
        self.at_s += took_s
        self.delay_s += 0.4 * work_s * (slower - 1)
        self.cpu_s += host_s + (made_s + 1.5 * call_s) * inflated
        self.busy_s += host_s + (made_s + 1.5 * call_s) * inflated + (slower - 1) * took_s
        self.input_s += made_s * slower
        self.input_cpu_s += 0.0 if self.given.get("sleeps") else made_s * inflated
        self.bytes += self.part("batch_bytes", number, 1000.0)
        for name, spent in (
            ("call", call_s + wait_s),
            ("callbacks", callbacks_s),
            ("between", between_s),
        ):
            self.parts[name] += spent * slower
        self.parts["input"] += made_s * slower
        if self.at_s - self.read_s >= 0.5:
            self.read(number + 1)
        if (number + 1) * self.given.get("epochs", 3) // self.given["steps"] > epoch:
            self.end_epoch(epoch, number + 1)

    def end_epoch(self, epoch: int, done: int) -> None:
        """Let time pass after the steps of an epoch, read twice a second."""
        begin_s, after_s = self.at_s, self.part("after", epoch)
        while self.at_s < begin_s + after_s:
            part_s = min(0.5, begin_s + after_s - self.at_s)
            self.at_s += part_s
            self.main_s += 0.0 if self.given.get("sleeps") else part_s
            self.cpu_s += 0.0 if self.given.get("sleeps") else part_s
            self.busy_s += 0.0 if self.given.get("sleeps") else part_s
            self.parts["after"] += part_s
            self.read(done)
        row = {"loop": 1, "epoch": epoch + 1, "begin_s": begin_s, "end_s": self.at_s}
        self.tables["epochs"].append({**row, "validation_s": 0.0})

    def watched(self, number: int) -> float:
        """Return the CPU time of the main thread per step since it was last looked at."""
        steps, cpu_s = self.cpu_from
        self.cpu_from = (number, self.main_s)
        return (self.main_s - cpu_s) / max(number - steps, 1)

    @property
    def is_fit(self) -> bool:
        """Whether the loop is a call of `fit`."""
        return bool(self.given.get("kind", "fit") == "fit")

    def read(self, done: int) -> None:
        """Write the counters, and the stacks that were seen since the last time."""
        row: dict[str, Any] = dict.fromkeys(column.name for column in columns("machine"))
        row |= {"at_s": self.at_s, "cpu_s": self.cpu_s, "main_cpu_s": self.main_s}
        row |= {"main_run_delay_s": self.delay_s, "system_busy_s": self.busy_s}
        self.tables["machine"].append(row)
        for stack, (name, spent) in enumerate(self.parts.items(), start=1):
            if round(spent / 0.05):
                seen = {"at_s": self.at_s, "stack": stack, "loop": 1, "seen": round(spent / 0.05)}
                self.tables["samples"].append(seen)
            self.parts[name] = 0.0
        if "input" in self.given:
            totals = {"batches": done, "wall_s": self.input_s, "cpu_s": self.input_cpu_s}
            place = {"kind": "generator", "name": "batches", "file": SCRIPT, "line": 10}
            row = {"id": 1, "at_s": self.at_s, "loop": 1, "workers": 1, "busy": 1}
            self.tables.setdefault("py_inputs", []).append({**row, **place, **totals})
        if self.is_fit and done:
            gap_s = 10 * self.gap_s
            nodes = [[1, "Root", done, 0.0, int(self.bytes), 0, None, None, 0, 0, False, []]]
            row = {"iterator": 1, "at_s": self.at_s, "gaps": 10, "gap_s": gap_s, "root": 1}
            self.tables.setdefault("pipelines", []).append({**row, "nodes": nodes})
        self.read_s = self.at_s


def drifting(**given: Any) -> Signals:
    """Return the signals of a run.

    Given may be, as functions of the step: `call`, `callbacks`, `between`, `input` (seconds),
    `batch_bytes` and `slower` (how many times as long all takes because of others); by epoch
    `after` (seconds after its steps); and `steps`, `epochs`, `kind` ("fit" or "custom"), `sleeps`
    (what grows uses no CPU), `seed`.
    """
    given = {"steps": 600, **given}
    run = DriftRun(**given)
    run.read(0)
    for number in range(given["steps"]):
        run.step(number)
    run.read(given["steps"])
    kind, fed = ("fit", "generator") if run.is_fit else ("custom", "python")
    where = {"file": SCRIPT, "line": FIT_LINE if run.is_fit else LOOP_LINE}
    times = {"entered_s": START_S, "begin_s": START_S, "first_step_s": START_S, "end_s": run.at_s}
    facts = {"input": fed if "input" in given else "tf.data" if run.is_fit else "python"}
    run.tables |= {
        "loops": [{"id": 1, "kind": kind, **where, **times, "thread": "1", "facts": facts}],
        "callbacks": _callbacks(given["steps"]) if run.is_fit else [],
        "iterators": [{"id": 1, "loop": 1, "phase": "train", "dataset": 1, "created_s": START_S}],
        "datasets": [],
        "sources": [{"file": SCRIPT, "sha256": "", "text": SOURCE}],
        **_stacks(is_fit=run.is_fit),
    }
    if not run.is_fit:
        run.tables["epochs"] = []
    facts = {"role": "main", "usable_cores": 2.0, "cores": 2.0, "started_s": START_S - 3}
    main = ProcessRecording(Path("run.qfrun/1.sqlite"), facts, run.tables)
    return Signals(Recording(Path("run.qfrun"), {"exit_code": 0}, main, [], []))


def _callbacks(steps: int) -> list[dict[str, Any]]:
    row = {"loop": 1, "position": 0, "name": "Log", "is_user": 1, "file": SCRIPT}
    times = {"calls": steps, "wall_s": 1.0, "cpu_s": 1.0}
    hooks = {"on_train_batch_end": 4, "on_epoch_end": EPOCH_HOOK_LINE - 1}
    return [{**row, **times, "hook": hook, "line": line} for hook, line in hooks.items()]


def _stacks(*, is_fit: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the frames and stacks, in the order of the parts of a step."""
    packages = "/usr/lib/python3.11/site-packages"
    frames = [
        (SCRIPT, FIT_LINE, "<module>", 1),
        (SCRIPT, GROWN_LINE, "on_train_batch_end", 1),
        (f"{packages}/keras/src/callbacks/callback_list.py", 220, "_on_train_batch_end", 0),
        (SCRIPT, HOST_LINE, "<module>", 1),
        (SCRIPT, GENERATOR_LINE, "batches", 1),
        (f"{packages}/tensorflow/python/polymorphic_function.py", 1, "_call", 0),
        (SCRIPT, EPOCH_HOOK_LINE, "on_epoch_end", 1),
        (f"{packages}/keras/src/callbacks/callback_list.py", 170, "on_epoch_end", 0),
        (SCRIPT, AFTER_LINE, "<module>", 1),
    ]
    names = ("file", "line", "function", "is_user")
    after = [7, 8, 1] if is_fit else [9]
    stacks = (("main", [6, 1]), ("main", [2, 3, 1]), ("main", [4]), ("input", [5]), ("main", after))
    return {
        "frames": [
            {"id": n, **dict(zip(names, frame, strict=True))} for n, frame in enumerate(frames, 1)
        ],
        "stacks": [
            {"id": n, "role": role, "frames": seen} for n, (role, seen) in enumerate(stacks, 1)
        ],
    }
