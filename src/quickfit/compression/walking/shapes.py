"""Shapes of the tensors of a graph where other shapes go in than Keras recorded."""

from collections.abc import Mapping, Sequence
from typing import Any

from quickfit.compression.walking.call import Call, takes


def specs_from(calls: Sequence[Call], inputs: Mapping[int, Any]) -> dict[int, Any]:
    """Return a symbolic tensor (shape and dtype) for every number, given those of the inputs."""
    specs = dict(inputs)
    for call in calls:
        args, kwargs = call.arguments(specs)
        specs.update(zip(call.outputs, output_specs(call.layer, args, kwargs), strict=True))
    return specs


def output_specs(layer: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return symbolic tensors for what a layer makes of symbolic arguments; nothing is recorded."""
    import keras

    known = {name: value for name, value in kwargs.items() if _is_known(layer, name)}
    specs = list(keras.tree.flatten(layer.compute_output_spec(*args, **known)))
    if isinstance(layer, keras.layers.EinsumDense):
        return [keras.KerasTensor(_einsum_shape(layer, args[0].shape, s), s.dtype) for s in specs]
    return specs


def _is_known(layer: Any, keyword: str) -> bool:
    """Whether a layer takes an argument where shapes are worked out.

    Only its `__call__` sorts out those that Keras adds by itself.
    """
    return all(takes(method, keyword) for method in (layer.call, layer.compute_output_spec))


def _einsum_shape(layer: Any, given: Any, spec: Any) -> tuple[int | None, ...]:
    """Return the shape that an EinsumDense makes: it forgets sizes that it was told as open."""
    left, _, result = layer.equation.replace(" ", "").partition("->")
    first = left.split(",")[0]
    if "." in left:
        return tuple(spec.shape)  # an ellipsis: Keras takes these sizes from the input
    sizes = dict(zip(first, given, strict=True))
    return tuple(
        sizes.get(letter) if size is None else size
        for letter, size in zip(result, spec.shape, strict=True)
    )
