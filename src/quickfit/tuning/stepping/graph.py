"""The graph of one step: forward, gradients, and an update that only good numbers reach.

Under `tf.distribute` the forward pass and the update run in each replica, and every decision is
made once between them: a branch within a replica cannot hold an update.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.stepping.accumulator import Accumulator
from quickfit.tuning.stepping.feeding import as_floats, warn_of_wide_floats
from quickfit.tuning.stepping.gradients import added_over_replicas, gradients_of
from quickfit.tuning.stepping.optimizer import reduced_already, scaler_in
from quickfit.tuning.stepping.rehearsal import rehearse
from quickfit.tuning.stepping.scoring import Batch, Scores
from quickfit.tuning.stepping.weights import statistics, takes_training

# Tensors, models and optimizers are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True)
class Parts:
    """What a step is made of.

    Args:
        model: the model that is trained.
        weights: what is trainable in it.
        scores: its loss and metrics.
        optimizer: built for the weights, and scaling the loss where that is needed.
        strategy: the strategy whose replicas share each batch; the default one has one.
        accumulate: micro-batches per update.
        guard: leave an update out where its numbers are not finite.
    """

    model: Any
    weights: list[Any]
    scores: Scores
    optimizer: Any
    strategy: Any
    accumulate: int
    guard: bool


class StepGraph:
    """Builds the graph of a step, and holds the variables that are the step's own."""

    def __init__(self, parts: Parts) -> None:
        import tensorflow as tf

        self.parts = parts
        self.skipped = tf.Variable(0, trainable=False, dtype="int64", name="skipped")
        self.traces = 0
        self._sums = Accumulator(parts.weights, parts.strategy) if parts.accumulate > 1 else None
        self.scaler = scaler_in(parts.optimizer)
        self._takes_training = takes_training(parts.model)
        self.is_rehearsed = False

    @property
    def pending(self) -> Any:
        """How many micro-batches wait for their update: a variable, or None without them."""
        return self._sums.pending if self._sums else None

    def step(self, batch: Batch) -> Any:
        """Build one step on a batch and return its loss."""
        self.traces += 1
        self._check_weights()
        strategy = self.parts.strategy
        loss, gradients, finite = strategy.run(self._differentiate, args=(batch,))
        if self.parts.guard and self.scaler is None:
            self._guarded(gradients, self._first(finite))
        else:
            # A scaled loss overflows now and then: only its optimizer may judge that.
            self._take(gradients)
        return strategy.reduce("SUM", loss, axis=None)

    def flush(self) -> None:
        """Build the update with the mean of what is pending."""
        if self._sums is not None:
            self._update_from_sums()

    def _first(self, value: Any) -> Any:
        return self.parts.strategy.experimental_local_results(value)[0]

    def rehearse(self, batch: Batch) -> None:
        """Play the first step through on shapes, before anything is compiled."""
        warn_of_wide_floats(batch)
        rehearse(self.parts, batch, self._forward)
        self._check_weights()
        self.is_rehearsed = True

    def _check_weights(self) -> None:
        now = {id(one) for one in self.parts.model.trainable_variables}
        if now != {id(one) for one in self.parts.weights}:
            raise UsageError(
                f"what is trainable in the model {self.parts.model.name!r} has changed since "
                f"make_train_step: {len(self.parts.weights)} weights then, {len(now)} now. Make a "
                "new step (and a new optimizer) after changing `trainable`, and build every layer "
                "before: call the model once on a batch."
            )

    def _forward(self, batch: Batch) -> Any:
        if self._takes_training:
            return self.parts.model(batch[0], training=True)
        return self.parts.model(batch[0])

    def _differentiate(self, batch: Batch) -> tuple[Any, list[Any], Any]:
        """Return loss, gradients and whether they are finite; the same in every replica."""
        import tensorflow as tf

        parts = self.parts
        batch = as_floats(batch)
        kept = self._kept()
        before = [tf.identity(one.value) for one in kept]
        with tf.GradientTape() as tape:
            outputs = self._forward(batch)
            loss = parts.scores.loss(batch, outputs)
            scaled = parts.optimizer.scale_loss(loss)
        gradients = gradients_of(tape, scaled, parts.weights)
        gradients = added_over_replicas(gradients)
        parts.scores.update(batch, outputs)
        finite = self._is_finite(loss, gradients)
        for variable, old in zip(kept, before, strict=True):
            variable.assign(tf.where(finite, variable.value, old))
        return loss, gradients, finite

    def _kept(self) -> list[Any]:
        """Return what a bad batch would spoil besides the weights, where it is to be kept."""
        if not self.parts.guard:
            return []
        return [*statistics(self.parts.model), *self.parts.scores.variables()]

    def _is_finite(self, loss: Any, gradients: list[Any]) -> Any:
        import tensorflow as tf

        from quickfit.tuning.numerics.guard import is_finite

        if not self.parts.guard:
            return tf.constant(True)
        [everywhere] = added_over_replicas([loss])
        return is_finite(everywhere, [one for one in gradients if one is not None])

    def _guarded(self, gradients: Any, finite: Any) -> None:
        from quickfit.tuning.numerics.guard import apply_if_finite

        apply_if_finite(lambda: self._take(gradients), finite, self.skipped)

    def _take(self, gradients: Any) -> None:
        import tensorflow as tf

        if self._sums is None:
            self._update(self._apply, gradients)
            return
        self.parts.strategy.run(self._sums.add, args=(gradients,))
        count = self._sums.pending.assign_add(1)
        tf.cond(count >= self.parts.accumulate, self._update_from_sums, lambda: None)

    def _update_from_sums(self) -> None:
        assert self._sums is not None
        self._update(self._apply_mean)
        self._sums.pending.assign(0)

    def _update(self, apply: Callable[..., Any], *args: Any) -> None:
        """Update the weights in every replica, and count what the scaled loss left out."""
        # Around all replicas: each of them is traced in a thread of its own.
        with reduced_already(self.parts.optimizer):
            overflows = self.parts.strategy.run(apply, args=args)
        if self.scaler is not None:
            self.skipped.assign_add(self._first(overflows))

    def _apply_mean(self) -> Any:
        assert self._sums is not None
        return self._apply(self._sums.take_mean())

    def _apply(self, gradients: list[Any]) -> Any:
        """Update the weights in a replica, and tell whether the gradients overflowed."""
        pairs = [
            (gradient, weight)
            for gradient, weight in zip(gradients, self.parts.weights, strict=True)
            if gradient is not None
        ]
        overflows = self._overflows([gradient for gradient, _ in pairs])
        self.parts.optimizer.apply_gradients(pairs)
        return overflows

    def _overflows(self, gradients: list[Any]) -> Any:
        import tensorflow as tf

        if self.scaler is None:
            return tf.constant(0, "int64")
        return tf.cast(tf.logical_not(self.scaler.check_finite(gradients)), "int64")
