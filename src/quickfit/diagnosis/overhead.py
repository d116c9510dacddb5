"""What quickfit itself cost in this run."""

from __future__ import annotations

from quickfit.findings import Overhead
from quickfit.signals import Signals

_OFF = ("failed", "off", "missing")


def overhead(signals: Signals) -> Overhead:
    """Return the measured cost on the main thread per step and in the background."""
    process = signals.process
    totals = {row["part"]: row for row in process.rows("overhead")}
    step, background = totals.get("step"), totals.get("background")
    started = process.facts.get("started_s")
    share = None
    if background and isinstance(started, int | float) and background["at_s"] > started:
        share = background["cpu_s"] / (background["at_s"] - started)
    probes = tuple(
        (
            row["name"],
            f"off: {row['detail']}" if row["state"] in _OFF else row["state"],
        )
        for row in process.rows("probes")
    )
    step_s = step["cpu_s"] / step["calls"] if step and step["calls"] else None
    used_s = background["cpu_s"] if background else None
    hooks = tuple(
        (row["name"], f"missing: {row['detail']}" if row["state"] == "missing" else row["state"])
        for row in process.rows("hooks")
    )
    return Overhead(step_s, share, used_s, probes, hooks)
