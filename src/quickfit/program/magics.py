"""What only IPython understands in a notebook's cell, replaced by Python that does nothing.

Every line stays one line and code keeps its columns, so places in the text are places in the cell.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings

# Cell magics whose cell is Python, run here. Any other cell is another language or a file.
PYTHON_CELLS = frozenset(
    (
        *("time", "timeit", "capture", "prun", "debug", "memit", "mprun", "lprun", "px"),
        *("snakeviz", "pyinstrument", "scalene", "wandb"),
    )
)
# What IPython takes for a command of the shell without a mark, as its defaults have it.
_BARE = re.compile(r"(pip3?|(micro)?mamba|conda|cd|ls|ll|cat|mkdir|rmdir|rm|cp|mv)\s+[^\s=(,]")
_CELL = re.compile(r"%%\s*(\w*)")
_TIMED = re.compile(r"%time (?=\S)")
_ASSIGNED = re.compile(r"(\s*[\w*(\[][\w\s.,*()\[\]]*?)=\s*[!%]")
_HELP = re.compile(r"%{0,2}[\w.*]+(\[[^\]]*\])?\?{1,2};?$")
# Stands for a value that nobody knows without running it.
_SOMETHING = "get_ipython()"


def as_python(source: str) -> str:
    """Return the code of a cell as Python of as many lines, blank where it is none.

    Args:
        source: of the cell, with `\\n` at its line ends.

    Raises:
        SyntaxError, ValueError: it is neither Python nor what IPython makes Python of.
    """
    try:
        parse(source)
    except SyntaxError:
        return _translated(source)
    return source


def parse(text: str) -> ast.Module:
    """Parse a text, without a word about odd escapes in its strings.

    Raises:
        SyntaxError, ValueError: it is not Python; also where it is too deeply nested.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (RecursionError, MemoryError) as error:
        raise ValueError("too deeply nested") from error


def _translated(source: str) -> str:
    lines = source.split("\n")
    first = next((n for n, line in enumerate(lines) if _says(line)), 0)
    magic = _CELL.match(lines[first])
    if magic and magic[1] not in PYTHON_CELLS:
        return _blank(source)
    if magic:
        lines[first] = "pass"
    code = "\n".join(_replaced(lines))
    try:
        parse(code)
    except SyntaxError:
        if not _is_pasted(code):
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
        parse(textwrap.dedent(code).strip())
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
        parse(kept)
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
