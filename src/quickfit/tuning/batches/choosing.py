"""Which of the measured batch sizes to use."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quickfit.tuning.batches.question import Question
from quickfit.tuning.batches.rows import Row, best

# The smallest batch that gives up no more than this is the one to take: a smaller batch makes
# more updates of the same samples.
NEAR_BEST = 0.9
# A part of an effective batch may be this much smaller than the batch that was chosen.
LEAST_PART = 0.5


def choice(question: Question, rows: Sequence[Row]) -> Row | None:
    """Return the measured row to use; None where none may be used."""
    most = question.most(None)
    allowed = [row for row in rows if row.is_measured and (most is None or row.batch <= most)]
    if not allowed:
        return None
    if question.mode == "max":
        return max(allowed, key=lambda row: row.batch)
    enough = best(allowed) * NEAR_BEST
    return min((row for row in allowed if row.samples_per_s >= enough), key=lambda row: row.batch)


def parts(effective: int, batch: int, preferred: Sequence[int] = ()) -> tuple[int, int]:
    """Return the micro-batch and how many of them make up an effective batch.

    The micro-batch is never above `batch`. Where the effective batch has no divisor near it, the
    product is the next larger one that has.

    Args:
        effective: samples per update.
        batch: the largest micro-batch.
        preferred: sizes that are taken, the largest first, where they divide it.
    """
    for size in sorted(preferred, reverse=True):
        if batch * LEAST_PART <= size <= batch and effective % size == 0:
            return size, effective // size
    fewest = math.ceil(effective / batch)
    for count in range(fewest, math.floor(effective / max(batch * LEAST_PART, 1)) + 1):
        if effective % count == 0:
            return effective // count, count
    return math.ceil(effective / fewest), fewest
