"""`find_nan`: names what went non-finite first in a step of training."""

from __future__ import annotations

from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.numerics.backend import require_tensorflow
from quickfit.tuning.numerics.blame import unchecked
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.data import bad_input, bad_label, bad_weight
from quickfit.tuning.numerics.gradients import bad_gradient
from quickfit.tuning.numerics.layers import bad_layer
from quickfit.tuning.numerics.losses import bad_loss
from quickfit.tuning.numerics.own_steps import bad_own_step, has_own_step, is_looked_through
from quickfit.tuning.numerics.replay import eagerly, unchanged
from quickfit.tuning.numerics.step import Step
from quickfit.tuning.numerics.updates import bad_statistic, bad_update

# Models, batches and optimizers are `Any`: TensorFlow and Keras have no types of their own.

# In the order of a step, so that the first answer is the first thing that went wrong.
_LOOKS = (
    bad_weight,
    bad_input,
    bad_label,
    bad_layer,
    bad_statistic,
    bad_loss,
    bad_gradient,
    bad_update,
)
_OWN_LOOKS = (bad_weight, bad_input, bad_label, bad_own_step)


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
    step = Step(model, *_unpacked(batch), loss, optimizer)
    with unchecked(), eagerly(), unchanged(model, optimizer):
        for look in _OWN_LOOKS if is_looked_through(step) else _LOOKS:
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


def _unpacked(batch: Any) -> tuple[Any, Any, Any]:
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
