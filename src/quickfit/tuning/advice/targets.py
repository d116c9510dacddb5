"""What is tuned: a function by its name, a function, or a model with its data."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.trials.recipes import Recipe, by_function, by_model, by_name
from quickfit.tuning.trials.settings import Setting

_WAYS = (
    "Give one of these:\n"
    "    advise(model, data)          a compiled model and its data\n"
    "    advise(build)                a function that returns both: return model, data\n"
    '    advise("train:build")        such a function in train.py, by name'
)


def recipe_of(target: Any, data: Any, folder: Path) -> Recipe:
    """Return how a child comes to what is tuned.

    Args:
        target: a name, a function, or a compiled model.
        data: of the model.
        folder: an empty one, for a model that has to be saved.

    Raises:
        UsageError: it is nothing of these.
        ModelError: it cannot be carried to another process, or TensorFlow is missing.
    """
    check_tensorflow()
    if is_model(target):
        return _of_model(target, data, folder)
    if not isinstance(target, str) and not callable(target):
        raise UsageError(f"advise: {_kind(target)} cannot be trained.\n{_WAYS}")
    if data is not None:
        raise UsageError(
            f"advise: {_named(target)} was given with data beside it. A function returns both:\n"
            "    def build():\n        return model, data"
        )
    if isinstance(target, str):
        name = module_name(target)
        return by_name(name, cwd=Path.cwd())
    return by_function(target)


def check_tensorflow() -> None:
    """Make sure that children will find TensorFlow.

    Raises:
        ModelError: it is not installed.
    """
    for name in ("tensorflow", "keras"):
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            raise ModelError(
                f"tune: {name} is not installed for {sys.executable}, and nothing can be trained"
                " without it.\nInstall it: pip install 'quickfit[cpu]', or 'quickfit[gpu]' for a"
                " GPU"
            )


def is_model(target: Any) -> bool:
    """Tell whether something is a Keras model, which may be called like a function."""
    return not isinstance(target, type) and all(
        hasattr(target, name) for name in ("fit", "compile", "get_weights")
    )


def module_name(target: str) -> str:
    """Return `module:function` of what names a file: `src/train.py:build`.

    The folder of the file is then searched first, as it is when Python runs the file.

    Raises:
        UsageError: there is no such file.
    """
    place, colon, function = target.rpartition(":")
    if colon and "/" in place and not place.endswith(".py"):
        raise UsageError(_of_path(target, place, function))
    if not colon or not place.endswith(".py"):
        return target
    file = Path(place)
    if not file.is_file():
        raise UsageError(
            f"{target}: there is no file {place} in {Path.cwd()}.\n"
            "Name it from this folder, or go to its folder first."
        )
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # children search where this process does
    return f"{file.stem}:{function}"


def _of_path(target: str, place: str, function: str) -> str:
    """Return what to say of a path where a module is expected."""
    text = f"{target} does not name a function: a module has dots, and a file ends with .py."
    if Path(f"{place}.py").is_file():
        return f"{text}\nName the file:\n    {place}.py:{function}"
    return f"{text}\nThere is no file {place}.py in {Path.cwd()}."


def own_setting(target: Any) -> Setting:
    """Return what a model has been compiled with; nothing is known of what is no model yet."""
    if not is_model(target):
        return Setting()
    return Setting(
        jit=bool(getattr(target, "jit_compile", False)),
        steps_per_execution=int(getattr(target, "steps_per_execution", None) or 1),
        policy=getattr(getattr(target, "dtype_policy", None), "name", None),
    )


def name_of(target: Any) -> str:
    """Return what to call it in a report."""
    if isinstance(target, str):
        return target
    if is_model(target):
        return str(getattr(target, "name", "the model"))
    return str(getattr(target, "__qualname__", type(target).__name__))


def _of_model(model: Any, data: Any, folder: Path) -> Recipe:
    if data is None:
        raise UsageError(
            "advise: the model was given without data.\n"
            "Give what `fit` gets: advise(model, dataset), or advise(model, (x, y))"
        )
    if not getattr(model, "compiled", True):
        raise ModelError(
            f"advise: the model {name_of(model)!r} is not compiled, so nothing says how it is"
            " trained.\nCompile it first, as for `fit`:\n"
            '    model.compile("adam", loss="sparse_categorical_crossentropy")'
        )
    return by_model(model, data, folder)


def _named(target: str | Callable[..., Any]) -> str:
    return repr(target) if isinstance(target, str) else f"the function {name_of(target)}"


def _kind(target: Any) -> str:
    if target is None:
        return "None"
    name = type(target).__name__
    text = f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
    return f"{text} ({target!r:.60})"
