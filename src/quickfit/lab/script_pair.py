"""Measures two versions of a script against each other: one fresh pair of trials, in turns."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby
from pathlib import Path
from typing import Any

from quickfit.findings import OF_THE_RUN
from quickfit.lab.script_trial import CUT_BY_BUDGET, MEMORY_SHARE, Trial, started
from quickfit.lab.statistics import OwnTime, Window, window
from quickfit.lab.turns import turn_order
from quickfit.launch.target import Target
from quickfit.machine import free_memory_bytes
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
# Own seconds of each trial after its first step: where the difference is plain, at least, and
# unless whole epochs need more.
PLAIN_S, ENOUGH_S, LONGEST_S = 3.0, 5.0, 20.0
# A ratio this far from 1 needs no more blocks: what differs between pairs is larger by then.
PLAIN_RATIO = 1.5
# Where whole epochs or the same work from start to end count, they are waited for this long.
LONGEST_WHOLE_S = 60.0
# Whole epochs that a window holds, where they are short enough.
EPOCHS = 2
_POLL_S = 0.05


class Scope(IntEnum):
    """What is compared: the pace of steps, whole epochs, the training, or the run, start to end."""

    STEPS = 0
    EPOCHS = 1
    TRAINING = 2
    RUN = 3

    @property
    def counts_start(self) -> bool:
        """Whether the time before the first step counts: then trials start one by one."""
        return self >= Scope.TRAINING


# Parts of the account whose time does not come with every step, and what has to be compared to see
# it. A proof measures what the account says is lost; every other part shows in the steps.
_SCOPES = {
    **dict.fromkeys(("validation", "looks", "epoch_callbacks", "checkpoint"), Scope.EPOCHS),
    **dict.fromkeys(("epoch_ends", "iterator_ends", "unattributed"), Scope.EPOCHS),
    **dict.fromkeys(("first_step", "tracing", "setup", "epoch_start", "fit_calls"), Scope.TRAINING),
    **dict.fromkeys(OF_THE_RUN, Scope.RUN),
}


def scope_of(parts: Iterable[str]) -> Scope:
    """Return what to compare where these parts of the account are to become shorter."""
    return max((_SCOPES.get(part, Scope.STEPS) for part in parts), default=Scope.STEPS)


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
        scope: what is compared.
        run_s: how long the whole run takes; None where it did not end while it was watched.
        together: how many edited versions fit into memory beside the original.
        patience_s: how long a trial may take to its first step.
        in_turns: whether two trials fit into memory at once.
        trusts_script: trials are made also where only Python guards the user's files.
    """

    target: Target
    cwd: Path
    folder: Path
    scope: Scope = Scope.STEPS
    run_s: float | None = None
    together: int = 1
    patience_s: float = 120.0
    in_turns: bool = True
    trusts_script: bool = False

    @property
    def longest_s(self) -> float:
        """Own seconds after which a trial is held, whatever was seen of it."""
        return LONGEST_S if self.scope is Scope.STEPS else LONGEST_WHOLE_S

    @property
    def is_short(self) -> bool:
        """Whether it is worth waiting for the end of the run."""
        return self.run_s is not None and self.run_s <= LONGEST_WHOLE_S


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
    return measure_round(versions, setting, number=number, deadline_s=deadline_s, tell=tell)[0]


def measure_round(
    versions: Sequence[Version],
    setting: Setting,
    *,
    number: int,
    deadline_s: float,
    tell: Callable[[str], None] = lambda text: None,
) -> list[PairResult]:
    """Run several versions in turns; return how much faster each is than the first one.

    All are paired with the same fresh run of the first version. Every second round starts them in
    reverse order.
    """
    began_s = time.monotonic()
    longest_s = len(versions) * (setting.patience_s + 2 * setting.longest_s)
    deadline_s = min(deadline_s, began_s + longest_s)
    trials: dict[int, Trial] = {}
    whys: dict[int, str] = {}
    with contextlib.ExitStack() as stack:
        for who in turn_order(len(versions), number):
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
            if setting.scope.counts_start or not setting.in_turns:
                _wait_until_held([trials[who]], setting, deadline_s)
            if not setting.in_turns:
                _run_alone(trials[who], setting, deadline_s)
                whys[who] = trials[who].failure()
                trials[who].end()  # its memory is for the next one
        every = [trials[who] for who in range(len(versions))]
        if setting.in_turns:
            _wait_until_held(every, setting, deadline_s)
            healthy = [trial for trial in every if not trial.failure()]
            if every[0] in healthy and len(healthy) > 1:
                _take_turns(healthy, setting, deadline_s, tell)
            whys = {who: trial.failure() for who, trial in trials.items()}
        for trial in every:
            trial.end()
        took_s = time.monotonic() - began_s
        found = [
            _failure((whys[0], whys[who]), (versions[0], versions[who]))
            or _compared((every[0], every[who]), setting)
            for who in range(1, len(versions))
        ]
    return [replace(result, took_s=took_s) for result in found]


def _wait_until_held(trials: Sequence[Trial], setting: Setting, deadline_s: float) -> None:
    """Wait until every trial has stopped itself after its first step, or has ended."""
    patient_until_s = time.monotonic() + setting.patience_s
    why = f"made no step of training within {setting.patience_s:.0f} s"
    if deadline_s < patient_until_s:
        why = CUT_BY_BUDGET
    deadline_s = min(deadline_s, patient_until_s)
    limit = MEMORY_SHARE * free_memory_bytes()
    checked_s = 0.0
    while waiting := [t for t in trials if not t.is_held() and not t.has_ended]:
        now_s = time.monotonic()
        if now_s > deadline_s:
            for trial in waiting:
                trial.end(why)
        elif now_s - checked_s > 1.0:
            checked_s = now_s
            for trial in waiting:
                trial.check_memory(limit)
        time.sleep(_POLL_S)


def _failure(whys: tuple[str, str], versions: tuple[Version, Version]) -> PairResult | None:
    for who in (1, 0):
        if whys[who]:
            text = f"{versions[who].name} {whys[who]}"
            return PairResult(None, text, is_fault_of_second=who == 1)
    return None


def _run_alone(trial: Trial, setting: Setting, deadline_s: float) -> None:
    """Let a trial run by itself for as long as is needed, where two do not fit into memory."""
    until_s = min(deadline_s, time.monotonic() + setting.longest_s)
    limit = MEMORY_SHARE * free_memory_bytes() + trial.peak_bytes
    trial.go_on()
    while time.monotonic() < until_s and not trial.has_ended and not trial.check_memory(limit):
        time.sleep(_POLL_S)
    trial.hold()


def _take_turns(
    trials: Sequence[Trial], setting: Setting, deadline_s: float, tell: Callable[[str], None]
) -> None:
    """Let held trials run in turns until enough was seen of all, or the first one has failed."""
    limit = MEMORY_SHARE * free_memory_bytes() + sum(trial.peak_bytes for trial in trials)
    blocks = 0
    while time.monotonic() < deadline_s:
        for who in turn_order(len(trials), blocks):
            _one_block(trials[who])
            trials[who].check_memory(limit)
        blocks += 1
        tell(f"{blocks * BLOCK_S:.0f} s each")
        others = [trial for trial in trials[1:] if not trial.failure()]
        if trials[0].failure() or not others:
            return
        if all(trial.has_ended for trial in (trials[0], *others)):
            return
        if all(_is_enough((trials[0], other), setting, blocks * BLOCK_S) for other in others):
            return


def _one_block(trial: Trial) -> None:
    if trial.has_ended:
        return
    trial.go_on()
    until_s = time.monotonic() + BLOCK_S
    while time.monotonic() < until_s and not trial.has_ended:
        time.sleep(_POLL_S)
    trial.hold()


def _is_enough(both: tuple[Trial, Trial], setting: Setting, own_s: float) -> bool:
    if own_s < PLAIN_S:
        return False
    if own_s >= setting.longest_s:
        return True
    # The same work is compared where the start counts: until both have ended, if they do.
    if setting.scope.counts_start and (setting.is_short or own_s < LONGEST_S):
        return False
    seen = [progress_of(trial.read()) for trial in both]
    if setting.scope.counts_start:
        return all(p is not None and len(p.steps) >= 2 * MIN_STEPS for p in seen)
    if not all(
        p is not None and _is_seen(p, t, setting, own_s) for p, t in zip(seen, both, strict=True)
    ):
        return False
    return own_s >= ENOUGH_S or _is_plain((seen[0], seen[1]), both, setting)


def _is_plain(
    seen: tuple[Progress | None, Progress | None], both: tuple[Trial, Trial], setting: Setting
) -> bool:
    """Tell whether the two differ so much that more blocks change nothing.

    Only where it is known how many steps an epoch has: a step of one may be several of the other.
    """
    if seen[0] is None or seen[1] is None or not all(_sizes((seen[0], seen[1]))):
        return False
    ratio = _compared(both, setting).ratio
    return ratio is not None and not 1 / PLAIN_RATIO < ratio < PLAIN_RATIO


def _is_seen(progress: Progress, trial: Trial, setting: Setting, own_s: float) -> bool:
    """Tell whether a trial has shown its pace: whole epochs where they are short, or steps."""
    if trial.has_ended or len(progress.epochs) > EPOCHS:
        return True
    if len(progress.steps) < 2 * MIN_STEPS:
        return False
    # An epoch that takes longer than there is time for cannot be waited for.
    is_waited_for = setting.scope is Scope.EPOCHS
    epoch_steps = progress.epoch_steps or (progress.planned_steps if is_waited_for else 0.0)
    if not epoch_steps:
        return not is_waited_for
    left = EPOCHS + 1 - len(progress.epochs)
    share = (progress.steps[-1][1] % epoch_steps) / epoch_steps
    expected_s = own_s / max(len(progress.epochs) + share, 0.2) * left
    return own_s + expected_s > setting.longest_s


def _compared(both: tuple[Trial, Trial], setting: Setting) -> PairResult:
    seen = [progress_of(trial.read()) for trial in both]
    if seen[0] is None or seen[1] is None:
        return PairResult(None, "no step of training was seen")
    windows, unit = _windows((seen[0], seen[1]), both, setting.scope)
    if windows is None:
        return PairResult(None, "too few steps to compare within the time there was")
    return PairResult(windows[0].pace_s / windows[1].pace_s, unit=unit)


def _windows(
    seen: tuple[Progress, Progress], both: tuple[Trial, Trial], scope: Scope
) -> tuple[tuple[Window, Window] | None, str]:
    """Return what to compare: the run, the training, whole epochs, or steps."""
    clocks = [OwnTime(trial.spans) for trial in both]
    is_whole = all(
        trial.has_ended and not trial.why_ended and trial.keeper.poll() == 0 for trial in both
    )
    marks: list[tuple[Mark, ...]]
    settles = not is_whole
    if is_whole:
        marks = [_whole(p, t, scope) for p, t in zip(seen, both, strict=True)]
        unit = "the whole run" if scope is Scope.RUN else "the whole training"
    elif scope.counts_start:
        marks, unit = _from_the_start(seen), "steps from the start"
    elif all(len(progress.epochs) > 1 for progress in seen):
        marks, unit = [progress.epochs for progress in seen], "whole epochs"
    else:
        marks, unit = _step_marks(seen), "parts of epochs" if _has_others(seen) else "steps"
    found = [
        window(clock, points, settles=settles) for clock, points in zip(clocks, marks, strict=True)
    ]
    return ((found[0], found[1]) if found[0] and found[1] else None), unit


def _whole(progress: Progress, trial: Trial, scope: Scope) -> tuple[Mark, ...]:
    """Return begin and end of the same work: the run, or the training from its first step or start.

    All of its time counts: what is done once may fall into the first moments of a turn.
    """
    if scope is Scope.RUN:
        return (trial.spans[0][0], 0.0), (trial.spans[-1][1], 1.0)
    begin_s = progress.begin_s if scope.counts_start else progress.first_step_s
    return (begin_s, 0.0), (max(progress.end_s, progress.steps[-1][0]), 1.0)


def _from_the_start(seen: tuple[Progress, Progress]) -> list[tuple[Mark, ...]]:
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
