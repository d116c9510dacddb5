"""The user's arguments, checked: what runs over what, and how."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.data.workers import jobs
from quickfit.data.workers.jobs import (
    BatchesOf,
    ItemJob,
    StreamJob,
    WorkerJob,
    function_name,
    is_py_dataset_base,
)
from quickfit.errors import UsageError
from quickfit.machine import whole_cores

WORKER_KINDS = ("auto", "processes", "threads")
ON_ERROR = ("raise", "skip")
DEFAULT_BATCH = 32
# More processes than this rarely help one training, and each takes its own memory.
_MOST_WORKERS = 16


@dataclass(frozen=True, slots=True)
class GeneratorOptions:
    """What the user asked for, as given."""

    workers: int | None
    kind: str
    ordered: bool
    batch: int | None
    shuffle: bool
    seed: int | None
    prefetch: int | None
    on_error: str
    drop_remainder: bool
    setup: Callable[[], object] | None


@dataclass(frozen=True, slots=True)
class GeneratorPlan:
    """What is done.

    Args:
        function: the user's, as it is called.
        items: what it is called with; None for a generator.
        options: what the user asked for.
        workers: how many workers.
        rows: results in a batch; None where each is yielded by itself.
        seed: what all chance comes from.
        py_dataset: the user's Keras `PyDataset`, if that is what they gave. Any: theirs.
    """

    function: Callable[..., Any]  # Any: the user's
    items: Sequence[object] | None
    options: GeneratorOptions
    workers: int
    rows: int | None
    seed: int
    py_dataset: Any = None

    @property
    def name(self) -> str:
        """What messages call the function."""
        return function_name(self.function if self.py_dataset is None else self.py_dataset)

    def job(self, *, owns_process: bool) -> WorkerJob:
        """Return the work of a worker."""
        if self.items is None:
            return StreamJob(self.function, self.seed, owns_process, self.options.setup)
        return ItemJob(self.function, self.items, self.seed, owns_process, self.options.setup)


def plan_generator(
    fn: Any, items: Any, options: GeneratorOptions
) -> GeneratorPlan:  # Any: whatever the user gives
    """Return what to do.

    Raises:
        UsageError: an argument cannot be used; the text says which and what to do.
    """
    _check_options(options)
    seed = jobs.draw_seed() if options.seed is None else options.seed
    if _is_py_dataset(fn):
        return _over_batches(fn, items, options, seed)
    if inspect.isgeneratorfunction(_innermost_function(fn)):
        return _over_stream(fn, items, options, seed)
    if not callable(fn):
        fn, items = _indexed_source(fn, items)
    if inspect.iscoroutinefunction(fn):
        raise UsageError(f"`{function_name(fn)}` is `async`: generator() needs a plain function")
    listed = _listed_items(items)
    if options.drop_remainder and options.batch and len(listed) < options.batch:
        raise UsageError(
            f"generator(batch={options.batch}, drop_remainder=True): {len(listed)} items fill no"
            " batch, and all would be dropped"
        )
    workers = min(options.workers or default_workers(), len(listed))
    return GeneratorPlan(fn, listed, options, workers, options.batch, seed)


def default_workers() -> int:
    """Return as many workers as this process may use cores."""
    return min(whole_cores(), _MOST_WORKERS)


def _check_options(options: GeneratorOptions) -> None:
    for name, value, allowed in (
        ("kind", options.kind, WORKER_KINDS),
        ("on_error", options.on_error, ON_ERROR),
    ):
        if value not in allowed:
            listed = ", ".join(repr(one) for one in allowed)
            raise UsageError(f"generator({name}={value!r}): it is one of {listed}")
    for name, number in (
        ("workers", options.workers),
        ("batch", options.batch),
        ("prefetch", options.prefetch),
    ):
        if number is not None and (not _is_whole(number) or number < 1):
            raise UsageError(f"generator({name}={number!r}): a whole number from 1 is needed")
    if options.seed is not None and not _is_whole(options.seed):
        raise UsageError(f"generator(seed={options.seed!r}): a whole number is needed")
    if options.setup is not None and not callable(options.setup):
        raise UsageError(
            f"generator(setup={options.setup!r}): a function without arguments is needed"
        )
    if options.batch is None and options.drop_remainder:
        raise UsageError(
            "generator(batch=None, drop_remainder=True): there is no remainder without batches"
        )


def _is_whole(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_py_dataset(fn: object) -> bool:
    return any(
        is_py_dataset_base(base)
        or (base.__name__ == "Sequence" and "keras" in base.__module__.split(".")[0])
        for base in type(fn).__mro__
    )


def _over_batches(
    dataset: Any, items: object, options: GeneratorOptions, seed: int
) -> GeneratorPlan:  # Any: theirs
    name = type(dataset).__name__
    if items is not None or options.batch not in (None, DEFAULT_BATCH):
        raise UsageError(
            f"{name} makes its own batches: call generator({name}(...)) without items and batch"
        )
    if options.drop_remainder:
        raise UsageError(f"{name} makes its own batches: drop_remainder is its own to do")
    try:
        count = len(dataset)
    except TypeError as error:
        raise UsageError(f"{name} does not tell its number of batches: {error}") from None
    if count < 1:
        raise UsageError(f"{name} has no batches: len() is {count}")
    asked = options.workers or max(int(getattr(dataset, "workers", 1)), default_workers())
    function = BatchesOf(dataset)
    return GeneratorPlan(function, range(count), options, min(asked, count), None, seed, dataset)


def _over_stream(
    fn: Any, items: object, options: GeneratorOptions, seed: int
) -> GeneratorPlan:  # Any: theirs
    name = function_name(fn)
    if items is not None:
        raise UsageError(
            f"`{name}` yields, so it makes its own elements: give it without items, or let it"
            " return one result per item"
        )
    for given, text in (
        (options.shuffle, "shuffle=True"),
        ((options.workers or 1) > 1, f"workers={options.workers}"),
        (options.on_error == "skip", 'on_error="skip"'),
    ):
        if given:
            raise UsageError(
                f"generator({name}, {text}): a generator function runs in one worker, from its"
                f" first element to its last. For {text}, let `{name}` return one result per item"
            )
    needed = [
        parameter.name
        for parameter in inspect.signature(fn).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        raise UsageError(
            f"`{name}` yields, so it is called without arguments, and it needs"
            f" {', '.join(needed)}: use functools.partial to give them"
        )
    return GeneratorPlan(fn, None, options, 1, options.batch, seed)


def _innermost_function(fn: Any) -> Any:  # Any: the user's
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn if inspect.isroutine(fn) else getattr(fn, "__call__", fn)  # noqa: B004 - looks inside


def _indexed_source(fn: Any, items: object) -> tuple[Any, object]:  # Any: the user's
    """Return an object with items of its own (`__getitem__`, `__len__`) as function and items."""
    if isinstance(fn, Iterator):
        raise UsageError(
            f"generator() was given a {type(fn).__name__}, which can be read only once: give the"
            " function that makes it, without calling it"
        )
    if hasattr(fn, "element_spec"):
        raise UsageError("generator() was given a tf.data.Dataset: it is one already")
    plain = isinstance(fn, list | tuple | dict | set | str | bytes) or hasattr(fn, "shape")
    if plain or items is not None or not (hasattr(fn, "__getitem__") and hasattr(fn, "__len__")):
        raise UsageError(
            f"generator() was given a {type(fn).__name__} as function. It needs a function and its"
            " items: generator(load, paths)"
        )
    return fn.__getitem__, len(fn)


def _listed_items(items: Any) -> Sequence[object]:  # Any: whatever the user gives
    """Return the items as something with a length and a place for each."""
    if items is None:
        raise UsageError("generator() needs items: a number, a list of paths, any sequence")
    if _is_whole(items) and not hasattr(items, "__len__"):
        items = range(int(items))
    elif hasattr(items, "iloc"):
        if not hasattr(items, "tolist"):
            raise UsageError(
                "generator() was given a DataFrame as items. For a dict per row:"
                ' items=frame.to_dict("records"); for a column: items=frame["path"]'
            )
        items = items.tolist()
    elif type(items).__module__.partition(".")[0] == "pandas":  # an index: workers need no pandas
        items = items.tolist()
    elif hasattr(items, "numpy"):
        items = items.numpy()
    if isinstance(items, str | bytes | dict | set | frozenset) or not (
        hasattr(items, "__len__") and hasattr(items, "__getitem__")
    ):
        raise UsageError(
            f"generator() was given a {type(items).__name__} as items: a number, a list of paths or"
            " any sequence is needed. For an iterator: items=list(...)"
        )
    if len(items) < 1:
        raise UsageError("generator() was given no items: the sequence is empty")
    found: Sequence[object] = items
    return found
