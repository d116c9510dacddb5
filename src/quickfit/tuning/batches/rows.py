"""What was seen of each batch size."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

from quickfit.tuning.trials.answers import Block, Failure


@dataclass(frozen=True)
class Row:
    """One batch size, as far as it was tried.

    Args:
        batch: samples per step.
        steps_s: the time of one step, once per round.
        peak_bytes: the most memory the trial held; what it would need where it was not tried.
        failure: how the trial ended, where it did not end well.
        words: why it was not tried or how it failed, in one line.
        text: all that is known of a failure: the child's own traceback, its last lines.
        is_own: it is the batch that the user has.
    """

    batch: int
    steps_s: tuple[float, ...] = ()
    peak_bytes: float = 0.0
    failure: Failure | None = None
    words: str = ""
    text: str = ""
    is_own: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether it ran, and how fast is known."""
        return bool(self.steps_s) and self.failure is None

    @property
    def step_s(self) -> float:
        """The time of one step: the least of all rounds, which other programs disturbed least."""
        return min(self.steps_s)

    @property
    def samples_per_s(self) -> float:
        """Samples per second at that."""
        return self.batch / self.step_s

    @property
    def spread(self) -> float:
        """How far the middle round is above the fastest one, as a share of it."""
        return statistics.median(self.steps_s) / self.step_s - 1

    def with_block(self, block: Block) -> Row:
        """Return the row with one more round."""
        # By samples, because the last batch of an epoch may be a smaller one.
        step_s = max(block.sample_s * self.batch, 1e-9)
        peak_bytes = max(self.peak_bytes, block.peak_bytes)
        return replace(self, steps_s=(*self.steps_s, step_s), peak_bytes=peak_bytes)


def measured(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that say how fast, from the smallest batch up."""
    return sorted((row for row in rows if row.is_measured), key=lambda row: row.batch)


def best(rows: Iterable[Row]) -> float:
    """Return the most samples per second that were measured; 0 where nothing was."""
    return max((row.samples_per_s for row in rows if row.is_measured), default=0.0)
