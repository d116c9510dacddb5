"""What the parent does with a signal: pass it on, and answer one that the script does not react to.

A Ctrl-C at the terminal reaches the script by itself, and how often is its own affair. A signal
that was sent to quickfit alone is passed on. A SIGINT that the script does not react to is answered
with a report, and a second one that comes then ends the script. A SIGTERM needs no more than to be
passed on: it ends a script without a handler, wherever it is; a handler is the script's own affair.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

from quickfit.launch import verdict
from quickfit.launch.descendants import descendants
from quickfit.launch.place import Place
from quickfit.launch.process import ScriptProcess
from quickfit.launch.signals import Arrival
from quickfit.launch.status import say

# A signal sent to the whole group has reached the script itself: give it time to end of it.
GRACE_S = 0.3
# A script that stands still is asked about after this long, and a second is left for the report.
UNANSWERED_S = 1.0
# Where it cannot be told whether it has reacted; and how long one that has reacted may take to end.
UNKNOWN_S, REACTED_S = 3.0, 10.0
# How long a script that is ended because it does not react may take to end by itself.
TERMINATE_S = 2.0
# How often the recording is asked.
_ASK_S = 0.1
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


class FirmEnd:
    """Ends a script that does not react, by SIGTERM and, if that is not enough, by SIGKILL.

    Args:
        script: the script.
        clock: seconds that only grow.
    """

    def __init__(
        self, script: ScriptProcess, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._script = script
        self._clock = clock
        self._kill_s: float | None = None

    def begin(self) -> None:
        """Ask the script to end, once."""
        if self._kill_s is None:
            say("ending the script, which has not reacted", mid_run=True)
            self._kill_s = self._clock() + TERMINATE_S
            self._script.send(signal.SIGTERM)

    def poll(self) -> None:
        """Kill the script when it had its time."""
        if self._kill_s is not None and self._clock() >= self._kill_s:
            self._kill_s = math.inf
            self._script.send(signal.SIGKILL)


class InterruptAnswer:
    """Reports what was seen so far when the script does not react to Ctrl-C.

    A `fit` that waits for a stalled generator does not, and it is the run whose report is
    wanted most.

    Args:
        place: the run.
        reacted: tells whether the script has reacted to a Ctrl-C at a time of the recording's
            clock; None where that is not known.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        place: Place,
        *,
        reacted: Callable[[float], bool | None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._place = place
        self._reacted = reacted
        self._clock = clock
        self._since_s: float | None = None
        self._ask_s = 0.0
        self._name = ""
        self._is_stuck = False
        self.is_given = False
        # A second signal to us alone has come after we said that it would end the script.
        self.wants_end = False

    @property
    def is_pending(self) -> bool:
        """Whether there was a Ctrl-C that nothing was said to yet."""
        return self._since_s is not None and not self.is_given

    def take(self, arrival: Arrival) -> None:
        """Note the first Ctrl-C, and one sent to us alone after we said that it was not enough."""
        if arrival.number != signal.SIGINT:
            return
        if self._since_s is None:
            self._name = "Ctrl-C" if arrival.is_from_terminal else "SIGINT"
            self._since_s = self._clock()
            self._ask_s = self._since_s + UNANSWERED_S
        elif self._is_stuck and not arrival.is_from_terminal:
            self.wants_end = True

    def poll(self) -> None:
        """Report once, when the time to react is over; it may take seconds."""
        now = self._clock()
        if self._since_s is None or self.is_given:
            return
        verdict.load()
        if now < self._ask_s:
            return
        self._ask_s = now + _ASK_S
        waited_s = now - self._since_s
        reacted = self._reacted(self._since_s)
        if reacted is False:
            lead = f"the script has not reacted to {self._name} yet"
        elif waited_s >= (UNKNOWN_S if reacted is None else REACTED_S):
            lead = f"the script still runs {waited_s:.0f} s after {self._name}"
        else:
            return
        self.is_given = True
        say(f"{lead}; this is what was seen so far", mid_run=True)
        verdict.print_report(self._place.working)
        self._is_stuck = not reacted and self._name == "SIGINT"
        how = "a second SIGINT" if self._is_stuck else "Ctrl-\\"
        say(f"still waiting for the script; {how} ends it at once")


def reaction_in_recording(folder: Path, pid: int) -> Callable[[float], bool | None]:
    """Return what tells from the recording of a process whether it has reacted to a Ctrl-C."""

    def reacted(interrupted_s: float) -> bool | None:
        from quickfit.liveness.interrupts import has_reacted
        from quickfit.liveness.threads import recorded_by

        return has_reacted(recorded_by(folder, pid), interrupted_s)

    return reacted
