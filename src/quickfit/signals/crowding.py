"""Whether other programs, and not the input's own work, are why the steps wait."""

from __future__ import annotations

from quickfit.signals import Signals
from quickfit.signals.python_input import is_starved

# From this share of the cores on, others may be the reason for a wait.
BUSY_SHARE = 0.25


def is_crowded_out(signals: Signals) -> bool:
    """Tell whether the wait may be gone on a machine without others.

    Input and model are held up alike, so their proportion stays: an input that needs less than
    the model, spread over all cores, would hide behind it.
    """
    others = signals.machine.other_cores or 0.0
    if others < BUSY_SHARE * signals.machine_cores:
        return False
    work = signals.work
    return is_starved(signals) or work.input_cpu_s / work.cores < work.compute_s
