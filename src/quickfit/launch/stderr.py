"""The script's stderr on its way through the parent, which copies it and reads TensorFlow's log.

On a terminal the script gets a terminal of ours, in a pipe one more pipe. Every byte is passed on
unchanged and at once; the terminal the user types on stays the one that controls the script.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable

from quickfit.launch.log_lines import LineScanner
from quickfit.launch.place import Place
from quickfit.launch.signals import SignalWatch
from quickfit.launch.status import STDERR

try:
    import fcntl
    import termios
except ImportError:  # not on Windows, where the script keeps the stderr it has
    fcntl = termios = None  # type: ignore[assignment]

STDOUT = 1
_CHUNK_BYTES = 65536
# More than a pipe or a terminal holds: what a script wrote before it ended is among the first.
_MOST_HELD_BYTES = 2 << 20
_NOTE_EVERY_S = 5.0
_SETTLE_POLL_S = 0.01
# A Ctrl-C that ended the script must not cost its last words.
_PATIENCE_S = 2.0
_GIVE_UP_ON = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")}
# Goes on copying for a process that was meant to outlive us.
_COPIER = """
import os
try:
    while data := os.read(0, 65536):
        while data:
            data = data[os.write(1, data):]
except OSError:
    pass
"""


def open_relay(place: Place, *, log_lines: bool | None = None) -> Relay | None:
    """Return what the script's stderr goes through, or None if it keeps ours.

    Args:
        place: where the log lines are noted.
        log_lines: True for a stderr that is no terminal too; False for none at all.
    """
    # Elsewhere nobody has tried whether a terminal of ours passes on every byte.
    if log_lines is False or not sys.platform.startswith("linux"):
        return None
    try:
        if os.isatty(STDERR):
            ours, theirs = _own_terminal()
            return Relay(ours, theirs, place, is_terminal=True)
        os.fstat(STDERR)
        return Relay(*os.pipe(), place) if log_lines else None
    except (OSError, termios.error):  # no terminals left, or stderr is closed
        return None


def _own_terminal() -> tuple[int, int]:
    """Return both ends of a terminal that looks like ours and changes no byte."""
    ours, theirs = os.openpty()
    try:
        modes = termios.tcgetattr(STDERR)
        modes[1] &= ~termios.OPOST
        modes[3] &= ~(termios.ECHO | termios.ECHONL)
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
    except termios.error:
        os.close(ours)
        os.close(theirs)
        raise
    return ours, theirs


def _is_stdout_too() -> bool:
    """Tell whether stdout goes to the same terminal, pipe or file as stderr."""
    try:
        return os.path.samestat(os.fstat(STDOUT), os.fstat(STDERR))
    except OSError:
        return False


class Relay:
    """Copies what the script writes to our stderr, and notes the log lines among it.

    Args:
        ours: the end we read.
        theirs: the end the script writes to.
        place: where the log lines are noted.
        is_terminal: both are the ends of a terminal.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        ours: int,
        theirs: int,
        place: Place,
        *,
        is_terminal: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ours, self._theirs = ours, theirs
        self._place = place
        self._is_terminal = is_terminal
        self._clock = clock
        self._note_s = clock()
        self._scanner = LineScanner()
        self._woken, self._wake = os.pipe()
        self._is_settled = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._copy, name="quickfit-stderr", daemon=True)
        self._size = b""
        # A script that writes to both in turn, as `tqdm.write` does, relies on their order; two
        # ways to one terminal would mix it up nearly every time.
        self.files = {STDERR: theirs}
        if _is_stdout_too():
            self.files[STDOUT] = theirs
        self._keep_size()

    def start(self) -> None:
        """Copy from now on. Call it when the script has its end, with signals held back."""
        os.close(self._theirs)
        self._place.facts["log_lines"] = []
        self._thread.start()

    def poll(self) -> None:
        """Keep the size of the terminal in step, and note new log lines now and then."""
        self._keep_size()
        now = self._clock()
        if now - self._note_s >= _NOTE_EVERY_S:
            self._note_s = now
            self._note()

    def settle(self, signals: SignalWatch) -> None:
        """Return when what was written so far has arrived; a signal to end cuts it short."""
        self._is_settled.clear()
        os.write(self._wake, b"x")
        begin_s = self._clock()
        while self._thread.is_alive() and not self._is_settled.wait(_SETTLE_POLL_S):
            arrival = signals.wait(0.0)
            is_late = self._clock() - begin_s > _PATIENCE_S  # a terminal that was stopped
            if is_late and arrival is not None and arrival.number in _GIVE_UP_ON:
                break

    def close(self, signals: SignalWatch) -> None:
        """Stop copying; a process that still holds the other end gets a copier of its own."""
        self._is_closing = True
        self.settle(signals)
        if not self._thread.is_alive() or self._is_settled.is_set():
            self._thread.join()
            self._scanner.finish()
            self._let_go()
        self._note()

    def _note(self) -> None:
        facts = self._scanner.facts()
        if facts != self._place.facts.get("log_lines"):
            self._place.note(log_lines=facts)

    def _keep_size(self) -> None:
        """Give the script's terminal the size that ours has."""
        if not self._is_terminal or self._ours < 0:
            return
        with contextlib.suppress(OSError):
            size = fcntl.ioctl(STDERR, termios.TIOCGWINSZ, bytes(8))
            if size != self._size:
                self._size = size
                fcntl.ioctl(self._ours, termios.TIOCSWINSZ, size)

    # -- the thread -------------------------------------------------------------------------------

    def _copy(self) -> None:
        poller = select.poll()
        poller.register(self._ours, select.POLLIN)
        poller.register(self._woken, select.POLLIN)
        left_bytes: int | None = None  # to copy until it counts as settled
        while True:
            ready = dict(poller.poll(None if left_bytes is None else 0))
            if self._woken in ready:
                # Look again: what the script wrote before may have come since we looked.
                os.read(self._woken, 1)
                left_bytes = _MOST_HELD_BYTES
                continue
            if self._ours in ready:
                size = self._copy_some()
                if not size:
                    return
                left_bytes = None if left_bytes is None else left_bytes - size
            if left_bytes is not None and (self._ours not in ready or left_bytes <= 0):
                left_bytes = None
                self._is_settled.set()
                if self._is_closing:
                    return

    def _copy_some(self) -> int:
        """Pass on what is there; return how much, or 0 when nothing can come or go any more."""
        try:
            data = os.read(self._ours, _CHUNK_BYTES)
        except OSError:  # what Linux says of a terminal that nobody holds any more
            return 0
        if not data or _write(data):
            self._scanner.feed(data)
            return len(data)
        # Our stderr is gone: let the script's next write tell it so, as it would without us.
        ours, self._ours = self._ours, -1
        os.close(ours)
        return 0

    # -- the end ----------------------------------------------------------------------------------

    def _let_go(self) -> None:
        if self._ours >= 0:
            if self._is_held():
                self._leave_a_copier()
            os.close(self._ours)
            self._ours = -1
        os.close(self._woken)
        os.close(self._wake)

    def _is_held(self) -> bool:
        poller = select.poll()
        poller.register(self._ours, select.POLLIN)
        return not any(event & select.POLLHUP for _, event in poller.poll(0))

    def _leave_a_copier(self) -> None:
        files = [
            (os.POSIX_SPAWN_DUP2, self._ours, 0),
            (os.POSIX_SPAWN_DUP2, STDERR, STDOUT),
            (os.POSIX_SPAWN_OPEN, STDERR, os.devnull, os.O_WRONLY, 0),
        ]
        command = [sys.executable, "-I", "-S", "-c", _COPIER]
        with contextlib.suppress(OSError):
            os.posix_spawn(command[0], command, os.environ, file_actions=files, setsid=True)


def _write(data: bytes) -> bool:
    """Write all of `data` to stderr, however long it takes; False if stderr is gone."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(STDERR, rest) :]
        except BlockingIOError:  # the script made what it shares with us non-blocking
            select.select([], [STDERR], [])
        except OSError:
            return False
    return True
