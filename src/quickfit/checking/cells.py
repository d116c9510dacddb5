"""The code cells of a notebook in its file: where they stand, and edits written back into them.

Only the sources of cells that change are written anew; every other byte stays as it was.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from quickfit.errors import FixError
from quickfit.findings import Edit, Position
from quickfit.fixes.change import patched
from quickfit.program.notebook import Notebook, read_notebook

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
        source = patched(_source(text, begin), [edit for _, edit in group])
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
