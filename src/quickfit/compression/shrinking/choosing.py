"""The candidate to use: ranked by what was measured, and judged on samples nothing has seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from quickfit.compression.shrinking.front import SAME_TIME
from quickfit.compression.shrinking.rows import ORIGINAL, Figures, Row, Verdict, time_of
from quickfit.compression.shrinking.targets import Target
from quickfit.compression.shrinking.verdicts import loss_text, misses

# Each look at the held-out samples makes their answer a little less independent.
MOST_JUDGED = 3

# Returns the accuracy of a row on the held-out samples.
Judge = Callable[[Row], float]


@dataclass(frozen=True)
class Choice:
    """What came of choosing.

    Args:
        rows: with new verdicts, in their order.
        chosen: the name of the best, or None.
        notes: what a person should know about the choice.
    """

    rows: tuple[Row, ...]
    chosen: str | None
    notes: tuple[str, ...]


def chosen_from(
    rows: Sequence[Row], target: Target, judge: Judge, *, for_training: bool = False
) -> Choice:
    """Choose the best accepted row that the held-out samples accept too.

    With demands, the most accurate of those that meet them; without, the fastest; or the smallest
    or fastest, where that was said.
    """
    found = {row.name: row for row in rows}
    original = found[ORIGINAL].figures
    ranked = ranking(rows, original, target, for_training=for_training)
    if not ranked:
        return Choice(tuple(rows), None, (_nothing(rows, original, target, for_training),))
    base = judge(found[ORIGINAL])
    found[ORIGINAL] = replace(found[ORIGINAL], held_out=base)
    chosen = None
    for row in ranked[:MOST_JUDGED]:
        found[row.name] = _verdict(row, judge(row), base, target)
        if found[row.name].verdict is Verdict.CHOSEN:
            chosen = row.name
            break
    notes = () if chosen else (_refused(ranked[:MOST_JUDGED]),)
    return Choice(tuple(found[row.name] for row in rows), chosen, notes)


def ranking(
    rows: Sequence[Row], original: Figures, target: Target, *, for_training: bool
) -> list[Row]:
    """Return the accepted rows that meet all demands, the best first."""
    fitting = [
        row
        for row in rows
        if row.verdict is Verdict.ACCEPTED
        and not misses(row, original, target, for_training=for_training)
    ]
    if target.aim == "size":
        return sorted(
            fitting, key=lambda row: (row.figures.file_bytes or 0, _time(row, for_training))
        )
    if target.demands and target.aim is None:
        return sorted(
            fitting, key=lambda row: (-(row.figures.accuracy or 0.0), _time(row, for_training))
        )
    return _fastest_first(fitting, for_training)


def _fastest_first(rows: list[Row], for_training: bool) -> list[Row]:
    """Sort by time; of those that are as fast as each other, the smaller one comes first."""
    left = sorted(rows, key=lambda row: _time(row, for_training))
    ordered: list[Row] = []
    while left:
        most_s = _time(left[0], for_training) * SAME_TIME
        alike = [row for row in left if _time(row, for_training) <= most_s]
        best = min(
            alike, key=lambda row: (row.figures.file_bytes or 0, -(row.figures.accuracy or 0))
        )
        ordered.append(best)
        left.remove(best)
    return ordered


def _time(row: Row, for_training: bool) -> float:
    time_s = time_of(row.figures, for_training=for_training)
    return float("inf") if time_s is None else time_s


def _verdict(row: Row, accuracy: float, base: float, target: Target) -> Row:
    if target.allows(accuracy, base):
        return replace(row, verdict=Verdict.CHOSEN, held_out=accuracy)
    reason = f"on samples that nothing has seen it {_as_clause(accuracy, base, target)}"
    return replace(row, verdict=Verdict.REJECTED, held_out=accuracy, reason=reason)


def _as_clause(accuracy: float, base: float, target: Target) -> str:
    text = loss_text(accuracy, base, target)
    return text if text.startswith("loses") else f"is {text}"


def _refused(rows: Sequence[Row]) -> str:
    names = ", ".join(row.name for row in rows)
    return (
        f"Nothing is chosen: {names} did well on the samples to choose by, and lost too much on"
        " those that nothing has seen. Give more data, or allow more loss."
    )


def _nothing(rows: Sequence[Row], original: Figures, target: Target, for_training: bool) -> str:
    accepted = [row for row in rows if row.verdict is Verdict.ACCEPTED]
    if not accepted:
        return "Nothing is chosen: no candidate is better than the original within what is allowed."
    nearest = min(
        accepted,
        key=lambda row: (
            len(misses(row, original, target, for_training=for_training)),
            _time(row, for_training),
        ),
    )
    missing = "; ".join(misses(nearest, original, target, for_training=for_training))
    return (
        f"Nothing is chosen: nothing reaches the target. The nearest is {nearest.name} ({missing})."
    )
