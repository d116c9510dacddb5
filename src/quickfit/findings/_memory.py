"""The memory account of a run: what the process held at its peak, and how that grows."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.findings._records import Location


@dataclass(frozen=True)
class MemoryGrowth:
    """How much more is held with every step, epoch or round.

    Args:
        per: `step`, `epoch` or `round`.
        bytes: the mean.
        low: at least, as sure as its own repetitions make it (95 %).
        high: at most.
    """

    per: str
    bytes: float
    low: float
    high: float


@dataclass(frozen=True)
class MemoryNode:
    """One part of what the process held.

    Args:
        name: `libraries`, `script`, `input`, `models`, `graphs` or `rest`; of a child, the name of
            what holds it: `self.kept`, or the stage of a pipeline.
        label: in plain words.
        bytes: what it held; the parts of a node add up to it.
        share: of all that the process held.
        growth: by step, by epoch and by round, as far as they were measured.
        where: the user's line that adds to it.
        detail: what is in it, and how it was counted.
    """

    name: str
    label: str
    bytes: float
    share: float
    growth: tuple[MemoryGrowth, ...] = ()
    where: Location | None = None
    detail: str = ""
    parts: tuple[MemoryNode, ...] = ()


@dataclass(frozen=True)
class MemoryAccount:
    """What the process held when it held most; its parts add up to `bytes`.

    Args:
        at_s: when that was, on the clock of the recording.
        end_bytes: what it held when it was last read.
        limit_bytes: what the container, or else the machine, can give; None where it is unknown.
        growth: of the whole while steps ran, where it goes on.
    """

    at_s: float
    bytes: float
    end_bytes: float
    limit_bytes: int | None
    growth: tuple[MemoryGrowth, ...]
    parts: tuple[MemoryNode, ...]
