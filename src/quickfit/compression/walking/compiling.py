"""A copy of a model compiled like the original, sharing none of its state."""

from typing import Any

from quickfit.compression.walking.copies import CANNOT_BUILD
from quickfit.compression.walking.private import compile_arguments
from quickfit.errors import ModelError


def compile_like(model: Any, copy: Any) -> None:
    """Compile `copy` the way `model` was: a new optimizer of the same settings, new metrics.

    The optimizer starts anew: its momenta belong to the original's weights.
    """
    import keras

    if not model.compiled:
        return
    arguments = compile_arguments(model)
    copy.compile(**{k: keras.tree.map_structure(_own, v) for k, v in arguments.items()})


def _own(value: Any) -> Any:
    """Return a copy of what has state, and everything else as it is."""
    import keras

    if not isinstance(value, keras.optimizers.Optimizer | keras.metrics.Metric):
        return value
    try:
        return type(value).from_config(value.get_config())
    except CANNOT_BUILD as error:
        raise ModelError(
            f"The model cannot be compiled again: its {type(value).__name__} '{value.name}' cannot "
            f"be copied ({type(error).__name__}: {error}). Give its class a get_config() that "
            "returns its constructor's arguments."
        ) from error
