"""What changed between two profiles of one program: time for the same work, part by part."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from quickfit.recording.reader import ProcessRecording

# Operations that both profiles have, as a share of the devices' computing; with less in common they
# are two programs.
MIN_COMMON_SHARE = 0.5
# Parts that differ by less, as a share of all, are left out.
MIN_CHANGE_SHARE = 0.005

Part = tuple[str, str]


@dataclass(frozen=True)
class ProfileChange:
    """What changed.

    Args:
        unit: what the times are for: a `step`, or the `same work`, where no steps are marked.
        work: how much of the first profile's work the second one holds.
        before_s, after_s: device time for it, idle time included.
        parts: kind and name, before and after, the largest change first.
        common: the share of the first profile's computing that both have.
    """

    unit: str
    work: float
    before_s: float
    after_s: float
    parts: tuple[tuple[Part, float, float], ...]
    common: float

    @property
    def factor(self) -> float:
        """How many times as long the second one takes for the same."""
        return self.after_s / self.before_s


def compare(before: ProcessRecording, after: ProcessRecording) -> ProfileChange | None:
    """Return what changed; None for profiles that have too little in common.

    Profiles are windows of different length. What makes them alike is the work in them: their
    steps, or else how often operations ran that both have.
    """
    work, common = _work(before, after)
    if work is None or common < MIN_COMMON_SHARE:
        return None
    parts, others = _parts(before), _parts(after)
    names = dict.fromkeys([*parts, *others])
    steps = len(before.rows("profile_steps"))
    has_steps = steps > 0 and bool(after.rows("profile_steps"))
    # Of steps, times are for one; else for all the work of the first profile.
    scale = 1 / steps if has_steps else 1.0
    changed = [
        (name, parts.get(name, 0.0) * scale, others.get(name, 0.0) / work * scale) for name in names
    ]
    whole_s = sum(part[1] for part in changed)
    large = [p for p in changed if abs(p[2] - p[1]) >= MIN_CHANGE_SHARE * whole_s]
    large.sort(key=lambda part: abs(part[2] - part[1]), reverse=True)
    return ProfileChange(
        "step" if has_steps else "same work",
        work,
        whole_s,
        sum(part[2] for part in changed),
        tuple(large),
        common,
    )


def _work(before: ProcessRecording, after: ProcessRecording) -> tuple[float | None, float]:
    """Return how much of one profile's work another holds, and how much they have in common."""
    counts, others = _counts(before), _counts(after)
    computing_s = sum(seconds for _, seconds in counts.values())
    shared = [name for name in counts if name in others]
    common_s = sum(counts[name][1] for name in shared)
    if not shared or computing_s <= 0:
        return None, 0.0
    steps, later = len(before.rows("profile_steps")), len(after.rows("profile_steps"))
    if steps and later:
        return later / steps, common_s / computing_s
    # The largest operations decide: rare ones happen to lie in a window or not.
    shared.sort(key=lambda name: counts[name][1], reverse=True)
    ratios = [others[name][0] / counts[name][0] for name in shared[:20]]
    return statistics.median(ratios), common_s / computing_s


def _counts(process: ProcessRecording) -> dict[Part, tuple[int, float]]:
    found: dict[Part, tuple[int, float]] = {}
    for row in process.rows("device_work"):
        key = (row["kind"], row["name"])
        count, seconds = found.get(key, (0, 0.0))
        found[key] = (count + row["count"], seconds + row["alone_s"])
    return {key: (count, seconds) for key, (count, seconds) in found.items() if count > 0}


def _parts(process: ProcessRecording) -> dict[Part, float]:
    found: dict[Part, float] = defaultdict(float)
    for row in process.rows("device_work"):
        found[row["kind"], row["name"]] += row["alone_s"]
    for row in process.rows("device_idle"):
        found["idle", row["reason"]] += row["total_s"]
    return found
