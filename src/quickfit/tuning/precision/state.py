"""Carries weights, vocabularies and what is trainable from each layer to its copy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Any

from quickfit.errors import ModelError
from quickfit.tuning.precision.layers import is_graph, named, policy_name
from quickfit.tuning.precision.planning import Plan

# Layers and variables of Keras are `Any`: Keras has no types of its own.

Pair = tuple[Any, Any]


def part_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs with the parts of layers that are made of layers, outermost first."""
    found: list[Pair] = []
    for layer, twin in pairs:
        if is_graph(layer):
            continue
        parts = list(layer._flatten_layers()), list(twin._flatten_layers())
        if [type(one) for one in parts[0]] != [type(one) for one in parts[1]]:
            raise ModelError(
                f"the layer {named(layer)} has other parts when it is made again from its "
                "config, so its weights cannot be carried over. Let its `get_config` return "
                "everything that its `__init__` needs."
            )
        found += zip(*parts, strict=True)
    return found


def require_same_weights(model: Any, twin: Any) -> None:
    """Refuse a copy in which something that was one weight has become two, or the other way.

    Raises:
        ModelError: it has.
    """
    before, after = len(model.weights), len(twin.weights)
    if before != after:
        raise ModelError(
            f"the model {named(model)} has {before} weights and a copy of it {after}: a layer uses "
            "weights of another layer, or makes some when it is called for the first time."
        )


def settle_policies(pairs: Iterable[Pair], plan: Plan) -> None:
    """Give the parts of layers the policy of their layer, where they were made with another."""
    for layer, twin in pairs:
        if is_graph(layer):
            continue
        policy = plan.policy_of(layer)
        for part, copied in zip(layer._flatten_layers(), twin._flatten_layers(), strict=False):
            if policy and plan.may_change(policy_name(part)) and policy_name(copied) != policy:
                copied.dtype_policy = policy


def copy_state(pairs: Iterable[Pair]) -> None:
    """Copy what the layers have learned and were given.

    Raises:
        ModelError: a weight is not the same afterwards.
    """
    built = [(layer, twin) for layer, twin in pairs if layer.built]
    for layer, twin in built:
        if not twin.built:
            raise ModelError(
                f"the layer {named(layer)} has weights and its copy could not be built. Give the "
                "model its input shape: keras.Input(...) as the first layer."
            )
        _copy_variables(layer, twin)
        _copy_assets(layer, twin)
    for layer, twin in built:
        _compare(layer, twin)


def copy_trainable(model: Any, twin: Any, pairs: Iterable[Pair]) -> None:
    """Make the same things trainable; models first, since they pass it on to their layers."""
    ordered = sorted(pairs, key=lambda pair: not is_graph(pair[0]))
    for layer, copied in [(model, twin), *ordered]:
        if copied.trainable != layer.trainable:
            copied.trainable = layer.trainable


def _copy_variables(layer: Any, twin: Any) -> None:
    store: dict[str, Any] = {}
    # As Keras saves and loads a file, so that layers finish what depends on their weights.
    layer.save_own_variables(store)
    twin.load_own_variables(store)


def _copy_assets(layer: Any, twin: Any) -> None:
    """Copy what is no variable, such as the vocabulary that a layer was adapted to."""
    if not hasattr(layer, "save_assets"):
        return
    with tempfile.TemporaryDirectory() as folder:
        layer.save_assets(folder)
        twin.load_assets(folder)


def _compare(layer: Any, twin: Any) -> None:
    for given, copied in zip(layer.weights, twin.weights, strict=False):
        before, after = given.numpy(), copied.numpy()
        if before.dtype == after.dtype and before.tobytes() != after.tobytes():
            raise ModelError(
                f"the weight {given.path!r} of the layer {named(layer)} is not the same in the "
                "copy. Does the layer have its own `load_own_variables`?"
            )
