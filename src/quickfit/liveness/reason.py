"""A reason: why a run does not move, with what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.findings import Evidence, Location


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
