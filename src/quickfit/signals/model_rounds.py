"""Models that are built again and again: how many, and what each round leaves behind."""

from __future__ import annotations

import bisect
import itertools
import statistics
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Exhaustion, Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals._facade import Signals
from quickfit.signals.fit_calls import fit_calls
from quickfit.signals.leaks import pools_bytes, rate_interval
from quickfit.signals.memory import own_points, time_left_s
from quickfit.source.built import line_that_builds

# Each `fit` but the first traces anew: the model, or how it is compiled, is another one.
MIN_TRACED_SHARE = 0.5
# The first rounds fill the pools.
WARMUP_ROUNDS = 2
# A search of this many rounds goes on; of fewer, such as five folds, what they leave must itself
# be worth a word: they may end before it matters.
SEARCH_ROUNDS = 10
MIN_BYTES_OF_FEW = 200_000_000
# In each half of the rounds memory grows at this share of the mean rate at least.
MIN_HALF_SHARE = 0.4


@dataclass(frozen=True)
class Rounds:
    """Calls of `fit`, each with a model of its own, and the memory after each.

    Args:
        rounds: how many there were.
        location: the line that builds the model.
        per_round: bytes that each round leaves behind.
        low: of that, what is sure (95 %), by how much the rounds differ.
        grown: bytes over all rounds after warm-up.
        goes_on: whether it grew in both halves of the rounds.
        round_s: median time of the first third of the rounds, and of the last.
        alive: by kind, how many more objects are alive per round: models, graphs, functions.
        clears: whether the text calls `clear_session`.
    """

    rounds: int
    location: Location | None
    per_round: float
    low: float
    grown: float
    goes_on: bool
    round_s: tuple[float, float]
    alive: dict[str, float]
    clears: bool
    per_s: float

    def exhaustion(self, signals: Signals) -> Exhaustion:
        """Return what a finding says of it."""
        memory = signals.memory
        in_s = time_left_s(self.per_s, memory.limit_bytes, memory.used_bytes)
        told = ("memory", "bytes", self.grown, self.per_round, self.per_s)
        return Exhaustion(*told, memory.limit_bytes, in_s, "round")


def model_rounds(signals: Signals) -> Rounds | None:
    """Return the rounds of a script that builds a model for each; None where it builds one."""
    calls = fit_calls(signals)
    if calls is None or calls.calls < 2:
        return None
    if calls.models < 2 and calls.traced_share < MIN_TRACED_SHARE:
        return None
    place = signals.loop.location
    rows = _rows(signals.recorded_process, signals)
    levels = _levels(signals.process, rows)
    late = levels[WARMUP_ROUNDS:]
    if place is None or len(late) < 2:
        return None
    text = signals.source_text(place.file)
    builds = line_that_builds(text, place.line)
    if builds is None and calls.models < 2:
        return None  # one model that is compiled again
    grown, took_s = late[-1][1] - late[0][1], late[-1][0] - late[0][0]
    return Rounds(
        rounds=len(rows),
        location=signals.location(place.file, builds) if builds else place,
        per_round=grown / (len(late) - 1),
        low=rate_interval([(float(n), level) for n, (_, level) in enumerate(late)])[0],
        grown=grown,
        goes_on=_goes_on([level for _, level in late]),
        round_s=_round_s(rows),
        alive=_alive(signals, len(rows)),
        clears="clear_session(" in text,
        per_s=max(grown, 1.0) / max(took_s, 1e-9),
    )


def is_growing(rounds: Rounds) -> bool:
    """Tell whether what the rounds surely left behind is more than pools explain, to the last."""
    took_s = rounds.grown / rounds.per_s
    least = pools_bytes(took_s)
    if rounds.rounds < SEARCH_ROUNDS:
        least = max(least, MIN_BYTES_OF_FEW)
    sure = rounds.low * rounds.grown / rounds.per_round if rounds.per_round > 0 else 0.0
    return sure >= least and rounds.goes_on


def _rows(process: ProcessRecording, signals: Signals) -> list[dict[str, Any]]:
    where = signals.loop.location
    assert where is not None
    place = ("fit", where.file, where.line)
    return [r for r in process.rows("loops") if (r["kind"], r["file"], r["line"]) == place]


def _levels(process: ProcessRecording, rows: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return when each round ended, and the memory in use then."""
    points = own_points(process.rows("machine"))
    times = [at_s for at_s, _ in points]
    found = []
    for row in rows:
        place = bisect.bisect_left(times, row["end_s"]) if row["end_s"] is not None else len(times)
        if 0 < place < len(times):
            found.append(points[place])
    return found


def _goes_on(levels: list[float]) -> bool:
    """Tell whether both halves grew at a fair rate."""
    if len(levels) < 4:
        return False
    middle = len(levels) // 2
    mean = (levels[-1] - levels[0]) / (len(levels) - 1)
    halves = (
        (levels[middle] - levels[0]) / middle,
        (levels[-1] - levels[middle]) / (len(levels) - 1 - middle),
    )
    return mean > 0 and min(halves) >= MIN_HALF_SHARE * mean


def _round_s(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the median time from round to round, of the first third after warm-up and the last."""
    begins = [row["entered_s"] for row in rows][1:]
    times = [b - a for a, b in itertools.pairwise(begins)]
    third = max(len(times) // 3, 1)
    if not times:
        return 0.0, 0.0
    return statistics.median(times[:third]), statistics.median(times[-third:])


def _alive(signals: Signals, rounds: int) -> dict[str, float]:
    span_s = max(signals.steps.end_s - signals.steps.begin_s, 1e-9)
    found = {}
    for kind in ("models", "graphs", "functions", "variables"):
        grown = signals.memory.objects.get(kind)
        if grown is not None and grown.total > 0:
            found[kind] = grown.total / max(rounds * grown.window_s / span_s, 1.0)
    return found
