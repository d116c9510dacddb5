"""What two trainings look like side by side: the same for terminal, JSON, Markdown and the page."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.findings._records import Diagnosis, Finding, Location


@dataclass(frozen=True)
class Interval:
    """A quantity, and the interval that it lies in with 95 %."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True)
class ComparedSide:
    """One of the two.

    Args:
        name: how the user calls it: a recording, or a revision.
        steps: how many steps were compared.
        unit_s: the time of one step, or of one epoch; None where there were too few.
        diagnosis: of its run.
    """

    name: str
    steps: int
    unit_s: float | None
    diagnosis: Diagnosis


@dataclass(frozen=True)
class ComparedNode:
    """A part of the account in both runs.

    Args:
        name: the id of this kind of node.
        label: the same for people.
        depth: how many nodes it is a part of, below the run.
        unit: what its time is that of: `step` or `run`.
        before_s: in the first; zero where it is not there.
        after_s: in the second.
        change_s: how much longer it takes in the second.
        state: `grew`, `shrank`, `same` or `unsure`.
        where: the user's line in the second run, or in the first where it is gone.
    """

    name: str
    label: str
    depth: int
    unit: str
    before_s: float
    after_s: float
    change_s: Interval
    state: str
    where: Location | None = None


@dataclass(frozen=True)
class Comparison:
    """How a second training differs from a first one.

    Args:
        verdict: `slower`, `faster`, `same` or `unsure`.
        headline: the same in a sentence.
        slower: how many times as long a step takes in the second; None where that is not known.
        unit: what was compared: `step` or `epoch`.
        basis: what the interval was made of.
        pairs: how many pairs were measured in turns; 0 for two recordings.
        differences: what else differs, so that the comparison may mean something else.
    """

    verdict: str
    headline: str
    slower: Interval | None
    unit: str
    basis: str
    pairs: int
    before: ComparedSide
    after: ComparedSide
    nodes: tuple[ComparedNode, ...]
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    differences: tuple[str, ...] = ()
