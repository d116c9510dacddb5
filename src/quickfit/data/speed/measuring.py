"""`data.measure`: how fast an input pipeline is, stage by stage, beside the step of a model."""

from __future__ import annotations

import itertools
import math
import numbers
import statistics
import time
from typing import Any

from quickfit import units
from quickfit.data.speed import timing
from quickfit.data.speed.analysis import (
    AdviceFacts,
    advise,
    ideal_of,
    limit_of,
    pass_length,
    stages_of,
)
from quickfit.data.speed.feeds import Feed, feed_of
from quickfit.data.speed.figures import MemoryUse, Speed, StepTime, join_spans, rate_spread
from quickfit.data.speed.timing import MeasurePlan, MeasureTrace, time_feed
from quickfit.errors import UsageError
from quickfit.machine import free_memory_bytes

# The first steps trace, compile and allocate.
WARM_STEPS = 3
MIN_STEPS, MAX_STEPS = 5, 2000
# A free machine stays within a few percent.
MAX_SPREAD = 0.1
# Shorter than this, a measurement is one of chance.
MIN_WALL_S = 0.25


def check_model(model: Any) -> None:
    """Refuse a model that cannot be trained.

    Raises:
        UsageError: it is no model, or not compiled.
    """
    if not hasattr(model, "fit"):
        raise UsageError(
            f"measure: model={model!r:.60} is not a Keras model.\nGive one that is compiled, or the"
            " time of a step: step_s=0.12"
        )
    if getattr(model, "optimizer", None) is None or not getattr(model, "compiled", False):
        raise UsageError(
            f"measure: the model `{getattr(model, 'name', model)}` is not compiled, so it has no"
            " training step to time.\nCompile it first: model.compile(optimizer=…, loss=…)"
        )


def measure_model_step(model: Any, batch: Any, seconds: float) -> StepTime:
    """Return the time of a training step of a compiled Keras model on one batch.

    It is trained by `fit` on that batch alone; its weights, optimizer and random state are put
    back afterwards.

    Raises:
        UsageError: the batch has no labels.
    """
    import tensorflow as tf

    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise UsageError(
            f"measure: an element holds no labels (received: {type(batch).__name__}), and a"
            " training step needs them.\nGive a dataset of (inputs, labels), or the time of a"
            " step: step_s=0.12"
        )
    data = tf.data.Dataset.from_tensors(tuple(batch)).repeat()
    timer = _step_timer(seconds)
    kept = _model_values(model, batch[0])
    try:
        model.fit(data, steps_per_epoch=MAX_STEPS, verbose=0, shuffle=False, callbacks=[timer])
    finally:
        for variable, value in kept:
            variable.assign(value)
    return _step_time(timer.marks)


def _step_timer(seconds: float) -> Any:
    """Return a Keras callback that notes each step and ends training when it is time."""
    import keras

    class Timer(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
        marks: list[tuple[int, float, float]] = []  # noqa: RUF012 - set in `on_train_begin`

        def on_train_begin(self, logs: Any = None) -> None:
            self.marks, self.end_s = [], time.perf_counter() + seconds

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            now_s = time.perf_counter()
            self.marks.append((batch, now_s, timing.tree_cpu_s()))
            enough = len(self.marks) >= WARM_STEPS + MIN_STEPS
            if enough and now_s > self.end_s:
                self.model.stop_training = True

    return Timer()


def _step_time(marks: list[tuple[int, float, float]]) -> StepTime:
    counted = marks[WARM_STEPS - 1 :] if len(marks) > WARM_STEPS else marks
    pairs = list(itertools.pairwise(counted))
    # With steps_per_execution, one call is several steps.
    times = [(b[1] - a[1]) / max(b[0] - a[0], 1) for a, b in pairs]
    cpu = [(b[2] - a[2]) / max(b[0] - a[0], 1) for a, b in pairs]
    return StepTime(statistics.median(times), statistics.fmean(cpu), is_measured=True)


def _model_values(model: Any, inputs: Any) -> list[tuple[Any, Any]]:
    """Return all variables of a model and its optimizer with copies of their values."""
    if not model.built:
        model(inputs, training=False)
    if not model.optimizer.built:  # its variables would otherwise come with the first step
        model.optimizer.build(model.trainable_variables)
    found = [*model.variables, *model.optimizer.variables]
    unique = {id(variable): variable for variable in found}
    return [(variable, variable.numpy().copy()) for variable in unique.values()]


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
    _check_numbers(seconds=seconds, warmup=warmup, step_s=step_s, batch_size=batch_size)
    if step_s is not None and model is not None:
        raise UsageError("measure: give either step_s or model; both say how long a step takes.")
    plan = MeasurePlan(seconds=seconds, warmup_s=warmup, batch_size=batch_size)
    return measure_feed(feed_of(dataset), plan, step_s=step_s, model=model)


def _check_numbers(**values: float | None) -> None:
    for name, value in values.items():
        if value is None or (name == "warmup" and value == 0):
            continue
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise UsageError(f"measure: {name}={value!r} is not a number.")
        if not math.isfinite(value) or value <= 0:
            raise UsageError(f"measure: {name}={value!r} must be a number above 0.")
        if name == "batch_size" and value != int(value):
            raise UsageError(f"measure: batch_size={value!r} must be a whole number.")


def measure_feed(
    feed: Feed, plan: MeasurePlan, *, step_s: float | None = None, model: Any = None
) -> Speed:
    """Measure a feed as planned, and the model next to it."""
    if model is not None:
        check_model(model)
    before_bytes = timing.memory_bytes()
    trace = time_feed(feed, plan)
    memory = _memory_use(before_bytes, trace)
    step = StepTime(step_s, None, is_measured=False) if step_s is not None else None
    if model is not None:
        plan.tell("timing the model on one batch", 0.0)
        step = measure_model_step(model, trace.first_element, plan.seconds)
    return _build_speed(feed, trace, memory, step)


def _memory_use(before_bytes: int | None, trace: MeasureTrace) -> MemoryUse:
    last = next((one.looks[-1] for one in reversed(trace.looked) if one.looks), None)
    buffered = sum(node.buffered_bytes for node in last.nodes.values()) if last else 0
    return MemoryUse(before_bytes, timing.memory_bytes(), buffered, free_memory_bytes())


def _build_speed(
    feed: Feed, trace: MeasureTrace, memory: MemoryUse, step: StepTime | None
) -> Speed:
    total, on = join_spans(trace.blocks), timing.machine_between(trace.begin, trace.end)
    stages = stages_of(trace.looked, feed.operations, feed.top)
    is_python = feed.kind in ("generator", "iterable") or (feed.kind == "PyDataset" and not stages)
    begin_share = min(trace.begin_s / total.wall_s, 1.0) if total.wall_s else 0.0
    limit = limit_of(total, stages, on, is_python=is_python, begin_share=begin_share)
    ideal = ideal_of(total, stages, on)
    length = pass_length(feed.length, trace.passes, trace.first_pass)
    facts = AdviceFacts(
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
        advice=advise(facts),
        notes=tuple(_measure_notes(feed, trace)),
    )


def _measure_notes(feed: Feed, trace: MeasureTrace) -> list[str]:
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
    elif rate_spread(trace.blocks) > MAX_SPREAD:
        notes.append("the blocks differ much from each other: measure for longer, or again")
    return notes
