"""Inner tensors of a model for calibration data, computed call by call, each call once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quickfit.compression.graph import Call, Graph, graph_of
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.compression.calibration import Samples

BATCH = 64


class Running:
    """A model in the middle of its work on all samples, which goes on as far as it is asked to.

    Layers may be given new weights on the way: those that have not run yet use them. So a model is
    refitted layer by layer in one pass, each layer on what the new ones before it really make.
    Only values that later calls need are kept. The model is not changed by being run.

    Args:
        graph: the graph of the model.
        samples: its calibration data.
        wanted: the numbers of all tensors that will be asked for, as often as they will be;
            nothing else is computed.
    """

    def __init__(
        self, graph: Graph, samples: "Samples", wanted: Iterable[int], *, batch: int = BATCH
    ) -> None:
        self._wanted = Counter(wanted)
        self._left = _needed(graph.calls, self._wanted)
        self._values = [_given(graph, arrays) for arrays in samples.batches(batch)]

    def until(self, tensor: int) -> Any:
        """Return a wanted tensor for all samples, as an array; run what it needs and is left.

        Raises:
            UsageError: the tensor was not announced as wanted, or is gone since it was asked for.
        """
        batches = self.batches(tensor)
        return np.concatenate(list(batches))

    def batches(self, tensor: int) -> Iterator[Any]:
        """Yield what `until` returns batch by batch."""
        if not self._wanted[tensor]:
            raise UsageError(
                f"The tensor {tensor} is not there: name it in `wanted`, as often as you ask."
            )
        self._run(tensor)
        self._wanted[tensor] -= 1
        arrays = [np.asarray(values[tensor]) for values in self._values]
        self._forget()
        yield from arrays

    def _run(self, tensor: int) -> None:
        for call in _needed(self._left, {tensor}):
            for values in self._values:
                values.update(_results(call, values))
            self._left.remove(call)
            self._forget()

    def _forget(self) -> None:
        """Drop what nobody needs any more."""
        alive = {t for t, times in self._wanted.items() if times}
        alive.update(*(call.inputs for call in self._left))
        for values in self._values:
            for number in [number for number in values if number not in alive]:
                del values[number]


def activations(
    model: Any, tensors: Iterable[int], samples: "Samples", *, batch: int = BATCH
) -> Iterator[dict[int, Any]]:
    """Yield inner tensors of a model batch by batch, as arrays by number, in one pass.

    Args:
        model: a Keras model, or its graph.
        tensors: the numbers of the tensors in that graph.
        samples: the calibration data.
        batch: how many samples run at once.
    """
    graph = model if isinstance(model, Graph) else graph_of(model)
    wanted = list(dict.fromkeys(tensors))
    for arrays in samples.batches(batch):
        one = Running(graph, type(samples)(arrays), wanted, batch=batch)
        yield {tensor: one.until(tensor) for tensor in wanted}


def _needed(calls: Sequence[Call], wanted: Iterable[int]) -> list[Call]:
    """Return those of the calls that the wanted tensors depend on, in order."""
    tensors = set(wanted)
    needed = []
    for call in reversed(calls):
        if tensors.intersection(call.outputs):
            tensors.update(call.inputs)
            needed.append(call)
    return needed[::-1]


def _given(graph: Graph, arrays: Sequence[Any]) -> dict[int, Any]:
    import keras

    return {
        number: keras.ops.convert_to_tensor(array, dtype=graph.dtype_of(number))
        for number, array in zip(graph.inputs, arrays, strict=True)
    }


def _results(call: Call, values: dict[int, Any]) -> dict[int, Any]:
    import keras

    changes = {"training": False} if isinstance(call.layer, keras.Layer) else {}
    # Nothing may stick to the user's layers: neither a loss nor a random state.
    with keras.StatelessScope():
        made = call.replay(call.layer, [values[number] for number in call.inputs], **changes)
    return dict(zip(call.outputs, keras.tree.flatten(made), strict=True))
