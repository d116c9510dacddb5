"""Magnitude pruning: the smallest weights become zero while the model is trained."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.copying import (
    SkippedLayer,
    TransformedModel,
    copy_flags,
    copy_state,
    fresh_layer,
    rebuild_graph,
)
from quickfit.compression.graph import Call, graph_of
from quickfit.compression.keras_internals import keras_class_name
from quickfit.compression.pruning.channels import SEPARABLE, SUMMING, channel_obstacle
from quickfit.errors import ModelError, UsageError
from quickfit.units import share, size

NOT_FASTER = "It runs no faster than before: zeros are multiplied like other numbers."


@dataclass(frozen=True)
class MagnitudePruning:
    """Makes a share of the weights zero, step by step, while a model is trained.

        pruning = MagnitudePruning(0.8, begin=0, end=1000)
        model = pruning.attached(model).model
        model.compile(…); model.fit(…)
        small = pruning.stripped(model).model

    It saves space where files are compressed, and no time.

    Args:
        sparsity: the share of zeros in each kernel at the end, between 0 and 1.
        begin: the training step at which it begins, counted from 0.
        end: the step at which the share is reached; train some more after it.
    """

    sparsity: float
    begin: int = 0
    end: int = 1000

    def __post_init__(self) -> None:
        is_share = isinstance(self.sparsity, float) and 0 < self.sparsity < 1
        if not is_share:
            raise UsageError(
                "sparsity is the share of weights to make zero, between 0 and 1 (0.8 for 80 %), "
                f"and {self.sparsity!r} came."
            )
        for name, least in (("begin", 0), ("end", None)):
            value = getattr(self, name)
            least = self.begin + 1 if least is None else least
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(
                    f"{name} is a training step, a whole number of {least} or more, and "
                    f"{value!r} came. An epoch has len(data) / batch size steps."
                )

    def attached(self, model: Any) -> TransformedModel:
        """Return a copy of a model that becomes sparse when it is trained, not compiled.

        Raises:
            ModelError: the model has no graph, or no kernel that could be pruned.
        """
        graph = graph_of(model)
        reasons = {id(call.layer): _magnitude_obstacle(call) for call in graph.calls}
        copy = rebuild_graph(graph, _layer_maker(lambda call: self._constraint(call, reasons)))
        skipped = {c.name: r for c in graph.calls if (r := reasons[id(c.layer)]) and _has_kernel(c)}
        if all(reasons.values()):
            listed = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
            raise ModelError(
                f"'{graph.name}' has no kernel to prune by magnitude "
                f"({listed or 'no Dense layer and no convolution'})."
            )
        note = (
            f"{share(self.sparsity)} of each kernel is zero after {self.end} training steps; "
            "compile and train it, then take the constraints off with stripped(model)."
        )
        return TransformedModel(
            copy, (note,), tuple(SkippedLayer(name, why) for name, why in skipped.items())
        )

    def stripped(self, model: Any) -> TransformedModel:
        """Return a copy of a trained model without the constraints, with its zeros.

        Raises:
            ModelError: the model has no such constraints.
        """
        graph = graph_of(model)
        ours = {call.name: c for call in graph.calls if (c := _attached_to(call.layer)) is not None}
        if not ours:
            raise ModelError(
                f"'{graph.name}' has no constraints of magnitude pruning. Give the model that was "
                "trained after attached(model)."
            )
        copy = rebuild_graph(graph, _layer_maker(lambda call: _settings_before(call.layer)))
        for name, constraint in ours.items():
            _zero_weights(copy.get_layer(name), constraint)
        found = zeros_in(copy)
        notes = [
            f"{share(found.share)} of the weights are zero: {size(found.weight_bytes)}, after gzip "
            f"{size(found.gzip_bytes)}.",
            NOT_FASTER,
        ]
        done = min(int(constraint.step.numpy()) for constraint in ours.values())
        if done <= self.end:
            notes.append(f"Training ended after {done} steps, before the last one of pruning.")
        return TransformedModel(copy, tuple(notes))

    def _constraint(self, call: Call, reasons: dict[int, str]) -> dict[str, Any]:
        from quickfit.compression.pruning.smallest_to_zero import SmallestToZero

        if reasons[id(call.layer)]:
            return {}
        name = kernel_name(call.layer)
        setting = _constraint_setting(call.layer)
        given = {"shape": getattr(call.layer, name).shape, "first": getattr(call.layer, setting)}
        return {setting: SmallestToZero(self.sparsity, self.begin, self.end, **given)}


def _layer_maker(settings_of: Any) -> Any:
    """Return a `make` that copies layers with other settings, those without as they are."""
    copies: dict[int, Any] = {}

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if id(call.layer) in copies:
            return call.replay(copies[id(call.layer)], tensors)
        settings = settings_of(call)
        if not settings:
            return None
        copy = copies[id(call.layer)] = fresh_layer(call.layer, name=call.name, **settings)
        made = call.replay(copy, tensors)
        copy_state(call.layer, copy)
        copy_flags(call.layer, copy, trainable=call.trainable)
        return made

    return make


def _constraint_setting(layer: Any) -> str:
    """Return the name of the constraint of a layer's kernel."""
    return {"kernel": "kernel_constraint"}.get(kernel_name(layer), "pointwise_constraint")


def _attached_to(layer: Any) -> Any:
    from quickfit.compression.pruning.smallest_to_zero import SmallestToZero

    found = getattr(layer, _constraint_setting(layer), None) if kernel_name(layer) else None
    return found if isinstance(found, SmallestToZero) else None


def _settings_before(layer: Any) -> dict[str, Any]:
    """Return the settings that a layer had before a constraint was attached to it."""
    constraint = _attached_to(layer)
    return {} if constraint is None else {_constraint_setting(layer): constraint.first}


def _zero_weights(layer: Any, constraint: Any) -> None:
    """Set weights to zero again that something else than the optimizer has changed (averages)."""
    kernel = getattr(layer, kernel_name(layer))
    if bool(constraint.is_known.numpy()):
        kernel.assign(np.where(constraint.kept.numpy(), kernel.numpy(), 0))


def _magnitude_obstacle(call: Call) -> str:
    """Return why a layer is not pruned; an empty text where it is."""
    if not kernel_name(call.layer):
        return "it has no kernel that quickfit knows"
    why = "" if getattr(call.layer, "groups", 1) != 1 else channel_obstacle(call.layer)
    if why:
        return f"it {why}"
    if not call.trainable:
        return "it is not trainable, so nothing would ever become zero"
    return ""


def _has_kernel(call: Call) -> bool:
    """Whether a layer has weights of the kind that one would expect to be pruned."""
    weights = getattr(call.layer, "weights", None) or []
    return any(len(weight.shape) > 1 for weight in weights)


@dataclass(frozen=True)
class Zeros:
    """The zeros among the weights of a model.

    Args:
        share: of all weights, biases and statistics included.
        by_layer: the share in the kernel of each layer that has one, by name.
        weight_bytes: the size of all weights.
        gzip_bytes: their size after gzip.
    """

    share: float
    by_layer: Mapping[str, float]
    weight_bytes: int
    gzip_bytes: int


def zeros_in(model: Any) -> Zeros:
    """Count the zeros of a functional or Sequential model, and compress its weights."""
    arrays = [np.asarray(weight) for weight in model.weights]
    content = b"".join(array.tobytes() for array in arrays)
    count = sum(array.size for array in arrays)
    zeros = sum(int((array == 0).sum()) for array in arrays)
    kernels = {call.name: kernel_of(call.layer) for call in graph_of(model).calls}
    by_layer = {
        name: float(np.mean(np.asarray(kernel) == 0))
        for name, kernel in kernels.items()
        if kernel is not None
    }
    compressed = len(gzip.compress(content, mtime=0))
    return Zeros(zeros / max(1, count), by_layer, len(content), compressed)


def kernel_of(layer: Any) -> Any:
    """Return the kernel that magnitude pruning works on, None where there is none."""
    name = kernel_name(layer)
    return getattr(layer, name, None) if name else None


def kernel_name(layer: Any) -> str:
    """Return the name of that kernel's attribute, an empty text where there is none."""
    kind = keras_class_name(layer)
    if kind in SEPARABLE:
        return "pointwise_kernel"
    return "kernel" if kind in SUMMING else ""
