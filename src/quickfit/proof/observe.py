"""Runs a script as a trial, for long enough to say what it suffers from."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from quickfit.errors import FixError
from quickfit.launch.place import run_facts
from quickfit.launch.target import Target
from quickfit.proof.trial import MEMORY_SHARE, Trial, free_bytes, started
from quickfit.recording import folder as folders

# Seconds of training and steps that are enough, and what is the most.
ENOUGH_S, ENOUGH_STEPS, LONGEST_S = 40.0, 60, 150.0
# How long a script may take to its first step.
PATIENCE_S = 300.0
_POLL_S = 0.5


def observe(
    target: Target, folder: Path, *, cwd: Path, tell: Callable[[str], None] = lambda text: None
) -> tuple[Path, float]:
    """Run a script without harm to anything; return its recording and the time to its first step.

    Raises:
        FixError: it ended with an error, cannot be tried safely, or made no step.
    """
    began_s = time.monotonic()
    with started(target, folder, cwd=cwd) as trial:
        folders.write_run_file(trial.recording, run_facts(target, cwd))
        first_s = _watch(trial, tell)
        failure = trial.failure()
        recording = trial.recording
    if first_s is None:
        why = failure or f"made no step of training within {PATIENCE_S:.0f} s"
        raise FixError(
            f"{target.name}: {why}\nThere is nothing to prove a fix on. To see what it does:\n"
            f"    quickfit run {target.name}"
        )
    return recording, first_s - began_s


def _watch(trial: Trial, tell: Callable[[str], None]) -> float | None:
    """Wait until enough was seen; return when the first step was."""
    began_s, first_s = time.monotonic(), None
    limit = MEMORY_SHARE * free_bytes()
    while not trial.has_ended:
        time.sleep(_POLL_S)
        steps = trial.steps()
        now_s = time.monotonic()
        tell(f"{steps} steps")
        if first_s is None and steps:
            first_s = now_s
        if trial.check_memory(limit) or (first_s is None and now_s - began_s > PATIENCE_S):
            break
        if first_s is not None and _is_enough(now_s - first_s, steps):
            break
    return first_s if first_s is not None or not trial.steps() else time.monotonic()


def _is_enough(seconds: float, steps: int) -> bool:
    return (seconds > ENOUGH_S and steps >= ENOUGH_STEPS) or seconds > LONGEST_S
