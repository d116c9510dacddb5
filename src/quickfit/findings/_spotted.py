"""What the text of a program proves, without running it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum

from quickfit.findings._changes import Change


class Effect(StrEnum):
    """What happens when the code runs, the worst first."""

    CRASHES = "crashes"
    HANGS = "hangs"
    WRONG = "wrong-results"
    SLOW = "slow"


@dataclass(frozen=True, order=True)
class Span:
    """A piece of a user's file.

    Lines count from 1; columns count characters from 1, and the end is the column behind the
    last character. In a notebook `cell` is the number of the code cell, from 1, and lines count
    from the cell's first.
    """

    file: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0
    cell: int = 0

    @property
    def short(self) -> str:
        """The place as one says it: `train.py:41`, or `train.ipynb:cell 3:2`."""
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{os.path.basename(self.file)}{cell}:{self.line}"


@dataclass(frozen=True)
class Spotted:
    """A cause in the text of a program.

    Args:
        where: the code that is at fault.
        summary: what this code does, in a sentence with its own names.
        effect: what happens when it runs.
        related: other places that prove it, each with a few words: where a value comes from.
        change: the edit that removes it; None where only a person can.
        is_hint: it is only sometimes a fault, and told only when hints are asked for.
        cause: the id of the cause; set by the catalogue.
        title: the problem in a few words; set by the catalogue.
    """

    where: Span
    summary: str
    effect: Effect
    related: tuple[tuple[Span, str], ...] = ()
    change: Change | None = None
    is_hint: bool = False
    cause: str = ""
    title: str = ""
