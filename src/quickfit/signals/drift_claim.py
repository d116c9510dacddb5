"""What explains that steps got slower: one part of them, larger batches, the machine, or nothing.

Pure: trends in, a claim out. A part is accused only if it grows in CPU time, or in wall time while
the machine's load does not, if that is at least half of the step's growth, and if nothing else
explains more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from quickfit.measuring.trend import Trend

# The step must grow by this much to be called slower.
MIN_GROWTH = 0.20
# What a part must explain of that.
MIN_SHARE = 0.5
# A second of CPU time that takes longer than this beside others says nothing any more.
MAX_STRETCH = 8.0
# By ranks: of a part that is accused; of what backs it; of a step of which no part is accused.
MIN_PART_Z, MIN_WITNESS_Z, MIN_STEP_Z = 3.0, 1.5, 4.0
# A step with an accused part may go up and down with the machine's load as well.
MIN_ACCUSED_STEP_Z = 0.5
# Neighbours slow a core down, too: the same work takes up to so many times the CPU time.
INFLATION = 1.7
# More cores in use by others, as a share of all, or more waiting for a core: the load grew.
MIN_MORE_OTHERS, MIN_MORE_DELAY, MIN_MORE_THROTTLED = 0.12, 0.15, 0.05
MIN_MORE_STRETCH = 1.3
# A rest this small, or one that grew less, says nothing about what the parts have in common.
MIN_REST, MIN_REST_GROWTH = 0.1, 1.2
# A part that is accused grows by this many times the factor of the rest.
MIN_BEYOND = 1.3
# And where the size of batches is not known, by this many times what they may have done to it.
MUCH_BEYOND = 1.5
# From here batches are larger; time per byte must grow as much as a step before it is slower.
MIN_LARGER = 1.15
# Work on longer sequences grows with their square at most.
POWER = 2.0

Witnesses = dict[str, tuple[str, ...]]

# Parts of the step, and the CPU times that back them, the best first.
PARTS: Witnesses = {
    "callbacks": ("callbacks_cpu", "cpu", "rest_cpu"),
    "between": ("cpu", "main_cpu", "rest_cpu"),
}
# In a loop that runs eagerly, the calls are Python of the script's, too. The CPU time of a short
# loop's steps is known by readings of its thread only (`main_cpu`).
HOST_PARTS: Witnesses = {**PARTS, "call": ("cpu", "main_cpu")}
# Parts of an epoch: what lies after its steps, and what its first step takes longer.
EPOCH_PARTS: Witnesses = {"after": ("after_cpu", "after_rest_cpu"), "start": ("start_cpu",)}
# Costs of the input, which steps feel as far as they wait for it or share the cores with it.
INPUTS: Witnesses = {
    "input": ("input_cpu",),
    "stage_work": ("rest_cpu",),
    "stages": ("rest_cpu", "after_cpu"),
}
# Parts whose CPU time alone may decide, on a machine whose load says nothing; the best first.
BY_CPU = {"callbacks": ("callbacks_cpu",), "between": ("cpu", "main_cpu")}
# Then it must grow nearly always, and by more than any neighbour can make it.
MIN_CPU_Z, MOST_INFLATION = 4.0, 2.0
# From this share of the cores in use by others, the threads of a step wait for each other.
MIN_BUSY = 0.25
# Parts that no input accounts for. What follows an epoch also makes the next iterator.
_OWN = ("callbacks", "between")


@dataclass(frozen=True)
class Claim:
    """What explains a slower step.

    Args:
        why: `part`, `data` (the batches got larger), `machine` (its load grew) or `unknown`.
        part: the name of the series that grows; empty for the others.
        share: how much of the growth it explains.
        sleeps: whether it grows without using the CPU.
        first_s: what a step took at first, of the time that was looked at.
        last_s: what it took at the end.
        is_calm: waiting for a core is left out of all times.
    """

    why: str
    part: str = ""
    share: float = 0.0
    sleeps: bool = False
    first_s: float = 0.0
    last_s: float = 0.0
    is_calm: bool = False


Trends = Mapping[str, Trend]


def claimed(trends: Trends, cores: float, parts: Witnesses = PARTS) -> Claim | None:
    """Return what explains that a step takes longer at the end; None where it does not.

    Args:
        trends: of the step and of its parts, by name.
        cores: of the machine.
        parts: those that may be accused, besides the input, and the CPU times that back them.
    """
    step = trends.get("step")
    if step is None or step.growth < MIN_GROWTH * step.first or step.z < MIN_ACCUSED_STEP_Z:
        return None
    claim = _explained(trends, step, cores, parts)
    return claim and dataclasses.replace(claim, first_s=step.first, last_s=step.last)


def _explained(trends: Trends, step: Trend, cores: float, parts: Witnesses) -> Claim | None:
    if _explains(trends.get("collecting"), step):
        return Claim("part", "collecting", trends["collecting"].growth / step.growth)
    is_loaded = load_grew(trends, cores)
    accused = [
        _accused(name, witnesses, trends, is_loaded=is_loaded)
        for name, witnesses in (parts | INPUTS).items()
    ]
    claims = [claim for claim in accused if claim is not None]
    claims = claims or [claim for name in parts if (claim := _by_cpu_time(name, trends, cores))]
    if claims:
        return max(claims, key=lambda claim: (claim.part == "stages", claim.share))
    size = trends.get("batch_bytes")
    if size is not None and size.ratio >= MIN_LARGER and step.ratio < 1.2 * size.ratio**POWER:
        return Claim("data")
    if is_loaded:
        return Claim("machine")
    return Claim("unknown") if step.z >= MIN_STEP_Z else None


def load_grew(trends: Trends, cores: float) -> bool:
    """Tell whether the machine had more to do for others, or less to give, at the end."""
    step = trends["step"]
    limits = {"others": MIN_MORE_OTHERS * cores, "throttled": MIN_MORE_THROTTLED}
    if any(name in trends and trends[name].growth > most for name, most in limits.items()):
        return True
    # Who has more to do stands in line for longer, on a machine that is as busy as before.
    first, last = _stretches(trends)
    is_later = "delay" in trends and trends["delay"].growth > MIN_MORE_DELAY * step.growth
    return is_later and ("main_cpu" not in trends or last > MIN_MORE_STRETCH * first)


def _explains(part: Trend | None, step: Trend) -> bool:
    return part is not None and part.z >= MIN_PART_Z and part.growth >= MIN_SHARE * step.growth


def _accused(
    name: str, witnesses: tuple[str, ...], trends: Trends, *, is_loaded: bool
) -> Claim | None:
    """Return the claim that a part explains the growth, if all of it holds."""
    part, step = trends.get(name), trends["step"]
    # Wall time goes up and down with the machine's load; then CPU time shows what goes on.
    backing = [trends[each] for each in (name, *witnesses) if each in trends]
    if part is None or not any(each.z >= MIN_PART_Z and each.is_steady for each in backing):
        return None
    grown_s = _grown_s(name, part, trends)
    cpu_s = _witness_s(witnesses, trends, INFLATION if is_loaded else 1.0)
    # Other threads of the process stand in line as the main one does.
    # That there are more stages is certain; what they cost need only be enough to be felt.
    needed_s = MIN_GROWTH * step.first if name == "stages" else MIN_SHARE * grown_s
    sleeps = cpu_s * min(_stretches(trends)) < needed_s
    if sleeps and (is_loaded or "delay" not in trends):
        return None
    share = min(grown_s / step.growth, 1.0)
    if share < MIN_SHARE or not _is_beyond_rest(name, part, trends):
        return None
    return Claim("part", name, share, sleeps)


def _by_cpu_time(name: str, trends: Trends, cores: float) -> Claim | None:
    """Return the claim that a part explains the growth which is left without the load.

    On a machine that is full, wall time goes anywhere. CPU time does not: work that needs several
    times as much of it as at first, and more than neighbours can add to it, has grown.
    """
    step, part = trends["step"], trends.get(name)
    cpu = next((trends[each] for each in BY_CPU.get(name, ()) if each in trends), None)
    if part is None or cpu is None or cpu.z < MIN_CPU_Z or not cpu.is_steady or _is_larger(trends):
        return None
    grown_s = cpu.last - MOST_INFLATION * cpu.first
    felt_s = min(part.growth, step.growth)
    if grown_s < MIN_GROWTH * step.first or felt_s < MIN_SHARE * grown_s:
        return None
    whole = trends.get("cpu", cpu)
    rest_first, rest_last = whole.first - cpu.first, whole.last - cpu.last
    if rest_last - rest_first > grown_s or rest_last * cpu.first > rest_first * cpu.last:
        return None  # other Python of the main thread grows more, or as much
    if "batch_bytes" not in trends and not _is_beyond_rest(name, part, trends):
        return None  # sizes are not known, and everything grows
    waiting_s = _waiting_s(trends, cores, max(part.growth - grown_s, 0.0))
    share = grown_s / max(step.growth - waiting_s, grown_s)
    return Claim("part", name, share) if share >= MIN_SHARE else None


def _waiting_s(trends: Trends, cores: float, delayed_s: float) -> float:
    """Return what a step waits longer for a core: its main thread, and beside others its call.

    What the call itself needs has not grown, or the CPU time of its threads would have.

    Args:
        trends: of the step and of its parts.
        cores: of the machine.
        delayed_s: by how much more the part that is looked at grew than its CPU time.
    """
    grown = {n: max(trends[n].growth, 0.0) for n in ("delay", "call", "rest_cpu") if n in trends}
    others = trends.get("others")
    is_busy = others is not None and max(others.first, others.last) >= MIN_BUSY * cores
    if not is_busy or grown.get("rest_cpu", 0.0) > MIN_SHARE * grown.get("call", 0.0):
        return grown.get("delay", 0.0)
    return grown.get("call", 0.0) + min(delayed_s, grown.get("delay", 0.0))


def _is_larger(trends: Trends) -> bool:
    size = trends.get("batch_bytes")
    return size is not None and size.ratio >= MIN_LARGER


def _grown_s(name: str, part: Trend, trends: Trends) -> float:
    """Return how much of the step's growth a part may account for."""
    step, size = trends["step"], trends.get("batch_bytes")
    larger = size.ratio**POWER if size is not None and _is_larger(trends) else 1.0
    grown_s = part.last - larger * part.first
    if name not in INPUTS:
        return min(grown_s, step.growth)
    own = (*_OWN, "delay") if name == "stages" else _OWN
    left_s = step.growth - sum(max(trends[n].growth, 0.0) for n in own if n in trends)
    # The number of stages is no time: the steps say what they cost.
    return left_s if name == "stages" and part.ratio >= MIN_LARGER else min(grown_s, left_s)


def _witness_s(names: tuple[str, ...], trends: Trends, inflation: float) -> float:
    """Return how much the CPU time behind a part grew, beyond what neighbours do to it."""
    known = [trends[n] for n in names if n in trends and trends[n].z >= MIN_WITNESS_Z]
    return max((cpu.last - inflation * cpu.first for cpu in known), default=0.0)


def _stretches(trends: Trends) -> tuple[float, float]:
    """Return how long the main thread took for a second of CPU time, at first and at the end.

    On a busy machine it stands in line for a core, and the longer the more it has to do.
    """
    delay, cpu = trends.get("delay"), trends.get("main_cpu")
    if delay is None or cpu is None or min(cpu.first, cpu.last) <= 0:
        return 1.0, 1.0
    first, last = delay.first / cpu.first, delay.last / cpu.last
    return min(1 + max(first, 0.0), MAX_STRETCH), min(1 + max(last, 0.0), MAX_STRETCH)


def _is_beyond_rest(name: str, part: Trend, trends: Trends) -> bool:
    """Tell whether a part grows by more than what the rest of the step has in common with it.

    Larger batches and a slower machine make everything longer.
    """
    step = trends["step"]
    if name in INPUTS and "batch_bytes" in trends:
        # A step that waits for Python's lock, which a generator holds, looks like a longer step;
        # what slower cores do to the input they do to the main thread as well.
        return "cpu" not in trends or part.ratio >= MIN_BEYOND * trends["cpu"].ratio
    # Of the input's cost, the step has the wait in it.
    inside = trends.get("wait") if name in INPUTS else part
    if inside is None:
        return True
    waited_s = max(trends["delay"].growth, 0.0) if "delay" in trends else 0.0
    first_s, last_s = step.first - inside.first, step.last - inside.last - waited_s
    if first_s < MIN_REST * step.first or last_s < MIN_REST_GROWTH * first_s:
        return True
    rests = [trends[each] for each in ("call", "wait") if each in trends and each != name]
    if rests and all(each.z < MIN_PART_Z for each in rests):
        return True  # that the rest is longer at the end is chance: larger batches go on growing
    rest = last_s / first_s
    # The size of batches that is known has been taken into account; the speed of the cores not.
    if "batch_bytes" in trends:
        return part.ratio >= MIN_BEYOND * rest
    # Where it is not known, larger batches may have made all of the rest's growth.
    grown_s = part.last - MUCH_BEYOND * rest**POWER * part.first
    return bool(grown_s >= MIN_SHARE * step.growth)
