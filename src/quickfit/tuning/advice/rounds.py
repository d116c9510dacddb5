"""A round: fresh processes, the training as it is among them, that take turns in short blocks.

Processes are started a few at a time, because starting is work for whole cores; they are measured
one at a time, while the others rest. In a turn, every candidate has its block next to one of the
training as it is, so that both meet the same machine:

    as it is, A, B, as it is, C, D, as it is
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from quickfit.tuning.advice.candidates import Candidate
from quickfit.tuning.advice.pairs import Pair, pair_of
from quickfit.tuning.advice.processes import (
    BaselineFailed,
    Machine,
    OutOfTime,
    Started,
    block_steps,
    closing,
)
from quickfit.tuning.trials.answers import Block, TrialFailed
from quickfit.tuning.trials.settings import Setting

# Turns of a round; of trainings whose blocks are long, fewer.
TURNS = 3
LONG_BLOCK_S = 1.5
LONG_TURNS = 2
# A candidate that is slower in its first pair is not asked how well it learns.
NO_SLOWER = 1.0


@dataclass
class Found:
    """What a round found, by candidate; also a round that was cut short has some of it."""

    pairs: dict[Candidate, Pair] = field(default_factory=dict)
    failures: dict[Candidate, TrialFailed] = field(default_factory=dict)
    is_cut: bool = False


@dataclass(frozen=True)
class Lesson:
    """Who trains from the first weights at the end of a round, so that losses can be compared.

    Args:
        samples: that everybody learns from.
        learners: candidates; those that are slower than the training as it is need not.
        with_base: whether the training as it is learns too.
    """

    samples: int
    learners: frozenset[Candidate]
    with_base: bool = True


class Round:
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
        machine: Machine,
        candidates: Sequence[Candidate],
        *,
        base: Started | None = None,
        title: str = "",
        lesson: Lesson | None = None,
    ) -> None:
        self._machine = machine
        self._title = title
        self._lesson = lesson
        self._is_base_new = base is None
        self.base = base or Started(machine.make(Setting()), "as it is")
        self._others = {one: Started(machine.make(one.setting), one.name) for one in candidates}
        self._beside: dict[Candidate, list[tuple[Block, Block]]] = {one: [] for one in candidates}
        self._is_cut = False

    def measure(self, *, backwards: bool = False) -> Found:
        """Start all, let them take turns, end all.

        Args:
            backwards: start in the opposite order, the training as it is last.

        Raises:
            BaselineFailed: the training as it is did not run.
        """
        with closing([self.base, *self._others.values()]):
            try:
                self._start(backwards=backwards)
                self._take_turns()
                self._learn()
            except OutOfTime:
                self._is_cut = True
            return self.found()

    def _start(self, *, backwards: bool) -> None:
        order = [*([self.base] if self._is_base_new else []), *self._others.values()]
        waiting = deque(reversed(order) if backwards else order)
        starting: deque[Started] = deque()
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
        turns = TURNS if self._longest_block_s() < LONG_BLOCK_S else LONG_TURNS
        for turn in range(turns):
            self._tell(f"measuring in turns, {turn + 1} of {turns}")
            self._turn([one for one, it in self._others.items() if it.side.goes], turn)

    def _turn(self, candidates: Sequence[Candidate], turn: int) -> None:
        """Give everybody a block; every second turn goes backwards."""
        order = sequence(len(candidates))
        bases: dict[int, Block] = {}
        blocks: dict[int, Block] = {}
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

    def found(self) -> Found:
        """Return what the turns have told by now."""
        found = Found(is_cut=self._is_cut)
        for one, it in self._others.items():
            if it.side.failure is not None:
                found.failures[one] = it.side.failure
                continue
            pair = pair_of(self.base.side, it.side, self._beside[one])
            if pair is not None:
                found.pairs[one] = pair
        return found

    def _check_base(self) -> None:
        if self.base.side.failure is not None:
            raise BaselineFailed(self.base.side.failure)

    def _tell(self, text: str) -> None:
        self._machine.tell(f"{self._title}: {text}" if self._title else text)


def sequence(count: int) -> list[tuple[int, bool]]:
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
