"""Hooks that see what a training computes in its first steps: batches, losses and weights.

They are for trials in which no time is taken; what they add to the script costs time.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from quickfit.lab.sandbox.spec import RESULTS_FILE, ROWS_FILE, WEIGHTS_FILE, Spec
from quickfit.probes._fit_facts import keras_frame
from quickfit.probes._frame_locals import read_locals
from quickfit.probes._state import Current

# A part of a row with this many values is an image or the like; smaller ones are kept as they are,
# all their values: what is not kept could differ unseen.
BIG = 64
# The rough picture: means of so many stretches of the row.
STRETCHES = 64


def described(parts: list[Any]) -> dict[str, Any]:
    """Return what is kept of one batch, given its parts as arrays.

    `digests` is one text per row; `small` the values of its small parts, such as labels; `rough`
    the means of stretches of its large parts; `raw` the large parts themselves.
    """
    import numpy as np

    arrays = [np.asarray(part) for part in parts]
    rows = _rows(arrays)
    if not rows:
        arrays, rows = [array[None] for array in arrays], 1
    # A slice and not an element: a text of a row of texts would be no array.
    by_row = [[array[row : row + 1] for array in arrays] for row in range(rows)]
    return {
        "digests": [_digest(parts) for parts in by_row],
        "small": [_small(parts) for parts in by_row],
        "rough": [_rough(parts) for parts in by_row],
        "raw": [_large(parts) for parts in by_row],
    }


def _rows(arrays: list[Any]) -> int:
    """Return how many rows a batch has; 0 where its parts do not have the same number."""
    lengths = {array.shape[0] if array.ndim else 0 for array in arrays}
    return int(lengths.pop()) if len(lengths) == 1 else 0


def _digest(parts: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(str(part.dtype).encode())
        digest.update(repr(part.tolist()).encode() if part.dtype == object else part.tobytes())
    return digest.hexdigest()


def _is_big(part: Any) -> bool:
    return bool(part.size >= BIG and part.dtype.kind in "fiub")


def _small(parts: list[Any]) -> list[Any]:
    small = [part for part in parts if not _is_big(part)]
    values = [value for part in small for value in part.ravel().tolist()]
    return [v if isinstance(v, int | float | bool) else repr(v) for v in values]


def _rough(parts: list[Any]) -> list[float]:
    import numpy as np

    means: list[float] = []
    for part in (part for part in parts if _is_big(part)):
        stretches = np.array_split(part.ravel().astype(np.float64), STRETCHES)
        means += [float(stretch.mean()) for stretch in stretches]
    return means


def _large(parts: list[Any]) -> Any:
    import numpy as np

    large = [part.ravel().astype(np.float32) for part in parts if _is_big(part)]
    return np.concatenate(large) if large else np.zeros(0, np.float32)


# Large rows are kept up to this size; their digests and rough pictures always.
MAX_RAW_BYTES = 64e6
MAX_WEIGHT_BYTES = 512e6
# One epoch is kept in full where it is over by then; no trial of this kind takes longer than that.
EPOCH_S, LONGEST_S = 20.0, 45.0


class Keeper:
    """Takes what the hooks see and writes it to the trial's scratch folder."""

    def __init__(self, spec: Spec) -> None:
        self._folder = spec.scratch
        self._steps = spec.results_steps
        self._file = open(os.path.join(spec.scratch, RESULTS_FILE), "w", buffering=1)  # noqa: SIM115
        self._lock = threading.Lock()
        self._raw: list[Any] = []
        self._raw_bytes = 0.0
        self._saved: dict[str, Any] = {}
        self._iterations: dict[int, int] = {}
        self.uses_xla = _names_xla(spec)
        self._made = 0
        self._began_s: float | None = None
        self.losses = 0
        self.inside = threading.local()
        self._is_over = False

    def write(self, **facts: Any) -> None:
        """Write one line."""
        with self._lock:
            if not self._is_over:
                self._file.write(json.dumps(facts) + "\n")

    def batch(self, channel: str, parts: list[Any]) -> None:
        """Keep a batch."""
        kept = described(parts)
        raw = kept.pop("raw")
        with self._lock:
            for row in raw:
                if self._raw_bytes + row.nbytes <= MAX_RAW_BYTES:
                    self._raw_bytes += row.nbytes
                    self._raw.append(row)
        self.write(kind="batch", channel=channel, **kept)

    def loss(self, channel: str, logs: Any, steps: int) -> None:
        """Keep the loss of a step, or what Keras says after several: running means in `fit`."""
        self.losses += steps
        values = {name: float(value) for name, value in _named(logs).items()}
        told = {name: value.hex() for name, value in values.items()}
        self.write(kind="loss", channel=channel, step=self.losses, values=told)

    def step_is_over(self) -> bool:
        """Keep the weights after a step; tell whether enough was seen."""
        state = Current.state
        now_s = time.monotonic()
        self._began_s = self._began_s or now_s
        took_s = now_s - self._began_s
        optimizers, weights = _optimizers_and_weights()
        steps = self._count(optimizers)
        if steps and steps <= self._steps:
            self.write(kind="weights", step=steps, digest=_weights_digest(weights), time_s=took_s)
            self._save(weights, steps)
        epochs = [loop.epoch for loop in state.loops if loop.trains] if state else []
        is_epoch_over = max(epochs, default=0) > 1
        done = state.steps if state is not None else 0
        is_enough = done > self._steps and (is_epoch_over or took_s > EPOCH_S)
        if is_enough or took_s > LONGEST_S:
            self.finish()
            return True
        return False

    def _count(self, optimizers: list[Any]) -> int:
        """Return the steps of all optimizers so far; one that is made anew begins at zero."""
        for optimizer in optimizers:
            steps = int(optimizer.iterations.numpy())
            before = self._iterations.get(id(optimizer), 0)
            self._made += steps - before if steps >= before else steps
            self._iterations[id(optimizer)] = steps
        return self._made

    def _save(self, weights: list[Any], steps: int) -> None:
        if sum(array.nbytes for array in weights) <= MAX_WEIGHT_BYTES / max(self._steps, 1):
            named = {f"{steps:06d}_{number:05d}": array for number, array in enumerate(weights)}
            self._saved.update(named)

    def finish(self) -> None:
        """Write what was gathered in memory."""
        import numpy as np

        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            self._file.close()
            rows = {f"{number:06d}": row for number, row in enumerate(self._raw)}
        np.savez(os.path.join(self._folder, ROWS_FILE), **rows)
        np.savez(os.path.join(self._folder, WEIGHTS_FILE), **self._saved)


def _names_xla(spec: Spec) -> bool:
    """Tell whether the script asks for XLA anywhere in its own files."""
    files = [spec.files.get(spec.script, spec.script), *spec.files.values()]
    for file in filter(None, files):
        try:
            with open(file, "rb") as source:
                if b"jit_compile" in source.read():
                    return True
        except OSError:
            continue
    return False


def _named(logs: Any) -> dict[str, Any]:
    if isinstance(logs, dict):
        return {str(name): value for name, value in logs.items() if _is_number(value)}
    values = logs if isinstance(logs, list | tuple) else [logs]
    return {str(number): value for number, value in enumerate(values) if _is_number(value)}


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _optimizers_and_weights() -> tuple[list[Any], list[Any]]:
    """Return the optimizers that live, and the values of trainable variables, oldest first."""
    import gc
    import sys

    variables = sys.modules.get("tensorflow.python.ops.resource_variable_ops")
    optimizers = sys.modules.get("keras.src.optimizers.base_optimizer")
    if variables is None or optimizers is None:
        return [], []
    found, living = [], []
    for thing in gc.get_objects():
        kind = type(thing)
        if issubclass(kind, variables.ResourceVariable):
            if thing.trainable:
                found.append(thing)
        elif issubclass(kind, optimizers.BaseOptimizer):
            living.append(thing)
    found.sort(key=_age)
    return living, [variable.numpy() for variable in found]


def _age(variable: Any) -> int:
    number = str(getattr(variable, "_unique_id", "0")).rpartition("_")[2]
    return int(number) if number.isdigit() else 0


def _weights_digest(arrays: list[Any]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(str(array.shape).encode() + array.tobytes())
    return digest.hexdigest()


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
