"""How much of the first epoch is still to come: what fills in it may stop at its end."""

from __future__ import annotations

import math
from typing import Any

from quickfit.signals._facade import Signals
from quickfit.signals.leaks import Leak
from quickfit.signals.memory import memory_limit

# Steps of later epochs, of all: two parts of the five that a growth is looked at in.
MIN_LATER_SHARE = 0.4
# In a first epoch a cache may be filling: so much of the memory is gone where it is more than that.
MIN_LIMIT_SHARE = 0.04
# A cache that fills in the first epoch is too much if it takes this share of the memory left.
MIN_FREE_SHARE = 0.8


def first_epoch_left(signals: Signals) -> int | None:
    """Return the steps left of the first epoch; None where it is over, or its end not known."""
    planned = planned_steps(signals)
    if planned is None or is_past_first_epoch(signals):
        return None
    return max(planned - int(_steps(signals)[-1]["step"]), 0)


def is_past_first_epoch(signals: Signals) -> bool:
    """Tell whether much of the steps came after the first epoch; what fills in it is full then."""
    steps = _steps(signals)
    later = sum(1 for step in steps if step["epoch"] != steps[0]["epoch"])
    return later >= MIN_LATER_SHARE * len(steps)


def grows_for_good(signals: Signals, leak: Leak) -> bool:
    """Tell whether a growth is none that ends with the first epoch, as that of a cache does.

    It goes on after that epoch; or it has taken much of the memory, and what is left would not
    last until the epoch ends.
    """
    is_large = leak.growth.total >= MIN_LIMIT_SHARE * (leak.limit_bytes or math.inf)
    if not is_past_first_epoch(signals) and not is_large:
        return False
    left = first_epoch_left(signals)
    limit, used = memory_limit(signals.process)
    if left is None or limit is None or used is None:
        return True
    return left * leak.per_step >= MIN_FREE_SHARE * (limit - used)


def _steps(signals: Signals) -> list[dict[str, Any]]:
    return [row for row in signals.process.rows("steps") if row["loop"] == signals.loop.id]


def planned_steps(signals: Signals) -> int | None:
    """Return the steps of an epoch as `fit` was told, or as its data has them."""
    facts = signals.loop.facts
    for name in ("steps_per_epoch", "steps", "data_batches"):
        count = facts.get(name)
        if isinstance(count, int) and count > 0:
            return -(-count // signals.steps_per_execution)
    return None
