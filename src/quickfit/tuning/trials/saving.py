"""How a model and its data get to a child: by name, as a pickled function, or as saved files."""

from __future__ import annotations

import functools
import inspect
import pickle
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from quickfit.compression.keras_internals import with_sublayers
from quickfit.errors import ModelError, UsageError
from quickfit.tuning.trials import batch_elements, feeds
from quickfit.tuning.trials.building import DEFAULT_BATCH, BuiltModel, require_compiled
from quickfit.tuning.trials.feeds import make_feed
from quickfit.tuning.trials.settings import RecipeKind, TrialRecipe

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def recipe_by_name(name: str, *, cwd: Path, batch_size: int | None = None) -> TrialRecipe:
    """Return the recipe of `module:function`, found from a folder.

    Raises:
        UsageError: it does not read like that, or there is no such folder.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} does not name a function. Write it as module:function, for example "
            "train:build for the function `build` in train.py."
        )
    if not cwd.is_dir():
        raise UsageError(f"{cwd} is no folder, so {name} cannot be looked for there.")
    return TrialRecipe(RecipeKind.NAME, name, cwd.absolute(), batch_size=batch_size)


def recipe_by_function(build: Callable[..., Any], *, batch_size: int | None = None) -> TrialRecipe:
    """Return the recipe of a function of this process.

    Raises:
        ModelError: it refers to something that exists only in this process.
    """

    name = str(getattr(build, "__qualname__", type(build).__name__))
    return TrialRecipe(
        RecipeKind.FUNCTION, name, Path.cwd(), pack_function(build, name), batch_size=batch_size
    )


def recipe_by_model(
    model: Any, data: Any, folder: Path, *, batch_size: int | None = None
) -> TrialRecipe:
    """Return the recipe of a compiled model and its data, kept in a folder.

    Args:
        model: a compiled Keras model; it is saved, not changed.
        data: a `tf.data.Dataset` of batches, arrays `(x, y)`, or a `PyDataset`; a few thousand
            samples of it are kept.
        folder: an empty one; the caller removes it.
        batch_size: samples per step where the data are arrays.

    Raises:
        ModelError: the model cannot be saved, or not be read again.
    """

    kept = save_for_child(model, data, folder, batch_size)
    return TrialRecipe(RecipeKind.MODEL, "the model", Path.cwd(), folder=folder, batch_size=kept)


def recipe_by_parts(build: Callable[[], Any], data: Any, folder: Path) -> TrialRecipe:
    """Return the recipe of a function that makes the model alone, and of data kept in a folder.

    Raises:
        ModelError: one of them cannot be taken to another process.
    """

    name = str(getattr(build, "__qualname__", type(build).__name__))
    batch = save_data_alone(data, folder, None)
    payload = pack_function(Beside(pack_function(build, name), folder), name)
    return TrialRecipe(RecipeKind.FUNCTION, name, Path.cwd(), payload, folder, batch)


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
class _KeptSamples:
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


def save_for_child(model: Any, data: Any, folder: Path, batch_size: int | None) -> int:
    """Keep a model and some of its data; return the samples per step.

    Raises:
        ModelError: one of them cannot be kept, or the model is not compiled.
    """
    require_compiled(model, "the model")
    _save_model(model, folder)
    return save_data_alone(data, folder, batch_size)


def save_data_alone(data: Any, folder: Path, batch_size: int | None) -> int:
    """Keep some data alone; return the samples per step.

    Raises:
        ModelError: they are nothing that can be kept.
    """
    kept = _keep_samples(data, batch_size or DEFAULT_BATCH)
    with (folder / "data.pickle").open("wb") as file:
        pickle.dump(kept, file, protocol=5)
    return kept.batch


def load_saved(folder: Path) -> BuiltModel:
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
            f"the model was saved, but cannot be made again from that ({_error_line(error)}).\n"
            f"{_WAY_OUT}"
        ) from None
    return BuiltModel(model, load_saved_data(folder))


def load_saved_data(folder: Path) -> Any:
    """Return the data that were kept, for `fit`."""
    with (folder / "data.pickle").open("rb") as file:
        return _saved_data(pickle.load(file))


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
            f"the model cannot be saved for trials in other processes ({_error_line(error)}).\n"
            f"{_WAY_OUT}"
        ) from None


def _keep_samples(data: Any, own_batch: int) -> _KeptSamples:
    arrays = feeds.as_arrays(data)
    if arrays is not None and feeds.arrays_bytes(arrays) <= KEPT_BYTES:
        feed = feeds.ArrayFeed(arrays, own_batch)
        return _KeptSamples(arrays, own_batch, feed.samples, is_whole=True)
    found = make_feed(data, None, own_batch)
    in_time = _until_time(time.monotonic() + KEPT_S, found.batches())
    elements = batch_elements.first_rows(in_time, KEPT_SAMPLES, KEPT_BYTES)
    parts = _join_elements([batch_elements.as_tuples(element) for element in elements])
    return _KeptSamples(parts, found.batch, found.samples, is_whole=False)


def _until_time(end_s: float, elements: Iterator[Any]) -> Iterator[Any]:
    """Yield until a moment of the clock, but at least one."""
    for element in elements:
        yield element
        if time.monotonic() >= end_s:
            return


def _join_elements(elements: list[Any]) -> tuple[Any, ...]:
    import tensorflow as tf

    try:
        joined = tf.nest.map_structure(
            lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), *elements
        )
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"batches of the data cannot be put together to be kept ({_error_line(error)}).\n"
            f"{_WAY_OUT}"
        ) from None
    return joined if isinstance(joined, tuple) else (joined,)


def _saved_data(kept: _KeptSamples) -> Any:
    import tensorflow as tf

    if kept.is_whole:
        return kept.parts
    parts = batch_elements.as_tuples(kept.parts if len(kept.parts) > 1 else kept.parts[0])
    endless = tf.data.Dataset.from_tensor_slices(parts).repeat()
    limited = endless if kept.samples is None else endless.take(kept.samples)
    return limited.batch(kept.batch).prefetch(tf.data.AUTOTUNE)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep Keras's warnings from the user, who has not asked for anything to be saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _error_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def custom_objects_of(model: Any) -> dict[str, Any]:  # Any: Keras tells no types
    """Return what `load_model` must be given to read a model again, by every name it may use."""
    import keras

    found: dict[str, Any] = {}
    for thing in _model_parts(model):
        if _is_own(thing):
            found[thing.__name__] = thing
            found[keras.saving.get_registered_name(thing)] = thing
    return found


def make_forgiving(objects: dict[str, Any]) -> None:
    """Let layers and models without `**kwargs` be made from the config that Keras saves.

    Keras adds `name`, `trainable` and `dtype` to the config of every layer, and a class that
    does not take them cannot be read again, although it was saved (Keras 3.15).
    """
    import keras

    for thing in objects.values():
        if isinstance(thing, type) and issubclass(thing, keras.layers.Layer):
            takes_all = any(one.kind is one.VAR_KEYWORD for one in _init_parameters(thing).values())
            if not takes_all and "from_config" not in vars(thing):
                thing.from_config = classmethod(_build_from_known_arguments)  # type: ignore[attr-defined]


def lost_arguments(model: Any) -> list[str]:
    """Return the arguments of model classes that a saved model would not have.

    Keras keeps what a layer was made with, but of a model class without `get_config` only the
    defaults (Keras 3.15): another model would be read than was saved.
    """
    import keras

    lost = []
    for layer in with_sublayers(model):
        kinds = {kind.__name__ for kind in type(layer).__mro__}
        if isinstance(layer, keras.Model) and not kinds & {"Functional", "Sequential"}:
            config = type(layer).get_config
            if config is keras.Model.get_config:
                lost += [f"{type(layer).__name__}({name})" for name in _own_arguments(type(layer))]
    return lost


def _own_arguments(cls: Any) -> list[str]:
    parameters = _init_parameters(cls).values()
    named = [
        one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    return [name for name in named[1:] if name not in ("name", "trainable", "dtype")]


def _init_parameters(cls: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls.__init__).parameters


def _build_from_known_arguments(cls: Any, config: dict[str, Any]) -> Any:
    taken = _init_parameters(cls)
    made = cls(**{name: value for name, value in config.items() if name in taken})
    made.trainable = config.get("trainable", True)
    return made


def _model_parts(model: Any) -> Iterator[Any]:
    """Yield the classes and functions of everything that is part of a model."""
    for layer in with_sublayers(model):
        yield type(layer)
        yield from _functions_and_classes(list(vars(layer).values()))
    yield type(model.optimizer)
    schedule = getattr(model.optimizer, "_learning_rate", None)
    yield from _functions_and_classes([schedule, model.loss])
    metrics = getattr(model, "_compile_metrics", None)
    for name in ("_user_metrics", "_user_weighted_metrics"):
        yield from _functions_and_classes(getattr(metrics, name, None))


def _functions_and_classes(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _functions_and_classes(part)
    elif isinstance(value, type) or hasattr(value, "__code__"):
        yield value
    elif hasattr(value, "get_config"):
        yield type(value)


def _is_own(thing: Any) -> bool:
    top = str(getattr(thing, "__module__", None) or "keras").partition(".")[0]
    return top not in ("keras", "tensorflow", "builtins", "numpy") and hasattr(thing, "__name__")


def pack_function(function: Callable[..., Any], name: str) -> bytes:
    """Return a function as bytes, with everything it refers to.

    Raises:
        ModelError: part of it exists only in this process.
    """
    import cloudpickle

    try:
        with _pickle_by_value(_unimportable_modules(function)):
            return bytes(cloudpickle.dumps(function))
    except Exception as error:  # noqa: BLE001 - objects of users and libraries refuse in any way
        line = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise ModelError(
            f"{name} cannot be taken to another process ({line}).\n"
            "Trials run in processes of their own. Make the model and the data inside the "
            "function, or put the function in a file and name it: module:function"
        ) from None


def _unimportable_modules(function: Any) -> list[ModuleType]:  # Any: the user's
    """Return the modules of a function that a new interpreter could not import."""
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    home = sys.modules.get(str(getattr(inner, "__module__", None) or type(inner).__module__))
    return [] if home is None or _is_importable(home) else [home]


def _is_importable(module: ModuleType) -> bool:
    # cloudpickle takes what is in __main__ along by itself. For others the finders are asked,
    # not the module's own record of where it came from, which a test runner may have made up.
    top = module.__name__.partition(".")[0]
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]
    return (
        top == "__main__"
        or top in sys.stdlib_module_names
        or any(finder.find_spec(top, None) is not None for finder in finders)
    )


@contextmanager
def _pickle_by_value(modules: list[ModuleType]) -> Iterator[None]:
    import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


@dataclass(frozen=True)
class Beside:
    """Builds in a child what the user gave in two parts.

    Args:
        payload: the user's function, pickled.
        folder: holds samples of the data.
    """

    payload: bytes
    folder: Path

    def __call__(self) -> BuiltModel:
        """Return the model, made anew, and the samples."""
        return BuiltModel(pickle.loads(self.payload)(), load_saved_data(self.folder))
