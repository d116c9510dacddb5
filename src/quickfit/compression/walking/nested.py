"""Nested models: which of them dissolve into the graph around them, and which stay whole."""

from typing import Any

from quickfit.compression.walking.kinds import has_graph
from quickfit.compression.walking.order import in_order
from quickfit.compression.walking.private import body_of

HALF = frozenset({"float16", "bfloat16"})


def dissolves(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether a nested model can be replaced by its own layers without any difference.

    It cannot where Keras does something between the caller and the layers: casts or reshapes the
    input, picks inputs by name, hands a mask or arguments of its own on.
    """
    import keras

    if not has_graph(operation) or len(args) != 1:
        return False
    others = [value for name, value in kwargs.items() if name != "training"]
    if any(leaf is not None for leaf in keras.tree.flatten(others)):
        return False
    return _fits(args[0], body_of(operation))


def _fits(given: Any, body: Any) -> bool:
    import keras

    outer, inner = keras.tree.flatten(given), body.inputs
    if len(outer) != len(inner):
        return False
    is_single = len(inner) == 1 and outer[0] is given
    if not is_single and not _is_same_structure(given, body.input):
        return False
    pairs = list(zip(outer, inner, strict=True))
    return all(_is_same_kind(a, b) or _is_cast_back(a, b, body) for a, b in pairs)


def _is_same_structure(given: Any, wanted: Any) -> bool:
    import keras

    try:
        keras.tree.assert_same_structure(
            keras.tree.lists_to_tuples(given), keras.tree.lists_to_tuples(wanted)
        )
    except (TypeError, ValueError):
        return False
    return True


def _is_same_kind(given: Any, wanted: Any) -> bool:
    import keras

    if not isinstance(given, keras.KerasTensor):
        return False
    same_dtype = given.dtype == wanted.dtype and given.sparse == wanted.sparse
    return same_dtype and len(given.shape) == len(wanted.shape)


def _is_cast_back(given: Any, wanted: Any, body: Any) -> bool:
    """Whether an input is made wider for the nested model and narrowed again by all its layers.

    So it is with mixed precision: inputs are float32, and layers compute in 16 bits. Nothing is
    lost or gained on the way.
    """
    import keras

    if not isinstance(given, keras.KerasTensor) or wanted.dtype != "float32":
        return False
    if given.dtype not in HALF or len(given.shape) != len(wanted.shape):
        return False
    users = [n.operation for n in in_order(body) if any(t is wanted for t in n.input_tensors)]
    is_output = any(tensor is wanted for tensor in body.outputs)
    return not is_output and all(_computes_in(user, given.dtype) for user in users)


def _computes_in(operation: Any, dtype: str) -> bool:
    import keras

    is_layer = isinstance(operation, keras.Layer) and not isinstance(operation, keras.Model)
    return is_layer and operation.autocast and operation.compute_dtype == dtype
