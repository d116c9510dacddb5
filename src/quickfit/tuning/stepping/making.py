"""Making a compiled step from a model, a loss and an optimizer."""

from __future__ import annotations

from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.stepping.graph import Parts, StepGraph
from quickfit.tuning.stepping.optimizer import build, innermost, optimizer_for
from quickfit.tuning.stepping.scoring import Scores, scorer_for
from quickfit.tuning.stepping.step import TrainStep
from quickfit.tuning.stepping.telling import warn
from quickfit.tuning.stepping.weights import batch_statistics_layers, trainable_weights

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
        build(chosen, weights)
        scores = _scores_of(model, loss, metrics)
    if accumulate > 1:
        _check_accumulation(model, chosen, scores, accumulate)
    parts = Parts(model, weights, scores, chosen, strategy, accumulate, guard)
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
        warn(
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


def _scores_of(model: Any, loss: Any, metrics: Any) -> Scores:
    if loss is not None:
        return Scores(model, scorer_for(model, loss, metrics))
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
    return Scores(model, model)


def _check_accumulation(model: Any, optimizer: Any, scores: Scores, accumulate: int) -> None:
    inner = innermost(optimizer)
    if inner.gradient_accumulation_steps:
        raise UsageError(
            f"accumulate={accumulate} was given, but {type(inner).__name__} accumulates already: "
            f"gradient_accumulation_steps={inner.gradient_accumulation_steps}. Leave it out "
            "there: what the optimizer has accumulated cannot be flushed."
        )
    if not scores.is_mean:
        warn(
            f"the loss is a sum, and an update is the mean over {accumulate} micro-batches: "
            f"{accumulate} times smaller than with one large batch. Use the reduction "
            f'"sum_over_batch_size". {_SILENCE}'
        )
    named = batch_statistics_layers(model)
    if named:
        warn(
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
