"""What `advise` answers: the table, what to change, and what is worth knowing about it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.measuring.intervals import Measured
from quickfit.tuning.advice.lines import lines_of, remarks_of
from quickfit.tuning.advice.rows import INPUT_LIMIT, Row, Verdict, finite, whole
from quickfit.tuning.trials.answers import Block, Learned, Ready
from quickfit.tuning.trials.settings import Setting


@dataclass(frozen=True)
class Baseline:
    """The training as it is.

    Args:
        batch: samples per step.
        samples: in the data set, or None where it does not say.
        parameters: of the model.
        samples_per_s: how fast it trains; None where that was not measured.
        step_s: one step; None likewise.
        peak_bytes: the most memory it held.
        learned: its loss before and after some samples, where that was asked for.
    """

    batch: int
    samples: int | None
    parameters: int
    samples_per_s: float | None
    step_s: float | None
    peak_bytes: float
    learned: Learned | None = None

    @classmethod
    def of(cls, ready: Ready, blocks: Sequence[Block], learned: Learned | None) -> Baseline:
        """Return what a training has answered in all rounds."""
        paces_s = [block.wall_s / block.samples for block in blocks if block.samples]
        sample_s = statistics.median(paces_s) if paces_s else None
        # Of changes it is the blocks that count, too: building takes memory for a moment only.
        peak = max((block.peak_bytes for block in blocks), default=ready.peak_bytes)
        return cls(
            ready.batch,
            ready.samples,
            ready.parameters,
            1 / sample_s if sample_s else None,
            sample_s * ready.batch if sample_s else None,
            peak,
            learned,
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "batch": self.batch,
            "samples": self.samples,
            "parameters": self.parameters,
            "samples_per_s": finite(self.samples_per_s),
            "step_s": finite(self.step_s),
            "peak_bytes": whole(self.peak_bytes),
            "loss": self.learned
            and {
                "samples": self.learned.samples,
                "before": finite(self.learned.before),
                "after": finite(self.learned.after),
            },
        }


@dataclass(frozen=True, repr=False)
class Advice:
    """What to change so that a training is faster, and all that was measured for it.

    Args:
        target: what was tuned, in words.
        device: what it trained on.
        baseline: the training as it is.
        rows: every change with its verdict.
        chosen: the row that is advised in the end, or None.
        input_gain: how much faster it trains when its input costs nothing.
        notes: what else to know.
        took_s: how long all of it took.
        is_interrupted: whether somebody ended it early.
        deciding_budget_s: about the budget that decides what was left open; None where nothing was.
        input_hint: how to find out where the time of the input goes.
        is_command: whether hints name options of the command line, or arguments in Python.
    """

    target: str
    device: str
    baseline: Baseline
    rows: tuple[Row, ...]
    chosen: Row | None = None
    input_gain: Measured | None = None
    notes: tuple[str, ...] = ()
    took_s: float = 0.0
    is_interrupted: bool = False
    deciding_budget_s: float | None = None
    input_hint: str = ""
    is_command: bool = False

    @property
    def setting(self) -> Setting:
        """What to change; nothing where nothing helps."""
        return Setting(**self.chosen.setting) if self.chosen else Setting()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to put into the script; none where nothing helps."""
        return lines_of(self.setting)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about these lines."""
        return remarks_of(self.setting, self.baseline.batch)

    @property
    def undecided(self) -> tuple[Row, ...]:
        """What may be a gain, and was not measured often enough; the most promising first."""
        rows = [row for row in self.rows if row.verdict is Verdict.NOT_DECIDED]
        return tuple(sorted(rows, key=lambda row: -(row.gain.mean if row.gain else 0.0)))

    @property
    def is_input_bound(self) -> bool:
        """Whether it waits for its input, so that a faster step gains little."""
        gain = self.input_gain
        if gain is None or gain.mean < INPUT_LIMIT:
            return False
        return gain.pairs == 1 or gain.low >= 1.0

    def __repr__(self) -> str:
        from quickfit.tuning.advice.to_text import text

        return text(self)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, for a file or a program."""
        gain = self.input_gain
        return {
            "target": self.target,
            "device": self.device,
            "baseline": self.baseline.as_json(),
            "rows": [row.as_json() for row in self.rows],
            "advised": self.chosen and self.chosen.name,
            "setting": self.chosen.setting if self.chosen else {},
            "lines": list(self.lines),
            "remarks": list(self.remarks),
            "is_input_bound": self.is_input_bound,
            "input_gain": finite(gain.mean) if gain else None,
            "notes": list(self.notes),
            "deciding_budget_s": finite(self.deciding_budget_s),
            "took_s": self.took_s,
            "is_interrupted": self.is_interrupted,
        }
