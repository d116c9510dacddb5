"""How much of the first epoch is still to come: what fills in it may stop at its end."""

from __future__ import annotations

from quickfit.signals._facade import Signals

# Steps of later epochs, of all: two parts of the five that a growth is looked at in.
MIN_LATER_SHARE = 0.4


def first_epoch_left(signals: Signals) -> int | None:
    """Return the steps left of the first epoch; None where it is over, or its end not known."""
    planned = planned_steps(signals)
    if planned is None or is_past_first_epoch(signals):
        return None
    return max(planned - signals.steps.steps[-1].number, 0)


def is_past_first_epoch(signals: Signals) -> bool:
    """Tell whether much of the steps came after the first epoch; what fills in it is full then."""
    steps = signals.steps.steps
    later = sum(1 for step in steps if step.epoch != steps[0].epoch)
    return later >= MIN_LATER_SHARE * len(steps)


def planned_steps(signals: Signals) -> int | None:
    """Return the steps of an epoch as `fit` was told, or as its data has them."""
    facts = signals.loop.facts
    for name in ("steps_per_epoch", "steps", "data_batches"):
        count = facts.get(name)
        if isinstance(count, int) and count > 0:
            return -(-count // signals.steps_per_execution)
    return None
