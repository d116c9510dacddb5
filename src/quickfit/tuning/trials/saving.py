"""A model object and samples of its data, kept in a folder for children that build from it."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quickfit.errors import ModelError
from quickfit.tuning.trials import array_feed, batch_elements
from quickfit.tuning.trials.building import DEFAULT_BATCH, Built, require_compiled
from quickfit.tuning.trials.custom_objects import (
    custom_objects_of,
    lost_arguments,
    make_forgiving,
)
from quickfit.tuning.trials.feeds import feed_of

# Samples of a pipeline that are kept: a training on them goes on as long as is wanted.
KEPT_SAMPLES = 4096
KEPT_BYTES = 1 << 29
# A slow pipeline gives fewer: nobody waits for it twice.
KEPT_S = 10.0
_WAY_OUT = (
    "Put what builds the model and the data in a function, and give that instead:\n"
    '    quickfit tune module:function, or quickfit.tuning.advise("module:function")'
)


@dataclass(frozen=True)
class _Kept:
    """Samples of the user's data.

    Args:
        parts: nests of arrays, x, y, weights.
        batch: samples per step.
        samples: in the user's data; None where nobody knows.
        is_whole: whether the parts are all of them, and were given as arrays.
    """

    parts: tuple[Any, ...]  # Any: nests of arrays
    batch: int
    samples: int | None
    is_whole: bool


def save(model: Any, data: Any, folder: Path, batch_size: int | None) -> int:
    """Keep a model and some of its data; return the samples per step.

    Raises:
        ModelError: one of them cannot be kept, or the model is not compiled.
    """
    require_compiled(model, "the model")
    _save_model(model, folder)
    return save_data(data, folder, batch_size)


def save_data(data: Any, folder: Path, batch_size: int | None) -> int:
    """Keep some data alone; return the samples per step.

    Raises:
        ModelError: they are nothing that can be kept.
    """
    kept = _kept(data, batch_size or DEFAULT_BATCH)
    with (folder / "data.pickle").open("wb") as file:
        pickle.dump(kept, file, protocol=5)
    return kept.batch


def load(folder: Path) -> Built:
    """Return what `save` kept.

    Raises:
        ModelError: the model cannot be made from what was saved.
    """
    import keras

    try:
        custom = pickle.loads((folder / "objects.pickle").read_bytes())
        make_forgiving(custom)
        with _without_warnings():
            model = keras.models.load_model(
                folder / "model.keras", custom_objects=custom, safe_mode=False
            )
    except (ValueError, TypeError, AttributeError, KeyError, ImportError) as error:
        raise ModelError(
            f"the model was saved, but cannot be made again from that ({_line(error)}).\n{_WAY_OUT}"
        ) from None
    return Built(model, load_data(folder))


def load_data(folder: Path) -> Any:
    """Return the data that were kept, for `fit`."""
    with (folder / "data.pickle").open("rb") as file:
        return _data(pickle.load(file))


def _save_model(model: Any, folder: Path) -> None:
    import cloudpickle

    lost = lost_arguments(model)
    if lost:
        raise ModelError(
            f"Keras saves a model class without get_config() with the defaults of its arguments "
            f"({', '.join(lost)}), so another model would be tried.\n{_WAY_OUT}"
        )
    try:
        with _without_warnings():
            model.save(folder / "model.keras")
        (folder / "objects.pickle").write_bytes(cloudpickle.dumps(custom_objects_of(model)))
    except Exception as error:  # noqa: BLE001 - layers and objects of users refuse in any way
        raise ModelError(
            f"the model cannot be saved for trials in other processes ({_line(error)}).\n{_WAY_OUT}"
        ) from None


def _kept(data: Any, own_batch: int) -> _Kept:
    arrays = array_feed.as_arrays(data)
    if arrays is not None and array_feed.size_bytes(arrays) <= KEPT_BYTES:
        feed = array_feed.ArrayFeed(arrays, own_batch)
        return _Kept(arrays, own_batch, feed.samples, is_whole=True)
    found = feed_of(data, None, own_batch)
    in_time = _until(time.monotonic() + KEPT_S, found.batches())
    elements = batch_elements.first_rows(in_time, KEPT_SAMPLES, KEPT_BYTES)
    parts = _joined([batch_elements.tupled(element) for element in elements])
    return _Kept(parts, found.batch, found.samples, is_whole=False)


def _until(end_s: float, elements: Iterator[Any]) -> Iterator[Any]:
    """Yield until a moment of the clock, but at least one."""
    for element in elements:
        yield element
        if time.monotonic() >= end_s:
            return


def _joined(elements: list[Any]) -> tuple[Any, ...]:
    import tensorflow as tf

    try:
        joined = tf.nest.map_structure(
            lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), *elements
        )
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"batches of the data cannot be put together to be kept ({_line(error)}).\n{_WAY_OUT}"
        ) from None
    return joined if isinstance(joined, tuple) else (joined,)


def _data(kept: _Kept) -> Any:
    import tensorflow as tf

    if kept.is_whole:
        return kept.parts
    parts = batch_elements.tupled(kept.parts if len(kept.parts) > 1 else kept.parts[0])
    endless = tf.data.Dataset.from_tensor_slices(parts).repeat()
    limited = endless if kept.samples is None else endless.take(kept.samples)
    return limited.batch(kept.batch).prefetch(tf.data.AUTOTUNE)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep Keras's warnings from the user, who has not asked for anything to be saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
