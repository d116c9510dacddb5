"""Whether the machine has room for a second copy of the data that a loop copies batch by batch."""

from __future__ import annotations

from quickfit.errors import SignalMissing
from quickfit.signals import Signals
from quickfit.signals.caching import free_bytes
from quickfit.signals.host_copies import host_copies


def has_room_for_copy(signals: Signals) -> bool:
    """Tell whether a copy of all data fits into memory; it is taken to where nobody measured.

    The data is no more than what all steps of the run copied, and no more than the process holds.
    """
    try:
        free = free_bytes(signals)
    except SignalMissing:
        return True
    try:
        copied = host_copies(signals).bytes * len(signals.steps.steps)
    except SignalMissing:
        copied = float("inf")
    return min(copied, float(signals.memory.rss_bytes)) <= free
