"""`data.measure`: how fast an input pipeline is, stage by stage, next to what is possible."""

from __future__ import annotations

import math
import numbers
from typing import Any

from quickfit import units
from quickfit.capacity import free_memory_bytes
from quickfit.data.speed import machine
from quickfit.data.speed.advice import Facts, advice_of, pass_length
from quickfit.data.speed.costs import stages_of
from quickfit.data.speed.feeds import Feed, feed_of
from quickfit.data.speed.figures import Memory, Speed, Step, spread_of, together
from quickfit.data.speed.limits import ideal_of, limit_of
from quickfit.data.speed.model_step import check_model, measured_step
from quickfit.data.speed.timing import Plan, Trace, take
from quickfit.errors import UsageError

# A free machine stays within a few percent.
MAX_SPREAD = 0.1
# Shorter than this, a measurement is one of chance.
MIN_WALL_S = 0.25


def measure(
    dataset: Any,
    *,
    seconds: float = 5,
    warmup: float = 2,
    step_s: float | None = None,
    model: Any = None,
    batch_size: int | None = None,
) -> Speed:
    """Measure how fast a dataset gives its elements, and where the time goes.

    The dataset is really run: what its functions do is done, and a generator is used up by it.

    Args:
        dataset: a `tf.data.Dataset`, a Keras `PyDataset`, or a generator of batches.
        seconds: how long to measure; a short dataset is iterated again and again.
        warmup: how long to run before that, until autotune has settled.
        step_s: the time of a training step, to compare with.
        model: or a compiled Keras model, whose step is measured on one batch. Its weights are
            put back afterwards.
        batch_size: examples in an element, where neither its shape nor the chain tells.

    Returns:
        The figures; printed, they are a table.

    Raises:
        UsageError: a value makes no sense, or the dataset is nothing that gives elements.
        PipelineError: there is not a single element.
    """
    _check(seconds=seconds, warmup=warmup, step_s=step_s, batch_size=batch_size)
    if step_s is not None and model is not None:
        raise UsageError("measure: give either step_s or model; both say how long a step takes.")
    plan = Plan(seconds=seconds, warmup_s=warmup, batch_size=batch_size)
    return measured(feed_of(dataset), plan, step_s=step_s, model=model)


def _check(**values: float | None) -> None:
    for name, value in values.items():
        if value is None or (name == "warmup" and value == 0):
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise UsageError(f"measure: {name}={value!r} is not a number.")
        if not math.isfinite(value) or value <= 0:
            raise UsageError(f"measure: {name}={value!r} must be a number above 0.")
        if name == "batch_size" and value != int(value):
            raise UsageError(f"measure: batch_size={value!r} must be a whole number.")


def measured(feed: Feed, plan: Plan, *, step_s: float | None = None, model: Any = None) -> Speed:
    """Measure a feed as planned, and the model next to it."""
    if model is not None:
        check_model(model)
    before_bytes = machine.memory_bytes()
    trace = take(feed, plan)
    memory = _memory(before_bytes, trace)
    step = Step(step_s, None, is_measured=False) if step_s is not None else None
    if model is not None:
        plan.tell("timing the model on one batch", 0.0)
        step = measured_step(model, trace.first_element, plan.seconds)
    return _speed(feed, trace, memory, step)


def _memory(before_bytes: int | None, trace: Trace) -> Memory:
    last = next((one.looks[-1] for one in reversed(trace.looked) if one.looks), None)
    buffered = sum(node.buffered_bytes for node in last.nodes.values()) if last else 0
    return Memory(before_bytes, machine.memory_bytes(), buffered, free_memory_bytes())


def _speed(feed: Feed, trace: Trace, memory: Memory, step: Step | None) -> Speed:
    total, on = together(trace.blocks), machine.between(trace.begin, trace.end)
    stages = stages_of(trace.looked, feed.operations, feed.top)
    is_python = feed.kind in ("generator", "iterable") or (feed.kind == "PyDataset" and not stages)
    begin_share = min(trace.begin_s / total.wall_s, 1.0) if total.wall_s else 0.0
    limit = limit_of(total, stages, on, is_python=is_python, begin_share=begin_share)
    ideal = ideal_of(total, stages, on)
    length = pass_length(feed.length, trace.passes, trace.first_pass)
    facts = Facts(
        *(total, stages, on, memory, limit, ideal, trace.first_s, length),
        step_s=step.step_s if step is not None else None,
        kind=feed.kind,
        has_cache=feed.has_cache,
        is_ours=feed.is_ours,
        folder=feed.folder,
    )
    return Speed(
        name=feed.name,
        total=total,
        blocks=trace.blocks,
        first_s=trace.first_s,
        first_pass=trace.first_pass,
        has_cache=feed.has_cache,
        passes=trace.passes,
        stages=stages,
        no_stages=None if stages else feed.no_stages or "the data ended before they were seen",
        memory=memory,
        machine=on,
        limit=limit,
        ideal=ideal,
        step=step,
        advice=advice_of(facts),
        notes=tuple(_notes(feed, trace)),
    )


def _notes(feed: Feed, trace: Trace) -> list[str]:
    notes = []
    if feed.kind == "generator":
        notes.append("the elements that were measured are gone: an iterator is used up by it")
    elif trace.has_ended and trace.passes:
        notes.append(
            "the second pass gave no element: an iterator was used up by the first one, and"
            " `fit` would stop after one epoch"
        )
    if feed.has_cache and trace.is_in_first_pass:
        notes.append(
            "the cache was still being filled; later epochs are faster. Measure for longer to"
            " see them"
        )
    wall_s = sum(block.wall_s for block in trace.blocks)
    if wall_s < MIN_WALL_S:
        notes.append(f"there were only {units.seconds(wall_s)} to measure: not enough to trust")
    elif spread_of(trace.blocks) > MAX_SPREAD:
        notes.append("the blocks differ much from each other: measure for longer, or again")
    return notes
