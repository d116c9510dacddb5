"""What is said while a script runs, as soon as the evidence is enough.

The early verdict is said once. A training that slows down or holds more and more memory does so
later: the recording is looked at again and again, at growing distances.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quickfit.errors import QuickfitError, RecordingError
from quickfit.launch.commands import run_command
from quickfit.launch.place import Place
from quickfit.launch.status import say
from quickfit.recording.opening import open_growing
from quickfit.recording.schema import PROCESS_SUFFIX

if TYPE_CHECKING:
    from quickfit.findings import Diagnosis, Finding

# In a shorter time, autotune and cold caches still decide what is seen. The final report does not
# wait for that: it says how few steps there were.
MIN_SPAN_S = 10.0
MIN_STEPS = 5
# How often the files are looked at, and how often at most a diagnosis is tried.
POLL_S = 1.0
RETRY_S = 10.0
# A diagnosis that took 0.1 s is not tried again for 10 s: 1 % of one core.
BACK_OFF = 100.0
# Later looks are this much further apart each time: a long run is looked at a few dozen times.
FURTHER = 1.25
# What comes later: a finding of one of these is said when two looks in a row have it.
LATER = ("slowing-down", "memory")
_SPAN = (
    "SELECT sum(n), min(first), max(last) FROM ("
    " SELECT count(*) AS n, min(begin_s) AS first, max(end_s) AS last FROM steps {of}"
    " UNION ALL SELECT sum(steps), min(begin_s), max(end_s) FROM step_blocks {of})"
)
# Turns of other loops are no steps, unless the script has no loop that trains.
_TRAINING = """WHERE loop NOT IN (SELECT id FROM loops WHERE facts LIKE '%"trains": false%')"""


class Progress(NamedTuple):
    """How many steps are in a recording, and the time from the first to the last."""

    steps: int
    span_s: float


def progress(file: Path) -> Progress:
    """Return how far the process that writes `file` has come; nothing yet is zero."""
    try:
        with closing(open_growing(file, busy_s=0.1)) as db:
            steps, first, last = db.execute(_SPAN.format(of=_TRAINING)).fetchone()
            if not steps:
                steps, first, last = db.execute(_SPAN.format(of="")).fetchone()
        if not steps or first is None or last is None:
            return Progress(0, 0.0)
        return Progress(int(steps), float(last) - float(first))
    # The script may have written to the file, too: any value may be in it.
    except (sqlite3.Error, OSError, RecordingError, ValueError, TypeError, OverflowError):
        return Progress(0, 0.0)


class Follower:
    """Looks at a growing recording now and then, and says what it shows, once.

    Args:
        place: the run.
        pid: the script's process.
        diagnose: reads a recording; by default quickfit's own.
        command: what to run, once, when the training is found to slow down or to grow.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        place: Place,
        pid: int,
        *,
        diagnose: Callable[[Path], Diagnosis] | None = None,
        command: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place = place
        self._file = place.working / f"{pid}{PROCESS_SUFFIX}"
        self._diagnose = diagnose or _diagnose
        self._clock = clock
        self._command = command
        self._begin_s = clock()
        self._next_s = self._begin_s + POLL_S
        self._seen: tuple[Any, ...] = ()  # sizes and times of the files
        self._suspects: set[str] = set()
        self._announced: set[str] = set()
        self.is_done = False
        self._is_off = False

    def poll(self) -> None:
        """Say what is due and can be said."""
        now = self._clock()
        if self._is_off or now < self._next_s:
            return
        self._next_s = now + POLL_S
        seen = self._stamp()
        if seen != self._seen:
            self._seen = seen
            self._look()

    def _stamp(self) -> tuple[Any, ...]:
        stamps: list[int] = []
        for file in (str(self._file), f"{self._file}-wal"):
            try:
                facts = os.stat(file)
            except OSError:
                continue
            stamps += [facts.st_size, facts.st_mtime_ns]
        return tuple(stamps)

    def _look(self) -> None:
        seen = progress(self._file)
        if seen.steps < MIN_STEPS or seen.span_s < MIN_SPAN_S:
            return
        begin = self._clock()
        try:
            diagnosis = self._diagnose(self._place.working)
            if not self.is_done:
                self._conclude(diagnosis, seen)
            self._announce(diagnosis, seen)
        except QuickfitError:
            pass  # the final report says it, if it still holds then
        except Exception as error:  # noqa: BLE001 - anything: the user's run comes first
            self.is_done = self._is_off = True
            say(f"no early verdict ({type(error).__name__}: {error})", mid_run=True)
        end = self._clock()
        further_s = (FURTHER - 1.0) * (end - self._begin_s) if self.is_done else 0.0
        self._next_s = end + max(RETRY_S, BACK_OFF * (end - begin), further_s)

    def _announce(self, diagnosis: Diagnosis, seen: Progress) -> None:
        """Say what has come up since, once it was there twice."""
        later = [finding for finding in diagnosis.findings if finding.symptom in LATER]
        for finding in later:
            if finding.cause in self._suspects and finding.cause not in self._announced:
                self._announced.add(finding.cause)
                self._tell(finding, seen)
        self._suspects = {finding.cause for finding in later}

    def _tell(self, finding: Finding, seen: Progress) -> None:
        where = finding.where.short if finding.where is not None else ""
        summary = " ".join(finding.summary.split())
        text = f"{summary}{f' — {where}' if where else ''} ({finding.cause})"
        say(f"{_LEADS[finding.symptom]} (step {seen.steps}): {text}", mid_run=True)
        before = self._place.facts.get("announced") or []
        noted = {
            "cause": finding.cause,
            "summary": summary,
            "place": where,
            "at_step": seen.steps,
            "after_s": round(seen.span_s, 1),
        }
        self._place.note(announced=[*before, noted])
        command, self._command = self._command, None
        if command is not None:
            told = {"CAUSE": finding.cause, "MESSAGE": text, "PLACE": where}
            run_command(command, told | {"RECORDING": str(self._place.folder)})

    def _conclude(self, diagnosis: Diagnosis, seen: Progress) -> None:
        steps = diagnosis.breakdown.steps if diagnosis.breakdown else 0
        if diagnosis.verdict not in ("findings", "compute-bound") or steps < MIN_STEPS:
            return
        self.is_done = True
        early = {
            "headline": diagnosis.headline,
            "verdict": diagnosis.verdict,
            "causes": [finding.cause for finding in diagnosis.findings],
            "claims": [*(diagnosis.findings[0].claims if diagnosis.findings else ())],
            "at_step": seen.steps,
            "after_s": round(seen.span_s, 1),
        }
        self._place.note(early=early)
        headline = " ".join(diagnosis.headline.split())
        say(
            f"early verdict (step {seen.steps}): {headline} — final report at the end", mid_run=True
        )


_LEADS = {"slowing-down": "slowing down", "memory": "memory grows"}


def _diagnose(folder: Path) -> Diagnosis:
    from quickfit.diagnosis import diagnose

    return diagnose(folder)
