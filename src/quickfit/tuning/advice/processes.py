"""The processes of a round: one trains as it is or with a change, and is asked for blocks."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from quickfit.proof.budget import Budget
from quickfit.tuning.advice.epochs import first_steps
from quickfit.tuning.advice.pairs import Side
from quickfit.tuning.batches.load import OtherLoad
from quickfit.tuning.trials.answers import Block, Failure, Learned, Ready, TrialFailed
from quickfit.tuning.trials.settings import Setting

# Long enough for the clock and for the noise of one step.
BLOCK_S = 0.4
MIN_STEPS = 2


class Trying(Protocol):
    """What a round needs of a trial."""

    @property
    def pid(self) -> int | None: ...
    def start(self) -> None: ...
    def ready(self) -> Ready: ...
    def run(self, steps: int) -> Block: ...
    def learn(self, samples: int) -> Learned: ...
    def close(self) -> None: ...


class OutOfTime(Exception):  # noqa: N818 - it is an answer, not a failure
    """The budget is over."""


class BaselineFailed(Exception):  # noqa: N818 - it is an answer about the user's own training
    """The training as it is did not run; `failure` says how."""

    def __init__(self, failure: TrialFailed) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(frozen=True)
class Machine:
    """Where trials run, and how long they may.

    Args:
        make: returns a trial of a setting that has not started.
        budget: the time for everything.
        tell: is called with what is being done.
        starts: how many processes start at the same time.
        load: finds out what other programs take meanwhile.
    """

    make: Callable[[Setting], Trying]
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
            raise OutOfTime

    @contextlib.contextmanager
    def limiting(self, trial: Trying) -> Iterator[None]:
        """End the process of a trial, if it works on something when the budget is over."""
        timer = threading.Timer(min(self.budget.left_s, threading.TIMEOUT_MAX), _kill, (trial,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class Started:
    """One process of a round with what it has answered so far."""

    def __init__(self, trial: Trying, name: str) -> None:
        self.trial = trial
        self.name = name
        self.side = Side()

    def begin(self) -> None:
        """Start its process, and do not wait for it."""
        try:
            self.trial.start()
        except TrialFailed as failure:
            self.fail(failure)

    def wait(self, machine: Machine) -> None:
        """Wait until it trains.

        Raises:
            OutOfTime: the budget was over before that.
        """
        if self.side.failure is not None:
            return
        with self._failing(machine):
            self.side.ready = self.trial.ready()

    def ready(self) -> Ready:
        """Return what it answered once it trained.

        Raises:
            BaselineFailed: it did not come so far.
        """
        if self.side.failure is not None or self.side.ready is None:
            failure = self.side.failure or TrialFailed(Failure.CRASHED, "it did not start")
            raise BaselineFailed(failure)
        return self.side.ready

    def fail(self, failure: TrialFailed) -> None:
        """Keep how it failed, and let its process go."""
        self.side.failure = failure
        self.trial.close()

    def block(self, machine: Machine) -> Block | None:
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

    def learn(self, machine: Machine, samples: int) -> None:
        """Let it train from its first weights on some samples."""
        with self._failing(machine):
            self.side.learned = self.trial.learn(samples)

    @contextlib.contextmanager
    def _failing(self, machine: Machine) -> Iterator[None]:
        """Keep a failure, unless it was only given up at the end of the budget."""
        try:
            with machine.limiting(self.trial):
                yield
        except TrialFailed as failure:
            machine.check()
            self.fail(failure)


def block_steps(step_s: float) -> int:
    """Return how many steps make a block."""
    return max(math.ceil(BLOCK_S / step_s), MIN_STEPS) if step_s > 0 else MIN_STEPS


@contextlib.contextmanager
def closing(started: Sequence[Started]) -> Iterator[None]:
    """Close every trial in the end, whatever happens."""
    with contextlib.ExitStack() as stack:
        for it in started:
            stack.callback(it.trial.close)
        yield


def _kill(trial: Trying) -> None:
    pid = trial.pid
    if pid is not None:
        # It has been ended already.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
