"""Checks one file: reads it, lets the causes look at it, and keeps what is to be told."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quickfit.causes import scanned
from quickfit.checking._records import Checked, Told, Trouble
from quickfit.checking.choice import Choice
from quickfit.checking.places import Text, told_of, trouble_of
from quickfit.checking.suppressing import Ignores, ignores_of, lines_of
from quickfit.errors import SourceError
from quickfit.findings import Span, Spotted
from quickfit.program import Program
from quickfit.program.files import decoded
from quickfit.program.magics import parse
from quickfit.program.notebook import read_notebook
from quickfit.program.together import together

NOTEBOOK = ".ipynb"
# A text without these words uses neither; unless others that do import it, only its syntax counts.
WORDS = (b"tensorflow", b"keras")


@dataclass(frozen=True)
class Task:
    """What is checked, and what of it is told.

    Args:
        paths: of all files that are read together.
        choice: what is told.
        given: the bytes of files that are not to be read from disk.
    """

    paths: tuple[str, ...]
    choice: Choice
    given: Mapping[str, bytes] = field(default_factory=dict)


class Scanner:
    """Checks files of one task, one after the other; what was parsed is kept for the next."""

    def __init__(self, task: Task) -> None:
        self._task = task
        texts = dict(_texts(task.given))
        self._program = Program(task.paths, texts)
        self._texts: dict[str, Text] = {}
        self._ignores: dict[str, Ignores] = {}

    def check(self, path: str) -> Checked:
        """Return what became of one file."""
        self._program.tidy()
        try:
            data = self._data(path)
        except OSError as error:
            trouble = trouble_of(path, f"cannot read this file ({error.strerror})")
            return Checked(path, troubles=(trouble,))
        sha256 = digest(data)
        try:
            text, troubles = _text(path, data)
        except SourceError as error:
            trouble = trouble_of(path, str(error), line=error.line, column=error.column)
            return Checked(path, troubles=(trouble,), sha256=sha256)
        if not any(word in data for word in WORDS) and not self._is_helper(path):
            return Checked(path, troubles=(*troubles, *_syntax(path, text)), sha256=sha256)
        self._texts = {path: text}
        return self._scan(path, text, troubles, sha256)

    def _is_helper(self, path: str) -> bool:
        """Tell whether a file runs together with one that trains: what it reads is trained on."""
        others = together(self._program, path) - {path}
        return any(self._trains(other) for other in others)

    def _trains(self, path: str) -> bool:
        try:
            text = self._program.files.text(path)
        except SourceError:
            return False
        return any(word.decode() in text for word in WORDS)

    def _data(self, path: str) -> bytes:
        given = self._task.given.get(path)
        return Path(path).read_bytes() if given is None else given

    def _scan(self, path: str, text: Text, troubles: Sequence[Trouble], sha256: str) -> Checked:
        before = len(self._program.notes)
        try:
            spotted = scanned(self._program.module(path), self._program)
        except SourceError as error:
            place = {"line": error.line, "column": error.column}
            trouble = trouble_of(path, str(error), text=text.text, **place)
            return Checked(path, troubles=(*troubles, trouble), sha256=sha256)
        found = [each for each in spotted if self._is_told(each)]
        told = tuple(self._told(each) for each in found if self._shows(each))
        notes = [*self._program.notes[before:], *self._comment_notes(path)]
        hints = len(found) - len(told)
        return Checked(path, told, tuple(troubles), tuple(notes), hints, sha256)

    def _is_told(self, spotted: Spotted) -> bool:
        return self._task.choice.has(spotted) and not self._is_silenced(spotted)

    def _shows(self, spotted: Spotted) -> bool:
        return self._task.choice.hints or not spotted.is_hint

    def _is_silenced(self, spotted: Spotted) -> bool:
        file = spotted.where.file
        ignores = self._ignores_of(file)
        if not (ignores.of_file or ignores.of_lines):
            return False
        lines = lines_of(spotted.where, self._program.module(file).tree)
        return ignores.silences(spotted.cause, lines)

    def _ignores_of(self, file: str) -> Ignores:
        if file not in self._ignores:
            self._ignores[file] = ignores_of(self._program.module(file).text)
        return self._ignores[file]

    def _comment_notes(self, path: str) -> Iterable[str]:
        text = self._texts[path]
        for line, note in self._ignores_of(path).notes:
            yield f"{text.placed(Span(path, line)).short}: {note}."

    def _told(self, spotted: Spotted) -> Told:
        change = spotted.change
        files = {spotted.where.file, *(span.file for span, _ in spotted.related)}
        for file in files | set(change.files if change else ()):
            if file not in self._texts:
                data = self._data(file) if file.endswith(NOTEBOOK) else b""
                self._texts[file] = Text(self._program.module(file).text, data)
        return told_of(spotted, self._texts)


def digest(data: bytes) -> str:
    """Return by what the bytes of a file are known again."""
    return hashlib.sha256(data).hexdigest()


def _texts(given: Mapping[str, bytes]) -> Iterable[tuple[str, str]]:
    for path, data in given.items():
        try:
            yield path, _text(path, data)[0].text
        except SourceError:
            continue  # told when it is checked


def _text(path: str, data: bytes) -> tuple[Text, list[Trouble]]:
    """Return the text of a file, and the cells of it that are not Python."""
    if not path.endswith(NOTEBOOK):
        return Text(decoded(path, data)), []
    notebook = read_notebook(data)
    text = Text(notebook.text, data)
    troubles = []
    for error in notebook.errors:
        where = Span(path, error.line or 1, max(error.column, 1), cell=error.cell)
        troubles.append(Trouble(where, error.message, text.line(where), text.file_line(where)))
    return text, troubles


def _syntax(path: str, text: Text) -> list[Trouble]:
    """Return what keeps a text from being parsed."""
    try:
        parse(text.text)
    except SyntaxError as error:
        place = {"line": error.lineno or 0, "column": error.offset or 0}
        return [trouble_of(path, error.msg, text=text.text, **place)]
    except ValueError as error:
        return [trouble_of(path, f"cannot be read as Python ({error})")]
    return []
