"""Two recordings side by side, and what one run of each can say."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from pathlib import Path

from quickfit import units
from quickfit.comparing.accounts import compare_accounts
from quickfit.comparing.pace import Pace, has_other_epochs, pace_of, slower_of
from quickfit.diagnosis import diagnose_recording
from quickfit.errors import UsageError
from quickfit.findings import MIN_GAIN, ComparedSide, Comparison, Diagnosis, Finding, Interval
from quickfit.recording.reader import Recording, read

_ONE_RUN = (
    "one run of each: the spread of their own steps, and what two runs of one script differ by on a"
    " quiet machine"
)


def compare_recordings(before: Path, after: Path) -> Comparison:
    """Compare two recordings.

    Raises:
        RecordingError: one of them cannot be read.
        UsageError: one of them was made of another tool's profile.
    """
    names = (str(before), str(after))
    both = (read(before), read(after))
    if any(recording.main.facts.get("imported") for recording in both):
        raise UsageError(
            "compare: profiles that were imported are one window each, and give no interval.\n"
            f"Received: {before} and {after}\nTo see what changed between two profiles:\n"
            f"    quickfit import NEWER_PROFILE --against {before}"
        )
    return compare_runs(both, names)


def compare_runs(both: tuple[Recording, Recording], names: tuple[str, str]) -> Comparison:
    """Compare two runs that were read.

    Args:
        both: the first and the second one.
        names: how the user calls them.
    """
    paces = (pace_of(both[0]), pace_of(both[1]))
    told = (
        diagnose_recording(both[0], with_details=True),
        diagnose_recording(both[1], with_details=True),
    )
    slower, unit = None, "step"
    if paces[0] is not None and paces[1] is not None:
        is_other = has_other_epochs(paces[0], paces[1])
        unit = "epoch" if is_other else "step"
        slower = slower_of(paces[0], paces[1], per_epoch=is_other)
    sides = [
        ComparedSide(name, pace.steps if pace else 0, _unit_s(pace, unit), diagnosis)
        for name, pace, diagnosis in zip(names, paces, told, strict=True)
    ]
    halves = [pace.half + pace.others if pace else 1.0 for pace in paces]
    comparison = Comparison(
        verdict="unsure",
        headline="",
        slower=slower,
        unit=unit,
        basis=_ONE_RUN,
        pairs=0,
        before=sides[0],
        after=sides[1],
        nodes=compare_accounts(told[0], told[1], (halves[0], halves[1])),
        new=_only_in(told[1], told[0]),
        gone=_only_in(told[0], told[1]),
        differences=tuple(_differences(both, paces, unit)),
    )
    return with_verdict(comparison)


def _unit_s(pace: Pace | None, unit: str) -> float | None:
    if pace is None:
        return None
    return pace.step_s * (pace.epoch_steps if unit == "epoch" else 1.0)


def with_verdict(comparison: Comparison) -> Comparison:
    """Return a comparison with what its interval says."""
    slower, before, after = comparison.slower, comparison.before, comparison.after
    a = "an epoch" if comparison.unit == "epoch" else "a step"
    if slower is None or before.unit_s is None or after.unit_s is None:
        which = [side.name for side in (before, after) if side.unit_s is None]
        headline = f"cannot be compared: too few steps in {' and in '.join(which)}"
        return dataclasses.replace(comparison, verdict="unsure", headline=headline)
    span = f"{change_text(slower.low)} to {change_text(slower.high)}"
    if slower.low > 1:
        verdict, lead = "slower", f"slower: {a} takes {change_text(slower.likely)} ({span})"
    elif slower.high < 1:
        verdict, lead = "faster", f"faster: {a} takes {change_text(slower.likely)} ({span})"
    elif slower.high <= MIN_GAIN and slower.low >= 1 / MIN_GAIN:
        verdict, lead = "same", f"as fast as before: {a} takes between {span}"
    else:
        verdict, lead = "unsure", f"no difference that is sure: {a} takes between {span}"
    return dataclasses.replace(comparison, verdict=verdict, headline=lead)


def change_text(factor: float) -> str:
    """Return a factor on a time in words: `12 % longer`, `half as long`."""
    if not math.isfinite(factor):
        return "any time longer"
    if factor >= 2:
        return f"{units.factor(factor)} as long"
    if abs(factor - 1) < 0.0005:
        return "as long"
    return f"{units.share(abs(factor - 1))} {'longer' if factor > 1 else 'less'}"


def is_slower_than(slower: Interval | None, limit: float) -> bool:
    """Tell whether even the least that the interval allows is slower than a limit (0.1: 10 %)."""
    return slower is not None and slower.low > 1 + limit


def share_of(option: str, text: str) -> float:
    """Return the share that `10%`, `10` or `0.1` means.

    Raises:
        UsageError: it is none.
    """
    match = re.fullmatch(r"([0-9]{1,4}(?:\.[0-9]{1,6})?) ?(%?)", text.strip())
    if match is None:
        raise UsageError(
            f"{option} {text}: this is not a share.\nGive percent, such as {option} 10%."
        )
    value = float(match[1])
    return value / 100 if match[2] or value >= 1 else value


def _only_in(one: Diagnosis, other: Diagnosis) -> tuple[Finding, ...]:
    """Return the findings of one run that the other was looked at for, and does not have."""
    clear = {each.cause for each in other.clear}
    return tuple(finding for finding in one.findings if finding.cause in clear)


def _differences(
    both: tuple[Recording, Recording], paces: Sequence[Pace | None], unit: str
) -> list[str]:
    found = []
    scripts = [str(recording.run.get("script") or "") for recording in both]
    if all(scripts) and Path(scripts[0]).name != Path(scripts[1]).name:
        found.append(f"the script: {Path(scripts[0]).name} before, {Path(scripts[1]).name} after")
    for what, name in (
        ("the number of cores", "usable_cores"),
        ("Python", "python_version"),
        ("TensorFlow", "tensorflow_version"),
        ("Keras", "keras_version"),
        ("devices of TensorFlow", "tensorflow_devices"),
        ("accelerators in the machine", "machine_accelerators"),
        ("memory of the machine", "memory_bytes"),
    ):
        values = [_shown(recording.main.facts.get(name)) for recording in both]
        if all(values) and values[0] != values[1]:
            found.append(f"{what}: {values[0]} before, {values[1]} after")
    if paces[0] is None or paces[1] is None:
        return found
    if unit == "epoch":
        sizes = [f"{pace.epoch_steps:.0f}" for pace in paces if pace is not None]
        found.append(f"steps in an epoch: {sizes[0]} before, {sizes[1]} after; epochs are compared")
    counts = [pace.steps for pace in paces if pace is not None]
    if max(counts) > 1.5 * min(counts):
        found.append(f"steps seen: {units.count(counts[0])} and {units.count(counts[1])}")
    for pace, which in zip(paces, ("first", "second"), strict=True):
        if pace is not None and pace.others:
            found.append(
                f"other programs used {units.share(pace.others)} of the cores during the {which}"
                " run; the interval allows for it"
            )
    return found


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(sorted(_shown(each) or "none" for each in value))[:200] or "none"
    if isinstance(value, int) and value > 10**6:
        return units.size(value)
    return str(value)[:100] if isinstance(value, str | int | float) else ""
