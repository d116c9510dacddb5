"""Whose code it is that grows: a callback, the input's Python, the script's own, or a pipeline.

The clock says which part of a step grows; the stacks must agree, and name the line.
"""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Guilty:
    """Whose code grows.

    Args:
        kind: `callback`, `generator`, `host` or `pipeline`.
        slow: how the run slowed down.
        line: the line whose time grew; None where no line of the user's was seen.
    """

    kind: str
    slow: Slowdown
    line: GrownLine | None


def guilty(signals: Signals) -> Guilty | None:
    """Return whose code explains that a run gets slower; None where that is not known."""
    slow = signals.slowdown
    if slow is None or slow.why != "part":
        return None
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
    looks = [r for r in signals.process.rows("copies") if r["loop"] == signals.loop.id]
    if len(looks) < 2:
        return in_tensorflow(line.frames) and not _keeps_tensors(signals)
    first, last = (_copied(row) for row in (looks[0], looks[-1]))
    return last > MIN_LARGER * first > 0 and last - first > 100


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
