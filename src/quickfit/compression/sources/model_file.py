"""Loads a Keras model from a file, without running code from it unless that is allowed."""

from __future__ import annotations

import inspect
import re
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit import trust
from quickfit.compression.sources.model_config import Contents, contents_of
from quickfit.data.speed import user_code
from quickfit.data.speed.loading import load_tensorflow
from quickfit.errors import ModelError, UsageError

# Models are `Any`: Keras has no types of its own.

# What Keras raises for files that are not what they seem; everything else is a bug of ours.
_FAULTS = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError, OSError, RuntimeError),
    *(ImportError, EOFError, NotImplementedError, AssertionError, zipfile.BadZipFile),
    *(MemoryError, OverflowError, RecursionError),
)
# What a name scope of TensorFlow may be called, from `tensorflow/python/framework/ops.py`.
_LAYER_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


@dataclass(frozen=True)
class Loaded:
    """A model from a file, and what a person should know about it."""

    model: Any
    notes: tuple[str, ...] = ()


def loaded(path: Path, *, modules: Sequence[str] = (), allows_code: bool = False) -> Loaded:
    """Load a model.

    Args:
        path: a `.keras` or `.h5` file.
        modules: to import first: they define the user's own layers.
        allows_code: whether code that is stored in the file may run.

    Raises:
        ModelError: it is no model, damaged, or needs code that is not there or not allowed.
    """
    try:
        trust.check_regular(path)
    except OSError as error:
        raise ModelError(
            f"{path}: this cannot be a model file ({error.strerror}).\n"
            "Give the .keras or .h5 file that `model.save` wrote."
        ) from error
    contents = contents_of(path)
    load_tensorflow()
    _check_code(path, contents, allows_code=allows_code)
    objects = custom_objects(modules)
    _check_custom(path, contents.custom, objects, is_imported=bool(modules))
    missing = _missing(contents.custom_training, objects)
    model = _opened(path, objects, compile=not missing, safe_mode=not allows_code)
    _check_names(path, model)
    return Loaded(model, _notes(missing))


def custom_objects(modules: Sequence[str]) -> dict[str, Any]:
    """Import modules; return the classes and functions that they define, by name."""
    found: dict[str, Any] = {}
    for place in modules:
        module = user_code.called(f"{place}:__dict__")
        if not isinstance(module, dict):
            raise UsageError(f"--import {place}: this is no module.")
        found |= {
            name: one
            for name, one in module.items()
            if not name.startswith("_") and (inspect.isclass(one) or inspect.isfunction(one))
        }
    return found


def _opened(path: Path, objects: dict[str, Any], *, compile: bool, safe_mode: bool) -> Any:
    import keras
    import tensorflow as tf

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an optimizer has other variables
            return keras.saving.load_model(
                path, custom_objects=objects, compile=compile, safe_mode=safe_mode
            )
    except (*_FAULTS, tf.errors.OpError) as error:
        if compile:  # what the training needs is in the way, perhaps
            return _opened(path, objects, compile=False, safe_mode=safe_mode)
        raise ModelError(
            f"{path}: Keras cannot load it ({type(error).__name__}: {_first_lines(error)}).\n"
            "Does keras.saving.load_model work on it, with this version of Keras"
            f" ({keras.__version__})?"
        ) from error


def _check_names(path: Path, model: Any) -> None:
    """Refuse names that TensorFlow would refuse later, in the middle of the work."""
    for layer in (model, *model._flatten_layers()):
        if not _LAYER_NAME.fullmatch(layer.name):
            raise ModelError(
                f"{path}: the name of a layer begins with a letter, a digit or a dot, and goes on"
                f" with these and `_-/>`: TensorFlow allows no others.\nReceived: {layer.name!r}\n"
                "Rename the layer where the model is built, and save it again."
            )


def _check_code(path: Path, contents: Contents, *, allows_code: bool) -> None:
    if not contents.lambdas or allows_code:
        return
    names = ", ".join(contents.lambdas[:5])
    raise ModelError(
        f"{path}: it holds Python code, which would run when it is loaded (Lambda layers: {names})."
        "\nIf you know where the file comes from, allow it:\n"
        f"    quickfit shrink {path} --allow-code …\n"
        "From Python: keras.saving.load_model(path, safe_mode=False), and give the model to"
        " quickfit.compression.shrink."
    )


def _check_custom(
    path: Path, names: Sequence[str], objects: dict[str, Any], *, is_imported: bool
) -> None:
    missing = _missing(names, objects)
    if not missing:
        return
    modules = [name.rpartition(".")[0] for name in missing if "." in name and ">" not in name]
    example = modules[0] if modules and not modules[0].startswith("keras") else "my_layers.py"
    said = "The modules that were imported do not define them." if is_imported else ""
    raise ModelError(
        f"{path}: it is made of classes or functions that are not of Keras: {', '.join(missing)}.\n"
        f"{said + chr(10) if said else ''}"
        "Name the module or file that defines them; it is imported first:\n"
        f"    quickfit shrink {path} --import {example} …"
    )


def _missing(names: Sequence[str], objects: dict[str, Any]) -> list[str]:
    import keras

    return [
        name
        for name in names
        if keras.saving.get_registered_object(name) is None
        and name.rpartition(">")[2].rpartition(".")[2] not in objects
    ]


def _notes(missing: Sequence[str]) -> tuple[str, ...]:
    if not missing:
        return ()
    return (
        f"The model was loaded without its training settings: {', '.join(missing)} is not of"
        " Keras and was not imported (--import). The loss is taken from the kind of output.",
    )


def _first_lines(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}…"
