"""The bench of built models: rounds of fresh processes that take turns in short blocks.

Processes are started a few at a time, because starting is work for whole cores; they are measured
one at a time, while the others rest. In a turn, every candidate has its block next to one of the
training as it is, so that both meet the same machine.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from quickfit.lab.budget import Budget
from quickfit.lab.statistics import MIN_GAIN, Measured, interval
from quickfit.lab.turns import order_beside
from quickfit.lab.verdict import USUAL_PAIRS, Verdict, VerdictKind, judge_gain
from quickfit.tuning.advice.candidates import (
    ChangeCandidate,
    epoch_steps,
    first_steps,
    fits_epoch,
    setting_name,
)
from quickfit.tuning.advice.change_table import ChangeKind, LossChange
from quickfit.tuning.advice.search import NO_SLOWER, RoundPlan
from quickfit.tuning.advice.verdicts import Measurement
from quickfit.tuning.trials.batch_judgement import learn_samples
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

# Turns of a round; of trainings whose blocks are long, fewer.
ROUND_TURNS = 3
LONG_BLOCK_S = 0.8
LONG_TURNS = 2
# Where starting took long, as on a busy machine, more turns cost little beside it, and say more:
# they may take this share of it.
TURNS_SHARE, MOST_TURNS = 0.3, 9


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
        learners: candidates.
        with_base: whether the training as it is learns too.
        min_gain: candidates that gain less need not learn.
    """

    samples: int
    learners: frozenset[ChangeCandidate]
    with_base: bool = True
    min_gain: float = NO_SLOWER


class TrialRound:
    """Measures candidates beside the training as it is, once.

    Args:
        machine: where it runs.
        candidates: what is tried.
        base: what they are compared with, where it runs already or is not the training as it is.
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
        self.base = base or StartedTrial(machine.make(Setting()), "as it is")
        self._others = {
            one: StartedTrial(machine.make(one.setting), one.name) for one in candidates
        }
        self._beside: dict[ChangeCandidate, list[tuple[TrialBlock, TrialBlock]]] = {
            one: [] for one in candidates
        }
        self._is_cut = False
        self._start_s = 0.0

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
        order = [it for it in (self.base, *self._others.values()) if not it.is_begun]
        waiting = deque(reversed(order) if backwards else order)
        starting: deque[StartedTrial] = deque()
        total = len(waiting)
        left_s = self._machine.budget.left_s
        while waiting or starting:
            while waiting and len(starting) < self._machine.starts:
                self._machine.check()
                starting.append(waiting.popleft())
                starting[-1].begin()
            done = total - len(waiting) - len(starting)
            self._tell(f"starting {starting[0].name}, {done + 1} of {total}")
            starting.popleft().wait(self._machine)
        self._start_s = left_s - self._machine.budget.left_s
        self._check_base()

    def _take_turns(self) -> None:
        turns = self._turns()
        for turn in range(turns):
            self._tell(f"measuring in turns, {turn + 1} of {turns}")
            self._turn([one for one, it in self._others.items() if it.side.goes], turn)

    def _turns(self) -> int:
        longest_s = self._longest_block_s()
        if longest_s >= LONG_BLOCK_S:
            return LONG_TURNS
        turn_s = BLOCKS_PER_TURN * max(len(self._others), 1) * max(longest_s, ROUND_BLOCK_S)
        return min(max(int(TURNS_SHARE * self._start_s / turn_s), ROUND_TURNS), MOST_TURNS)

    def _turn(self, candidates: Sequence[ChangeCandidate], turn: int) -> None:
        """Give everybody a block; every second turn goes backwards."""
        bases: dict[int, TrialBlock] = {}
        blocks: dict[int, TrialBlock] = {}
        for place, is_base in order_beside(len(candidates), turn):
            self._machine.check()
            block = (self.base if is_base else self._others[candidates[place]]).block(self._machine)
            self._check_base()
            if block is not None:
                (bases if is_base else blocks)[place] = block
        for place, block in blocks.items():
            self._beside[candidates[place]].append((bases[(place + 1) // 2], block))

    def _longest_block_s(self) -> float:
        sides = [it.side for it in (self.base, *self._others.values()) if it.side.goes]
        return max((side.block_steps * side.step_s for side in sides), default=0.0)

    def _learn(self) -> None:
        lesson = self._lesson
        if lesson is None:
            return
        pairs = self.found().pairs
        able = [
            it
            for one, it in self._others.items()
            if one in lesson.learners and one in pairs and pairs[one].gain >= lesson.min_gain
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


# Long enough for the clock and for the noise of one step.
ROUND_BLOCK_S = 0.4
MIN_BLOCK_STEPS = 2
# Epochs that are no longer than this are measured whole.
WHOLE_EPOCH_S = 1.3


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
        warn: is called with what the user should know at the start.
    """

    make: Callable[[Setting], TrainingTrial]
    budget: Budget
    tell: Callable[[str], None] = lambda text: None
    starts: int = 2
    load: OtherLoad = field(default_factory=OtherLoad)
    warn: Callable[[str], None] = lambda text: None

    def check(self) -> None:
        """Go on only while there is time.

        Raises:
            AdviceOutOfTime: there is none.
        """
        if self.budget.left_s <= 0:
            raise AdviceOutOfTime


class StartedTrial:
    """One process of a round with what it has answered so far."""

    def __init__(self, trial: TrainingTrial, name: str) -> None:
        self.trial = trial
        self.name = name
        self.side = RoundSide()
        self.is_begun = False

    def begin(self) -> None:
        """Start its process, and do not wait for it."""
        self.is_begun = True
        try:
            self.trial.start()
        except TrialFailed as failure:
            self.fail(failure)

    def wait(self, machine: TrialMachine) -> None:
        """Wait until it trains.

        Raises:
            AdviceOutOfTime: the budget was over before that.
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
        steps, ready = self.side.block_steps, self.side.ready
        return first_steps(steps, ready) if ready is not None and not self.side.blocks else steps

    def learn(self, machine: TrialMachine, samples: int) -> None:
        """Let it train from its first weights on some samples."""
        with self._failing(machine):
            self.side.learned = self.trial.learn(samples)

    @contextlib.contextmanager
    def _failing(self, machine: TrialMachine) -> Iterator[None]:
        """Keep a failure, unless it was only given up at the end of the budget."""
        try:
            with end_after(self.trial, machine.budget.left_s):
                yield
        except TrialFailed as failure:
            machine.check()
            self.fail(failure)


def block_steps(step_s: float, epoch: int | None = None) -> int:
    """Return how many steps make a block: whole epochs, where these are short.

    What an epoch takes at its end and its beginning is then in every block as it is in a training.

    Args:
        step_s: the time of one.
        epoch: the steps of an epoch; None where that is not known.
    """
    if step_s <= 0:
        return MIN_BLOCK_STEPS
    steps = max(math.ceil(ROUND_BLOCK_S / step_s), MIN_BLOCK_STEPS)
    if epoch is None or epoch * step_s > WHOLE_EPOCH_S:
        return steps
    return -(-steps // epoch) * epoch


@contextlib.contextmanager
def close_trials(started: Sequence[StartedTrial]) -> Iterator[None]:
    """Close every trial in the end, whatever happens."""
    with contextlib.ExitStack() as stack:
        for it in started:
            stack.callback(it.trial.close)
        yield


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
    def block_steps(self) -> int:
        """The steps of a block."""
        return block_steps(self.step_s, epoch_steps(self.ready) if self.ready else None)

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


# Two processes that start together on two cores each take a little longer than one alone.
SHARED_START = 0.75
# A turn has more than one block for each: the training as it is has its own between them.
BLOCKS_PER_TURN = 1.5
# Any shorter, and a division by it would plan rounds without end.
_MIN_PROCESS_S = 0.05


class SettingBench:
    """Measures settings of a built model, several at once beside the training as it is.

    Args:
        machine: where trials run.
    """

    def __init__(self, machine: TrialMachine) -> None:
        self._machine = machine
        self._base: StartedTrial | None = None
        self._pairs: dict[ChangeCandidate, list[TrialPair]] = {}
        # How long a process of a round takes in all: to start, and for its blocks.
        self._process_s = 0.0
        # How many processes fit into memory at the same time.
        self.processes = 2
        self.budget = machine.budget
        self.rounds = USUAL_PAIRS
        self.measured: dict[ChangeCandidate, Measurement] = {}
        self.failures: dict[ChangeCandidate, str] = {}
        self.refusals: dict[ChangeCandidate, str] = {}
        self.ended = ""
        # From the start of a process until it trains.
        self.start_s = 0.0
        self.notes: list[str] = []
        # All blocks of the training as it is.
        self.blocks: list[TrialBlock] = []
        self.unchanged: TrialLearned | None = None
        # One block of it, before anything is tried.
        self.first_block: TrialBlock | None = None

    def begin(self) -> TrialReady:
        """Start the training as it is; what it answers decides which candidates there are.

        Raises:
            BaselineFailed: it does not run.
            AdviceOutOfTime: it does not run within the budget.
        """
        left_s = self.budget.left_s
        self._machine.tell("starting your training as it is")
        self._base = StartedTrial(self._machine.make(Setting()), "as it is")
        self._base.begin()
        self._base.wait(self._machine)
        self.ready = self._base.ready()
        self.start_s = left_s - self.budget.left_s
        self.first_block = self._base.block(self._machine)
        self._base.ready()  # it may have failed in its block
        side = self._base.side
        block_s = max(ROUND_BLOCK_S, side.block_steps * side.step_s)
        shared_s = self.start_s * (SHARED_START if self._machine.starts > 1 else 1.0)
        turns = ROUND_TURNS if block_s < LONG_BLOCK_S else LONG_TURNS
        self._process_s = shared_s + turns * BLOCKS_PER_TURN * block_s
        return self.ready

    def close(self) -> None:
        """End the training as it is, where no round has done so."""
        if self._base is not None:
            self.blocks += self._base.side.blocks
            self._base.trial.close()
            self._base = None

    @property
    def is_busy(self) -> bool:
        """Whether other programs take part of the machine."""
        return self._machine.load.is_busy

    @property
    def begin_s(self) -> float:
        """The least time in which another candidate is begun."""
        return self.round_s(1)

    def round_s(self, candidates: int) -> float:
        """Return how long a round of so many takes, beside the training as it is."""
        return (candidates + 1) * self._process_s

    def room(self, seconds: float) -> int:
        """Return how many candidates there is memory for, and time in so many seconds."""
        in_time = seconds / max(self._process_s, _MIN_PROCESS_S) - 1
        return max(min(int(min(in_time, 1e6)), self.processes - 1), 0)

    def measure(self, plan: RoundPlan) -> bool:
        """Measure one more pair of each candidate; tell whether there is time to go on.

        Raises:
            BaselineFailed: the training as it is does not run.
            KeyboardInterrupt: it was interrupted; `measured` has what its turns have shown.
        """
        left_s = self.budget.left_s
        base, self._base = self._base, None
        what = "together, " if plan.is_together else ""
        title = f"{what}round {plan.number} of {max(plan.number, USUAL_PAIRS)}"
        lesson = self._lesson(plan) if plan.learners else None
        one_round = TrialRound(
            self._machine, plan.candidates, base=base, title=title, lesson=lesson
        )
        try:
            found = one_round.measure(backwards=plan.number % 2 == 0)
        except BaselineFailed as error:
            self._check_later(error)
            return False
        except KeyboardInterrupt:
            self._keep(one_round.base, one_round.found())
            raise
        self._keep(one_round.base, found)
        self._process_s = (left_s - self.budget.left_s) / (len(plan.candidates) + 1)
        return not found.is_cut

    def join(self, winners: Sequence[ChangeCandidate]) -> ChangeCandidate | None:
        """Return winners in one; None where that is one only."""
        return join_settings(winners, self.ready)

    def _keep(self, base: StartedTrial, found: RoundResult) -> None:
        self.blocks += base.side.blocks
        self.unchanged = base.side.learned or self.unchanged
        for one, pair in found.pairs.items():
            pairs = self._pairs.setdefault(one, [])
            pairs.append(replace(pair, unchanged=pair.unchanged or self.unchanged))
            self.measured[one] = measurement(pairs, is_busy=self.is_busy)
        for one, failure in found.failures.items():
            self.failures[one] = failure.line

    def _check_later(self, error: BaselineFailed) -> None:
        """Let a training that failed after it had run be a note: what was measured counts."""
        if not self.measured:
            raise error
        self.ended = "your training as it is failed in a later round"
        self.notes.append(f"Your training as it is failed in a later round: {error}")

    def _lesson(self, plan: RoundPlan) -> LossComparison:
        """Return from how many samples the learners learn: whole batches of everybody."""
        sizes = [one.setting.batch or 0 for one in {*self._pairs, *plan.candidates}]
        samples = learn_samples(self.ready, max(self.ready.batch, *sizes), self.budget.seconds)
        return LossComparison(samples, plan.learners, with_base=self.unchanged is None)


def measurement(pairs: Sequence[TrialPair], *, is_busy: bool = False) -> Measurement:
    """Return what the pairs of a candidate say, one pair for each round."""
    cpu = math.exp(statistics.fmean(math.log(max(pair.cpu, 1e-9)) for pair in pairs))
    peak = max(pair.peak_bytes for pair in pairs)
    before = max(pair.unchanged_peak_bytes for pair in pairs)
    compared = [(p.learned, p.unchanged) for p in pairs if p.learned and p.unchanged]
    loss = None
    if compared:
        new, old = compared[0]
        loss = LossChange(new.samples, new.before, new.after, old.after)
    ratios = [pair.gain for pair in pairs]
    gain, verdict = interval(ratios), judge_gain(ratios)
    if is_busy and verdict.kind is VerdictKind.ACCEPTED and cpu * MIN_GAIN > 1.0:
        why = "other programs run, and CPU time does not say that it is faster"
        verdict = Verdict(VerdictKind.NOT_DECIDED, is_open=False, why=why)
    return Measurement(
        gain=with_cpu_bound(gain, cpu) if is_busy else gain,
        verdict=verdict,
        cpu=cpu,
        peak_bytes=peak or None,
        more_bytes=peak - before if peak and before else None,
        compile_s=min(pair.compile_s for pair in pairs),
        step_s=statistics.median(pair.step_s for pair in pairs),
        loss=loss,
    )


def with_cpu_bound(gain: Measured, cpu: float) -> Measured:
    """Return a gain that was measured on a busy machine, promising no more than CPU time does.

    What a change saves in waiting for a core depends on what other programs do at that time, and
    will be another amount when the training runs; the CPU time that it saves stays.

    Args:
        gain: of wall time.
        cpu: CPU time of a sample, as a multiple of what it was.
    """
    saved = 1 / max(cpu, 1e-9)
    return gain if gain.pairs < 2 else replace(gain, low=min(gain.low, max(saved, 0.01)))


def join_settings(winners: Sequence[ChangeCandidate], ready: TrialReady) -> ChangeCandidate | None:
    """Return all winners in one; None where that is one only."""
    setting = Setting()
    for one in reversed(winners):  # where two change the same, the better one counts
        setting = setting.with_all(one.setting)
    if not fits_epoch(setting, ready):  # of larger batches, an epoch has too few for one call
        setting = replace(setting, steps_per_execution=None)
    if any(setting == one.setting for one in winners) or not winners:
        return None
    return ChangeCandidate(ChangeKind.TOGETHER, setting_name(setting), setting)
