"""Some steps take many times as long as the others, again and again.

Why it is slow: something happens every now and then while the model waits: a file is written, a
model is looked at, garbage is collected, the next batches are not there yet. A few such steps may
take as long as hundreds of others.

How it shows: steps over five times the median take a twentieth of the time or more. What they
coincide with is looked for among what was measured: where the time of the step goes by the clock,
what the thread was seen doing, traces, saves, garbage collections, waiting for input, other
programs, the disk. It is named where it explains most of the slow steps and does not happen
as often without one.

Example:
    for step, (x, y) in enumerate(ds):
        train_step(x, y)
        if step % 50 == 0:
            np.savez_compressed("weights.npz", *model.get_weights())

Use instead:
    for step, (x, y) in enumerate(ds):
        train_step(x, y)
    np.savez_compressed("weights.npz", *model.get_weights())

Fix class: show only. What happens in the slow steps may be wanted; it can be done more rarely,
in less time, or while the model goes on.

When it is wrong: where slow steps have a cause of their own, such as `checkpoint-too-often` or
`retrace-shapes`, that is reported instead. Data whose batches differ in length makes some steps
long by nature; then the median is no measure of them.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause, example
from quickfit.causes.spikes.spikes.machine import computes, measured
from quickfit.causes.spikes.spikes.reasons import reason
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.collecting import collecting
from quickfit.signals.gains import gain
from quickfit.signals.spikes import Reason, Spikes

# Below a twentieth of the time nobody minds; without a reason it takes more to speak of them.
MIN_SHARE, MIN_UNKNOWN_SHARE = 0.05, 0.10
# Where others keep a quarter of the cores busy, slow steps are likely to be theirs.
MIN_OTHER_SHARE = 0.25
# From here on `gc-pressure` tells of the collector.
MIN_COLLECTING_SHARE = 0.10
# Slow steps are its collections where there are about as many, and they take this much of them.
MOSTLY, MAX_MORE = 0.5, 1.6
# What is left of the slow steps' extra time: half of it, a little, nothing.
LEFT_OVER = (0.5, 0.15, 0.0)
# At best more than the slow steps' own time is won.
RELIEF = 1.15
# Of what nobody knows, perhaps all.
UNKNOWN_LEFT = (1.0, 0.5, 0.0)
# What happens in a slow step, said of some of them; and what to do about it.
WORDS = {
    "save": ("save a model", "Save less often, or only the weights"),
    "look": ("evaluate or predict", "Look at the model less often, or at fewer examples"),
    "collect": ("collect garbage", "Keep fewer objects alive, and leave collecting to Python"),
    "retrace": ("trace a function anew", "Give the function the same shapes and types each time"),
    "compile": ("compile anew, it seems", "Give the model batches of one shape"),
    "input": ("wait for input", "Make batches ahead, and spread what only some of them need"),
    "shuffle": ("wait for a shuffle to refill", "Shuffle names instead of data, or fewer of them"),
    "cache": ("wait for input while a cache is filled", "Nothing: later epochs read from it"),
    "callback": ("run a callback", "Let the callback work less often, or do less"),
    "line": ("run Python between two steps", "Do that more rarely, or in a thread of its own"),
    "other": ("run code that the others do not", "Do that more rarely, or do less of it"),
    "neighbours": ("wait for other programs", "Run it when the machine is free"),
    "limit": ("are stopped by a CPU limit", "Raise the container's CPU limit"),
    "disk": ("wait for the disk", "Keep what is read again in memory, or on a faster disk"),
}
# What the script suffers from and cannot change.
OF_MACHINE = ("neighbours", "limit")
# Parts of the breakdown that the time is in, beside the one by the clock.
PARTS = {
    "save": ("checkpoint",),
    "look": ("validation", "looks"),
    "retrace": ("tracing",),
    "compile": ("tracing",),
    "shuffle": ("epoch_start",),
}


def detect(signals: Signals) -> Finding | None:
    """Report slow steps that take a share of the time."""
    found = signals.spikes
    if found is None or found.share < MIN_SHARE or not signals.loop.trains:
        return None
    why = reason(signals, found)
    if _is_nothing(found, signals) if why is None else _has_a_name(why, signals):
        return None
    if _is_collecting(found, signals):
        return None  # reported by gc-pressure
    # What coincides with the event; the other slow steps stay.
    cost = found.share * (why.explained if why else 1.0)
    if cost < MIN_SHARE:
        return None
    return Finding(
        summary=_summary(found, why),
        where=why.where if why else None,
        evidence=_evidence(found, why, signals),
        gain=_gain(cost, found, why),
        cost_share=cost,
        claims=_claims(why),
        is_of_whole=True,
        is_of_machine=why is not None and why.kind in OF_MACHINE,
    )


def _claims(why: Reason | None) -> tuple[str, ...]:
    if why is None:
        return ("step",)
    return () if why.kind in OF_MACHINE else (*PARTS.get(why.kind, ()), why.part)


def _has_a_name(why: Reason, signals: Signals) -> bool:
    """Tell whether `gc-pressure` reports what collects garbage in the slow steps, and where."""
    found = collecting(signals) if why.kind == "collect" else None
    if found is None or found.share < MIN_COLLECTING_SHARE:
        return False
    return why.where is None or found.called_at is not None


def _is_collecting(found: Spikes, signals: Signals) -> bool:
    """Tell whether slow steps are full collections: about as many, and most of their time."""
    gone = collecting(signals)
    if gone is None or gone.share < max(MIN_COLLECTING_SHARE, MOSTLY * found.share):
        return False
    return gone.full / MAX_MORE <= found.count <= gone.full * MAX_MORE


def _is_nothing(found: Spikes, signals: Signals) -> bool:
    """Tell whether slow steps without a reason are not worth telling.

    Where others use much of the machine they are likely to be theirs; and steps that compute as
    the others do have more to compute, such as a longer text.
    """
    others = signals.machine.other_cores or 0.0
    is_busy = others >= MIN_OTHER_SHARE * signals.machine_cores
    return found.share < MIN_UNKNOWN_SHARE or is_busy or computes(signals, found)


def _summary(found: Spikes, why: Reason | None) -> str:
    said = (
        f"{units.count(found.count)} of {units.count(found.steps)} steps take"
        f" {found.factor:.0f} times the median and {units.share(found.share)} of the time"
    )
    if why is None:
        return f"{said}; nothing that was measured coincides with them"
    many = f"{why.hits} of them"
    if why.measured < found.count:
        many = f"of {why.measured} that could be looked at, {why.hits}"
    elif why.hits == why.measured:
        many = "all of them"
    name = f" (`{why.name}`)" if why.name else ""
    return f"{said}; {many} {WORDS[why.kind][0]}{name}"


def _evidence(found: Spikes, why: Reason | None, signals: Signals) -> tuple[Evidence, ...]:
    often = f"; one every {found.every} steps" if found.every else ""
    usual = f"the median step takes {units.seconds(found.median_s)}{often}"
    told = [
        Evidence("longer than the median step, on average", found.extra_s / found.count, "s", usual)
    ]
    if why is None:
        looked = ", ".join(["the parts of the step", "stacks", "traces", *measured(signals)])
        return (*told, Evidence("slow steps without a reason", found.count, "count", looked))
    how = f"{units.share(why.explained)} of the slow steps' time; {why.how}"
    told.append(Evidence(f"of them {WORDS[why.kind][0]}", why.hits, "count", how))
    if why.sampled is not None:
        said = "of the main thread's samples in slow steps are in it"
        told.append(Evidence(said, why.sampled, "share", f"{why.samples:.0f} samples"))
    if why.events is not None:
        detail = f"{units.count(max(why.events - why.hits, 0))} of them without a slow step"
        told.append(Evidence("times that happened in all", why.events, "count", detail))
    return tuple(told)


def _gain(cost: float, found: Spikes, why: Reason | None) -> Gain:
    left_over = LEFT_OVER if why else UNKNOWN_LEFT
    worst, likely, best = (1 - cost * (1 - left) for left in left_over)
    # At best all slow steps are gone, and those after them no longer come from cold caches.
    best = min(best, max(1 - RELIEF * found.share, 0.05)) if why else best
    basis = "the slow steps as fast as the others" if why else "whatever makes them slow gone"
    return gain(1.0, (worst, likely, best), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say what to do about what the slow steps coincide with."""
    found = signals.spikes
    why = reason(signals, found) if found else None
    if why is None:
        return Fix(
            title="Look at what the script, or the machine, does in these steps",
            kind=FixClass.SHOW_ONLY,
            example=example(__doc__ or "", "Use instead"),
        )
    shown = example(__doc__ or "", "Use instead") if why.kind in ("line", "callback") else ""
    return Fix(title=WORDS[why.kind][1], kind=FixClass.SHOW_ONLY, example=shown)


CAUSE = Cause(
    title="Sporadic slow steps",
    symptom=Symptom.SPIKES,
    detect=detect,
    fix=fix,
)
