"""Compares the batches of two trials: in order, as a heap, and by how far values differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.proof.kept import CHANNELS, Batch, Results

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
