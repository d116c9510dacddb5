"""The results of trials: what each kept, and how far they agree with those of the original."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickfit import trust
from quickfit.arrays import DamagedArraysError, open_arrays
from quickfit.findings import FixClass
from quickfit.lab.sandbox.spec import RESULTS_FILE, ROWS_FILE, WEIGHTS_FILE

if TYPE_CHECKING:
    import numpy as np

# What a line ends in that no trial has written.
_NOT_OURS = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
# More than a trial keeps of rows or weights, and than its lines take.
MAX_RESULT_BYTES = 1_000_000_000
# Where batches are seen, the nearest to the training first.
CHANNELS = ("fit", "train_on_batch", "function", "next")


@dataclass(frozen=True)
class Batch:
    """One batch: a digest per row, the small values of each row, and a rough picture of each."""

    digests: tuple[str, ...]
    small: tuple[tuple[Any, ...], ...]
    rough: tuple[tuple[float, ...], ...]
    first_row: int


@dataclass(frozen=True)
class Results:
    """The results of one trial.

    Args:
        losses: what was said of each step.
        loss_channels: where that was heard; a mean of `fit` is no loss of one batch.
        weights: a digest of all trainable weights, by step.
        batches: by where they were seen.
        folder: the trial's scratch folder, with rows and weights in full.
    """

    losses: dict[int, dict[str, float]] = field(default_factory=dict)
    weights: dict[int, str] = field(default_factory=dict)
    batches: dict[str, list[Batch]] = field(default_factory=dict)
    folder: Path = Path()
    loss_channels: set[str] = field(default_factory=set)

    @property
    def last_step(self) -> int:
        """The last step whose weights were kept, or its loss where weights change unseen; or 0."""
        return max(self.weights or self.losses, default=0)

    def rows(self) -> dict[int, np.ndarray]:
        """Return the large parts of the first rows, by their number over all batches."""
        found = _arrays(self.folder / ROWS_FILE)
        return {int(name): row for name, row in found.items() if name.isdecimal()}

    def weights_at(self, step: int) -> list[np.ndarray]:
        """Return the trainable weights after a step, oldest variable first."""
        arrays = _arrays(self.folder / WEIGHTS_FILE)
        return [arrays[name] for name in sorted(arrays) if name.startswith(f"{step:06d}_")]


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with open_arrays(path, follow=False, most=MAX_RESULT_BYTES) as archive:
            return {name: archive[name] for name in getattr(archive, "files", ())}
    except DamagedArraysError:
        return {}


def read_results(folder: Path) -> Results:
    """Return what a trial kept; empty where it kept nothing."""
    found = Results(folder=folder)
    try:
        data = trust.read_regular(folder / RESULTS_FILE, MAX_RESULT_BYTES, follow=False)
    except OSError:
        return found
    row = 0
    for line in data.decode(errors="replace").splitlines():
        try:
            row = _take(found, json.loads(line), row)
        except _NOT_OURS:
            break  # the trial was ended while it wrote, or the script wrote there, too
    return found


def _take(found: Results, facts: dict[str, Any], row: int) -> int:
    if facts["kind"] == "loss":
        values = {name: float.fromhex(value) for name, value in facts["values"].items()}
        found.losses[facts["step"]] = values
        found.loss_channels.add(str(facts.get("channel", "")))
    elif facts["kind"] == "weights":
        found.weights[facts["step"]] = facts["digest"]
    elif facts["kind"] == "batch":
        batch = Batch(
            tuple(facts["digests"]), _tuples(facts["small"]), _tuples(facts["rough"]), row
        )
        found.batches.setdefault(facts["channel"], []).append(batch)
        return row + len(batch.digests)
    return row


def _tuples(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in rows)


# Rows compared value by value.
MAX_COMPARED = 2000
# Two rows are the same picture where rough means differ by no more than this part of their range.
SAME_PICTURE = 0.02


@dataclass(frozen=True)
class BatchAnswer:
    """How the batches of two trials compare.

    `kind` is `same` (bit by bit and in order), `other-order` (the same rows in an epoch), `close`
    (the same small values, and large ones that differ by `difference` at most), `different` or
    `unseen`. `difference` is a part of the range of the values.
    """

    kind: str
    rows: int = 0
    difference: float = 0.0
    is_ordered: bool = True


def compare_batches(first: Results, second: Results, epoch_steps: tuple[int, int]) -> BatchAnswer:
    """Return how the batches of two trials compare.

    Args:
        first: of the original.
        second: of the edited script.
        epoch_steps: how many batches each has in its first epoch; 0 where it was not over.
    """
    ones, others = _seen(first), _seen(second)
    if not ones or not others:
        return BatchAnswer("unseen")
    shared = min(len(ones), len(others))
    pairs = list(zip(ones[:shared], others[:shared], strict=True))
    if all(one.digests == other.digests for one, other in pairs):
        return BatchAnswer("same", sum(len(one.digests) for one, _ in pairs))
    epochs = _epoch(ones, epoch_steps[0]), _epoch(others, epoch_steps[1])
    if _heap(epochs[0]) == _heap(epochs[1]) and all(epoch_steps):
        return BatchAnswer("other-order", sum(len(b.digests) for b in epochs[0]), 0.0, False)
    ordered = _close(_rows([one for one, _ in pairs]), _rows([o for _, o in pairs]), first, second)
    if ordered is not None:
        return ordered
    if all(epoch_steps):
        return _close_in_any_order(_rows(epochs[0]), _rows(epochs[1]), first, second)
    return BatchAnswer("different")


def _seen(results: Results) -> list[Batch]:
    for channel in CHANNELS:
        batches = [b for b in results.batches.get(channel, []) if any(b.small) or any(b.rough)]
        if batches:
            return batches
    return []


def _epoch(batches: list[Batch], steps: int) -> list[Batch]:
    return batches[:steps] if steps else batches


def _heap(batches: Sequence[Batch]) -> Counter[str]:
    return Counter(digest for batch in batches for digest in batch.digests)


@dataclass(frozen=True)
class _Row:
    number: int
    small: tuple[Any, ...]
    rough: tuple[float, ...]


def _rows(batches: Sequence[Batch]) -> list[_Row]:
    return [
        _Row(batch.first_row + place, batch.small[place], batch.rough[place])
        for batch in batches
        for place in range(len(batch.digests))
    ]


def _close(
    ones: list[_Row], others: list[_Row], first: Results, second: Results
) -> BatchAnswer | None:
    """Return how far rows differ that belong together one by one; None where they do not."""
    if len(ones) != len(others) or not ones:
        return None
    if not all(_is_same_picture(one, other) for one, other in zip(ones, others, strict=True)):
        return None
    matched = [(one.number, other.number) for one, other in zip(ones, others, strict=True)]
    return BatchAnswer("close", len(ones), _difference(matched, ones, others, first, second))


def _close_in_any_order(
    ones: list[_Row], others: list[_Row], first: Results, second: Results
) -> BatchAnswer:
    """Match every row with one of the other trial; `different` where one finds none."""
    if len(ones) != len(others):
        return BatchAnswer("different")
    waiting: dict[tuple[Any, ...], list[_Row]] = defaultdict(list)
    for other in others:
        waiting[_key(other)].append(other)
    matched = []
    for one in ones:
        near = waiting[_key(one)]
        best = min(near, key=lambda other: _distance(one, other), default=None)
        if best is None or not _is_same_picture(one, best):
            return BatchAnswer("different")
        near.remove(best)
        matched.append((one.number, best.number))
    difference = _difference(matched, ones, others, first, second)
    return BatchAnswer("close", len(ones), difference, False)


def _key(row: _Row) -> tuple[Any, ...]:
    return tuple(_rounded(v) if isinstance(v, float) else v for v in map(_plain, row.small))


def _rounded(value: float) -> float:
    """Return a value without its last digits; a small one keeps four that say something."""
    return round(value, 4) if abs(value) >= 1 else float(f"{value:.4g}")


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, int | float | bool) else value


def _is_same_picture(one: _Row, other: _Row) -> bool:
    return _key(one) == _key(other) and _distance(one, other) <= SAME_PICTURE


def _distance(one: _Row, other: _Row) -> float:
    """Return the largest difference of rough means, as a part of their range."""
    if len(one.rough) != len(other.rough):
        return 1.0
    if not one.rough:
        return 0.0
    span = max(max(one.rough) - min(one.rough), max(map(abs, one.rough)) * 0.1, 1e-9)
    return max(abs(a - b) for a, b in zip(one.rough, other.rough, strict=True)) / span


def _difference(
    matched: list[tuple[int, int]],
    ones: list[_Row],
    others: list[_Row],
    first: Results,
    second: Results,
) -> float:
    """Return the largest difference of values in rows kept in full, as a part of their range."""
    mine, theirs = first.rows(), second.rows()
    kept = [(a, b) for a, b in matched if a in mine and b in theirs][:MAX_COMPARED]
    if not kept:
        rough = {row.number: row for row in (*others,)}
        own = {row.number: row for row in ones}
        return max((_distance(own[a], rough[b]) for a, b in matched), default=0.0)
    span = max(float(mine[a].max() - mine[a].min()) if mine[a].size else 0.0 for a, _ in kept)
    worst = max(
        float(abs(mine[a] - theirs[b]).max())
        if mine[a].shape == theirs[b].shape and mine[a].size
        else 0.0
        for a, b in kept
    )
    return worst / span if span else worst


# Of the losses of the first steps: rounding that grows stays far below this.
CLOSE = 2e-3
VERY_CLOSE = 1e-4
CLOSE_STEPS = 8
# The largest difference of a value in a batch that is still the same image: 3 of 255 steps.
CLOSE_VALUES = 3.0 / 255.0


@dataclass(frozen=True)
class Answer:
    """How the results compare.

    Args:
        kind: the lowest class that is true of what was seen; None where results speak against it.
        text: what was seen, in a few words.
    """

    kind: FixClass | None
    text: str


def judge(
    first: Results,
    again: Results,
    edited: Results,
    *,
    claimed: FixClass,
    epoch_steps: tuple[int, int],
) -> Answer:
    """Return what the results of an edited script are.

    Args:
        first: of the original.
        again: of the original, a second time: where it differs, losses cannot be compared.
        edited: of the edited script.
        claimed: the class that the fix claims to be of.
        epoch_steps: batches in the first epoch of the original and of the edited script.
    """
    if not _trains(edited):
        return Answer(None, "no step of training was seen")
    if not _is_finite(edited) and _is_finite(first):
        return Answer(None, "the loss is not a number")
    if claimed == FixClass.REPAIRS:
        return Answer(FixClass.REPAIRS, f"it trains: {_said_of(edited)}")
    if are_equal(first, edited):
        steps = len(first.weights.keys() & edited.weights.keys())
        said = f"bit-equal, {steps} steps" if steps else _equal_losses(first, edited)
        return _lower(claimed, FixClass.SAME_RESULTS, said)
    batches = compare_batches(first, edited, epoch_steps)
    is_comparable = are_equal(first, again)
    return _less_than_equal(first, edited, batches, claimed, is_comparable=is_comparable)


def _less_than_equal(
    first: Results,
    edited: Results,
    batches: BatchAnswer,
    claimed: FixClass,
    *,
    is_comparable: bool,
) -> Answer:
    away = _losses_apart(first, edited)
    losses = f"losses within {away:.0e}" if away is not None and is_comparable else ""
    said = _batches_said(batches)
    text = "; ".join(part for part in (said, losses) if part)
    if not is_comparable:
        text = f"{text}; losses differ from run to run".removeprefix("; ")
    if claimed == FixClass.MAY_CHANGE_RESULTS:
        return Answer(claimed, text or "other results, as said")
    if batches.kind == "same" and not is_comparable:
        return _lower(claimed, FixClass.SAME_RESULTS, text)
    is_near = is_comparable and away is not None and away <= CLOSE
    if batches.kind in ("same", "unseen") and (
        is_near or (away is None and _weights_near(first, edited))
    ):
        return _lower(claimed, FixClass.EQUIVALENT, text or "weights within rounding")
    if batches.kind == "close" and batches.difference <= CLOSE_VALUES:
        return _lower(claimed, FixClass.EQUIVALENT, text)
    if batches.kind == "other-order":
        return _lower(claimed, FixClass.EQUIVALENT, text)
    # Batches in other units, as bytes that the model itself scales: the losses must agree better.
    if is_near and (batches.kind != "different" or (away or 0.0) <= VERY_CLOSE):
        return _lower(claimed, FixClass.EQUIVALENT, text)
    return Answer(None, f"the results are others: {text or 'nothing to compare was seen'}")


def _lower(claimed: FixClass, seen: FixClass, text: str) -> Answer:
    """Return the lower of two classes: what was seen proves no more than what is claimed."""
    order = (FixClass.SAME_RESULTS, FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS)
    if claimed not in order:
        return Answer(claimed, text)
    return Answer(max(claimed, seen, key=order.index), text)


def _batches_said(batches: BatchAnswer) -> str:
    rows = f"{batches.rows} rows"
    order = "" if batches.is_ordered else ", in another order"
    return {
        "same": f"same batches ({rows})",
        "other-order": f"same rows in an epoch ({rows}), in another order",
        "close": f"same rows ({rows}){order}, values within {batches.difference * 255:.1f}/255",
        "different": "other batches",
    }.get(batches.kind, "")


def _said_of(results: Results) -> str:
    if not results.losses:
        return f"{results.last_step} steps"
    last = max(results.losses)
    loss = next(iter(results.losses[last].values()), math.nan)
    return f"{last} steps, loss {loss:.4g}"


def _trains(results: Results) -> bool:
    return bool(results.losses or results.weights)


def _is_finite(results: Results) -> bool:
    return all(math.isfinite(v) for values in results.losses.values() for v in values.values())


def are_equal(first: Results, second: Results) -> bool:
    """Tell whether losses and weights are equal bit by bit, as far as both were seen."""
    return _steps_apart(first, second) is None


def _steps_apart(first: Results, second: Results) -> int | None:
    """Return the first step at which losses or weights are not equal bit by bit, or None."""
    shared = sorted(first.weights.keys() & second.weights.keys())
    apart = [step for step in shared if first.weights[step] != second.weights[step]]
    losses = _shared_losses(first, second)
    apart += [s for s in losses if _first_loss(first, s) != _first_loss(second, s)]
    if not shared and not losses:
        return 0
    return min(apart, default=None)


def _equal_losses(first: Results, second: Results) -> str:
    """Return what was seen where no optimizer shows when the weights change."""
    return f"bit-equal losses, {len(_shared_losses(first, second))} steps"


def _shared_losses(first: Results, second: Results) -> list[int]:
    """Return the steps whose losses mean the same in both: not a mean here and a batch there."""
    if first.loss_channels != second.loss_channels:
        return []
    return sorted(first.losses.keys() & second.losses.keys())


def _first_loss(results: Results, step: int) -> float | None:
    """Return the loss; metrics may be named and ordered in other ways."""
    values = results.losses[step]
    value = values.get("loss", next(iter(values.values()), None))
    return None if value is not None and math.isnan(value) else value


def _losses_apart(first: Results, second: Results) -> float | None:
    """Return the largest relative difference of the losses of the first steps."""
    steps = _shared_losses(first, second)[:CLOSE_STEPS]
    pairs = [(_first_loss(first, step), _first_loss(second, step)) for step in steps]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return max((abs(a - b) / max(abs(a), 1e-12) for a, b in known), default=None)


def _weights_near(first: Results, second: Results) -> bool:
    """Tell whether the weights after the first steps differ by rounding only."""
    shared = sorted(first.weights.keys() & second.weights.keys())
    early = [step for step in shared if step <= CLOSE_STEPS][-1:] or shared[:1]
    if not early:
        return False
    ones, others = first.weights_at(early[0]), second.weights_at(early[0])
    if not ones or [a.shape for a in ones] != [b.shape for b in others]:
        return False
    return all(_array_near(a, b) for a, b in zip(ones, others, strict=True))


def _array_near(one: object, other: object) -> bool:
    import numpy as np

    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    scale = max(float(np.abs(a).max(initial=0.0)), 1e-6)
    return bool(np.abs(a - b).max(initial=0.0) <= CLOSE * scale)
