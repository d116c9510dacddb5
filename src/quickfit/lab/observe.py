"""Runs a script as a trial, for long enough to say what it suffers from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from quickfit.errors import FixError
from quickfit.lab.script_trial import MEMORY_SHARE, Trial, started
from quickfit.launch.place import Place, run_facts
from quickfit.launch.quiet import QuietWatch
from quickfit.launch.target import Target
from quickfit.machine import free_memory_bytes

# Seconds of training and steps that are enough, and what is the most.
ENOUGH_S, ENOUGH_STEPS, LONGEST_S = 40.0, 60, 150.0
# Of steps that say nothing by then, more are waited for, and looked at from time to time.
UNDECIDED_S, LOOK_S = 300.0, 20.0
# How long a script may take to its first step.
PATIENCE_S = 300.0
NO_STEP = f"made no step of training within {PATIENCE_S:.0f} s"
NO_TRAINING = "ended by itself without a step of training"
_POLL_S = 0.5


@dataclass(frozen=True)
class Observed:
    """What was seen of a script.

    Args:
        recording: its folder.
        first_s: the time to its first step; 0 where it made none.
        failure: why it made no step; empty where it did.
        confinement: what confined it, in a few words.
    """

    recording: Path
    first_s: float
    failure: str = ""
    confinement: str = ""

    def unprovable(self, name: str) -> FixError:
        """Return the error that says so, for whoever has no repair for it either."""
        return FixError(
            f"{name}: {self.failure}\nThere is nothing to prove a fix on. To see what it does:\n"
            f"    quickfit run {name}"
        )


def observe(
    target: Target,
    folder: Path,
    *,
    cwd: Path,
    tell: Callable[[str], None] = lambda text: None,
    trusts_script: bool = False,
    texts: Mapping[str, bytes] | None = None,
    enough_s: float = ENOUGH_S,
    is_decided: Callable[[Path], bool] = lambda recording: True,
) -> Observed:
    """Run a script without harm to anything, until enough was seen, it ends, or stands still.

    Args:
        target: the script and its arguments.
        folder: for its scratch folder.
        cwd: where the user runs it.
        tell: called with how far it is.
        trusts_script: run it also where only Python guards the user's files.
        texts: edited files, by their paths.
        enough_s: seconds of training after which enough was seen, if there were steps enough.
        is_decided: tells whether what was recorded so far says what the script suffers from.

    Raises:
        FixError: it cannot be tried safely.
    """
    began_s = time.monotonic()
    with started(target, folder, cwd=cwd, texts=texts, trusts_script=trusts_script) as trial:
        place = Place(trial.recording, trial.recording, run_facts(target, cwd))
        place.note()
        is_enough = _Enough(enough_s, is_decided)
        first_s = _watch(trial, place, tell, is_enough)
        failure = trial.failure() or _silence(place)
        exit_code = trial.keeper.poll()
        place.note(exit_code=exit_code, confinement=trial.confinement)
    if first_s is not None:
        return Observed(trial.recording, first_s - began_s, confinement=trial.confinement)
    missing = NO_TRAINING if exit_code == 0 else NO_STEP
    seen = Observed(trial.recording, 0.0, failure or missing, trial.confinement)
    if trial.is_unsafe:
        raise seen.unprovable(target.name)
    return seen


def _silence(place: Place) -> str:
    """Return what was said of a run that stands still for a known reason; empty for others."""
    told = [one for one in place.facts.get("quiet") or [] if one.get("cause")]
    stuck = [one for one in told if one.get("kind") == "stuck"]
    return f"stands still: {stuck[-1]['summary']}" if stuck else ""


def _watch(
    trial: Trial, place: Place, tell: Callable[[str], None], is_enough: _Enough
) -> float | None:
    """Wait until enough was seen; return when the first step was."""
    began_s, first_s = time.monotonic(), None
    quiet: QuietWatch | None = None
    limit = MEMORY_SHARE * free_memory_bytes()
    while not trial.has_ended:
        time.sleep(_POLL_S)
        steps = trial.steps()
        now_s = time.monotonic()
        tell(f"{steps} steps")
        if not steps:
            if quiet is None and trial.has_begun:
                quiet = QuietWatch(place, trial.group)
            if quiet is not None:
                quiet.poll()
            if _silence(place):
                break
        if first_s is None and steps:
            first_s = now_s
        if trial.check_memory(limit) or (first_s is None and now_s - began_s > PATIENCE_S):
            break
        if first_s is not None and is_enough.by(trial, now_s - first_s, steps):
            break
    return first_s if first_s is not None or not trial.steps() else time.monotonic()


@dataclass
class _Enough:
    """Tells when enough was seen: some seconds, some steps, and steps that say something.

    Args:
        seconds: of training, at least.
        is_decided: looks at what was recorded so far.
        look_s: when that is looked at next.
    """

    seconds: float
    is_decided: Callable[[Path], bool]
    look_s: float = 0.0

    def by(self, trial: Trial, seconds: float, steps: int) -> bool:
        """Tell whether so many seconds and steps are enough."""
        is_seen = (seconds > self.seconds and steps >= ENOUGH_STEPS) or seconds > LONGEST_S
        if not is_seen or seconds < self.look_s:
            return False
        self.look_s = seconds + LOOK_S
        return seconds > UNDECIDED_S or self.is_decided(trial.recording)
