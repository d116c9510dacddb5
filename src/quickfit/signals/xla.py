"""Compiling with XLA: how long it took, how often, and how much of the training it is."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.signals._facade import RECOMPILED, Signals
from quickfit.source.keywords import calls_named, keyword_of, line_of

# A call must take this much longer than the others to have compiled: a busy machine delays too.
MIN_COMPILE_S = 0.2


@dataclass(frozen=True)
class Compiled:
    """What XLA's compiling took in the steps of the main loop.

    Args:
        first_s: in the first step, without the trace.
        again_s: in later steps that did not trace: batches of another shape.
        again: how many those were.
        step_s: a step that did not compile.
        expected_s: how long the training takes, from its first step to its planned end.
        steps: how many steps that is.
    """

    first_s: float
    again_s: float
    again: int
    step_s: float
    expected_s: float
    steps: int


def is_jit(signals: Signals) -> bool:
    """Tell whether XLA compiles the train step."""
    facts = signals.loop.facts
    if facts.get("run_eagerly") or facts.get("functions_run_eagerly"):
        return False
    return bool(facts.get("jit_compile")) or any(t.is_compiled for t in _in_loop(signals))


def jit_location(signals: Signals) -> Location | None:
    """Return where compiling was asked for: the call of `compile`, or the function."""
    facts = signals.loop.facts
    if facts.get("jit_compile"):
        place = signals.location(facts.get("compile_file"), facts.get("compile_line"))
        return place or signals.loop.location
    compiled = [t for t in _in_loop(signals) if t.is_compiled]
    if not compiled:
        return None
    where = compiled[0].location or compiled[0].caller
    return where if where is None or _asks(where) else _asking_call(signals) or where


def _asks(where: Location) -> bool:
    return "jit_compile" in where.text


def _asking_call(signals: Signals) -> Location | None:
    """Return the only call of the user's files that makes a function for XLA."""
    found = []
    for row in signals.process.rows("sources"):
        calls = calls_named(row["text"], "function")
        jit = [call for call in calls if keyword_of(call, "jit_compile") is not None]
        found += [(row["file"], line_of(call)) for call in jit]
    return signals.location(*found[0]) if len(found) == 1 else None


def may_change_shape(signals: Signals) -> bool:
    """Tell whether batches can have other shapes than that of a smaller last one.

    In `fit` the specification of a batch says which of its sides are open. Nobody knows in a
    loop of the script's own.
    """
    parts = signals.loop.facts.get("batch")
    return parts is None or any(None in shape[1:] for _, _, shape in parts)


def compiled(signals: Signals) -> Compiled | None:
    """Return what compiling took; None where the length of the training is not known."""
    rows = [row for row in signals.process.rows("steps") if row["loop"] == signals.loop.id]
    if not rows or rows[0]["step"] != 1:
        raise SignalMissing("the first step of the training")
    usual_s = statistics.median(_took_s(row) for row in rows[1:] or rows)
    found = [(row, _took_s(row) - usual_s) for row in rows]
    slow = [(r, s) for r, s in found if s > max((RECOMPILED - 1) * usual_s, MIN_COMPILE_S)]
    first_s = sum(s - _traced_s(signals, r) for r, s in slow if r is rows[0])
    again = [s for r, s in slow if r is not rows[0] and not _traced_s(signals, r)]
    elapsed_s = rows[-1]["end_s"] - rows[0]["begin_s"]
    planned = _planned(signals, len(rows))
    if planned is None:
        return None
    left_s = max(planned - len(rows), 0) * usual_s
    return Compiled(
        max(first_s, 0.0),
        sum(again),
        len(again),
        usual_s,
        elapsed_s + left_s,
        max(planned, len(rows)),
    )


def _planned(signals: Signals, seen: int) -> int | None:
    """Return how many steps the training was to have; None where nobody knows."""
    loop = signals.loop
    is_stopped = bool(signals.process.facts.get("stopped_early"))
    if loop.is_over and not is_stopped:
        return seen  # it ended by itself
    epochs, steps = loop.facts.get("epochs"), loop.facts.get("steps")
    # Further calls of `fit` may follow the ones that were seen.
    if loop.kind != "fit" or loop.setup_s or not epochs or not steps:
        return None
    return int(epochs) * -(-int(steps) // signals.steps_per_execution)


def _took_s(row: dict[str, Any]) -> float:
    call_s = row["call_s"]
    return float(row["end_s"] - row["begin_s"] if call_s is None else call_s)


def _traced_s(signals: Signals, row: dict[str, Any]) -> float:
    """Return what a step traced, also before its loop was known to be one."""
    begin_s, end_s = row["begin_s"], row["end_s"]
    inside = (t for t in signals.traces if begin_s <= t.at_s <= end_s and not t.is_nested)
    return sum(trace.duration_s for trace in inside if not trace.name.startswith("Dataset_"))


def _in_loop(signals: Signals) -> list[Any]:
    first_s = signals.loop.begin_s
    return [t for t in signals.traces if t.is_in_loop or t.at_s >= first_s]
