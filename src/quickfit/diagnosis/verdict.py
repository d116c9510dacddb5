"""The verdict of a run: the first sentence of its report, from its findings or without one."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from quickfit import units
from quickfit.account import loop_account, time_account
from quickfit.causes import catalogue, silence_finding
from quickfit.diagnosis.outcome import run_outcome
from quickfit.errors import SignalMissing
from quickfit.findings import (
    Breakdown,
    BreakdownPart,
    DeviceVerdict,
    Exhaustion,
    Finding,
    Severity,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.drift import Component, Slowdown
from quickfit.signals.drift_places import certain, slower
from quickfit.signals.endings import ended_by
from quickfit.signals.memory import GrowingLine, MemoryUse

# Below this wait, and with nothing else as large, the model itself is the limit.
MAX_WAIT_SHARE = 0.10
MAX_BESIDE_SHARE = 0.10
# Beside a step that is larger, a part of the steps is worth a word from here.
LARGE_BESIDE_SHARE = 0.20
# Validation and epoch ends are part of every run; from here they, not the model, are the limit.
MAX_OUTSIDE_SHARE = 0.30
BESIDE = ("callbacks", "tracing", "between", "copies", "logs", "looks")
OUTSIDE = (
    *("validation", "checkpoint", "epoch_callbacks", "iterator_ends", "epoch_ends"),
    *("fit_calls", "unattributed"),
)
# Others on the machine are worth a word from here, as a share of the cores.
BUSY_SHARE = 0.25
# A verdict on fewer steps says how many there were.
FEW_STEPS = 10
# Where so much more of the time goes than the cause takes by itself, a gain needs a word.
MIN_MORE = 0.03
# Start-up that takes half of a run is worth a word; training longer does not pay it again.
START_UP_SHARE = 0.5

ENDING = (
    "Shutting iterators down is TensorFlow's own work, not a mistake in the script: at the end of"
    " each epoch it waits for a thread of the ended iterator. Longer epochs,"
    " or `.repeat()` with steps_per_epoch (one iterator for all epochs), wait less often;"
    " `quickfit run --turbo` has another thread wait."
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
        return Verdict("stuck", silence_headline(signals, stuck[0]))
    quiet = unexplained_silence(signals)
    if quiet and _is_mostly_quiet(signals, parts):
        return Verdict("stuck", quiet)
    reported = [finding for finding in findings if finding.severity != Severity.MENTION]
    wrong = [finding for finding in reported if finding.symptom == Symptom.WRONG]
    if parts is None:
        return _no_steps(signals, wrong or reported)
    busy = _busy(signals)
    all_notes = (*((busy,) if busy else ()), *notes(signals, findings))
    own = [finding for finding in reported if not finding.is_of_machine]
    if own:
        all_notes = (*all_notes, *_long_endings(signals))
    if own and own[0].symptom == Symptom.SLOWING_DOWN:
        return Verdict("findings", slowing_headline(own[0], signals), notes=all_notes)
    if own:
        text = _headline(own[0]) + _also_running_out(own) + _so_far(signals, parts)
        return Verdict("findings", text, notes=all_notes)
    slower = unexplained_slowing(signals)
    if slower:
        return Verdict("inconclusive", slower, notes=(busy,) if busy else ())
    said = _without_findings(signals, parts, all_notes)
    if ENDING not in said.advice:
        all_notes = (*all_notes, *_long_endings(signals))
        said = dataclasses.replace(said, notes=all_notes)
    if reported:
        # The machine is the verdict only where nothing in the script explains the time.
        gain = units.factor(reported[0].gain.likely)
        text = f"{reported[0].summary} (alone it would be about {gain} as fast); the script itself:"
        return Verdict("findings", f"{text} {said.headline}", said.advice, all_notes)
    if said.kind == "compute-bound" and device.status == "unused":
        # The model is the limit only because it runs in the wrong place.
        text = "compute-bound on the CPU, but an accelerator is not used: see the device line first"
        return Verdict("compute-bound", text, notes=all_notes)
    return said


def _long_endings(signals: Signals) -> tuple[str, ...]:
    """Say that ending iterators is a large part of the run, which no finding is about."""
    root = time_account(signals)
    nodes = [n for n in root.walk() if n.name == "iterator_ends"] if root is not None else []
    spent_s = sum(node.seconds for node in nodes)
    if root is None or spent_s < MAX_BESIDE_SHARE * root.seconds:
        return ()
    share = units.share(spent_s / root.seconds)
    return (f"Ending iterators took {units.seconds(spent_s)}, {share} of the run. {ENDING}",)


def _is_mostly_quiet(signals: Signals, parts: Breakdown | None) -> bool:
    """Tell whether the last silence lasted longer than all the steps before it."""
    steps = signals.every_step if parts is not None else None
    return steps is None or signals.silences[-1].quiet_s > steps.total_s


def _so_far(signals: Signals, parts: Breakdown) -> str:
    """Say how little was seen, where a longer run may show other shares."""
    if parts.steps >= FEW_STEPS:
        return ""
    steps = "one step" if parts.steps == 1 else f"{parts.steps} steps"
    return f" (so far: {steps})"


def _headline(first: Finding) -> str:
    words = {
        "input_wait": "input-bound: {share} of the training time is spent waiting for input",
        "callbacks": "held up by a callback: {share} of the training time",
        "tracing": "held up by tracing and setting up new graphs: {share} of the training time",
        "python": "slow step: {share} of the training time is Python called from the graph",
        "eager": "slow step: {share} of the training time is Python between operations",
        "epoch_start": "held up at the start of every epoch: {share} of the training time",
    }
    claim = first.claims[0] if first.claims else ""
    if first.cause == "run-eagerly-on":
        claim = "eager"
    if first.cause == "python-in-step":
        claim = "python"
    share = units.share(first.cost_share)
    if first.is_of_run:
        gain = f"without it the run is {units.factor(first.gain.high)} as fast at most"
        spent = f"{units.seconds(first.cost_s)}, {share} of the run"
        return f"{first.summary}: {spent}{_at(first)}; {gain}"
    if first.symptom == Symptom.WRONG:
        return f"trains on wrong numbers: {first.summary}"
    if first.exhaustion is not None:
        return running_out(first)
    is_known = claim in words and not (first.is_general and claim != "input_wait")
    text = words[claim].format(share=share) if is_known else f"{first.summary} ({share})"
    text += f" ({first.resource})" if is_known and first.resource else ""
    if first.is_general:
        most = f"the training is {units.factor(first.gain.high)} as fast at most"
        return f"{text}{_at(first)}; without it {most}"
    more = first.gone_share - first.cost_share >= MIN_MORE
    others = ", as other parts get shorter with it" if more else ""
    likely = units.factor(first.gain.likely)
    return f"{text}; the first fix makes the training about {likely} as fast{others}"


def _at(finding: Finding) -> str:
    return f", at {finding.where.short}" if finding.where is not None else ""


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
    if shares.get("input_wait") is None and shares.get("step", 0.0) >= MAX_WAIT_SHARE:
        return Verdict(
            "inconclusive",
            f"inconclusive: {units.share(shares['step'])} of the time is the train step with its"
            " wait for input, and how much of that is the wait could not be measured; to see more"
            f" of it: {_longer_run(signals)}",
            notes=notes,
        )
    advice = _advice(signals, parts)
    small = _large_of_little(signals, parts)
    if small:
        return Verdict("nothing-large", f"{small}{_start_up(signals)}", advice, notes)
    python = _python_in_step(signals)
    if python:
        return Verdict(
            "inconclusive", f"inconclusive{_so_far(signals, parts)}: {python}", advice, notes
        )
    outside = _largest(_of_the_loop(signals, parts), OUTSIDE)
    text = f"compute-bound{_so_far(signals, parts)}: the model is the limit"
    if outside.share >= MAX_BESIDE_SHARE:
        text += f" of a step; another {units.share(outside.share)} is {outside.label}"
        return Verdict("compute-bound", f"{text}{_start_up(signals)}", advice, notes)
    text += f" ({units.share(shares['step'])} of the training time)"
    if parts.step_s < SHORT_STEP_S and signals.steps_per_execution == 1:
        short = f"a step of {units.seconds(parts.step_s)}"
        text += f", but {short} is so short that starting it may be a large part of it"
        return Verdict("compute-bound", f"{text}{_start_up(signals)}", advice, notes)
    text += "; nothing here is worth fixing"
    return Verdict("compute-bound", f"{text}{_start_up(signals)}", advice, notes)


def _python_in_step(signals: Signals) -> str:
    """Say that much of the step is Python, of which no cause could say what it costs."""
    loop = loop_account(signals)
    node = loop.find("python_in_step") if loop is not None else None
    if loop is None or node is None or node.seconds < MAX_BESIDE_SHARE * loop.seconds:
        return ""
    at = f" (at {node.where.short})" if node.where is not None else ""
    return (
        f"{units.share(node.seconds / loop.seconds)} of the training time is Python called from"
        f" the graph{at}, and how much of it the model waits for could not be measured; to see"
        f" more of it: {_longer_run(signals)}"
    )


def _large_of_little(signals: Signals, parts: Breakdown) -> str:
    """Say that a part is large for a step, but takes too little of this run to be a finding."""
    node, root = loop_account(signals), time_account(signals)
    limits = {**dict.fromkeys(("input_wait", *BESIDE), MAX_BESIDE_SHARE)}
    limits |= dict.fromkeys(OUTSIDE, MAX_OUTSIDE_SHARE)
    # Ending an iterator is TensorFlow's own doing, not a mistake in the script.
    del limits["iterator_ends"]
    of_steps = [p for p in parts.parts if p.name in ("input_wait", *BESIDE)]
    of_loop = [p for p in _of_the_loop(signals, parts).parts if p.name in OUTSIDE]
    large = [p for p in (*of_steps, *of_loop) if p.share >= limits.get(p.name, 1.1)]
    largest = max(large, key=lambda part: part.share, default=None)
    if largest is None:
        return ""
    step = next((part.share for part in parts.parts if part.name == "step"), 0.0)
    least = 1.0 if largest.name in OUTSIDE else LARGE_BESIDE_SHARE
    if largest.share < min(step, least):
        return ""  # the step is what most of the time goes to
    spent = f"{units.share(largest.share)} of the training time is {largest.label}"
    if node is None or root is None:
        return f"nothing here stands out{_so_far(signals, parts)}: {spent}"
    part = next((child for child in node.children if child.name == largest.name), None)
    took = part.seconds if part is not None else largest.share * node.seconds
    only = f"that is {units.seconds(took)} of a run of {units.seconds(root.seconds)}"
    return f"nothing here is large{_so_far(signals, parts)}: {spent}, but {only}"


def _of_the_loop(signals: Signals, parts: Breakdown) -> Breakdown:
    """Return the parts with shares of all of the loop: what comes once is not a rate of steps."""
    node = loop_account(signals)
    if node is None or not node.seconds:
        return parts
    spent = {child.name: child.seconds / node.seconds for child in node.children}
    changed = [dataclasses.replace(p, share=spent.get(p.name, p.share)) for p in parts.parts]
    return dataclasses.replace(parts, parts=tuple(changed))


def _start_up(signals: Signals) -> str:
    """Say how much of a short run was not training at all."""
    root, node = time_account(signals), loop_account(signals)
    if root is None or node is None:
        return ""
    once = {part.name: part.seconds for part in node.children if part.name in ("setup", "tracing")}
    before = root.find("before_training")
    for part in before.children if before is not None else ():
        once[part.name] = once.get(part.name, 0.0) + part.seconds
    total_s = sum(once.values())
    if total_s < START_UP_SHARE * root.seconds:
        return ""
    largest = sorted(once.items(), key=lambda each: -each[1])[:2]
    named = ", ".join(
        f"{_START_WORDS.get(name, name)} {units.seconds(s)}" for name, s in largest if s > 0
    )
    share = units.share(total_s / root.seconds)
    is_running = run_outcome(signals.recording).text == "running"
    of = "the first {}" if is_running else "this run of {}"
    return f". Start-up was {share} of {of.format(units.seconds(root.seconds))}: {named}"


_START_WORDS = {
    "imports": "imports",
    "tracing": "tracing",
    "model": "building the model",
    "data": "data",
    "evaluating": "evaluate",
    "predicting": "predict",
    "calling": "calling the model",
    "iterator_ends": "TensorFlow shutting its iterators down",
    "other": "Python before training",
    "setup": "setting up `fit`",
}


def _longer_run(signals: Signals) -> str:
    script = str(signals.recording.run.get("script") or "train.py").rpartition("/")[2]
    return f"`quickfit run --for 60s {script}`"


def _advice(signals: Signals, parts: Breakdown) -> tuple[str, ...]:
    """Say what would make the model itself faster, leaving out what is done already."""
    ways = []
    is_own = signals.loop.kind == "custom"
    if parts.step_s < SHORT_STEP_S and signals.steps_per_execution == 1:
        many = "a loop over several batches inside the `tf.function`"
        ways.append(many if is_own else "steps_per_execution=32 in compile()")
    if not signals.loop.facts.get("jit_compile"):
        place = "`@tf.function`" if is_own else "compile()"
        ways.append(f"jit_compile=True in {place}")
    ways += ["a larger batch", "a smaller model"]
    faster = f"To make the model itself faster (not measured here): {', or '.join(ways)}."
    whole = _of_the_loop(signals, parts)
    ends = next((part.share for part in whole.parts if part.name == "iterator_ends"), 0.0)
    return (faster, ENDING) if ends >= MAX_BESIDE_SHARE else (faster,)


def _largest(parts: Breakdown, names: tuple[str, ...]) -> BreakdownPart:
    named = [part for part in parts.parts if part.name in names]
    return max(named, key=lambda part: part.share)


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


def _no_steps(signals: Signals, reported: list[Finding]) -> Verdict:
    """Return the verdict of a run in which no step ended: what it did with its time instead."""
    # Of a script that came to its end, where it was last seen says nothing.
    is_known = signals.recording.run.get("exit_code") == 0 or ended_by(signals) is not None
    notes = () if is_known else last_seen(signals)
    if reported and reported[0].symptom == Symptom.WRONG:
        return Verdict("findings", _headline(reported[0]), notes=notes)
    why = f"no training step {_why_no_step(signals)}"
    if reported and ended_by(signals) is not None:
        # What ended the script comes before what was slow until then.
        return Verdict("findings", f"{why}; {_headline(reported[0])}", notes=notes)
    text = f"{why}{_where_time_went(signals)}"
    if reported:
        return Verdict("findings", f"{_headline(reported[0])}; {text}", notes=notes)
    return Verdict("no-steps", text, notes=notes)


def _why_no_step(signals: Signals) -> str:
    facts = signals.process.facts
    run = signals.recording.run
    error = ended_by(signals)
    if not signals.loops and error is not None:
        where = f" at {error.where.short}" if error.where is not None else ""
        return f"was seen: the script ended with {error.kind}{where} before it began to train"
    if not signals.loops and (run.get("exit_code") or run.get("signal")):
        return "was seen: the script ended before it began to train"
    if signals.loops:
        place = signals.loop.location
        where = f" ({place.short})" if place else ""
        what = "`fit`" if signals.loop.kind == "fit" else "a loop"
        if error is not None:
            return f"ended: {what}{where} was entered, and the script ended with {error.kind}"
        return f"ended: {what}{where} was entered, but its first step did not finish"
    if any(
        row["state"] == "active"
        for row in signals.process.rows("probes")
        if row["name"] == "fit_loop"
    ):
        return "was seen: Keras was imported, but no `model.fit` ran a step"
    if facts.get("keras_version") or signals.process.rows("traces"):
        return "was seen: TensorFlow ran, but no `model.fit` of Keras 3"
    return "was seen: the script did not use Keras"


def _where_time_went(signals: Signals) -> str:
    """Say what most of the time of a run without steps was spent on."""
    root = time_account(signals)
    leaves = [node for node in root.walk() if not node.children] if root is not None else []
    largest = max(leaves, key=lambda node: node.seconds, default=None)
    if root is None or largest is None or largest.share < MAX_BESIDE_SHARE:
        return ""
    place = f" at {largest.where.short}" if largest.where is not None else ""
    label = f"`{largest.label}`" if largest.name == "line" else largest.label
    spent = f"{units.share(largest.share)} of its {units.seconds(root.seconds)}"
    return f"; {spent} went to {label}{place}"


def last_seen(signals: Signals) -> tuple[str, ...]:
    """Say at which lines the script was when it was last looked at."""
    names = {
        "main": "the main thread",
        "input": "the input",
        "step": "Python called from the graph",
    }
    return tuple(
        f"Last seen, {names[role]} was at {line.location.short}:"
        f" `{line.location.text or line.location.function}`"
        for role, line in signals.last_seen()
    )


# A run that got slower by less is told of in a note; its verdict is another.
MIN_HEADLINE_GROWTH = 0.3
# Parts in words, for a run that is slower by no known cause.
WORDS = {
    "callbacks": "callbacks",
    "wait": "waiting for input",
    "call": "the train step",
    "between": "Python between steps",
    "input": "making a batch",
    "stage_work": "the input pipeline's work",
    "collecting": "the garbage collector",
    "steps": "its steps",
    "start": "its first step",
    "after": "what follows its steps",
    "validation": "validation",
}
# Parts that were looked at are told if they are this share of the step.
MIN_TOLD = 0.05


def slowdown(signals: Signals) -> Slowdown | None:
    """Return how a run slowed down; None where it did not, or had too few steps to tell."""
    try:
        return signals.slowdown
    except SignalMissing:
        return None


def slowing_headline(first: Finding, signals: Signals) -> str:
    """Return the verdict on a run whose first finding makes it slower and slower."""
    slow = slowdown(signals)
    if slow is None or slow.why != "part":
        return f"slowing down: {first.summary}"
    grown = f"{units.share(slow.share)} of the growth: {first.summary}"
    is_running = run_outcome(signals.recording).text == "running"
    when = f" ({certain(slow)})" if is_running else ""
    return f"slowing down: {slower(slow)}; {grown}{when}"


def unexplained_slowing(signals: Signals) -> str:
    """Return the verdict on a run that slowed down much and in which no cause was found."""
    slow = slowdown(signals)
    if slow is None or slow.last_s < (1 + MIN_HEADLINE_GROWTH) * slow.first_s:
        return ""
    if slow.why == "data":
        return ""
    text = f"{slower(slow)}; {_measured(slow)}"
    if slow.why == "machine":
        return f"slower by the machine's load, not by the script: {text}"
    return f"slower, cause unknown: {text}"


def notes(signals: Signals, findings: list[Finding]) -> tuple[str, ...]:
    """Say that a run slowed down where the verdict is about something else."""
    slow = slowdown(signals)
    if slow is None or any(f.symptom == Symptom.SLOWING_DOWN for f in findings[:1]):
        return ()
    measured = {one.name: one for one in slow.measured}
    text = f"It got slower: {slower(slow)}"
    if slow.why == "data" and "batch_bytes" in measured:
        size = measured["batch_bytes"]
        grown = f"{units.size(size.first)} at first, {units.size(size.last)} at the end"
        per_byte = (slow.last_s / size.last) / (slow.first_s / size.first)
        told = "the time per byte is not longer" if per_byte <= 1.2 else "longer ones cost more"
        return (f"{text}, because the batches grow: {grown}; {told}.",)
    if slow.why == "machine":
        return (f"{text}, by the machine's load: {_load(measured)}.",)
    return (f"{text}; {_measured(slow)}.",)


def _load(measured: dict[str, Component]) -> str:
    others, delay = measured.get("others"), measured.get("delay")
    found = []
    if others is not None:
        found.append(f"other programs used {others.first:.1f} cores, then {others.last:.1f}")
    if delay is not None and delay.growth > 0:
        first, last = units.seconds(delay.first), units.seconds(delay.last)
        found.append(f"a step stood in line for a core for {first}, then {last}")
    return "; ".join(found) or "a CPU limit"


def _measured(slow: Slowdown) -> str:
    if slow.why == "machine":
        return _load({one.name: one for one in slow.measured})
    told = [
        f"{WORDS[one.name]} {units.seconds(one.first)}, then {units.seconds(one.last)}"
        for one in slow.measured
        if one.name in WORDS and max(one.first, one.last) >= MIN_TOLD * slow.last_s
    ]
    return "measured: " + ("; ".join(told) if told else "no part of it by itself")


def silent(signals: Signals, found: list[Finding]) -> list[Finding]:
    """Return a finding for each cause of a silence that nobody else has told of.

    A shuffle that is being filled is told of by its steps; a run that was ended before has none.
    """
    told = {finding.cause for finding in found}
    known = catalogue()
    causes = dict.fromkeys(silence.cause for silence in signals.silences if silence.cause in known)
    return [_finding(signals, cause) for cause in causes if cause not in told]


def _finding(signals: Signals, name: str) -> Finding:
    cause, found = catalogue()[name], silence_finding(signals, name)
    assert found is not None
    return dataclasses.replace(
        found,
        cause=name,
        title=cause.title,
        symptom=Symptom.STUCK,
        severity=Severity.MENTION if found.is_past else Severity.SEVERE,
    )


def silence_headline(signals: Signals, found: Finding) -> str:
    """Return the verdict on a run that did not move; one that would have is not called stuck."""
    told = [silence for silence in signals.silences if silence.cause == found.cause]
    is_stuck = bool(told) and not told[-1].moves  # without, the script ended by itself
    return f"stuck: {found.summary}" if is_stuck else found.summary


def unexplained_silence(signals: Signals) -> str:
    """Return what was said of the last silence, if it has no cause and no end."""
    last = signals.silences[-1] if signals.silences else None
    return last.text if last is not None and not last.cause and not last.moved_again else ""


SLOWED = "Allocations were followed, so the times above are several times longer than usual."
# Lines that are named at most.
MAX_LINES = 5
# Within an hour most trainings meet the limit, within a day some; later ones have ended.
SEVERE_S, TOLD_S = 3600.0, 24 * 3600.0
# So much of the limit gone by growth alone is told, however slowly it goes on.
TOLD_SHARE = 0.20
# One part of the run that holds half of the memory leaves too little for the rest.
SEVERE_HELD_SHARE = 0.50


def memory_verdict(signals: Signals, findings: list[Finding]) -> Verdict:
    """Return the verdict of a run with `--memory`: which lines grow, or that none does."""
    try:
        lines, memory = signals.growing_lines, signals.memory
    except SignalMissing as missing:
        text = f"inconclusive: what grows could not be seen; it needs {missing.needs}"
        return Verdict("inconclusive", text, notes=(SLOWED,))
    told = [found for found in findings if found.severity != Severity.MENTION]
    if told:
        notes = (*map(_line, lines[:MAX_LINES]), SLOWED)
        return Verdict("memory", running_out(told[0]), notes=notes)
    if not lines:
        text = f"no line of this script holds more and more memory ({_level(memory)})"
        return Verdict("memory", text, notes=(SLOWED,))
    text = f"memory grows at {lines[0].location.short}: {_rate(lines[0])}"
    return Verdict("memory", text, notes=(*map(_line, lines[:MAX_LINES]), SLOWED))


def memory_severity(used: Exhaustion) -> Severity:
    """Return how loudly to tell of something that runs out.

    Its time says nothing: a leak costs none until the run is killed. So what decides is when
    that is. Growth that would take days is mentioned in a line, unless much is gone already.
    """
    if used.held is not None:
        is_severe = used.limit is not None and used.held >= SEVERE_HELD_SHARE * used.limit
        return Severity.SEVERE if is_severe else Severity.REPORT
    in_s = math.inf if used.in_s is None else used.in_s
    if in_s <= SEVERE_S:
        return Severity.SEVERE
    is_large = used.limit is not None and used.grown >= TOLD_SHARE * used.limit
    return Severity.REPORT if in_s <= TOLD_S or is_large else Severity.MENTION


def _level(memory: MemoryUse) -> str:
    return f"now {units.size(memory.rss_bytes)}"


def _rate(line: GrowingLine) -> str:
    per_step = line.growth.per_step
    if per_step is None:
        return f"{units.size(line.growth.per_s)} a second"
    return f"{units.size(per_step)} more with every step"


def _line(line: GrowingLine) -> str:
    where = line.location
    held = f"{_rate(line)}, {units.size(line.growth.last)} at the end"
    return f"{where.short} holds {held}: `{where.text}`"
