"""The demo: a slow script, its report, the fixed one, and both measured in turns."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, TextIO

from quickfit import terminal, units
from quickfit.demo.compare import SCRIPTS, last_words, measure_side_by_side
from quickfit.demo.photographs import make_photographs
from quickfit.errors import QuickfitError, UsageError

if TYPE_CHECKING:
    from quickfit.findings import Diagnosis, Finding, Gain
    from quickfit.lab.turns import Comparison

PHOTOGRAPHS = 600
# Four epochs: enough for a final verdict (20 steps after the warm-up), about 12 s.
WATCHED_STEPS = 80
IMAGES, SLOW, FIXED = Path("photographs"), Path("slow.py"), Path("fixed.py")
_STDERR = 2
RECORDING, ERRORS = Path("slow.qfrun"), Path("slow.errors")


def tell_story(home: Path, stream: TextIO, *, page: Path | None = None) -> Outcome:
    """Run the demo inside the empty folder `home`, and write what happens to `stream`.

    Afterwards `home` holds the photographs, the scripts and the recording, and `page` the report of
    the slow script.

    Raises:
        UsageError: something the demo needs is not installed.
        QuickfitError: one of its scripts failed.
    """
    check_installed()
    with contextlib.chdir(home), _ended_politely():
        prepare(stream)
        diagnosis = watch(stream)
        outcome = measure(diagnosis, stream)
        terminal.write(
            stream, "\n4/4 predicted and measured\n\n" + "\n".join(lines(outcome)) + "\n"
        )
        if page is not None:
            from quickfit.report.page import write_page

            written = write_page(diagnosis, page, replaces=True)
            terminal.write(stream, f"\nThe report as a page, for a browser:\n    {written}\n")
    return outcome


def check_installed() -> None:
    """Raise a UsageError if TensorFlow or Keras is not installed; imports neither."""
    for name, package in (("TensorFlow", "tensorflow"), ("Keras", "keras")):
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                f"quickfit demo: {name} is not installed, and the demo trains a small model.\n"
                "Install it:\n    pip install 'quickfit[cpu]'"
            )


def prepare(stream: TextIO) -> None:
    """Put the scripts and the photographs into the working directory."""
    with ProgressLine(stream, f"1/4 making {PHOTOGRAPHS} photographs") as line:
        for script in (SLOW, FIXED):
            shutil.copyfile(SCRIPTS / script, script)
        make_photographs(IMAGES, PHOTOGRAPHS, tell=lambda done: line.count(done, PHOTOGRAPHS))


def watch(stream: TextIO, *, recording: Path = RECORDING) -> Diagnosis:
    """Run the slow script under observation, and write the report."""
    from quickfit.diagnosis import diagnose
    from quickfit.launch.parent import observe
    from quickfit.launch.target import Target
    from quickfit.report import write_report

    terminal.write(
        stream,
        f"2/4 watching {SLOW} train for {WATCHED_STEPS} steps, about 15 s:\n"
        f"    quickfit run --steps {WATCHED_STEPS} {SLOW} {IMAGES}\n",
    )
    target = Target(script=str(SLOW), args=(str(IMAGES),))
    with _errors_aside(ERRORS):
        seen = observe(target, output=recording, stop={"steps": WATCHED_STEPS}, early=False)
    _end_as_asked(seen.signal)
    if seen.exit_code != 0:
        raise QuickfitError(
            f"quickfit demo: {SLOW} ended with exit code {seen.exit_code}:\n"
            + "\n".join(last_words(ERRORS))
        )
    ERRORS.unlink(missing_ok=True)
    diagnosis = diagnose(seen.folder, with_details=True)
    write_report(diagnosis, stream)
    return diagnosis


def measure(diagnosis: Diagnosis, stream: TextIO, *, fixed_first: bool = False) -> Outcome:
    """Measure the two scripts against each other, and return that beside the prediction."""
    terminal.write(stream, "\n")
    scratch = Path("measuring")
    title = "3/4 measuring both scripts in turns, without quickfit"
    with ProgressLine(stream, title) as line:
        try:
            order = (FIXED, SLOW) if fixed_first else (SLOW, FIXED)
            measured = measure_side_by_side(order, IMAGES, scratch, line=line)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    first = diagnosis.findings[0] if diagnosis.findings else None
    return Outcome(first, measured.swapped() if fixed_first else measured)


def _end_as_asked(number: int | None) -> None:
    """End the demo if a signal ended the script: Ctrl-C reaches both."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    if number is not None:
        raise SystemExit(128 + number)


@contextlib.contextmanager
def _ended_politely() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception, so that what was started is ended too."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _errors_aside(file: Path) -> Iterator[None]:
    """Send what the script writes to stderr to a file: TensorFlow's greeting, mostly.

    `TF_CPP_MIN_LOG_LEVEL` does not silence all of it (TensorFlow 2.21).
    """
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    with file.open("wb") as aside:
        os.dup2(aside.fileno(), _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)


@dataclass(frozen=True)
class Outcome:
    """What quickfit named and predicted, and what was measured.

    Args:
        finding: the first finding of the diagnosis; None where nothing was found.
        measured: the slow script (first) against the fixed one (second).
    """

    finding: Finding | None
    measured: Comparison

    @property
    def is_inside(self) -> bool:
        """Whether the measured speed-up lies in the predicted range, to the digits shown."""
        if self.finding is None:
            return False
        gain = self.finding.gain
        return round(gain.low, 2) <= round(self.measured.speed_up, 2) <= round(gain.high, 2)


def lines(outcome: Outcome) -> list[str]:
    """Return the table and the sentence under it."""
    slow, fixed = outcome.measured.first, outcome.measured.second
    rows = [
        ("", "slow.py", "fixed.py"),
        ("wall time per step", units.seconds(slow.step_s), units.seconds(fixed.step_s)),
        ("CPU time per step", units.seconds(slow.step_cpu_s), units.seconds(fixed.step_cpu_s)),
        ("steps measured", units.count(slow.steps), units.count(fixed.steps)),
        ("", "", ""),
        ("", "predicted", "measured"),
        ("speed-up", _predicted(outcome.finding), _times(outcome.measured.speed_up)),
    ]
    table = [f"    {what:<20}{left:<28}{right}".rstrip() for what, left, right in rows]
    return [*table, "", *(f"    {text}" for text in _sentences(outcome))]


def _predicted(finding: Finding | None) -> str:
    if finding is None:
        return "nothing"
    return f"{span(finding.gain)}, likely {_times(finding.gain.likely)}"


def span(gain: Gain) -> str:
    """Return the range of a gain with the digits the measured value is shown with."""
    return f"{gain.low:.2f}–{gain.high:.2f}×"


def _times(value: float) -> str:
    # One digit more than a report shows: here two numbers are held against each other.
    return f"{value:.2f}×"


def _sentences(outcome: Outcome) -> list[str]:
    measured = outcome.measured
    rounds = (
        f"One pair of runs, {len(measured.ratios)} rounds in turn; half of the rounds lie within"
        f" ±{measured.spread:.2f} of their median."
    )
    return [_judgement(outcome), rounds]


def _judgement(outcome: Outcome) -> str:
    if outcome.finding is None:
        return "quickfit named no cause in this run, so there is no prediction to hold it against."
    if outcome.is_inside:
        return "The measured speed-up lies inside the predicted range."
    side = "above" if outcome.measured.speed_up > outcome.finding.gain.high else "below"
    return f"The measured speed-up lies outside the predicted range: {side} it."


# Silence longer than this looks like a hang; a word more often than that is noise.
FIRST_WORD_S = 2.0
NEXT_WORD_S = 6.0


class ProgressLine:
    """Writes what is being done, a word every few seconds, and at the end how long it took.

    It only ever appends, so it reads the same on a terminal, in a pipe and in a log.

    Args:
        stream: where to write.
        title: what is being done.
        clock: seconds that only grow.
    """

    def __init__(
        self, stream: TextIO, title: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._title = title
        self._clock = clock
        self._begin_s = clock()
        self._quiet_until_s = self._begin_s + FIRST_WORD_S

    def __enter__(self) -> ProgressLine:
        self._write(f"{self._title} …")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        took = units.seconds(self._clock() - self._begin_s)
        self._write(f" {took}\n" if kind is None else "\n")

    def say(self, text: str) -> None:
        """Add a word now."""
        self._quiet_until_s = self._clock() + NEXT_WORD_S
        self._write(f" {text} …")

    def count(self, done: int, total: int) -> None:
        """Add how far it has come, if nothing was said for a while."""
        if done < total and self._clock() >= self._quiet_until_s:
            self.say(f"{units.count(done)} of {units.count(total)}")

    def _write(self, text: str) -> None:
        terminal.write(self._stream, text)
