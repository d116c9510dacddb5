"""The machine while the steps ran: CPU used, cores available, waiting for a core, neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quickfit.recording.reader import Recording
from quickfit.signals.steps import Steps

# Readings closer together than this say little about a rate.
MIN_WINDOW_S = 1.0


@dataclass(frozen=True)
class MachineUse:
    """Rates over the steps after warm-up; None where the system does not tell.

    Args:
        cpu_cores: cores that the script's processes kept busy on average.
        other_cores: cores that everything else on the machine kept busy.
        main_delay_share: share of the time the main thread was ready but had no core.
        rss_bytes: memory at the end.
    """

    window_s: float
    cpu_cores: float
    main_cores: float | None
    other_cores: float | None
    main_delay_share: float | None
    rss_bytes: int | None


def machine_use(recording: Recording, steps: Steps) -> MachineUse | None:
    """Return what the machine did while the steps ran, or None for too short a time."""
    window = _window(recording.main.rows("machine"), steps)
    if window is None:
        return None
    first, last = window
    span_s = last["at_s"] - first["at_s"]
    children = [_window(process.rows("machine"), steps) for process in recording.others]
    own_s = _grown(first, last, "cpu_s") or 0.0
    own_s += sum(_grown(*pair, "cpu_s") or 0.0 for pair in children if pair is not None)
    busy_s = _grown(first, last, "system_busy_s")
    main_s = _grown(first, last, "main_cpu_s")
    delay_s = _grown(first, last, "main_run_delay_s")
    return MachineUse(
        window_s=span_s,
        cpu_cores=own_s / span_s,
        main_cores=None if main_s is None else main_s / span_s,
        other_cores=None if busy_s is None else max(busy_s - own_s, 0.0) / span_s,
        main_delay_share=None if delay_s is None else delay_s / span_s,
        rss_bytes=last["rss_bytes"],
    )


def _window(
    rows: list[dict[str, Any]], steps: Steps
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    inside = [row for row in rows if steps.begin_s <= row["at_s"] <= steps.end_s + 1.0]
    if len(inside) < 2 or inside[-1]["at_s"] - inside[0]["at_s"] < MIN_WINDOW_S:
        return None
    return inside[0], inside[-1]


def _grown(first: dict[str, Any], last: dict[str, Any], name: str) -> float | None:
    if first[name] is None or last[name] is None:
        return None
    return max(float(last[name]) - float(first[name]), 0.0)
