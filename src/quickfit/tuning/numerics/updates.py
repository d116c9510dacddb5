"""Finds updates that are not finite though what they are made from is: weights and statistics."""

from __future__ import annotations

from typing import Any

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.step import Step
from quickfit.tuning.numerics.tally import is_all_finite, tally

# Tensors, variables and optimizers are `Any`: TensorFlow and Keras have no types of their own.


def bad_update(step: Step) -> Culprit | None:
    """Return the first weight that the optimizer would make non-finite, or its broken slot."""
    optimizer = step.optimizer
    if optimizer is None or not step.model.trainable_variables:
        return None
    for slot in optimizer.variables:
        if not is_all_finite(slot.value):
            is_rate = "learning_rate" in slot.path
            hint = hints.of_update(step.learning_rate()) if is_rate else hints.of_slot()
            return Culprit("update", slot.path, tally(slot.value), hint)
    if step.model.distribute_strategy.num_replicas_in_sync > 1:
        return None  # an update of mirrored weights needs all replicas
    return _bad_after_update(step, optimizer)


def bad_statistic(step: Step) -> Culprit | None:
    """Return the first statistic of a layer that the forward pass makes non-finite."""
    step.outputs()
    for path, value in step.kept["statistics"].items():
        if not is_all_finite(value):
            return Culprit("update", path, tally(value), hints.of_statistic())
    return None


def _bad_after_update(step: Step, optimizer: Any) -> Culprit | None:
    gradients = step.kept["backward"].of_weights
    weights = step.model.trainable_variables
    pairs = [(g, w) for g, w in zip(gradients, weights, strict=True) if g is not None]
    before = {id(weight): tally(weight.value) for _, weight in pairs}
    if not pairs:
        return None
    _usable(optimizer, weights).apply([g for g, _ in pairs], [w for _, w in pairs])
    for gradient, weight in pairs:
        if not is_all_finite(weight.value):
            given = (("before", before[id(weight)]), ("gradient", tally(gradient)))
            hint = hints.of_update(step.learning_rate())
            return Culprit("update", weight.path, tally(weight.value), hint, given=given)
    return None


def _usable(optimizer: Any, weights: list[Any]) -> Any:
    """Return the optimizer, or one like it where it has no slots yet: none are made in it."""
    if optimizer.built:
        return optimizer
    like = type(optimizer).from_config(optimizer.get_config())
    like.build(weights)
    return like
