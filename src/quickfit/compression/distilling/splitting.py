"""A model whose logits can be reached: the same layers, with softmax and sigmoid set apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quickfit.compression.distilling.heads import LINEAR, Head, heads_of
from quickfit.compression.graph import Call, Graph, fresh, graph_of, rebuilt
from quickfit.compression.walking.copies import copy_flags, copy_state

# Models and tensors are `Any`: Keras has no types of its own.


@dataclass(frozen=True)
class Split:
    """A copy of a model that gives answers and logits; both models share all their layers.

    Args:
        graph: of the model that was copied.
        heads: how its outputs come about.
        whole: the copy. Its outputs have the names and the structure of the original's.
        logits: gives what goes into softmax or sigmoid, in float32: a tensor, or a list of them.
        renamed: names of layers in the original that have another one in the copy.
    """

    graph: Graph
    heads: tuple[Head, ...]
    whole: Any
    logits: Any
    renamed: Mapping[str, str]


def split(model: Any) -> Split:
    """Return a copy of a model whose logits can be reached; `model` is not changed."""
    import keras

    graph = graph_of(model)
    making = _Making(graph, heads_of(graph))
    whole = rebuilt(graph, making)
    ends = [making.end(graph, n, whole.outputs[i]) for i, n in enumerate(graph.outputs)]
    wide = [end if end.dtype == "float32" else keras.ops.cast(end, "float32") for end in ends]
    logits = keras.Model(whole.input, wide[0] if len(wide) == 1 else wide, name="logits")
    return Split(graph, making.heads, whole, logits, making.renamed)


class _Making:
    """Asked by `rebuilt` for every call: remembers logits, and sets activations apart."""

    def __init__(self, graph: Graph, heads: tuple[Head, ...]) -> None:
        self.heads = heads
        self._taken = {*graph.input_names, *(call.name for call in graph.calls)}
        self.renamed: dict[str, str] = {}
        self._ends = {call: head for head in heads if (call := head.call) is not None}
        self._inside = {id(call.layer) for call, head in self._ends.items() if head.is_inside}
        self._linears: dict[int, Any] = {}  # by id of the original layer
        self._activations: dict[int, Any] = {}
        self._logits: dict[int, Any] = {}  # by number of the head's tensor in the graph

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        if id(call.layer) not in self._inside:
            if call in self._ends:
                self._logits[call.outputs[0]] = tensors[0]
            return None  # copied as it is
        logits = self._linear(call, tensors)
        self._logits[call.outputs[0]] = logits
        return self._activations[id(call.layer)](logits)

    def _linear(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what the layer makes before its activation; a shared layer has one copy."""
        import keras

        if id(call.layer) in self._linears:
            return call.replay(self._linears[id(call.layer)], tensors)
        self.renamed[call.name] = self._free(f"{call.name}_logits")
        linear = fresh(call.layer, name=self.renamed[call.name], activation=LINEAR)
        logits = call.replay(linear, tensors)
        copy_state(call.layer, linear)
        copy_flags(call.layer, linear, trainable=call.trainable)
        self._linears[id(call.layer)] = linear
        self._activations[id(call.layer)] = keras.layers.Activation(
            call.layer.activation, name=call.name, dtype=linear.dtype_policy
        )
        return logits

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        return name

    def end(self, graph: Graph, number: int, output: Any) -> Any:
        """Return the logits of an output; the output itself where it has no activation."""
        head = self.heads[graph.outputs.index(number)]
        return output if head.call is None else self._logits[head.call.outputs[0]]
