"""Machines that are not there: trials answer from a formula, on a clock that only they move."""

from collections.abc import Callable
from dataclasses import dataclass, field

from quickfit.lab.budget import Budget
from quickfit.tuning.advice.rounds import TrialMachine
from quickfit.tuning.trials.resources import OtherLoad
from quickfit.tuning.trials.settings import (
    Setting,
    TrialBlock,
    TrialFailed,
    TrialFailure,
    TrialLearned,
    TrialReady,
)


@dataclass
class World:
    """A clock, and what trainings do on this machine.

    Args:
        sample_s: the time of one sample with a setting.
        start_s: how long a process takes to start.
        compile_s: what the first call takes with a setting.
        after: the loss after some samples with a setting.
        fails: how a setting fails when it is started, or None.
        fails_in_block: the same, when it has started.
        samples: in the data set.
        epoch_s: what it takes to begin an epoch.
        interrupt_at_s: when somebody presses Ctrl-C.
    """

    sample_s: Callable[[Setting], float] = lambda setting: 1e-3
    start_s: float = 2.0
    compile_s: Callable[[Setting], float] = lambda setting: 0.5
    after: Callable[[Setting], float] = lambda setting: 0.5
    fails: Callable[[Setting], TrialFailed | None] = lambda setting: None
    fails_in_block: Callable[[Setting], TrialFailed | None] = lambda setting: None
    samples: int | None = 4096
    batch: int = 32
    epoch_s: float = 0.0
    interrupt_at_s: float = float("inf")
    now_s: float = 0.0
    deadline_s: float = float("inf")
    made: list["FakeTrial"] = field(default_factory=list)
    blocks: list[Setting] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def machine(
        self, budget_s: float = 180.0, busy_s: Callable[[], float] = lambda: 0.0
    ) -> TrialMachine:
        """Return a machine with a budget that begins now."""
        budget = Budget(budget_s, clock=lambda: self.now_s)
        self.deadline_s = budget.deadline_s
        load = OtherLoad(busy_s, cores=2, elsewhere=0)
        return TrialMachine(self.make, budget, self.told.append, 2, load)

    def make(self, setting: Setting) -> "FakeTrial":
        trial = FakeTrial(self, setting)
        self.made.append(trial)
        return trial

    def spend(self, seconds: float) -> None:
        """Let time pass in a trial; at the end of the budget its process is ended."""
        self.now_s = min(self.now_s + seconds, self.deadline_s)
        if self.now_s >= self.interrupt_at_s:
            self.interrupt_at_s = float("inf")
            raise KeyboardInterrupt
        if self.now_s >= self.deadline_s:
            raise TrialFailed(TrialFailure.CRASHED, "the process was ended by SIGKILL")

    def count(self, setting: Setting) -> int:
        """Return how many processes were started with a setting."""
        return sum(trial.setting == setting and trial.is_started for trial in self.made)

    @property
    def open_trials(self) -> list["FakeTrial"]:
        """Trials that were started and never closed."""
        return [trial for trial in self.made if trial.is_started and not trial.is_closed]


class FakeTrial:
    """Answers as a trial does."""

    pid = None

    def __init__(self, world: World, setting: Setting) -> None:
        self.world = world
        self.setting = setting
        self.is_started = self.is_closed = False

    @property
    def batch(self) -> int:
        return self.setting.batch or self.world.batch

    def start(self) -> None:
        self.is_started = True

    def ready(self) -> TrialReady:
        self.world.spend(self.world.start_s)
        _fail(self.world.fails(self.setting))
        step_s = self.world.sample_s(self.setting) * self.batch
        compile_s = self.world.compile_s(self.setting)
        return TrialReady(self.batch, self.world.samples, 0.1, compile_s, step_s, 1234, 500_000_000)

    def run(self, steps: int) -> TrialBlock:
        _fail(self.world.fails_in_block(self.setting))
        samples = steps * self.batch
        epochs = samples // self.world.samples if self.world.samples else 0
        wall_s = samples * self.world.sample_s(self.setting) + epochs * self.world.epoch_s
        self.world.spend(wall_s)
        self.world.blocks.append(self.setting)
        return TrialBlock(
            steps, samples, wall_s, wall_s * 1.5, 600_000_000 + self.batch * 1_000_000
        )

    def learn(self, samples: int) -> TrialLearned:
        self.world.spend(samples * self.world.sample_s(self.setting))
        return TrialLearned(samples, 2.3, self.world.after(self.setting))

    def close(self) -> None:
        self.is_closed = True


def _fail(failed: TrialFailed | None) -> None:
    if failed is not None:
        raise failed


def out_of_memory() -> TrialFailed:
    """Return how a trial fails that needs too much memory."""
    return TrialFailed(
        TrialFailure.OUT_OF_MEMORY, "the kernel ended the process.\nIt wrote last:\nx"
    )


def faster(**gains: float) -> Callable[[Setting], float]:
    """Return the time of a sample where each change has a gain of its own, and they multiply.

    Args:
        gains: by what is changed, such as `jit=1.3`; everything else is a little slower.
    """

    def sample_s(setting: Setting) -> float:
        found = 1e-3
        for name in setting.changed():
            found /= gains.get(name, 0.98)
        return found

    return sample_s
