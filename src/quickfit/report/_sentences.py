"""The sentences of a report that are made from several values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quickfit import units
from quickfit.findings import (
    AccountNode,
    Breakdown,
    Diagnosis,
    EarlyVerdict,
    Exhaustion,
    Finding,
    FixClass,
    Gain,
    Location,
    MemoryAccount,
    MemoryNode,
    NotChecked,
    Overhead,
    Phase,
    RunOutcome,
    Symptom,
    TurboPlace,
)
from quickfit.report import text

EFFECTS = {
    FixClass.SAME_RESULTS: "same results",
    FixClass.EQUIVALENT: "equivalent results, small differences in values",
    FixClass.REPAIRS: "repairs a run that is broken now",
    FixClass.MAY_CHANGE_RESULTS: "may change results",
    FixClass.SHOW_ONLY: "an idea to adapt by hand",
}

# A phase is told from a tenth of a second and one percent of the time to the first step.
MIN_PHASE_S = 0.1
MIN_PHASE_SHARE = 0.01
# More names than this that miss the same thing are nobody's reading.
MAX_NAMES = 20

# Loops of which the account of a report has a line.
MIN_LOOP_SHARE = 0.05
# What a fix brings where it is not speed.
# Parts of the memory that are worth a place in one line.
MIN_MEMORY_SHARE, MAX_MEMORY_PARTS = 0.10, 4
_NOT_SPEED = {
    Symptom.STUCK: "gets the run going",
    Symptom.WRONG: "makes the run right",
    Symptom.CRASH: "makes the script run",
    Symptom.MEMORY: "stops the growth",
}


def gain(gain: Gain, symptom: Symptom, *, is_of_run: bool = False) -> str:
    """Return a gain as `training 1.4–2.5× faster, likely 1.9×`, or that of the whole run."""
    if not math.isfinite(gain.likely) or gain.likely < 1.005:
        return _NOT_SPEED.get(symptom, "no speed-up predicted")
    what = "run" if is_of_run else "training"
    low, likely, high = (units.factor(v) for v in (gain.low, gain.likely, gain.high))
    if low == high or not (math.isfinite(gain.low) and math.isfinite(gain.high)):
        return f"{what} about {likely} faster"
    return f"{what} {low.rstrip('×')}–{high} faster, likely {likely}"


def exhaustion(used: Exhaustion) -> str:
    """Return a growth as `memory: +3.1 MB per step, limit of 8.0 GB reached in about 25 min`."""
    if used.held is not None:
        text = f"{used.what}: {units.quantity(used.held, used.unit)} held"
        share = f", {units.share(used.held / used.limit)} of what there is" if used.limit else ""
        return text + share
    if used.in_s is not None and used.in_s <= 0:
        return f"{used.what}: the limit is reached"
    # Less than one file a step is told by the minute.
    is_each = used.each is not None and (used.unit == "bytes" or used.each >= 1)
    grown = used.each if is_each and used.each is not None else used.per_s * 60
    each = f"per {used.per}" if is_each else "a minute"
    text = f"{used.what}: +{units.quantity(grown, used.unit)} {each}"
    if used.limit is None or used.in_s is None:
        return text
    limit = units.quantity(used.limit, used.unit)
    return f"{text}, limit of {limit} reached in about {units.about(used.in_s)}"


def cost_detail(finding: Finding) -> str:
    """Say what goes with the time that a cause takes by itself, where that is more."""
    gone, own = units.share(finding.gone_share), units.share(finding.cost_share)
    return "" if gone == own else f"{gone} with what gets shorter with it"


def basis(gain: Gain) -> str:
    """Return why a gain is believed, or nothing when no reason was given."""
    if not gain.basis.strip():
        return ""
    what = f"why {units.factor(gain.likely)}" if math.isfinite(gain.likely) else "why"
    return f"{what}: {text.prose(gain.basis)}"


def place(where: Location | None) -> str:
    """Return a place as `train.py:41` or `cell 3, line 2`, or nothing when there is none."""
    return "" if where is None else line_of(where.file, where.line, where.cell)


def line_of(file: str, line: int, cell: str) -> str:
    """Return a line of a file, or of a notebook's cell, as one looks for it."""
    return f"{text.one_line(cell)}, line {line}" if cell else f"{text.path(file)}:{line}"


def whole_run(account: AccountNode | None, breakdown: Breakdown | None) -> str:
    """Return how long the run took, and a step of its main loop."""
    if account is None:
        return ""
    whole = f"{units.seconds(account.seconds)} in all"
    if breakdown is None:
        return whole
    loops = [node for node in account.children if node.loop and node.share >= MIN_LOOP_SHARE]
    # Of several loops one is the main one, and steps of the others take another time.
    at = f" at {text.one_line(breakdown.where.short)}" if len(loops) > 1 and breakdown.where else ""
    return f"{whole}; a step{at}: {steps(breakdown)}"


def memory(account: MemoryAccount | None) -> str:
    """Return what the run held at most, and its largest parts."""
    if account is None:
        return ""
    of = f" of {units.size(account.limit_bytes)}" if account.limit_bytes else ""
    parts = [part for node in account.parts for part in node.parts or (node,)]
    large = sorted((p for p in parts if p.share >= MIN_MEMORY_SHARE), key=lambda p: -p.bytes)
    said = "; ".join(map(_held, large[:MAX_MEMORY_PARTS]))
    return f"{units.size(account.bytes)}{of} at most: {said}"


def _held(node: MemoryNode) -> str:
    grows = [f"+{units.size(g.bytes)} per {g.per}" for g in node.growth[:1]]
    facts = ", ".join([*filter(None, [place(node.where)]), *grows])
    label = text.one_line(node.label)
    return f"{label} {units.size(node.bytes)}" + (f" ({facts})" if facts else "")


def checked(diagnosis: Diagnosis, run: str) -> str:
    """Return how many causes were looked for, and how to see which."""
    missing = len(diagnosis.not_checked)
    asked = len(diagnosis.clear) + len({finding.cause for finding in diagnosis.findings})
    if not asked and not missing:
        return ""
    said = f"checked: {_counted(asked, 'cause')}"
    if missing:
        said += f", {units.count(missing)} could not be"
    return f"{said}: quickfit report {run} --verbose"


def steps(breakdown: Breakdown) -> str:
    """Return the step time with its spread, and how many steps it was measured on."""
    measured = f"median of {_counted(breakdown.steps, 'step')}"
    if breakdown.warmup_steps:
        measured += f", the first {units.count(breakdown.warmup_steps)} left out"
    spread = units.seconds(breakdown.step_spread_s)
    return f"{units.seconds(breakdown.step_s)} ± {spread} ({measured})"


def first_step(phases: Sequence[Phase]) -> str:
    """Return how long the first step took to come, and the phases that made up most of it."""
    if not phases:
        return ""
    total_s = sum(phase.seconds for phase in phases)
    least_s = max(MIN_PHASE_S, MIN_PHASE_SHARE * total_s)
    told = "".join(_phase(p) for p in phases if p.seconds >= least_s).removeprefix(", ")
    reached = "none" if any(phase.is_open for phase in phases) else "after"
    last = next((f"; last seen in {p.label}" for p in phases if p.is_open), "")
    when = f"{reached} {'in ' if last else ''}{units.seconds(total_s)}"
    return f"{when}: {told}{last}" if told else f"{when}{last}"


def _phase(phase: Phase) -> str:
    detail = f" ({text.one_line(phase.detail)})" if phase.detail else ""
    return f", {text.one_line(phase.label)} {units.seconds(phase.seconds)}{detail}"


def not_checked(causes: Sequence[NotChecked]) -> tuple[str, ...]:
    """Return one `cause, reason` per reason; causes that miss the same thing share it.

    Of a run without a single step nearly all do: then their number says as much as their names,
    which the JSON report has.
    """
    by_reason: dict[str, list[str]] = {}
    for each in causes:
        by_reason.setdefault(text.prose(each.reason), []).append(text.one_line(each.cause))
    return tuple(f"{_many(names)}, {reason}" for reason, names in by_reason.items())


def _many(names: list[str]) -> str:
    return _listed(names) if len(names) <= MAX_NAMES else f"{len(names)} causes"


def outcome(outcome: RunOutcome) -> str:
    """Return how the script ended, or nothing when it plainly finished."""
    if outcome.signal:
        return f"the script was ended by {text.one_line(outcome.signal)}"
    if outcome.exit_code:
        return f"the script ended with exit code {outcome.exit_code}"
    if outcome.text == "finished":
        return ""
    if outcome.text.startswith("stopped early"):
        return f"the script was {text.prose(outcome.text)}; nothing after the loop ran"
    if outcome.text.startswith("left by"):
        return f"the watched block was {text.prose(outcome.text)}"
    if outcome.text == "running":
        return "the script is still running; this report covers it so far"
    if outcome.text == "gone":
        return (
            "the script is no longer running here, and its end was not recorded: it was killed "
            "with quickfit, or the machine went down. This report covers it up to then"
        )
    if outcome.text == "unknown":
        return "how the script ended was not recorded"
    return f"the script ended: {text.prose(outcome.text)}"


def early(early: EarlyVerdict | None) -> str:
    """Return whether the early verdict held, or nothing when there was none."""
    if early is None:
        return ""
    when = f"the early verdict, given at step {units.count(early.at_step)},"
    if early.held:
        return f"{when} held"
    why = f": {text.prose(early.why)}" if early.why else ""
    return f'{when} did not hold{why}. It said: "{text.prose(early.headline)}"'


def overhead(overhead: Overhead) -> str:
    """Return what quickfit itself cost, as far as it was measured."""
    costs = []
    if overhead.step_cpu_s is not None:
        costs.append(f"{units.seconds(overhead.step_cpu_s)} per step on the main thread")
    if overhead.threads_core_share is not None:
        share = f"{units.share(overhead.threads_core_share)} of a core"
        used = overhead.threads_cpu_s
        spent = f"{units.seconds(used)} of CPU in the background ({share})" if used else ""
        costs.append(spent or f"{share} in the background")
    return ", ".join(costs) if costs else "cost not measured"


def probes_off(overhead: Overhead) -> tuple[str, ...]:
    """Return the probes that turned themselves off: those whose state starts with `off`."""
    return tuple(
        f"{text.one_line(name)} {text.prose(state)}"
        for name, state in overhead.probes
        if state.startswith("off")
    )


def _counted(number: int, thing: str) -> str:
    return f"{units.count(number)} {thing}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def turbo(places: tuple[TurboPlace, ...] | None) -> str:
    """Say in one line what `--turbo` saved; empty for a run without it."""
    if places is None:
        return ""
    saved_s = sum(max(place.saved_s or 0.0, 0.0) for place in places if place.state == "kept")
    if not any(place.state in ("kept", "open") for place in places):
        return "nothing was made faster"
    return f"saved about {units.seconds(saved_s)} of this run, with the same values bit for bit"


def turbo_figures(place: TurboPlace) -> str:
    """Say what was measured at a place that was made faster."""
    if place.unit == "iterator":
        count = f"{units.count(place.on_count)} {_plural('end', place.on_count)}"
        return f"{count} took {units.seconds(place.saved_s or 0.0)} there"
    if place.on_s is None or place.off_s is None:
        units_needed = "passes" if place.unit == "step" else "calls"
        return f"too few {units_needed} to measure a gain"
    off = f"{units.count(place.off_count)} off" if place.off_count else "off: the first pass"
    told = f"{units.seconds(place.on_s)} per {place.unit} instead of {units.seconds(place.off_s)}"
    saved = f", saved {units.seconds(place.saved_s)}" if place.saved_s else ""
    return f"{told} ({units.count(place.on_count)} on, {off}){saved}"


def turbo_left(place: TurboPlace) -> str:
    """Say what was left alone, and why."""
    where = f" ({place.where.short})" if place.where else ""
    if place.state == "dropped" and place.on_s is not None and place.off_s is not None:
        took = f"{units.seconds(place.on_s)} on, {units.seconds(place.off_s)} off"
        reason = f"tried and taken back, not faster ({took} per {place.unit})"
    else:
        reason = place.reason
    return text.prose(f"{place.what}{where}: {reason}")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
