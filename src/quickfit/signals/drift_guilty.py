"""Whose code it is that grows: a callback, the input's Python, the script's own, or a pipeline.

The clock says which part of a step grows; the stacks must agree, and name the line. Inside a
compiled step there are no stacks: there, something that it computes with must have grown.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.drift import Slowdown
from quickfit.signals.drift_epochs import compared, laps
from quickfit.signals.drift_lines import (
    GrownLine,
    grown_input_line,
    grown_line,
    in_batch_hook,
    in_epoch_hook,
    in_host_code,
    in_own_code,
    in_tensorflow,
)
from quickfit.signals.holders import SINGLE, Holder, holders_of
from quickfit.signals.keras_calls import (
    MAX_ROWS_SHARE,
    MIN_PREDICTIONS,
    predict_line,
    predict_samples,
)
from quickfit.signals.python_input import generator_stages, python_maps
from quickfit.source.yields import is_in_generator

# By samples, lines grow by at least this share of what the clock says.
MIN_AGREEMENT = 0.33
# Methods by which a class hands out batches.
_HANDS_OUT = ("__next__", "__getitem__", "__iter__")
# Tensors that every step, or every second one, leaves behind.
MIN_KEPT = 0.5
# A size, or a copy, that grew by this much: longer batches may be the reason.
MIN_LARGER = 1.15
# What a step computes with must have grown this much from the first look at it to the last.
MIN_STATE_GROWTH = 1.3
# And the calls of the step must explain this much of what a step takes longer.
MIN_CALL_SHARE = 0.5


@dataclass(frozen=True)
class Guilty:
    """Whose code grows.

    Args:
        kind: `callback`, `generator`, `host`, `pipeline` or `state`.
        slow: how the run slowed down.
        line: the line whose time grew; None where no line of the user's was seen.
        state: what the step computes with and what grows, for `state`.
    """

    kind: str
    slow: Slowdown
    line: GrownLine | None
    state: Holder | None = None


def guilty(signals: Signals) -> Guilty | None:
    """Return whose code explains that a run gets slower; None where that is not known."""
    slow = signals.slowdown
    if slow is None:
        return None
    grown = _growing_state(signals, slow)
    if grown is not None or slow.why != "part":
        return grown
    if slow.part == "stages":
        # Where the script's own code after an epoch grows as well, that says more.
        other = _after_epochs(signals, slow) if slow.unit == "epoch" else None
        return other or Guilty("pipeline", slow, None)
    if slow.part == "callbacks":
        line = grown_line(signals, in_batch_hook, slow=slow)
        is_other = _predicts(line, signals) or _waits_for_step(line, slow)
        return None if is_other else Guilty("callback", slow, line)
    if slow.part in ("input", "stage_work"):
        is_python = slow.part == "input" or _runs_python(signals)
        return Guilty("generator", slow, grown_input_line(signals)) if is_python else None
    if slow.part == "after":
        return _after_epochs(signals, slow)
    if slow.part == "start":
        return _at_starts(signals, slow)
    return _host(signals, slow) if slow.part in ("between", "call") else None


def _growing_state(signals: Signals, slow: Slowdown) -> Guilty | None:
    """Return the variable or tensor that grows while the calls of the step take longer.

    Larger batches make calls longer, too: then nothing is said of what else grows.
    """
    measured = {one.name: one for one in slow.measured}
    call, size = measured.get("call"), measured.get("batch_bytes")
    is_other = slow.unit != "step" or slow.why == "data" or slow.part not in ("", "call")
    is_larger = size.last > MIN_LARGER * size.first if size is not None else _copies_more(signals)
    if is_other or call is None or is_larger:
        return None
    share = min(call.growth / (slow.last_s - slow.first_s), 1.0)
    states = [one for one in holders_of(signals) if one.kind in SINGLE]
    growing = [one for one in states if _state_growth(signals, one) >= MIN_STATE_GROWTH]
    if share < MIN_CALL_SHARE or not growing:
        return None
    state = max(growing, key=lambda one: one.held_bytes)
    slow = dataclasses.replace(slow, why="part", part="call", share=share)
    return Guilty("state", slow, None, state)


def _state_growth(signals: Signals, state: Holder) -> float:
    """Return how many times as large it became during the loop, if it never became smaller."""
    begin_s = signals.loop.begin_s
    sizes = [size for at_s, size, _ in state.looks if at_s >= begin_s]
    if len(sizes) < 2 or any(later < size for size, later in itertools.pairwise(sizes)):
        return 0.0
    return sizes[-1] / max(sizes[0], 1)


def _predicts(line: GrownLine | None, signals: Signals) -> bool:
    """Tell whether a line is what `predict-in-loop` reports: many calls, for a few rows each."""
    seen = predict_line(signals) if line is not None else None
    if seen is None or line is None or seen.location.short != line.location.short:
        return False
    rows_share = predict_samples(signals.main_stacks(), seen.location).rows_share
    return seen.calls >= MIN_PREDICTIONS and rows_share <= MAX_ROWS_SHARE


def _waits_for_step(line: GrownLine | None, slow: Slowdown) -> bool:
    """Tell whether what grows waits inside TensorFlow, maybe for the step itself to end.

    A value that is fetched is there when the device has computed it, in whoever's code that is.
    """
    return slow.sleeps and (line is None or in_tensorflow(line.frames))


def _runs_python(signals: Signals) -> bool:
    try:
        return bool(generator_stages(signals) or python_maps(signals))
    except SignalMissing:
        return False


def _after_epochs(signals: Signals, slow: Slowdown) -> Guilty | None:
    found = laps(signals.process, signals.loop.id, signals.epochs)
    parts = compared(found)
    for kind, inside in (("callback", in_epoch_hook), ("host", in_own_code)):
        line = grown_line(signals, inside, parts)
        if line is None or not _agrees(line, slow) or _waits_for_step(line, slow):
            continue
        if not _predicts(line, signals) and not _is_loop(line, signals):
            return Guilty(kind, slow, line)
    return None


def _at_starts(signals: Signals, slow: Slowdown) -> Guilty | None:
    parts = compared(laps(signals.process, signals.loop.id, signals.epochs))
    line = grown_input_line(signals, parts)
    return Guilty("generator", slow, line) if line is not None and _agrees(line, slow) else None


def _is_loop(line: GrownLine, signals: Signals) -> bool:
    """Tell whether a line is the loop's own: what runs there is Keras's, or ends an iterator."""
    at = signals.loop.location
    return at is not None and (at.file, at.line) == (line.location.file, line.location.line)


def _agrees(line: GrownLine, slow: Slowdown) -> bool:
    name = "after" if slow.part == "stages" else slow.part
    if slow.is_calm:
        return line.grown_s >= MIN_AGREEMENT * slow.share * (slow.last_s - slow.first_s)
    part = next((one for one in slow.measured if one.name == name), None)
    least_s = max(part.growth if part is not None else 0.0, (slow.last_s - slow.first_s) / 2)
    return part is not None and line.grown_s >= MIN_AGREEMENT * least_s


def _host(signals: Signals, slow: Slowdown) -> Guilty | None:
    line = grown_line(signals, in_host_code, slow=slow)
    if line is None or not _agrees(line, slow) or _predicts(line, signals):
        return None
    if _waits_for_step(line, slow):
        return None
    if _is_loop(line, signals) or _may_have_longer_batches(line, signals):
        return None
    return Guilty("generator" if _makes_batches(line, signals) else "host", slow, line)


def _may_have_longer_batches(line: GrownLine, signals: Signals) -> bool:
    """Tell whether the line may take longer because it is given more.

    Arrays that the script hands over itself have no recorded size. What it copies to tensors
    tells, and an operation of TensorFlow's is suspect where nothing does.
    """
    series = signals.drift.series
    if "batch_bytes" in series:
        return False  # the claim has taken it into account
    if len(_looks_at_copies(signals)) < 2:
        return in_tensorflow(line.frames) and not _keeps_tensors(signals)
    return _copies_more(signals)


def _copies_more(signals: Signals) -> bool:
    """Tell whether a step copies more to tensors than at first."""
    looks = _looks_at_copies(signals)
    if len(looks) < 2:
        return False
    first, last = (_copied(row) for row in (looks[0], looks[-1]))
    return last > MIN_LARGER * first > 0 and last - first > 100


def _looks_at_copies(signals: Signals) -> list[dict[str, Any]]:
    return [row for row in signals.process.rows("copies") if row["loop"] == signals.loop.id]


def _keeps_tensors(signals: Signals) -> bool:
    """Tell whether more and more tensors are alive: what goes through them has a reason to grow."""
    try:
        alive = signals.memory.objects.get("tensors")
    except SignalMissing:
        return False
    return alive is not None and alive.is_steady and (alive.per_step or 0.0) >= MIN_KEPT


def _copied(look: dict[str, float]) -> float:
    return (look["bytes"] or 0.0) / max(look["steps"], 1)


def _makes_batches(line: GrownLine, signals: Signals) -> bool:
    """Tell whether the line belongs to a generator, or to what one calls."""
    for frame in line.frames:
        if frame.is_user and frame.function in _HANDS_OUT:
            return True
        if frame.is_user and is_in_generator(signals.source_text(frame.file), frame.line):
            return True
    return False


def does_more(found: Guilty, each: str) -> str:
    """Say what the code does that grows."""
    return f"{'waits longer' if found.slow.sleeps else 'does more work'} with every {each}"


def place(found: Guilty, fallback: Location | None) -> Location | None:
    """Return the line to show."""
    return found.line.location if found.line is not None else fallback
