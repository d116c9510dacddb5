"""Which batch sizes to try next, given what was seen so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quickfit.tuning.batches import choosing
from quickfit.tuning.batches.question import Question
from quickfit.tuning.batches.rows import Row, best, measured

# Below this, a step is mostly the cost of starting one; nobody's batch is there but on purpose.
FIRST_RUNG = 8
# A doubling that gains less than this is the end of the climb.
RISE = 1.05
# How many doublings are started at once, before it is known whether they still gain.
AT_ONCE = 2
# How far the line of memory is trusted beyond the largest batch that ran.
FARTHEST = 16


@dataclass(frozen=True)
class Seen:
    """What is known when the next sizes are chosen.

    Args:
        rows: of all sizes that were tried or ruled out.
        own: the batch that the user has; None where it is not known.
        samples: in the data; None where they are not counted.
        fits: tells whether a size will fit in memory.
    """

    rows: Mapping[int, Row]
    own: int | None
    samples: int | None
    fits: Callable[[int], bool]

    @property
    def ran(self) -> list[Row]:
        """What was measured, rising."""
        return measured(self.rows.values())

    @property
    def lowest_failure(self) -> int | None:
        """The smallest batch that failed; larger ones are not tried."""
        failed = [row.batch for row in self.rows.values() if row.failure is not None]
        return min(failed, default=None)


def next_sizes(question: Question, seen: Seen) -> list[int]:
    """Return the sizes to try next, the most telling ones first; none where the search is over."""
    if question.sizes is not None:
        wanted = list(question.sizes)
    elif not seen.ran:
        wanted = _lower(seen)
    elif question.mode == "max":
        wanted = _largest(question, seen)
    elif len(seen.ran) == 1:
        wanted = _around(question, seen)
    else:
        wanted = _higher(seen) + _between(question, seen)
    return [size for size in dict.fromkeys(wanted) if is_open(size, question, seen)]


def is_open(size: int, question: Question, seen: Seen) -> bool:
    """Tell whether a size may be tried, and was not yet."""
    most = question.most(seen.samples)
    failed = seen.lowest_failure
    is_too_large = most is not None and size > most
    is_above_failure = failed is not None and size > failed
    return size >= 1 and size not in seen.rows and not is_too_large and not is_above_failure


def _lower(seen: Seen) -> list[int]:
    """Return the next smaller size, one at a time, where nothing has come to its end."""
    failed = seen.lowest_failure
    return [] if failed is None else _powers_below(failed, least=1)[:1]


def _around(question: Question, seen: Seen) -> list[int]:
    """Return powers of two on both sides of the first size, the nearest first."""
    first, most = seen.ran[0].batch, question.most(seen.samples)
    if most is not None and most < first:
        return [most, *_powers_below(most)]
    above, below = _powers_above(first, AT_ONCE), _powers_below(first)
    # Far below, every other one is enough to see the curve.
    below = below[:2] + below[3::2] if len(below) > 4 else below
    nearest = [size for pair in zip(above, below, strict=False) for size in pair]
    return nearest + above[len(below) :] + below[len(above) :]


def _higher(seen: Seen) -> list[int]:
    """Return the next doublings, where the last one still gained."""
    top, others = seen.ran[-1], seen.ran[:-1]
    if top.samples_per_s < best(others) * RISE:
        return []
    return _powers_above(top.batch, AT_ONCE)


def _between(question: Question, seen: Seen) -> list[int]:
    """Return the size that was left out just below the one that would be chosen."""
    chosen = choosing.choice(question, seen.ran)
    if chosen is None:
        return []
    below = max((row.batch for row in seen.ran if row.batch < chosen.batch), default=None)
    return [] if below is None else [n for n in _powers_below(chosen.batch)[:1] if n > below]


def _largest(question: Question, seen: Seen) -> list[int]:
    """Return the largest power of two that fits by the line of memory, at most so far away.

    The most that is allowed comes in between the powers, where it fits as well.
    """
    top, most = seen.ran[-1].batch, question.most(seen.samples)
    if most is not None and most <= top:
        return [most]
    if len(seen.ran) == 1:
        # A second point, from which the line comes.
        return _powers_above(top, 1) if seen.fits(2 * top) else _powers_below(top, 1)[:1]
    sizes = [n for n in _powers_above(top, FARTHEST.bit_length()) if n <= FARTHEST * top]
    if most is not None and most < FARTHEST * top:
        sizes.append(most)
    fitting = [n for n in sizes if is_open(n, question, seen) and seen.fits(n)]
    return [max(fitting)] if fitting else []


def _powers_above(size: int, count: int) -> list[int]:
    first = 1 << size.bit_length()
    return [first << number for number in range(count)]


def _powers_below(size: int, least: int = FIRST_RUNG) -> list[int]:
    """Return the powers of two under a size, falling, down to the least."""
    powers = [1 << bit for bit in range(size.bit_length())]
    return [n for n in reversed(powers) if least <= n < size]
