"""What the figures of a pipeline say that is worth trying: at most three sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quickfit import units
from quickfit.data.speed.figures import Ideal, Limit, Machine, Memory, Span, Stage

MAX_ADVICE = 3
# Less is within what a measurement moves by itself.
MIN_GAIN = 1.1
# A cache that takes more of the free memory than this leaves too little for training.
MAX_CACHE_SHARE = 0.5
# Stages before a cache may not change from epoch to epoch.
_CHANGING = ("shuffle", "shuffleandrepeat", "repeat", "sampling", "directedinterleave")
# Handing an element from one process to another takes a part of this.
MIN_PYTHON_S = 2e-3
# Decoding must be most of the work for smaller images to matter.
MIN_PACK_SHARE = 0.5
# From here on the first element is worth a word.
MIN_FIRST_S = 2.0


@dataclass(frozen=True)
class Facts:
    """All that advice is drawn from.

    Args:
        elements: the length of a pass, where it is known.
        folder: of the images that the pipeline decodes.
        is_ours: `quickfit.data` made it, and has done so already.
    """

    total: Span
    stages: Sequence[Stage]
    machine: Machine
    memory: Memory
    limit: Limit
    ideal: Ideal
    first_s: float
    elements: int | None = None
    has_cache: bool = False
    folder: str | None = None
    step_s: float | None = None
    kind: str = "tf.data"
    is_ours: bool = False


def advice_of(facts: Facts) -> tuple[str, ...]:
    """Return what is worth trying, the most first."""
    if facts.step_s is not None and facts.total.element_s < 0.9 * facts.step_s:
        return ()  # the model is the limit: faster input would wait for it
    if facts.machine.is_contended(facts.total.cores):
        return ("measure again when the machine is free: what others use is missing here",)
    return tuple(_all(facts))[:MAX_ADVICE]


def _all(facts: Facts) -> Iterator[str]:
    yield from _parallel(facts)
    yield from _python(facts)
    yield from _cache(facts)
    yield from _pack(facts)
    yield from _first(facts)


def _gain(facts: Facts) -> float:
    return facts.total.element_s / facts.ideal.element_s if facts.ideal.element_s > 0 else 1.0


def _parallel(facts: Facts) -> Iterator[str]:
    """A map that runs on one thread while cores are idle."""
    stage = next((one for one in facts.stages if one.name == facts.limit.stage), None)
    if stage is None or facts.limit.kind != "stage" or stage.parallelism > 1:
        return
    if stage.runs_python or stage.kind not in ("map", "mapandbatch") or _gain(facts) < MIN_GAIN:
        return
    yield (
        f"num_parallel_calls=tf.data.AUTOTUNE in {stage.name}: it takes"
        f" {units.seconds(stage.period_s)} per {facts.total.unit} on one thread; the ideal is"
        f" {units.factor(_gain(facts))} as fast"
    )


def _python(facts: Facts) -> Iterator[str]:
    """Python code on one core while others are idle."""
    stage = next((one for one in facts.stages if one.name == facts.limit.stage), None)
    is_python = facts.kind == "generator" or (stage is not None and stage.runs_python)
    is_worth = facts.total.element_s >= MIN_PYTHON_S and _gain(facts) >= MIN_GAIN
    if not is_python or facts.is_ours or facts.limit.kind == "cores" or not is_worth:
        return
    yield (
        f"quickfit.data.generator(function, workers={max(round(facts.machine.cores), 1)}): Python"
        f" keeps {facts.total.cores:.1f} of {facts.machine.cores:g} cores busy; with all of them"
        f" one {facts.total.unit} would take {units.seconds(facts.ideal.element_s)} in place of"
        f" {units.seconds(facts.total.element_s)}"
    )


def _cache(facts: Facts) -> Iterator[str]:
    """The last stage that is the same in every epoch, if all it makes fits in memory."""
    if facts.elements is None or facts.has_cache:
        return
    place = _cacheable(facts.stages)
    if place is None or facts.memory.free_bytes is None:
        return
    stage = facts.stages[place]
    size = stage.element_bytes * stage.per_element * facts.elements
    saved = sum(one.share for one in facts.stages[: place + 1])
    gain = 1 / max(1 - saved, 0.01)
    if not 0 < size <= MAX_CACHE_SHARE * facts.memory.free_bytes or gain < 1.5:
        return
    yield (
        f".cache() after {stage.name}: {units.size(size)} of {units.size(facts.memory.free_bytes)}"
        f" free memory, and later epochs skip {units.share(saved)} of the work"
    )


def _cacheable(stages: Sequence[Stage]) -> int | None:
    """Return the last stage behind which the elements are the same in every epoch."""
    found = None
    for place, stage in enumerate(stages):
        if stage.kind in _CHANGING or stage.is_random or stage.kind == "generator":
            return found
        if stage.kind in ("map", "mapandbatch", "interleave") and stage.is_random is False:
            found = place
    return found


def _pack(facts: Facts) -> Iterator[str]:
    """Images that are decoded from their files again in every epoch."""
    most = max(facts.stages, key=lambda one: one.share, default=None)
    if facts.folder is None or facts.has_cache or most is None or most.share < MIN_PACK_SHARE:
        return
    yield (
        f"quickfit pack {facts.folder} {facts.folder}.pack --as jpeg256: {most.name} is"
        f" {units.share(most.share)} of the work, and a pack holds images that are made small"
        f" already. Then: quickfit bench {facts.folder}.pack"
    )


def _first(facts: Facts) -> Iterator[str]:
    """A shuffle that holds what was made at great cost."""
    if facts.first_s < max(MIN_FIRST_S, 5 * facts.total.element_s):
        return
    for place, stage in enumerate(facts.stages):
        before = facts.stages[:place]
        costly = max(before, key=lambda one: one.work_s, default=None)
        if stage.kind == "shuffle" and costly is not None and costly.share > 0.3:
            yield (
                f"shuffle before {costly.name}, where elements are small: filling the buffer"
                f" behind it takes {units.seconds(facts.first_s)} of every epoch"
            )
            return


def pass_length(known: int | None, passes: int, first_pass: Span | None) -> int | None:
    """Return how many elements a pass has, as counted or as the chain says."""
    return first_pass.elements if first_pass is not None and passes else known
