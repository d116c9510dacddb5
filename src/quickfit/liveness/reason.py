"""Why a run does not move: the reason with what was measured, and the mechanisms that find it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from quickfit.findings import Evidence, Location
from quickfit.liveness.scene import Scene


@dataclass(frozen=True)
class Reason:
    """Why a run does not move.

    Args:
        cause: its public id.
        summary: in one sentence.
        where: the line to look at.
        evidence: what was measured.
        advice: what to do, in one sentence.
        also: the other line of it, such as the one that holds the lock.
        is_certain: the mechanism itself was seen; no more time needs to pass.
        moves: it is slow to start, and gets there.
        lasted_s: how long it has lasted, where that is not the whole silence.
    """

    cause: str
    summary: str
    where: Location | None
    evidence: tuple[Evidence, ...]
    advice: str
    also: Location | None = None
    is_certain: bool = False
    moves: bool = False
    lasted_s: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same reason as another."""
        return self.cause, self.where.short if self.where is not None else ""


class Proof(IntEnum):
    """What a mechanism is known by. The strongest proof is asked for first."""

    NAMED = 1  # the wait names what it waits for: stdin, a worker, a peer of the cluster
    WAITING = 2  # threads that wait for a lock, or for pages in swap
    EXCEPTIONS = 3  # errors that are raised and swallowed
    COUNTED = 4  # elements, batches or operations that are counted
    FILLING = 5  # a buffer that fills
    READING = 6  # a read that does not come back
    SILENCE = 7  # an input that gives nothing
    COMPUTING = 8  # images that are decoded, a function that is compiled
    ELIMINATION = 9  # nothing else explains it


@dataclass(frozen=True)
class Mechanism:
    """One way for a run not to move, as a cause knows it.

    Args:
        show: the reason where a scene shows it, None where it does not.
        proof: what it is known by.
        is_told_of_moving_runs: it may be told of a run that takes steps: an epoch without end.
    """

    show: Callable[[Scene], Reason | None]
    proof: Proof
    is_told_of_moving_runs: bool = False


def first_reason(mechanisms: Iterable[Mechanism], scene: Scene) -> Reason | None:
    """Return why a run does not move; None where no mechanism fits what is seen."""
    for mechanism in mechanisms:
        found = mechanism.show(scene)
        if found is not None:
            return found
    return None
