"""Samples the Python stacks of the main thread and of the threads that make input.

A stack seen more often took longer. The samples name the line inside a generator, a callback or
a hand-written step that takes the time.
"""

from __future__ import annotations

import gc
import json
import operator
import sys
import threading
from types import FrameType
from typing import NamedTuple

from quickfit.probes._places import absolute, is_user_file
from quickfit.probes._state import State, now

MAX_DEPTH = 80
# Distinct stacks kept; a script that makes more is counted under the user's innermost line.
MAX_STACKS = 3_000
# Functions of TensorFlow and Keras below which a thread runs the user's input code.
_INPUT_FUNCTIONS = {"generator_py_func", "generator_next_fn", "get_tf_iterator", "get_index"}
_INPUT_FILES = ("script_ops.py", "py_dataset_adapter.py", "from_generator_op.py")

Key = tuple[tuple[str, int, str], ...]


class Standing(NamedTuple):
    """Where a thread is at one moment.

    Args:
        is_still: it was there half a second ago, too.
    """

    ident: int
    role: str
    key: Key
    is_still: bool = False


class StackSampler:
    """Counts stacks between two calls of `write`."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.own_thread = 0
        self._counts: dict[tuple[str, int | None, Key], int] = {}
        self._frame_ids: dict[tuple[str, int, str], int] = {}
        self._stack_ids: dict[tuple[str, Key], int] = {}

    def sample(self) -> None:
        """Look at every thread once."""
        main = threading.main_thread().ident
        loops = self.state.loop_of_thread
        active = self.state.active_loops()
        for thread, frame in all_frames().items():
            if thread == self.own_thread:
                continue
            key, is_input = _walk(frame)
            loop = loops.get(thread)
            role = _role(is_main=thread == main or loop is not None, is_input=is_input)
            if role == "other" and not any(is_user_file(file) for file, _, _ in key):
                continue
            loop = loop or (active[-1] if active else None)
            entry = (role, loop.id if loop else None, key)
            self._counts[entry] = self._counts.get(entry, 0) + 1

    def standing(self) -> list[Standing]:
        """Return where every thread of the script is, also those without code of the user."""
        main, loops = threading.main_thread().ident, self.state.loop_of_thread
        found = []
        for thread, frame in all_frames().items():
            if thread != self.own_thread:
                key, is_input = _walk(frame)
                role = _role(is_main=thread == main or thread in loops, is_input=is_input)
                found.append(Standing(thread, role, key))
        return found

    def write(self) -> None:
        """Record the counts since the last time."""
        at_s = now()
        counts, self._counts = self._counts, {}
        for (role, loop, key), seen in counts.items():
            self.state.writer.add("samples", (at_s, self.stack_id(role, key), loop, seen))

    def stack_id(self, role: str, key: Key) -> int:
        """Return the number of a stack, which is recorded when it is seen for the first time."""
        known = self._stack_ids.get((role, key))
        if known is None and len(self._stack_ids) >= MAX_STACKS:
            key = tuple(frame for frame in key if is_user_file(frame[0]))[:1]
            known = self._stack_ids.get((role, key))
        if known is None:
            known = self._stack_ids[(role, key)] = len(self._stack_ids) + 1
            frames = [self._frame_id(*frame) for frame in key]
            self.state.writer.add("stacks", (known, role, json.dumps(frames)))
        return known

    def _frame_id(self, file: str, line: int, function: str) -> int:
        known = self._frame_ids.get((file, line, function))
        if known is None:
            known = self._frame_ids[(file, line, function)] = len(self._frame_ids) + 1
            is_user = is_user_file(file)
            path = absolute(file)
            if is_user:
                self.state.writer.add_source(path)
            self.state.writer.add("frames", (known, path, line, function, int(is_user)))
        return known


# One call from C, so that no other thread runs between the three.
_UNCOLLECTED = (gc.disable, sys._current_frames, gc.enable)


def all_frames() -> dict[int, FrameType]:
    """Return the innermost frame of every thread, with the garbage collector held off.

    `sys._current_frames` makes frame objects while it holds the interpreter's list of threads.
    If that starts a collection, and a finalizer gives up Python's lock, a thread that is just
    being born waits for the list and everybody waits for it: the script hangs for good. Seen on
    3.11.7; TensorFlow's threads are born whenever they call a generator.
    """
    if not gc.isenabled():
        return sys._current_frames()
    return list(map(operator.call, _UNCOLLECTED))[1]  # type: ignore[return-value]


def _role(*, is_main: bool, is_input: bool) -> str:
    return "main" if is_main else "input" if is_input else "other"


def _walk(frame: FrameType | None) -> tuple[Key, bool]:
    """Return a stack, innermost frame first, and whether it makes input."""
    frames: list[tuple[str, int, str]] = []
    is_input = False
    while frame is not None and len(frames) < MAX_DEPTH:
        code = frame.f_code
        # Python 3.11 has no line for a frame that is just starting.
        line = frame.f_lineno or code.co_firstlineno
        frames.append((code.co_filename, line, code.co_name))
        if code.co_name in _INPUT_FUNCTIONS or code.co_filename.endswith(_INPUT_FILES):
            is_input = True
        frame = frame.f_back
    return tuple(frames), is_input
