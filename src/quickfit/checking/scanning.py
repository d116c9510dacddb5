"""Scans files, alone or in several processes, and shows how far it is."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from quickfit import terminal
from quickfit.causes import scanned
from quickfit.checking.places import Text, told_of, trouble_of
from quickfit.checking.records import Checked, Told, Trouble
from quickfit.checking.settings import Choice, Ignores, ignores_of, lines_of
from quickfit.code import Program
from quickfit.code.files import decode_python
from quickfit.code.imports import files_run_together
from quickfit.code.notebooks import read_notebook
from quickfit.code.syntax import parse_python
from quickfit.errors import SourceError
from quickfit.findings import Span, Spotted
from quickfit.lab.pool import Died, Done, Say, WorkerOptions, WorkerPool
from quickfit.machine import whole_cores

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
        assumes_keras3: whatever versions the project asks for.
    """

    paths: tuple[str, ...]
    choice: Choice
    given: Mapping[str, bytes] = field(default_factory=dict)
    assumes_keras3: bool = False


class Scanner:
    """Checks files of one task, one after the other; what was parsed is kept for the next."""

    def __init__(self, task: Task) -> None:
        self._task = task
        texts = dict(_texts(task.given))
        self._program = Program(task.paths, texts)
        self._program.assumes_keras3 = task.assumes_keras3
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
        others = files_run_together(self._program, path) - {path}
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
        return Text(decode_python(path, data)), []
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
        parse_python(text.text)
    except SyntaxError as error:
        place = {"line": error.lineno or 0, "column": error.offset or 0}
        return [trouble_of(path, error.msg, text=text.text, **place)]
    except ValueError as error:
        return [trouble_of(path, f"cannot be read as Python ({error})")]
    return []


# Fewer files are done before other processes are up.
MIN_PARALLEL = 32
# Small enough to share the work evenly, large enough that neighbours share what was parsed.
MAX_CHUNK = 32
# Trees are many small objects that live long: looking through them for garbage is half the time.
GC_THRESHOLD = 200_000
# Of a worker process: what it has parsed serves its next files.
_scanner: Scanner | None = None


def check_all(task: Task, paths: Sequence[str], *, jobs: int, progress: Progress) -> list[Checked]:
    """Check files of a task; a process that dies costs the file it died of alone.

    Args:
        task: what is read together and what is told.
        paths: the files to check.
        jobs: how many processes may work; 0 for as many as there are cores.
        progress: hears how many files are done.
    """
    count = min(jobs or whole_cores(), -(-len(paths) // 2) or 1)
    progress.begin(len(paths))
    try:
        if count == 1 or (not jobs and len(paths) < MIN_PARALLEL):
            return _in_turn(task, paths, progress)
        return _in_parallel(task, _chunks(paths, count), count, progress)
    finally:
        progress.end()


def _in_turn(task: Task, paths: Sequence[str], progress: Progress) -> list[Checked]:
    scanner = Scanner(task)
    done = []
    with _rare_collections():
        for path in paths:
            done.append(scanner.check(path))
            progress.advance(1)
    return done


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _chunks(paths: Sequence[str], count: int) -> list[Sequence[str]]:
    size = max(1, min(MAX_CHUNK, len(paths) // (count * 4)))
    return [paths[at : at + size] for at in range(0, len(paths), size)]


def _in_parallel(
    task: Task, chunks: Sequence[Sequence[str]], count: int, progress: Progress
) -> list[Checked]:
    # A forked process has everything imported already.
    options = WorkerOptions(forks=sys.platform == "linux")
    pool = WorkerPool(_check_chunk, task, count=count, options=options)
    done: dict[str, Checked] = {}
    with contextlib.closing(pool.run(chunks, tick_s=progress.pause_s)) as events:
        for event in events:
            progress.advance(len(event.item) if isinstance(event, Done) else 0)
            if isinstance(event, Done):
                done |= zip(event.item, event.answer, strict=True)
            elif isinstance(event, Died) and len(event.item) > 1:
                pool.again(*([path] for path in event.item))  # which one was it?
            elif isinstance(event, Died):
                done[event.item[0]] = _died(event.item[0])
    return [done[path] for chunk in chunks for path in chunk]


def _died(path: str) -> Checked:
    message = "the process that checked this file died (out of memory, or an error of Python's own)"
    return Checked(path, troubles=(trouble_of(path, message),))


def _check_chunk(paths: Sequence[str], task: Task, say: Say) -> list[Checked]:
    global _scanner
    if _scanner is None:
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD, 20, 20)
        _scanner = Scanner(task)
    return [_scanner.check(path) for path in paths]


# Shorter checks are over before anyone wonders.
PATIENCE_S = 2.0
PAUSE_S = 0.25


class Progress:
    """How many files are done.

    Args:
        stream: where to say so, if it is a terminal.
        clock: in seconds.
    """

    pause_s = PAUSE_S

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._is_watched = stream.isatty()
        self._line = terminal.StatusLine(stream)
        self._clock = clock
        self._total = self._done = 0
        self._begin_s = self._shown_s = 0.0

    def begin(self, total: int) -> None:
        """Start to count; a later round starts anew."""
        self._total, self._done = total, 0
        self._begin_s = self._clock()

    def advance(self, count: int) -> None:
        """Say so when more files are done, now and then."""
        self._done += count
        now = self._clock()
        if not self._is_watched or now - self._begin_s < PATIENCE_S:
            return
        if now - self._shown_s >= PAUSE_S:
            self._shown_s = now
            self._line.show(f"quickfit check: {self._done:,} of {self._total:,} files")

    def end(self) -> None:
        """Take the line away."""
        self._line.clear()
