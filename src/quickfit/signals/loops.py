"""The training loops of a process; calls of `fit` at one line are one loop."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording

Locate = Callable[[str | None, int | None], Location | None]
BATCH_HOOKS = ("on_train_batch_begin", "on_train_batch_end")
EPOCH_HOOKS = ("on_epoch_begin", "on_epoch_end")


@dataclass(frozen=True)
class CallbackTime:
    """What one callback's hook takes per call. `location` is None for Keras's own.

    `cpu_s` is the CPU time of one call, where it was measured.
    """

    name: str
    hook: str
    location: Location | None
    step_s: float
    calls: int
    cpu_s: float | None = None
    is_user: bool = True


@dataclass(frozen=True)
class Call:
    """What one line calls TensorFlow or Keras for, in one loop (0: outside any), in all.

    `kind` is `next`, `function`, `train`, `test`, `predict`, `evaluate`, `gradient`, `apply` or
    `save`.
    """

    loop: int
    kind: str
    name: str
    location: Location | None
    calls: int
    wall_s: float
    longest_s: float

    @classmethod
    def from_row(cls, row: dict[str, Any], locate: Locate) -> Call:
        """Return the total a row holds."""
        where = locate(row["file"], row["line"])
        times = (row["calls"], row["wall_s"], row["longest_s"])
        return cls(row["loop"], row["kind"], row["name"], where, *times)


@dataclass(frozen=True)
class Loop:
    """One call of `fit`, or a loop of the script's own.

    `kind` is `fit`, `train_on_batch`, `custom`, `graph` (the loop runs inside one compiled
    function), `predict` or `evaluate`. `setup_s` is the time from the calls of `fit` to their
    first step, `outside_s` the time between one call's end and the next one's begin.
    """

    id: int
    kind: str
    location: Location | None
    entered_s: float
    begin_s: float
    first_step_s: float | None
    end_s: float
    is_over: bool
    facts: dict[str, Any]
    setup_s: float = 0.0
    outside_s: float = 0.0

    @property
    def input(self) -> str:
        """What feeds it: `tf.data`, `generator`, `pydataset`, `arrays`, `python` or `unknown`.

        `python` is a loop that makes its batches itself, `graph` one that runs inside a compiled
        function.
        """
        return str(self.facts.get("input", "unknown"))

    @property
    def duration_s(self) -> float:
        """How long it ran, or has run."""
        return self.end_s - self.begin_s

    @property
    def trains(self) -> bool:
        """Whether it changes weights; a loop of the script may only predict."""
        return bool(self.facts.get("trains", True))

    def callback_times(
        self, process: ProcessRecording, locate: Locate, hooks: tuple[str, ...]
    ) -> list[CallbackTime]:
        """Return the time of each callback's hooks per call, the slowest first."""
        times = [
            CallbackTime(
                row["name"],
                row["hook"],
                locate(row["file"], row["line"]),
                row["wall_s"] / row["calls"],
                row["calls"],
                row["cpu_s"] / row["calls"] if row.get("cpu_s") is not None else None,
                bool(row["file"] is not None if row.get("is_user") is None else row["is_user"]),
            )
            for row in process.rows("callbacks")
            if row["loop"] == self.id and row["hook"] in hooks and row["calls"]
        ]
        return sorted(times, key=lambda time: time.step_s, reverse=True)


@dataclass(frozen=True)
class EagerOps:
    """The operations of an eager step, from a short look: per step, how many and how long.

    `heavy_s` is the time of large operations beyond what starting any operation takes.
    """

    steps: int
    per_step: float
    step_s: float
    median_s: float
    heavy_s: float

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> EagerOps:
        """Return the look a row holds."""
        steps = max(row["steps"], 1)
        return cls(
            steps, row["ops"] / steps, row["ops_s"] / steps, row["median_s"], row["heavy_s"] / steps
        )


@dataclass(frozen=True)
class Epoch:
    """One epoch that ended, with the time its validation took."""

    number: int
    begin_s: float
    end_s: float
    validation_s: float

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Epoch:
        """Return the epoch a row holds."""
        return cls(row["epoch"], row["begin_s"], row["end_s"], row["validation_s"] or 0.0)


def loops_of(process: ProcessRecording, locate: Locate) -> list[Loop]:
    """Return every loop a process ran, the end of an unfinished one being its last step."""
    fed = {row["iterator"] for row in process.rows("pipelines") if row["gaps"]}
    from_tf_data = {row["loop"] for row in process.rows("iterators") if row["id"] in fed}
    last_end: dict[int, float] = {}
    for row in process.rows("steps"):
        last_end[row["loop"]] = row["end_s"]
    return [
        Loop(
            row["id"],
            row["kind"],
            locate(row["file"], row["line"]),
            row["entered_s"],
            row["begin_s"],
            row["first_step_s"],
            row["end_s"] or last_end.get(row["id"]) or row["begin_s"],
            row["end_s"] is not None,
            _facts(row["facts"], is_fed=row["id"] in from_tf_data),
            row.get("setup_s", 0.0),
            row.get("outside_s", 0.0),
        )
        for row in process.rows("loops")
    ]


def _facts(facts: dict[str, Any], *, is_fed: bool) -> dict[str, Any]:
    """Return the facts of a loop; one whose function takes an iterator asks it in the graph."""
    if is_fed and facts.get("input") == "python":
        return {**facts, "input": "tf.data"}
    return facts


def loops_outside(process: ProcessRecording, loop: Loop) -> set[int]:
    """Return the numbers of the loops before the first call of this one, or after its last.

    Args:
        process: as it was recorded, with every call by itself.
        loop: one or, after merging, all calls at its line. What comes between them is part of it.
    """
    rows = process.rows("loops")
    places = [(row["kind"], row["file"], row["line"]) for row in rows if row["id"] == loop.id]
    own = [row for row in rows if (row["kind"], row["file"], row["line"]) in places]
    first_s = min((min(row["entered_s"], row["begin_s"]) for row in own), default=-math.inf)
    ends = [math.inf if row["end_s"] is None else row["end_s"] for row in own]
    last_s = max(ends, default=math.inf)
    return {row["id"] for row in rows if not first_s <= row["begin_s"] < last_s}


# Epochs are numbered from one in every call; this keeps those of two calls apart.
EPOCHS_APART = 1_000_000
# Steps that one call of a compiled function is taken apart into at most.
MAX_INNER = 500
# Tables whose rows belong to a loop.
OF_LOOPS = (
    *("steps", "epochs", "callbacks", "calls", "copies", "iterators", "py_inputs"),
    *("eager_ops", "step_blocks"),
)


def with_merged_loops(process: ProcessRecording) -> ProcessRecording:
    """Return the recording with all loops that began at one line under the first one's number."""
    process = _without_calls_of_loops(process)
    first_at: dict[tuple[Any, Any, Any], int] = {}
    number_of: dict[int, int] = {}
    for row in process.rows("loops"):
        place = (row["kind"], row["file"], row["line"])
        # Loops without a place have nothing in common.
        key = place if row["line"] is not None else (*place[:2], -row["id"])
        number_of[row["id"]] = first_at.setdefault(key, row["id"])
    if len(first_at) == len(number_of):
        return process
    tables = dict(process.tables)
    for name in OF_LOOPS:
        tables[name] = [_renumbered(row, number_of) for row in process.rows(name)]
    tables["callbacks"] = _summed(tables["callbacks"], ("loop", "position", "hook", "name"))
    tables["calls"] = _summed(tables["calls"], ("loop", "kind", "file", "line"))
    tables["loops"] = _joined(process.rows("loops"), number_of)
    return dataclasses.replace(process, tables=tables)


def _without_calls_of_loops(process: ProcessRecording) -> ProcessRecording:
    """Return the recording without loops of calls that were recorded as loops themselves.

    A script that calls `evaluate` five times, for a hundred batches each, evaluates for five
    hundred steps, not for five.
    """
    rows = process.rows("loops")
    watched = {(r["kind"], r["file"], r["line"]) for r in rows if "head" not in r["facts"]}
    kept = [
        r
        for r in rows
        if r["facts"].get("head") not in ("evaluate", "predict")
        or (r["kind"], r["file"], r["line"]) not in watched
    ]
    if len(kept) == len(rows):
        return process
    numbers = {row["id"] for row in kept}
    steps = [row for row in process.rows("steps") if row["loop"] in numbers]
    return dataclasses.replace(process, tables={**process.tables, "loops": kept, "steps": steps})


def with_inner_steps(process: ProcessRecording) -> ProcessRecording:
    """Return the recording with one row per step of loops that run inside a compiled function.

    Only their calls are seen, each of many steps that are taken to be equally long.
    """
    taken = {
        row["id"]: int(row["facts"].get("steps_per_execution") or 1)
        for row in process.rows("loops")
        if row["kind"] == "graph"
    }
    inner = {number: min(count, MAX_INNER) for number, count in taken.items()}
    if not any(count > 1 for count in inner.values()):
        return process
    left = {number: round(count / inner[number]) for number, count in taken.items()}
    tables = dict(process.tables)
    tables["steps"] = [part for row in process.rows("steps") for part in _parts(row, inner)]
    tables["loops"] = [
        {**row, "facts": {**row["facts"], "steps_per_execution": left[row["id"]]}}
        if row["id"] in inner
        else row
        for row in process.rows("loops")
    ]
    return dataclasses.replace(process, tables=tables)


def _parts(row: dict[str, Any], inner: dict[int, int]) -> list[dict[str, Any]]:
    count = inner.get(row["loop"], 1)
    if count == 1:
        return [row]
    each_s = (row["end_s"] - row["begin_s"]) / count
    names = ("call_s", "logs_s", "wait_s", "cpu_s")
    times = {name: row[name] / count for name in names if row.get(name) is not None}
    first = (row["step"] - 1) * count + 1
    return [
        {
            **row,
            **times,
            "step": first + number,
            "begin_s": row["begin_s"] + number * each_s,
            "end_s": row["begin_s"] + (number + 1) * each_s,
        }
        for number in range(count)
    ]


def _renumbered(row: dict[str, Any], number_of: dict[int, int]) -> dict[str, Any]:
    loop = row["loop"]
    changed = {**row, "loop": number_of.get(loop, loop)}
    if "epoch" in row:
        changed["epoch"] = loop * EPOCHS_APART + row["epoch"]
    return changed


def _summed(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return totals with those of the same callback, or the same line, added up."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        if key in totals:
            for name in ("calls", "wall_s", "cpu_s"):
                if row.get(name) is not None and totals[key].get(name) is not None:
                    totals[key][name] += row[name]
            if "longest_s" in row:
                totals[key]["longest_s"] = max(totals[key]["longest_s"], row["longest_s"])
            if "longest_s" in row:
                totals[key]["longest_s"] = max(totals[key]["longest_s"], row["longest_s"])
        else:
            totals[key] = dict(row)
    return list(totals.values())


def _joined(rows: list[dict[str, Any]], number_of: dict[int, int]) -> list[dict[str, Any]]:
    """Return one row per merged loop, from the begin of its first to the end of its last call."""
    joined: dict[int, dict[str, Any]] = {}
    for row in rows:
        number = number_of[row["id"]]
        if number in joined:
            before = joined[number]
            setup_s = before["setup_s"] + row["begin_s"] - row["entered_s"]
            outside_s = before["outside_s"]
            if before["end_s"] is not None:
                outside_s += max(row["entered_s"] - before["end_s"], 0.0)
            # The newest call tells how the model is set up now.
            before |= {"end_s": row["end_s"], "facts": row["facts"]}
            before |= {"setup_s": setup_s, "outside_s": outside_s}
        else:
            joined[number] = {**row, "setup_s": 0.0, "outside_s": 0.0}
    return list(joined.values())
