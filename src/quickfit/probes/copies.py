"""Times how long values become tensors, for a fraction of a second now and then.

An array, a list or a number that is handed to TensorFlow is copied into a tensor, and on a
machine with an accelerator from there to the device. All of it goes through one function, which
is replaced by a timed one for a moment and then put back.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from quickfit.probes._hooks import TimedFunction, paired
from quickfit.probes._places import Place, is_user_file, user_place
from quickfit.probes._state import Loop, State, now

MODULE = "tensorflow.python.framework.constant_op"
ENTRANCE = "convert_to_eager_tensor"
# The first steps build variables and caches.
FIRST_STEP = 8
# Long enough for a few steps, short enough that nobody notices.
WINDOW_S = 0.4
WINDOW_STEPS = 4
MAX_WINDOW_S = 5.0
# The same loop is looked at again after this long.
AGAIN_S = 15.0
MAX_COPIES = 50_000
# Faster ones are numbers; looking for their line would take longer than they do.
MIN_PLACED_S = 50e-6
# Of these the size is told, which is looked up at once; smaller ones are numbers.
MIN_SIZED_S = 8e-6
# Files with calls that are timed by themselves: a copy in one of them is part of its time.
_CALLS = ("/polymorphic_function.py", "/trainer.py")


class Copies:
    """The copies of one look: when each began and ended, how large it was, which line made it."""

    def __init__(self) -> None:
        self.stamps: deque[float] = deque()
        self.begun: list[tuple[int, bool, Place | None]] = []
        # Of a version that names it otherwise, no size is told.
        self.is_blind = False

    def begins(self, frame: FrameType) -> bool:
        """Note the copy that a frame is about to make; False when there were enough."""
        if len(self.begun) >= MAX_COPIES:
            return False
        try:
            self.begun.append((self._bytes(frame.f_locals), *_place(frame)))
        except Exception:  # an odd value: the user's training comes first
            self.begun.append(_UNKNOWN)
        return True

    def _bytes(self, given: Mapping[str, object]) -> int:
        # What is copied is an argument of the frame.
        self.is_blind = self.is_blind or "value" not in given
        return int(getattr(given.get("value"), "nbytes", 0))

    def times(self) -> list[float]:
        """Return how long each copy took."""
        return [took_s for _, took_s in paired(list(self.stamps))]

    def placed(self) -> tuple[int, float, dict[Place, float]]:
        """Return the bytes of those that took a while, their time outside calls, and by line."""
        size, outside_s, lines = 0, 0.0, dict[Place, float]()
        for number, took_s in paired(list(self.stamps)):
            nbytes, is_inside, place = self.begun[number]
            size += nbytes if took_s >= MIN_SIZED_S else 0
            if took_s >= MIN_PLACED_S:
                outside_s += 0.0 if is_inside else took_s
                if place is not None:
                    lines[place] = lines.get(place, 0.0) + took_s
        return size, outside_s, lines


_UNKNOWN: tuple[int, bool, Place | None] = (0, False, None)


def _place(frame: FrameType | None) -> tuple[bool, Place | None]:
    """Return whether a copy is part of a call that is timed by itself, and the user's line."""
    is_inside = False
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        is_inside = is_inside or frame.f_code.co_filename.endswith(_CALLS)
        frame = frame.f_back
    return is_inside, user_place(frame)


@dataclass
class Window:
    """A look at a loop that is under way."""

    loop: Loop
    original: Any
    began_s: float
    began_step: int
    epoch: int
    copies: Copies


def read(state: State) -> None:
    """Open a window on a loop that was not looked at lately, or close one that saw enough."""
    window: Window | None = state.kept.get("copies_window")
    if window is not None:
        if _is_over(window):
            put_back(state)
        return
    looked: dict[int, float] = state.kept.setdefault("copies_looked", {})
    for loop in state.active_loops():
        if loop.steps >= FIRST_STEP and now() - looked.get(loop.id, 0.0) > AGAIN_S:
            looked[loop.id] = now()
            state.kept["copies_window"] = _open(loop)
            return


def put_back(state: State) -> None:
    """End a look at once."""
    window: Window | None = state.kept.pop("copies_window", None)
    if window is not None:
        _close(window, state)


def _is_over(window: Window) -> bool:
    elapsed_s = now() - window.began_s
    enough = elapsed_s >= WINDOW_S and window.loop.steps >= window.began_step + WINDOW_STEPS
    return enough or elapsed_s >= MAX_WINDOW_S or window.loop.is_over


def _open(loop: Loop) -> Window | None:
    module: Any = sys.modules.get(MODULE)
    original = getattr(module, ENTRANCE, None)
    if original is None:
        return None
    window = Window(loop, original, now(), loop.steps, loop.epoch, Copies())
    copies = window.copies
    timed = TimedFunction(original, copies.stamps, loop.thread, copies.begins)
    setattr(module, ENTRANCE, timed)
    return window


def _close(window: Window, state: State) -> None:
    module = sys.modules[MODULE]
    # The script, or another tool, may have put something else there meanwhile.
    if isinstance(getattr(module, ENTRANCE), TimedFunction):
        setattr(module, ENTRANCE, window.original)
    loop = window.loop
    steps = loop.steps - window.began_step
    # Between two epochs or calls, whole datasets may be copied; that is no part of a step.
    if steps >= 1 and loop.epoch == window.epoch and not loop.is_over:
        at_s, times = now(), window.copies.times()
        spent = (at_s, at_s - window.began_s, steps, len(times), sum(times))
        nbytes, outside_s, lines = window.copies.placed()
        place = state.source(max(lines, key=lambda line: lines[line], default=None))
        where = (place.file, place.line, lines[place]) if place is not None else (None,) * 3
        size = None if window.copies.is_blind else nbytes
        state.writer.add("copies", (loop.id, *spent, outside_s, size, *where))
