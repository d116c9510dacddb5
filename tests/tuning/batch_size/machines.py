"""Machines that do not exist, on which the time and memory of a step are what a test says."""

from collections.abc import Callable
from dataclasses import dataclass, field

from quickfit.tuning.batch_size.question import BatchQuestion, MemoryRoom
from quickfit.tuning.batch_size.search import BatchSearch
from quickfit.tuning.trials.resources import OtherLoad
from quickfit.tuning.trials.settings import (
    TrialBlock,
    TrialFailed,
    TrialFailure,
    TrialLearned,
    TrialReady,
)

GB = 10**9


@dataclass
class Machine:
    """Answers as trials of one model would on it; its clock goes only by what is done on it.

    Args:
        own: the user's batch.
        samples: in the data.
        step_s: of a batch; by default the usual line.
        held_bytes: by a batch.
        start_s: until a trial is ready.
        input_sample_s: what the user's own input takes for a sample.
        failures: how sizes fail when they start.
        late_failures: how sizes fail when they are run with the user's own input.
        interrupt_at: the batch in whose turn Ctrl-C is pressed.
        foreign: cores that other programs keep busy.
        told: what else a trial tells when it is ready.
        loss: after some samples with a batch.
    """

    own: int = 32
    samples: int | None = 50_000
    step_s: Callable[[int], float] = lambda batch: 0.002 + 0.0001 * batch
    held_bytes: Callable[[int], float] = lambda batch: 0.6 * GB + 1e6 * batch
    start_s: float = 5.0
    input_sample_s: float = 0.0
    failures: dict = field(default_factory=dict)
    late_failures: dict = field(default_factory=dict)
    interrupt_at: int | None = None
    foreign: float = 0.0
    told: dict = field(default_factory=dict)
    loss: Callable[[int], float] = lambda batch: 0.5
    now_s: float = 0.0
    alive: set = field(default_factory=set)
    most_bytes: float = 0.0
    started: list = field(default_factory=list)

    def begin(self, setting, patience_s):
        return FakeTrial(self, setting, patience_s)

    def search(self, *, each=10 * GB, all_bytes=None, tell=None, **question) -> BatchSearch:
        load = OtherLoad(lambda: self.now_s * (1 + self.foreign), cores=2, elsewhere=0)
        room = MemoryRoom(each, all_bytes or each, f"{each / GB:g} GB")
        told = {} if tell is None else {"tell": tell}
        begin, clock = self.begin, lambda: self.now_s
        return BatchSearch(BatchQuestion(**question), begin, room, load=load, clock=clock, **told)


class FakeTrial:
    """What is used of a trial, on a machine that does not exist."""

    pid = None

    def __init__(self, machine, setting, patience_s):
        self.machine = machine
        self.setting = setting
        self.patience_s = patience_s
        self.batch = setting.batch or machine.own

    def start(self):
        self.machine.started.append(self.setting)
        self.machine.alive.add(self)

    def ready(self):
        self.machine.now_s += self.machine.start_s
        failures = self.machine.failures
        if not self.setting.in_memory:
            failures = {**failures, **self.machine.late_failures}
        if failure := failures.get(self.setting.batch if self.setting.batch else "own"):
            if failure.failure is TrialFailure.HUNG:
                self.machine.now_s += self.patience_s
            raise failure
        held = [self.machine.held_bytes(trial.batch) for trial in self.machine.alive]
        self.machine.most_bytes = max(self.machine.most_bytes, sum(held))
        fed = min(self.batch, self.machine.samples or self.batch)
        peak = int(self.machine.held_bytes(self.batch))
        return TrialReady(
            fed, self.machine.samples, 1.0, 0.5, self._step_s(), 1000, peak, **self.machine.told
        )

    def run(self, steps):
        if self.batch == self.machine.interrupt_at:
            raise KeyboardInterrupt
        wall_s = steps * self._step_s()
        self.machine.now_s += wall_s
        peak = int(self.machine.held_bytes(self.batch))
        return TrialBlock(steps, steps * self.batch, wall_s, wall_s, peak)

    def learn(self, samples):
        self.machine.now_s += samples / self.batch * self._step_s()
        return TrialLearned(samples, 2.3, self.machine.loss(self.batch))

    def close(self):
        self.machine.alive.discard(self)

    def _step_s(self):
        own_s = self.machine.step_s(self.batch)
        input_s = 0 if self.setting.in_memory else self.machine.input_sample_s * self.batch
        return max(own_s, input_s)


def out_of_memory(text="memory ran out: the process was ended by SIGABRT while training."):
    return TrialFailed(TrialFailure.OUT_OF_MEMORY, text)


def hung():
    return TrialFailed(TrialFailure.HUNG, "no sign of life for 20 s while building; it was ended.")


def error(text='File "train.py", line 3, in build\nValueError: no such layer'):
    return TrialFailed(TrialFailure.ERROR, text)
