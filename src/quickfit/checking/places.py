"""Where the places of a scan are for people: in the cell of a notebook, at a line of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from quickfit.checking._records import Rewrite, Told, Trouble
from quickfit.checking.cells import lines_in
from quickfit.checking.previews import rewrites_of
from quickfit.findings import Edit, Span, Spotted
from quickfit.program.notebook import Notebook, read_notebook

# How a cause names a line in a sentence.
_LINE = re.compile(r"\bline (\d{1,9})\b")


@dataclass(frozen=True)
class Text:
    """The text of one file as it is scanned.

    Args:
        text: with `\\n` at its line ends; of a notebook, its cells in one.
        data: the bytes of a notebook; empty for a file.
    """

    text: str
    data: bytes = b""

    @cached_property
    def lines(self) -> list[str]:
        """Its lines as they are written, as the parser counts them."""
        notebook = self.notebook
        return (self.text if notebook is None else "\n".join(notebook.sources)).split("\n")

    @cached_property
    def notebook(self) -> Notebook | None:
        """The notebook, where it is one."""
        return read_notebook(self.data) if self.data else None

    @cached_property
    def _file_lines(self) -> list[list[int]]:
        return lines_in(self.data.decode("utf-8-sig"))

    def placed(self, span: Span) -> Span:
        """Return a place with the cell it is in."""
        if self.notebook is None or not span.line:
            return span
        cell, line = self.notebook.place(span.line)
        end_cell, end_line = self.notebook.place(span.end_line) if span.end_line else (cell, 0)
        if end_cell != cell:
            return replace(span, cell=cell, line=line, end_line=line, end_column=span.column + 1)
        return replace(span, cell=cell, line=line, end_line=end_line)

    def said(self, words: str) -> str:
        """Return a sentence about the text with the cells of the lines that it names."""
        if self.notebook is None:
            return words
        return _LINE.sub(self._cell_and_line, words)

    def _cell_and_line(self, match: re.Match[str]) -> str:
        cell, line = self.notebook.place(int(match[1])) if self.notebook else (0, 0)
        return f"cell {cell}, line {line}"

    def line(self, placed: Span) -> str:
        """Return the line that a place begins on, as it is written."""
        first = self.notebook.first_lines[placed.cell - 1] if self.notebook and placed.cell else 1
        number = first + placed.line - 2
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def file_line(self, placed: Span) -> int:
        """Return the line of the file that a place begins on."""
        if not placed.cell:
            return placed.line
        lines = self._file_lines[placed.cell - 1]
        return lines[min(max(placed.line, 1), len(lines)) - 1]


Texts = Mapping[str, Text]


def told_of(spotted: Spotted, texts: Texts) -> Told:
    """Return a finding as it is told."""
    text, change = texts[spotted.where.file], spotted.change
    where = text.placed(spotted.where)
    related = tuple((texts[s.file].placed(s), text.said(words)) for s, words in spotted.related)
    if change is not None:
        change = replace(change, title=text.said(change.title), note=text.said(change.note))
    summary = text.said(spotted.summary)
    places = (where, *(place for place, _ in related))
    return Told(
        spotted=replace(spotted, where=where, related=related, summary=summary, change=change),
        line=text.line(where),
        file_lines=tuple(texts[place.file].file_line(place) for place in places),
        edits=tuple(_edit(edit, texts) for edit in change.edits) if change else (),
        rewrites=_rewrites(spotted, texts),
    )


def _edit(edit: Edit, texts: Texts) -> tuple[Span, str]:
    begin, end = edit.begin, edit.end
    span = Span(edit.file, begin[0], begin[1] + 1, end[0], end[1] + 1)
    return texts[edit.file].placed(span), edit.text


def _rewrites(spotted: Spotted, texts: Texts) -> tuple[Rewrite, ...]:
    if spotted.change is None:
        return ()

    def lines(file: str) -> Sequence[str]:
        return texts[file].lines

    found = rewrites_of(spotted.change, lines)
    return tuple(replace(each, where=texts[each.where.file].placed(each.where)) for each in found)


def trouble_of(
    path: str, message: str, *, line: int = 0, column: int = 0, text: str = ""
) -> Trouble:
    """Return why a file could not be checked; its message does not repeat the path."""
    lines = text.split("\n")
    shown = lines[line - 1] if text and 0 < line <= len(lines) else ""
    where = Span(path, line, max(column, 1))
    return Trouble(where, message.removeprefix(f"{path}: "), shown, line)
