"""The class of a setting: what its results prove, where they prove more than it claims.

A setting claims little, because a claim that does not hold rejects it: XLA may draw other random
numbers. Where its results agree with the original's, they are the better witness.
"""

from __future__ import annotations

from quickfit.findings import FixClass
from quickfit.lab.results import Results, judge
from quickfit.tuning.advice.result import ChangeKind

SAME = FixClass.SAME_RESULTS
ORDER = (SAME, FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS)
# The most that results can prove of a kind. Another batch or precision is never the same training;
# several steps per call are what they claim: a callback that acts at batch 1,000 shows in no trial.
BEST = {
    ChangeKind.XLA: FixClass.EQUIVALENT,
    ChangeKind.THREADS: FixClass.EQUIVALENT,
}


def agreement(
    first: Results, again: Results, edited: Results, epoch_steps: tuple[int, int]
) -> FixClass | None:
    """Return how well results agree with the original's; None where that is not certain.

    Args:
        first: of the original.
        again: of the original, a second time: where the two differ, nothing can be said.
        edited: of the script with a setting.
        epoch_steps: batches in the first epoch of the original and of the edited script.
    """
    both = (epoch_steps[0], epoch_steps[0])
    if judge(first, first, again, claimed=SAME, epoch_steps=both).kind is not SAME:
        return None
    return judge(first, again, edited, claimed=SAME, epoch_steps=epoch_steps).kind


def class_of(kind: ChangeKind, judged: FixClass, agrees: FixClass | None) -> FixClass:
    """Return the class of a setting that was judged by what it claims, and by its results."""
    best = BEST.get(kind)
    if best is None or agrees is None or judged not in ORDER:
        return judged
    return min(judged, max(best, agrees, key=ORDER.index), key=ORDER.index)
