"""Finds out which exceptions a thread raises and swallows while the run does not move.

A generator that skips every file it cannot read looks busy and gives nothing. What it catches is
looked at for a fifth of a second at a time, on the one thread that runs the user's code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from quickfit.probes._catching import Watch
from quickfit.probes._caught import IMPORTS, Kind, Look
from quickfit.probes._clauses import catching_line
from quickfit.probes._places import Place, is_user_file
from quickfit.probes._state import State, now
from quickfit.probes.stacks import Standing, all_frames
from quickfit.probes.tracing import TRACES

# A second after silence is noticed: what only takes a moment has gone on by then.
AFTER_S = 4.0
# Long enough for a file that is opened over a network, short enough that nobody notices.
WINDOW_S = 0.2
# More often, a thread that does work would be held up for more than a hundredth of the time.
EVERY_S = 15.0
# After five minutes there is nothing new to see.
MAX_LOOKS = 20
# Of different exceptions, so many are recorded.
MAX_ROWS = 10
_LIBRARIES = ("/tensorflow/", "/keras/")


class Raising:
    """Looks at a thread from time to time while the run is silent."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.looks = 0
        self.silent_since_s = self.due_s = 0.0
        # When a thread last imported or traced, which takes long without being stuck.
        self.prepared_s = 0.0

    def look(self, threads: list[Standing], since_s: float, wait: Callable[[float], bool]) -> None:
        """Look at what the threads of a silent run catch, if it is time to.

        Args:
            since_s: when the silence began.
            wait: waits for so long; True if the background thread is to end.
        """
        at_s = now()
        if since_s != self.silent_since_s:
            self.silent_since_s, self.looks = since_s, 0
        if any(map(_prepares, threads)):
            self.prepared_s = at_s
        begin_s = max(since_s, self.prepared_s) + AFTER_S
        if at_s < max(begin_s, self.due_s) or self.looks >= MAX_LOOKS:
            return
        users = [thread for thread in threads if _runs_user_code(thread)]
        busy = [thread for thread in users if not thread.is_still] or users
        if busy:
            # Each in turn, where there are several.
            self._look_at(busy[self.looks % len(busy)], wait)
            self.looks += 1
            self.due_s = at_s + EVERY_S

    def _look_at(self, thread: Standing, wait: Callable[[float], bool]) -> None:
        look = Look()
        watch = Watch(thread.ident, look.add)
        began_s = now()
        try:
            if not watch.begin(all_frames().get(thread.ident)):
                return
            while look.ended_s is None and now() - began_s < WINDOW_S:
                if wait(WINDOW_S / 10):
                    break
        finally:
            watch.end()
        look.ended_s = look.ended_s or now()
        self._write(look, thread.role, look.ended_s - began_s)

    def _write(self, look: Look, role: str, window_s: float) -> None:
        at_s = now()
        # What a library catches of its own is worth less.
        found = [(is_user_file(k.caught_file), n, k) for k, n in look.counts.items() if n]
        for _, count, kind in sorted(found, key=lambda one: one[:2], reverse=True)[:MAX_ROWS]:
            message, names = look.details[kind]
            line = catching_line(kind.caught_file, kind.caught_at, names)
            self._keep_sources(kind)
            what = (role, kind.name, message, kind.file, kind.line, kind.caught_file, line)
            self.state.writer.add("raises", (at_s, window_s, *what, count))

    def _keep_sources(self, kind: Kind) -> None:
        for file in (kind.file, kind.caught_file):
            if file is not None:
                self.state.source(Place(file, 0, ""))


def _runs_user_code(thread: Standing) -> bool:
    """Tell whether a thread is in the user's code, or in a library that it called and that works.

    A thread that stands still in what it called of TensorFlow or Keras waits for them.
    """
    files = [frame[0] for frame in thread.key]
    called = list(itertools.takewhile(lambda file: not is_user_file(file), files))
    if thread.role not in ("main", "input", "step") or called == files:
        return False
    waits = thread.is_still and any(part in file for file in called for part in _LIBRARIES)
    return not waits


def _prepares(thread: Standing) -> bool:
    """Tell whether a thread is inside an import, or traces a function."""
    return thread.role in ("main", "input", "step") and any(
        function == TRACES or file.startswith(IMPORTS) for file, _, function in thread.key
    )
