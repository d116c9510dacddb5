"""Files to check, findings to tell, and the whole command in this process."""

import io
import json
import os
import sys
from dataclasses import dataclass

from quickfit.checking.places import Text, told_of
from quickfit.checking.records import Checked, Outcome, Told
from quickfit.cli.main import main
from quickfit.findings import Change, Edit, Effect, FixClass, Span, Spotted

SHUFFLED = "import tensorflow as tf\nds = tf.data.Dataset.range(9).shuffle(tf.data.AUTOTUNE)\n"
REPAIRED = SHUFFLED.replace("tf.data.AUTOTUNE", "1000")
CLEAN = "import tensorflow as tf\nprint(tf.__version__)\n"
BROKEN = "x = = 1\n"


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def run_check(monkeypatch, capsys, *words, stdin=b""):
    """Run `quickfit check WORDS` in this process."""
    monkeypatch.setattr(sys, "argv", ["quickfit", "check", *map(str, words)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    try:
        main()
        code = 0
    except SystemExit as ending:
        code = ending.code
    shown = capsys.readouterr()
    return Done(code, shown.out, shown.err)


def notebook(*cells, indent=1, **more):
    """Return the bytes of a notebook with code cells; a cell may be a dictionary of its own."""
    made = [cell if isinstance(cell, dict) else code_cell(cell) for cell in cells]
    content = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return (json.dumps(content, indent=indent, ensure_ascii=False) + "\n").encode()


def code_cell(text, **more):
    """Return a code cell as Jupyter writes it."""
    source = text.splitlines(keepends=True)
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return {**cell, "source": source, **more}


def spotted(file, text, part, **more):
    """Return a finding at a part of a text; `becomes` is what its change makes of that part."""
    begin = text.index(part)
    line = text.count("\n", 0, begin) + 1
    column = begin - (text.rfind("\n", 0, begin) + 1)
    kind, becomes = more.pop("kind", FixClass.REPAIRS), more.pop("becomes", None)
    change = None
    if becomes is not None:
        end = column + len(part)
        edits = (Edit(file, (line, column), (line, end), becomes),)
        change = Change("Write it so", kind, edits, more.pop("note", ""))
    facts = {"summary": "it is wrong", "effect": Effect.CRASHES, "cause": "shuffle-autotune"}
    where = Span(file, line, column + 1, line, column + len(part) + 1)
    return Spotted(**{"where": where, "change": change, "title": "A title", **facts, **more})


def told(file, text, part, **more):
    """Return a finding as it is told."""
    return told_of(spotted(file, text, part, **more), {file: Text(text)})


def outcome(*tolds, files=1, **more):
    """Return what became of some files, all findings in the first."""
    first = Checked(os.path.abspath("a.py"), tuple(tolds))
    rest = [Checked(os.path.abspath(f"{n}.py")) for n in range(1, files)]
    return Outcome((first, *rest), **more)


def bare(cause="shuffle-autotune", effect=Effect.CRASHES, **more):
    """Return a finding without text."""
    where = Span(os.path.abspath("a.py"), 1, 1, 1, 2)
    return Told(Spotted(where, "it is wrong", effect, cause=cause, **more), "x", (1,))
