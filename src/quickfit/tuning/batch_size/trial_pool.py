"""Trials that are alive at the same time, one per batch size, measured in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from quickfit import units
from quickfit.lab.turns import turn_order
from quickfit.tuning.batch_size.ladder import BatchRow
from quickfit.tuning.trials.resources import OtherLoad
from quickfit.tuning.trials.settings import (
    Setting,
    TrialBlock,
    TrialFailed,
    TrialFailure,
    TrialLearned,
    TrialReady,
)
from quickfit.tuning.trials.trial import TrainingTrial, end_after

# One turn of a trial: many short ones find the moments in which nobody disturbs.
POOL_BLOCK_S = 0.25
MIN_TURN_STEPS = 2
TIME_WAS_OVER = "started, but the time was over before it was measured"


BeginTrial = Callable[[Setting, float], TrainingTrial]
_Answer = TypeVar("_Answer", TrialReady, TrialBlock, TrialLearned)


class SearchOutOfTime(Exception):  # noqa: N818 - it is the end of the search, not a failure
    """A trial was ended because the time for the search is over."""


class TrialPool:
    """Starts trials, lets them run in turns, and keeps a row for each size.

    Args:
        begin: makes a trial from a setting and the seconds it may be silent.
        limit_bytes: that a trial may hold.
        load: hears of every block.
        left_s: tells how much time is left for all of it.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        begin: BeginTrial,
        limit_bytes: float,
        load: OtherLoad,
        *,
        left_s: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rows: dict[int, BatchRow] = {}
        self.base_bytes = 0
        # What data that do not tell their size gave at most.
        self.most_fed: int | None = None
        self._begin = begin
        self._limit_bytes = limit_bytes
        self._load = load
        self._left_s = left_s
        self._clock = clock
        self._alive: dict[int, TrainingTrial] = {}
        self._begun: list[TrainingTrial] = []
        self._step_s: dict[int, float] = {}
        self._rounds = 0

    @property
    def alive(self) -> list[int]:
        """The sizes whose trials are alive, rising."""
        return sorted(self._alive)

    @property
    def alive_bytes(self) -> float:
        """What the trials that are alive hold together at most."""
        return sum(self.rows[batch].peak_bytes for batch in self._alive)

    def round_s(self, batches: Iterable[int] | None = None) -> float:
        """Return how long one turn of each takes, about."""
        sizes = self.alive if batches is None else batches
        return sum(max(POOL_BLOCK_S, MIN_TURN_STEPS * self._step_s[size]) for size in sizes)

    def step_s(self, batch: int) -> float:
        """Return how long a step of a batch will take at most, by the nearest one that ran."""
        nearest = min(self._step_s, key=lambda known: abs(known - batch))
        return self._step_s[nearest] * max(batch / nearest, 1.0)

    def first(self, setting: Setting) -> TrialReady:
        """Start the first trial, alone; its batch is what it really feeds.

        Raises:
            TrialFailed: it did not get to its first steps.
            OutOfTime: not in time.
        """
        # A hang is told with what was done at the time, an end by the clock is not.
        trial = self._started(setting, 0.95 * self._left_s())
        ready = self._in_time(trial, trial.ready)
        self._take(ready.batch, trial, ready)
        return ready

    def start(self, sizes: Iterable[int], patience_s: float) -> None:
        """Start a trial for each size, all at once, and wait until all are ready or failed."""
        begun = [(n, self._started(Setting(batch=n, in_memory=True), patience_s)) for n in sizes]
        for batch, trial in begun:
            try:
                ready = self._in_time(trial, trial.ready)
            except (TrialFailed, SearchOutOfTime) as failed:
                self._failed(batch, trial, failed)
                continue
            if ready.batch == batch:
                self._take(batch, trial, ready)
            else:
                self._end(trial)
                self.most_fed = min(self.most_fed or ready.batch, ready.batch)
                words = f"not tried: the data gave batches of {ready.batch}"
                self.rows[batch] = BatchRow(batch, words=words)

    def round(self, *, has_time: Callable[[float], bool] = lambda seconds: True) -> bool:
        """Give each trial a turn, every second time backwards; tell whether there was time."""
        alive, self._rounds = self.alive, self._rounds + 1
        for place in turn_order(len(alive), self._rounds - 1):
            batch = alive[place]
            if not has_time(self.round_s([batch])):
                return False
            self._turn(batch)
        return True

    def alone(self, setting: Setting, batch: int, rounds: int, *, learns: int = 0) -> BatchRow:
        """Train with a setting in a trial of its own, while no other is alive.

        Args:
            setting: to train with.
            batch: its samples per step.
            rounds: blocks to measure.
            learns: samples after which its loss is to be compared; 0 for no comparison.

        Raises:
            TrialFailed: it did not come to its end, or held more memory than it may.
            OutOfTime: not in time.
        """
        self.close()
        trial = self._started(setting, self._left_s())
        ready = self._in_time(trial, trial.ready)
        row = BatchRow(batch, peak_bytes=ready.peak_bytes)
        for _ in range(rounds):
            if row.steps_s and self._left_s() < 2 * max(POOL_BLOCK_S, MIN_TURN_STEPS * row.step_s):
                break
            steps = _turn_steps(row.step_s if row.steps_s else ready.step_s)
            row = row.with_block(self._in_time(trial, lambda: trial.run(steps)))  # noqa: B023
            self._check_memory(row.peak_bytes)
        if learns:
            row = replace(row, learned=self._in_time(trial, lambda: trial.learn(learns)))
        self._end(trial)
        return row

    def drop(self, batch: int) -> None:
        """End the trial of a size; its row stays."""
        self._end(self._alive.pop(batch))

    def close(self) -> None:
        """End all of them."""
        for batch in self._alive:
            if not self.rows[batch].steps_s:
                self.rows[batch] = replace(self.rows[batch], words=TIME_WAS_OVER)
        self._alive.clear()
        while self._begun:
            self._end(self._begun[-1])

    def _end(self, trial: TrainingTrial) -> None:
        trial.close()
        self._begun.remove(trial)

    def _started(self, setting: Setting, patience_s: float) -> TrainingTrial:
        trial = self._begin(setting, patience_s)
        self._begun.append(trial)
        trial.start()
        return trial

    def _in_time(self, trial: TrainingTrial, ask: Callable[[], _Answer]) -> _Answer:
        with end_after(trial, self._left_s()) as is_over:
            try:
                return ask()
            except TrialFailed:
                if is_over.is_set():
                    raise SearchOutOfTime from None
                raise

    def _take(self, batch: int, trial: TrainingTrial, ready: TrialReady) -> None:
        self.rows[batch] = BatchRow(batch, peak_bytes=ready.peak_bytes)
        self.base_bytes = ready.base_bytes
        self._step_s[batch] = ready.step_s
        self._alive[batch] = trial

    def _turn(self, batch: int) -> None:
        trial = self._alive[batch]
        steps = _turn_steps(self._step_s[batch])
        began_s = self._clock()
        self._load.begin()
        try:
            block = self._in_time(trial, lambda: trial.run(steps))
            wall_s = self._clock() - began_s
            # The first moments after a pause are not in the block, but the CPU time was ours.
            self._load.end(wall_s=wall_s, own_s=block.cpu_s * max(wall_s / block.wall_s, 1.0))
            row = self.rows[batch].with_block(block)
            self._check_memory(row.peak_bytes)
        except (TrialFailed, SearchOutOfTime) as failed:
            self._failed(batch, self._alive.pop(batch), failed)
            return
        self.rows[batch] = row
        self._step_s[batch] = row.step_s

    def _check_memory(self, peak_bytes: float) -> None:
        if peak_bytes > self._limit_bytes:
            raise TrialFailed(
                TrialFailure.OUT_OF_MEMORY,
                f"it held {units.size(peak_bytes)}, and {units.size(self._limit_bytes)} is the "
                "limit",
            )

    def _failed(
        self, batch: int, trial: TrainingTrial, failed: TrialFailed | SearchOutOfTime
    ) -> None:
        self._end(trial)
        row = self.rows.get(batch, BatchRow(batch))
        if isinstance(failed, SearchOutOfTime):
            # What was measured before counts.
            self.rows[batch] = replace(row, words="" if row.steps_s else TIME_WAS_OVER)
            return
        self.rows[batch] = replace(row, failure=failed.failure, words=failed.line, text=failed.text)


def _turn_steps(step_s: float) -> int:
    """Return how many steps make a turn; a trial makes one more before it counts."""
    return max(MIN_TURN_STEPS - 1, round(POOL_BLOCK_S / max(step_s, 1e-6)))
