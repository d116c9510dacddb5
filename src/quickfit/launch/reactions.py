"""What the parent does with a signal: pass it on, or answer a Ctrl-C with what was seen."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection

from quickfit.launch import verdict
from quickfit.launch.descendants import descendants
from quickfit.launch.place import Place
from quickfit.launch.process import ScriptProcess
from quickfit.launch.signals import Arrival
from quickfit.launch.status import say

# A signal sent to the whole group has reached the script itself: give it time to end of it.
GRACE_S = 0.3
# A script that handles Ctrl-C has ended by then, and a second is left for the report.
UNANSWERED_S = 1.0
# Of our own children, and of being stopped and continued, as the script itself was.
_OURS = {getattr(signal, "SIGCHLD", 0), getattr(signal, "SIGCONT", 0)}


class Forwarder:
    """Passes on to the script what was sent to us alone.

    Args:
        script: the script.
        clock: seconds that only grow.
    """

    def __init__(
        self, script: ScriptProcess, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._script = script
        self._clock = clock
        self._due: list[tuple[float, int]] = []

    @property
    def is_pending(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._due)

    def take(self, arrival: Arrival) -> None:
        """Remember a signal, unless the script has it already or sent it."""
        if arrival.is_from_terminal or arrival.number in _OURS:
            return
        if arrival.sender not in _senders_inside(arrival.sender, self._script.pid):
            self._due.append((self._clock() + GRACE_S, arrival.number))

    def poll(self) -> None:
        """Send what is due."""
        now = self._clock()
        for entry in [entry for entry in self._due if entry[0] <= now]:
            self._due.remove(entry)
            self._script.send(entry[1])


def _senders_inside(sender: int, script: int) -> Collection[int]:
    """Return the processes of the run, for a sender that might be one of them."""
    if sender <= 0:
        return ()
    return {script} | {process.pid for process in descendants()}


class InterruptAnswer:
    """Reports what was seen so far when the script does not react to Ctrl-C.

    A `fit` that waits for a stalled generator does not, and it is the run whose report is
    wanted most. The script itself is never killed.

    Args:
        place: the run.
        clock: seconds that only grow.
    """

    def __init__(self, place: Place, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._place = place
        self._clock = clock
        self._since_s: float | None = None
        self.is_given = False

    @property
    def is_pending(self) -> bool:
        """Whether there was a Ctrl-C that nothing was said to yet."""
        return self._since_s is not None and not self.is_given

    def take(self, arrival: Arrival) -> None:
        """Note the first Ctrl-C and get ready while the script reacts to it."""
        if arrival.number == signal.SIGINT and self._since_s is None:
            self._since_s = self._clock()
            verdict.load()

    def poll(self) -> None:
        """Report once, when the time to react is over."""
        if self._since_s is None or self.is_given:
            return
        if self._clock() - self._since_s < UNANSWERED_S:
            return
        self.is_given = True
        say(
            "the script has not reacted to Ctrl-C yet; this is what was seen so far",
            mid_run=True,
        )
        verdict.print_report(self._place.working)
        say(r"still waiting for the script; Ctrl-\ ends it at once")
