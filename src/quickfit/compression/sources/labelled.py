"""Samples with labels in memory, from data of every form."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quickfit.capacity import free_memory_bytes
from quickfit.compression.calibrating.inputs import Wanted, described, fitted, inputs_of
from quickfit.compression.graph import Graph, graph_of
from quickfit.errors import UsageError

# Arrays and data are `Any`: numbers of every type, in everybody's structures.

MOST_SAMPLES = 20_000
# Of the memory that is free: they are divided and scaled, which copies them, and models need room.
_MEMORY_SHARE = 0.1
KINDS = (
    "a tuple (x, y) of arrays, a tf.data.Dataset or keras.utils.PyDataset of (x, y) batches, or "
    "another iterable of them"
)


@dataclass(frozen=True)
class Labelled:
    """Samples of one model with their labels.

    Args:
        arrays: one per input of the model, in its order.
        labels: as they came, the first axis as long.
        class_names: of a folder or a pack, in the order of the labels.
        notes: what a person should know about them.
    """

    arrays: tuple[Any, ...]
    labels: Any
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, places: Any) -> Labelled:
        """Return the samples at some places."""
        arrays = tuple(array[places] for array in self.arrays)
        return replace(self, arrays=arrays, labels=self.labels[places])

    def given_to(self, graph: Graph) -> Any:
        """Return all inputs in the structure that the model takes."""
        from quickfit.compression.calibration import Samples

        return Samples(self.arrays).given_to(graph)


def labelled_of(
    model: Any, data: Any, limit: int = MOST_SAMPLES, *, seed: int = 0, where: str = "data"
) -> Labelled:
    """Read samples with their labels.

    Args:
        model: a Keras model or its graph.
        data: see `KINDS`; what was read before is taken as it is.
        limit: how many samples to keep at most. Of arrays they are picked by chance, of everything
            else the first ones are taken.
        seed: of that chance.
        where: how messages name the data.

    Raises:
        UsageError: the data have no labels, do not fit the model, are empty or of no known kind.
    """
    if isinstance(data, Labelled):
        return data
    graph = model if isinstance(model, Graph) else graph_of(model)
    wanted = inputs_of(graph)
    whole = _whole(wanted, data)
    if whole is not None:
        return _picked(_checked(whole, where), limit, seed)
    return _gathered(wanted, data, limit, where)


def _whole(wanted: list[Wanted], data: Any) -> tuple[list[Any], Any] | None:
    """Return inputs and labels, where `data` is a pair of arrays."""
    if not isinstance(data, tuple | list) or not 2 <= len(data) <= 3:
        return None
    arrays = fitted(wanted, data[0])
    return None if arrays is None or _is_batch(wanted, data[1]) else (arrays, data[1])


def _is_batch(wanted: list[Wanted], item: Any) -> bool:
    return isinstance(item, tuple | list) and len(item) > 1 and fitted(wanted, item[0]) is not None


def _gathered(wanted: list[Wanted], data: Any, limit: int, where: str) -> Labelled:
    parts: list[tuple[list[Any], Any]] = []
    count, room_bytes, notes = 0, int(free_memory_bytes() * _MEMORY_SHARE), []
    for batch in _batches(wanted, data, where):
        arrays, labels = _pair(wanted, batch, where)
        parts.append(([one[: limit - count] for one in arrays], labels[: limit - count]))
        count += len(parts[-1][1])
        room_bytes -= sum(one.nbytes for one in parts[-1][0])
        if room_bytes < 0:
            notes.append(f"Only the first {count} samples were read: more do not fit into memory.")
        if count >= limit or room_bytes < 0:
            break
    if not count:
        raise UsageError(f"{where}: there are no samples in it.")
    try:
        labels = np.concatenate([labels for _, labels in parts])
    except ValueError as error:
        raise UsageError(f"{where}: the labels of its batches differ in shape.") from error
    columns = zip(*(arrays for arrays, _ in parts), strict=True)
    arrays_of_all = [_joined(column, where) for column in columns]
    found = _checked((arrays_of_all, labels), where)
    return replace(found, notes=tuple(notes))


def _joined(column: tuple[Any, ...], where: str) -> Any:
    try:
        return np.concatenate(column)
    except ValueError as error:
        shapes = sorted({one.shape[1:] for one in column})[:3]
        raise UsageError(
            f"{where}: samples differ in shape: {', '.join(map(str, shapes))}. Make them alike."
        ) from error


def _batches(wanted: list[Wanted], data: Any, where: str) -> Iterator[Any]:
    import keras

    if isinstance(data, keras.utils.PyDataset):
        count = data.num_batches
        order = itertools.count() if count is None else range(count)
        yield from (data[index] for index in order)
        return
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise UsageError(f"{where}: labelled data are {KINDS}; {_kind(data)} came.")
    if isinstance(data, Mapping) or hasattr(data, "shape"):
        raise UsageError(_no_labels(data, where))
    yield from data


def _pair(wanted: list[Wanted], batch: Any, where: str) -> tuple[list[Any], Any]:
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise UsageError(_no_labels(batch, where))
    arrays = fitted(wanted, batch[0])
    if arrays is None:
        raise UsageError(misfit_text(wanted, batch[0], where))
    labels = np.asarray(batch[1]) if not isinstance(batch[1], Mapping) else None
    if labels is None or labels.ndim == 0 or len(labels) != len(arrays[0]):
        raise UsageError(_odd_labels(batch[1], len(arrays[0]), where))
    return arrays, labels


def misfit_text(wanted: list[Wanted], found: Any, where: str) -> str:
    """Say what came and what the model takes."""
    takes = ", ".join(f"'{one.keys[0]}' {_shape(one.shape)}" for one in wanted)
    text = f"{where}: the samples do not fit the model. It takes {takes}; {described(found)} came."
    shape = getattr(found, "shape", None)
    if shape is not None and tuple(shape) == tuple(wanted[0].shape[1:]):
        return f"{text}\nThese are single samples: put them into batches, dataset.batch(32)."
    return f"{text}\nThe first axis counts the samples. Prepare them as for training."


def _shape(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("…" if size is None else str(size) for size in shape) + ")"


def _kind(data: Any) -> str:
    return repr(data) if isinstance(data, str | bytes) else described(data)


def _no_labels(found: Any, where: str) -> str:
    return (
        f"{where}: there are no labels ({described(found)} came). Labels are needed to train what"
        f" was made and to tell how good it is: give {KINDS}."
    )


def _odd_labels(labels: Any, count: int, where: str) -> str:
    if isinstance(labels, Mapping):
        return (
            f"{where}: its labels are a dict ({', '.join(map(str, labels))}), one for each output."
            " Models with several outputs need evaluate=, a function that says how good they are."
        )
    return f"{where}: {described(labels)} came as labels of {count} samples. One each is needed."


def _checked(found: tuple[list[Any], Any], where: str) -> Labelled:
    arrays, labels = found[0], found[1]
    if isinstance(labels, Mapping):
        raise UsageError(_odd_labels(labels, len(arrays[0]), where))
    labels = np.asarray(labels)
    if labels.ndim == 0 or len(labels) != len(arrays[0]):
        raise UsageError(_odd_labels(found[1], len(arrays[0]), where))
    if not len(labels):
        raise UsageError(f"{where}: there are no samples in it.")
    for array in arrays:
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise UsageError(f"{where}: it holds values that are not finite (NaN or infinity).")
    return Labelled(tuple(arrays), labels)


def _picked(found: Labelled, limit: int, seed: int) -> Labelled:
    if len(found) <= limit:
        return found
    places = np.sort(np.random.default_rng(seed).choice(len(found), limit, replace=False))
    note = f"{limit} of {len(found)} samples were taken, by chance."
    return replace(found.at(places), notes=(note,))
