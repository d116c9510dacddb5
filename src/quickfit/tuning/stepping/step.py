"""The compiled training step that a loop written by hand calls."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from itertools import islice
from types import TracebackType
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.stepping import loops
from quickfit.tuning.stepping.compiling import compiled, explained
from quickfit.tuning.stepping.feeding import Batch, as_batch, as_tensors, check_sizes
from quickfit.tuning.stepping.freezing import FreezeWatch
from quickfit.tuning.stepping.graph import StepGraph
from quickfit.tuning.stepping.intake import check_batches, check_stacked, is_in_graph, is_iterator
from quickfit.tuning.stepping.sharing import is_shared, part_of_first_replica, shared
from quickfit.tuning.stepping.telling import warn

# Tensors, datasets and iterators are `Any`: TensorFlow has no types of its own.


class TrainStep:
    """One compiled training step; made by `make_train_step`.

    Call it with a batch, `step(x, y)` or `step(x, y, sample_weight)`, or with the iterator of a
    dataset, `step(iterator)`. It returns a dict of scalars that `float()` reads: `loss` (of this
    call) and the metrics (since `reset_metrics`). With several steps per call it takes an
    iterator or stacked batches, `loss` is their mean and `losses` has each.

    Args:
        graph: what is compiled.
        jit: compile it with XLA.
        steps_per_call: how many steps one call makes.
    """

    def __init__(self, graph: StepGraph, *, jit: bool, steps_per_call: int) -> None:
        self._graph = graph
        self._jit = jit
        self._steps_per_call = steps_per_call
        one = compiled(graph.step, jit=jit)
        count = steps_per_call
        scores = graph.parts.scores
        self._one = compiled(lambda batch: (one(batch), scores.results()))
        self._many = compiled(
            lambda iterator: (loops.over_iterator(one, iterator, count), scores.results())
        )
        self._stack = compiled(lambda batches: (loops.over_stack(one, batches), scores.results()))
        self._flush = compiled(graph.flush)
        self._freezing = FreezeWatch(graph.scaler)
        pending = graph.pending
        if pending is not None:
            self._end = weakref.finalize(self, _warn_of_leftovers, pending, graph.parts.accumulate)

    def __call__(self, x: Any, y: Any = None, sample_weight: Any = None) -> dict[str, Any]:
        """Train on one batch, or on `steps_per_call` of them."""
        with explained(jit=self._jit):
            logs = self._logs(x, y, sample_weight)
        self._freezing.called()
        return logs

    def _logs(self, x: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        if is_iterator(x):
            return self._from_iterator(x, y, sample_weight)
        if self._steps_per_call > 1:
            return self._from_stack(as_tensors((x, y, sample_weight)))
        return self._from_batch(self._checked((x, y, sample_weight)))

    def over(self, batches: Any) -> Iterator[dict[str, Any]]:
        """Train on all batches of a dataset or any iterable, and yield what each call returned."""
        check_batches(batches)
        return self._over(iter(batches))

    def _over(self, iterator: Any) -> Iterator[dict[str, Any]]:
        while True:
            try:
                yield self(iterator)
            except StopIteration:
                return

    def flush(self) -> int:
        """Apply the micro-batches that wait for the rest of their update.

        Call it when the data end: the update is the mean over those that are there.

        Returns:
            how many there were.
        """
        pending = self.pending
        if pending:
            self._flush()
        return pending

    def close(self) -> None:
        """End the use of this step, with a warning where micro-batches were never applied."""
        if self._graph.pending is not None:
            self._end()

    def reset_metrics(self) -> None:
        """Start the metrics anew, as at the beginning of an epoch."""
        self._graph.parts.scores.reset()

    @property
    def pending(self) -> int:
        """How many micro-batches wait for their update."""
        return 0 if self._graph.pending is None else int(self._graph.pending.numpy())

    @property
    def skipped(self) -> int:
        """How many updates were left out because their numbers were not finite.

        Counted with `guard=True`, and where the loss is scaled for float16.
        """
        return int(self._graph.skipped.numpy())

    @property
    def traces(self) -> int:
        """How often the step was traced: once, and once more for batches of other sizes."""
        return self._graph.traces

    @property
    def optimizer(self) -> Any:
        """The optimizer that the step uses, in the wrapper that scales the loss if it has one."""
        return self._graph.parts.optimizer

    def __enter__(self) -> TrainStep:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _checked(self, batch: Batch) -> Batch:
        strategy = self._graph.parts.strategy
        if is_shared(batch):
            return batch
        batch = as_tensors(batch)
        check_sizes(batch)
        if strategy.num_replicas_in_sync > 1:
            return shared(batch, strategy)
        return batch

    def _rehearse(self, batch: Batch) -> None:
        if not self._graph.is_rehearsed:
            self._graph.rehearse(part_of_first_replica(batch, self._graph.parts.strategy))

    def _from_batch(self, batch: Batch) -> dict[str, Any]:
        self._rehearse(batch)
        loss, metrics = self._one(batch)
        return {"loss": loss, **metrics}

    def _from_iterator(self, iterator: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        if y is not None or sample_weight is not None:
            raise UsageError(
                "a step on an iterator takes nothing beside it: labels and weights come from the "
                "dataset, as (x, y) or (x, y, sample_weight)."
            )
        if self._steps_per_call == 1:
            return self._from_batch(self._checked(as_batch(next(iterator))))
        if self._graph.parts.strategy.num_replicas_in_sync > 1 or not is_in_graph(iterator):
            return self._one_by_one(iterator)
        self._rehearse(as_batch(iterator.element_spec))
        losses, metrics = self._many(iterator)
        if not losses.shape[0]:
            raise StopIteration
        return _of_many(losses, metrics)

    def _one_by_one(self, iterator: Any) -> dict[str, Any]:
        """Make the steps of a call in Python: a graph has no loop over these batches.

        An iterator of Python runs outside of it, and the optional batch of several replicas
        fails within `tf.while_loop`.
        """
        import tensorflow as tf

        batches = islice(iterator, self._steps_per_call)
        logs = [self._from_batch(self._checked(as_batch(element))) for element in batches]
        if not logs:
            raise StopIteration
        metrics = {name: value for name, value in logs[-1].items() if name != "loss"}
        return _of_many(tf.stack([one["loss"] for one in logs]), metrics)

    def _from_stack(self, batches: Batch) -> dict[str, Any]:
        import tensorflow as tf

        if self._graph.parts.strategy.num_replicas_in_sync > 1 or is_shared(batches):
            raise UsageError(
                f"steps_per_call={self._steps_per_call} with several replicas takes an iterator: "
                "step(iter(strategy.experimental_distribute_dataset(dataset)))."
            )
        check_sizes(batches)
        check_sizes(batches, axis=1)
        check_stacked(batches, self._graph.parts.model, self._steps_per_call)
        self._rehearse(tf.nest.map_structure(lambda one: None if one is None else one[0], batches))
        losses, metrics = self._stack(batches)
        return _of_many(losses, metrics)


def _of_many(losses: Any, metrics: dict[str, Any]) -> dict[str, Any]:
    import tensorflow as tf

    return {"loss": tf.reduce_mean(losses), "losses": losses, **metrics}


def _warn_of_leftovers(pending: Any, accumulate: int) -> None:
    import tensorflow as tf

    with tf.init_scope():  # the collector may come while a graph is being built
        count = int(pending.numpy())
    if count:
        warn(
            f"{count} of {accumulate} micro-batches of the last update were never "
            "applied: the model has not learned from them. Call step.flush() after the last "
            "batch, which also silences this."
        )
