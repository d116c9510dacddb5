"""Labelled data of every form: in memory, as classes, or batch by batch for a training."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quickfit.compression.calibration import (
    ModelInput,
    Samples,
    describe_data,
    fit_inputs,
    model_inputs,
    shape_text,
)
from quickfit.compression.graph import Graph, graph_of
from quickfit.errors import UsageError
from quickfit.machine import free_memory_bytes

# Arrays and data are `Any`: numbers of every type, in everybody's structures.

MOST_SAMPLES = 20_000
# Of the memory that is free: they are divided and scaled, which copies them, and models need room.
_MEMORY_SHARE = 0.1
KINDS = (
    "a tuple (x, y) of arrays, a tf.data.Dataset or keras.utils.PyDataset of (x, y) batches, or "
    "another iterable of them"
)


@dataclass(frozen=True)
class LabelledSamples:
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

    def at(self, places: Any) -> LabelledSamples:
        """Return the samples at some places."""
        arrays = tuple(array[places] for array in self.arrays)
        return replace(self, arrays=arrays, labels=self.labels[places])

    def given_to(self, graph: Graph) -> Any:
        """Return all inputs in the structure that the model takes."""
        return Samples(self.arrays).given_to(graph)


def read_labelled(
    model: Any, data: Any, limit: int = MOST_SAMPLES, *, seed: int = 0, where: str = "data"
) -> LabelledSamples:
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
    if isinstance(data, LabelledSamples):
        return data
    graph = model if isinstance(model, Graph) else graph_of(model)
    wanted = model_inputs(graph)
    whole = _pair_of_arrays(wanted, data)
    if whole is not None:
        return _pick_labelled(_check_samples(whole, where), limit, seed)
    return _gather_batches(wanted, data, limit, where)


def _pair_of_arrays(wanted: list[ModelInput], data: Any) -> tuple[list[Any], Any] | None:
    """Return inputs and labels, where `data` is a pair of arrays."""
    if not isinstance(data, tuple | list) or not 2 <= len(data) <= 3:
        return None
    arrays = fit_inputs(wanted, data[0])
    return None if arrays is None or _is_batch(wanted, data[1]) else (arrays, data[1])


def _is_batch(wanted: list[ModelInput], item: Any) -> bool:
    return (
        isinstance(item, tuple | list) and len(item) > 1 and fit_inputs(wanted, item[0]) is not None
    )


def _gather_batches(wanted: list[ModelInput], data: Any, limit: int, where: str) -> LabelledSamples:
    parts: list[tuple[list[Any], Any]] = []
    count, room_bytes, notes = 0, int(free_memory_bytes() * _MEMORY_SHARE), []
    for batch in _iterate_batches(wanted, data, where):
        arrays, labels = _split_labels(wanted, batch, where)
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
    arrays_of_all = [_join_column(column, where) for column in columns]
    found = _check_samples((arrays_of_all, labels), where)
    return replace(found, notes=tuple(notes))


def _join_column(column: tuple[Any, ...], where: str) -> Any:
    try:
        return np.concatenate(column)
    except ValueError as error:
        shapes = sorted({one.shape[1:] for one in column})[:3]
        raise UsageError(
            f"{where}: samples differ in shape: {', '.join(map(str, shapes))}. Make them alike."
        ) from error


def _iterate_batches(wanted: list[ModelInput], data: Any, where: str) -> Iterator[Any]:
    import keras

    if isinstance(data, keras.utils.PyDataset):
        count = data.num_batches
        order = itertools.count() if count is None else range(count)
        yield from (data[index] for index in order)
        return
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise UsageError(f"{where}: labelled data are {KINDS}; {_type_name(data)} came.")
    if isinstance(data, Mapping) or hasattr(data, "shape"):
        raise UsageError(_no_labels(data, where))
    yield from data


def _split_labels(wanted: list[ModelInput], batch: Any, where: str) -> tuple[list[Any], Any]:
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise UsageError(_no_labels(batch, where))
    arrays = fit_inputs(wanted, batch[0])
    if arrays is None:
        raise UsageError(misfit_text(wanted, batch[0], where))
    labels = np.asarray(batch[1]) if not isinstance(batch[1], Mapping) else None
    if labels is None or labels.ndim == 0 or len(labels) != len(arrays[0]):
        raise UsageError(_odd_labels(batch[1], len(arrays[0]), where))
    return arrays, labels


def misfit_text(wanted: list[ModelInput], found: Any, where: str) -> str:
    """Say what came and what the model takes."""
    takes = ", ".join(f"'{one.keys[0]}' {shape_text(one.shape)}" for one in wanted)
    text = (
        f"{where}: the samples do not fit the model. It takes {takes}; {describe_data(found)} came."
    )
    shape = getattr(found, "shape", None)
    if shape is not None and tuple(shape) == tuple(wanted[0].shape[1:]):
        return f"{text}\nThese are single samples: put them into batches, dataset.batch(32)."
    return f"{text}\nThe first axis counts the samples. Prepare them as for training."


def _type_name(data: Any) -> str:
    return repr(data) if isinstance(data, str | bytes) else describe_data(data)


def _no_labels(found: Any, where: str) -> str:
    return (
        f"{where}: there are no labels ({describe_data(found)} came). Labels are needed to train"
        f" what was made and to tell how good it is: give {KINDS}."
    )


def _odd_labels(labels: Any, count: int, where: str) -> str:
    if isinstance(labels, Mapping):
        return (
            f"{where}: its labels are a dict ({', '.join(map(str, labels))}), one for each output."
            " Models with several outputs need evaluate=, a function that says how good they are."
        )
    return (
        f"{where}: {describe_data(labels)} came as labels of {count} samples. One each is needed."
    )


def _check_samples(found: tuple[list[Any], Any], where: str) -> LabelledSamples:
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
    return LabelledSamples(tuple(arrays), labels)


def _pick_labelled(found: LabelledSamples, limit: int, seed: int) -> LabelledSamples:
    if len(found) <= limit:
        return found
    places = np.sort(np.random.default_rng(seed).choice(len(found), limit, replace=False))
    note = f"{limit} of {len(found)} samples were taken, by chance."
    return replace(found.at(places), notes=(note,))


# Arrays are `Any`: labels of any type.

_EVALUATE = (
    "Give a function of your own that says how good a model is: evaluate=score, or on the command"
    " line --evaluate train.py:score."
)


@dataclass(frozen=True)
class LabelClasses:
    """The right answers, by class.

    Args:
        codes: whole numbers; one per sample, or one per pixel of it.
        count: of classes that the model tells apart.
        is_single: whether the model gives one number, which is large for class 1.
    """

    codes: Any
    count: int
    is_single: bool = False

    def at(self, places: Any) -> LabelClasses:
        """Return the answers for some samples."""
        return LabelClasses(self.codes[places], self.count, self.is_single)


def label_classes(
    graph: Graph, labels: Any, *, names: Sequence[str] = (), where: str = "data"
) -> LabelClasses:
    """Read labels.

    Args:
        graph: of the model.
        labels: numbers of classes, one-hot vectors, or names.
        names: of the classes of a folder or a pack.
        where: how messages name the data.

    Raises:
        UsageError: they are no classes, or others than the model has outputs for.
    """
    if len(graph.outputs) != 1:
        raise UsageError(
            f"The model has {len(graph.outputs)} outputs ({', '.join(graph.output_names)}), so that"
            f" nobody knows how good it is from labels alone. {_EVALUATE}"
        )
    shape = graph.shape_of(graph.outputs[0])
    outputs = shape[-1] if len(shape) > 1 else 1
    if outputs is None:
        raise UsageError(f"The model's output has no fixed size: {shape}. {_EVALUATE}")
    count = max(2, outputs)
    _check_names(names, count, where)
    codes = _class_codes(np.asarray(labels), shape, count, where)
    _check_shape(codes, shape, outputs, where)
    _check_range(codes, count, where)
    return LabelClasses(codes, count, outputs == 1)


def _class_codes(labels: Any, shape: tuple[int | None, ...], count: int, where: str) -> Any:
    if labels.dtype.kind in "USO":
        return _codes_from_names(labels, count, where)
    if labels.dtype.kind not in "biuf":
        raise UsageError(f"{where}: labels of type {labels.dtype} are no classes. {_EVALUATE}")
    if labels.ndim == len(shape) and labels.shape[-1] == count and count > 1:
        return _from_vectors(labels, where)
    if labels.ndim == len(shape) and labels.shape[-1] == 1:
        labels = labels[..., 0]
    odd = _first_odd_label(labels) if labels.dtype.kind == "f" else None
    if odd is not None:
        raise UsageError(
            f"{where}: its labels are numbers such as {odd:.4g}, no classes. {_EVALUATE}"
        )
    return labels.astype(np.int64)


def _first_odd_label(labels: Any) -> float | None:
    """Return a label that is no whole number, if there is one."""
    found = labels[~np.isfinite(labels) | (labels != np.round(labels))]
    return float(found[0]) if len(found) else None


def _codes_from_names(labels: Any, count: int, where: str) -> Any:
    try:
        names, codes = np.unique(labels.astype(str), return_inverse=True)
    except (TypeError, ValueError, UnicodeError) as error:
        raise UsageError(f"{where}: its labels are neither numbers nor names.") from error
    _check_names([str(name) for name in names], count, where)
    return codes.reshape(labels.shape).astype(np.int64)


def _from_vectors(labels: Any, where: str) -> Any:
    if not np.isfinite(labels).all() or (np.abs(labels.sum(axis=-1) - 1) > 1e-3).any():
        raise UsageError(
            f"{where}: its labels are vectors that do not add up to 1: a sample has several"
            f" classes, or none. {_EVALUATE}"
        )
    return labels.argmax(axis=-1).astype(np.int64)


def _check_names(names: Sequence[str], count: int, where: str) -> None:
    if names and len(names) != count:
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        raise UsageError(
            f"{where}: it has {len(names)} classes ({shown}), and the model tells {count} apart.\n"
            "Give the data that the model was made for: all of its classes, and no others."
        )


def _check_shape(codes: Any, shape: tuple[int | None, ...], outputs: int, where: str) -> None:
    wanted = shape[:-1] if len(shape) > 1 else shape
    fits = codes.ndim == len(wanted) and all(
        want in (None, size) for size, want in zip(codes.shape[1:], wanted[1:], strict=True)
    )
    if not fits:
        each = "one number" if outputs == 1 else f"{outputs} numbers"
        raise UsageError(
            f"{where}: labels of the shape {codes.shape} do not fit a model that gives {each} for"
            f" each sample (its output: {tuple(shape)}). One class each is needed."
        )


def _check_range(codes: Any, count: int, where: str) -> None:
    low, high = int(codes.min()), int(codes.max())
    if low >= 0 and high < count:
        return
    hint = " They seem to begin at 1: subtract 1." if low == 1 and high == count else ""
    raise UsageError(
        f"{where}: its labels go from {low} to {high}, and the model tells {count} classes apart,"
        f" which are 0 to {count - 1}.{hint}"
    )


# Data are `Any`: arrays and structures of them, datasets of TensorFlow and Keras.

TRAINING_BATCH = 32
TRAINING_KINDS = (
    "arrays in a tuple (x, y), a tf.data.Dataset of batches (x, y), a keras.utils.PyDataset or a "
    "list of batches"
)


@dataclass(frozen=True)
class TrainingData:
    """Data to train or to judge a model with.

    Args:
        feed: what `fit` and `evaluate` take.
        first: the first batch: (x, y), or (x, y, weights).
        begin: to be called with the number of an epoch before it.
    """

    feed: Any
    first: tuple[Any, ...]
    begin: Callable[[int], None] = lambda epoch: None


def training_data(graph: Graph, data: Any, *, what: str, seed: int | None) -> TrainingData:
    """Return data as they can be read again and again.

    Args:
        graph: of the model that they are for.
        data: arrays in a tuple, a dataset, a PyDataset, or a list of batches.
        what: what they are called in messages, such as `data`.
        seed: puts samples of arrays, and batches of lists and PyDatasets, into another order in
            every epoch. None: they stay in their order.

    Raises:
        UsageError: they are of another kind, end never or after one reading, are empty, have no
            labels, or do not fit the model.
    """
    import keras

    if isinstance(data, tuple):
        return _from_arrays(graph, data, what, seed)
    if isinstance(data, keras.utils.PyDataset):
        return _from_batches(graph, data, _count_batches(data, what), what, seed)
    if isinstance(data, list):
        return _from_batches(graph, data, len(data), what, seed)
    if hasattr(data, "element_spec") and hasattr(data, "cardinality"):
        return _from_dataset(graph, data, what)
    raise UsageError(_unknown_training_data_error(data, what))


def _from_dataset(graph: Graph, data: Any, what: str) -> TrainingData:
    if int(data.cardinality()) == -1:  # tf.data.INFINITE_CARDINALITY
        raise UsageError(_endless_error(what))
    return TrainingData(data, _check_training_batch(graph, next(iter(data), None), what))


def _from_arrays(graph: Graph, data: tuple[Any, ...], what: str, seed: int | None) -> TrainingData:
    import keras

    x, *rest = _check_training_batch(graph, data, what)
    arrays = Samples(tuple(fit_inputs(model_inputs(graph), x) or ())).given_to(graph)
    whole = (arrays, *(keras.tree.map_structure(np.asarray, one) for one in rest))
    lengths = sorted({len(leaf) for leaf in keras.tree.flatten(whole)})
    if len(lengths) > 1 or not lengths[0]:
        raise UsageError(
            f"{what}: samples and labels must be as many, one at least, and there are "
            f"{' and '.join(map(str, lengths))}."
        )

    def take(rows: Any) -> Any:
        return keras.tree.map_structure(lambda leaf: leaf[rows], whole)

    feed, begin = _shuffled_dataset(take, lengths[0], TRAINING_BATCH, seed)
    return TrainingData(feed, take(np.arange(min(TRAINING_BATCH, lengths[0]))), begin)


def _from_batches(graph: Graph, data: Any, count: int, what: str, seed: int | None) -> TrainingData:
    first = _check_training_batch(graph, data[0] if count else None, what)
    feed, begin = _shuffled_dataset(lambda rows: tuple(data[int(rows[0])]), count, 1, seed)
    if hasattr(data, "on_epoch_end"):  # where a PyDataset shuffles its samples
        feed.workers, feed.max_queue_size = data.workers, data.max_queue_size
        feed.on_epoch_end = data.on_epoch_end
    return TrainingData(feed, first, begin)


def _count_batches(data: Any, what: str) -> int:
    """Return how many batches a PyDataset has."""
    try:
        count = data.num_batches
    except NotImplementedError:  # it has no `__len__`
        count = None
    if count is None:
        raise UsageError(_endless_error(what))
    return int(count)


def _shuffled_dataset(
    take: Callable[[Any], Any], count: int, unit: int, seed: int | None
) -> tuple[Any, Callable[[int], None]]:
    """Return a PyDataset of batches of `unit` rows, and how to put it into the next order."""
    import keras

    order = np.arange(count)
    # In training a rest is left out: another one in every epoch. Alone in a batch a sample would
    # be normalized to nothing.
    batches = count // unit if seed is not None else -(-count // unit)

    class InOrder(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
        def __len__(self) -> int:
            return max(1, batches)

        def __getitem__(self, index: int) -> Any:
            return take(order[index * unit : (index + 1) * unit])

    def begin(epoch: int) -> None:
        if seed is not None:
            order[:] = np.random.default_rng([seed, epoch]).permutation(count)

    return InOrder(), begin


def _check_training_batch(graph: Graph, batch: Any, what: str) -> tuple[Any, ...]:
    """Return a batch that has labels and fits the model."""
    if batch is None:
        raise UsageError(f"{what} is empty: there is nothing to train with. Give {TRAINING_KINDS}.")
    if not isinstance(batch, tuple | list) or not 2 <= len(batch) <= 3:
        raise UsageError(
            f"{what} has no labels: {describe_data(batch)} came, and (x, y) or (x, y, weights) is "
            f"needed. It may be {TRAINING_KINDS}."
        )
    if fit_inputs(model_inputs(graph), batch[0]) is None:
        takes = " and ".join(f"'{one.name}' {one.shape}" for one in model_inputs(graph))
        raise UsageError(
            f"{what} does not fit the model '{graph.name}': it takes {takes}, and "
            f"{describe_data(batch[0])} came. The first axis counts the samples; a dataset must be "
            "in batches: dataset.batch(32)"
        )
    return tuple(batch)


def _endless_error(what: str) -> str:
    return (
        f"{what} never ends, or does not say where, so an epoch would not either. Give a part of "
        "it, dataset.take(number_of_batches), or a PyDataset with __len__."
    )


def _unknown_training_data_error(data: Any, what: str) -> str:
    if isinstance(data, Iterator):
        return (
            f"{what} is a {type(data).__name__}, which is used up after one epoch. Put its batches "
            "into a list, or use a tf.data.Dataset or a keras.utils.PyDataset."
        )
    if isinstance(data, Mapping) or hasattr(data, "shape"):
        return f"{what} has no labels: {describe_data(data)} came. Give {TRAINING_KINDS}."
    return f"{what} is {TRAINING_KINDS}; {describe_data(data)} came."
