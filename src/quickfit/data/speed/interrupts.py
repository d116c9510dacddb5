"""Lets a second Ctrl-C end the process while TensorFlow waits for an element.

Python answers a signal when the main thread runs Python again, and a pipeline that blocks keeps it
inside TensorFlow. So a thread of its own is told of each signal, and does what is left to do.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator

from quickfit import terminal

STOPPING = "stopping; Ctrl-C again ends at once"
# What a shell says of a program that Ctrl-C has ended.
EXIT_CODE = 128 + signal.SIGINT
# Usually the first Ctrl-C ends everything sooner than this, and there is nothing to say.
_PATIENCE_S = 0.25


@contextlib.contextmanager
def second_ends() -> Iterator[Callable[[], None]]:
    """Let the first Ctrl-C end what runs inside as ever, and the second one end the process.

    Yields a function to call now and then. It raises KeyboardInterrupt if there was one already:
    Python drops those that it raises while TensorFlow calls it or an object is being deleted.
    """
    is_over = threading.Event()

    def check() -> None:
        if is_over.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check  # only the main one may ask for signals, and only it is interrupted by them
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    watching = threading.Thread(target=_watch, args=(heard, is_over), daemon=True)
    watching.start()
    try:
        yield check
        check()
    finally:
        signal.set_wakeup_fd(before)
        os.close(told)  # which ends the thread
        watching.join()
        os.close(heard)


def _watch(heard: int, is_over: threading.Event) -> None:
    """Count interrupts, each of which is a byte in a pipe, until the pipe is closed."""
    count, is_said = 0, False
    while True:
        wait_s = _PATIENCE_S if count and not is_said else None
        if not select.select([heard], [], [], wait_s)[0]:
            is_said = True
            _say(f"quickfit: {STOPPING}\n")
            continue
        signals = os.read(heard, 64)
        if not signals:
            return
        count += signals.count(signal.SIGINT)
        if count:
            is_over.set()
        if count > 1:
            _flush()
            os._exit(EXIT_CODE)


def _say(text: str) -> None:
    # Nobody may be listening any more, and that is no reason not to stop.
    with contextlib.suppress(OSError, ValueError):
        line_end = "\n" if sys.stderr.isatty() else ""
        terminal.write(sys.stderr, line_end + text)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
