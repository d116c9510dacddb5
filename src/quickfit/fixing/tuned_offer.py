"""One setting of a script: the edit that makes it, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quickfit.findings import Change
from quickfit.fixing.tuned_edits import Made
from quickfit.tuning.advice.result import ChangeKind


@dataclass(frozen=True)
class Offer:
    """A setting that may make a training faster.

    Args:
        kind: of which at most one is advised.
        name: as the table shows it.
        setting: what it changes, by name.
        made: the edit, or why the text is left alone.
        times: so many times as many examples in a step.
    """

    kind: ChangeKind
    name: str
    setting: dict[str, Any] = field(default_factory=dict)  # plain values of any type
    made: Made = ""
    times: int = 1

    @property
    def change(self) -> Change | None:
        """The edit; None where there is none."""
        return self.made if isinstance(self.made, Change) else None

    @property
    def why(self) -> str:
        """Why there is no edit; empty where there is one."""
        return self.made if isinstance(self.made, str) else ""
