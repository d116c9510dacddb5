"""Prints every name of TensorFlow and Keras that quickfit's probes use and that has moved."""

import importlib

import keras  # noqa: F401
import tensorflow as tf

from quickfit.probes._private import NAMES, hooks_of


def moved():
    """Yield what is not as the probes expect it."""
    for probe, modules in NAMES.items():
        for module in modules:
            hooks = hooks_of(probe, importlib.import_module(module))
            yield from (f"{hook.name}: {hook.detail}" for hook in hooks if hook.detail)
    data = tf.data.Dataset.range(3).map(lambda x: x)
    for name in ("_map_func._func", "_map_func.function.graph"):
        thing = data
        for part in name.split("."):
            thing = getattr(thing, part, None)
        if thing is None:
            yield f"MapDataset.{name}"
    if not isinstance(iter(data)._dataset, tf.data.Dataset):
        yield "OwnedIterator._dataset"


print(*moved(), sep="\n", end="")
