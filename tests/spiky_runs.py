"""Runs with sporadic slow steps for tests: a run of `builders`, with some steps made longer."""

from __future__ import annotations

from typing import Any

from quickfit.recording.reader import Recording
from quickfit.signals import Signals

from builders import FIT_LINE, SCRIPT, START_S, recording

KERAS = "/usr/lib/python3/site-packages/keras/src"
TF = "/usr/lib/python3/site-packages/tensorflow/python"
CALL = (f"{TF}/eager/polymorphic_function/polymorphic_function.py", 1, "_call", 0)
HOOK = (f"{KERAS}/callbacks/callback_list.py", 1, "on_train_batch_end", 0)
SAVE = (f"{KERAS}/models/model.py", 1, "save", 0)
EVALUATE = (f"{KERAS}/backend/tensorflow/trainer.py", 1, "evaluate", 0)
NEXT = (f"{TF}/data/ops/iterator_ops.py", 1, "__next__", 0)
FIT = (SCRIPT, FIT_LINE, "<module>", 1)
READ_S = 0.5
Place = tuple[str, int, str, int]  # file, line, function, is_user


def spiky(**given: Any) -> Signals:
    """Return the signals of a run with slow steps; see `spiky_recording`."""
    return Signals(spiky_recording(**given))


def spiky_recording(
    *,
    every: int = 40,
    until: int = 1_000_000,
    extra_s: float = 0.4,
    steps: int = 405,
    step_s: float = 0.02,
    part: str | None = "call_s",
    stack: tuple[Place, ...] = (),
    waits: bool = False,
    machine: dict[str, float] | None = None,
    background: dict[str, float] | None = None,
    **given: Any,
) -> Recording:
    """Return the recording of a run in which every n-th step takes longer.

    Args:
        every: which steps do.
        until: the last step that may.
        extra_s: by how much.
        steps: how many there are.
        step_s: how long the others take.
        part: the column of the step that the time is in; None for no column.
        stack: what the main thread is seen at in those steps, innermost frame first.
        waits: whether tf.data's model says that they wait.
        machine: what a counter of the machine gains in each slow step.
        background: and what it gains per second, always.
        given: what `builders.recording` takes, and `calls` and `kind` of the loop.
    """
    calls, kind = given.pop("calls", []), given.pop("kind", "fit")
    made = recording(steps=steps, step_s=step_s, epochs=1, **given)
    tables = made.main.tables
    tables["loops"][0]["kind"] = kind
    tables["calls"] = [
        {"loop": 1, "kind": what, "file": SCRIPT, "line": line, "name": what, "calls": count,
         "wall_s": count * each_s, "cpu_s": None, "longest_s": each_s}
        for what, line, count, each_s in calls
    ]  # fmt: skip
    slow = _stretch(tables["steps"], every, until, extra_s, part)
    tables["epochs"] = []
    ends = _readings(tables["steps"])
    _machine(tables, ends, slow, machine or {}, background or {})
    _samples(tables, ends, slow, stack)
    _pipelines(tables, ends, slow, extra_s if waits else 0.0)
    return made


def _stretch(
    rows: list[dict[str, Any]], every: int, until: int, extra_s: float, part: str | None
) -> list[tuple[float, float]]:
    """Make some steps longer; return when those are."""
    late_s, slow = 0.0, []
    for row in rows:
        row["begin_s"] += late_s
        if 10 < row["step"] <= until and row["step"] % every == 0:
            late_s += extra_s
            slow.append((row["begin_s"], row["end_s"] + late_s))
            if part is not None:
                row[part] = (row[part] or 0.0) + extra_s
        row["end_s"] += late_s
    return slow


def _readings(rows: list[dict[str, Any]]) -> list[float]:
    end_s = rows[-1]["end_s"] + READ_S
    return [START_S + n * READ_S for n in range(1, int((end_s - START_S) / READ_S) + 1)]


def _shared_s(slow: list[tuple[float, float]], begin_s: float, end_s: float) -> float:
    return sum(max(min(b, end_s) - max(a, begin_s), 0.0) for a, b in slow)


def _machine(
    tables: dict[str, Any],
    ends: list[float],
    slow: list[tuple[float, float]],
    gained: dict[str, float],
    always: dict[str, float],
) -> None:
    empty = dict.fromkeys(tables["machine"][0])
    tables["machine"] = []
    for at_s in ends:
        row = {**empty, "at_s": at_s, "cpu_s": at_s - START_S, "rss_bytes": 10**9}
        for name in ("main_run_delay_s", "collecting_s", "throttled_s", "read_bytes"):
            row[name] = 0.0
        row |= {"system_busy_s": row["cpu_s"], "major_faults": 0, "collections": 0}
        done = sum(_shared_s([one], START_S, at_s) / (one[1] - one[0]) for one in slow)
        for name in {*gained, *always}:
            more = gained.get(name, 0.0) * done + always.get(name, 0.0) * (at_s - START_S)
            row[name] += more
            # The machine is busy with this process, too.
            row["system_busy_s"] += more if name == "cpu_s" else 0.0
        tables["machine"].append(row)


def _samples(
    tables: dict[str, Any],
    ends: list[float],
    slow: list[tuple[float, float]],
    stack: tuple[Place, ...],
) -> None:
    """Add twenty samples a second: in slow steps those given, else in the train function."""
    places = [CALL, FIT, *(place for place in stack if place not in (CALL, FIT))]
    tables["frames"] = [
        {"id": n, "file": file, "line": line, "function": name, "is_user": is_user}
        for n, (file, line, name, is_user) in enumerate(places, start=1)
    ]
    numbers = [places.index(place) + 1 for place in stack]
    tables["stacks"] = [
        {"id": 1, "role": "main", "frames": [1, 2]},
        {"id": 2, "role": "main", "frames": numbers},
    ]
    tables["samples"] = []
    for at_s in ends:
        inside = round(20 * _shared_s(slow, at_s - READ_S, at_s)) if stack else 0
        for number, seen in ((1, 10 - inside), (2, inside)):
            if seen > 0:
                row = {"at_s": at_s, "stack": number, "loop": 1, "seen": seen}
                tables["samples"].append(row)


def _pipelines(
    tables: dict[str, Any], ends: list[float], slow: list[tuple[float, float]], waited_s: float
) -> None:
    nodes = tables["pipelines"][0]["nodes"] if tables.get("pipelines") else None
    if nodes is None:
        return
    tables["pipelines"] = []
    before_s = START_S
    for at_s in ends:
        rows = [r for r in tables["steps"] if before_s < r["end_s"] <= at_s]
        if not rows:
            continue
        took_s = sum(row["end_s"] - row["begin_s"] for row in rows)
        waits = sum(row["end_s"] in [end_s for _, end_s in slow] for row in rows)
        gap_s = took_s - waits * waited_s - 0.0005 * len(rows)
        row = {"iterator": 1, "at_s": at_s, "gaps": len(rows), "gap_s": gap_s, "root": 1}
        tables["pipelines"].append({**row, "nodes": nodes})
        before_s = at_s
