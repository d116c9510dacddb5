"""What the allocator of a GPU says of its memory: in use now, at most, and whether it grows."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.signals._facade import Signals
from quickfit.signals.growth import growth, inside, points_of
from quickfit.signals.leaks import (
    MIN_BYTES,
    Leak,
    after_warm_up,
    by_steps,
    goes_on,
)


@dataclass(frozen=True)
class DeviceMemory:
    """The fullest device: what was in use when last read, at most, and by how much it grew."""

    device: str
    bytes: int
    peak_bytes: int
    grown: int


def device_memory(signals: Signals) -> DeviceMemory | None:
    """Return the memory of the device that used most; None where nobody read any."""
    series: dict[str, list[dict[str, int]]] = {}
    for row in signals.process.rows("device_memory"):
        series.setdefault(row["device"], []).append(row)
    found = [_summary(device, rows) for device, rows in series.items()]
    return max(found, key=lambda memory: memory.peak_bytes, default=None)


def device_leak(signals: Signals) -> Leak | None:
    """Return the growth of a GPU's memory where it goes on to the end; its limit is not known."""
    memory, steps = device_memory(signals), signals.steps
    if memory is None:
        return None
    rows = [r for r in signals.process.rows("device_memory") if r["device"] == memory.device]
    points = points_of(inside(rows, steps), "bytes")
    grown = growth(points, steps)
    if grown is None or grown.total < MIN_BYTES:
        return None
    late = after_warm_up(points)
    if not goes_on(by_steps(late, steps)):
        return None
    return Leak(grown, None, None, None, late[0][0], what="GPU memory")


def _summary(device: str, rows: list[dict[str, int]]) -> DeviceMemory:
    used = [row["bytes"] for row in rows]
    peak = max(max(used), *(row["peak_bytes"] or 0 for row in rows), 0)
    return DeviceMemory(device, used[-1], peak, used[-1] - used[0])
