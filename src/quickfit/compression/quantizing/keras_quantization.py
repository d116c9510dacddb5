"""`keras_quantized`: Dense and Embedding layers in Keras's own int8 or int4, to save memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from quickfit.compression.copying import SkippedLayer, TransformedModel, copied
from quickfit.compression.keras_internals import has_graph, keras_class_name
from quickfit.errors import ModelError, UsageError

# Models and layers are `Any`: Keras has no types of its own.

_MODES = ("int8", "int4")
# All layers for which Keras 3.15 has it.
_SUPPORTED = frozenset({"Dense", "EinsumDense", "Embedding", "ReversibleEmbedding"})
_MEMORY_TOOL = (
    "This saves memory and disk space, not time: on a CPU it can be slower. It cannot be "
    "exported to LiteRT; for that, export the float model: exported(model, path, 'int8', samples)."
)


def keras_quantized(model: Any, mode: str = "int8") -> TransformedModel:
    """Return a copy of a model with its Dense and Embedding layers in int8 or int4.

    Args:
        model: functional or Sequential; it is not changed.
        mode: `int8` (a quarter of the size) or `int4` (an eighth).

    Returns:
        The copy, compiled as the model was; in `skipped` the layers that stayed in float.

    Raises:
        UsageError: there is no such mode.
        ModelError: the model has no graph, or no layer that can be quantised.
    """
    if mode not in _MODES:
        raise UsageError(f"mode={mode!r}: there are {' and '.join(_MODES)}.")
    made = copied(model)
    reasons = {id(layer): _quantizing_obstacle(layer) for layer in _quantizable_layers(made)}
    if "" not in reasons.values():
        raise ModelError(_nothing_to_do(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about how Keras reads its own variables
        made.quantize(mode, filters=lambda layer: reasons.get(id(layer)) == "")
    skipped = [
        SkippedLayer(layer.name, reasons[id(layer)])
        for layer in _quantizable_layers(made)
        if reasons[id(layer)] and layer.weights
    ]
    return TransformedModel(made, (_MEMORY_TOOL,), tuple(skipped))


def is_keras_quantized(model: Any) -> bool:
    """Tell whether a layer of a model is in Keras's own int8 or int4."""
    if not hasattr(model, "layers"):
        return False
    return any(getattr(layer, "quantization_mode", None) for layer in _quantizable_layers(model))


def _quantizable_layers(model: Any) -> Iterator[Any]:
    """Yield the layers of a model and of models in it; not those that a layer is made of."""
    for layer in model.layers:
        if has_graph(layer):
            yield from _quantizable_layers(layer)
        else:
            yield layer


def _quantizing_obstacle(layer: Any) -> str:
    """Return why a layer stays in float; nothing where it need not."""
    if keras_class_name(layer) not in _SUPPORTED:
        # The layers inside of an attention layer could be quantised, but such a model saved by
        # Keras 3.15 cannot be loaded again.
        return f"Keras has no {type(layer).__name__} in int8"
    if getattr(layer, "quantization_mode", None):
        return "it is quantised already"
    if getattr(layer, "lora_rank", None):
        return "it has LoRA weights: merge them first"
    return ""


def _nothing_to_do(model: Any) -> str:
    return (
        f"The model '{model.name}' has no Dense or Embedding layer to quantise: Keras has int8 and "
        "int4 for these only. For convolutions: exported(model, path, 'int8', samples)."
    )
