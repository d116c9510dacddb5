"""Counts live tensors, variables, graphs, models and their like, and reads device memory.

Counting walks all objects of the garbage collector while Python's lock is held: 50 ms for 300,000
objects. So it is done rarely, and not at all on a huge heap. It happens inside one call from C
with the collector held off: no other thread runs meanwhile, so none of the objects can lose its
last reference here and be finalized on our thread. Sizes are not asked for: picking the tensors out
would need Python code, or references that outlive the call.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import sys
import time
from collections import _count_elements  # type: ignore[attr-defined]
from collections.abc import Callable, Iterator
from typing import Any

from quickfit.probes import _private
from quickfit.probes._state import State, now

# At most this share of a core.
MAX_SHARE = 0.001
MIN_EVERY_S = 20.0
# Above this many memory blocks a count would stop training for a quarter of a second.
MAX_BLOCKS = 5_000_000
FIRST_STEP = 5
# A script without a loop that quickfit knows is looked at so long after TensorFlow came.
WITHOUT_LOOP_S = 20.0
DEVICE_MEMORY_EVERY_S = 2.0
# By kind: where its class is; subclasses count too.
_CLASSES = {
    "tensors": ("tensorflow.python.framework.ops", "EagerTensor"),
    "variables": ("tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable"),
    "graphs": ("tensorflow.python.framework.ops", "Graph"),
    "functions": (
        "tensorflow.python.eager.polymorphic_function.polymorphic_function",
        "Function",
    ),
    "models": ("keras.src.models.model", "Model"),
    "operations": ("tensorflow.python.framework.ops", "Operation"),
    "tapes": ("tensorflow.python.eager.backprop", "GradientTape"),
    "files": ("_io", "FileIO"),
}


class Census:
    """When objects were last counted, and what came out."""

    def __init__(self) -> None:
        self.due_s: float | None = None
        self.is_training = False
        self.is_too_large = False
        self.device_due_s = 0.0


def read(state: State) -> None:
    """Count objects and read device memory, when it is time to."""
    census: Census = state.kept.setdefault("census", Census())
    at_s = now()
    if not has_begun(state):
        return
    if not census.is_training and _is_training(state):
        # What was counted before the first steps has nothing to be compared with.
        census.is_training, census.due_s = True, None
    if census.due_s is None or at_s >= census.due_s:
        began_s = time.thread_time()
        is_first = census.due_s is None
        _count(state, census)
        cost_s = time.thread_time() - began_s
        # The second one comes soon, so that a short run has two to compare.
        census.due_s = at_s + (MIN_EVERY_S if is_first else max(MIN_EVERY_S, cost_s / MAX_SHARE))
    if at_s >= census.device_due_s and state.loops:
        census.device_due_s = at_s + DEVICE_MEMORY_EVERY_S
        _read_devices(state)


def has_begun(state: State) -> bool:
    """Tell whether training is under way: TensorFlow is there and some steps were taken."""
    if "tensorflow.python.framework.ops" not in sys.modules:
        return False
    if _is_training(state):
        return True
    came_s: float = state.kept.setdefault("tensorflow_came_s", now())
    return now() - came_s >= WITHOUT_LOOP_S and not state.loops


def _is_training(state: State) -> bool:
    return any(loop.steps >= FIRST_STEP for loop in state.loops)


def _count(state: State, census: Census) -> None:
    blocks = sys.getallocatedblocks() if hasattr(sys, "getallocatedblocks") else 0
    if blocks > MAX_BLOCKS:
        if not census.is_too_large:
            census.is_too_large = True
            told = f"live objects are no longer counted: Python holds {blocks:,} blocks of memory"
            state.writer.add("notes", (now(), told))
        return
    _check_names(state)
    classes = _known_classes()
    counts = type_counts()
    at_s = now()
    for kind, ids in classes.items():
        alive = sum(counts.get(number, 0) for number in ids)
        state.writer.add("objects", (at_s, kind, alive, None))
    state.writer.add("objects", (at_s, "all", sum(counts.values()), None))


def _check_names(state: State) -> None:
    """Record whether the private names are where they were; a missing one is not counted."""
    for module_name in _private.NAMES.get("memory", {}):
        module = sys.modules.get(module_name)
        if module is not None:
            hooks = _private.hooks_of("memory", module)
            state.hooks.update(((hook.probe, hook.name), hook) for hook in hooks)


def _known_classes() -> dict[str, set[int]]:
    """Return the ids of the classes of each kind, as far as they are imported."""
    found = {}
    for kind, (module, name) in _CLASSES.items():
        cls = getattr(sys.modules.get(module), name, None)
        if isinstance(cls, type):
            found[kind] = set(map(id, _with_subclasses(cls)))
    return found


def _with_subclasses(cls: type) -> list[type]:
    classes = [cls]
    for one in classes:
        below: list[type] = type.__subclasses__(one)
        classes += [each for each in below if each not in classes]
    return classes


def type_counts() -> dict[int, int]:
    """Return how many objects the collector knows, by the id of their type."""
    counts: dict[int, int] = {}
    # The id, because a metaclass may have a hash in Python.
    _uninterrupted(functools.partial(_count_elements, counts, map(id, map(type, _objects()))))
    return counts


def _objects() -> Iterator[Any]:
    """Return an iterator that asks for the objects only when its first one is wanted."""
    return itertools.chain.from_iterable(map(operator.call, (gc.get_objects,)))


def _uninterrupted(call: Callable[[], Any]) -> None:
    """Call something made of C functions, so that no other thread and no finalizer runs."""
    if not gc.isenabled():
        call()
        return
    try:
        list(map(operator.call, (gc.disable, call, gc.enable)))
    except BaseException:
        gc.enable()
        raise


def _read_devices(state: State) -> None:
    """Record the memory of each GPU.

    Only once a loop has begun, when TensorFlow has long set up its devices: asking must not
    start CUDA. Never called for a CPU, which has no such counter. Not tried on a GPU yet.
    """
    tensorflow: Any = sys.modules.get("tensorflow")
    if tensorflow is None or not tensorflow.config.list_physical_devices("GPU"):
        return
    for place, _ in enumerate(tensorflow.config.list_logical_devices("GPU")):
        told = tensorflow.config.experimental.get_memory_info(f"GPU:{place}")
        row = (f"GPU:{place}", now(), int(told["current"]), int(told["peak"]))
        state.writer.add("device_memory", row)
