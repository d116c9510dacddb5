"""The batch to train with, what it was chosen from, and the lines that set it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from quickfit import terminal, units
from quickfit.tuning.batch_size.ladder import BatchRow, FittedLine, best_samples_per_s
from quickfit.tuning.trials.settings import DataKind, TrialReady


@dataclass(frozen=True)
class ScriptFacts:
    """What is known of the user's script.

    Args:
        data_kind: a value of `DataKind`; None where it is not known.
        optimizer: its name in `keras.optimizers`; None where it is something else.
        learning_rate: of it; None where it is not a plain number.
    """

    data_kind: str | None = None
    optimizer: str | None = None
    learning_rate: float | None = None


def script_facts(ready: TrialReady, data_kind: str | None) -> ScriptFacts:
    """Return what a trial tells of the script; a kind of data that is known already counts."""
    return ScriptFacts(data_kind or ready.data_kind, ready.optimizer, ready.learning_rate)


def batch_lines(script: ScriptFacts, batch: int, own: int | None) -> list[str]:
    """Return the lines that set the samples per step; where the data are not known, for each kind.

    Args:
        script: what is known of it.
        batch: samples per step.
        own: as the user has it; None where it is not known.
    """
    before = f" instead of {own}" if own is not None else ""
    replaced = f"instead of your .batch({own})" if own is not None else "instead of your .batch(…)"
    lines = {
        DataKind.DATASET: f"dataset = dataset.batch({batch})  # {replaced}",
        DataKind.ARRAYS: f"model.fit(x, y, batch_size={batch})",
        DataKind.PY_DATASET: f"# in your PyDataset, its own batch size: {batch}{before}",
    }
    if script.data_kind is not None:
        return [lines[DataKind(script.data_kind)]]
    return [lines[DataKind.DATASET], f"{lines[DataKind.ARRAYS]}  # with arrays"]


def accumulation_line(script: ScriptFacts, count: int) -> str:
    """Return the line that makes an optimizer add up the gradients of several steps."""
    steps = f"gradient_accumulation_steps={count}"
    if script.optimizer is None:
        return f"# in your optimizer, as one more argument: {steps}"
    rate, others = "", "and your other arguments, the learning rate too"
    if script.learning_rate is not None:
        rate = f"learning_rate={script.learning_rate:.4g}, "
        others = "and your other arguments"
    return f"optimizer = keras.optimizers.{script.optimizer}({rate}{steps})  # {others}"


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
    evidence: tuple[BatchRow, ...]
    notes: tuple[str, ...] = ()
    reason: str = ""
    own_batch: int | None = None
    time: FittedLine | None = None
    is_partial: bool = False
    doubt: str = ""
    script: ScriptFacts = field(default_factory=ScriptFacts)

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
        plain["evidence"] = [_row_json(row) for row in self.evidence]
        plain["lines"] = list(self.lines)
        plain["notes"] = list(self.notes)
        return plain

    def __repr__(self) -> str:
        parts = [*rows_table(self.evidence, self.micro_batch), self._verdict()]
        if self.time is not None:
            parts.append(_time_text(self.time, max(row.batch for row in self.evidence)))
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


def _row_json(row: BatchRow) -> dict[str, Any]:
    told = asdict(row) | {"failure": row.failure and str(row.failure), "steps_s": list(row.steps_s)}
    figures = {"step_s": row.step_s, "samples_per_s": row.samples_per_s} if row.is_measured else {}
    return told | figures


def _time_text(line: FittedLine, largest: int) -> str:
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


_HEADS = ("batch", "step", "samples/s", "of best", "memory", "")


def row_line(row: BatchRow) -> str:
    """Return what is known of one size."""
    if not row.is_measured:
        return f"batch {row.batch}: {row.words}"
    return (
        f"batch {row.batch}: {units.seconds(row.step_s)} per step, "
        f"{units.count(row.samples_per_s)} samples/s, {units.size(row.peak_bytes)}"
    )


def terminal_writer() -> Callable[[str], None]:
    """Return what writes a line to the terminal at once; where there is none, nothing."""
    if not sys.stderr.isatty():
        return lambda line: None

    return lambda line: terminal.write(sys.stderr, f"{line}\n")


def rows_table(rows: Sequence[BatchRow], chosen: int | None) -> list[str]:
    """Return the lines of a table with a row per size; an arrow is before the chosen one."""
    cells = [_HEADS, *(_table_cells(row, best_samples_per_s(rows)) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADS) - 1)]
    lines = []
    for number, row in enumerate(cells):
        is_chosen = number > 0 and rows[number - 1].batch == chosen
        figures = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"{'→' if is_chosen else ' '} {figures}  {row[-1]}".rstrip())
    return lines


def _table_cells(row: BatchRow, most: float) -> tuple[str, ...]:
    own = "your batch" if row.is_own else ""
    if not row.is_measured:
        return (str(row.batch), "–", "–", "–", "–", "; ".join(filter(None, (own, row.words))))
    return (
        str(row.batch),
        units.seconds(row.step_s),
        units.count(row.samples_per_s),
        units.share(row.samples_per_s / most),
        units.size(row.peak_bytes),
        "; ".join(filter(None, (own, row.words))),
    )
