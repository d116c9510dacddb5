"""What every finding about a run that slows down says: how much, since when, and what it gains."""

from __future__ import annotations

from quickfit import units
from quickfit.findings import Evidence, Gain
from quickfit.signals._facade import Signals
from quickfit.signals.drift import Component, Slowdown
from quickfit.signals.drift_claim import EPOCH_PARTS, HOST_PARTS, INPUTS, MIN_LARGER
from quickfit.signals.drift_lines import GrownLine

# Cores that other programs use more than at first: from here the machine is busier.
MORE_CORES = 0.25
# Whether it goes on growing for longer than this is unknown.
MAX_AHEAD = 10.0
# What of the growth a fix takes away, at worst; it may leave a part that grows more slowly.
LEAST_FIXED = 0.5


def slower(slow: Slowdown) -> str:
    """Say how long a step took at first and at the end."""
    first, last = units.seconds(slow.first_s), units.seconds(slow.last_s)
    article = "an" if slow.unit == "epoch" else "a"
    left_out = ", waiting for a core left out" if slow.is_calm else ""
    return f"{article} {slow.unit} took {first} at first and {last} at the end{left_out}"


def certain(slow: Slowdown) -> str:
    """Say when it was certain."""
    return f"certain at {slow.unit} {units.count(slow.certain_at)}"


def evidence(slow: Slowdown, what: str, line: GrownLine | None) -> tuple[Evidence, ...]:
    """Return the facts behind a part that grows.

    Args:
        slow: how the run slowed down.
        what: who spends the time, such as a callback's name.
        line: the line whose time grew.
    """
    found = [
        Evidence(
            f"for {'an' if slow.unit == 'epoch' else 'a'} {slow.unit} at the end",
            slow.last_s,
            "s",
            f"{units.seconds(slow.first_s)} at first; {certain(slow)}"
            f"{'; waiting for a core left out' if slow.is_calm else ''}",
        ),
        Evidence(f"of the growth is in {what}", slow.share, "share", _witness(slow)),
    ]
    if line is not None:
        found.append(
            Evidence(
                f"more per {slow.unit} at this line than at first",
                line.growth_s,
                "s",
                "stack samples of the last part against the first",
                line.location,
            )
        )
    return tuple(found)


_WITNESSES = {**HOST_PARTS, **EPOCH_PARTS, **INPUTS}


def _witness(slow: Slowdown) -> str:
    measured = {one.name: one for one in slow.measured}
    part = measured.get(slow.part)
    text = _from_to(part) if part is not None else ""
    if slow.sleeps:
        return f"{text}, without using the CPU" if text else "without using the CPU"
    cpu = [measured[name] for name in _WITNESSES.get(slow.part, ()) if name in measured]
    most_s = max((one.growth for one in cpu), default=0.0)
    # Its own CPU time is the best witness; that of the whole thread sees what is rarely done.
    shown = next((one for one in cpu if one.growth >= most_s / 2), None)
    return f"{text}; CPU time {_from_to(shown)}" if shown is not None and text else text


def _from_to(part: Component) -> str:
    return f"{units.seconds(part.first)} at first, {units.seconds(part.last)} at the end"


def ruled_out(slow: Slowdown) -> tuple[str, ...]:
    """Say what was looked for and not found: a machine with more to do, batches that grow."""
    measured = {one.name: one for one in slow.measured}
    found = []
    others, size = measured.get("others"), measured.get("batch_bytes")
    if others is not None and others.growth < MORE_CORES:
        cores = f"{others.first:.1f} cores at first, {others.last:.1f} at the end"
        found.append(f"a busier machine: other programs used {cores}")
    if size is not None and size.last < MIN_LARGER * size.first:
        first, last = units.size(size.first), units.size(size.last)
        found.append(f"larger batches: {first} at first, {last} at the end")
    return tuple(found)


def gain(slow: Slowdown, signals: Signals) -> Gain:
    """Return what a step that stays as it was at first would gain.

    At worst half of the growth goes, against the mean so far. Likely is what the part explains,
    against the mean of the training as planned, as it goes on growing. At best against what a step
    takes at the end.
    """
    so_far_s, more_s = slow.mean_s, max(slow.mean_s - slow.first_s, 0.0)
    low = so_far_s / max(so_far_s - LEAST_FIXED * slow.share * more_s, 1e-9)
    ahead = times_ahead(slow, signals)
    likely = _gained(slow, ahead * more_s)
    high = max(_gained(slow, ahead * (slow.last_s - slow.first_s)), likely)
    whole = "the mean so far" if ahead == 1 else "the mean of all that is planned"
    basis = (
        f"a {slow.unit} as long as at first, against {whole};"
        f" at best against the end of the run, and more the longer it runs"
    )
    return Gain(low, likely, high, basis)


def _gained(slow: Slowdown, more_s: float) -> float:
    """Return how many times as fast it gets without the part of a growth that is explained."""
    left_s = slow.first_s + (1 - slow.share) * more_s
    return (slow.first_s + more_s) / left_s if left_s > 0 else 1.0


def cost_share(slow: Slowdown, signals: Signals) -> float:
    """Return the share of the time that the growth costs: so far, or to the planned end."""
    more_s = times_ahead(slow, signals) * max(slow.mean_s - slow.first_s, 0.0)
    whole_s = slow.first_s + more_s
    return min(slow.share * more_s / whole_s, 0.95) if whole_s > 0 else 0.0


def times_ahead(slow: Slowdown, signals: Signals) -> float:
    """Return how many times as long as it has run the training would have gone on, at least one.

    A part that grows costs as many times as much of each step by then; a machine may recover.
    """
    if slow.why != "part":
        return 1.0
    loop, facts = signals.loop, signals.loop.facts
    if loop.is_over and not signals.process.facts.get("stopped_early"):
        return 1.0
    per_epoch, epochs = facts.get("steps"), facts.get("epochs")
    if not isinstance(epochs, int) or not isinstance(per_epoch, int):
        return 1.0
    if slow.unit == "epoch":
        planned, seen = float(epochs), float(len(signals.epochs))
    else:
        planned = per_epoch * epochs / signals.steps_per_execution
        seen = float(signals.drift.total)
    return min(max(planned / max(seen, 1.0), 1.0), MAX_AHEAD)
