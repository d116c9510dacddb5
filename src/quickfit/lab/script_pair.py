"""Measures two versions of a script against each other: one fresh pair of trials, in turns."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from quickfit.capacity import free_memory_bytes
from quickfit.lab.script_trial import MEMORY_SHARE, Trial, started
from quickfit.lab.statistics import OwnTime, Window, window
from quickfit.launch.target import Target
from quickfit.recording.reader import Recording

# The first steps after the start fill buffers and find the number of threads.
WARM_STEPS = 5
# A window of fewer steps says little.
MIN_STEPS = 12

Mark = tuple[float, float]


@dataclass(frozen=True)
class Progress:
    """The training of one trial, on the clock that all processes share.

    Args:
        begin_s: when the first training loop was entered.
        end_s: when the last one ended, or its last step.
        steps: the end of each step, and how many were done by then.
        epochs: the end of each epoch's last step, and how many epochs were over by then.
        epoch_steps: how many steps an epoch has; 0 where none is over.
        planned_steps: how many `fit` says that it has; 0 where it does not know.
    """

    begin_s: float
    end_s: float
    steps: tuple[Mark, ...]
    epochs: tuple[Mark, ...]
    epoch_steps: float
    planned_steps: float = 0.0

    @property
    def first_step_s(self) -> float:
        """When the first step ended."""
        return self.steps[0][0]

    def warm_steps(self) -> tuple[Mark, ...]:
        """Return the steps that count; of a short training none is left out."""
        is_long = len(self.steps) >= WARM_STEPS + MIN_STEPS
        return self.steps[WARM_STEPS:] if is_long else self.steps


def progress_of(recording: Recording | None) -> Progress | None:
    """Return how far a training is; None before its first step."""
    if recording is None:
        return None
    process = max((recording.main, *recording.others), key=lambda p: len(p.rows("steps")))
    loops = {row["id"]: row for row in process.rows("loops") if _trains(row)}
    rows = [row for row in process.rows("steps") if row["loop"] in loops]
    rows.sort(key=lambda row: row["end_s"])
    if not rows:
        return None
    sizes = {
        number: int(loop["facts"].get("steps_per_execution") or 1) for number, loop in loops.items()
    }
    steps, done = [], 0.0
    for row in rows:
        done += sizes[row["loop"]]
        steps.append((row["end_s"], done))
    epochs, epoch_steps = _epochs(rows, sizes)
    ends = [row["end_s"] for row in loops.values() if row["end_s"] is not None]
    begin_s = min(loops[row["loop"]]["entered_s"] for row in rows)
    end_s = max([rows[-1]["end_s"], *ends])
    planned = float(loops[rows[-1]["loop"]]["facts"].get("steps") or 0)
    return Progress(begin_s, end_s, tuple(steps), epochs, epoch_steps, planned)


def _trains(loop: dict[str, Any]) -> bool:
    return loop["kind"] not in ("predict", "evaluate") and bool(loop["facts"].get("trains", True))


def _epochs(
    rows: Sequence[dict[str, Any]], sizes: dict[int, int]
) -> tuple[tuple[Mark, ...], float]:
    """Return the ends of epochs that another one followed, and the usual number of their steps."""
    groups = [list(g) for _, g in groupby(rows, key=lambda row: (row["loop"], row["epoch"]))]
    over = groups[:-1]
    marks = tuple((group[-1]["end_s"], float(number)) for number, group in enumerate(over, 1))
    counts = [sum(sizes[row["loop"]] for row in group) for group in over]
    return marks, float(statistics.median(counts)) if counts else 0.0


BLOCK_S = 1.0
# Own seconds of each trial after its first step: at least, and unless whole epochs need more.
ENOUGH_S, LONGEST_S = 5.0, 20.0
# Whole epochs that a window holds, where they are short enough.
EPOCHS = 2
_POLL_S = 0.05


@dataclass(frozen=True)
class PairResult:
    """What one pair showed: how many times faster the second version is, or why nothing."""

    ratio: float | None
    why: str = ""
    unit: str = ""
    took_s: float = 0.0
    is_fault_of_second: bool = False


@dataclass(frozen=True)
class Version:
    """One version of the script: its name in messages, and its edited files."""

    name: str
    texts: Mapping[str, bytes]


@dataclass(frozen=True)
class Setting:
    """What all pairs of a proof have in common.

    Args:
        target: the script and its arguments.
        cwd: where the user runs it.
        folder: for the scratch folders.
        counts_start: the time before the first step counts, and trials start one by one.
        patience_s: how long a trial may take to its first step.
        in_turns: whether two trials fit into memory at once.
        trusts_script: trials are made also where only Python guards the user's files.
    """

    target: Target
    cwd: Path
    folder: Path
    counts_start: bool = False
    patience_s: float = 120.0
    in_turns: bool = True
    trusts_script: bool = False


def measure_pair(
    versions: tuple[Version, Version],
    setting: Setting,
    *,
    number: int,
    deadline_s: float,
    tell: Callable[[str], None] = lambda text: None,
) -> PairResult:
    """Run two versions in turns and return how much faster the second one is.

    Every second pair starts with the second version.
    """
    began_s = time.monotonic()
    order = (0, 1) if number % 2 == 0 else (1, 0)
    deadline_s = min(deadline_s, began_s + 2 * setting.patience_s + 4 * LONGEST_S)
    trials: dict[int, Trial] = {}
    whys: dict[int, str] = {}
    with contextlib.ExitStack() as stack:
        for who in order:
            folder = setting.folder / f"pair{number}-{who}"
            trials[who] = stack.enter_context(
                started(
                    setting.target,
                    folder,
                    cwd=setting.cwd,
                    texts=versions[who].texts,
                    holds=True,
                    trusts_script=setting.trusts_script,
                )
            )
            if setting.counts_start or not setting.in_turns:
                _wait_until_held([trials[who]], setting, deadline_s)
            if not setting.in_turns:
                _run_alone(trials[who], deadline_s)
                whys[who] = trials[who].failure()
                trials[who].end()  # its memory is for the other one
        both = (trials[0], trials[1])
        if setting.in_turns:
            _wait_until_held(both, setting, deadline_s)
            if not any(trial.failure() for trial in both):
                _take_turns(both, deadline_s, tell)
            whys = {who: trial.failure() for who, trial in trials.items()}
        failed = _failure(whys, versions)
        for trial in both:
            trial.end()
        found = failed or _compared(both, setting)
    return PairResult(
        found.ratio, found.why, found.unit, time.monotonic() - began_s, found.is_fault_of_second
    )


def _wait_until_held(trials: Sequence[Trial], setting: Setting, deadline_s: float) -> None:
    """Wait until every trial has stopped itself after its first step, or has ended."""
    deadline_s = min(deadline_s, time.monotonic() + setting.patience_s)
    limit = MEMORY_SHARE * free_memory_bytes()
    checked_s = 0.0
    while waiting := [t for t in trials if not t.is_held() and not t.has_ended]:
        now_s = time.monotonic()
        if now_s > deadline_s:
            for trial in waiting:
                trial.end(f"made no step of training within {setting.patience_s:.0f} s")
        elif now_s - checked_s > 1.0:
            checked_s = now_s
            for trial in waiting:
                trial.check_memory(limit)
        time.sleep(_POLL_S)


def _failure(whys: Mapping[int, str], versions: tuple[Version, Version]) -> PairResult | None:
    for who in (1, 0):
        if whys[who]:
            text = f"{versions[who].name} {whys[who]}"
            return PairResult(None, text, is_fault_of_second=who == 1)
    return None


def _run_alone(trial: Trial, deadline_s: float) -> None:
    """Let a trial run by itself for as long as is needed, where two do not fit into memory."""
    until_s = min(deadline_s, time.monotonic() + LONGEST_S)
    limit = MEMORY_SHARE * free_memory_bytes() + trial.peak_bytes
    trial.go_on()
    while time.monotonic() < until_s and not trial.has_ended and not trial.check_memory(limit):
        time.sleep(_POLL_S)
    trial.hold()


def _take_turns(both: tuple[Trial, Trial], deadline_s: float, tell: Callable[[str], None]) -> None:
    """Let two held trials run in turns until enough was seen of both."""
    limit = MEMORY_SHARE * free_memory_bytes() + sum(trial.peak_bytes for trial in both)
    blocks = 0
    while time.monotonic() < deadline_s:
        order = both if blocks % 2 == 0 else (both[1], both[0])
        for trial in order:
            _one_block(trial)
            if trial.check_memory(limit):
                return
        blocks += 1
        tell(f"{blocks * BLOCK_S:.0f} s each")
        if all(trial.has_ended for trial in both) or any(t.failure() for t in both):
            return
        if _is_enough(both, blocks * BLOCK_S):
            return


def _one_block(trial: Trial) -> None:
    if trial.has_ended:
        return
    trial.go_on()
    until_s = time.monotonic() + BLOCK_S
    while time.monotonic() < until_s and not trial.has_ended:
        time.sleep(_POLL_S)
    trial.hold()


def _is_enough(both: tuple[Trial, Trial], own_s: float) -> bool:
    if own_s < ENOUGH_S:
        return False
    if own_s >= LONGEST_S:
        return True
    seen = [progress_of(trial.read()) for trial in both]
    return all(p is not None and _is_seen(p, t, own_s) for p, t in zip(seen, both, strict=True))


def _is_seen(progress: Progress, trial: Trial, own_s: float) -> bool:
    """Tell whether a trial has shown its pace: whole epochs where they are short, or steps."""
    if trial.has_ended or len(progress.epochs) > EPOCHS:
        return True
    if len(progress.steps) < 2 * MIN_STEPS:
        return False
    # An epoch that takes longer than there is time for cannot be waited for.
    left = EPOCHS + 1 - len(progress.epochs)
    share = (
        (progress.steps[-1][1] % progress.epoch_steps) / progress.epoch_steps
        if progress.epoch_steps
        else 0.0
    )
    expected_s = own_s / max(len(progress.epochs) + share, 0.2) * left
    return not progress.epoch_steps or own_s + expected_s > LONGEST_S


def _compared(both: tuple[Trial, Trial], setting: Setting) -> PairResult:
    seen = [progress_of(trial.read()) for trial in both]
    if seen[0] is None or seen[1] is None:
        return PairResult(None, "no step of training was seen")
    clocks = [OwnTime(trial.spans) for trial in both]
    windows, unit = _windows((seen[0], seen[1]), both, clocks, setting)
    if windows is None:
        return PairResult(None, "too few steps to compare within the time there was")
    return PairResult(windows[0].pace_s / windows[1].pace_s, unit=unit)


def _windows(
    seen: tuple[Progress, Progress],
    both: tuple[Trial, Trial],
    clocks: Sequence[OwnTime],
    setting: Setting,
) -> tuple[tuple[Window, Window] | None, str]:
    """Return what to compare: the whole training, whole epochs, or steps."""
    if all(trial.has_ended and not trial.why_ended for trial in both) and _are_whole(both):
        marks = [_whole(progress, setting) for progress in seen]
        unit = "the whole training"
    elif setting.counts_start:
        marks, unit = _from_the_start(seen), "steps from the start"
    elif all(len(progress.epochs) > 1 for progress in seen):
        marks, unit = [progress.epochs for progress in seen], "whole epochs"
    else:
        marks, unit = _step_marks(seen), "parts of epochs" if _has_others(seen) else "steps"
    found = [window(clock, points) for clock, points in zip(clocks, marks, strict=True)]
    return ((found[0], found[1]) if found[0] and found[1] else None), unit


def _are_whole(both: tuple[Trial, Trial]) -> bool:
    return all(trial.keeper.poll() == 0 for trial in both)


def _whole(progress: Progress, setting: Setting) -> tuple[tuple[float, float], ...]:
    """Return the marks of a training from its first step, or its start, to its end.

    Steps in between tell where the time went, so that the first moments of turns can be left out.
    """
    begin_s = progress.begin_s if setting.counts_start else progress.first_step_s
    total = progress.steps[-1][1]
    inside = [(at_s, done / total) for at_s, done in progress.steps[1:-1]]
    return ((begin_s, 0.0), *inside, (max(progress.end_s, progress.steps[-1][0]), 1.0))


def _from_the_start(seen: tuple[Progress, Progress]) -> list[tuple[tuple[float, float], ...]]:
    """Return the marks from the start of the training to a step that both have made."""
    last = min(progress.steps[-1][1] for progress in seen)
    return [
        ((p.begin_s, 0.0), *((at_s, done) for at_s, done in p.steps if done <= last)) for p in seen
    ]


def _step_marks(seen: tuple[Progress, Progress]) -> list[tuple[tuple[float, float], ...]]:
    """Return the marks of steps; where epochs have other numbers of steps, in parts of epochs."""
    sizes, is_other = _sizes(seen), _has_others(seen)
    return [
        tuple((at_s, done / size if is_other else done) for at_s, done in progress.warm_steps())
        for progress, size in zip(seen, sizes, strict=True)
    ]


def _sizes(seen: tuple[Progress, Progress]) -> list[float]:
    """Return how many steps an epoch has in both: seen, or as `fit` plans it."""
    return [progress.epoch_steps or progress.planned_steps for progress in seen]


def _has_others(seen: tuple[Progress, Progress]) -> bool:
    """Tell whether an epoch has another number of steps, because its batches have another size."""
    sizes = _sizes(seen)
    return all(sizes) and abs(sizes[0] - sizes[1]) > 1
