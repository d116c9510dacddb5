"""The one sentence: what limits this run, or honestly that it cannot be said."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit import units
from quickfit.diagnosis import silence, slowing
from quickfit.diagnosis.resource import limit_of_input
from quickfit.errors import SignalMissing
from quickfit.findings import Breakdown, BreakdownPart, DeviceVerdict, Finding, Severity, Symptom
from quickfit.signals import Signals
from quickfit.signals.steps import MIN_STEPS

# Below this wait, and with nothing else as large, the model itself is the limit.
MAX_WAIT_SHARE = 0.10
MAX_BESIDE_SHARE = 0.10
# Validation and epoch ends are part of every run; from here they, not the model, are the limit.
MAX_OUTSIDE_SHARE = 0.30
BESIDE = ("callbacks", "tracing", "between", "copies", "logs", "looks")
OUTSIDE = (
    *("validation", "checkpoint", "epoch_callbacks", "iterator_ends", "epoch_ends"),
    *("fit_calls", "unattributed"),
)
# Others on the machine are worth a word from here, as a share of the cores.
BUSY_SHARE = 0.25
# The main thread ready but without a core for this share of the time: numbers cannot be trusted.
MAX_DELAY_SHARE = 0.15

ENDING = (
    "At the end of each epoch TensorFlow waits for a thread of the ended iterator. Longer epochs,"
    " or `.repeat()` with steps_per_epoch (one iterator for all epochs), wait less often."
)
# A step this short is mostly the framework's own work, whatever the model.
SHORT_STEP_S = 0.003


@dataclass(frozen=True)
class Verdict:
    """The headline, and what belongs with it."""

    kind: str
    headline: str
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def verdict(
    signals: Signals, findings: list[Finding], parts: Breakdown | None, device: DeviceVerdict
) -> Verdict:
    """Return the verdict of a run."""
    crashed = [finding for finding in findings if finding.symptom == Symptom.CRASH]
    if crashed:
        return Verdict("findings", f"crashed: {crashed[0].summary}")
    stuck = [f for f in findings if f.symptom == Symptom.STUCK and f.severity == Severity.SEVERE]
    if stuck:
        return Verdict("stuck", silence.headline(signals, stuck[0]))
    has_few_steps = parts is None or parts.steps < MIN_STEPS
    if has_few_steps and (quiet := silence.unexplained(signals)):
        return Verdict("stuck", quiet)
    wrong = [finding for finding in findings if finding.symptom == Symptom.WRONG]
    if has_few_steps and wrong:
        return Verdict("findings", _headline(wrong[0]))
    if parts is None:
        return _no_steps(signals)
    if parts.steps < MIN_STEPS:
        few = f"{parts.steps} after warm-up" if parts.steps else "none after warm-up"
        return Verdict(
            "inconclusive",
            f"inconclusive: {MIN_STEPS} steps are needed for a verdict, {few} were seen",
        )
    busy = _busy(signals)
    notes = (*((busy,) if busy else ()), *slowing.notes(signals, findings))
    reported = [finding for finding in findings if finding.severity != Severity.MENTION]
    if reported and reported[0].symptom == Symptom.SLOWING_DOWN:
        return Verdict("findings", slowing.headline(reported[0], signals), notes=notes)
    if reported:
        text = _headline(reported[0]) + _also_running_out(reported)
        return Verdict("findings", text, notes=notes)
    slower = slowing.unexplained(signals)
    if slower:
        return Verdict("inconclusive", slower, notes=(busy,) if busy else ())
    said = _without_findings(signals, parts, notes)
    if said.kind == "compute-bound" and device.status == "unused":
        # The model is the limit only because it runs in the wrong place.
        text = "compute-bound on the CPU, but an accelerator is not used: see the device line first"
        return Verdict("compute-bound", text, notes=notes)
    return said


def _headline(first: Finding) -> str:
    words = {
        "input_wait": "input-bound: {share} of the time is spent waiting for input",
        "callbacks": "held up by a callback: {share} of the time",
        "tracing": "held up by tracing: {share} of the time",
        "eager": "slow step: {share} of the time is Python between operations",
        "epoch_start": "held up at the start of every epoch: {share} of the time",
    }
    claim = first.claims[0] if first.claims else ""
    if first.cause == "run-eagerly-on":
        claim = "eager"
    share = units.share(first.cost_share)
    if first.symptom == Symptom.WRONG:
        return f"trains on wrong numbers: {first.summary}"
    if first.exhaustion is not None:
        return running_out(first)
    text = words[claim].format(share=share) if claim in words else f"{first.summary} ({share})"
    text += f" ({first.resource})" if claim in words and first.resource else ""
    return f"{text}; the first fix makes it about {units.factor(first.gain.likely)} as fast"


def running_out(found: Finding) -> str:
    """Say what a finding uses up, and when there is no more of it."""
    used = found.exhaustion
    if used is None or used.in_s is None:
        return found.summary
    when = f"in about {units.about(used.in_s)}" if used.in_s > 0 else "now"
    return f"{found.summary}; at this rate the limit of {used.what} is reached {when}"


def _also_running_out(reported: list[Finding]) -> str:
    """Say that the run will not last, where speed is what comes first."""
    found = [f for f in reported[1:] if f.exhaustion and f.severity == Severity.SEVERE]
    used = found[0].exhaustion if found and reported[0].exhaustion is None else None
    if used is None or used.in_s is None:
        return ""
    return f"; and the limit of {used.what} is reached in about {units.about(used.in_s)}"


def _without_findings(signals: Signals, parts: Breakdown, notes: tuple[str, ...]) -> Verdict:
    shares = {part.name: part.share for part in parts.parts}
    wait = shares.get("input_wait")
    if wait is None:
        return Verdict(
            "inconclusive",
            "inconclusive: the wait for input could not be measured in this run",
            notes=notes,
        )
    if _is_contended(signals):
        return Verdict(
            "inconclusive",
            "inconclusive: the machine is busy with other work; nothing in this script stands out",
            notes=notes,
        )
    outside, beside = _largest(parts, OUTSIDE), _largest(parts, BESIDE)
    limits = ((outside, MAX_OUTSIDE_SHARE), (beside, MAX_BESIDE_SHARE))
    # Ending an iterator is TensorFlow's own doing, and nobody's mistake.
    large = [p for p, limit in limits if p.share >= limit and p.name != "iterator_ends"]
    largest = max(large, key=lambda part: part.share, default=None)
    if wait >= MAX_WAIT_SHARE and (largest is None or wait >= largest.share):
        return Verdict("inconclusive", _input_without_cause(signals, wait), notes=notes)
    if largest is not None:
        text = f"no known cause, but {units.share(largest.share)} of the time is {largest.label}"
        return Verdict("inconclusive", f"inconclusive: {text}", notes=notes)
    text = "compute-bound: the model is the limit"
    if outside.share >= MAX_BESIDE_SHARE:
        text += f" of a step; {outside.label} takes another {units.share(outside.share)}"
        return Verdict("compute-bound", text, _advice(signals, parts), notes)
    text += f" ({units.share(shares['step'])} of the time)"
    if parts.step_s < SHORT_STEP_S and signals.steps_per_execution == 1:
        text += f", but a step of {units.seconds(parts.step_s)} is mostly Keras's own work"
        return Verdict("compute-bound", text, _advice(signals, parts), notes)
    return Verdict(
        "compute-bound", f"{text}; nothing here is worth fixing", _advice(signals, parts), notes
    )


def _advice(signals: Signals, parts: Breakdown) -> tuple[str, ...]:
    """Say what would make the model itself faster, leaving out what is done already."""
    ways = []
    if parts.step_s < SHORT_STEP_S and signals.steps_per_execution == 1:
        ways.append("steps_per_execution=32 in compile()")
    if not signals.loop.facts.get("jit_compile"):
        ways.append("jit_compile=True in compile()")
    ways += ["a larger batch", "a smaller model"]
    faster = f"To make the model itself faster (not measured here): {', or '.join(ways)}."
    ends = next((part.share for part in parts.parts if part.name == "iterator_ends"), 0.0)
    return (faster, ENDING) if ends >= MAX_BESIDE_SHARE else (faster,)


def _largest(parts: Breakdown, names: tuple[str, ...]) -> BreakdownPart:
    named = [part for part in parts.parts if part.name in names]
    return max(named, key=lambda part: part.share)


def _input_without_cause(signals: Signals, wait: float) -> str:
    text = f"input-bound: {units.share(wait)} of the time waits for input, by no known cause"
    limit = limit_of_input(signals)
    if limit:
        text += f"; {limit}"
    try:
        stages = [stage for stage in signals.stages if stage.location is not None]
    except SignalMissing:
        return text
    if not stages:
        return text
    slowest = max(stages, key=lambda stage: stage.work_s / max(stage.parallelism, 1.0))
    where = slowest.location
    place = f" at line {where.line}" if where else ""
    return f"{text}; the slowest stage is {slowest.kind}{place}"


def _busy(signals: Signals) -> str:
    try:
        others = signals.machine.other_cores
    except SignalMissing:
        return ""
    if others is None or others < BUSY_SHARE * signals.machine_cores:
        return ""
    return (
        f"The machine is busy: other programs used {others:.1f} of {signals.machine_cores:g} cores"
        " while this ran, so times are longer than they need be."
    )


def _is_contended(signals: Signals) -> bool:
    try:
        delay = signals.machine.main_delay_share
    except SignalMissing:
        return False
    return bool(_busy(signals)) and (delay or 0.0) > MAX_DELAY_SHARE


def _no_steps(signals: Signals) -> Verdict:
    facts = signals.process.facts
    run = signals.recording.run
    if not signals.loops and (run.get("exit_code") or run.get("signal")):
        text = "no training step was seen: the script ended before it began to train"
    elif signals.loops:
        place = signals.loop.location
        where = f" (line {place.line})" if place else ""
        what = "`fit`" if signals.loop.kind == "fit" else "a loop"
        text = f"no step ended: {what}{where} was entered, but its first steps did not finish"
    elif any(
        row["state"] == "active"
        for row in signals.process.rows("probes")
        if row["name"] == "fit_loop"
    ):
        text = "no training step was seen: Keras was imported, but no `model.fit` ran a step"
    elif facts.get("keras_version") or signals.process.rows("traces"):
        text = "no training step was seen: TensorFlow ran, but no `model.fit` of Keras 3"
    else:
        text = "no training step was seen: the script did not use Keras"
    return Verdict("no-steps", text, notes=last_seen(signals))


def last_seen(signals: Signals) -> tuple[str, ...]:
    """Say at which lines the script was when it was last looked at."""
    names = {"main": "the main thread", "input": "the input"}
    return tuple(
        f"Last seen, {names[role]} was at {line.location.short}:"
        f" `{line.location.text or line.location.function}`"
        for role, line in signals.last_seen()
    )
