"""The lines of the script that call TensorFlow or Keras, and what those calls have taken so far."""

from __future__ import annotations

import contextlib
import itertools
import sys
import weakref
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from quickfit.probes._code_loops import Body, innermost_body
from quickfit.probes._places import Place, absolute, is_user_file

if TYPE_CHECKING:
    from quickfit.probes.hand_loop import HandLoop

# Lines that are told apart; a script that has more is generated code.
MAX_SITES = 400
# Kinds of calls that train; a compiled function may or may not.
TRAINS = ("train", "apply", "gradient", "tape", "session")
# Kinds of calls that are around steps, unless a loop does nothing else.
AROUND = ("save", "evaluate", "predict", "test")
# The flag of a generator function's code (`inspect.CO_GENERATOR`).
CO_GENERATOR = 0x20
_USER, _KERAS, _TENSORFLOW, _LIBRARY = 0, 1, 2, 3
_categories: dict[str, int] = {}


class Moment(NamedTuple):
    """The running totals of a thread when a call began: two of them give a step."""

    at_s: float
    wait_s: float = 0.0
    call_s: float = 0.0
    eager_s: float = 0.0
    logs_s: float = 0.0
    calls: int = 0


class Site:
    """One place in the script that makes one kind of call."""

    def __init__(self, kind: str, name: str, frame: FrameType) -> None:
        code = frame.f_code
        self.kind = kind
        self.name = name
        self.code: CodeType = code  # kept: its identity is the key of this site
        self.at = frame.f_lasti
        line = frame.f_lineno or code.co_firstlineno
        self.place = Place(absolute(code.co_filename), line, code.co_name)
        self.trains = kind in TRAINS
        # Weak references to the optimizers that a compiled function was seen to use.
        self.optimizers: list[Any] = []
        self.heads: HandLoop | None = None
        # Whether a call of it was followed from outside, as a loop that runs inside it.
        self.is_followed = False
        # The moment it was last seen, and how many steps had begun then.
        self.opened: Moment | None = None
        self.opened_at = -1
        self.again = 0
        # When the last call ended, and how long it took.
        self.last_s = self.last_took_s = 0.0
        # By loop: how often, how long in all, and the longest.
        self.totals: dict[int, list[float]] = {}

    def move_last(self, loop: int, since_s: float) -> None:
        """Count the last call in a loop that was not known to be one when it was made."""
        if self.last_s >= since_s and 0 in self.totals and self.totals[0][0]:
            self.totals[0][0] -= 1
            self.totals[0][1] -= self.last_took_s
            self.add(loop, self.last_took_s)

    def add(self, loop: int, took_s: float) -> None:
        """Count one call."""
        total = self.totals.get(loop)
        if total is None:
            total = self.totals[loop] = [0, 0.0, 0.0]
        total[0] += 1
        total[1] += took_s
        if took_s > total[2]:
            total[2] = took_s

    def iterations(self) -> int | None:
        """Return the least count of the optimizers this function uses: a GAN has two."""
        counts = []
        for reference in self.optimizers:
            with contextlib.suppress(Exception):  # not built yet, or on a device that is gone
                counts.append(int(reference()._iterations._value.numpy()))
        return min(counts, default=None)

    def note_optimizer(self, optimizer: Any) -> None:
        """Keep an optimizer that this function uses, without keeping it alive."""
        if len(self.optimizers) < 8 and not any(ref() is optimizer for ref in self.optimizers):
            with contextlib.suppress(TypeError):  # a class that takes no weak references
                self.optimizers.append(weakref.ref(optimizer))


def user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the frame of the script behind a call, or None where Keras itself makes the call.

    Progress bars and other libraries may stand between the script and TensorFlow.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        category = _categories.get(file)
        if category is None:
            category = _categories[file] = _category(file)
        if category == _USER:
            return frame
        if category == _KERAS:
            return None
        frame = frame.f_back
    return None


def is_inside_keras(file: str) -> bool:
    """Tell whether code of a file is Keras's or TensorFlow's own."""
    category = _categories.get(file)
    if category is None:
        category = _categories[file] = _category(file)
    return category in (_KERAS, _TENSORFLOW)


def consumer(frame: FrameType) -> FrameType:
    """Return the frame of the script that a generator makes its items for."""
    outer = frame
    while outer.f_code.co_flags & CO_GENERATOR:
        above = any_user_frame(outer.f_back)
        if above is None:
            return frame  # on a thread of TensorFlow's
        outer = above
    return outer


def position(frame: FrameType) -> tuple[int | None, ...]:
    """Return where in the source the instruction of a frame is written: lines and columns."""
    positions = frame.f_code.co_positions()
    found = next(itertools.islice(positions, frame.f_lasti // 2, None), (None,) * 4)
    return found if found[2] is not None else (frame.f_lineno,)


def any_user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the nearest frame of the script, whoever stands between."""
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _category(file: str) -> int:
    if is_user_file(file):
        return _USER
    path = file.replace("\\", "/")
    if "/keras/src/" in path:
        return _KERAS
    return _TENSORFLOW if "/tensorflow/python/" in path else _LIBRARY


def enclosing_body(frame: FrameType | None) -> Body | None:
    """Return the innermost loop of the script that a frame, or one that called it, is in."""
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            body = innermost_body(frame)
            if body is not None:
                return body
        frame = frame.f_back
    return None


def is_eager() -> bool:
    """Tell whether operations run at once, that is, no graph is being built."""
    context = sys.modules.get("tensorflow.python.eager.context")
    return context is None or bool(context.executing_eagerly())


def name_of(subject: Any) -> str:
    """Return the name of what is called: of a compiled function, or of a model's class."""
    name = getattr(subject, "__name__", None) or type(subject).__name__
    return str(name)[:80]
