"""Stacks sampled by C code that never takes Python's lock, so that lines are the ones that run.

A sampler in Python gets its turn where another thread gives up the lock: at the end of a call or
a backward jump, a few statements after the one that had the time. `_frames.c` reads the frames of
all threads at any moment, on a thread that Python does not know, by reads that cannot crash and
change nothing. Where in Python's
structures it must look is known per version and checked here on our own thread before it is used:
a Python that is built differently has the sampler in Python (`stacks.py`).
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Iterator
from types import CodeType, FrameType, ModuleType
from typing import NamedTuple

# A frame: file, line and name of the function. A stack: its frames, the innermost first.
CodeLine = tuple[str, int, str]
Key = tuple[CodeLine, ...]


class _Layout(NamedTuple):
    """Where Python keeps its frames, in bytes from the beginning of each structure."""

    # In a thread's state: the next one, and what leads to its innermost frame; behind that
    # pointer, if not -1, the frame.
    next: int
    top: int
    top_in: int
    # In a frame.
    code: int
    previous: int
    instruction: int


_LAYOUTS = {
    (3, 11): _Layout(next=8, top=56, top_in=8, code=32, previous=48, instruction=56),
    (3, 12): _Layout(next=8, top=56, top_in=0, code=0, previous=8, instruction=56),
    (3, 13): _Layout(next=8, top=72, top_in=-1, code=0, previous=8, instruction=56),
}
# What Python 3.12 calls the frames between C and Python, which it hides.
_SHIM = "<shim>"
# As many frames of a stack are read.
_MAX_DEPTH = 80
# No function begins there, so the number stands once in its code object.
_FIRST_LINE = 987_654_321


class CountedStack(NamedTuple):
    """A stack of one thread and how often it was seen, between two calls of `take`.

    Args:
        at_s: about when; stacks are counted together for less than a second.
        mark: the number that was given to `mark` last when it was seen.
    """

    at_s: float
    mark: int
    thread: int
    seen: int
    key: Key


class NativeStacks:
    """The sampler of this process; its functions are for the background thread, but two.

    Those are `wake` and `mark`, which any thread may call.
    """

    def __init__(self, frames: ModuleType) -> None:
        self.own_thread = threading.get_ident()
        self.wake = frames.wake
        self.mark = frames.mark
        self._frames = frames
        self._codes: list[tuple[str | None, str | None, int, bytes | None]] = []
        self._lines: dict[int, CodeLine | None] = {}
        self._keys: dict[bytes, Key] = {}

    def watch(self, seconds: float, every_s: float, *, is_paused: bool = False) -> bool:
        """Sample from now on, until `finish`; wait a while: tell whether `wake` ended that."""
        return bool(self._frames.watch(seconds, every_s, self.own_thread, not is_paused))

    def finish(self) -> None:
        """End the sampling; `take` still has what was seen."""
        self._frames.finish()

    @property
    def cpu_s(self) -> float:
        """What the samples have cost so far."""
        return float(self._frames.cost_s())

    def take(self) -> Iterator[CountedStack]:
        """Yield what was seen since the last time."""
        fresh, counted = self._frames.drain()
        self._codes += fresh
        if len(self._keys) > 20_000:  # a few megabytes
            self._keys.clear()
        for at_s, mark, thread, seen, packed in counted:
            key = self._keys.get(packed)
            if key is None:
                lines = (self._line(frame) for frame in array("Q", packed))
                key = self._keys[packed] = tuple(line for line in lines if line is not None)
            if key:
                yield CountedStack(at_s, mark, thread, seen, key)

    def _line(self, frame: int) -> CodeLine | None:
        """Return what runs at an instruction of a code object, by their numbers."""
        if frame not in self._lines:
            number, instruction = frame >> 32, frame & 0xFFFFFFFF
            file, name, first_line, table = self._codes[number]
            if file is None or name is None or table is None or first_line < 0 or file == _SHIM:
                self._lines[frame] = None  # it was gone before it could be asked, or is Python's
            else:
                line = self._frames.line_of(table, first_line, instruction)
                self._lines[frame] = (file, line, name)
        return self._lines[frame]


def start() -> NativeStacks | None:
    """Return the sampler, for the thread that calls; None where it cannot be had."""
    frames = _configured()
    if frames is None:
        return None
    native = NativeStacks(frames)
    return native if _is_right(native) else None


def _configured() -> ModuleType | None:
    layout = _LAYOUTS.get(sys.version_info[:2])
    if layout is None or sys.implementation.name != "cpython":
        return None
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        return None  # its objects look different
    # Of which every part stands at one place.
    sample = start.__code__.replace(co_firstlineno=_FIRST_LINE, co_qualname="sample")
    try:
        from quickfit.probes import _frames  # type: ignore[attr-defined]

        _frames.configure(
            *(layout, CodeType.__basicsize__),
            # The characters of a string end with one that is zero.
            *(sys.getsizeof("") - 1, sys.getsizeof("\xe9") - 2),
            *(sample, _FIRST_LINE, threading.get_ident()),
        )
    except (ImportError, ValueError):  # installed without a compiler; a Python of another build
        return None
    return _frames  # type: ignore[no-any-return]


def _is_right(native: NativeStacks) -> bool:
    """Tell whether it sees our own thread as Python does, through a call from C as well."""
    return all(map(_sees_callers, [native]))


def _sees_callers(native: NativeStacks) -> bool:
    frame: FrameType | None = sys._getframe(1)
    native._frames.look()
    seen = [stack.key for stack in native.take() if stack.thread == native.own_thread]
    callers: list[CodeLine] = []
    while frame is not None:
        callers.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return len(seen) == 1 and list(seen[0][1:]) == callers[: _MAX_DEPTH - 1]
