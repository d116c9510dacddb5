"""Tells the story of a slow training run: made, watched, diagnosed, fixed and measured."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TextIO

from quickfit import terminal
from quickfit.demo.compare import SCRIPTS, last_words, measure_side_by_side
from quickfit.demo.outcome import Outcome, lines
from quickfit.demo.photographs import make_photographs
from quickfit.demo.progress import ProgressLine
from quickfit.errors import QuickfitError, UsageError
from quickfit.findings import Diagnosis

PHOTOGRAPHS = 600
# Four epochs: enough for a final verdict (20 steps after the warm-up), about 12 s.
WATCHED_STEPS = 80
IMAGES, SLOW, FIXED = Path("photographs"), Path("slow.py"), Path("fixed.py")
_STDERR = 2
RECORDING, ERRORS = Path("slow.qfrun"), Path("slow.errors")


def tell_story(home: Path, stream: TextIO) -> Outcome:
    """Run the demo inside the empty folder `home`, and write what happens to `stream`.

    Afterwards `home` holds the photographs, the scripts and the recording.

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
    diagnosis = diagnose(seen.folder)
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
