"""Which layers are batch normalization as Keras does it."""

from typing import Any

from quickfit.compression.walking.kinds import calls_its_own_way
from quickfit.compression.walking.private import with_sublayers

INSIDE = "its normalization is inside it, and it stays whole"


def is_norm(layer: Any) -> bool:
    """Tell whether a layer is a BatchNormalization of Keras."""
    import keras

    return isinstance(layer, keras.layers.BatchNormalization) and not calls_its_own_way(layer)


def holds_norm(layer: Any) -> bool:
    """Tell whether there is a batch normalization inside a layer or nested model."""
    import keras

    if not isinstance(layer, keras.Layer):
        return False
    return any(is_norm(part) for part in with_sublayers(layer) if part is not layer)


def is_renorm(layer: Any) -> bool:
    """Tell whether it is batch renormalization, which keeps other statistics too."""
    return bool(getattr(layer, "renorm", False))
