"""What can be measured: a tf.data dataset, a Keras PyDataset, a generator, anything iterable."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any, Protocol

from quickfit.data.speed import chain
from quickfit.errors import PipelineError, UsageError
from quickfit.pipeline_model.snapshot import Operation, Snapshot, nodes_to_json, snapshot_from_row

# Grey, colour, and colour with transparency.
_CHANNELS = (1, 3, 4)
_CACHES = {"cache", "snapshot", "save"}
# Of the message of a pipeline that failed.
_MAX_SAID = 1600
_TAKES = "a tf.data.Dataset, a keras PyDataset, or a generator of batches"


def example_counter(
    first: Any, *, is_batched: bool | None, batch_size: int | None = None
) -> Callable[[Any], int]:
    """Return a function that counts the examples of an element.

    Args:
        first: an element, to learn from what they look like (anybody's, hence Any).
        is_batched: whether an element is a batch; None where only its looks can tell.
        batch_size: what the user said that an element holds.
    """
    if batch_size is not None:
        return lambda element: batch_size
    place = _batch_leaf(first) if is_batched is None else None
    if is_batched and first_axis_length(first) is not None:
        return lambda element: first_axis_length(element) or 1
    if place is None:
        return lambda element: 1
    return lambda element: _rows_of_leaf(element, place)


def looks_batched(element: Any) -> bool:
    """Tell whether an element looks like a batch, which is what `fit` takes from a generator."""
    return _batch_leaf(element) is not None


def _batch_leaf(element: Any) -> int | None:
    """Return which array of an element has a row per example; None if the element is no batch.

    It is the first with two axes or more, or, of several lists, any if they are equally long. A
    number beside it says that the element is a single example; so does a picture without a row of
    others, alone or with its mask.
    """
    shapes = [_leaf_shape(leaf) for leaf in element_arrays(element)]
    known = [shape for shape in shapes if shape is not None]
    if not known or any(not shape for shape in known):
        return None
    wide = [shape for shape in known if len(shape) >= 2]
    if not wide:
        is_equal = len(known) > 1 and len({shape[0] for shape in known}) == 1
        return shapes.index(known[0]) if is_equal else None
    if _is_picture(wide[0]) and not _has_rows_beside(known):
        return None
    return shapes.index(wide[0])


def _is_picture(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and shape[-1] in _CHANNELS


def _has_rows_beside(shapes: list[tuple[int, ...]]) -> bool:
    """Tell whether there are labels, one for each row of the first array."""
    is_equal = len({shape[0] for shape in shapes}) == 1
    return is_equal and any(len(shape) <= 2 for shape in shapes)


def _rows_of_leaf(element: Any, place: int) -> int:
    found = element_arrays(element)
    shape = _leaf_shape(found[place]) if place < len(found) else None
    return shape[0] if shape else 1


def first_axis_length(element: Any) -> int | None:
    """Return the length of an element's first array along its first axis."""
    for leaf in element_arrays(element):
        shape = _leaf_shape(leaf)
        if shape:
            return shape[0]
    return None


def element_arrays(element: Any) -> list[Any]:
    """Return the arrays of an element, however they are nested."""
    if isinstance(element, dict):
        return [leaf for key in element for leaf in element_arrays(element[key])]
    if isinstance(element, tuple | list):
        return [leaf for part in element for leaf in element_arrays(part)]
    parts = getattr(element, "values", None)
    if isinstance(parts, tuple):  # one part per replica
        return [leaf for part in parts for leaf in element_arrays(part)]
    return [] if element is None else [element]


def _leaf_shape(leaf: Any) -> tuple[int, ...] | None:
    if isinstance(leaf, Number | str | bytes):
        return ()
    shape = getattr(leaf, "shape", None)
    if shape is None:
        return None
    try:
        sides = [int(side) if side is not None else 0 for side in shape]
    except (TypeError, ValueError):  # of unknown rank
        return None
    return tuple(sides)


class Feed(Protocol):
    """Something that gives elements, pass after pass."""

    name: str
    kind: str  # "tf.data", "PyDataset", "generator" or "iterable"
    no_stages: str | None  # why the stages of it are not known
    operations: dict[int, Operation]
    top: int
    length: int | None  # elements of a pass, where that is known without running it
    has_cache: bool  # so that the first pass is unlike the later ones
    is_batched: bool | None  # whether an element is a batch; None if only its looks can tell
    is_ours: bool  # made by `quickfit.data`
    folder: str | None  # of the images it was made from, if it is known

    def begin(self) -> Iterator[Any] | None:
        """Return the elements of a new pass; None where there is no further one."""

    def end(self) -> None:
        """Say that the pass is over."""

    def look(self) -> Snapshot | None:
        """Return the state of all stages, where that is known."""


def feed_of(source: Any, name: str | None = None) -> Feed:
    """Return how to take elements from what a user hands in (anything, hence Any).

    Raises:
        UsageError: it is nothing that gives elements.
    """
    if _is_dataset(source):
        return DatasetFeed(source, name or "tf.data.Dataset")
    if _is_py_dataset(source):
        return PyDatasetFeed(source, name or type(source).__name__)
    _refuse_source(source)
    if hasattr(source, "__next__"):
        return IteratorFeed(source, name or _source_name(source))
    if hasattr(source, "__iter__"):
        return IterableFeed(source, name or type(source).__name__)
    raise UsageError(
        f"measure: this cannot be iterated (received: {_format_source(source)}).\nGive {_TAKES}."
    )


def _refuse_source(source: Any) -> None:
    """Refuse what can be iterated, but is not how a model is fed."""
    if inspect.isgeneratorfunction(source) or inspect.isfunction(source):
        raise UsageError(
            f"measure: received the function `{source.__name__}`, not what it returns.\n"
            f"Call it: measure({source.__name__}())"
        )
    parts = list(source.values()) if isinstance(source, dict) else source
    if isinstance(parts, tuple | list) and any(_is_dataset(p) or _is_py_dataset(p) for p in parts):
        raise UsageError(
            f"measure: received a {type(source).__name__} that holds datasets; one is measured at"
            " a time.\nGive one of them, such as that for training."
        )
    is_array = hasattr(source, "shape") and hasattr(source, "dtype")
    if is_array or isinstance(source, tuple | list | dict | str | bytes | set | range):
        raise UsageError(
            f"measure: received {_format_source(source)}, which is in memory already: nothing "
            "is loaded"
            " while a model trains on it.\nTo measure how fast batches are cut from arrays:\n"
            "    measure(tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(32))"
        )


def _format_source(source: Any) -> str:
    shape = getattr(source, "shape", None)
    if isinstance(source, tuple | list) and source:
        return f"a {type(source).__name__} of {len(source)} ({type(source[0]).__name__}, …)"
    about = f" of shape {tuple(shape)}" if isinstance(shape, tuple) else ""
    return f"a {type(source).__name__}{about}" if source is not None else "None"


def _source_name(source: Any) -> str:
    return str(getattr(source, "__name__", type(source).__name__))


def _is_dataset(source: Any) -> bool:
    tf = sys.modules.get("tensorflow")  # not loaded: then it is no dataset
    return tf is not None and isinstance(source, tf.data.Dataset)


def _is_py_dataset(source: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(source, keras.utils.PyDataset)


class DatasetFeed:
    """A tf.data dataset; each pass has an iterator of its own, as `fit` makes them."""

    kind = "tf.data"

    def __init__(self, dataset: Any, name: str) -> None:
        self.name = name
        self._dataset = dataset
        self._iterator: Any = None
        self.operations, self.top = chain.operations_of(dataset)
        kinds = {one.kind for one in self.operations.values()}
        # A dataset of `data.images` has a cache of its own, and says so.
        self.has_cache = bool(_CACHES & kinds) or "cached in" in repr(dataset)
        self.is_batched = chain.is_batched(self.operations, self.top, dataset.element_spec)
        self.is_ours = any(bool(one.facts.get("is_ours")) for one in self.operations.values())
        self.folder: str | None = None
        cardinality = int(dataset.cardinality())
        self.length: int | None = cardinality if cardinality >= 0 else None
        self.no_stages: str | None = None
        if not hasattr(sys.modules["tensorflow"].data.experimental, "get_model_proto"):
            self.no_stages = "this TensorFlow does not tell what it knows of a pipeline"
        if dataset.options().autotune.enabled is False:
            self.no_stages = "autotune is off for it, and tf.data then keeps no model of a pipeline"

    def begin(self) -> Iterator[Any] | None:
        """Return a new iterator."""
        self._iterator = None  # frees its threads and buffers before there are others
        self._iterator = iter(self._dataset)
        return self._iterator  # type: ignore[no-any-return]

    def end(self) -> None:
        """Let go of the iterator."""
        self._iterator = None

    def look(self) -> Snapshot | None:
        """Return tf.data's model of the running iterator."""
        iterator = self._iterator
        if self.no_stages is not None or iterator is None:
            return None
        return snapshot_of(iterator)


def snapshot_of(iterator: Any) -> Snapshot | None:
    """Return the model of a tf.data iterator as numbers; None before there is one."""
    tf = sys.modules["tensorflow"]
    # The counter is set when all else is; asked earlier, TensorFlow warns on stderr.
    if not hasattr(iterator, "_get_next_call_count"):
        return None
    try:
        proto = tf.data.experimental.get_model_proto(iterator)
    except (tf.errors.OpError, AttributeError):  # not there yet, or not for this iterator
        return None
    if proto.output not in proto.nodes:
        return None
    nodes = json.loads(nodes_to_json(proto))
    row = {"at_s": time.perf_counter(), "gaps": 0, "gap_s": 0.0}
    return snapshot_from_row({**row, "root": proto.output, "nodes": nodes})


def feed_errors() -> tuple[type[Exception], ...]:
    """Return what TensorFlow raises when an operation of a pipeline fails."""
    tf = sys.modules.get("tensorflow")
    return () if tf is None else (tf.errors.OpError,)


def failed_text(name: str, elements: int, error: Exception) -> str:
    """Return the message for a pipeline that failed while it ran."""
    said = str(getattr(error, "message", error)).strip()
    # Of a Python function, TensorFlow repeats the whole traceback; its end tells.
    half = _MAX_SAID // 2
    short = said if len(said) <= _MAX_SAID else f"{said[:half]}\n…\n{said[-half:]}"
    return (
        f"{name}: the pipeline failed after {elements} elements.\n{short}\n"
        "Iterate it by itself to find the element: for element in dataset: pass"
    )


class PyDatasetFeed(DatasetFeed):
    """A Keras PyDataset, fed as `fit` feeds it: with its own worker threads or processes."""

    kind = "PyDataset"

    def __init__(self, source: Any, name: str) -> None:
        # The only way to the workers that `fit` would use; Keras has no public one.
        from keras.src.trainers.data_adapters import get_data_adapter

        if source.num_batches == 0:
            raise PipelineError(f"{name}: this PyDataset has no batches (its length is 0).")
        self._adapter: Any = get_data_adapter(source)
        super().__init__(self._adapter.get_tf_dataset(), name)
        self.operations = {
            number: _with_own_name(one, source) for number, one in self.operations.items()
        }
        self.is_batched = True
        if self.no_stages is not None:
            self.no_stages = (
                f"{_format_workers(source)}: Keras turns tf.data's model off for a PyDataset "
                "with workers"
            )

    def begin(self) -> Iterator[Any] | None:
        """Begin an epoch of the PyDataset."""
        self._adapter.on_epoch_begin()
        return super().begin()

    def end(self) -> None:
        """End it: its workers stop."""
        super().end()
        self._adapter.on_epoch_end()


def _with_own_name(one: Operation, source: Any) -> Operation:
    """Return an operation with the name of the user's method, where Keras calls that."""
    if not one.facts.get("from_generator"):
        return one
    facts = chain.function_name_facts(type(source).__getitem__)
    file, line = facts.pop("file", None), facts.pop("line", None)
    facts["function"] = f"{type(source).__name__}.{facts['function']}"
    return dataclasses.replace(one, file=file, line=line, facts={**one.facts, **facts})


def _format_workers(source: Any) -> str:
    what = "processes" if source.use_multiprocessing else "threads"
    return f"{source.workers} worker {what}"


class IteratorFeed:
    """A generator or iterator: it can be gone through once, and is consumed by that."""

    kind = "generator"
    no_stages: str | None = "a Python iterator has no stages that tf.data knows of"

    def __init__(self, source: Any, name: str) -> None:
        self.name = name
        self.operations: dict[int, Operation] = {}
        self.top = 0
        self.length: int | None = None
        self.has_cache = self.is_ours = False
        self.is_batched: bool | None = None
        self.folder: str | None = None
        self._source: Any = source

    def begin(self) -> Iterator[Any] | None:
        """Return the iterator, the first time."""
        source, self._source = self._source, None
        return source  # type: ignore[no-any-return]

    def end(self) -> None:
        """Nothing to do: what began it may go on."""

    def look(self) -> Snapshot | None:
        """Return None: nobody counts inside of it."""
        return None


class IterableFeed(IteratorFeed):
    """Anything else that can be iterated again and again, such as a DataLoader."""

    kind = "iterable"
    no_stages: str | None = "tf.data does not run it, so the stages of it are not known"

    def begin(self) -> Iterator[Any] | None:
        """Return a new iterator."""
        return iter(self._source)  # type: ignore[no-any-return]
