"""The compiled training step that a loop written by hand calls."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.train_step.batches import (
    Batch,
    as_batch,
    as_tensors,
    check_batches,
    check_sizes,
    check_stacked,
    is_in_graph,
    is_iterator,
    is_shared,
    part_of_first_replica,
    share_batch,
    warn_user,
)
from quickfit.tuning.train_step.graph import StepGraph, StepParts, StepScores, scorer_for
from quickfit.tuning.train_step.optimizer import (
    batch_statistics_layers,
    build_optimizer,
    innermost_optimizer,
    optimizer_for,
    trainable_weights,
)

# Models, losses, optimizers, metrics and strategies are `Any`: Keras has no types of its own.

_SILENCE = "To silence this: warnings.filterwarnings('ignore', message='quickfit')."


def make_train_step(
    model: Any,
    loss: Any = None,
    optimizer: Any = None,
    *,
    metrics: Any = (),
    accumulate: int = 1,
    jit: bool | None = None,
    guard: bool = False,
    steps_per_call: int = 1,
    clip: float | None = None,
    strategy: Any = None,
) -> TrainStep:
    """Return a compiled training step for a loop written by hand.

    It updates the weights as `fit` does: loss scaling where layers compute in float16, the
    losses of layers, masks, sample weights, metrics, and BatchNormalization in training.

    Args:
        model: a built Keras model.
        loss: what `compile` takes as a loss: a name, a Keras loss, a function, or a list or dict
            of them, one per output. None: the loss and metrics that the model was compiled with.
        optimizer: a name or a Keras optimizer. None: the one the model was compiled with.
        metrics: what `compile` takes as metrics. Only with a loss.
        accumulate: micro-batches per update; call `flush` when the data end.
        jit: compile with XLA. None: as Keras decides, which is not to on a CPU.
        guard: leave out an update whose loss or gradients are not finite, and count it.
        steps_per_call: steps that one call makes, from an iterator or stacked batches.
        clip: the largest norm of all gradients together.
        strategy: a `tf.distribute` strategy. None: the one the model was made under.

    Raises:
        UsageError: one of these does not fit the model or the others.
    """
    _check_model(model)
    _check_counts(accumulate=accumulate, steps_per_call=steps_per_call)
    strategy = _strategy_of(model, strategy)
    with strategy.scope():
        weights = trainable_weights(model)
        chosen = optimizer_for(model, optimizer, clip=clip)
        build_optimizer(chosen, weights)
        scores = _scores_of(model, loss, metrics)
    if accumulate > 1:
        _check_accumulation(model, chosen, scores, accumulate)
    parts = StepParts(model, weights, scores, chosen, strategy, accumulate, guard)
    use_jit = _jit_for(model, jit, strategy)
    return TrainStep(StepGraph(parts), jit=use_jit, steps_per_call=steps_per_call)


def _check_model(model: Any) -> None:
    import keras

    _check_backend(keras.config.backend())
    if not isinstance(model, keras.Model):
        kind = f"{type(model).__module__}.{type(model).__qualname__}"
        raise UsageError(
            f"make_train_step takes a model of Keras 3 and was given a {kind}. Layers become a "
            "model by keras.Sequential([...]); a model of tf_keras has to be rebuilt with keras."
        )
    if type(model).train_step is not keras.Model.train_step:
        warn_user(
            f"the model {model.name!r} has a train_step of its own, which is not used here: the "
            f"step has the loss, optimizer and metrics that make_train_step was told of. {_SILENCE}"
        )


def _check_backend(name: str) -> None:
    if name != "tensorflow":
        raise UsageError(
            f"Keras runs on {name}; this step is for TensorFlow. Set KERAS_BACKEND=tensorflow "
            "before keras is imported."
        )


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{name}={value!r} is not a count. Give a whole number from 1 on.")


def _strategy_of(model: Any, strategy: Any) -> Any:
    own = model.distribute_strategy
    if strategy is None or strategy is own:
        return own
    raise UsageError(
        f"the model {model.name!r} was not made under the {type(strategy).__name__} that was "
        "given, so its weights are not on all replicas. Make model, optimizer and metrics inside "
        "`with strategy.scope():`."
    )


def _scores_of(model: Any, loss: Any, metrics: Any) -> StepScores:
    if loss is not None:
        return StepScores(model, scorer_for(model, loss, metrics))
    if not model.compiled:
        raise UsageError(
            f"there is no loss: the model {model.name!r} is not compiled and none was given. Give "
            'one: make_train_step(model, "mse", "adam").'
        )
    if metrics:
        raise UsageError(
            "metrics were given without a loss. The loss of `compile` brings its own metrics: "
            "give them there, or give the loss here too."
        )
    return StepScores(model, model)


def _check_accumulation(model: Any, optimizer: Any, scores: StepScores, accumulate: int) -> None:
    inner = innermost_optimizer(optimizer)
    if inner.gradient_accumulation_steps:
        raise UsageError(
            f"accumulate={accumulate} was given, but {type(inner).__name__} accumulates already: "
            f"gradient_accumulation_steps={inner.gradient_accumulation_steps}. Leave it out "
            "there: what the optimizer has accumulated cannot be flushed."
        )
    if not scores.is_mean:
        warn_user(
            f"the loss is a sum, and an update is the mean over {accumulate} micro-batches: "
            f"{accumulate} times smaller than with one large batch. Use the reduction "
            f'"sum_over_batch_size". {_SILENCE}'
        )
    named = batch_statistics_layers(model)
    if named:
        warn_user(
            f"BatchNormalization ({', '.join(named[:3])}{' ...' if len(named) > 3 else ''}) sees "
            f"micro-batches, not the {accumulate} times larger batch: results differ from it. "
            f"Layers such as GroupNormalization do not depend on the batch. {_SILENCE}"
        )


def _jit_for(model: Any, jit: bool | None, strategy: Any) -> bool:
    replicas = strategy.num_replicas_in_sync
    if jit and replicas > 1:
        raise UsageError(
            f"jit=True does not work with {replicas} replicas: XLA compiles for one device. "
            "Leave jit out."
        )
    if jit is None:
        return bool(model.jit_compile) and replicas == 1
    return jit


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
        one = compile_function(graph.step, jit=jit)
        count = steps_per_call
        scores = graph.parts.scores
        self._one = compile_function(lambda batch: (one(batch), scores.results()))
        self._many = compile_function(
            lambda iterator: (over_iterator(one, iterator, count), scores.results())
        )
        self._stack = compile_function(lambda batches: (over_stack(one, batches), scores.results()))
        self._flush = compile_function(graph.flush)
        self._freezing = FreezeWatch(graph.scaler)
        pending = graph.pending
        if pending is not None:
            self._end = weakref.finalize(self, _warn_of_leftovers, pending, graph.parts.accumulate)

    def __call__(self, x: Any, y: Any = None, sample_weight: Any = None) -> dict[str, Any]:
        """Train on one batch, or on `steps_per_call` of them."""
        with explain_xla_refusal(jit=self._jit):
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
            return share_batch(batch, strategy)
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
        warn_user(
            f"{count} of {accumulate} micro-batches of the last update were never "
            "applied: the model has not learned from them. Call step.flush() after the last "
            "batch, which also silences this."
        )


def compile_function(function: Callable[..., Any], *, jit: bool = False) -> Any:
    """Return a function as a graph that is traced once per kind of input, not per size.

    AutoGraph is off, as in `fit`: layers and losses use `keras.ops.cond` for their branches.
    """
    import tensorflow as tf

    return tf.function(
        # TensorFlow warns of retracing by the function's code, which all steps share.
        partial(function),
        autograph=False,
        reduce_retracing=True,
        jit_compile=True if jit else None,
    )


@contextmanager
def explain_xla_refusal(*, jit: bool) -> Iterator[None]:
    """Say what to do where XLA refuses an operation of the model."""
    import tensorflow as tf

    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
        if not jit or not _is_refusal(str(error)):
            raise
        first = str(error).strip().splitlines()[0]
        raise UsageError(
            f"XLA cannot compile this model's step: {first[:400]}\nMake the step with jit=False."
        ) from error


def _is_refusal(message: str) -> bool:
    return "XLA" in message or "compilation device" in message


# Tensors and iterators of TensorFlow are `Any`: they have no types of their own.
StepFunction = Callable[[Batch], Any]


def over_iterator(step: StepFunction, iterator: Any, count: int) -> Any:
    """Step on up to `count` batches of an iterator and return the losses of those it had.

    A batch is fetched only when it is stepped on, so the next call goes on right after it.
    """
    import tensorflow as tf

    def one(taken: Any, losses: Any, _: Any) -> tuple[Any, Any, Any]:
        batch = iterator.get_next_as_optional()
        loss = tf.cond(
            batch.has_value(),
            lambda: tf.cast(step(as_batch(batch.get_value())), losses.dtype),
            lambda: tf.zeros((), losses.dtype),
        )
        losses = losses.write(taken, loss)
        return taken + tf.cast(batch.has_value(), "int32"), losses, batch.has_value()

    taken, losses, _ = tf.while_loop(
        lambda taken, losses, more: tf.logical_and(taken < count, more),
        one,
        (tf.constant(0), _empty_losses(count), tf.constant(True)),
    )
    return losses.stack()[:taken]


def over_stack(step: StepFunction, batches: Batch) -> Any:
    """Step on every batch of a stack, along its first axis, and return their losses."""
    import tensorflow as tf

    count = tf.shape(tf.nest.flatten(batches[0])[0])[0]

    def one(index: Any, losses: Any) -> tuple[Any, Any]:
        batch = tf.nest.map_structure(lambda leaf: leaf if leaf is None else leaf[index], batches)
        return index + 1, losses.write(index, tf.cast(step(batch), losses.dtype))

    _, losses = tf.while_loop(
        lambda index, losses: index < count, one, (tf.constant(0), _empty_losses(count))
    )
    return losses.stack()


def _empty_losses(count: Any) -> Any:
    import keras
    import tensorflow as tf

    return tf.TensorArray(keras.config.floatx(), size=count, element_shape=())


# Reading the scale waits for the device, so it is done in one of so many calls. From where it
# usually begins, 32768, it is below 1 after 16 updates that were left out in a row.
FREEZE_EVERY = 20
# Small gradients are lost below it.
LEAST_SCALE = 1.0


class FreezeWatch:
    """Looks at the scale of a loss now and then, and warns once.

    Args:
        scaler: the optimizer that scales; None where nothing is scaled.
    """

    def __init__(self, scaler: Any) -> None:  # Any: Keras has no types of its own
        self._scaler = scaler
        self._calls = 0

    def called(self) -> None:
        """Count a call of the step, and look at the scale where it is time to."""
        if self._scaler is None:
            return
        self._calls += 1
        if self._calls % FREEZE_EVERY:
            return
        scale = float(self._scaler.dynamic_scale.numpy())
        if scale < LEAST_SCALE:
            self._scaler = None
            warn_user(
                f"the loss scale fell to {scale:g}: update after update is left out because "
                "numbers are not finite, and the model does not learn any more. "
                "quickfit.tuning.find_nan(model, (x, y)) names where they begin. To silence this: "
                "warnings.filterwarnings('ignore', message='quickfit')."
            )
