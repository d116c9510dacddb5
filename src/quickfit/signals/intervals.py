"""How sure a share is: the interval it lies in, by the samples it was seen in.

A cause never asks for a number of steps or samples. It claims a share when even the low end of its
interval is large enough; `is_at_least` says so, or that a longer look is needed. What a clock says
of the steps that were seen is exact, however few they are.
"""

from __future__ import annotations

import math

from quickfit.errors import SignalMissing

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
