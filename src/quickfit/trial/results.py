"""Hooks that see what a training computes in its first steps: batches, losses and weights.

It is for trials in which no time is taken; what it adds to the script costs time.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from quickfit.probes._fit_facts import keras_frame
from quickfit.probes._frame_locals import read_locals
from quickfit.probes._state import Current
from quickfit.trial.keeper import Keeper
from quickfit.trial.spec import Spec

Patch = Callable[[ModuleType], None]
TRAINER = "keras.src.backend.tensorflow.trainer"
ITERATORS = "tensorflow.python.data.ops.iterator_ops"
FUNCTIONS = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
TAPES = "tensorflow.python.eager.backprop"


def patches(spec: Spec) -> dict[str, Patch]:
    """Return what to patch after which import."""
    keeper = Keeper(spec)
    atexit.register(keeper.finish)

    def start(module: ModuleType) -> None:
        state = Current.state
        if state is not None:
            state.at_step = keeper.step_is_over

    return {
        TRAINER: functools.partial(_patch_trainer, keeper),
        ITERATORS: functools.partial(_patch_iterators, keeper),
        FUNCTIONS: functools.partial(_patch_functions, keeper),
        TAPES: functools.partial(_patch_tapes, keeper),
        "tensorflow.python.framework.ops": start,
    }


def _patch_trainer(keeper: Keeper, module: ModuleType) -> None:
    trainer, epochs = module.TensorFlowTrainer, module.TFEpochIterator
    init, make = epochs.__init__, trainer.make_train_function
    train_on_batch = trainer.train_on_batch

    @functools.wraps(init)
    def new_init(self: Any, *args: Any, **keywords: Any) -> None:
        frame = keras_frame()
        is_training = frame is not None and "epoch_iterator" not in read_locals(frame)
        init(self, *args, **keywords)
        if is_training and hasattr(self._distributed_dataset, "map"):
            self._distributed_dataset = _kept(self._distributed_dataset, keeper)

    @functools.wraps(make)
    def new_make(self: Any, *args: Any, **keywords: Any) -> Any:
        function = make(self, *args, **keywords)
        function = self.train_function or function
        if function is not None and not hasattr(function, "quickfit"):
            self.train_function = _told(function, self, keeper)
        return self.train_function

    @functools.wraps(train_on_batch)
    def new_train_on_batch(self: Any, *args: Any, **keywords: Any) -> Any:
        if not getattr(keeper.inside, "keras", False):
            keeper.batch("train_on_batch", _arrays((args, keywords)))
        keeper.inside.keras = True
        try:
            logs = train_on_batch(self, *args, **keywords)
        finally:
            keeper.inside.keras = False
        keeper.loss("train_on_batch", logs, 1)
        return logs

    epochs.__init__, trainer.make_train_function = new_init, new_make
    trainer.train_on_batch = new_train_on_batch


def _told(function: Any, model: Any, keeper: Keeper) -> Any:
    def train(iterator: Any) -> Any:
        keeper.inside.keras = True
        try:
            logs = function(iterator)
        finally:
            keeper.inside.keras = False
        if keras_frame() is not None:
            keeper.loss("fit", logs, int(getattr(model, "steps_per_execution", 1) or 1))
        return logs

    train.quickfit = True  # type: ignore[attr-defined]
    return train


def _kept(dataset: Any, keeper: Keeper) -> Any:
    """Return a dataset whose batches are kept on their way."""
    import tensorflow as tf

    def keep(*parts: Any) -> Any:
        keeper.batch("fit", list(parts))
        return True

    def through(*elements: Any) -> Any:
        flat = tf.nest.flatten(elements, expand_composites=True)
        done = tf.numpy_function(keep, flat, tf.bool)
        with tf.control_dependencies([done]):
            same = [tf.identity(part) for part in flat]
        packed = tf.nest.pack_sequence_as(elements, same, expand_composites=True)
        return packed if len(packed) > 1 or not _is_bare(dataset) else packed[0]

    return dataset.map(through)


def _is_bare(dataset: Any) -> bool:
    return not isinstance(dataset.element_spec, tuple)


def _patch_iterators(keeper: Keeper, module: ModuleType) -> None:
    original = module.OwnedIterator.__next__

    @functools.wraps(original)
    def following(self: Any) -> Any:
        element = original(self)
        if not getattr(keeper.inside, "keras", False):
            keeper.batch("next", _arrays(element))
        return element

    module.OwnedIterator.__next__ = following


def _patch_functions(keeper: Keeper, module: ModuleType) -> None:
    original = module.Function.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        is_inner = getattr(keeper.inside, "keras", False) or getattr(keeper.inside, "call", False)
        if is_inner or keras_frame() is not None:
            return original(self, *args, **keywords)
        keeper.batch("function", _arrays((args, keywords)))
        keeper.inside.call = True
        try:
            return original(self, *args, **keywords)
        finally:
            keeper.inside.call = False

    module.Function.__call__ = call


def _patch_tapes(keeper: Keeper, module: ModuleType) -> None:
    """Keep the loss of a step that the script wrote itself: what it takes the gradient of."""
    original = module.GradientTape.gradient

    @functools.wraps(original)
    def gradient(self: Any, target: Any, *args: Any, **keywords: Any) -> Any:
        if not getattr(keeper.inside, "keras", False) and keras_frame() is None:
            _keep_target(target, keeper)
        return original(self, target, *args, **keywords)

    module.GradientTape.gradient = gradient


def _keep_target(target: Any, keeper: Keeper) -> None:
    import tensorflow as tf

    def keep(value: Any) -> bool:
        keeper.loss("tape", float(value.mean()), 1)
        return True

    if not isinstance(target, tf.Tensor):
        return
    if hasattr(target, "numpy"):
        keep(target.numpy())
    elif not keeper.uses_xla:  # which has no way to call Python
        tf.numpy_function(keep, [target], tf.bool)


def _arrays(structure: Any) -> list[Any]:
    """Return the arrays and tensors with a first dimension in a structure, as arrays."""
    import numpy as np
    import tensorflow as tf

    found = []
    for value in tf.nest.flatten(structure, expand_composites=True):
        is_tensor = isinstance(value, tf.Tensor) and hasattr(value, "numpy")
        if (is_tensor or isinstance(value, np.ndarray)) and value.ndim:
            found.append(value.numpy() if is_tensor else value)
    return found
