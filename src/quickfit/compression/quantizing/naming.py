"""The names of a model's inputs in a `.tflite` file."""

from __future__ import annotations

import re
from typing import Any

from quickfit.compression.walking.kinds import graph_body, has_graph

# Models are `Any`: Keras has no types of its own.


def plain(name: str) -> str:
    """Return a name as a file can have it: TensorFlow refuses to export others.

    `my image` becomes `my_image`.
    """
    return re.sub(r"[^A-Za-z0-9_.]", "_", str(name)).lstrip("_.") or "input"


def input_names(model: Any) -> tuple[str, ...]:
    """Return the names in the order of `model.inputs`; none for a model that has no graph.

    They are the keys where the model takes a dict, and the names of its inputs otherwise.
    """
    if not has_graph(model):
        return ()
    body = graph_body(model)
    keys: dict[int, str] = {}
    if isinstance(body.input, dict):
        keys = {id(tensor): str(key) for key, tensor in body.input.items()}
    names: list[str] = []
    for tensor in body.inputs:
        names.append(_free(plain(keys.get(id(tensor), tensor.name)), names))
    return tuple(names)


def _free(name: str, taken: list[str]) -> str:
    """Return a name that no other input has: `a b` and `a-b` are one, once they are plain."""
    number = 2
    wanted = name
    while wanted in taken:
        wanted, number = f"{name}_{number}", number + 1
    return wanted
