"""Gives a reference that the background thread has taken back to the main thread.

Whoever drops the last reference to an iterator waits until TensorFlow has ended it, which takes
seconds. If the script drops its own while the background thread reads the pipeline, that would be
the background thread: it would sample nothing meanwhile, and the end of the script would wait for
it. So the main thread drops the reference, at the next instruction of Python that it runs.

No Python code runs there: in it a Ctrl-C could be lost. Python's own interface for such requests,
`Py_AddPendingCall`, is asked to call `PySet_Clear`.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any


class _Reference:
    """Has the identity that a set asks for; an iterator may be equal to others."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


_returned: set[_Reference] = set()
_kept_in_child: list[_Reference] = []


class Borrowed:
    """Holds a reference until it is given back; no variable may hold it longer."""

    def __init__(self, value: Any) -> None:
        self._references = [_Reference(value)]

    @property
    def value(self) -> Any:
        """What is referred to."""
        return self._references[0].value

    def give_back(self, thread: int) -> None:
        """Have the reference dropped by the thread it belongs to, if that is the main thread.

        Args:
            thread: the one that made the object; any but the main thread cannot be asked.
        """
        if threading.get_ident() == thread or thread != threading.main_thread().ident:
            self._references.clear()
            return
        # The set's is the only one then: the main thread may clear it at any moment.
        _returned.add(self._references.pop())
        # With more than one in the set, the main thread has been asked and has not answered yet.
        if len(_returned) == 1 and _ask_main()() != 0:
            _returned.clear()  # too many other requests wait


@functools.cache
def _ask_main() -> Callable[[], int]:
    """Return what asks the main thread to clear the set: 0 if it will."""
    import ctypes  # rarely needed

    python = ctypes.pythonapi
    # The request holds no reference to the set, which must be there when it is answered.
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", python))(_returned)
    clear = ctypes.cast(python.PySet_Clear, ctypes.c_void_p)
    ask = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object)
    return functools.partial(ask(("Py_AddPendingCall", python)), clear, _returned)


def _keep_after_fork() -> None:
    """Keep them in a forked child: to end an iterator there would wait for a thread it lacks."""
    _kept_in_child.extend(_returned)
    _returned.clear()


os.register_at_fork(after_in_child=_keep_after_fork)
