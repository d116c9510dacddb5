"""One candidate beside the training as it is: what a single pair of processes measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from quickfit.tuning.trials.answers import Block, Learned, Ready, TrialFailed

# First calls that differ by less, or by less than this share, are alike.
SAME_COMPILE_S, SAME_COMPILE_SHARE = 0.25, 0.5


@dataclass(frozen=True)
class Pair:
    """Two processes that took turns: the training as it is, and a candidate.

    Args:
        gain: samples per second, as a multiple of what they were.
        cpu: CPU time of a sample, likewise.
        peak_bytes: the most memory the candidate held.
        unchanged_peak_bytes: the same without the change.
        compile_s: how much longer the candidate's first call took.
        step_s: wall time of a step of the training as it is.
        learned: how far the candidate came on some samples.
        unchanged: how far the training came without the change.
    """

    gain: float
    cpu: float
    peak_bytes: int
    unchanged_peak_bytes: int
    compile_s: float
    step_s: float
    learned: Learned | None = None
    unchanged: Learned | None = None


@dataclass
class Side:
    """What one process of a round answered."""

    ready: Ready | None = None
    blocks: list[Block] = field(default_factory=list)
    learned: Learned | None = None
    failure: TrialFailed | None = None

    @property
    def goes(self) -> bool:
        """Whether it is there and has not failed."""
        return self.ready is not None and self.failure is None

    @property
    def step_s(self) -> float:
        """Wall time of one step, as well as it is known."""
        if self.blocks:
            last = self.blocks[-1]
            return last.wall_s / max(last.steps, 1)
        return self.ready.step_s if self.ready else 0.0

    @property
    def peak_bytes(self) -> int:
        """The most memory that it held in its blocks."""
        return max((block.peak_bytes for block in self.blocks), default=0)


def pair_of(base: Side, other: Side, beside: Sequence[tuple[Block, Block]]) -> Pair | None:
    """Return what two sides measured; None where they had no turn together.

    Args:
        base: the training as it is.
        other: the candidate.
        beside: blocks of both that were next to each other, one pair per turn.
    """
    counted = [(a, b) for a, b in beside if min(a.wall_s, b.wall_s, a.samples, b.samples) > 0]
    if base.ready is None or other.ready is None or not counted:
        return None
    cpus = [b.sample_cpu_s / a.sample_cpu_s for a, b in counted if a.cpu_s > 0]
    return Pair(
        gain=statistics.median(a.sample_s / b.sample_s for a, b in counted),
        cpu=statistics.median(cpus) if cpus else 1.0,
        peak_bytes=other.peak_bytes,
        unchanged_peak_bytes=base.peak_bytes,
        compile_s=longer_s(base.ready.compile_s, other.ready.compile_s),
        step_s=statistics.median(a.wall_s / max(a.steps, 1) for a, _ in counted),
        learned=other.learned,
        unchanged=base.learned,
    )


def longer_s(before_s: float, now_s: float) -> float:
    """Return how much longer a first call takes; 0 where the difference may be chance.

    First calls are measured while other processes start, and differ by themselves.
    """
    more_s = now_s - before_s
    return more_s if more_s >= max(SAME_COMPILE_S, SAME_COMPILE_SHARE * before_s) else 0.0
