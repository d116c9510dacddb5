"""Calls timed in turns: every round all of them, so that all meet the same machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from quickfit.compression.weighing.weight import Timing, Turn
from quickfit.errors import UsageError

Job = Callable[[], object]
Key = TypeVar("Key", bound=Hashable)

# A turn is short beside the swings of a machine's load, and long beside a call of a small model.
TURN_S = 0.1
MIN_CALLS = 5
# TensorFlow traces in the first call and tunes memory in the next ones.
WARM_UPS = 3


@dataclass(frozen=True)
class Clocks:
    """Where the time is read: on the wall, and as CPU time of the process."""

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time


def in_turns(
    jobs: Mapping[Key, Job],
    *,
    rounds: int,
    turn_s: float = TURN_S,
    clocks: Clocks | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[Key, Timing]:
    """Return how long each job takes.

    Every second round goes backwards, so that a steady drift of the machine favours nobody.
    `tell` hears of each round.

    Raises:
        UsageError: `rounds` is less than 2: one round tells nothing about how far off it is.
    """
    if rounds < 2:
        raise UsageError(f"rounds={rounds!r}: it takes 2 or more to know how far apart they are.")
    for job in jobs.values():
        for _ in range(WARM_UPS):
            job()
    turns: dict[Key, list[Turn]] = {key: [] for key in jobs}
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}")
        order = list(jobs) if number % 2 == 0 else list(reversed(list(jobs)))
        for key in order:
            turns[key].append(timed(jobs[key], turn_s, clocks or Clocks()))
    return {key: Timing(tuple(some)) for key, some in turns.items()}


def timed(job: Job, turn_s: float, clocks: Clocks) -> Turn:
    """Call a job for a while, the first time with cold caches and not counted."""
    job()
    calls_s: list[float] = []
    begin_cpu_s, begin_s = clocks.cpu(), clocks.wall()
    end_s = begin_s
    while len(calls_s) < MIN_CALLS or end_s - begin_s < turn_s:
        before_s = clocks.wall()
        job()
        end_s = clocks.wall()
        calls_s.append(end_s - before_s)
    cpu_s = (clocks.cpu() - begin_cpu_s) / len(calls_s)
    return Turn(min(calls_s), statistics.median(calls_s), cpu_s)
