"""Runs whose memory, objects or files grow, made of the numbers a test is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quickfit.recording.schema import columns
from quickfit.signals import Signals

from builders import FIT_LINE, SCRIPT, START_S, recording

STEPS_PER_S = 10
FIRST_STEP_S = 2.0  # the first one takes so much longer
Level = Callable[[float], float]
LOOP_LINE, APPEND_LINE = 5, 8
LOOP = """\
import tensorflow as tf
losses = []


for step in range(10_000):
    x, y = make_batch()
    loss = train_step(x, y)
    losses.append(loss)
    seen.append(float(loss))
"""


def flat(level: float) -> Level:
    """Return a quantity that stays as it is."""
    return lambda at_s: level


def rising(per_s: float, level: float = 0.0) -> Level:
    """Return a quantity that grows all the time."""
    return lambda at_s: level + per_s * at_s


def filling(per_s: float, until_s: float, level: float = 0.0) -> Level:
    """Return a quantity that grows and then stays."""
    return lambda at_s: level + per_s * min(at_s, until_s)


def memory_run(
    *,
    seconds: int = 40,
    rss: Level | None = None,
    asked: Level | None = None,
    source: str = "",
    head_line: int = LOOP_LINE,
    objects: dict[str, tuple[int, ...]] | None = None,
    holders: list[dict[str, Any]] | None = None,
    **given: Any,
) -> Signals:
    """Return ten steps a second, read twice a second.

    Args:
        seconds: how long it runs.
        rss: memory in use by time.
        asked: memory asked for; like `rss` unless given, None for a system that does not tell.
        source: the text of a script with its own loop; without, `fit` of `builders` runs.
        head_line: of that loop.
        objects: by kind, how many were alive, counted every twenty seconds from the second on.
        holders: what names held when they were looked at; see `looks`.
        given: more columns of `machine` by name, and what `builders.recording` takes.
    """
    names = {column.name for column in columns("machine")}
    read = {name: given.pop(name) for name in list(given) if name in names}
    facts = {"memory_bytes": 8 * 10**9, "open_files_limit": 1024, **given.pop("facts", {})}
    shape = {"step_s": 1 / STEPS_PER_S, "steps": seconds * STEPS_PER_S, "epochs": 1, "facts": facts}
    made = recording(**{**shape, **given})
    tables = made.main.tables
    level = rss or flat(6e8)
    read = {"rss_bytes": level, "data_bytes": asked or level, "file_bytes": flat(1e8), **read}
    tables["machine"] = [
        _row(half / 2, seconds, read) for half in range(1, 2 * (seconds + 2)) if half > 4
    ]
    tables["objects"] = [
        {"at_s": START_S + 4 + 20 * place, "kind": kind, "alive": alive, "bytes": None}
        for kind, counts in (objects or {}).items()
        for place, alive in enumerate(counts)
    ]
    tables["holders"] = holders or []
    if source:
        loop = tables["loops"][0]
        loop |= {"kind": "custom", "line": head_line, "facts": {"input": "python", "trains": True}}
        tables["sources"][0]["text"] = source
        tables["callbacks"] = []
    return Signals(made)


def looks(
    level: Level,
    *,
    name: str = "history",
    scope: str = "",
    every_s: int = 4,
    seconds: int = 40,
    **given: Any,
) -> list[dict[str, Any]]:
    """Return looks at one name, that holds so many bytes, by the time since the first step.

    Each thing in it has a megabyte. What it holds below a megabyte is not recorded, but that there
    was a look is.
    """
    rows = []
    for at_s in range(1, seconds, every_s):
        held = int(level(max(at_s - FIRST_STEP_S, 0.0)))
        row = {"at_s": START_S + at_s, "names": [], "kind": "", "items": 0, "bytes": 0}
        row |= {"bound": None, "content": ""}
        if held >= 10**6:
            row |= {"names": [[SCRIPT, scope, name]], "kind": "list", "items": held // 10**6}
            row |= {"bytes": held, "content": "arrays", **given}
        rows.append(row)
    return rows


def _row(at_s: float, seconds: int, read: dict[str, Level]) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(column.name for column in columns("machine"))
    row |= {"at_s": START_S + at_s, "cpu_s": 1.8 * at_s, "system_busy_s": 1.8 * at_s}
    row |= {"main_cpu_s": 0.1 * at_s, "main_run_delay_s": 0.0}
    values = {name: level(at_s) for name, level in read.items() if level is not None}
    return row | {
        n: v if n.endswith("_s") or "pressure" in n else int(v) for n, v in values.items()
    }


def traced(signals: Signals, every: int, **row: Any) -> Signals:
    """Add a trace in every so many steps."""
    tables = signals.recording.main.tables
    tables["traces"] = [
        {
            "at_s": step["begin_s"] + 0.01,
            "duration_s": 0.02,
            "name": "train_step",
            "file": SCRIPT,
            "line": 3,
            "caller_file": SCRIPT,
            "caller_line": 7,
            "ops": 20,
            "signature": str(number),
            "function": 7,
            "nested": 0,
            "loop": 1,
            "arguments": None,
            **row,
        }
        for number, step in enumerate(tables["steps"])
        if number % every == 0
    ]
    return signals


def held_by(signals: Signals, line: int, level: Level, seconds: int = 40) -> Signals:
    """Make it a run with `--memory`, in which a line holds so many bytes."""
    signals.recording.main.facts["memory_run"] = True
    signals.recording.main.tables["allocations"] = [
        {"at_s": START_S + at_s, "file": SCRIPT, "line": line, "bytes": int(level(at_s)),
         "blocks": at_s}
        for at_s in range(3, seconds + 2)
    ]  # fmt: skip
    return signals


__all__ = ["APPEND_LINE", "FIT_LINE", "LOOP", "LOOP_LINE", "START_S", "memory_run"]
