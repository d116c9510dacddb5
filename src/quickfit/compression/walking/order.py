"""The recorded calls of one model, each after those whose results it needs."""

from collections.abc import Iterator
from typing import Any

from quickfit.compression.walking.private import node_of


def in_order(body: Any) -> Iterator[Any]:
    """Yield the nodes between a model's inputs and outputs, each after those it needs.

    Without recursion: a deep model must not end in a RecursionError.
    """
    done = {id(tensor) for tensor in body.inputs}
    waiting = list(reversed(body.outputs))
    while waiting:
        tensor = waiting[-1]
        if id(tensor) in done:
            waiting.pop()
            continue
        node = node_of(tensor)
        missing = [t for t in node.input_tensors if id(t) not in done]
        if missing:
            waiting.extend(reversed(missing))
            continue
        done.update(map(id, node.outputs))
        yield node
