"""Notices the exceptions that one other thread catches, for a moment.

Python 3.12 and later have events for this. On 3.11 the thread is given a trace function: the first
line that runs after an exception got to a frame is, where the exception is caught, the first line
of the handler.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from threading import get_ident
from types import FrameType
from typing import Any

from quickfit.probes import _thread_states
from quickfit.probes._thread_states import Unmoved

# A thread this deep may be close to Python's limit, and our code would be the last straw.
MAX_DEPTH = 400
# Of Python 3.11: the first instruction of every handler.
_PUSH_EXC_INFO = 35
# Of Python 3.12 and later: a number that no kind of tool has for itself, of six.
_TOOL, _TOOLS = 4, 6
Caught = Callable[[BaseException], None]


class Watch:
    """What is known between the events of the thread that is watched.

    Args:
        thread: its number.
        caught: what to tell each exception that is caught; it must not keep it.
    """

    def __init__(self, thread: int, caught: Caught) -> None:
        self.thread = thread
        self.caught = caught
        # An exception got to a frame, and it is not yet known whether it is caught there.
        self.is_raised = False
        self._end: Callable[[], None] | None = None

    def begin(self, frame: FrameType | None) -> bool:
        """Watch the thread that is at this frame; tell whether it can be watched unnoticed."""
        if threading.gettrace() is not None or not is_plain(frame, MAX_DEPTH):
            return False
        if sys.version_info >= (3, 12):
            self._end = _monitor(self)
        elif _thread_states.trace(self.thread, _Taker(self)):
            self._end = _thread_states.untrace
        return self._end is not None

    def end(self) -> None:
        """Leave the thread alone again."""
        end, self._end = self._end, None
        if end is not None:
            end()

    def handled(self, value: BaseException | None) -> None:
        """Take an exception that a handler has just got, if it is the one that was raised."""
        try:
            if value is not None and self._end is not None:
                self.caught(value)
        except Exception:  # anything: this is the user's thread
            self.caught = _ignore


def _ignore(_: BaseException) -> None:
    """Take an exception after we have failed."""


def is_plain(frame: FrameType | None, max_depth: int) -> bool:
    """Tell whether no debugger traces any of the frames, and they are not too many."""
    for _ in range(max_depth):
        if frame is None:
            return True
        if frame.f_trace is not None:
            return False
        frame = frame.f_back
    return False


class _Taker(Unmoved):
    """Takes the events of a thread on Python 3.11, where they are operators."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def __le__(self, frame: FrameType) -> bool:
        """Note that an exception got to a frame."""
        self.watch.is_raised = True
        return False

    def __eq__(self, frame: Any) -> bool:
        """Note that a line begins."""
        watch = self.watch
        if watch.is_raised and not _is_before_handler(frame):
            watch.is_raised = False
            value = sys.exc_info()[1]
            if value is not None and _begins_handler(value, frame):
                watch.handled(value)
        return False


def _is_before_handler(frame: FrameType) -> bool:
    """Tell whether the exception is not handed to the handler yet, as at a `with`."""
    return frame.f_code.co_code[frame.f_lasti] == _PUSH_EXC_INFO


def _begins_handler(value: BaseException, frame: Any) -> bool:
    """Tell whether a line is the first of the handler that has an exception.

    The first line that a `with` runs is in its `__exit__`.
    """
    trace, code = value.__traceback__, frame.f_code
    if trace is None:
        return False
    if trace.tb_frame is not frame:
        return code.co_name == "__exit__" and trace.tb_frame is frame.f_back
    return bool(code.co_code[frame.f_lasti - 2] == _PUSH_EXC_INFO)


def _monitor(watch: Watch) -> Callable[[], None] | None:
    """Have Python tell of exceptions; None where another tool looks at the program already."""
    monitoring: Any = vars(sys)["monitoring"]
    if any(monitoring.get_tool(tool) is not None for tool in range(_TOOLS)):
        return None
    tool, thread = _TOOL, watch.thread

    def raised(*_: object) -> None:
        if get_ident() == thread:
            watch.is_raised = True

    def handled(_: object, __: object, value: BaseException) -> None:
        if watch.is_raised and get_ident() == thread:
            watch.is_raised = False
            watch.handled(value)

    events = {monitoring.events.RAISE: raised, monitoring.events.EXCEPTION_HANDLED: handled}

    def end() -> None:
        monitoring.set_events(tool, 0)
        for event in events:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    monitoring.use_tool_id(tool, "quickfit")
    for event, callback in events.items():
        monitoring.register_callback(tool, event, callback)
    monitoring.set_events(tool, sum(events))
    return end
