"""`find_nan`: names what went non-finite first in a step of training.

The loss of a `train_step` of the user's own is known to that step alone, so it is run again. Its
optimizers hear the gradients and update nothing: one that was never used would have to make its
slots first, and could not lose them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.guard import require_tensorflow
from quickfit.tuning.numerics.nan_checks import (
    bad_gradient,
    bad_input,
    bad_label,
    bad_layer,
    bad_loss,
    bad_statistic,
    bad_update,
    bad_weight,
    blame_call,
)
from quickfit.tuning.numerics.nan_step import Culprit, NanStep, restore_variables, run_eagerly
from quickfit.tuning.numerics.op_watch import (
    LayerCall,
    OpSighting,
    eager_tensors,
    is_all_finite,
    listen_to_layers,
    tally_numbers,
    watch_ops,
    without_numeric_check,
)

# Models, tensors and optimizers are `Any`: TensorFlow and Keras have no types of their own.
UpdatePairs = list[tuple[Any, Any]]  # gradients and weights

TRAIN_STEP = "train_step"


def is_looked_through(step: NanStep) -> bool:
    """Tell whether only the model's own `train_step` knows what its loss is."""
    has_loss = step.loss is not None or getattr(step.model, "loss", None) is not None
    return has_own_step(step.model) and not has_loss


def has_own_step(model: Any) -> bool:
    """Tell whether a model is trained by code of the user's."""
    import keras

    return type(model).train_step is not keras.Model.train_step


def bad_own_step(step: NanStep) -> Culprit | None:
    """Return the layer, the loss or the gradient that goes non-finite first in such a step."""
    import keras

    calls: list[LayerCall] = []
    pairs: UpdatePairs = []
    logs: dict[str, Any] = {}
    data = keras.utils.pack_x_y_sample_weight(step.x, step.y, step.sample_weight)

    def run() -> None:
        step.model.reset_metrics()  # a mean over the epoch has the last bad batch in it
        with listen_to_layers(calls.append):
            logs.update(type(step.model).train_step(step.model, data) or {})

    with (
        restore_variables(step.model, step.optimizer),
        record_updates(optimizers_of(step.model, step.optimizer), pairs),
    ):
        first = watch_ops(run).first
    bad = [one for one in pairs if one[0] is not None and not is_all_finite(one[0])]
    losses = [one for one in eager_tensors(logs) if not is_all_finite(one)]
    if not bad and not losses:
        return None
    return blame_call(step, calls, []) or _own_step_culprit(step, first, losses, bad)


def optimizers_of(model: Any, compiled: Any) -> list[Any]:
    """Return the compiled optimizer and those that the model keeps beside it."""
    import keras

    own = [compiled, *vars(model).values()]
    found = [one for one in own if isinstance(one, keras.optimizers.Optimizer)]
    return list({id(one): one for one in found}.values())


def _own_step_culprit(
    step: NanStep, first: OpSighting | None, losses: list[Any], bad: UpdatePairs
) -> Culprit:
    op, place = (first.op, first.place) if first else (None, None)
    if losses:
        hint = step.exploded() or hints.of_loss(op)
        return Culprit("loss", TRAIN_STEP, tally_numbers(losses[0]), hint, op=op, place=place)
    weights = tuple(dict.fromkeys(getattr(weight, "path", "") for _, weight in bad))
    hint = step.exploded() or hints.of_gradient(op)
    found = tally_numbers(bad[0][0])
    return Culprit("gradient", TRAIN_STEP, found, hint, op=op, place=place, weights=weights)


@contextmanager
def record_updates(optimizers: Iterable[Any], pairs: UpdatePairs) -> Iterator[None]:
    """Let optimizers keep what they would apply, and leave the weights alone."""

    def hear(grads: Iterable[Any], trainable_variables: Any = None, **_: Any) -> None:
        gradients = list(grads)
        weights = [None] * len(gradients) if trainable_variables is None else trainable_variables
        pairs.extend(zip(gradients, weights, strict=True))

    chosen = list(optimizers)
    for one in chosen:
        vars(one)["apply"] = hear  # past Keras, which keeps book of attributes
    try:
        yield
    finally:
        for one in chosen:
            del vars(one)["apply"]


# Models, batches and optimizers are `Any`: TensorFlow and Keras have no types of their own.

# In the order of a step, so that the first answer is the first thing that went wrong.
_CHECKS = (
    bad_weight,
    bad_input,
    bad_label,
    bad_layer,
    bad_statistic,
    bad_loss,
    bad_gradient,
    bad_update,
)
_OWN_STEP_CHECKS = (bad_weight, bad_input, bad_label, bad_own_step)


def find_nan(model: Any, batch: Any, *, loss: Any = None, optimizer: Any = None) -> Culprit | None:
    """Run one step on a batch, and name what is NaN or infinite first; None if nothing is.

    The step runs eagerly, outside XLA, and everything is put back: weights, statistics of
    layers, seeds, metrics and the optimizer are bit-identical afterwards.

    Args:
        model: a Keras model that has its weights.
        batch: `x`, `(x, y)` or `(x, y, sample_weight)`, as a data set gives it.
        loss: a Keras loss, its name or a function; by default the compiled one.
        optimizer: by default the compiled one.

    Raises:
        UsageError: the model or the batch is none, or there is no loss to look at.
    """
    _check_model(model)
    if optimizer is None:
        optimizer = getattr(model, "optimizer", None)
    step = NanStep(model, *_unpack_batch(batch), loss, optimizer)
    with without_numeric_check(), run_eagerly(), restore_variables(model, optimizer):
        for look in _OWN_STEP_CHECKS if is_looked_through(step) else _CHECKS:
            culprit = look(step)
            if culprit is not None:
                return culprit
    return None


def _check_model(model: Any) -> None:
    import keras

    require_tensorflow("find_nan", keras.config.backend())
    if not isinstance(model, keras.Model):
        raise UsageError(f"find_nan wants a Keras model, not {type(model).__name__}.")
    if not model.built and not (has_own_step(model) and model.weights):
        raise UsageError(
            f"the model {model.name!r} has no weights yet. Call it once, as model(x), or begin "
            "with keras.Input(...), and look again."
        )


def _unpack_batch(batch: Any) -> tuple[Any, Any, Any]:
    """Return inputs, labels and sample weights as tensors."""
    import keras
    import tensorflow as tf

    if isinstance(batch, tf.data.Dataset) or hasattr(batch, "__next__"):
        raise UsageError(
            f"find_nan looks at one batch, not at a {type(batch).__name__}. Take one out: "
            "find_nan(model, next(iter(data)))."
        )
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
    if x is None:
        raise UsageError("find_nan got a batch without inputs (None). Give (x, y).")
    return _as_tensors(x), _as_tensors(y), _as_tensors(sample_weight)


def _as_tensors(structure: Any) -> Any:
    import keras
    import tensorflow as tf

    def convert(leaf: Any) -> Any:
        if leaf is None or isinstance(leaf, tf.Tensor | tf.RaggedTensor | tf.SparseTensor):
            return leaf
        try:
            return tf.convert_to_tensor(leaf)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"the batch holds a {type(leaf).__name__} that is no tensor: {error}. Give arrays "
                "of numbers, as `fit` takes them."
            ) from error

    return keras.tree.map_structure(convert, structure)
