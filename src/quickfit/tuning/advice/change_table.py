"""The one table of `tune` and `fix`: a row for every change, as text, for a terminal and as JSON.

A change is an edit of a script or a setting of a built model; a row says the same of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from quickfit import units
from quickfit.lab.statistics import Measured

if TYPE_CHECKING:
    from rich.table import Table

    from quickfit.findings import Gain

NO_VALUE = "–"
NOT_MEASURED = "not measured"


class ChangeVerdict(StrEnum):
    """What came of trying a change; settings are advised, fixes of causes accepted."""

    ADVISED = "advised"
    ACCEPTED = "accepted"
    NOT_ACCEPTED = "not accepted"
    NO_GAIN = "no gain"
    SLOWER = "slower"
    OUTDONE = "outdone"
    LEARNS_LESS = "learns less"
    FAILED = "failed"
    NOT_DECIDED = "not decided"
    NOT_TRIED = "not tried"


class ChangeKind(StrEnum):
    """The kinds of changes; of each kind of setting one at most is advised."""

    XLA = "xla"
    STEPS = "steps"
    BATCH = "batch"
    PRECISION = "precision"
    THREADS = "threads"
    TOGETHER = "together"
    INPUT = "input"
    CAUSE = "cause"


@dataclass(frozen=True)
class LossChange:
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
class ChangeRow:
    """One change, and what is known of it; `None` is what was not measured.

    Args:
        name: of the change, as the table shows it.
        kind: of settings of one kind at most one is advised.
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
        fix_class: of an edit, once its results were compared.
        place: the line that an edit is about.
        predicted: the gain that was foretold.
        results: how the results of an edit compare, in a few words.
        unit: what was compared: the whole training, whole epochs or steps.
    """

    name: str
    kind: ChangeKind
    verdict: ChangeVerdict
    gain: Measured | None = None
    cpu: float | None = None
    peak_bytes: float | None = None
    more_bytes: float | None = None
    compile_s: float | None = None
    pays_after: int | None = None
    loss: LossChange | None = None
    reason: str = ""
    setting: dict[str, Any] = field(default_factory=dict)  # values of any plain type
    fix_class: str | None = None
    place: str = ""
    predicted: Gain | None = None
    results: str = ""
    unit: str = ""

    @property
    def is_advised(self) -> bool:
        """Whether it is worth having."""
        return self.verdict in (ChangeVerdict.ADVISED, ChangeVerdict.ACCEPTED)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; what is not a finite number is None."""
        gain = self.gain
        # One pair has no interval, and one that is too wide says nothing.
        bounds = gain if gain is not None and gain.is_known else None
        return {
            "change": self.name,
            "kind": self.kind.value,
            "setting": self.setting,
            "class": self.fix_class,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "gain": gain
            and {
                "low": bounds and bounds.low,
                "mean": finite_number(gain.mean),
                "high": bounds and bounds.high,
                "pairs": gain.pairs,
            },
            "cpu_ratio": finite_number(self.cpu),
            "peak_bytes": whole_bytes(self.peak_bytes),
            "more_bytes": whole_bytes(self.more_bytes),
            "compile_s": finite_number(self.compile_s),
            "pays_after_steps": self.pays_after,
            "loss": self.loss
            and {
                "samples": self.loss.samples,
                "before": finite_number(self.loss.before),
                "after": finite_number(self.loss.after),
                "unchanged": finite_number(self.loss.unchanged),
            },
        }


def finite_number(value: float | None) -> float | None:
    """Return a number that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def whole_bytes(value: float | None) -> int | None:
    """Return a number of bytes that JSON can hold."""
    return round(value) if value is not None and math.isfinite(value) else None


def _name_cell(row: ChangeRow) -> str:
    return "\n".join(part for part in (row.name, row.place, row.fix_class) if part)


def _predicted_cell(row: ChangeRow) -> str:
    gain = row.predicted
    return f"{gain.low:.2f}–{gain.high:.2f}×" if gain is not None and gain.high > 1 else NO_VALUE


def _gain_cell(row: ChangeRow) -> str:
    if row.gain is None or not row.gain.is_known or not row.unit:
        return gain_text(row.gain)
    gain = row.gain
    bounds = f"{gain.low:.2f}–{gain.high:.2f}"
    return f"{gain.mean:.2f}×\n({bounds}, {gain.pairs} pairs of {row.unit})"


def _memory_cell(row: ChangeRow) -> str:
    if row.peak_bytes is None:
        return NO_VALUE
    if row.more_bytes is None:
        return units.size(row.peak_bytes)
    sign = "+" if row.more_bytes >= 0 else "-"
    return f"{units.size(row.peak_bytes)} ({sign}{units.size(abs(row.more_bytes))})"


def _pays_cell(row: ChangeRow) -> str:
    if row.pays_after is None:
        return NO_VALUE
    return f"{units.count(row.pays_after)} steps" if row.pays_after else "at once"


# Every column: its title, and what it shows of a row. One that is empty in all rows is left out.
COLUMNS: tuple[tuple[str, Callable[[ChangeRow], str]], ...] = (
    ("change", _name_cell),
    ("predicted", _predicted_cell),
    ("measured", _gain_cell),
    ("CPU", lambda row: NO_VALUE if row.cpu is None else f"{row.cpu:.2f}×"),
    ("memory", _memory_cell),
    ("pays after", _pays_cell),
    ("loss", lambda row: loss_text(row.loss)),
    ("results", lambda row: row.results or NO_VALUE),
    ("verdict", lambda row: row.verdict.value),
)
_ALWAYS = ("change", "measured", "verdict")
_STYLES = {
    ChangeVerdict.ADVISED: "bold green",
    ChangeVerdict.ACCEPTED: "bold green",
    ChangeVerdict.FAILED: "red",
    ChangeVerdict.LEARNS_LESS: "yellow",
    ChangeVerdict.NOT_DECIDED: "yellow",
    ChangeVerdict.NOT_TRIED: "dim",
}


def table_lines(
    rows: Sequence[ChangeRow], first: dict[str, str] | None = None
) -> list[tuple[str, ...]]:
    """Return the titles of a table and its cells, line by line.

    Args:
        rows: in the order in which they are shown.
        first: the cells of a line above them by title: the training without any change.
    """
    cells = [{title: cell(row) for title, cell in COLUMNS} for row in rows]
    lines = [*([first] if first else []), *cells]
    titles = [
        title
        for title, _ in COLUMNS
        if title in _ALWAYS or any(line.get(title, NO_VALUE) != NO_VALUE for line in lines)
    ]
    return [
        tuple(titles),
        *(tuple(line.get(title, NO_VALUE) for title in titles) for line in lines),
    ]


def plain_table(rows: Sequence[ChangeRow], first: dict[str, str] | None = None) -> str:
    """Return rows as an aligned table without colour."""
    lines = []
    for cells in table_lines(rows, first):
        parts = [cell.split("\n") for cell in cells]
        height = max(map(len, parts))
        lines += [[part[n] if n < len(part) else "" for part in parts] for n in range(height)]
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip()
        for line in lines
    )


def rich_table(rows: Sequence[ChangeRow], first: dict[str, str] | None = None) -> Table:
    """Return the same table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    titles, *lines = table_lines(rows, first)
    for title in titles:
        table.add_column(title, overflow="fold")
    styles = [*(["dim"] if first else []), *(_STYLES.get(row.verdict, "") for row in rows)]
    for cells, style in zip(lines, styles, strict=True):
        table.add_row(*map(Text, cells), style=style)
    return table


def row_reasons(rows: Sequence[ChangeRow]) -> list[str]:
    """Return a sentence for every row that has a reason; rows with the same one share it."""
    named: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            named.setdefault((row.verdict.value, row.reason), []).append(row.name)
    return [f"{', '.join(names)}: {verdict}: {why}" for (verdict, why), names in named.items()]


def gain_text(gain: Measured | None) -> str:
    """Return a gain with its interval; of one pair without; nothing where pairs differ too much."""
    if gain is None:
        return NO_VALUE
    if gain.pairs == 1:
        return f"{gain.mean:.2f}× (1 pair)"
    if not gain.is_known:
        return NOT_MEASURED
    return f"{gain.mean:.2f}× ({gain.low:.2f}–{gain.high:.2f})"


def loss_text(loss: LossChange | None) -> str:
    """Return a loss before and after."""
    if loss is None:
        return NO_VALUE
    return f"{loss_figure(loss.before)} → {loss_figure(loss.after)}"


def loss_figure(value: float) -> str:
    """Return a loss with three digits that mean something."""
    if not math.isfinite(value):
        return "not finite"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
