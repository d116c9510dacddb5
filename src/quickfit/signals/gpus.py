"""NVIDIA's GPUs while steps ran: use, clock, reasons for a lower clock, and others on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.steps import Steps

# Readings come every two seconds; fewer say nothing about a run.
MIN_READINGS = 3
# Reasons for a lower clock in NVML's mask: heat, and what protects the hardware.
HOT = 0x20 | 0x40
BRAKED = 0x08 | 0x80
POWER = 0x04
# A GPU with nothing to do lowers its clock by itself.
MIN_BUSY_SHARE = 0.5

Row = dict[str, Any]  # as the reader hands them out


@dataclass(frozen=True)
class GpuUse:
    """One GPU over the steps; None where it does not tell.

    Args:
        number: of the GPU, as NVML counts.
        busy_share: of the time some kernel ran.
        clock_share: of its highest clock, over readings in which it was busy.
        hot_share: of these readings in which heat lowered the clock.
        braked_share: in which the hardware was protected from too much power or heat.
        power_share: in which the limit of power lowered it.
        temperature_c: the highest.
        other_processes: that compute on it and are not of this run, in the median.
        other_busy_share: what they computed, on average.
        other_bytes: what they hold.
    """

    number: int
    readings: int
    busy_share: float | None
    clock_share: float | None
    hot_share: float | None
    braked_share: float | None
    power_share: float | None
    temperature_c: float | None
    other_processes: int | None
    other_busy_share: float | None
    other_bytes: int | None


def gpu_uses(process: ProcessRecording, steps: Steps) -> list[GpuUse]:
    """Return how each GPU was used while steps ran; those with too few readings are left out."""
    rows = [r for r in process.rows("gpus") if steps.begin_s <= r["at_s"] <= steps.end_s + 1.0]
    numbers = sorted({row["gpu"] for row in rows})
    uses = [_use(number, [row for row in rows if row["gpu"] == number]) for number in numbers]
    return [use for use in uses if use.readings >= MIN_READINGS]


def _use(number: int, rows: list[Row]) -> GpuUse:
    busy = [row for row in rows if (row["busy_share"] or 0.0) >= MIN_BUSY_SHARE]
    clocks = [
        row["clock_hz"] / row["top_clock_hz"]
        for row in busy
        if row["clock_hz"] is not None and row["top_clock_hz"]
    ]
    masks = [row["throttle"] for row in busy if row["throttle"] is not None]
    others = sorted(_values(rows, "other_processes"))
    return GpuUse(
        number,
        len(rows),
        _mean(_values(rows, "busy_share")),
        _mean(clocks) if len(clocks) >= MIN_READINGS else None,
        _share(masks, HOT),
        _share(masks, BRAKED),
        _share(masks, POWER),
        max(_values(busy, "temperature_c"), default=None),
        others[len(others) // 2] if others else None,
        _mean(_values(rows, "other_busy_share")),
        max(_values(rows, "other_bytes"), default=None),
    )


def _values(rows: list[Row], name: str) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _share(masks: list[int], wanted: int) -> float | None:
    if len(masks) < MIN_READINGS:
        return None
    return sum(bool(mask & wanted) for mask in masks) / len(masks)
