"""A round: fresh processes, the training as it is among them, that take turns in short blocks.

Processes are started a few at a time, because starting is work for whole cores; they are measured
one at a time, while the others rest. In a turn, every candidate has its block next to one of the
training as it is, so that both meet the same machine:

    as it is, A, B, as it is, C, D, as it is
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import statistics
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from quickfit.lab.budget import Budget
from quickfit.tuning.advice.candidates import ChangeCandidate, first_steps
from quickfit.tuning.trials.resources import OtherLoad
from quickfit.tuning.trials.settings import (
    Setting,
    TrialBlock,
    TrialFailed,
    TrialFailure,
    TrialLearned,
    TrialReady,
)

# Turns of a round; of trainings whose blocks are long, fewer.
ROUND_TURNS = 3
LONG_BLOCK_S = 1.5
LONG_TURNS = 2
# A candidate that is slower in its first pair is not asked how well it learns.
NO_SLOWER = 1.0


@dataclass
class RoundResult:
    """What a round found, by candidate; also a round that was cut short has some of it."""

    pairs: dict[ChangeCandidate, TrialPair] = field(default_factory=dict)
    failures: dict[ChangeCandidate, TrialFailed] = field(default_factory=dict)
    is_cut: bool = False


@dataclass(frozen=True)
class LossComparison:
    """Who trains from the first weights at the end of a round, so that losses can be compared.

    Args:
        samples: that everybody learns from.
        learners: candidates; those that are slower than the training as it is need not.
        with_base: whether the training as it is learns too.
    """

    samples: int
    learners: frozenset[ChangeCandidate]
    with_base: bool = True


class TrialRound:
    """Measures candidates beside the training as it is, once.

    Args:
        machine: where it runs.
        candidates: what is tried.
        base: the training as it is, where it runs already.
        title: of the round, for whoever watches.
        lesson: for the end of the round.
    """

    def __init__(
        self,
        machine: TrialMachine,
        candidates: Sequence[ChangeCandidate],
        *,
        base: StartedTrial | None = None,
        title: str = "",
        lesson: LossComparison | None = None,
    ) -> None:
        self._machine = machine
        self._title = title
        self._lesson = lesson
        self._is_base_new = base is None
        self.base = base or StartedTrial(machine.make(Setting()), "as it is")
        self._others = {
            one: StartedTrial(machine.make(one.setting), one.name) for one in candidates
        }
        self._beside: dict[ChangeCandidate, list[tuple[TrialBlock, TrialBlock]]] = {
            one: [] for one in candidates
        }
        self._is_cut = False

    def measure(self, *, backwards: bool = False) -> RoundResult:
        """Start all, let them take turns, end all.

        Args:
            backwards: start in the opposite order, the training as it is last.

        Raises:
            BaselineFailed: the training as it is did not run.
        """
        with close_trials([self.base, *self._others.values()]):
            try:
                self._start(backwards=backwards)
                self._take_turns()
                self._learn()
            except AdviceOutOfTime:
                self._is_cut = True
            return self.found()

    def _start(self, *, backwards: bool) -> None:
        order = [*([self.base] if self._is_base_new else []), *self._others.values()]
        waiting = deque(reversed(order) if backwards else order)
        starting: deque[StartedTrial] = deque()
        total = len(waiting)
        while waiting or starting:
            while waiting and len(starting) < self._machine.starts:
                self._machine.check()
                starting.append(waiting.popleft())
                starting[-1].begin()
            done = total - len(waiting) - len(starting)
            self._tell(f"starting {starting[0].name}, {done + 1} of {total}")
            starting.popleft().wait(self._machine)
        self._check_base()

    def _take_turns(self) -> None:
        turns = ROUND_TURNS if self._longest_block_s() < LONG_BLOCK_S else LONG_TURNS
        for turn in range(turns):
            self._tell(f"measuring in turns, {turn + 1} of {turns}")
            self._turn([one for one, it in self._others.items() if it.side.goes], turn)

    def _turn(self, candidates: Sequence[ChangeCandidate], turn: int) -> None:
        """Give everybody a block; every second turn goes backwards."""
        order = turn_order(len(candidates))
        bases: dict[int, TrialBlock] = {}
        blocks: dict[int, TrialBlock] = {}
        for place, is_base in order if turn % 2 == 0 else reversed(order):
            self._machine.check()
            block = (self.base if is_base else self._others[candidates[place]]).block(self._machine)
            self._check_base()
            if block is not None:
                (bases if is_base else blocks)[place] = block
        for place, block in blocks.items():
            self._beside[candidates[place]].append((bases[(place + 1) // 2], block))

    def _longest_block_s(self) -> float:
        steps_s = [it.side.step_s for it in (self.base, *self._others.values()) if it.side.goes]
        return max((block_steps(step_s) * step_s for step_s in steps_s), default=0.0)

    def _learn(self) -> None:
        lesson = self._lesson
        if lesson is None:
            return
        pairs = self.found().pairs
        able = [
            it
            for one, it in self._others.items()
            if one in lesson.learners and one in pairs and pairs[one].gain >= NO_SLOWER
        ]
        everybody = [*([self.base] if lesson.with_base and able else []), *able]
        for number, it in enumerate(everybody, 1):
            self._machine.check()
            self._tell(f"comparing losses, {number} of {len(everybody)}")
            it.learn(self._machine, lesson.samples)

    def found(self) -> RoundResult:
        """Return what the turns have told by now."""
        found = RoundResult(is_cut=self._is_cut)
        for one, it in self._others.items():
            if it.side.failure is not None:
                found.failures[one] = it.side.failure
                continue
            pair = trial_pair(self.base.side, it.side, self._beside[one])
            if pair is not None:
                found.pairs[one] = pair
        return found

    def _check_base(self) -> None:
        if self.base.side.failure is not None:
            raise BaselineFailed(self.base.side.failure)

    def _tell(self, text: str) -> None:
        self._machine.tell(f"{self._title}: {text}" if self._title else text)


def turn_order(count: int) -> list[tuple[int, bool]]:
    """Return the order of a turn: places of candidates, and of the training as it is (True).

    The candidate at place n has its neighbour at place (n + 1) // 2 of the training as it is.
    """
    order: list[tuple[int, bool]] = []
    for place in range(count):
        if place % 2 == 0:
            order.append((place // 2, True))
        order.append((place, False))
    if count % 2 == 0:
        order.append((count // 2, True))
    return order


# Long enough for the clock and for the noise of one step.
ROUND_BLOCK_S = 0.4
MIN_BLOCK_STEPS = 2


class RoundTrial(Protocol):
    """What a round needs of a trial."""

    @property
    def pid(self) -> int | None: ...
    def start(self) -> None: ...
    def ready(self) -> TrialReady: ...
    def run(self, steps: int) -> TrialBlock: ...
    def learn(self, samples: int) -> TrialLearned: ...
    def close(self) -> None: ...


class AdviceOutOfTime(Exception):  # noqa: N818 - it is an answer, not a failure
    """The budget is over."""


class BaselineFailed(Exception):  # noqa: N818 - it is an answer about the user's own training
    """The training as it is did not run; `failure` says how."""

    def __init__(self, failure: TrialFailed) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(frozen=True)
class TrialMachine:
    """Where trials run, and how long they may.

    Args:
        make: returns a trial of a setting that has not started.
        budget: the time for everything.
        tell: is called with what is being done.
        starts: how many processes start at the same time.
        load: finds out what other programs take meanwhile.
    """

    make: Callable[[Setting], RoundTrial]
    budget: Budget
    tell: Callable[[str], None] = lambda text: None
    starts: int = 2
    load: OtherLoad = field(default_factory=OtherLoad)

    def check(self) -> None:
        """Go on only while there is time.

        Raises:
            OutOfTime: there is none.
        """
        if self.budget.left_s <= 0:
            raise AdviceOutOfTime

    @contextlib.contextmanager
    def limiting(self, trial: RoundTrial) -> Iterator[None]:
        """End the process of a trial, if it works on something when the budget is over."""
        timer = threading.Timer(
            min(self.budget.left_s, threading.TIMEOUT_MAX), _kill_trial, (trial,)
        )
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class StartedTrial:
    """One process of a round with what it has answered so far."""

    def __init__(self, trial: RoundTrial, name: str) -> None:
        self.trial = trial
        self.name = name
        self.side = RoundSide()

    def begin(self) -> None:
        """Start its process, and do not wait for it."""
        try:
            self.trial.start()
        except TrialFailed as failure:
            self.fail(failure)

    def wait(self, machine: TrialMachine) -> None:
        """Wait until it trains.

        Raises:
            OutOfTime: the budget was over before that.
        """
        if self.side.failure is not None:
            return
        with self._failing(machine):
            self.side.ready = self.trial.ready()

    def ready(self) -> TrialReady:
        """Return what it answered once it trained.

        Raises:
            BaselineFailed: it did not come so far.
        """
        if self.side.failure is not None or self.side.ready is None:
            failure = self.side.failure or TrialFailed(TrialFailure.CRASHED, "it did not start")
            raise BaselineFailed(failure)
        return self.side.ready

    def fail(self, failure: TrialFailed) -> None:
        """Keep how it failed, and let its process go."""
        self.side.failure = failure
        self.trial.close()

    def block(self, machine: TrialMachine) -> TrialBlock | None:
        """Let it train for a block; None where it fails."""
        with self._failing(machine):
            left_s = machine.budget.left_s
            machine.load.begin()
            block = self.trial.run(self._steps())
            machine.load.end(wall_s=left_s - machine.budget.left_s, own_s=block.cpu_s)
            self.side.blocks.append(block)
            return block
        return None

    def _steps(self) -> int:
        """Return the steps of its next block; only a block tells what epochs add to a step."""
        steps, ready = block_steps(self.side.step_s), self.side.ready
        return first_steps(steps, ready) if ready is not None and not self.side.blocks else steps

    def learn(self, machine: TrialMachine, samples: int) -> None:
        """Let it train from its first weights on some samples."""
        with self._failing(machine):
            self.side.learned = self.trial.learn(samples)

    @contextlib.contextmanager
    def _failing(self, machine: TrialMachine) -> Iterator[None]:
        """Keep a failure, unless it was only given up at the end of the budget."""
        try:
            with machine.limiting(self.trial):
                yield
        except TrialFailed as failure:
            machine.check()
            self.fail(failure)


def block_steps(step_s: float) -> int:
    """Return how many steps make a block."""
    return (
        max(math.ceil(ROUND_BLOCK_S / step_s), MIN_BLOCK_STEPS) if step_s > 0 else MIN_BLOCK_STEPS
    )


@contextlib.contextmanager
def close_trials(started: Sequence[StartedTrial]) -> Iterator[None]:
    """Close every trial in the end, whatever happens."""
    with contextlib.ExitStack() as stack:
        for it in started:
            stack.callback(it.trial.close)
        yield


def _kill_trial(trial: RoundTrial) -> None:
    pid = trial.pid
    if pid is not None:
        # It has been ended already.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


# First calls that differ by less, or by less than this share, are alike.
SAME_COMPILE_S, SAME_COMPILE_SHARE = 0.25, 0.5


@dataclass(frozen=True)
class TrialPair:
    """Two processes that took turns: the training as it is, and a candidate.

    Args:
        gain: samples per second, as a multiple of what they were.
        cpu: CPU time of a sample, likewise.
        peak_bytes: the most memory the candidate held.
        unchanged_peak_bytes: the same without the change.
        compile_s: how much longer the candidate's first call took.
        step_s: wall time of a step of the training as it is.
        learned: how far the candidate came on some samples.
        unchanged: how far the training came without the change.
    """

    gain: float
    cpu: float
    peak_bytes: int
    unchanged_peak_bytes: int
    compile_s: float
    step_s: float
    learned: TrialLearned | None = None
    unchanged: TrialLearned | None = None


@dataclass
class RoundSide:
    """What one process of a round answered."""

    ready: TrialReady | None = None
    blocks: list[TrialBlock] = field(default_factory=list)
    learned: TrialLearned | None = None
    failure: TrialFailed | None = None

    @property
    def goes(self) -> bool:
        """Whether it is there and has not failed."""
        return self.ready is not None and self.failure is None

    @property
    def step_s(self) -> float:
        """Wall time of one step, as well as it is known."""
        if self.blocks:
            last = self.blocks[-1]
            return last.wall_s / max(last.steps, 1)
        return self.ready.step_s if self.ready else 0.0

    @property
    def peak_bytes(self) -> int:
        """The most memory that it held in its blocks."""
        return max((block.peak_bytes for block in self.blocks), default=0)


def trial_pair(
    base: RoundSide, other: RoundSide, beside: Sequence[tuple[TrialBlock, TrialBlock]]
) -> TrialPair | None:
    """Return what two sides measured; None where they had no turn together.

    Args:
        base: the training as it is.
        other: the candidate.
        beside: blocks of both that were next to each other, one pair per turn.
    """
    counted = [(a, b) for a, b in beside if min(a.wall_s, b.wall_s, a.samples, b.samples) > 0]
    if base.ready is None or other.ready is None or not counted:
        return None
    cpus = [b.sample_cpu_s / a.sample_cpu_s for a, b in counted if a.cpu_s > 0]
    return TrialPair(
        gain=statistics.median(a.sample_s / b.sample_s for a, b in counted),
        cpu=statistics.median(cpus) if cpus else 1.0,
        peak_bytes=other.peak_bytes,
        unchanged_peak_bytes=base.peak_bytes,
        compile_s=extra_compile_s(base.ready.compile_s, other.ready.compile_s),
        step_s=statistics.median(a.wall_s / max(a.steps, 1) for a, _ in counted),
        learned=other.learned,
        unchanged=base.learned,
    )


def extra_compile_s(before_s: float, now_s: float) -> float:
    """Return how much longer a first call takes; 0 where the difference may be chance.

    First calls are measured while other processes start, and differ by themselves.
    """
    more_s = now_s - before_s
    return more_s if more_s >= max(SAME_COMPILE_S, SAME_COMPILE_SHARE * before_s) else 0.0
