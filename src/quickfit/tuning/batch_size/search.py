"""The search: starts trials in waves, measures them in turns, and keeps to its time and memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from quickfit import units
from quickfit.tuning.batch_size import ladder, plan
from quickfit.tuning.batch_size.ladder import (
    START_TOLL,
    BatchRow,
    SeenSizes,
    TrialCosts,
    is_untried,
    measured_rows,
    next_sizes,
)
from quickfit.tuning.batch_size.plan import ScriptFacts, script_facts
from quickfit.tuning.batch_size.question import BatchQuestion, MemoryRoom
from quickfit.tuning.batch_size.trial_pool import BeginTrial, TrialPool
from quickfit.tuning.trials.batch_judgement import largest_batch
from quickfit.tuning.trials.resources import OtherLoad
from quickfit.tuning.trials.settings import Setting, TrialFailure, TrialReady

# A trial is not started where the line of memory comes nearer to the limit than this.
MEMORY_SHARE = 0.9
# More than this between the line of time and the measurements, and nothing is recommended.
MAX_RESIDUAL = 0.20
# Turns of all trials in each wave. At the end they go on until so many rounds in a row are no
# faster than the best before; some more where the measurements do not fit.
WAVE_ROUNDS, STILL_ROUNDS, LAST_ROUNDS, MAX_ROUNDS = 2, 4, 10, 40
# Faster is what is not noise of a quiet machine.
BETTER = 0.97
# So many times as long as usual without a sign of life, and a trial has hung.
PATIENCE, MIN_PATIENCE_S = 3.0, 20.0
# Steps that the chosen size makes when it is run again.
STEPS_AGAIN = 3
# The last run may take so many times as long to start: without it a part of an effective batch is
# not recommended, and all the time before was for nothing.
LAST_TOLL = 2.0
# The rest of the budget is for starting, and for ending what is alive.
WORK_SHARE = 0.97
_NAN_REASON = "the loss is NaN from the first step: quickfit.tuning.find_nan tells where it begins"


class BatchSearch:
    """Measures one batch size after the other, or several in turns.

    Args:
        question: what is looked for.
        begin: makes a trial.
        room: the memory there is.
        tell: hears one line per size.
        keeps_input: trials without `in_memory` are fed by the user's own input.
        data_kind: what the user's data are; None where trials know it.
        load: hears how busy the machine is.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        question: BatchQuestion,
        begin: BeginTrial,
        room: MemoryRoom,
        *,
        tell: Callable[[str], None] = lambda line: None,
        keeps_input: bool = True,
        data_kind: str | None = None,
        load: OtherLoad | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.question = question
        self.room = room
        self.load = load or OtherLoad()
        self.own: int | None = None
        self.ready: TrialReady | None = None
        self.samples: int | None = None
        self.start_s = 0.0
        self.notes: list[str] = []
        self.is_cut = False
        self.cut_words = ""
        self.is_over = False
        self.is_apart = False
        self.tell = tell
        self.keeps_input = keeps_input
        self.script = ScriptFacts(data_kind)
        self._clock = clock
        self._deadline_s = clock() + WORK_SHARE * question.budget_s
        self._told: set[int] = set()
        self.crew = TrialPool(
            begin, room.each_bytes, self.load, left_s=lambda: self.left_s, clock=clock
        )

    @property
    def rows(self) -> list[BatchRow]:
        """All rows so far, rising, the user's own batch marked."""
        found = sorted(self.crew.rows.values(), key=lambda row: row.batch)
        return [replace(row, is_own=row.batch == self.own) for row in found]

    @property
    def left_s(self) -> float:
        """The time that is left."""
        return max(self._deadline_s - self._clock(), 0.0)

    @property
    def reserve_s(self) -> float:
        """The time that is kept for running the chosen size again."""
        chosen = self.choice()
        return LAST_TOLL * self.start_s + (STEPS_AGAIN * chosen.step_s if chosen else 0.0)

    @property
    def time(self) -> ladder.FittedLine | None:
        """The line of time against the batch; None for fewer than three sizes."""
        points = [(row.batch, row.step_s) for row in measured_rows(self.rows)]
        return ladder.fit_line(points) if len(points) >= 3 else None

    @property
    def misfit(self) -> float:
        """How far the measurements are from what they can be, as a share."""
        fit, ran = self.time, measured_rows(self.rows)
        if len(ran) < 2:
            return 0.0  # one size leaves no choice to go wrong
        # Two sizes lie on a line whatever they are: how well the rounds agree is all there is.
        off = fit.residual if fit is not None else max(row.spread for row in ran)
        # A step of more samples takes no less time.
        falls = [1 - after.step_s / before.step_s for before, after in pairwise(ran)]
        return max(off, *falls)

    def begin_with(self, batch: int | None) -> None:
        """Start the first trial, with the user's own batch where none is given.

        Raises:
            TrialFailed: it did not get to its first steps.
            OutOfTime: not in time.
        """
        self.tell(f"starting {'your own batch' if batch is None else f'batch {batch}'}")
        began_s = self._clock()
        ready = self.crew.first(Setting(batch=batch, in_memory=True))
        self.start_s = self._clock() - began_s
        self.samples = ready.samples
        self.script = script_facts(ready, self.script.data_kind)
        if ready.is_nan:
            self.notes.append(_NAN_REASON)
        self.own = ready.batch if batch is None else None
        self.ready = ready
        if self.question.is_judged:
            most = largest_batch(ready.samples, ready.batch)
            self.question = replace(self.question, updates_limit=most)
        self.crew.round(has_time=lambda seconds: seconds <= self.left_s)
        self._tell_rows()

    def measure(self) -> None:
        """Try sizes and measure them until nothing more is worth trying, or the time is over."""
        known = 0
        while True:
            self.climb()
            if len(self.crew.rows) == known:
                return
            known = len(self.crew.rows)
            # Better times may show that the climb ended too early.
            self.settle()

    def climb(self) -> None:
        """Try sizes until none is left that could be better, or the time is over."""
        while not self.is_cut and (wanted := next_sizes(self.question, self._seen())):
            sizes = self._affordable(wanted)
            if not sizes:
                self._cut(wanted)
                return
            self._try(sizes)

    def settle(self) -> None:
        """Measure on until no round is faster any more and all fit, or the time is over.

        The largest that fits is chosen by memory: its times are good enough.
        """
        if self.question.mode == "max" or not self.crew.alive:
            return
        still = 0
        for _ in range(MAX_ROUNDS):
            before = {row.batch: row.step_s for row in measured_rows(self.rows)}
            if not self._rounds(1):
                return
            is_faster = any(
                row.step_s < BETTER * before.get(row.batch, math.inf)
                for row in measured_rows(self.rows)
            )
            still = 0 if is_faster else still + 1
            if still >= (STILL_ROUNDS if self.misfit <= MAX_RESIDUAL else LAST_ROUNDS):
                return

    def choice(self, below: int | None = None) -> BatchRow | None:
        """Return the row to use, if wanted under a size."""
        rows = [row for row in self.rows if below is None or row.batch < below]
        return ladder.choose_row(self.question, rows)

    def _seen(self) -> SeenSizes:
        told = [n for n in (self.samples, self.crew.most_fed) if n is not None]
        return SeenSizes(self.crew.rows, self.own, min(told, default=None), self._fits)

    def _expected_bytes(self, batch: int) -> float:
        points = [(row.batch, row.peak_bytes) for row in self.rows if row.is_measured]
        return ladder.expected_bytes(points, batch, self.crew.base_bytes) or 0.0

    def _fits(self, batch: int) -> bool:
        return self._expected_bytes(batch) <= self.room.each_bytes * MEMORY_SHARE

    def _affordable(self, sizes: list[int]) -> list[int]:
        """Return the sizes for which there is time, in their order."""
        costs, left_s = self._costs, self.left_s - self.crew.round_s()
        found = costs.affordable(sizes, left_s - self.reserve_s)
        if found or len(measured_rows(self.rows)) != 1:
            return found
        # Without a second size there is no choice that could be run again.
        return [size for size in sizes if costs.size_s(size) <= left_s][:1]

    @property
    def _costs(self) -> TrialCosts:
        return TrialCosts(self.start_s, self.load.cores, self.crew.step_s)

    def _cut(self, sizes: list[int]) -> None:
        """End the search for want of time, and say what one more size would have taken."""
        self.is_cut = True
        parts = [f"one more size takes about {units.about(self._costs.least_s(sizes))}"]
        if len(measured_rows(self.rows)) > 1:
            parts.append(f"running the chosen one again {units.about(self.reserve_s)}")
        self.cut_words = f"{', '.join(parts)}, and {units.about(self.left_s)} were left"
        left_out = ", ".join(map(str, sorted(sizes)))
        self.notes.append(f"not tried for want of time: batch {left_out} ({self.cut_words})")

    def _try(self, sizes: list[int]) -> None:
        """Start sizes, as many at once as memory allows, and measure all that are alive."""
        waiting = sorted(sizes)
        while waiting := [n for n in waiting if is_untried(n, self.question, self._seen())]:
            # Each size that has run tells more of the memory that larger ones need.
            possible = [n for n in waiting if self._fits(n)]
            if not possible:
                self._rule_out(waiting)
                return
            group = self._beside(possible)
            if not group:
                # What was measured already makes room; the rest is measured without it.
                self.crew.drop(self.crew.alive[0])
                self.is_apart = True
                continue
            self._start(group)
            self._rounds(WAVE_ROUNDS)

    def _start(self, sizes: list[int]) -> None:
        shown = ", ".join(map(str, sizes))
        self.tell(f"starting batch {shown} ({units.about(self.left_s)} left)")
        began_s = self._clock()
        at_once = max(START_TOLL * len(sizes) / self.load.cores, 1.0)
        self.crew.start(sizes, self._patience_s(at_once))
        if set(sizes) <= set(self.crew.alive):
            # A machine that has become busier needs more time for the last one too.
            self.start_s = max(self.start_s, (self._clock() - began_s) / at_once)

    def _patience_s(self, at_once: float) -> float:
        """Return how long one of several trials that start together may be silent."""
        usual_s = self.start_s * at_once
        return min(max(PATIENCE * usual_s, MIN_PATIENCE_S), max(self.left_s, 1.0))

    def _rule_out(self, sizes: list[int]) -> None:
        for size in sizes:
            needed = self._expected_bytes(size)
            words = f"not tried: about {units.size(needed)} needed, limit {self.room.told}"
            self.crew.rows[size] = BatchRow(size, peak_bytes=needed, words=words)
        self._tell_rows()

    def _beside(self, sizes: list[int]) -> list[int]:
        """Return the first sizes that fit in memory together with the trials that are alive."""
        free = self.room.all_bytes - self.crew.alive_bytes
        group: list[int] = []
        for size in sizes:
            free -= self._expected_bytes(size)
            if free < 0:
                break
            group.append(size)
        return group if group or self.crew.alive else sizes[:1]

    def _rounds(self, count: int) -> bool:
        """Measure so many rounds; tell whether there was time for all."""
        for _ in range(count):
            is_done = self.crew.round(has_time=self._has_time)
            self._tell_rows()
            if not is_done:
                return False
        return True

    def _has_time(self, seconds: float) -> bool:
        # A size that was started at all is measured: nothing is chosen without that.
        is_due = any(not self.crew.rows[size].steps_s for size in self.crew.alive)
        return self.left_s - (0.0 if is_due else self.reserve_s) >= seconds

    def _tell_rows(self) -> None:
        """Tell each size once, when something is known of it."""
        for row in self.rows:
            if row.batch not in self._told and (row.steps_s or row.words):
                self._told.add(row.batch)
                self.tell(plan.row_line(row))
                if row.failure is TrialFailure.ERROR:
                    self.tell(row.text)
                elif row.failure is TrialFailure.CRASHED and "\n" in row.text:
                    self.tell(row.text.partition("\n")[2])  # its first line was told
