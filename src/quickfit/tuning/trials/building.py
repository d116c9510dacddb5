"""In a trial's process: loads TensorFlow, finds the user's function, builds the model with one
setting.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from quickfit.errors import ModelError
from quickfit.lab.child_side import limit_memory
from quickfit.tuning.numerics.guard import require_tensorflow
from quickfit.tuning.trials import resources
from quickfit.tuning.trials.batch_elements import describe_value
from quickfit.tuning.trials.feeds import BatchFeed, in_memory, make_feed, reset_seeds
from quickfit.tuning.trials.settings import RecipeKind, Setting, TrialOrder

# As `fit` has it.
DEFAULT_BATCH = 32
_BATCH_NAMES = ("batch_size", "batch")


class BuiltModel(NamedTuple):
    """What the user's function returned."""

    model: Any  # a Keras model; Keras tells no types
    data: Any  # what `fit` takes


class ModelBuilder:
    """The user's function, found once and called as often as needed.

    Args:
        order: says where it is.

    Raises:
        ModelError: it is not there, or cannot be called.
    """

    def __init__(self, order: TrialOrder) -> None:
        self._name = order.name
        self._batch_size = order.batch_size
        self._function = _find_function(order)
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

    def build(self, batch: int | None) -> BuiltModel:
        """Call the function.

        Args:
            batch: the samples per step that are wanted; None for the user's own.

        Raises:
            ModelError: it returned something else than a compiled model and data.
        """
        options = {self._batch_name: batch or self.own_batch} if self._batch_name else {}
        return check_built(self._function(**options), self._name)


def check_built(returned: Any, name: str) -> BuiltModel:  # Any: the user's
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
            f"{name} returned {describe_value(returned)}. It must return two things, a compiled "
            "model and its data:\n    return model, dataset\nor\n    return model, (x, y)"
        )
    model, data = returned
    if not isinstance(model, keras.Model):
        raise ModelError(
            f"the first thing {name} returned is {describe_value(model)}, not a Keras model. "
            "Write:\n"
            "    return model, dataset"
        )
    require_compiled(model, f"the model of {name}")
    return BuiltModel(model, data)


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
        raise ModelError(f"{what} is {describe_value(model)}, not a Keras model.")
    if not getattr(model, "compiled", False):
        raise ModelError(
            f"{what} is not compiled. Where it is made, add a line like\n"
            '    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")'
        )


def _find_function(order: TrialOrder) -> Callable[..., Any]:
    if order.kind is RecipeKind.NAME:
        return _import_function(order.name)
    if order.kind is RecipeKind.MODEL:
        from quickfit.tuning.trials.saving import load_saved

        return lambda: load_saved(order.path)
    function: Callable[..., Any] = pickle.loads(order.path.read_bytes())
    return function


def _import_function(name: str) -> Callable[..., Any]:
    module_name, _, attributes = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name != missing and not module_name.startswith(f"{missing}."):
            raise  # something that their module imports
        raise ModelError(_no_module_error(module_name, missing)) from None
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise ModelError(_no_function_error(module_name, attribute, dir(found)))
        found = getattr(found, attribute)
    if not callable(found):
        raise ModelError(f"{name} is {describe_value(found)}, not a function.")
    function: Callable[..., Any] = found
    return function


def _no_module_error(module_name: str, missing: str) -> str:
    here = os.getcwd()
    files = [file[:-3] for file in os.listdir(here) if file.endswith(".py")]
    return (
        f"there is no module {missing!r} (for {module_name}), looked for from {here}."
        f"{_near_names(missing, files)}\nGo to the folder that holds it, and try again."
    )


def _no_function_error(module_name: str, attribute: str, names: list[str]) -> str:
    return (
        f"{module_name} has no function {attribute!r}.{_near_names(attribute, names)}\n"
        "Name a function that returns a compiled model and its data."
    )


def _near_names(name: str, names: list[str]) -> str:
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


class AssembledTraining(NamedTuple):
    """What a trial trains, and on what."""

    model: Any  # a Keras model; Keras tells no types
    feed: BatchFeed


class TrainingAssembler:
    """Makes the same model and data as often as needed.

    Args:
        order: what to build, and with which setting.

    Raises:
        ModelError: the user's function is not there, or cannot be called.
    """

    def __init__(self, order: TrialOrder) -> None:
        reset_seeds()
        self._order = order
        self._builder = ModelBuilder(order)

    def assemble(self, *, keeps_input: bool = False) -> AssembledTraining:
        """Make everything from the first seed.

        Args:
            keeps_input: feed the user's own data even where the setting has them in memory.

        Raises:
            ModelError: what the user's function returned cannot be tried with this setting.
        """
        setting = self._order.setting
        built = self._built(setting)
        check_threads(setting)
        _change_compiling(built.model, setting)
        feed = make_feed(built.data, setting.batch, self._builder.own_batch)
        _require_labels(built.model, feed)
        if setting.in_memory and not keeps_input:
            feed = in_memory(feed)
        return AssembledTraining(built.model, feed)

    def _built(self, setting: Setting) -> BuiltModel:
        reset_seeds()
        built = self._builder.build(setting.batch)
        return built if setting.policy is None else self._in_policy(built, setting.policy)

    def _in_policy(self, built: BuiltModel, policy: str) -> BuiltModel:
        import keras

        from quickfit.tuning.precision import apply_precision

        try:
            return BuiltModel(apply_precision(built.model, policy), built.data)
        except ModelError:
            if self._order.kind is RecipeKind.MODEL:
                raise
        # A subclassed model takes the policy only while it is made.
        keras.config.set_dtype_policy(policy)
        reset_seeds()
        return self._builder.build(self._order.setting.batch)


def _require_labels(model: Any, feed: BatchFeed) -> None:
    import keras

    own = keras.Model
    is_plain = type(model).train_step is own.train_step and (
        type(model).compute_loss is own.compute_loss
    )
    if is_plain and model.loss is not None and not feed.has_labels:
        raise ModelError(
            f"the data are inputs alone, and the loss of the model ({_loss_name(model)}) needs "
            "labels too. Return batches or arrays of (x, y); for an autoencoder, (x, x)."
        )


def _loss_name(model: Any) -> str:
    loss = model.loss
    return loss if isinstance(loss, str) else str(getattr(loss, "name", type(loss).__name__))


def _change_compiling(model: Any, setting: Setting) -> None:
    """Set how the step is compiled; optimizer, losses and metrics stay the objects they are."""
    if setting.jit is not None:
        if setting.jit and model.run_eagerly:
            raise ModelError(
                "the model is compiled with run_eagerly=True, so XLA has nothing to compile. "
                "Remove run_eagerly=True first: it costs more than XLA can gain."
            )
        model.jit_compile = setting.jit
        if bool(model.jit_compile) != setting.jit:
            raise ModelError("a layer of this model does not support XLA (supports_jit=False).")
    if setting.steps_per_execution is not None:
        model.steps_per_execution = setting.steps_per_execution
    model.train_function = None
    model.test_function = None


def load_tensorflow(order: TrialOrder) -> int:
    """Load TensorFlow, set its threads and the limit; return the memory that it all holds.

    Raises:
        ModelError: TensorFlow is not installed.
    """
    try:
        import keras
        import tensorflow as tf
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{error.name} is not installed for {sys.executable}.\n"
            "Install it: pip install 'quickfit[cpu]', or 'quickfit[gpu]' for a GPU"
        ) from None
    require_tensorflow("A trial", keras.config.backend())
    redirect_dataset_caches(order.scratch)
    _set_threads(order.setting)
    if order.limit_bytes is not None:
        tf.constant(0) + 1  # starts the runtime, whose threads have stacks
        limit_memory(order.limit_bytes)
    return resources.held_bytes()


def _set_threads(setting: Setting) -> None:
    import tensorflow as tf

    if setting.intra_threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(setting.intra_threads)
    if setting.inter_threads is not None:
        tf.config.threading.set_inter_op_parallelism_threads(setting.inter_threads)


def check_threads(setting: Setting) -> None:
    """See that the user's code has left the threads as the setting has them.

    Raises:
        ModelError: it has set them itself.
    """
    import tensorflow as tf

    threading = tf.config.threading
    for wanted, found, what in (
        (setting.intra_threads, threading.get_intra_op_parallelism_threads(), "intra"),
        (setting.inter_threads, threading.get_inter_op_parallelism_threads(), "inter"),
    ):
        if wanted is not None and wanted != found:
            raise ModelError(
                f"your code sets the {what}-op threads to {found} itself, so {wanted} cannot be "
                f"tried. Remove its call of tf.config.threading.set_{what}_op_parallelism_threads."
            )


def redirect_dataset_caches(scratch: Path) -> None:
    """Let `Dataset.cache(filename)` write to a scratch folder.

    A trial ends in the middle of an epoch and leaves a half-written cache with its lock file,
    which would keep the user's next run from starting. One that is complete is only read.
    """
    import tensorflow as tf

    original = tf.data.Dataset.cache
    numbers = count()

    def cache(self: Any, filename: Any = "", name: str | None = None) -> Any:  # Any: the user's
        if isinstance(filename, str | os.PathLike) and os.fspath(filename):
            if not os.path.exists(f"{os.fspath(filename)}.index"):
                filename = scratch / f"cache-{next(numbers)}"
            filename = os.fspath(filename)
        return original(self, filename, name)

    tf.data.Dataset.cache = cache
