"""Comes to the user's model and data: finds their function, calls it, looks at what it gave."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

from quickfit.errors import ModelError
from quickfit.tuning.trials.orders import Order
from quickfit.tuning.trials.recipes import Kind

# As `fit` has it.
DEFAULT_BATCH = 32
_BATCH_NAMES = ("batch_size", "batch")


class Built(NamedTuple):
    """What the user's function returned."""

    model: Any  # a Keras model; Keras tells no types
    data: Any  # what `fit` takes


class Builder:
    """The user's function, found once and called as often as needed.

    Args:
        order: says where it is.

    Raises:
        ModelError: it is not there, or cannot be called.
    """

    def __init__(self, order: Order) -> None:
        self._name = order.name
        self._batch_size = order.batch_size
        self._function = _found(order)
        self._batch_name = _batch_parameter(self._function, self._name)

    @property
    def own_batch(self) -> int:
        """The samples per step where nothing is asked for, and the data do not say."""
        if self._batch_size is not None:
            return self._batch_size
        default = None
        if self._batch_name is not None:
            default = inspect.signature(self._function).parameters[self._batch_name].default
        return default if isinstance(default, int) else DEFAULT_BATCH

    def build(self, batch: int | None) -> Built:
        """Call the function.

        Args:
            batch: the samples per step that are wanted; None for the user's own.

        Raises:
            ModelError: it returned something else than a compiled model and data.
        """
        options = {self._batch_name: batch or self.own_batch} if self._batch_name else {}
        return checked(self._function(**options), self._name)


def checked(returned: Any, name: str) -> Built:  # Any: the user's
    """Return what a function gave as a model and data.

    Raises:
        ModelError: it is something else.
    """
    import keras

    if isinstance(returned, tuple | list) and len(returned) in (3, 4):
        # (model, x, y) is meant as (model, (x, y)).
        model, *arrays = returned
        if all(hasattr(part, "shape") for part in arrays):
            returned = (model, tuple(arrays))
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise ModelError(
            f"{name} returned {described(returned)}. It must return two things, a compiled model "
            "and its data:\n    return model, dataset\nor\n    return model, (x, y)"
        )
    model, data = returned
    if not isinstance(model, keras.Model):
        raise ModelError(
            f"the first thing {name} returned is {described(model)}, not a Keras model. Write:\n"
            "    return model, dataset"
        )
    require_compiled(model, f"the model of {name}")
    return Built(model, data)


def require_compiled(model: Any, what: str) -> None:
    """See that a model can be trained.

    Args:
        model: a Keras model, or something else.
        what: what to call it in messages.

    Raises:
        ModelError: it is not compiled, or no model.
    """
    import keras

    if not isinstance(model, keras.Model):
        raise ModelError(f"{what} is {described(model)}, not a Keras model.")
    if not getattr(model, "compiled", False):
        raise ModelError(
            f"{what} is not compiled. Where it is made, add a line like\n"
            '    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")'
        )


def described(value: object) -> str:
    """Return what something is, for a message."""
    if isinstance(value, tuple | list):
        inner = ", ".join(type(part).__name__ for part in value[:5])
        return f"a {type(value).__name__} of {len(value)} ({inner})"
    return "nothing (None)" if value is None else f"a {type(value).__name__}"


def _found(order: Order) -> Callable[..., Any]:
    if order.kind is Kind.NAME:
        return _imported(order.name)
    if order.kind is Kind.MODEL:
        from quickfit.tuning.trials.saving import load

        return lambda: load(order.path)
    function: Callable[..., Any] = pickle.loads(order.path.read_bytes())
    return function


def _imported(name: str) -> Callable[..., Any]:
    module_name, _, attributes = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name != missing and not module_name.startswith(f"{missing}."):
            raise  # something that their module imports
        raise ModelError(_no_module(module_name, missing)) from None
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise ModelError(_no_function(module_name, attribute, dir(found)))
        found = getattr(found, attribute)
    if not callable(found):
        raise ModelError(f"{name} is {described(found)}, not a function.")
    function: Callable[..., Any] = found
    return function


def _no_module(module_name: str, missing: str) -> str:
    here = os.getcwd()
    files = [file[:-3] for file in os.listdir(here) if file.endswith(".py")]
    return (
        f"there is no module {missing!r} (for {module_name}), looked for from {here}."
        f"{_near(missing, files)}\nGo to the folder that holds it, and try again."
    )


def _no_function(module_name: str, attribute: str, names: list[str]) -> str:
    return (
        f"{module_name} has no function {attribute!r}.{_near(attribute, names)}\n"
        "Name a function that returns a compiled model and its data."
    )


def _near(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=3)
    return f" There is: {', '.join(near)}." if near else ""


def _batch_parameter(function: Callable[..., Any], name: str) -> str | None:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None  # built in; called without anything
    batch = next((word for word in _BATCH_NAMES if word in parameters), None)
    needed = [
        parameter.name
        for parameter in parameters.values()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        and parameter.name != batch
    ]
    if needed:
        raise ModelError(
            f"{name} needs arguments ({', '.join(needed)}), and nobody gives them here. Write a "
            "function without arguments, or with batch_size alone, that calls it."
        )
    return batch
