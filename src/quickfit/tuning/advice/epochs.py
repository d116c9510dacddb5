"""Epochs that are so short that beginning them takes longer than their steps."""

from __future__ import annotations

from quickfit import units
from quickfit.tuning.trials.answers import Block, Ready

# Through so many epochs goes the first block of a training, if they are short.
FIRST_EPOCHS = 2
# The share of the time beside the steps from which on it is what is measured.
_MOST = 0.5


def epoch_steps(ready: Ready, batch: int | None = None) -> int | None:
    """Return the steps of an epoch, the last one of them may be smaller; None if nobody knows.

    Args:
        ready: the training as it is.
        batch: samples per step, if it is another one.
    """
    return None if ready.samples is None else -(-ready.samples // (batch or ready.batch))


def first_steps(steps: int, ready: Ready) -> int:
    """Return how many steps the first block has: few, where each may be an epoch of its own."""
    inside = epoch_steps(ready)
    return steps if inside is None else min(steps, max(FIRST_EPOCHS * inside, FIRST_EPOCHS))


def is_mostly_beginning(ready: Ready, block: Block) -> bool:
    """Tell whether most of the time of a block went to beginning epochs, not to steps."""
    inside = epoch_steps(ready)
    if inside is None or block.steps < inside or block.wall_s <= 0:
        return False  # no epoch began in it for sure
    return 1 - ready.step_s * block.steps / block.wall_s >= _MOST


def beginning_note(ready: Ready) -> str:
    """Return what to say of such a training."""
    steps = epoch_steps(ready) or 0
    return (
        f"An epoch has only {units.count(steps)} step{'s' * (steps != 1)}: most of the time goes to"
        " starting epochs, not to steps. With more data, or the data repeated"
        " (`dataset.repeat()` and steps_per_epoch), that gets less. What the input costs cannot be"
        " told from such epochs."
    )
