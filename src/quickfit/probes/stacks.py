"""Samples the Python stacks of the main thread and of the threads that run Python for it.

A stack seen more often took longer. The samples name the line inside a generator, a callback or
a hand-written step that takes the time.
"""

from __future__ import annotations

import bisect
import gc
import json
import operator
import sys
import threading
from collections import deque
from types import FrameType
from typing import NamedTuple

from quickfit.probes import native_stacks, py_functions
from quickfit.probes._places import absolute, is_user_file
from quickfit.probes._state import State, now
from quickfit.probes.native_stacks import Key, NativeStacks

MAX_DEPTH = 80
# Distinct stacks kept; a script that makes more is counted under the user's innermost line.
MAX_STACKS = 3_000
# Functions of TensorFlow and Keras below which a thread runs the user's input code.
_INPUT_FUNCTIONS = {"generator_py_func", "generator_next_fn", "get_tf_iterator", "get_index"}
_INPUT_FILES = ("script_ops.py", "py_dataset_adapter.py", "from_generator_op.py")


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
        self.native: NativeStacks | None = None
        # By the moment, for samples that were taken without Python's lock; else by 0.
        self._counts: dict[tuple[float, str, int | None, Key], int] = {}
        self._frame_ids: dict[tuple[str, int, str], int] = {}
        self._stack_ids: dict[tuple[str, Key], int] = {}
        # The loops of the threads, whenever that changed since the last `write`.
        self._loops: deque[tuple[int, dict[int, int], int | None]] = deque([(0, {}, None)])

    def start(self) -> None:
        """Prepare for samples on the thread that calls."""
        self.own_thread = threading.get_ident()
        self.native = native_stacks.start()
        if self.native is not None:
            self.state.loops_changed = self._note_loops
            self._note_loops()
        self.state.writer.add("meta", ("samples_native", str(self.native is not None).lower()))

    def watch(self, seconds: float, every_s: float) -> bool:
        """Sample without Python's lock from now on; wait a while: tell whether `wake` ended it."""
        assert self.native is not None
        return self.native.watch(seconds, every_s, is_paused=self.state.is_paused)

    def sample(self) -> None:
        """Look at every thread once, with Python's lock."""
        loops = {thread: loop.id for thread, loop in self.state.loop_of_thread.items()}
        active = self.state.active_loops()
        for thread, frame in all_frames().items():
            if thread != self.own_thread:
                self._count(
                    0.0, thread, _stack(frame), 1, (loops, active[-1].id if active else None)
                )

    def _count(
        self,
        at_s: float,
        thread: int,
        key: Key,
        seen: int,
        at_work: tuple[dict[int, int], int | None],
    ) -> None:
        loops, active = at_work
        loop, main = loops.get(thread), threading.main_thread().ident
        role = _role(key, is_main=thread == main or loop is not None)
        if role != "other" or any(is_user_file(file) for file, _, _ in key):
            entry = (at_s, role, active if loop is None else loop, key)
            self._counts[entry] = self._counts.get(entry, 0) + seen

    def _note_loops(self) -> None:
        """Note in which loop each thread is from now on; on whichever thread that changed."""
        loops = {thread: loop.id for thread, loop in list(self.state.loop_of_thread.items())}
        active = self.state.active_loops()
        number = self._loops[-1][0] + 1
        self._loops.append((number, loops, active[-1].id if active else None))
        if self.native is not None:
            self.native.mark(number)

    def _take_native(self, native: NativeStacks) -> None:
        at_begin = list(self._loops)
        numbers = [number for number, _, _ in at_begin]
        for stack in native.take():
            at = max(bisect.bisect_right(numbers, stack.mark) - 1, 0)
            self._count(stack.at_s, stack.thread, stack.key, stack.seen, at_begin[at][1:])
        for _ in at_begin[:-1]:
            self._loops.popleft()

    def standing(self) -> list[Standing]:
        """Return where every thread of the script is, also those without code of the user."""
        main, loops = threading.main_thread().ident, self.state.loop_of_thread
        found = []
        for thread, frame in all_frames().items():
            if thread != self.own_thread:
                key = _stack(frame)
                role = _role(key, is_main=thread == main or thread in loops)
                found.append(Standing(thread, role, key))
        return found

    def write(self) -> None:
        """Record the counts since the last time."""
        if self.native is not None:
            self._take_native(self.native)
        now_s = now()
        counts, self._counts = self._counts, {}
        for at_s, role, loop, key in sorted(counts, key=lambda entry: entry[0]):
            row = (min(at_s or now_s, now_s), self.stack_id(role, key), loop)
            self.state.writer.add("samples", (*row, counts[at_s, role, loop, key]))

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


def _role(key: Key, *, is_main: bool) -> str:
    if is_main:
        return "main"
    if py_functions.is_in_step(key):
        return "step"
    is_input = any(
        function in _INPUT_FUNCTIONS or file.endswith(_INPUT_FILES) for file, _, function in key
    )
    return "input" if is_input else "other"


def _stack(frame: FrameType | None) -> Key:
    """Return a stack, innermost frame first."""
    frames: list[tuple[str, int, str]] = []
    while frame is not None and len(frames) < MAX_DEPTH:
        code = frame.f_code
        # Python 3.11 has no line for a frame that is just starting.
        line = frame.f_lineno or code.co_firstlineno
        frames.append((code.co_filename, line, code.co_name))
        frame = frame.f_back
    return tuple(frames)
