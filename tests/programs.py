"""Programs of a few lines, and what a cause sees in their text."""

import textwrap
from pathlib import Path

from quickfit.code import Program
from quickfit.code.edits import apply_edits

PAIRS = Path(__file__).parent.parent / "corpus" / "pairs"


def program_of(source):
    """Return a program; `source` is the text of `train.py`, or texts by file name."""
    texts = {"train.py": source} if isinstance(source, str) else source
    return Program([], {f"/project/{name}": _text(text) for name, text in texts.items()})


def spots(cause, source, file="train.py"):
    """Return what a cause reports in one file of a program."""
    program = program_of(source)
    return list(cause.scan(program.module(f"/project/{file}"), program))


def lines(cause, source, file="train.py"):
    """Return the lines at which a cause reports something."""
    return [spot.where.line for spot in spots(cause, source, file)]


def fixed(cause, source, file="train.py"):
    """Return a file's text after every change that a cause offers in it."""
    found = spots(cause, source, file)
    edits = [edit for spot in found if spot.change for edit in spot.change.edits]
    text = source if isinstance(source, str) else source[file]
    return apply_edits(_text(text), [e for e in edits if e.file == f"/project/{file}"])


def _text(text):
    return textwrap.dedent(text).lstrip("\n")


def pair(name, kind):
    """Return a script of `corpus/pairs`: `slow` suffers from the cause, `fixed` does not."""
    return (PAIRS / name / f"{kind}.py").read_text()


def code_of(text):
    """Return a script without the sentence that it begins with."""
    return text.partition("\n\n")[2]
