"""Lets two running programs work in turn, and reads from their marks how fast each one was.

A machine's load changes from second to second. Two programs that are measured one after the
other meet different machines; two that take turns every second meet the same one. A program
is stopped and continued as a process group, so that its threads and children pause with it.

A program leaves a `Mark` at every step, or now and then. Only steps that begin and end inside one
of its own blocks count, and the first moments of a block do not: caches are cold then.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from quickfit.lab.statistics import SETTLE_S


@dataclass(frozen=True)
class Mark:
    """The end of a step: monotonic time, CPU time of the process so far, and steps so far."""

    at_s: float
    cpu_s: float
    done: int


@dataclass(frozen=True)
class Block:
    """A time span in which only the program `who` (its place in the list) was running."""

    who: int
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Pace:
    """How fast one program ran in its blocks: steps counted, and wall and CPU time of one."""

    steps: int
    step_s: float
    step_cpu_s: float


@dataclass(frozen=True)
class Comparison:
    """Two programs side by side.

    Args:
        first: the pace of one.
        second: the pace of the other.
        ratios: one speed-up per round of blocks.
        empty: in how many blocks of each there was no whole step.
    """

    first: Pace
    second: Pace
    ratios: tuple[float, ...]
    empty: tuple[int, int] = (0, 0)

    @property
    def speed_up(self) -> float:
        """How many times faster the second program is than the first."""
        return self.first.step_s / self.second.step_s

    @property
    def spread(self) -> float:
        """The median distance of the rounds from their median, in units of speed-up."""
        if not self.ratios:
            return 0.0
        middle = statistics.median(self.ratios)
        return statistics.median(abs(ratio - middle) for ratio in self.ratios)

    def swapped(self) -> Comparison:
        """Return the same measurement told with the second program as the first."""
        ratios = tuple(1 / ratio for ratio in self.ratios)
        return Comparison(self.second, self.first, ratios, self.empty[::-1])


class Pausable(Protocol):
    """What takes turns: a `Child`, or anything that can be stopped and continued."""

    def pause(self) -> None:
        """Stop where it is."""

    def resume(self) -> None:
        """Go on."""


_Key = TypeVar("_Key")
_Answer = TypeVar("_Answer")


def turn_order(count: int, number: int) -> list[int]:
    """Return whose turn it is in a round: every second one goes backwards (A B, B A, ...).

    So a steady drift of the machine favours none.
    """
    order = list(range(count))
    return order if number % 2 == 0 else order[::-1]


def order_beside(count: int, number: int) -> list[tuple[int, bool]]:
    """Return the order of a round in which everybody has its turn next to one of the baseline.

        baseline, A, B, baseline, C, D, baseline

    A turn is a place and whether it is one of the baseline; the one at place n is next to the
    baseline's turn at place (n + 1) // 2.
    """
    order: list[tuple[int, bool]] = []
    for place in range(count):
        if place % 2 == 0:
            order.append((place // 2, True))
        order.append((place, False))
    if count % 2 == 0:
        order.append((count // 2, True))
    return [order[place] for place in turn_order(len(order), number)]


def interleave(
    turns: Mapping[_Key, Callable[[], _Answer]],
    *,
    rounds: int,
    tell: Callable[[int], None] = lambda number: None,
    has_time: Callable[[int], bool] = lambda number: True,
) -> dict[_Key, list[_Answer]]:
    """Ask each for its turn, round by round; return the answers of each, in order.

    It is for what runs on command and rests in between; for what runs on, see `take_turns`.

    Args:
        turns: by name.
        rounds: how many, at most.
        tell: called with the number of each round as it begins, from 1 on.
        has_time: called with it before that; the rounds end where there is none.
    """
    names = list(turns)
    answers: dict[_Key, list[_Answer]] = {name: [] for name in names}
    for number in range(rounds):
        if not has_time(number + 1):
            break
        tell(number + 1)
        for who in turn_order(len(names), number):
            answers[names[who]].append(turns[names[who]]())
    return answers


def take_turns(
    programs: Sequence[Pausable],
    *,
    rounds: int,
    block_s: float,
    tell: Callable[[int], None] = lambda done: None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[Block]:
    """Let paused programs run in turn, one at any time, and leave all paused.

    `tell` is called with the number of rounds done.
    """
    blocks = []
    for number in range(rounds):
        for who in turn_order(len(programs), number):
            begin_s = clock()
            programs[who].resume()
            try:
                sleep(block_s)
            finally:
                programs[who].pause()
            blocks.append(Block(who, begin_s, clock()))
        tell(number + 1)
    return blocks


def compare(blocks: Sequence[Block], marks: tuple[Sequence[Mark], Sequence[Mark]]) -> Comparison:
    """Return how the two programs that left these marks did in their own blocks."""
    spans = [[_span(block, marks[who]) for block in blocks if block.who == who] for who in (0, 1)]
    ratios = [
        first.step_s / second.step_s
        for first, second in zip(*spans, strict=True)
        if first.steps and second.steps
    ]
    empty = [sum(not span.steps for span in side) for side in spans]
    return Comparison(_together(spans[0]), _together(spans[1]), tuple(ratios), (empty[0], empty[1]))


def _span(block: Block, marks: Iterable[Mark]) -> Pace:
    """Return the pace between the first and the last mark of a block."""
    inside = [m for m in marks if block.begin_s + SETTLE_S <= m.at_s <= block.end_s]
    if not inside or inside[-1].done == inside[0].done:
        return Pace(0, 0.0, 0.0)
    first, last = inside[0], inside[-1]
    steps = last.done - first.done
    return Pace(steps, (last.at_s - first.at_s) / steps, (last.cpu_s - first.cpu_s) / steps)


def _together(paces: Sequence[Pace]) -> Pace:
    """Return the mean pace; `steps` is 0 where no block held two marks."""
    steps = sum(pace.steps for pace in paces)
    if steps == 0:
        return Pace(0, 0.0, 0.0)
    wall_s = sum(pace.steps * pace.step_s for pace in paces)
    cpu_s = sum(pace.steps * pace.step_cpu_s for pace in paces)
    return Pace(steps, wall_s / steps, cpu_s / steps)
