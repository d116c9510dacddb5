"""Notebooks as one Python text: code cells behind each other, IPython's own syntax replaced."""

from __future__ import annotations

import bisect
import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.code.syntax import parse_python
from quickfit.errors import SourceError

# Cell magics whose cell is Python, run here. Any other cell is another language or a file.
PYTHON_CELLS = frozenset(
    (
        *("time", "timeit", "capture", "prun", "debug", "memit", "mprun", "lprun", "px"),
        *("snakeviz", "pyinstrument", "scalene", "wandb", "quickfit"),
    )
)
# What IPython takes for a command of the shell without a mark, as its defaults have it.
_BARE = re.compile(r"(pip3?|(micro)?mamba|conda|cd|ls|ll|cat|mkdir|rmdir|rm|cp|mv)\s+[^\s=(,]")
_CELL = re.compile(r"%%\s*(\w*)")
# A script that a cell writes is one that is run next, mostly.
_SCRIPT = re.compile(r"%%\s*(writefile|file)\b[^\n]*\.py\s*$")
_TIMED = re.compile(r"%time (?=\S)")
_ASSIGNED = re.compile(r"(\s*[\w*(\[][\w\s.,*()\[\]]*?)=\s*[!%]")
_HELP = re.compile(r"%{0,2}[\w.*]+(\[[^\]]*\])?\?{1,2};?$")
# Stands for a value that nobody knows without running it.
_SOMETHING = "get_ipython()"


def cell_as_python(source: str) -> str:
    """Return the code of a cell as Python of as many lines, blank where it is none.

    Args:
        source: of the cell, with `\\n` at its line ends.

    Raises:
        SyntaxError, ValueError: it is neither Python nor what IPython makes Python of.
    """
    try:
        parse_python(source)
    except SyntaxError:
        return _translated(source)
    return source


def _translated(source: str) -> str:
    lines = source.split("\n")
    first = next((n for n, line in enumerate(lines) if _says(line)), 0)
    magic = _CELL.match(lines[first])
    if magic and magic[1] not in PYTHON_CELLS and not _SCRIPT.match(lines[first]):
        return _blank(source)
    if magic:
        lines[first] = "pass"
    code = "\n".join(_replaced(lines))
    try:
        parse_python(code)
    except SyntaxError:
        if not _is_pasted(code) and not _SCRIPT.match(source.split("\n")[first]):
            raise
        return _blank(source)
    return code


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _blank(source: str) -> str:
    return "\n" * source.count("\n")


def _is_pasted(code: str) -> bool:
    """Tell whether IPython would take this: code with an indent, or with the prompts of a shell."""
    if code.lstrip().startswith((">>> ", "In [")):
        return True
    try:
        parse_python(textwrap.dedent(code).strip())
    except (SyntaxError, ValueError):
        return False
    return True


def _replaced(lines: list[str]) -> list[str]:
    reader, done = _Reader(), []
    is_rest = False  # of a magic that goes on behind a backslash
    for line in lines:
        kept = _line(line) if reader.is_at_statement else line
        new = "" if is_rest else kept
        is_rest = (is_rest or new != line) and line.endswith("\\")
        if new == line:
            reader.feed(line)
        done.append(new)
    return done


def _line(line: str) -> str:
    """Return a line that begins a statement, as Python."""
    code = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    timed = _TIMED.match(code)
    if timed:
        return indent + _timed(code)
    if code.startswith(("%", "!", "?")) or _HELP.match(code) or _BARE.match(code):
        return f"{indent}pass"
    given = _ASSIGNED.match(line)
    return f"{given[1]}= {_SOMETHING}" if given else line


def _timed(code: str) -> str:
    # As long as `%time `, so that the code behind it stays where it is.
    kept = f"pass; {code.removeprefix('%time ')}"
    try:
        parse_python(kept)
    except (SyntaxError, ValueError):
        return "pass"
    return kept


class _Reader:
    """Follows strings and brackets, to know which lines begin a statement."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0
        self._is_continued = False

    @property
    def is_at_statement(self) -> bool:
        """Tell whether the next line begins a statement."""
        return not (self._quote or self._depth or self._is_continued)

    def feed(self, line: str) -> None:
        """Read one line."""
        at, is_comment = 0, False
        while at < len(line) and not is_comment:
            if self._quote:
                at = self._in_string(line, at)
            elif line[at] == "#":
                is_comment = True
            else:
                at = self._in_code(line, at)
        self._is_continued = line.endswith("\\") and not is_comment
        if len(self._quote) == 1 and not self._is_continued:
            self._quote = ""  # such a string ends with its line, closed or not

    def _in_string(self, line: str, at: int) -> int:
        if line[at] == "\\":
            return at + 2
        if line.startswith(self._quote, at):
            at += len(self._quote) - 1
            self._quote = ""
        return at + 1

    def _in_code(self, line: str, at: int) -> int:
        char = line[at]
        if char in "\"'":
            self._quote = char * 3 if line.startswith(char * 3, at) else char
            return at + len(self._quote)
        self._depth = max(0, self._depth + (char in "([{") - (char in ")]}"))
        return at + 1


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
        return cell_as_python(source), None
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
