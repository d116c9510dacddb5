"""The step that a model needs: measured on one cached batch, so that input plays no part."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

from quickfit import units
from quickfit.data.speed import machine
from quickfit.data.speed.figures import Machine, Span, Step
from quickfit.errors import UsageError

# The first steps trace, compile and allocate.
WARM_STEPS = 3
MIN_STEPS, MAX_STEPS = 5, 2000
# Input and step within a tenth of each other are the same to a busy machine.
EVEN_SHARE = 0.1


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


def measured_step(model: Any, batch: Any, seconds: float) -> Step:
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
    timer = _timer(seconds)
    kept = _values(model, batch[0])
    try:
        model.fit(data, steps_per_epoch=MAX_STEPS, verbose=0, shuffle=False, callbacks=[timer])
    finally:
        _put_back(kept)
    return _step(timer.marks)


def _timer(seconds: float) -> Any:
    """Return a Keras callback that notes each step and ends training when it is time."""
    import keras

    class Timer(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
        marks: list[tuple[int, float, float]] = []  # noqa: RUF012 - set in `on_train_begin`

        def on_train_begin(self, logs: Any = None) -> None:
            self.marks, self.end_s = [], time.perf_counter() + seconds

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            now_s = time.perf_counter()
            self.marks.append((batch, now_s, machine.tree_cpu_s()))
            enough = len(self.marks) >= WARM_STEPS + MIN_STEPS
            if enough and now_s > self.end_s:
                self.model.stop_training = True

    return Timer()


def _step(marks: list[tuple[int, float, float]]) -> Step:
    counted = marks[WARM_STEPS - 1 :] if len(marks) > WARM_STEPS else marks
    pairs = list(itertools.pairwise(counted))
    # With steps_per_execution, one call is several steps.
    times = [(b[1] - a[1]) / max(b[0] - a[0], 1) for a, b in pairs]
    cpu = [(b[2] - a[2]) / max(b[0] - a[0], 1) for a, b in pairs]
    return Step(statistics.median(times), statistics.fmean(cpu), is_measured=True)


def _values(model: Any, inputs: Any) -> list[tuple[Any, Any]]:
    """Return all variables of a model and its optimizer with copies of their values."""
    if not model.built:
        model(inputs, training=False)
    if not model.optimizer.built:  # its variables would otherwise come with the first step
        model.optimizer.build(model.trainable_variables)
    found = [*model.variables, *model.optimizer.variables]
    unique = {id(variable): variable for variable in found}
    return [(variable, variable.numpy().copy()) for variable in unique.values()]


def _put_back(kept: list[tuple[Any, Any]]) -> None:
    for variable, value in kept:
        variable.assign(value)


def step_text(total: Span, step: Step, on: Machine) -> str:
    """Return in one sentence whether the input keeps up with the model."""
    input_s, step_s = total.element_s, step.step_s
    figures = f"the model takes {units.seconds(step_s)} per {total.unit}, the input"
    figures += f" {units.seconds(input_s)}"
    if input_s > step_s * (1 + EVEN_SHARE):
        waits = units.share((input_s - step_s) / input_s)
        return f"input is the limit: {figures}; {waits} of each step would be waiting"
    if input_s > step_s * (1 - EVEN_SHARE):
        return f"input and model are about even: {figures}"
    if on.is_cpu_only and step.cpu_s is not None:
        both_s = (step.cpu_s + total.element_cpu_s) / on.cores
        if both_s > step_s * (1 + EVEN_SHARE):
            return (
                f"input takes cores from the model: {figures}, and with"
                f" {units.seconds(total.element_cpu_s)} of its CPU time a step would take about"
                f" {units.seconds(both_s)}"
            )
    return f"input is not the limit: {figures}"
