"""Measures the demo's two scripts against each other, without quickfit inside either."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quickfit.errors import QuickfitError
from quickfit.lab.child import DEVNULL, Child, ChildOptions, read_tail
from quickfit.lab.turns import Comparison, Mark, compare, take_turns

if TYPE_CHECKING:
    from quickfit.demo.story import ProgressLine

SCRIPTS = Path(__file__).parent / "scripts"
# By then both have traced, and tf.data has found its number of threads.
WARM_STEPS = 20
# Twelve rounds of two blocks: about 90 steps of the slow script on two cores.
ROUNDS = 12
BLOCK_S = 1.3
# Importing TensorFlow twice takes 10 s on two free cores.
PATIENCE_S = 120.0
# Far more than is measured: the scripts are ended when enough was seen.
EPOCHS = 1_000_000


@dataclass(frozen=True)
class Trial:
    """A script that runs on its own and marks its steps in a file."""

    script: Path
    child: Child
    marks_file: Path
    log_file: Path

    def marks(self) -> list[Mark]:
        """Return the steps written so far; a line that is still being written is left out."""
        try:
            text = self.marks_file.read_text()
        except FileNotFoundError:
            return []
        lines = text[: text.rfind("\n") + 1].splitlines()
        marks = []
        for done, line in enumerate(lines):
            at_s, cpu_s = map(float, line.split())
            marks.append(Mark(at_s, cpu_s, done))
        return marks

    def check_alive(self) -> None:
        """Raise a QuickfitError with its last words if the script has ended."""
        code = self.child.poll()
        if code is not None:
            raise QuickfitError(
                f"{self.script}: ended with exit code {code} before it could be measured:\n"
                + "\n".join(last_words(self.log_file))
            )


def last_words(log: Path) -> list[str]:
    """Return the last lines of what a script wrote to stderr, indented."""
    return [f"    {line}" for line in read_tail(log).strip().splitlines()[-5:]]


def measure_side_by_side(
    scripts: tuple[Path, Path],
    images: Path,
    scratch: Path,
    *,
    line: ProgressLine,
    rounds: int = ROUNDS,
) -> Comparison:
    """Start both scripts, warm them up, let them run in turn, and return how fast each was.

    Raises:
        QuickfitError: one of them failed, or did not get to its steps.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        trials = [stack.enter_context(_started(s, images, scratch)) for s in scripts]
        line.say("starting both")
        _warm_up(trials)
        line.say("warm")
        blocks = take_turns(
            [trial.child for trial in trials],
            rounds=rounds,
            block_s=BLOCK_S,
            tell=lambda done: line.count(done, rounds),
        )
        for trial in trials:
            trial.check_alive()
        result = compare(blocks, (trials[0].marks(), trials[1].marks()))
    if not result.ratios:
        raise QuickfitError(
            f"{scripts[0]}: a step takes longer than {BLOCK_S / 2:g} s here, too long to compare"
            " in turns.\nThe machine is busy; try again when it is free."
        )
    return result


@contextlib.contextmanager
def _started(script: Path, images: Path, scratch: Path) -> Iterator[Trial]:
    """Start a script, and end it with all it started on the way out."""
    marks_file, log_file = scratch / f"{script.stem}.marks", scratch / f"{script.stem}.log"
    marks_file.unlink(missing_ok=True)
    stopwatch = [str(SCRIPTS / "stopwatch.py"), str(os.getpid()), str(marks_file)]
    command = [sys.executable, *stopwatch, str(script), str(images), "--epochs", str(EPOCHS)]
    log_file.unlink(missing_ok=True)
    env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    with Child(command, ChildOptions(env=env, stdout=DEVNULL, stderr=log_file)) as child:
        yield Trial(script, child, marks_file, log_file)


def _warm_up(trials: Sequence[Trial]) -> None:
    """Wait until every script has done its first steps, and stop each one there."""
    deadline = time.monotonic() + PATIENCE_S
    waiting = list(trials)
    while waiting:
        for trial in list(waiting):
            trial.check_alive()
            if len(trial.marks()) >= WARM_STEPS:
                trial.child.pause()
                waiting.remove(trial)
        if waiting and time.monotonic() > deadline:
            raise QuickfitError(
                f"{waiting[0].script}: did not get to step {WARM_STEPS} within {PATIENCE_S:.0f} s."
                "\nThe machine is busy or short of memory; try again when it is free."
            )
        time.sleep(0.1)
