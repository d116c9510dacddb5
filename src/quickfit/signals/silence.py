"""What was said of a run while it was quiet, when the system's tables could still be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Evidence, Location

Locate = Callable[[str | None, int | None], Location | None]


@dataclass(frozen=True)
class Silence:
    """One time that a run was quiet, and why.

    Args:
        cause: its id; empty where it could not be told.
        moves: it was slow to start, and would have got there.
        step: the steps that were done by then.
        quiet_s: how long it had been quiet when this was said.
        moved_again: whether a step was taken later.
    """

    cause: str
    text: str
    summary: str
    location: Location | None
    also: Location | None
    evidence: tuple[Evidence, ...]
    moves: bool
    step: int
    quiet_s: float
    moved_again: bool


def silences(run: Mapping[str, Any], locate: Locate) -> list[Silence]:
    """Return the times that a run was quiet, in their order.

    Args:
        run: the facts of `run.json`.
        locate: makes a place of a file and a line.
    """
    return [_silence(facts, locate) for facts in run.get("quiet") or ()]


def _silence(facts: Mapping[str, Any], locate: Locate) -> Silence:
    return Silence(
        cause=facts.get("cause") or "",
        text=facts["text"],
        summary=facts.get("summary") or facts["text"],
        location=locate(facts.get("file"), facts.get("line")),
        also=locate(facts.get("also_file"), facts.get("also_line")),
        evidence=tuple(
            Evidence(one["what"], float(one["value"]), one["unit"], one["detail"])
            for one in facts.get("evidence") or ()
        ),
        moves=bool(facts.get("moves")),
        step=facts["step"],
        quiet_s=facts["quiet_s"],
        moved_again=facts.get("moved_again_s") is not None,
    )
