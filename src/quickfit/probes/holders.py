"""Looks which names of the script hold much memory: lists, dictionaries, arrays, variables.

A look happens only after the memory of the process has grown, or while the steps take longer than
they did, so a healthy run has few of them. It starts at what the user's code can name: globals of
the user's modules, local variables of their functions that run, callbacks and Python inputs. It
follows containers, attributes of the user's own objects, closures and defaults. It runs no code of
the user: containers are read with the methods of the built-in types, sizes come from NumPy's and
TensorFlow's own counters.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import json
import sys
import time
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

from quickfit.probes._frame_locals import keeps_no_locals, read_locals
from quickfit.probes._held_sizes import (
    CONTAINERS,
    MAX_ITEMS,
    PLAIN,
    array_classes,
    attributes_of,
    bound_of,
    is_variable,
    kind_of,
    length_of,
    sample_of,
    tensor_bytes,
    tensor_classes,
    variable_bytes,
)
from quickfit.probes._places import absolute, is_user_file
from quickfit.probes._state import Loop, State, now
from quickfit.probes._user_modules import user_modules
from quickfit.probes.stacks import all_frames

# Memory must grow by so much for a look, or by this share of what is in use.
MIN_GROWN_BYTES = 48_000_000
MIN_GROWN_SHARE = 1 / 16
# Steps that take so many times as long as at best are slower. Then, too, a look is worth its cost:
# a variable that a step computes with may grow by little and take much longer.
SLOWER = 1.3
# A rate is that of so many steps at least, over so long; the next look for it comes when the loop
# is that much older.
MIN_RATE_STEPS, MIN_RATE_S = 5, 0.9
LATER_SHARE = 0.2
# At most this share of a core, and so long at once.
MAX_SHARE = 0.004
MAX_LOOK_S = 0.02
# Smaller holders are not recorded, and of the others the largest. What one name alone is, and not
# what it contains, may be small and be computed with in every step.
MIN_BYTES = 1_000_000
MIN_SINGLE_BYTES = 20_000
SINGLE = ("variable", "tensor", "array")
MAX_HOLDERS = 20
MAX_NAMES = 3
# From a name to what it holds: `trainer.buffer["images"][3]`.
MAX_DEPTH = 5


class Holder:
    """Something with a name that holds memory.

    Args:
        names: where it is known: file, function or class, and the name as it is written there.
        content: bytes by what they are: `tensors`, `arrays`, `plain`.
    """

    def __init__(self, kind: str, items: int, bound: int | None) -> None:
        self.names: list[tuple[str, str, str]] = []
        self.kind = kind
        self.items = items
        self.bound = bound
        self.content: dict[str, float] = {}

    @property
    def bytes(self) -> float:
        """All that it holds."""
        return sum(self.content.values())


class Looks:
    """When the script's names were last looked at, and how much memory was in use then."""

    def __init__(self) -> None:
        self.most_bytes = 0
        self.due_s = 0.0
        self._modules: list[tuple[str, str]] = []
        self._imported = 0
        self._loop = -1
        self._steps = 0
        self._from_s = self._slower_due_s = 0.0
        self._best_rate = 0.0

    def is_slower(self, loop: Loop | None, at_s: float) -> bool:
        """Tell whether steps take longer than they did, and that is worth a look by now."""
        if loop is None:
            return False
        if loop.id != self._loop:
            self._loop, self._best_rate, self._slower_due_s = loop.id, 0.0, 0.0
            self._steps, self._from_s = loop.steps, at_s
        steps, lasted_s = loop.steps - self._steps, at_s - self._from_s
        if steps < MIN_RATE_STEPS or lasted_s < MIN_RATE_S:
            return False
        rate = steps / lasted_s
        self._steps, self._from_s = loop.steps, at_s
        self._best_rate = max(self._best_rate, rate)
        if rate * SLOWER > self._best_rate or at_s < self._slower_due_s:
            return False
        self._slower_due_s = at_s + LATER_SHARE * (at_s - loop.begin_s)
        return True

    def user_modules(self) -> list[tuple[str, dict[str, Any]]]:
        """Return file and globals of the user's modules, looked for when something was imported.

        Their names are kept and not their globals, which must be gone when the script ends.
        """
        if len(sys.modules) != self._imported:
            self._imported = len(sys.modules)
            self._modules = user_modules()
        known = [(file, sys.modules.get(name)) for file, name in self._modules]
        return [
            (file, ModuleType.__getattribute__(module, "__dict__"))
            for file, module in known
            if isinstance(module, ModuleType)
        ]


def read(state: State, own_bytes: int | None) -> None:
    """Look at what the script's names hold, if memory has grown, or steps have become slower.

    Args:
        state: of this process.
        own_bytes: the memory in use, without pages of files.
    """
    looks: Looks = state.kept.setdefault("holders", Looks())
    if own_bytes is None or "tensorflow.python.framework.ops" not in sys.modules:
        return
    if not looks.most_bytes:
        looks.most_bytes = own_bytes  # with what was imported
        return
    at_s = now()
    step = max(MIN_GROWN_BYTES, MIN_GROWN_SHARE * looks.most_bytes)
    has_grown = own_bytes >= looks.most_bytes + step
    loop = next(reversed(state.active_loops()), None)
    if not (looks.is_slower(loop, at_s) or has_grown) or at_s < looks.due_s:
        return
    if has_grown:
        looks.most_bytes = own_bytes
    began_s = time.thread_time()
    found = largest_holders(state, looks.user_modules())
    cost_s = time.thread_time() - began_s
    looks.due_s = now() + cost_s / MAX_SHARE
    _write(state, found)


def largest_holders(state: State, modules: list[tuple[str, dict[str, Any]]]) -> list[Holder]:
    """Return what holds most, the largest first.

    Args:
        state: of this process.
        modules: file and globals of the user's modules.
    """
    look = _Look(time.thread_time() + MAX_LOOK_S)
    for file, names in modules:
        look.namespace(names, file, "")
    for frame in _user_frames(look):
        names = read_locals(frame)
        look.namespace(names, absolute(frame.f_code.co_filename), frame.f_code.co_name)
        names.clear()
    for value in (*_given_to_keras(state), *_given_to_tensorflow()):
        look.follow(value, "", "", "", 0)
    holders = [holder for holder in look.holders.values() if holder.bytes >= _least(holder)]
    return sorted(holders, key=lambda holder: -holder.bytes)[:MAX_HOLDERS]


def _least(holder: Holder) -> int:
    return MIN_SINGLE_BYTES if holder.kind in SINGLE else MIN_BYTES


class _Look:
    """One walk over what the user's names hold."""

    def __init__(self, until_s: float) -> None:
        self.until_s = until_s
        # By id, as long as the look lasts; everything is alive meanwhile, or was then.
        self.holders: dict[int, Holder] = {}
        self.seen: set[int] = set()
        self.arrays = array_classes()
        self.tensors = tensor_classes()

    @property
    def is_over(self) -> bool:
        return time.thread_time() >= self.until_s

    def namespace(
        self, names: dict[str, Any], file: str, scope: str, prefix: str = "", depth: int = 0
    ) -> None:
        """Follow all names of a module, a function or an object."""
        for name, value in list(dict.items(names)):
            if self.is_over:
                return
            if type(name) is str and not name.startswith("__"):
                self.follow(value, file, scope, prefix + name, depth)

    def follow(self, value: Any, file: str, scope: str, name: str, depth: int) -> None:
        """Measure what a name holds, or go on to the names of the object itself."""
        cls = type(value)
        number = id(value)
        if number in self.holders:
            names = self.holders[number].names
            if len(names) < MAX_NAMES and (file, scope, name) not in names:
                names.append((file, scope, name))
            return
        if issubclass(cls, CONTAINERS) or self._is_data(value):
            holder = Holder(kind_of(cls), length_of(value), bound_of(value))
            if name:
                self.holders[number] = holder
                holder.names.append((file, scope, name))
            self._measure(value, holder.content, 1.0, depth)
            self._follow_items(value, depth)
        elif number not in self.seen and depth < MAX_DEPTH:
            self._follow_object(value, file, scope, name, depth)

    def _follow_object(self, value: Any, file: str, scope: str, name: str, depth: int) -> None:
        cls = type(value)
        if cls is MethodType:
            self.follow(value.__self__, file, scope, name, depth)
            return
        if cls is FunctionType:
            if is_user_file(value.__code__.co_filename):
                self.seen.add(id(value))
                self._follow_function(value, depth)
            return
        if cls is GeneratorType:
            self.seen.add(id(value))
            frame = value.gi_frame
            if frame is not None and _may_look(frame.f_code):
                names = read_locals(frame)
                where = absolute(frame.f_code.co_filename)
                self.namespace(names, where, frame.f_code.co_name, depth=depth + 1)
            return
        if cls is functools._lru_cache_wrapper:
            self.seen.add(id(value))
            self._follow_lru_cache(value, file, scope, name, depth)
            return
        owner = value if issubclass(cls, type) else cls
        where = _file_of_class(owner)
        attributes = attributes_of(value) if where else None
        if where and attributes:
            self.seen.add(id(value))
            self.namespace(attributes, where, owner.__name__, "self.", depth + 1)

    def _follow_function(self, function: FunctionType, depth: int) -> None:
        code = function.__code__
        where = absolute(code.co_filename)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                self.follow(cell.cell_contents, where, code.co_name, name, depth + 1)
            except ValueError:  # an empty cell
                continue
        names = code.co_varnames[: code.co_argcount]
        given = function.__defaults__ or ()
        for name, value in zip(names[len(names) - len(given) :], given, strict=False):
            self.follow(value, where, code.co_name, name, depth + 1)

    def _follow_lru_cache(self, value: Any, file: str, scope: str, name: str, depth: int) -> None:
        """Measure what `functools.lru_cache` keeps: in a dictionary or, with a bound, in links."""
        info = value.cache_info()
        referents = [one for one in gc.get_referents(value) if type(one) is not FunctionType]
        if info.maxsize is None:
            cache = next((one for one in referents if type(one) is dict and len(one)), {})
            items = list(itertools.islice(dict.values(cache), MAX_ITEMS))
        else:
            items = referents[: 2 * MAX_ITEMS]  # keys and results, which the links hold
        holder = Holder("lru_cache", info.currsize, info.maxsize)
        self.holders[id(value)] = holder
        holder.names.append((file, scope, name))
        scale = max(info.currsize / MAX_ITEMS, 1.0)
        for item in items:
            self._measure(item, holder.content, scale, depth + 1)

    def _follow_items(self, value: Any, depth: int) -> None:
        """Go on to the user's own objects inside a small container, such as a list of callbacks."""
        if depth < MAX_DEPTH and issubclass(type(value), CONTAINERS) and length_of(value) <= 100:
            for item in sample_of(value)[0]:
                if not issubclass(type(item), CONTAINERS) and not self._is_data(item):
                    self.follow(item, "", "", "", depth + 1)

    def _is_data(self, value: Any) -> bool:
        cls = type(value)
        return cls in self.arrays or cls in self.tensors or is_variable(cls)

    def _measure(self, value: Any, content: dict[str, float], scale: float, depth: int) -> None:
        """Add the bytes of a value to what its holder holds; what was seen is counted once."""
        cls = type(value)
        if cls in PLAIN:
            content["plain"] = content.get("plain", 0.0) + scale * sys.getsizeof(value)
            return
        number = id(value)
        if number in self.seen or depth > MAX_DEPTH:
            return
        self.seen.add(number)
        if cls in self.arrays:
            size = self._array_bytes(value)
            content["arrays"] = content.get("arrays", 0.0) + scale * size
        elif cls in self.tensors:
            content["tensors"] = content.get("tensors", 0.0) + scale * tensor_bytes(value)
        elif is_variable(cls):
            content["variables"] = content.get("variables", 0.0) + scale * variable_bytes(value)
        elif issubclass(cls, CONTAINERS):
            items, share = sample_of(value)
            content["plain"] = content.get("plain", 0.0) + scale * sys.getsizeof(value)
            for item in items:
                self._measure(item, content, scale * share, depth + 1)
                if self.is_over:
                    return
        elif _file_of_class(cls):
            for item in list(dict.values(attributes_of(value) or {})):
                self._measure(item, content, scale, depth + 1)

    def _array_bytes(self, array: Any) -> int:
        """Return what an array keeps alive: a view keeps all of the array it looks at."""
        while type(array.base) in self.arrays:
            array = array.base
            if id(array) in self.seen:
                return 0
            self.seen.add(id(array))
        is_file = type(array.base).__name__ in ("mmap", "memmap")
        return 0 if is_file else int(array.nbytes)


def _file_of_class(cls: type) -> str:
    """Return the user's file that a class is written in; empty for any other class."""
    name = type.__getattribute__(cls, "__module__") if issubclass(type(cls), type) else None
    module = sys.modules.get(name) if type(name) is str else None
    if type(module) is not ModuleType:
        return ""
    file = ModuleType.__getattribute__(module, "__dict__").get("__file__")
    return absolute(file) if isinstance(file, str) and is_user_file(file) else ""


def _may_look(code: CodeType) -> bool:
    return is_user_file(code.co_filename) and keeps_no_locals(code)


def _user_frames(look: _Look) -> list[FrameType]:
    """Return the functions of the user that run now.

    While a debugger looks at a function, Python 3.11 copies its local variables out and in again,
    and what is missing then is gone. So a thread that is traced is left alone.
    """
    found: list[FrameType] = []
    for frame in all_frames().values():
        one: FrameType | None = frame
        of_thread: list[FrameType] = []
        while one is not None and not look.is_over:
            if one.f_trace is not None:
                of_thread.clear()
                break
            if _may_look(one.f_code):
                of_thread.append(one)
            one = one.f_back
        found += of_thread
    return found


def _given_to_keras(state: State) -> Iterator[Any]:
    """Yield the callbacks of `fit`, and the generators and datasets in Python that feed it."""
    for loop in state.active_loops():
        callbacks = loop.abandoned() if loop.abandoned is not None else None
        yield from list.__iter__(getattr(callbacks, "callbacks", []))
    for watched in state.py_inputs:
        source = watched.source() if watched.source is not None else None
        if source is not None:
            yield source


def _given_to_tensorflow() -> Iterator[Any]:
    """Yield the generators of `from_generator` and the functions of `py_function`.

    TensorFlow knows them by number; between two batches a generator is on no stack.
    """
    registry = getattr(sys.modules.get("tensorflow.python.ops.script_ops"), "_py_funcs", None)
    functions = getattr(registry, "_funcs", None)
    for one in list(functions.values()) if functions is not None else []:
        yield from _behind(getattr(one, "_func", one))  # `py_function` wraps it


def _behind(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the functions that a function of TensorFlow wraps, and the generators it serves."""
    if type(value) is MethodType and type(value.__self__).__name__ == "_GeneratorState":
        yield from list(dict.values(getattr(value.__self__, "_iterators", {})))
    elif type(value) in (FunctionType, MethodType) and depth < 3:
        yield value
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # an empty cell
                yield from _behind(cell.cell_contents, depth + 1)


def _write(state: State, holders: list[Holder]) -> None:
    at_s = now()
    if not holders:
        # That nothing was found is a reading, too.
        state.writer.add("holders", (at_s, "[]", "", 0, 0, None, ""))
    for holder in holders:
        for file, _, _ in holder.names:
            if file:
                state.writer.add_source(file)
        content = max(holder.content, key=lambda name: holder.content[name])
        row = (holder.kind, holder.items, int(holder.bytes), holder.bound, content)
        state.writer.add("holders", (at_s, json.dumps(holder.names), *row))
