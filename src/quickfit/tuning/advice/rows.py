"""What was found out about one change of the way a model is trained: a row of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from quickfit.measuring.intervals import Measured

# A gain whose lower bound is under this is none: noise reaches so far.
MIN_GAIN = 1.05
# Input that costs nothing makes a training this much faster where the input is its limit.
INPUT_LIMIT = 1.15


class Verdict(StrEnum):
    """What came of trying a change."""

    ADVISED = "advised"
    NO_GAIN = "no gain"
    SLOWER = "slower"
    OUTDONE = "outdone"
    LEARNS_LESS = "learns less"
    FAILED = "failed"
    NOT_DECIDED = "not decided"
    NOT_TRIED = "not tried"


class Kind(StrEnum):
    """The kinds of changes; of each kind one at most is advised."""

    XLA = "xla"
    STEPS = "steps"
    BATCH = "batch"
    PRECISION = "precision"
    THREADS = "threads"
    TOGETHER = "together"
    INPUT = "input"


@dataclass(frozen=True)
class Loss:
    """The loss on the same samples, before and after training on so many.

    Args:
        samples: trained on, equally many for every change.
        before: with the first weights.
        after: with the change.
        unchanged: after the same samples without it.
    """

    samples: int
    before: float
    after: float
    unchanged: float

    @property
    def is_worse(self) -> bool:
        """Whether it is clearly worse than without the change: by a tenth, or not a number."""
        if not math.isfinite(self.after):
            return math.isfinite(self.unchanged)
        return self.after > self.unchanged + max(0.1 * abs(self.unchanged), 1e-6)


@dataclass(frozen=True)
class Row:
    """One change, and what is known of it; `None` is what nobody has measured.

    Args:
        name: of the change, as the table shows it.
        kind: of which at most one is advised.
        verdict: what came of it.
        gain: how many times as many samples per second, over pairs.
        cpu: CPU time of a sample, as a multiple of what it was.
        peak_bytes: the most memory that the training held.
        more_bytes: how much more that is than without the change.
        compile_s: how much longer the first call took.
        pays_after: how many of the user's steps make up for that; 0 is at once.
        loss: after equally many samples.
        reason: for the verdict, in words.
        setting: what was changed, by name.
    """

    name: str
    kind: Kind
    verdict: Verdict
    gain: Measured | None = None
    cpu: float | None = None
    peak_bytes: float | None = None
    more_bytes: float | None = None
    compile_s: float | None = None
    pays_after: int | None = None
    loss: Loss | None = None
    reason: str = ""
    setting: dict[str, Any] = field(default_factory=dict)  # values of any plain type

    @property
    def is_advised(self) -> bool:
        """Whether it is worth having."""
        return self.verdict is Verdict.ADVISED

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; what is not a finite number is None."""
        gain = self.gain
        return {
            "change": self.name,
            "kind": self.kind.value,
            "setting": self.setting,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "gain": gain
            and {
                "low": finite(gain.low) or None,
                "mean": finite(gain.mean),
                "high": finite(gain.high),
                "pairs": gain.pairs,
            },
            "cpu_ratio": finite(self.cpu),
            "peak_bytes": whole(self.peak_bytes),
            "more_bytes": whole(self.more_bytes),
            "compile_s": finite(self.compile_s),
            "pays_after_steps": self.pays_after,
            "loss": self.loss
            and {
                "samples": self.loss.samples,
                "before": finite(self.loss.before),
                "after": finite(self.loss.after),
                "unchanged": finite(self.loss.unchanged),
            },
        }


def finite(value: float | None) -> float | None:
    """Return a number that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def whole(value: float | None) -> int | None:
    """Return a number of bytes that JSON can hold."""
    return round(value) if value is not None and math.isfinite(value) else None
