"""A check for a terminal, with the lines that it is about."""

from __future__ import annotations

import io
import shutil
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from quickfit import terminal, units
from quickfit.causes import catalogue
from quickfit.checking.records import Outcome, Rewrite, Told, Trouble, hidden_hints, summary
from quickfit.findings import Effect, FixClass, Span
from quickfit.report.text import ELLIPSIS, code, one_line, path, prose
from quickfit.report.to_terminal import MAX_WIDTH, MIN_WIDTH
from quickfit.terminal import wants_color

if TYPE_CHECKING:
    from rich.console import Console

INDENT = "   "
_EFFECT_STYLES = {
    Effect.SLOW: "bold yellow",
    Effect.WORSE: "bold yellow",
    Effect.WRONG: "bold magenta",
}
_CLASSES = {
    FixClass.SAME_RESULTS: "same results",
    FixClass.EQUIVALENT: "equivalent results, small differences in values",
    FixClass.REPAIRS: "repairs it",
    FixClass.MAY_CHANGE_RESULTS: "may change results",
    FixClass.SHOW_ONLY: "an idea to adapt by hand",
}


def write_text(outcome: Outcome, stream: TextIO, *, color: bool | None = None) -> None:
    """Write all findings, and how many they are."""
    page = _Page(stream, color=color)
    for told in outcome.told:
        page.finding(told, outcome)
    for trouble in outcome.troubles:
        page.trouble(trouble)
    page.line((summary(outcome), "bold"))
    if hidden_hints(outcome):
        page.line((hidden_hints(outcome), "dim"))
    page.write()


def write_statistics(outcome: Outcome, stream: TextIO, *, color: bool | None = None) -> None:
    """Write how often each cause was found, the most frequent first."""
    page = _Page(stream, color=color)
    fixable = Counter(told.spotted.cause for told in outcome.fixable)
    rows = sorted(outcome.by_cause.items(), key=lambda row: (-row[1], row[0]))
    wide = max((len(units.count(count)) for _, count in rows), default=0)
    name_width = max((len(cause) for cause, _ in rows), default=0)
    for cause, count in rows:
        fixes = f"{units.count(fixable[cause])} fixable" if fixable[cause] else ""
        page.line(
            (f"{units.count(count):>{wide}}  ", "bold"),
            (f"{cause:<{name_width}}  ", ""),
            (f"{fixes:<{wide + 8}}  ", "green"),
            (catalogue()[cause].title if cause in catalogue() else "", "dim"),
        )
    for trouble in outcome.troubles:
        page.trouble(trouble)
    page.line((summary(outcome), "bold"))
    page.write()


def place(where: Span) -> str:
    """Return a place as `train.py:41:10`, or `train.ipynb:cell 3:2:5`; a file alone has no line."""
    cell = f":cell {where.cell}" if where.cell else ""
    line = f":{where.line}:{where.column}" if where.line else ""
    return f"{path(where.file)}{cell}{line}"


class _Page:
    """Lines of a report, written to a stream in one piece."""

    def __init__(self, stream: TextIO, *, color: bool | None) -> None:
        self._stream = stream
        self._written = io.StringIO()
        colored = wants_color(stream) if color is None else color
        self._width = _width_of(stream)
        self._console: Console = terminal.console(
            self._written,
            width=self._width,
            force_terminal=colored,
            no_color=not colored,
            # The 16 standard colours follow the user's theme, light or dark.
            color_system="standard" if colored else None,
        )

    def write(self) -> None:
        lines = self._written.getvalue().split("\n")
        text = "\n".join(line.rstrip() for line in lines)
        terminal.write(self._stream, text, painted=True)

    def line(self, *parts: tuple[str, str]) -> None:
        """Add a line that is never wrapped."""
        from rich.text import Text

        self._console.print(Text.assemble(*parts), soft_wrap=True)

    def paragraph(self, text: str, style: str = "", lead: str = "") -> None:
        """Add a text that is wrapped behind an indent."""
        from rich.text import Text

        start = f"{INDENT}{lead}"
        for line in Text(text).wrap(self._console, max(self._width - len(start), 20)):
            self.line((start, "bold" if lead.strip() else ""), (line.plain, style))
            start = " " * len(start)

    def finding(self, told: Told, outcome: Outcome) -> None:
        spotted = told.spotted
        effect = f"{spotted.effect.value}{' sometimes' if spotted.is_hint else ''}"
        style = "dim" if spotted.is_hint else _EFFECT_STYLES.get(spotted.effect, "bold red")
        self.line(
            (place(spotted.where), "bold cyan"),
            ("  ", ""),
            (effect, style),
            ("  ", ""),
            (one_line(spotted.cause), "bold"),
        )
        self.paragraph(prose(spotted.summary))
        self._code(spotted.where, told.line)
        for where, words in spotted.related:
            self.line((f"{INDENT}{place(where)}", "cyan"), (f"  {prose(words)}", ""))
        self._change(told, outcome)
        self.line()

    def trouble(self, trouble: Trouble) -> None:
        self.line((place(trouble.where), "bold cyan"), ("  ", ""), ("error", "bold red"))
        self.paragraph(prose(trouble.message))
        if trouble.line.strip():
            self._code(trouble.where, trouble.line)
        self.line()

    def _code(self, where: Span, line: str) -> None:
        if not line.strip():
            return
        number = str(where.line)
        end = where.end_column if where.end_line == where.line else len(line) + 1
        if not where.end_line:
            end = where.column + 1
        elif where.end_line > where.line:
            end = len(line.rstrip()) + 1
        shown = excerpt(line, where.column, end, self._width - len(INDENT) - len(number) - 3)
        self.line((f"{INDENT}{number} | ", "dim"), (shown.code, ""))
        self.line((f"{INDENT}{' ' * len(number)} | ", "dim"), (shown.marks, "bold red"))

    def _change(self, told: Told, outcome: Outcome) -> None:
        change = told.spotted.change
        if change is not None:
            self.paragraph(prose(change.title), lead="fix: ")
            for rewrite in told.rewrites:
                self._rewrite(rewrite, told.spotted.where)
            if change.note:
                self.paragraph(prose(change.note), lead="note: ")
        effect = f"{self._class(told, outcome)} · " if change else ""
        explain = f"explain: quickfit explain {one_line(told.spotted.cause)}"
        self.line((f"{INDENT}{effect}", ""), (explain, "dim"))

    def _rewrite(self, rewrite: Rewrite, where: Span) -> None:
        before, after = code("\n".join(rewrite.before), "\n".join(rewrite.after))
        if (rewrite.where.file, rewrite.where.cell) != (where.file, where.cell):
            self.line((f"{INDENT}{place(rewrite.where)}", "cyan"))
        for line in before:
            self.line((f"{INDENT}- {line}", "red"))
        for line in after:
            self.line((f"{INDENT}+ {line}", "green"))

    def _class(self, told: Told, outcome: Outcome) -> str:
        change = told.spotted.change
        if change is None:
            return ""
        needed = told.kind not in outcome.accepted and told.kind != FixClass.SHOW_ONLY
        flag = f" (--accept {told.kind})" if needed and told.kind else ""
        return f"{_CLASSES[change.kind]}{flag}"


def _width_of(stream: TextIO) -> int:
    if not stream.isatty():
        return MAX_WIDTH
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 24)).columns))


TAB = 4
MARK = "^"
# What is shown of a long line in front of the mark.
LEAD = 30


@dataclass(frozen=True)
class Excerpt:
    """What is shown of a line, and the marks that stand under it."""

    code: str
    marks: str


def excerpt(line: str, column: int, end_column: int, width: int) -> Excerpt:
    """Return a line that fits into a width, with marks under some of its columns.

    Args:
        line: without its line end.
        column: the first that is marked, from 1.
        end_column: the one behind the last; one column is marked where it is not further right.
        width: in cells.
    """
    begin = min(max(column - 1, 0), len(line))
    end = max(min(end_column - 1, len(line)), begin + 1)
    first = _first(line, begin, width)
    code, position, marked = (ELLIPSIS if first else ""), -1, 0
    for number in range(first, len(line)):
        piece = _piece(line[number], _cells(code))
        if _cells(code) + _cells(piece) > width - 1:
            code += ELLIPSIS
            break
        if number == begin:
            position = _cells(code)
        if begin <= number < end:
            marked += _cells(piece)
        code += piece
    if position < 0:
        position = _cells(code)
    return Excerpt(code, " " * position + MARK * max(marked, 1))


def _first(line: str, begin: int, width: int) -> int:
    """Return the first character that is shown: the line's own where the mark is near it."""
    is_near = sum(_cells(_piece(char, 0)) for char in line[: min(begin, width)]) < width * 2 // 3
    return 0 if begin < width and is_near else max(0, begin - LEAD)


def _piece(char: str, at: int) -> str:
    """Return what a character is shown as, where it begins at a cell."""
    return " " * (TAB - at % TAB) if char == "\t" else one_line(char)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)
