"""Python functions that the compiled step calls: `tf.numpy_function`, `tf.py_function`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.recording.reader import Row
from quickfit.signals._host import HotLine

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Keras traces them beside the train step, and calls them in validation and `predict`.
NOT_TRAINING = ("test_step", "predict_step")


@dataclass(frozen=True)
class StepPython:
    """A Python function that the graph of the train step calls.

    Args:
        name: of the function.
        location: where it is written; None for a function of C.
        called_at: the line that put it into the graph.
        calls: how often it was called in the loop.
        total_s: how long, in all of the loop.
        step_s: per step, without its first call, which may import or compile.
        step_cpu_s: of it, on a core.
        step_calls: how often a step calls it.
    """

    name: str
    location: Location | None
    called_at: Location | None
    calls: int
    total_s: float
    step_s: float
    step_cpu_s: float
    step_calls: float


def python_in_step(signals: Signals) -> list[StepPython]:
    """Return the Python functions that a step of the loop calls, the longest first.

    Raises:
        SignalMissing: they were not timed.
    """
    process = signals.process
    states = {row["name"]: row["state"] for row in process.rows("probes")}
    is_off = states.get("py_functions") in ("off", "failed", "missing")
    if "py_functions" not in process.tables or is_off:
        raise SignalMissing("the time of Python functions in the graph of the step")
    rows = [row for row in process.rows("py_functions") if row["loop"] == signals.loop.id]
    rows = [row for row in rows if row["graph"] not in NOT_TRAINING and row["calls"]]
    rows = [row for row in rows if (row["call_file"], row["call_line"]) not in _of_data(signals)]
    every = signals.every_step
    steps = len(every.steps) if every is not None else 0
    steps += sum(r["steps"] for r in process.rows("step_blocks") if r["loop"] == signals.loop.id)
    if not steps:
        return []
    found = [_step_python(row, steps, signals) for row in _of_training(rows, signals)]
    return sorted(found, key=lambda one: one.step_s, reverse=True)


def _of_data(signals: Signals) -> set[tuple[str, int]]:
    """Return the lines that call Python for the functions of datasets.

    A compiled function may be traced on its own before a map calls it, too.
    """
    places = [row["facts"].get("python_place") for row in signals.process.rows("datasets")]
    return {(place["file"], place["line"]) for place in places if place and "file" in place}


def _of_training(rows: list[Row], signals: Signals) -> list[Row]:
    """Return the rows of the functions that train.

    A loop that the script wrote calls its own test function as well, whose loss is on the same
    line: of such functions, the one that is called most often trains.
    """
    if signals.loop.kind in ("fit", "train_on_batch"):
        return rows
    lines: dict[tuple[str, int], Row] = {}
    for row in rows:
        line = (row["call_file"], row["call_line"])
        if line not in lines or row["calls"] > lines[line]["calls"]:
            lines[line] = row
    return list(lines.values())


def _step_python(row: Row, steps: int, signals: Signals) -> StepPython:
    calls, wall_s, cpu_s = row["calls"], row["wall_s"], max(row["cpu_s"], 0.0)
    call_s = (wall_s - row["longest_s"]) / (calls - 1) if calls > 1 else wall_s
    return StepPython(
        name=row["name"],
        location=signals.location(row["file"], row["line"]),
        called_at=signals.location(row["call_file"], row["call_line"]),
        calls=calls,
        total_s=wall_s,
        step_s=call_s * calls / steps,
        step_cpu_s=min(cpu_s / wall_s, 1.0) * call_s * calls / steps if wall_s else 0.0,
        step_calls=calls / steps,
    )


def hot_line(function: StepPython, signals: Signals) -> HotLine | None:
    """Return the user's line at which a function that the step calls spends its time."""
    place = function.location
    if place is None or not signals.is_users(place):
        return None
    line = signals.hot_line_of_step_python(place.file, place.line)
    return line if line is not None and line.is_certain else None
