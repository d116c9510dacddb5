"""How large a batch may be: the one judgement of `tune` and `find_batch_size`.

A larger batch makes fewer updates of the same samples. It is not offered where an epoch has too
few of them left, and not recommended where it learns less from the same samples.
"""

from __future__ import annotations

from quickfit import units
from quickfit.tuning.trials.settings import TrialReady

# With fewer updates in an epoch, a training is another one: no rule for the learning rate helps.
MIN_UPDATES = 20
# How long a training may take for the comparison of losses: as such, and of the budget.
LEARN_S, LEARN_SHARE = 2.0, 0.03
# Fewer steps of the largest batch show little.
LEARN_STEPS = 8
MAX_LEARN_SAMPLES = 20_000


def largest_batch(samples: int | None, own: int | None) -> int | None:
    """Return the largest batch that leaves an epoch enough updates; None where that is not known.

    Args:
        samples: in the data.
        own: the user's batch, which is never too large.
    """
    return None if samples is None else max(samples // MIN_UPDATES, own or 1)


def why_too_large(samples: int, batch: int) -> str:
    """Return why a batch is too large for so many samples."""
    updates = -(-samples // batch)
    return (
        f"an epoch would have only {units.count(updates)} update{'s' * (updates != 1)}, and fewer"
        f" than {MIN_UPDATES} make it another training"
    )


def learn_samples(ready: TrialReady, largest: int, budget_s: float) -> int:
    """Return after how many samples losses are compared: whole steps of the largest batch."""
    sample_s = max(ready.step_s / ready.batch, 1e-9)
    wanted = max(LEARN_S / sample_s, LEARN_STEPS * largest)
    wanted = min(wanted, LEARN_SHARE * budget_s / sample_s, MAX_LEARN_SAMPLES)
    if ready.samples is not None:
        wanted = min(wanted, ready.samples)
    return max(int(wanted) // largest, 1) * largest
