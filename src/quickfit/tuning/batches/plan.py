"""The batch to train with, what it was chosen from, and what follows from it."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass, field
from typing import Any

from quickfit import units
from quickfit.tuning.batches import telling
from quickfit.tuning.batches.fits import Line
from quickfit.tuning.batches.lines import Script, accumulation_line, batch_lines
from quickfit.tuning.batches.rows import Row

# Below this share of the whole, what the samples add to a step is not told.
FLAT_SHARE = 0.05


@dataclass(frozen=True, repr=False)
class BatchPlan:
    """A batch size with its evidence.

    Args:
        micro_batch: samples per step; None where nothing is recommended.
        accumulation: steps whose gradients make one update.
        effective_batch: samples per update: the product of both.
        evidence: one row per size that was tried or ruled out.
        notes: what to know before using it.
        reason: why nothing is recommended.
        own_batch: samples per step as the user has it; None where it is not known.
        time: the line through the times of a step.
        is_partial: the search was interrupted.
        doubt: why the recommendation is uncertain.
        script: what is known of the user's script.
    """

    micro_batch: int | None
    accumulation: int
    effective_batch: int | None
    evidence: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    reason: str = ""
    own_batch: int | None = None
    time: Line | None = None
    is_partial: bool = False
    doubt: str = ""
    script: Script = field(default_factory=Script)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to put in the script; none where it can stay as it is."""
        if self.micro_batch is None:
            return ()
        found = []
        if self.micro_batch != self.own_batch:
            found += batch_lines(self.script, self.micro_batch, self.own_batch)
        if self.accumulation > 1:
            found.append(accumulation_line(self.script, self.accumulation))
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        plain = asdict(self)
        plain["evidence"] = [_plain(row) for row in self.evidence]
        plain["lines"] = list(self.lines)
        plain["notes"] = list(self.notes)
        return plain

    def __repr__(self) -> str:
        parts = [*telling.table(self.evidence, self.micro_batch), self._verdict()]
        if self.time is not None:
            parts.append(_time_words(self.time, max(row.batch for row in self.evidence)))
        parts += [textwrap.indent(f"- {note}", "  ")[2:] for note in self.notes]
        if self.lines:
            parts += ["", *(f"    {text}" for text in self.lines)]
        return "\n".join(parts)

    def _verdict(self) -> str:
        if self.micro_batch is None:
            return f"no recommendation: {self.reason}"
        doubt = f" (uncertain: {self.doubt})" if self.doubt else ""
        if self.accumulation == 1:
            what = "keep" if self.micro_batch == self.own_batch else "use"
            return f"{what} batch {self.micro_batch}{doubt}"
        return (
            f"use batch {self.micro_batch} and accumulate {self.accumulation} of them: "
            f"{self.effective_batch} samples per update{doubt}"
        )


def _plain(row: Row) -> dict[str, Any]:
    told = asdict(row) | {"failure": row.failure and str(row.failure), "steps_s": list(row.steps_s)}
    figures = {"step_s": row.step_s, "samples_per_s": row.samples_per_s} if row.is_measured else {}
    return told | figures


def _time_words(line: Line, largest: int) -> str:
    fit = f"R² {line.r2:.2f}, residual {units.share(line.residual)}"
    start = units.seconds(abs(line.at_zero))
    if abs(line.per_sample) * largest < FLAT_SHARE * line.at_zero:
        return (
            f"a step takes about {start} whatever the batch (residual {units.share(line.residual)})"
        )
    if line.per_sample <= 0:
        off = units.share(line.residual)
        return f"the times of a step do not rise with the batch (residual {off})"
    sign = "+" if line.at_zero >= 0 else "-"
    return f"a step takes about {units.seconds(line.per_sample)} × batch {sign} {start} ({fit})"
