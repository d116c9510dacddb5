"""What a change would gain, and the interval that a share lies in by its samples."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from quickfit.errors import SignalMissing
from quickfit.findings import Gain

# The step without a busy input beside it took this part of its time at least, where measured.
LEAST_COMPUTE = 0.4
# However little CPU time it needs, threads have to be woken and waited for.
MOST_RELIEF = 0.2
# What it likely takes, on the way from there to now in powers: up to 0.45 in nine of twelve runs
# with a cache that was read (decision 0025). An input in Python also holds the lock.
LIKELY_STRETCH, LIKELY_WITH_LOCK = 0.25, 0.5
# What callbacks and saves take, likely and at best, beside no input that holds the lock.
LIKELY_BESIDE, LEAST_BESIDE = 0.65, 0.3


@dataclass(frozen=True)
class Work:
    """What one step needs: seconds of wall time and of CPU.

    `compute_s` is what its compute takes beside the input as it is. `least_compute_s` is what it
    takes at best on cores of its own, None if unknown; `alone_s` what it is believed to take
    there, None for as long as now. `holds_lock` says that the input runs Python. `beside_s` is
    what the step's own thread does beside the compute, callbacks above all: another input hides
    behind it, and does not shorten it.
    """

    step_s: float
    compute_s: float
    compute_cpu_s: float
    input_cpu_s: float
    cores: float
    free_cores: float
    is_shared: bool = True
    least_compute_s: float | None = None
    holds_lock: bool = False
    alone_s: float | None = None
    beside_s: float = 0.0

    def with_relief(self) -> tuple[Work, Work, Work]:
        """Return the work with what its compute takes without input: at worst, likely, at best.

        Beside a busy input the compute stands in line for a core, and waits for Python's lock.
        Alone it takes as long as now at worst, and at best what its CPU time needs.
        """
        if not self.is_shared:
            return self, self, self
        least_s = self.least_compute_s
        if least_s is None:
            least_s = LEAST_COMPUTE * self.compute_s
        least_s = min(max(least_s, MOST_RELIEF * self.compute_s), self.compute_s)
        power = LIKELY_WITH_LOCK if self.holds_lock else LIKELY_STRETCH
        likely_s = least_s ** (1 - power) * self.compute_s**power
        likely, least = (LIKELY_BESIDE, LEAST_BESIDE) if self.holds_lock else (1.0, 1.0)
        return (
            self,
            dataclasses.replace(self, alone_s=likely_s, beside_s=likely * self.beside_s),
            dataclasses.replace(self, alone_s=least_s, beside_s=least * self.beside_s),
        )

    def compute_beside(self, input_cpu_s: float) -> float:
        """Return what the compute takes beside an input with this CPU time per step.

        The input stretches it by the share of the cores that it takes, and that share grows as
        steps get shorter: with `c` for the compute, `c = alone + stretch / c`. An input that does
        the same work in shorter steps is no relief at all.
        """
        alone_s = self.compute_s if self.alone_s is None else self.alone_s
        if self.input_cpu_s <= 0 or self.holds_lock:
            return alone_s  # what takes the place of Python leaves the lock to the step
        left = input_cpu_s / self.input_cpu_s
        stretch = (self.compute_s - alone_s) * left * self.step_s
        return min(self.compute_s, (alone_s + math.sqrt(alone_s**2 + 4 * stretch)) / 2)

    def cores_after(self) -> tuple[float, float, float]:
        """Return the cores the script will have: at worst, likely, at best.

        On a machine of its own they are all the same. Beside others, at worst it gets what they
        leave over now, at best all; the scheduler's fair share lies between.
        """
        return self.free_cores, (self.free_cores + self.cores) / 2, self.cores


def predicted_step_s(work: Work, *, input_s: float, input_cpu_s: float, cores: float) -> float:
    """Return the step time after a change.

    Args:
        work: what the step needs now.
        input_s: the input's own limit after the change, per step.
        input_cpu_s: the CPU time of the input after the change, per step.
        cores: the cores that input and compute share then.
    """
    compute_s = work.compute_beside(input_cpu_s)
    # With an accelerator the compute leaves the cores to the input.
    most_s = compute_s * work.cores + work.beside_s
    compute_cpu_s = min(work.compute_cpu_s, most_s) if work.is_shared else 0.0
    shared_s = (compute_cpu_s + input_cpu_s) / cores
    return max(compute_s + work.beside_s, input_s, shared_s)


def gain(now_s: float, after_s: tuple[float, float, float], basis: str) -> Gain:
    """Return a gain from the step time now and three step times after: worst, likely, best."""
    factors = sorted(max(now_s / after, 1.0) if after > 0 else 1.0 for after in after_s)
    return Gain(factors[0], factors[1], factors[2], basis)


# Two standard errors: what an interval covers, by samples.
ERRORS = 2.0

Interval = tuple[float, float]


def share_interval(share: float, samples: float) -> Interval:
    """Return between what a share seen in so many samples may lie (Wilson's interval)."""
    if samples <= 0:
        return 0.0, 1.0
    z2 = ERRORS * ERRORS / samples
    middle = (share + z2 / 2) / (1 + z2)
    half = ERRORS / (1 + z2) * math.sqrt(share * (1 - share) / samples + z2 / samples / 4)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def speaks_against(samples_share: float, samples: int, share: float, least: float) -> bool:
    """Tell whether samples contradict a share that the clock says.

    They do where they are less than a part of it, `least`, and that is not chance: even at their
    high end they say less than the clock.
    """
    if samples_share >= least * share:
        return False
    return share_interval(samples_share, samples)[1] < share


def is_at_least(least: float, share: float, interval: Interval, what: str) -> bool:
    """Tell whether a share is large enough for certain.

    Args:
        least: what is large enough.
        share: as it was measured.
        interval: between what it may lie.
        what: it is a share of, with what there must be more of: "samples inside `predict`".

    Raises:
        SignalMissing: it is large enough as measured, but may as well be smaller.
    """
    low, high = interval
    if share < least:
        return False
    if low < least:
        raise SignalMissing(f"more {what}: {low:.0%} to {high:.0%} so far")
    return True
