"""Measures candidates, judges them against the original, and chooses the one to use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.compression.shrinking.recipes import file_name
from quickfit.compression.shrinking.result import (
    ORIGINAL,
    CandidateFigures,
    CandidateKind,
    CandidateRow,
    CandidateVerdict,
    time_of,
    value_of,
)
from quickfit.compression.shrinking.targets import Target
from quickfit.lab.statistics import MIN_GAIN

if TYPE_CHECKING:
    from quickfit.compression.calibration import Samples
    from quickfit.compression.weighing import Weight

# Each look at the held-out samples makes their answer a little less independent.
MOST_JUDGED = 3

# Returns the accuracy of a row on the held-out samples.
Judge = Callable[[CandidateRow], float]


@dataclass(frozen=True)
class Choice:
    """What came of choosing.

    Args:
        rows: with new verdicts, in their order.
        chosen: the name of the best, or None.
        notes: what a person should know about the choice.
    """

    rows: tuple[CandidateRow, ...]
    chosen: str | None
    notes: tuple[str, ...]


def choose_row(
    rows: Sequence[CandidateRow], target: Target, judge: Judge, *, for_training: bool = False
) -> Choice:
    """Choose the best accepted row that the held-out samples accept too.

    With demands, the most accurate of those that meet them; without, the fastest; or the smallest
    or fastest, where that was said.
    """
    found = {row.name: row for row in rows}
    original = found[ORIGINAL].figures
    ranked = rank_rows(rows, original, target, for_training=for_training)
    if not ranked:
        return Choice(tuple(rows), None, (_nothing_chosen(rows, original, target, for_training),))
    base = judge(found[ORIGINAL])
    found[ORIGINAL] = replace(found[ORIGINAL], held_out=base)
    chosen = None
    for row in ranked[:MOST_JUDGED]:
        found[row.name] = _held_out_verdict(row, judge(row), base, target)
        if found[row.name].verdict is CandidateVerdict.CHOSEN:
            chosen = row.name
            break
    notes = () if chosen else (_refused_reason(ranked[:MOST_JUDGED]),)
    return Choice(tuple(found[row.name] for row in rows), chosen, notes)


def rank_rows(
    rows: Sequence[CandidateRow], original: CandidateFigures, target: Target, *, for_training: bool
) -> list[CandidateRow]:
    """Return the accepted rows that meet all demands, the best first."""
    fitting = [
        row
        for row in rows
        if row.verdict is CandidateVerdict.ACCEPTED
        and not missed_demands(row, original, target, for_training=for_training)
    ]
    if target.aim == "size":
        return sorted(
            fitting, key=lambda row: (row.figures.file_bytes or 0, _row_time(row, for_training))
        )
    if target.demands and target.aim is None:
        return sorted(
            fitting, key=lambda row: (-(row.figures.accuracy or 0.0), _row_time(row, for_training))
        )
    return _fastest_first(fitting, for_training)


def _fastest_first(rows: list[CandidateRow], for_training: bool) -> list[CandidateRow]:
    """Sort by time; of those that are as fast as each other, the smaller one comes first."""
    left = sorted(rows, key=lambda row: _row_time(row, for_training))
    ordered: list[CandidateRow] = []
    while left:
        most_s = _row_time(left[0], for_training) * MIN_GAIN
        alike = [row for row in left if _row_time(row, for_training) <= most_s]
        best = min(
            alike, key=lambda row: (row.figures.file_bytes or 0, -(row.figures.accuracy or 0))
        )
        ordered.append(best)
        left.remove(best)
    return ordered


def _row_time(row: CandidateRow, for_training: bool) -> float:
    time_s = time_of(row.figures, for_training=for_training)
    return float("inf") if time_s is None else time_s


def _held_out_verdict(
    row: CandidateRow, accuracy: float, base: float, target: Target
) -> CandidateRow:
    if target.allows(accuracy, base):
        return replace(row, verdict=CandidateVerdict.CHOSEN, held_out=accuracy)
    reason = f"on samples that nothing has seen it {_as_clause(accuracy, base, target)}"
    return replace(row, verdict=CandidateVerdict.REJECTED, held_out=accuracy, reason=reason)


def _as_clause(accuracy: float, base: float, target: Target) -> str:
    text = loss_text(accuracy, base, target)
    return text if text.startswith("loses") else f"is {text}"


def _refused_reason(rows: Sequence[CandidateRow]) -> str:
    names = ", ".join(row.name for row in rows)
    return (
        f"Nothing is chosen: {names} did well on the samples to choose by, and lost too much on"
        " those that nothing has seen. Give more data, or allow more loss."
    )


def _nothing_chosen(
    rows: Sequence[CandidateRow], original: CandidateFigures, target: Target, for_training: bool
) -> str:
    accepted = [row for row in rows if row.verdict is CandidateVerdict.ACCEPTED]
    if not accepted:
        return "Nothing is chosen: no candidate is better than the original within what is allowed."
    nearest = min(
        accepted,
        key=lambda row: (
            len(missed_demands(row, original, target, for_training=for_training)),
            _row_time(row, for_training),
        ),
    )
    missing = "; ".join(missed_demands(nearest, original, target, for_training=for_training))
    return (
        f"Nothing is chosen: nothing reaches the target. The nearest is {nearest.name} ({missing})."
    )


# What is left of the time or the size has to be less than this share to count as a gain: less is
# within what measuring on a shared machine gives.
LEAST_GAIN = 0.95


def judge_row(
    row: CandidateRow, original: CandidateFigures, target: Target, *, for_training: bool
) -> CandidateRow:
    """Return a row with its verdict.

    It is rejected where it loses too much accuracy, or is neither smaller nor faster (for
    training: not faster) than the original.
    """
    if row.name == ORIGINAL:
        return replace(row, verdict=CandidateVerdict.ORIGINAL, reason="")
    if not row.is_there:
        return row
    if row.figures.accuracy is None or time_of(row.figures, for_training=for_training) is None:
        return replace(row, verdict=CandidateVerdict.NOT_MEASURED)
    reason = _loss_reason(row.figures, original, target) or _no_gain_reason(
        row.figures, original, for_training=for_training
    )
    if reason:
        return replace(row, verdict=CandidateVerdict.REJECTED, reason=reason)
    return replace(
        row, verdict=CandidateVerdict.ACCEPTED, reason=_slower_note(row.figures, original)
    )


def missed_demands(
    row: CandidateRow, original: CandidateFigures, target: Target, *, for_training: bool
) -> list[str]:
    """Return the demands of a target that a row does not meet, in words."""
    found = []
    for demand in target.demands:
        value, base = (
            value_of(one, demand.quantity, for_training=for_training)
            for one in (row.figures, original)
        )
        if value is None or base is None:
            found.append(f"{demand.text}: not known")
        elif not demand.is_met(value, base):
            found.append(f"{demand.text}: {_reached_text(demand.quantity, value, base)}")
    return found


def _reached_text(quantity: str, value: float, base: float) -> str:
    if quantity == "time":
        # Two digits: 1.96 is less than 2.0.
        return f"{base / value:.2f}× as fast, {units.seconds(value)}"
    shown = units.size(value) if quantity == "size" else units.count(value)
    return f"{shown}, {units.share(value / base)} of the original's"


def _loss_reason(figures: CandidateFigures, original: CandidateFigures, target: Target) -> str:
    accuracy, base = figures.accuracy, original.accuracy
    if accuracy is None or base is None or target.allows(accuracy, base):
        return ""
    return loss_text(accuracy, base, target)


def loss_text(accuracy: float, base: float, target: Target) -> str:
    """Say that too much accuracy is lost."""
    if target.least_accuracy is not None and accuracy < target.least_accuracy:
        return f"right for {accuracy:.1%}; {target.least_accuracy:.1%} is asked for"
    allowed = f"{100 * target.most_loss:g}" if target.most_loss > 0 else "none"
    return f"loses {100 * (base - accuracy):.1f} points; {allowed} allowed"


def _no_gain_reason(
    figures: CandidateFigures, original: CandidateFigures, *, for_training: bool
) -> str:
    time_ratio = _ratio_of(
        time_of(figures, for_training=for_training), time_of(original, for_training=for_training)
    )
    if time_ratio is not None and time_ratio < LEAST_GAIN:
        return ""
    shown = "not known" if time_ratio is None else f"{time_ratio:.2f}"
    if for_training:
        return (
            _slow_step_note(time_ratio, figures, original)
            or f"not faster: {shown} of the time of a step"
        )
    size_ratio = _ratio_of(figures.file_bytes, original.file_bytes)
    if size_ratio is not None and size_ratio < LEAST_GAIN:
        return ""
    size = "not known" if size_ratio is None else f"{size_ratio:.2f}"
    return f"neither faster nor smaller: {shown} of the time, {size} of the size"


def _slow_step_note(
    time_ratio: float | None, figures: CandidateFigures, original: CandidateFigures
) -> str:
    """Warn where fewer operations take more time on this device."""
    if time_ratio is None or time_ratio <= MIN_GAIN:
        return ""
    told = f"slower on this device: a training step takes {units.factor(time_ratio)} as long"
    work = _ratio_of(figures.flops, original.flops)
    return (
        told if work is None or work >= 1 else f"{told}, with {units.share(work)} of the operations"
    )


def _slower_note(figures: CandidateFigures, original: CandidateFigures) -> str:
    """Say where something that is smaller is slower than the original."""
    slow = [
        f"{units.factor(ratio)} as long for a batch of {batch}"
        for batch, time_s in sorted(figures.latency_s.items())
        if (ratio := _ratio_of(time_s, original.latency_s.get(batch))) is not None
        and ratio > MIN_GAIN
    ]
    return f"smaller, but slower here: {', '.join(slow)}" if slow else ""


def _ratio_of(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base


def with_front(rows: Sequence[CandidateRow], *, for_training: bool = False) -> list[CandidateRow]:
    """Return the rows with the front marked.

    Compared are accuracy, time and size of the file; for training only accuracy and the time of a
    step. Rows that were not measured are neither on the front nor beat anybody.
    """
    points = {
        row.name: point for row in rows if (point := _row_costs(row, for_training)) is not None
    }
    return [
        replace(row, is_on_front=row.name in points and not _is_beaten(row.name, points))
        for row in rows
    ]


_Point = tuple[float, float, float]


def _row_costs(row: CandidateRow, for_training: bool) -> _Point | None:
    """Return what a row costs: errors, time, bytes. Less is better in each."""
    time_s = time_of(row.figures, for_training=for_training)
    size = 0.0 if for_training else row.figures.file_bytes
    if not row.is_there or row.figures.accuracy is None or time_s is None or size is None:
        return None
    return 1 - row.figures.accuracy, time_s, float(size)


def _is_beaten(name: str, points: dict[str, _Point]) -> bool:
    order = list(points)
    return any(
        _is_better_somewhere(other, points[name], is_earlier=order.index(key) < order.index(name))
        for key, other in points.items()
        if key != name
    )


def _is_better_somewhere(one: _Point, other: _Point, *, is_earlier: bool) -> bool:
    """Tell whether `one` is nowhere worse, and somewhere better."""
    if not _is_no_worse(one, other):
        return False
    if not _is_no_worse(other, one):
        return True
    # Equal within the tolerance. The exact time decides, so that three of them cannot beat each
    # other in a circle.
    return one[1] < other[1] or (one[1] == other[1] and is_earlier)


def _is_no_worse(one: _Point, other: _Point) -> bool:
    same = (1 + 1e-9, MIN_GAIN, 1.0)
    return all(a <= b * factor for a, b, factor in zip(one, other, same, strict=True))


def measure_rows(
    rows: Sequence[CandidateRow],
    samples: Samples,
    *,
    for_training: bool,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[list[CandidateRow], tuple[str, ...]]:
    """Return the rows with their figures, and what is to be told about all of them."""
    from quickfit.compression.weighing import weighed

    things: dict[str, Any] = {
        row.name: row.model if row.kind is CandidateKind.KERAS else row.path
        for row in rows
        if row.is_there
    }
    said = f"measuring {len(things)} candidates in turn"
    tell(said)
    weights = weighed(
        things,
        samples,
        evaluate=None,
        for_training=for_training,
        tell=lambda text: tell(f"{said}: {text}"),
    )
    return with_weights(rows, weights), int8_remark(weights)


def int8_remark(weights: Mapping[str, Weight]) -> tuple[str, ...]:
    """Say once, by the files of the original, whether int8 is faster on this machine."""
    from quickfit.compression.quantizing import advice_on_speed

    pair = [weights.get(file_name(ORIGINAL, kind)) for kind in ("float32", "int8")]
    if pair[0] is None or pair[1] is None:
        return ()
    plain, small = pair[0].latency_s, pair[1].latency_s
    return tuple(
        f"A batch of {batch}: {advice_on_speed(plain[batch], small[batch])}" for batch in small
    )


def with_weights(rows: Sequence[CandidateRow], weights: Mapping[str, Weight]) -> list[CandidateRow]:
    """Return the rows with what was weighed; a file counts the operations of its Keras model."""
    return [
        replace(
            row,
            figures=_weighed_figures(row, weights),
            notes=(*row.notes, *_keras_remarks(row, weights)),
        )
        if row.name in weights
        else row
        for row in rows
    ]


def _keras_remarks(row: CandidateRow, weights: Mapping[str, Weight]) -> tuple[str, ...]:
    """Return what is surprising about a Keras model beside the original."""
    from quickfit.compression.weighing import remarks

    if row.kind is CandidateKind.LITERT or row.name == ORIGINAL:
        return ()
    return remarks({name: weights[name] for name in (ORIGINAL, row.name)}, ORIGINAL)


def _weighed_figures(row: CandidateRow, weights: Mapping[str, Weight]) -> CandidateFigures:
    weight = weights[row.name]
    keras = weights.get(row.parent or row.name, weight)
    return CandidateFigures(
        accuracy=row.figures.accuracy,
        parameters=keras.parameters,
        flops=keras.flops,
        file_bytes=weight.file_bytes,
        step_s=weight.step_s,
        latency_s=weight.latency_s,
    )
