"""What a report says beside findings: the first step, claims made earlier, our own cost."""

from __future__ import annotations

from typing import Any

from quickfit.findings import (
    EarlyVerdict,
    Finding,
    NotChecked,
    Overhead,
    Phase,
    Severity,
    TurboPlace,
)
from quickfit.recording.reader import Recording
from quickfit.signals import Signals
from quickfit.signals.first_step import PhaseTime, first_step

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


def turbo_places(signals: Signals) -> tuple[TurboPlace, ...] | None:
    """Return what `--turbo` did, the largest saving first; None: a run without it."""
    process = signals.process
    if not process.facts.get("turbo_run"):
        return None
    places = [
        TurboPlace(
            row["kind"],
            row["what"],
            row["state"],
            signals.location(row["file"], row["line"]),
            row["reason"] or "",
            row["cause"] or "",
            row["unit"],
            row["on_count"],
            row["on_s"],
            row["off_count"],
            row["off_s"],
            row["saved_s"],
        )
        for row in process.rows("turbo")
    ]
    return tuple(sorted(places, key=lambda place: -(place.saved_s or 0.0)))


LABELS = {
    "imports": "imports",
    "data": "data",
    "model": "model",
    "evaluating": "evaluate",
    "predicting": "predict",
    "calling": "calling the model",
    "iterator_ends": "TensorFlow shutting its iterators down",
    "other": "other Python",
    "tracing": "tracing",
    "shuffle_fill": "shuffle fill",
    "first_batch": "first batch",
    "first_step": "first step",
}
# Of the others a line says nothing new: imports are at the top, tracing and stepping in `fit`.
WITH_LINE = ("data", "evaluating", "predicting", "calling", "other", "shuffle_fill", "first_batch")


def phases(signals: Signals) -> tuple[Phase, ...]:
    """Return the phases up to the first step; empty where the recording has no clock."""
    found = first_step(signals.process, signals.loops, signals.traces, signals.location)
    if found is None:
        return ()
    return tuple(
        Phase(
            phase.name,
            LABELS[phase.name],
            phase.seconds,
            _detail(phase),
            is_open=phase.name == found.still_in,
        )
        for phase in found.phases
    )


def _detail(phase: PhaseTime) -> str:
    where = phase.location if phase.name in WITH_LINE else None
    place = where.short if where else ""
    return ", ".join(each for each in (phase.detail, place) if each)


def early_verdict(
    recording: Recording, verdict: str, findings: list[Finding], not_checked: list[NotChecked]
) -> EarlyVerdict | None:
    """Return the early verdict, and whether it held; None where none was given."""
    early = recording.run.get("early")
    if not isinstance(early, dict) or "headline" not in early:
        return None
    told = [finding for finding in findings if finding.severity != Severity.MENTION]
    first = [str(cause) for cause in early.get("causes") or ()][:1]
    if first:
        # A cause that is still reported holds, also behind one that came to weigh more.
        held = first[0] in {finding.cause for finding in told}
        if any(finding.cause == first[0] and finding.is_of_machine for finding in told):
            # Of the script itself it was said that nothing in it explains the time.
            held, first = all(finding.is_of_machine for finding in told), []
    else:
        # What was said of the script holds on a machine that got busy.
        held = all(finding.is_of_machine for finding in told)
        held = held and (bool(told) or verdict == early.get("verdict"))
    why = "" if held else _why_gone(first[0] if first else "", findings, not_checked)
    same = next((f for f in told if set(f.claims) & set(early.get("claims") or ())), None)
    if first and not held and same is not None:
        why = f"{same.cause} explains the same time better than {first[0]}"
    return EarlyVerdict(str(early["headline"]), int(early.get("at_step") or 0), held, why)


def withdrawn(
    recording: Recording, findings: list[Finding], not_checked: list[NotChecked]
) -> tuple[str, ...]:
    """Say which claims of the run the whole of it does not confirm, and why."""
    reported = {finding.cause for finding in findings}
    return tuple(
        f"Withdrawn: at step {claim.get('at_step', 0)} it was said that"
        f" {claim.get('summary') or claim['cause']} ({claim['cause']});"
        f" {_why_gone(claim['cause'], findings, not_checked)}."
        for claim in _claims(recording)
        if claim["cause"] not in reported
    )


def _claims(recording: Recording) -> list[dict[str, Any]]:
    claims = recording.run.get("announced")
    known = claims if isinstance(claims, list) else []
    return [one for one in known if isinstance(one, dict) and isinstance(one.get("cause"), str)]


def _why_gone(cause: str, findings: list[Finding], not_checked: list[NotChecked]) -> str:
    smaller = next((f for f in findings if f.cause == cause), None)
    if smaller is not None:
        return f"over the whole run it costs {smaller.cost_share:.0%}"
    missing = next((one for one in not_checked if one.cause == cause), None)
    if missing is not None:
        return f"the whole recording cannot tell: {missing.reason}"
    if not cause and findings:
        return f"the rest of the run showed {findings[0].cause}"
    return "over the whole run it is not large enough to be told"
