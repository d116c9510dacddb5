"""Looks at a `train_step` of the user's own, such as that of a GAN or a VAE.

Nobody else knows its loss, so the step itself is run again. Its optimizers hear the gradients and
update nothing: one that was never used would have to make its slots first, and could not lose them
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.blame import Sighting, watched
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.layers import blamed
from quickfit.tuning.numerics.listening import Call, listening, tensors
from quickfit.tuning.numerics.replay import unchanged
from quickfit.tuning.numerics.step import Step
from quickfit.tuning.numerics.tally import is_all_finite, tally

# Models, tensors and optimizers are `Any`: TensorFlow and Keras have no types of their own.
Pairs = list[tuple[Any, Any]]  # gradients and weights

NAME = "train_step"


def is_looked_through(step: Step) -> bool:
    """Tell whether only the model's own `train_step` knows what its loss is."""
    has_loss = step.loss is not None or getattr(step.model, "loss", None) is not None
    return has_own_step(step.model) and not has_loss


def has_own_step(model: Any) -> bool:
    """Tell whether a model is trained by code of the user's."""
    import keras

    return type(model).train_step is not keras.Model.train_step


def bad_own_step(step: Step) -> Culprit | None:
    """Return the layer, the loss or the gradient that goes non-finite first in such a step."""
    import keras

    calls: list[Call] = []
    pairs: Pairs = []
    logs: dict[str, Any] = {}
    data = keras.utils.pack_x_y_sample_weight(step.x, step.y, step.sample_weight)

    def run() -> None:
        step.model.reset_metrics()  # a mean over the epoch has the last bad batch in it
        with listening(calls.append):
            logs.update(type(step.model).train_step(step.model, data) or {})

    with (
        unchanged(step.model, step.optimizer),
        heard(optimizers_of(step.model, step.optimizer), pairs),
    ):
        first = watched(run).first
    bad = [one for one in pairs if one[0] is not None and not is_all_finite(one[0])]
    losses = [one for one in tensors(logs) if not is_all_finite(one)]
    if not bad and not losses:
        return None
    return blamed(step, calls, []) or _culprit(step, first, losses, bad)


def optimizers_of(model: Any, compiled: Any) -> list[Any]:
    """Return the compiled optimizer and those that the model keeps beside it."""
    import keras

    own = [compiled, *vars(model).values()]
    found = [one for one in own if isinstance(one, keras.optimizers.Optimizer)]
    return list({id(one): one for one in found}.values())


def _culprit(step: Step, first: Sighting | None, losses: list[Any], bad: Pairs) -> Culprit:
    op, place = (first.op, first.place) if first else (None, None)
    if losses:
        hint = step.exploded() or hints.of_loss(op)
        return Culprit("loss", NAME, tally(losses[0]), hint, op=op, place=place)
    weights = tuple(dict.fromkeys(getattr(weight, "path", "") for _, weight in bad))
    hint = step.exploded() or hints.of_gradient(op)
    found = tally(bad[0][0])
    return Culprit("gradient", NAME, found, hint, op=op, place=place, weights=weights)


@contextmanager
def heard(optimizers: Iterable[Any], pairs: Pairs) -> Iterator[None]:
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
