"""Where a finding is, in a file or in a cell of a notebook, and the change that it would get."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from quickfit.checking.records import Rewrite, Told, Trouble
from quickfit.code.edits import Lines, apply_edits, hunks_of
from quickfit.code.notebooks import Notebook, read_notebook
from quickfit.errors import FixError
from quickfit.findings import Change, Edit, Position, Span, Spotted

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


_DECODER = json.JSONDecoder(strict=False)
_WHITE = " \t\r\n"


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return the bytes of a notebook with edits of its joined text made.

    Raises:
        FixError: an edit reaches over the end of a cell, or into one that is not plain Python.
    """
    notebook = read_notebook(data)
    text = data.decode("utf-8-sig")
    places = sources_in(text)
    placed = sorted((_in_cell(notebook, edit) for edit in edits), key=lambda one: -one[0])
    # From the last cell on, so that earlier places stay right.
    for cell, group in groupby(placed, key=lambda one: one[0]):
        begin, end = places[cell - 1]
        if begin == end:
            raise FixError("the notebook: the fix is in a cell without source.")
        source = apply_edits(_source(text, begin), [edit for _, edit in group])
        new = _written(text[begin:end], source, is_ascii=_is_ascii(data))
        text = text[:begin] + new + text[end:]
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return bom + text.encode()


def _source(text: str, begin: int) -> str:
    """Return a source with the line ends it has."""
    return "".join(_DECODER.raw_decode(text, begin)[0])


def _in_cell(notebook: Notebook, edit: Edit) -> tuple[int, Edit]:
    """Return the cell of an edit, and the edit with lines of that cell."""
    cell, line = notebook.place(edit.begin[0])
    last_cell, last = notebook.place(edit.end[0])
    end: Position = (last, edit.end[1])
    if (last_cell, *end) == (cell + 1, 1, 0):  # a cell's last line, with its line end
        end = (edit.end[0] - edit.begin[0] + line, 0)
    elif last_cell != cell or cell > len(notebook.sources):
        raise FixError(f"{edit.file}: the fix reaches over the end of a cell; make it by hand.")
    first = notebook.first_lines[cell - 1]
    if not _is_as_written(notebook, cell, edit, first):
        raise FixError(f"{edit.file}: the fix touches a line that is not plain Python.")
    return cell, replace(edit, begin=(line, edit.begin[1]), end=end)


def _is_as_written(notebook: Notebook, cell: int, edit: Edit, first: int) -> bool:
    """Tell whether the lines of an edit have the columns that they have in the cell."""
    text, source = notebook.text.split("\n"), notebook.sources[cell - 1].split("\n")
    for line in range(edit.begin[0], min(edit.end[0], first + len(source) - 1) + 1):
        written, read = source[line - first], text[line - 1]
        # A timed statement is read with other letters in front, as many as there were.
        if len(written) != len(read):
            return False
    return True


def sources_in(text: str) -> list[tuple[int, int]]:
    """Return where the source of each code cell begins and ends in a notebook's JSON.

    A cell without one has its own beginning for both.
    """
    found = []
    begin = _members(text, _start(text, 0)).get("cells", 0)
    for cell in _items(text, begin):
        members = _members(text, cell)
        kind = _DECODER.raw_decode(text, members["cell_type"])[0] if "cell_type" in members else ""
        if kind == "code":
            source = members.get("source")
            end = source if source is None else _DECODER.raw_decode(text, source)[1]
            found.append((source or cell, end or cell))
    return found


def lines_in(text: str) -> list[list[int]]:
    """Return, for each code cell, the line of the file that each of its lines stands on."""
    found = []
    for begin, _ in sources_in(text):
        first = text.count("\n", 0, begin) + 1
        if text[begin] != "[":
            source = _DECODER.raw_decode(text, begin)[0] if text[begin] == '"' else ""
            found.append([first] * (source.count("\n") + 1))
            continue
        lines, row = [], first
        for item in _items(text, begin):
            row = text.count("\n", 0, item) + 1
            part = _DECODER.raw_decode(text, item)[0]
            lines.extend([row] * part.count("\n"))
        found.append([*lines, row])
    return found


def _members(text: str, begin: int) -> dict[str, int]:
    """Return where the value of each key of an object begins; of equal keys the last counts."""
    found: dict[str, int] = {}
    at = _start(text, begin + 1)
    while text[at] == '"':
        key, at = _DECODER.raw_decode(text, at)
        at = _start(text, _start(text, at) + 1)
        found[key] = at
        at = _behind(text, at)
    return found


def _items(text: str, begin: int) -> Iterator[int]:
    """Yield where each item of a list begins."""
    at = _start(text, begin + 1)
    while text[at] != "]":
        yield at
        at = _behind(text, at)


def _behind(text: str, at: int) -> int:
    """Return where the next item, or the end of the list or object, is."""
    at = _start(text, _DECODER.raw_decode(text, at)[1])
    return _start(text, at + 1) if text[at] == "," else at


def _start(text: str, at: int) -> int:
    while text[at] in _WHITE:
        at += 1
    return at


def _written(old: str, source: str, *, is_ascii: bool) -> str:
    """Return the JSON of a source in the form of the old one: a text, or a list of lines."""
    if not old.startswith("["):
        return json.dumps(source, ensure_ascii=is_ascii)
    lines = [json.dumps(line, ensure_ascii=is_ascii) for line in source.splitlines(keepends=True)]
    items = list(_items(old, 0))
    if not items:
        return f"[{', '.join(lines)}]"
    last = _DECODER.raw_decode(old, items[-1])[1]
    gap = old[1 : items[0]]  # the white space that stands in front of every item
    between = f",{gap}" if gap else ", "
    return f"[{gap}{between.join(lines)}{old[last:]}"


def _is_ascii(data: bytes) -> bool:
    """Tell whether other letters are written as escapes in this file."""
    return data.isascii() and b"\\u" in data


def rewrites_of(change: Change, lines: Lines) -> tuple[Rewrite, ...]:
    """Return what a change does to each place it touches.

    Args:
        change: with places in whole files.
        lines: gives the lines of a file.
    """
    return tuple(
        Rewrite(Span(hunk.file, hunk.line), _rows(hunk.before), _rows(hunk.after))
        for hunk in hunks_of(change, lines)
    )


def _rows(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()
