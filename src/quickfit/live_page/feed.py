"""What a live page shows of one run: a line twice a second, a drawing when it has changed.

A diagnosis costs a tenth of a second to a second. It is made in a process of its own that gives way
to everything else, and not again before forty times as long has passed.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quickfit import units
from quickfit.errors import QuickfitError
from quickfit.findings import Diagnosis, RunOutcome
from quickfit.launch.follow import Progress, progress
from quickfit.live_page.runs import (
    RunState,
    SeenRun,
    clock_text,
    look_at_run,
    size_stamp,
    stamped_files,
)
from quickfit.report import text
from quickfit.report.page import Drawing, draw_page

# No more often than this is anything looked at or sent.
TICK_S = 0.5
# A drawing that took 0.1 s of CPU time is not made again for 4 s: 2.5 % of a core, at the lowest
# priority there is.
BACK_OFF = 40.0
# The speed is that of so many seconds.
RATE_S = 10.0


@dataclass(frozen=True)
class Status:
    """The line at the top of a live page."""

    state: str
    label: str
    progress: str


class RunFeed:
    """Looks at one run for all the pages that show it.

    Args:
        folder: its recording.
        diagnose: reads a recording; by default quickfit's own.
        clock: seconds that only grow.
        cpu: CPU seconds of this thread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        diagnose: Callable[[Path], Diagnosis] | None = None,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        self.folder = folder
        self._diagnose = diagnose or _diagnose
        self._clock, self._cpu = clock, cpu
        self._stamp: tuple[int, ...] = ()
        self._seen: SeenRun | None = None
        self._progress = Progress(0, 0.0)
        self._marks: deque[tuple[float, int]] = deque()
        self._looked_s = self._due_s = -1e9
        self._drawn_of: tuple[object, ...] = ()
        self._lock = threading.Lock()
        self._problem = ""
        # Counts the drawings, so that a page knows whether it has the last one.
        self.version = 0
        self.drawing: Drawing | None = None

    def status(self) -> Status:
        """Return the line of now; it is looked for at most twice a second."""
        with self._lock:
            now = self._clock()
            if self._seen is None or now - self._looked_s >= TICK_S * 0.8:
                self._looked_s = now
                self._look(now)
            assert self._seen is not None
            state, label = self._seen.state, self._seen.label
            if self._problem and state is not RunState.STARTING:
                label = f"{label}; {self._problem}"
            return Status(state.value, label, self._progress_text(now))

    def _look(self, now: float) -> None:
        self._seen = look_at_run(self.folder)
        stamp = size_stamp(self.folder)
        if stamp != self._stamp:
            self._stamp = stamp
            found = [progress(file) for file in stamped_files(self.folder) if file.suffix != "-wal"]
            self._progress = max(found, default=Progress(0, 0.0))
        if not self._marks or self._marks[-1][1] != self._progress.steps:
            self._marks.append((now, self._progress.steps))
        while len(self._marks) > 2 and now - self._marks[1][0] > RATE_S:
            self._marks.popleft()

    def _progress_text(self, now: float) -> str:
        assert self._seen is not None
        steps, said = self._progress.steps, [clock_text(self._seen.elapsed_s)]
        if steps:
            said.insert(0, f"{'step' if steps == 1 else 'steps'}: {units.count(steps)}")
        (begin_s, first), (_, last) = self._marks[0], self._marks[-1]
        if self._seen.state is RunState.RUNNING and last > first > 0 and now - begin_s >= 2:
            said.insert(1, f"{(last - first) / (now - begin_s):.3g} a second")
        return " · ".join(said)

    @property
    def is_due(self) -> bool:
        """Whether the run has changed since it was drawn, and it is time to draw it again."""
        seen = self._seen
        if seen is None or self._key(seen) == self._drawn_of:
            return False
        return self._clock() >= self._due_s or not seen.state.goes_on

    def _key(self, seen: SeenRun) -> tuple[object, ...]:
        return (*self._stamp, seen.state)

    def draw(self) -> None:
        """Draw the run as it is now."""
        seen = self._seen or look_at_run(self.folder)
        key, begin = self._key(seen), self._cpu()
        try:
            diagnosis = self._diagnose(self.folder)
            if seen.state is RunState.GONE:
                diagnosis = dataclasses.replace(diagnosis, outcome=RunOutcome("no longer running"))
            drawing = draw_page(diagnosis)
            if drawing != self.drawing:
                self.drawing, self.version = drawing, self.version + 1
            self._problem = ""
        except QuickfitError as error:
            self._problem = text.one_line(str(error).splitlines()[0], limit=300)
        except Exception as error:  # noqa: BLE001 - anything: the next look may go well
            self._problem = text.one_line(
                f"it could not be drawn ({type(error).__name__}: {error}); a bug in quickfit",
                limit=300,
            )
        self._drawn_of = key
        self._due_s = self._clock() + max(TICK_S, BACK_OFF * (self._cpu() - begin))


def _diagnose(folder: Path) -> Diagnosis:
    from quickfit.diagnosis import diagnose

    return diagnose(folder, with_details=True)
