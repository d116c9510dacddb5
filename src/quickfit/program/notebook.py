"""A notebook as one Python text: its code cells behind each other, and which line is whose."""

from __future__ import annotations

import bisect
import json
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.errors import SourceError
from quickfit.program.magics import as_python


@dataclass(frozen=True)
class CellError:
    """A code cell that is not Python; lines and columns count from 1, 0 where nobody knows."""

    cell: int
    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Notebook:
    """The code of a notebook.

    Args:
        text: all code cells, each ended by a line end; what is not Python is blank.
        sources: the code cells as they are written, with `\\n` at their line ends.
        errors: the cells that are blank because they are not Python.
    """

    text: str
    sources: tuple[str, ...]
    errors: tuple[CellError, ...] = ()

    def place(self, line: int) -> tuple[int, int]:
        """Return the cell, from 1, that a line of the text is in, and its line there."""
        firsts = self.first_lines
        cell = max(1, bisect.bisect_right(firsts, line))
        return cell, line - (firsts[cell - 1] if firsts else 1) + 1

    @property
    def first_lines(self) -> list[int]:
        """The line of the text that each cell begins with."""
        firsts, line = [], 1
        for source in self.sources:
            firsts.append(line)
            line += source.count("\n") + 1
        return firsts


def read_notebook(data: bytes) -> Notebook:
    """Return the code of a notebook from the bytes of its file.

    Raises:
        SourceError: it is not a notebook of format 4.
    """
    content = _content(data)
    cells = [cell for cell in _cells(content) if cell.get("cell_type") == "code"]
    sources = tuple(_source(cell, number) for number, cell in enumerate(cells, 1))
    if not _is_python(content):
        return Notebook("\n" * sum(source.count("\n") + 1 for source in sources), sources)
    texts, errors = [], []
    for number, (cell, source) in enumerate(zip(cells, sources, strict=True), 1):
        text, error = _python(source, number) if _is_python_cell(cell) else ("", None)
        texts.append(text or "\n" * source.count("\n"))
        errors.extend([error] if error else [])
    return Notebook("".join(f"{text}\n" for text in texts), sources, tuple(errors))


def _content(data: bytes) -> dict[str, object]:
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SourceError(f"not a notebook: its text is not UTF-8 ({error.reason})") from error
    except json.JSONDecodeError as error:
        what = "it is empty" if not data.strip() else f"not JSON, {error.msg}"
        raise SourceError(
            f"not a notebook: {what}", line=error.lineno, column=error.colno
        ) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not a notebook: its JSON cannot be read ({error})") from error
    if not isinstance(content, dict):
        raise SourceError(f"not a notebook: an object is expected, found {_kind(content)}")
    return content


def _cells(content: dict[str, object]) -> list[dict[str, object]]:
    if "cells" not in content and "worksheets" in content:
        raise SourceError(
            "a notebook of an old format (3 or older), which is not read; to convert it:"
            " jupyter nbconvert --to notebook --inplace FILE"
        )
    cells = content.get("cells")
    if not isinstance(cells, list):
        found = _kind(cells) if "cells" in content else "none"
        raise SourceError(f"not a notebook: a list of `cells` is expected, found {found}")
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            raise SourceError(f"a broken notebook: cell {number} of all is {_kind(cell)}")
    return cells


def _source(cell: dict[str, object], number: int) -> str:
    source = cell.get("source", "")
    if isinstance(source, Sequence) and all(isinstance(part, str) for part in source):
        text = "".join(source)
        return text.replace("\r\n", "\n").replace("\r", "\n")
    raise SourceError(f"a broken notebook: the source of code cell {number} is not text")


def _python(source: str, number: int) -> tuple[str, CellError | None]:
    try:
        return as_python(source), None
    except SyntaxError as error:
        place = (error.lineno or 0, error.offset or 0)
        return "", CellError(number, *place, error.msg)
    except ValueError as error:
        return "", CellError(number, 0, 0, f"cannot be read as Python ({error})")


def _is_python(content: dict[str, object]) -> bool:
    """Tell whether the kernel runs Python; also where the notebook does not say."""
    about = _object(content.get("metadata"))
    told = _object(about.get("language_info")).get("name")
    language = told or _object(about.get("kernelspec")).get("language") or "python"
    return str(language).lower() in ("python", "ipython", "python3")


def _is_python_cell(cell: dict[str, object]) -> bool:
    """Tell whether an editor that mixes languages calls the cell Python, or says nothing."""
    editor = _object(_object(cell.get("metadata")).get("vscode"))
    return editor.get("languageId", "python") == "python"


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return "null" if value is None else names.get(type(value), "a number")
