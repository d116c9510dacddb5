"""A diagnosis as series over its steps, and as figures of the whole run."""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.errors import UsageError
from quickfit.findings import AccountNode, Diagnosis, RunDetails
from quickfit.report import text

# The parts of the account that are figures of a run: what a loop is made of, and no deeper.
MAX_DEPTH = 3
PREFIX = "quickfit"


@dataclass(frozen=True)
class SeriesPoint:
    """One value of a series.

    Args:
        step: the number of the training step it was last seen at, over all loops.
        at_s: the moment, in seconds of the wall clock.
    """

    step: int
    at_s: float
    value: float


def details_of(diagnosis: Diagnosis) -> RunDetails:
    """Return what happened over the time of a run.

    Raises:
        UsageError: the recording has no clock.
    """
    if diagnosis.details is None:
        raise UsageError(
            f"{text.path(diagnosis.run)}: this recording has no step and no clock; there is"
            " nothing to export.\nLook at what it has:\n    quickfit report"
        )
    return diagnosis.details


def started_at(details: RunDetails) -> float:
    """Return when a run began; of an old recording, as if it had just ended."""
    return details.started_at if details.started_at is not None else time.time() - details.total_s


def series_of(diagnosis: Diagnosis, *, after_s: float = -1.0) -> dict[str, list[SeriesPoint]]:
    """Return step time and memory over the steps of a run, thinned as a page draws them."""
    details = details_of(diagnosis)
    begin_s = started_at(details)
    found: dict[str, list[SeriesPoint]] = {}

    def add(name: str, step: int, at_s: float, value: float) -> None:
        if at_s > after_s and math.isfinite(value):
            point = SeriesPoint(step, begin_s + at_s, value)
            found.setdefault(f"{PREFIX}/{name}", []).append(point)

    ends = list(_step_ends(details))
    for (at_s, step), point in zip(ends, details.points, strict=True):
        add("step_s", step, at_s, point.median_s)
        if point.steps > 1:
            add("step_p90_s", step, at_s, point.high_s)
            add("step_longest_s", step, at_s, point.longest_s)
    moments = [at_s for at_s, _ in ends]
    for held in details.memory:
        place = bisect.bisect_right(moments, held.at_s)
        step = ends[place - 1][1] if place else 0
        add("memory_bytes", step, held.at_s, held.bytes)
        for (name, _), part in zip(details.memory_parts, held.parts, strict=True):
            add(f"memory/{name}_bytes", step, held.at_s, part)
    return found


def _step_ends(details: RunDetails) -> Iterator[tuple[float, int]]:
    """Yield the end of every point, and how many steps of all loops were done by then."""
    before, loop, last = 0, None, 0
    for point in details.points:
        if point.loop != loop:
            before, loop = before + last, point.loop
        last = point.first + point.steps
        yield point.end_s, before + last


def figures_of(diagnosis: Diagnosis) -> dict[str, float]:
    """Return what is known of a run as a whole: parts of a step, the account, the findings."""
    details = details_of(diagnosis)
    found: dict[str, float] = {"run_s": details.total_s, "steps": float(details.steps)}
    if diagnosis.breakdown is not None:
        found["median_step_s"] = diagnosis.breakdown.step_s
        for part in diagnosis.breakdown.parts:
            found[f"step/{_name(part.name)}_s"] = part.step_s
    if diagnosis.account is not None:
        for node in _nodes(diagnosis.account, 0):
            # Nodes of one kind in several loops are one figure.
            key = f"time/{_name(node.name)}_s"
            found[key] = found.get(key, 0.0) + node.seconds
    if diagnosis.memory is not None:
        found["peak_bytes"] = diagnosis.memory.bytes
    for finding in diagnosis.findings:
        found[f"finding/{_name(finding.cause)}/cost_share"] = finding.cost_share
        found[f"finding/{_name(finding.cause)}/gain_likely"] = finding.gain.likely
    return {f"{PREFIX}/{key}": value for key, value in found.items() if math.isfinite(value)}


def _nodes(node: AccountNode, depth: int) -> Iterator[AccountNode]:
    for child in node.children:
        yield child
        if depth + 1 < MAX_DEPTH:
            yield from _nodes(child, depth + 1)


def _name(name: str) -> str:
    """Return a name that every destination takes as a part of a key."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)[:100]


def tags_of(diagnosis: Diagnosis) -> dict[str, str]:
    """Return what is known of a run in words."""
    causes = ", ".join(dict.fromkeys(finding.cause for finding in diagnosis.findings))
    return {
        f"{PREFIX}.verdict": diagnosis.verdict,
        f"{PREFIX}.headline": text.prose(diagnosis.headline),
        f"{PREFIX}.findings": text.one_line(causes, limit=1000),
        f"{PREFIX}.device": diagnosis.device.status,
        f"{PREFIX}.run": text.path(diagnosis.run),
    }
