"""Unlabelled samples for a model: read once, checked against its inputs, run through its layers."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.graph import Call, Graph, Ref, Shape, graph_of, specs_from
from quickfit.errors import UsageError

# Enough for least squares: every image brings hundreds of rows. More changes accuracies of
# refitted models by less than their spread over seeds.
LIMIT = 256


@dataclass(frozen=True)
class Samples:
    """Calibration data of one model, in memory.

    Args:
        arrays: one array per input of the model, in the order of `model.inputs`; the first axis
            counts the samples.
    """

    arrays: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.arrays[0])

    def batches(self, size: int = 64) -> Iterator[tuple[Any, ...]]:
        """Yield the samples in batches, one array per input."""
        for start in range(0, len(self), size):
            yield tuple(array[start : start + size] for array in self.arrays)

    def first(self, count: int) -> "Samples":
        """Return the first `count` samples."""
        return Samples(tuple(array[:count] for array in self.arrays))

    def given_to(self, graph: Graph) -> Any:
        """Return all samples in the structure that the model takes (a dict, a list, an array)."""
        import keras

        values = dict(zip(graph.inputs, self.arrays, strict=True))
        return keras.tree.map_structure(lambda ref: values[ref.number], graph.input_structure)


def samples_of(model: Any, data: Any, limit: int = LIMIT, *, seed: int = 0) -> Samples:
    """Read calibration data for a model; labels are dropped.

    Args:
        model: a Keras model or its graph; its inputs say what is data and what is a label.
        data: arrays, a tuple (x, y), a dict of arrays by input name, a `tf.data.Dataset`, a
            `keras.utils.PyDataset`, or any iterable of batches. Samples that were read before
            are taken as they are.
        limit: how many samples to keep at most. Not more than that is read: an endless dataset
            will do. A dataset should be shuffled: its first samples are taken.
        seed: picks the samples of arrays and PyDatasets.

    Raises:
        UsageError: the data do not fit the model, are empty, or of no kind that is known.
    """
    if limit < 1:
        raise UsageError(f"limit says how many samples to keep: 1 or more, and {limit!r} came.")
    if isinstance(data, Samples):
        return data.first(limit)
    graph = model if isinstance(model, Graph) else graph_of(model)
    wanted = model_inputs(graph)
    kept: list[list[Any]] = []
    count = 0
    for batch in batches_of(wanted, data, limit, seed):
        kept.append([array[: limit - count] for array in batch])
        count += len(kept[-1][0])
        if count >= limit:
            break
    if not count:
        raise UsageError(
            f"The calibration data are empty. Give {CALIBRATION_KINDS} with a sample at least."
        )
    return Samples(tuple(np.concatenate(parts) for parts in zip(*kept, strict=True)))


@dataclass(frozen=True)
class ModelInput:
    """One input of a model.

    Args:
        name: the name of its layer.
        keys: all names under which it may come in a dict.
        shape: its shape, None where a size is open.
        dtype: its dtype.
    """

    name: str
    keys: tuple[str, ...]
    shape: Shape
    dtype: str

    def fitted(self, values: Any) -> Any:
        """Return `values` as an array for this input, or None where they do not fit.

        As Keras does, an axis of size 1 at the end is added or taken away where that helps.
        """
        try:
            array = np.asarray(values)
        except (TypeError, ValueError, RuntimeError):  # ragged; a tensor of another library
            return None
        if array.ndim == len(self.shape) - 1 and self.shape[-1] == 1:
            array = array[..., None]
        elif array.ndim == len(self.shape) + 1 and array.shape[-1] == 1:
            array = array[..., 0]
        if array.ndim != len(self.shape):
            return None
        sizes = zip(array.shape[1:], self.shape[1:], strict=True)
        return self._cast(array) if all(want in (None, size) for size, want in sizes) else None

    def _cast(self, array: Any) -> Any:
        """Return the array in the dtype of the input, or None where it holds something else."""
        wanted = "object" if self.dtype == "string" else self.dtype
        if wanted == "bfloat16":
            wanted = "float32"  # NumPy has none; the model casts it itself
        try:
            return array.astype(wanted, copy=False)
        except (TypeError, ValueError):
            return None


def model_inputs(graph: Graph) -> list[ModelInput]:
    """Return what a model takes in, in the order of `graph.inputs`."""
    structure = graph.input_structure
    keys = structure.items() if isinstance(structure, Mapping) else ()
    by_number = {ref.number: key for key, ref in keys if isinstance(ref, Ref)}
    return [
        ModelInput(
            name,
            tuple(dict.fromkeys((by_number.get(number, name), tensor.name, name))),
            graph.shape_of(number),
            graph.dtype_of(number),
        )
        for name, number, tensor in zip(
            graph.input_names, graph.inputs, graph.model.inputs, strict=True
        )
    ]


def fit_inputs(wanted: list[ModelInput], data: Any) -> list[Any] | None:
    """Return one array per input from a batch without labels, or None where it does not fit."""
    parts = _split_by_input(wanted, data)
    if parts is None or len(parts) != len(wanted):
        return None
    arrays = [want.fitted(part) for want, part in zip(wanted, parts, strict=True)]
    if any(array is None for array in arrays) or len({len(array) for array in arrays}) != 1:
        return None
    return arrays


def drop_labels(wanted: list[ModelInput], batch: Any) -> list[Any] | None:
    """Return one array per input from a batch, with labels (which are dropped) or without."""
    if isinstance(batch, tuple | list) and batch:
        arrays = fit_inputs(wanted, batch[0])
        return arrays if arrays is not None else fit_inputs(wanted, batch)
    return fit_inputs(wanted, batch)


def _split_by_input(wanted: list[ModelInput], data: Any) -> list[Any] | None:
    if isinstance(data, Mapping):
        found = [next((key for key in want.keys if key in data), None) for want in wanted]
        return None if None in found else [data[key] for key in found]
    if isinstance(data, tuple | list):
        return list(data)
    return [data] if hasattr(data, "shape") and len(data.shape) > 0 else None


def misfit_error(wanted: list[ModelInput], batch: Any) -> UsageError:
    """Return the error that tells what came and what the model takes."""
    takes = ", ".join(f"'{want.keys[0]}' {shape_text(want.shape)}" for want in wanted)
    came = describe_data(batch)
    text = f"The calibration data do not fit the model: it takes {takes}, and {came} came."
    first = batch[0] if isinstance(batch, tuple | list) and batch else batch
    shape = getattr(first, "shape", None)
    if shape is not None and tuple(shape) == tuple(wanted[0].shape[1:]):
        text += (
            " These are single samples: put them into batches, dataset.batch(32) or array[None]."
        )
    else:
        text += " The first axis counts the samples; the labels may follow in a tuple (x, y)."
    return UsageError(text)


def describe_data(data: Any) -> str:
    """Return what data look like, in a few words."""
    if isinstance(data, Mapping):
        return "a dict with " + ", ".join(
            f"'{key}' {_size_text(value)}" for key, value in data.items()
        )
    if isinstance(data, tuple | list):
        kind = type(data).__name__
        return f"a {kind} of " + (", ".join(_size_text(value) for value in data[:4]) or "nothing")
    return _size_text(data)


def _size_text(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is None:
        return type(value).__name__
    is_number = getattr(getattr(value, "dtype", None), "kind", "f") in "biuf"
    return shape_text(tuple(shape)) + ("" if is_number else f" of dtype {value.dtype}")


def shape_text(shape: Shape) -> str:
    """Return a shape as text, open sizes as dots."""
    return "(" + ", ".join("…" if size is None else str(size) for size in shape) + ")"


CALIBRATION_KINDS = (
    "arrays, a tuple (x, y), a dict of arrays, a tf.data.Dataset, a keras.utils.PyDataset or an "
    "iterable of batches"
)


def batches_of(wanted: list[ModelInput], data: Any, limit: int, seed: int) -> Iterator[list[Any]]:
    """Yield batches of `data`, in an order that depends on nothing but `seed`.

    Arrays and PyDatasets, which can be read anywhere, are read in random places: data sorted by
    class would show one class only. Everything else is read from its beginning.

    Raises:
        UsageError: the data are of a kind that is not known, or do not fit the model.
    """
    import keras

    arrays = None if _is_list_of_batches(wanted, data) else samples_if_arrays(wanted, data)
    if arrays is not None:
        yield _pick_samples(arrays, limit, seed)
        return
    if isinstance(data, keras.utils.PyDataset):
        stream: Iterable[Any] = _pydataset_batches(data, seed)
    elif isinstance(data, str | bytes | Mapping) or hasattr(data, "shape"):
        raise _unknown_data_error(wanted, data)
    elif isinstance(data, Iterable):
        stream = data
    else:
        raise _unknown_data_error(wanted, data)
    for batch in stream:
        fitting = drop_labels(wanted, batch)
        if fitting is None:
            raise misfit_error(wanted, batch)
        yield fitting


def samples_if_arrays(wanted: list[ModelInput], data: Any) -> list[Any] | None:
    """Return all samples, where `data` are arrays."""
    if isinstance(data, tuple | list | Mapping) or hasattr(data, "shape"):
        return drop_labels(wanted, data)
    return None


def _is_list_of_batches(wanted: list[ModelInput], data: Any) -> bool:
    """Whether every item of a list is a batch by itself: then it is neither (x, y) nor inputs."""
    if not isinstance(data, list) or not data:
        return False
    return all(drop_labels(wanted, item) is not None for item in data)


def _pick_samples(arrays: list[Any], limit: int, seed: int) -> list[Any]:
    count = len(arrays[0])
    if count <= limit:
        return arrays
    places = np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))
    return [array[places] for array in arrays]


def _pydataset_batches(data: Any, seed: int) -> Iterator[Any]:
    """Yield the batches of a PyDataset in random order; in its own where it has no end."""
    count = data.num_batches
    order = itertools.count() if count is None else np.random.default_rng(seed).permutation(count)
    for index in order:
        yield data[int(index)]


def _unknown_data_error(wanted: list[ModelInput], data: Any) -> UsageError:
    if isinstance(data, str | bytes):
        return UsageError(f"Calibration data are {CALIBRATION_KINDS}; a string came: {data!r}.")
    if isinstance(data, Mapping) or hasattr(data, "shape"):
        return misfit_error(wanted, data)
    return UsageError(f"Calibration data are {CALIBRATION_KINDS}; {describe_data(data)} came.")


RUN_BATCH = 64


class LayerRun:
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
        self, graph: Graph, samples: "Samples", wanted: Iterable[int], *, batch: int = RUN_BATCH
    ) -> None:
        self._wanted = Counter(wanted)
        self._left = _needed_calls(graph.calls, self._wanted)
        self._values = [_numbered_inputs(graph, arrays) for arrays in samples.batches(batch)]

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
        for call in _needed_calls(self._left, {tensor}):
            for values in self._values:
                values.update(_call_results(call, values))
            self._left.remove(call)
            self._forget()

    def _forget(self) -> None:
        """Drop what nobody needs any more."""
        alive = {t for t, times in self._wanted.items() if times}
        alive.update(*(call.inputs for call in self._left))
        for values in self._values:
            for number in [number for number in values if number not in alive]:
                del values[number]


def iterate_activations(
    model: Any, tensors: Iterable[int], samples: "Samples", *, batch: int = RUN_BATCH
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
        one = LayerRun(graph, type(samples)(arrays), wanted, batch=batch)
        yield {tensor: one.until(tensor) for tensor in wanted}


def _needed_calls(calls: Sequence[Call], wanted: Iterable[int]) -> list[Call]:
    """Return those of the calls that the wanted tensors depend on, in order."""
    tensors = set(wanted)
    needed = []
    for call in reversed(calls):
        if tensors.intersection(call.outputs):
            tensors.update(call.inputs)
            needed.append(call)
    return needed[::-1]


def _numbered_inputs(graph: Graph, arrays: Sequence[Any]) -> dict[int, Any]:
    import keras

    return {
        number: keras.ops.convert_to_tensor(array, dtype=graph.dtype_of(number))
        for number, array in zip(graph.inputs, arrays, strict=True)
    }


def _call_results(call: Call, values: dict[int, Any]) -> dict[int, Any]:
    import keras

    changes = {"training": False} if isinstance(call.layer, keras.Layer) else {}
    # Nothing may stick to the user's layers: neither a loss nor a random state.
    with keras.StatelessScope():
        made = call.replay(call.layer, [values[number] for number in call.inputs], **changes)
    return dict(zip(call.outputs, keras.tree.flatten(made), strict=True))


# Room for the values between the layers. Images of usual size stay far below it with all samples.
ROOM_BYTES = 1 << 30


def affordable_samples(graph: Graph, samples: "Samples", room_bytes: int = ROOM_BYTES) -> "Samples":
    """Return as many of the samples as a `Running` of this model holds in `room_bytes`."""
    return samples.first(max(1, room_bytes // max(1, _peak_bytes(graph, samples))))


def _peak_bytes(graph: Graph, samples: "Samples") -> int:
    """Return the largest number of bytes per sample that are alive between two calls."""
    sizes = _bytes_per_sample(graph, samples)
    last = {number: place for place, call in enumerate(graph.calls) for number in call.inputs}
    alive, peak = set(graph.inputs), 0
    for place, call in enumerate(graph.calls):
        alive.update(call.outputs)
        peak = max(peak, sum(sizes[number] for number in alive))
        alive = {number for number in alive if last.get(number, -1) > place}
    return peak


def _bytes_per_sample(graph: Graph, samples: "Samples") -> dict[int, int]:
    import keras

    given = {
        number: keras.KerasTensor((1, *array.shape[1:]), dtype=graph.dtype_of(number))
        for number, array in zip(graph.inputs, samples.arrays, strict=True)
    }
    specs = specs_from(graph.calls, given)
    return {number: _spec_bytes(spec) for number, spec in specs.items()}


def _spec_bytes(spec: Any) -> int:
    try:
        width = np.dtype(spec.dtype).itemsize
    except TypeError:
        width = 2 if spec.dtype == "bfloat16" else 8
    return int(width * math.prod(size or 1 for size in spec.shape))
