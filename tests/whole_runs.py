"""Runs from their start to their end: a run of `builders` with time and samples around its loop."""

from __future__ import annotations

from typing import Any, NamedTuple

from hand_runs import KERAS, TRAINER
from quickfit.recording.reader import Recording
from quickfit.signals import Signals

from builders import SCRIPT, recording

FIT = (TRAINER, "fit", 300)
SAVE = (f"{KERAS}/saving/saving_api.py", "save_model", 60)
IMPORT = ("<frozen importlib._bootstrap>", "_find_and_load", 1176)
# Twenty samples in each second, written every half.
WINDOW_S, PER_WINDOW = 0.5, 10
# How long a `fit` without a step lasts.
SETUP_S = 6.0


class Seen(NamedTuple):
    """The main thread at one line of the script for a time, in calls of libraries or not."""

    seconds: float
    line: int
    library: tuple[tuple[str, str, int], ...] = ()  # innermost first


def whole_run(
    *, before: tuple[Seen, ...] = (), after: tuple[Seen, ...] = (), **given: Any
) -> Signals:
    """Return a run that ended by itself, with what it did before and after its `fit`.

    Given may be: `loop_samples` (what the main thread was seen at while the loop ran, of its last
    seconds), `epoch_hook_s` (of `on_epoch_end` of a callback, each time), and what
    `builders.recording` takes.
    """
    loop_samples, hook_s = given.pop("loop_samples", ()), given.pop("epoch_hook_s", 0.0)
    made = recording(**given)
    if hook_s:
        add_epoch_hook(made, hook_s)
    finish(made, before=before, after=after, loop_samples=loop_samples)
    return Signals(made)


def finish(
    made: Recording,
    *,
    before: tuple[Seen, ...] = (),
    after: tuple[Seen, ...] = (),
    loop_samples: tuple[Seen, ...] = (),
) -> None:
    """End a recording: what came before its first loop and after its last, with samples."""
    tables, facts = made.main.tables, made.main.facts
    begin_s = min(row["entered_s"] for row in tables["loops"])
    ends = [row["end_s"] for name in ("steps", "epochs") for row in tables[name]]
    end_s = max(ends, default=begin_s + SETUP_S)
    for row in tables["loops"]:
        if row["end_s"] is None and row["kind"] in ("fit", "evaluate", "predict"):
            row["end_s"] = end_s
    if before:
        facts["started_s"] = begin_s - sum(seen.seconds for seen in before)
        see(made, facts["started_s"], before)
    if loop_samples:
        see(made, end_s - sum(seen.seconds for seen in loop_samples), loop_samples, loop=1)
    see(made, end_s, after)
    facts["ended_s"] = end_s + sum(seen.seconds for seen in after)


def see(made: Recording, at_s: float, what: tuple[Seen, ...], loop: int | None = None) -> None:
    """Add samples of the main thread, from a moment on."""
    tables = made.main.tables
    for seen in what:
        frames = [*seen.library, (SCRIPT, "<module>", seen.line)]
        first = len(tables["frames"]) + 1
        for number, (file, function, line) in enumerate(frames, start=first):
            row = {"id": number, "file": file, "line": line, "function": function}
            tables["frames"].append({**row, "is_user": int(file == SCRIPT)})
        stack = len(tables["stacks"]) + 1
        numbers = list(range(first, len(tables["frames"]) + 1))
        tables["stacks"].append({"id": stack, "role": "main", "frames": numbers})
        for window in range(1, round(seen.seconds / WINDOW_S) + 1):
            row = {"at_s": at_s + window * WINDOW_S, "stack": stack, "loop": loop}
            tables["samples"].append({**row, "seen": PER_WINDOW})
        at_s += seen.seconds
    tables["samples"].sort(key=lambda row: row["at_s"])


def add_epoch_hook(made: Recording, each_s: float, hook: str = "on_epoch_end") -> None:
    """Let a callback of the script take a time after each epoch."""
    tables = made.main.tables
    shift_epochs(made, each_s)
    row = {**tables["callbacks"][0], "position": 1, "hook": hook, "name": "Report"}
    calls = len(tables["epochs"])
    tables["callbacks"].append({**row, "calls": calls, "wall_s": calls * each_s})


def shift_epochs(made: Recording, each_s: float) -> None:
    """Make room of a length after the steps of every epoch."""
    tables = made.main.tables
    for number, epoch in enumerate(tables["epochs"]):
        late_s = number * each_s
        for row in tables["steps"]:
            if row["epoch"] == epoch["epoch"]:
                row |= {"begin_s": row["begin_s"] + late_s, "end_s": row["end_s"] + late_s}
        epoch |= {"begin_s": epoch["begin_s"] + late_s, "end_s": epoch["end_s"] + late_s + each_s}
