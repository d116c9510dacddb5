"""Writes the certain changes of a check into files and notebooks."""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from quickfit import terminal
from quickfit.checking import places
from quickfit.checking.records import Checked, Told
from quickfit.checking.scanning import NOTEBOOK
from quickfit.code.edits import is_in_conflict, merge_edits
from quickfit.code.file_changes import SourceFile, check_may_change, project_of, read_source
from quickfit.code.notebooks import read_notebook
from quickfit.errors import FixError, SourceError, UsageError
from quickfit.findings import Change, Edit, FixClass

# More findings than this at one place are a fix that does not remove what it is for.
MAX_ROUNDS = 10
# Checks files again, with some of them as they have become.
Rescan = Callable[[Sequence[str], Mapping[str, bytes]], list[Checked]]
# A file and a cause; and the line it is on, where one finding is meant.
_Key = tuple[str, ...]


@dataclass
class Mended:
    """What became of the files.

    Args:
        files: each that changes, as it is on disk and as it becomes.
        fixed: the findings whose changes were made.
        rest: what was found in the files that were checked again, by path.
        notes: what could not be done.
    """

    files: dict[str, tuple[SourceFile, bytes]] = field(default_factory=dict)
    fixed: list[Told] = field(default_factory=list)
    rest: dict[str, Checked] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Mender:
    """Makes changes in memory.

    Args:
        checked: what was found.
        allowed: the classes of changes that may be made.
        rescan: checks files again.
        leaves_read_only: a file that cannot be written is left alone.
    """

    def __init__(
        self,
        checked: Sequence[Checked],
        allowed: frozenset[FixClass],
        rescan: Rescan,
        *,
        leaves_read_only: bool = False,
    ) -> None:
        self._checked = {file.path: file for file in checked}
        self._allowed = allowed
        self._rescan = rescan
        self._leaves_read_only = leaves_read_only
        self._given_up: set[_Key] = set()
        self._left_alone: set[str] = set()
        self._done = Mended()

    def mended(self) -> Mended:
        """Return the files with all changes made that may be made; nothing is written."""
        for _ in range(MAX_ROUNDS):
            made = self._round()
            if not made:
                break
            before = self._counts()
            self._scan_again()
            self._give_up_on(made, before, self._counts())
        self._done.files = {
            path: (before, after)
            for path, (before, after) in self._done.files.items()
            if before.data != after
        }
        return self._done

    def _round(self) -> list[Told]:
        """Make the changes that do not collide, and return those that were made."""
        made: list[Told] = []
        for told in self._candidates():
            edits = [edit for other in made for edit in _change(other).edits]
            if not is_in_conflict(_change(told).edits, edits):
                made.append(told)
        made = self._made(made)
        self._done.fixed += made
        return made

    def _candidates(self) -> Iterable[Told]:
        for file in self._checked.values():
            for told in file.told:
                if told.kind in self._allowed and not self._is_hopeless(told):
                    yield told

    def _is_hopeless(self, told: Told) -> bool:
        is_left = not self._left_alone.isdisjoint(_change(told).files)
        return is_left or not self._given_up.isdisjoint((_key(told), _own(told)))

    def _made(self, wanted: list[Told]) -> list[Told]:
        """Make changes together; where that is not possible, one by one as far as it goes."""
        try:
            self._apply(wanted)
        except FixError as error:
            if len(wanted) <= 1:
                self._leave(wanted, str(error))
                return []
            half = len(wanted) // 2
            # The second half is made in the next round, when its places are known again.
            return self._made(wanted[:half]) or self._made(wanted[half:])
        return wanted

    def _apply(self, wanted: Sequence[Told]) -> None:
        edits = merge_edits([_change(told) for told in wanted])
        new: dict[str, tuple[SourceFile, bytes]] = {}
        for path in dict.fromkeys(edit.file for edit in edits):
            original, now = self._file(path)
            own = [edit for edit in edits if edit.file == path]
            new[path] = (original, _edited(path, original, now, own))
        self._done.files.update(new)

    def _file(self, path: str) -> tuple[SourceFile, bytes]:
        """Return a file as it is on disk, and as it has become so far."""
        if path in self._done.files:
            return self._done.files[path]
        try:
            source = self._original(path)
        except FixError:
            self._left_alone.add(path)
            raise
        return source, source.data

    def _original(self, path: str) -> SourceFile:
        is_notebook = path.endswith(NOTEBOOK)
        source = SourceFile(path, _bytes(path), "utf-8") if is_notebook else read_source(path)
        if path not in self._checked:
            raise FixError(f"{path}: would change too, and was not named; check it as well.")
        scanned = self._checked[path].sha256
        if scanned and source.sha256 != scanned:
            raise FixError(f"{path}: has changed since it was checked, so it is left alone.")
        if self._leaves_read_only and not os.access(path, os.W_OK):
            raise FixError(f"{path}: is not writable, so it is left alone.")
        if self._leaves_read_only:
            check_may_change(path, project_of([path]))
        return source

    def _scan_again(self) -> None:
        changed = {path: after for path, (_, after) in self._done.files.items()}
        paths = [
            path for path, file in self._checked.items() if file.told or path in self._done.files
        ]
        for file in self._rescan(paths, changed):
            self._checked[file.path] = self._done.rest[file.path] = file

    def _counts(self) -> Counter[_Key]:
        return Counter(_key(told) for file in self._checked.values() for told in file.told)

    def _give_up_on(self, made: Sequence[Told], before: Counter[_Key], now: Counter[_Key]) -> None:
        for key in {_key(told) for told in made}:
            if now[key] >= before[key]:
                self._given_up.add(key)
                self._done.notes.append(f"{key[0]}: the fix of {key[1]} did not remove all of it.")

    def _leave(self, wanted: Sequence[Told], why: str) -> None:
        for told in wanted:
            self._given_up.add(_own(told))
            self._done.notes.append(f"{told.spotted.cause} was not fixed: {why}")


def _edited(path: str, original: SourceFile, now: bytes, edits: Sequence[Edit]) -> bytes:
    if not path.endswith(NOTEBOOK):
        return SourceFile(path, now, original.encoding).edited(edits)
    try:
        before = read_notebook(now)
        after = places.edited(now, edits)
        broken = len(read_notebook(after).errors) > len(before.errors)
    except SourceError as error:
        raise FixError(f"{path}: {error}") from error
    if broken:
        raise FixError(f"{path}: the edited cell would not be valid Python, so it is left alone.")
    return after


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FixError(f"{path}: cannot read this file ({error.strerror}).") from error


def _change(told: Told) -> Change:
    change = told.spotted.change
    if change is None:
        raise FixError(f"{told.spotted.cause}: has no change.")
    return change


def _key(told: Told) -> _Key:
    return told.spotted.where.file, told.spotted.cause


def _own(told: Told) -> _Key:
    return *_key(told), told.line


class Answer:
    """What a command answers.

    Args:
        out: stdout.
        file: a file to write to in its place.

    Raises:
        UsageError: the file cannot be written.
    """

    def __init__(self, out: TextIO, file: Path | None = None) -> None:
        self._out = out
        self._file = file
        if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
            why = "it is a folder" if file.is_dir() else "its folder does not exist"
            raise UsageError(f"--output {file}: cannot be written, because {why}.")

    def write(self, write: Callable[[TextIO], None]) -> None:
        """Let `write` write text."""
        if self._file is None:
            write(self._out)
            return
        text = io.StringIO()
        write(text)
        self.write_bytes(text.getvalue().encode("utf-8", "backslashreplace"))

    def write_text(self, text: str) -> None:
        """Write text in the characters that the stream has."""
        self.write(lambda stream: terminal.write(stream, text))

    def write_bytes(self, data: bytes) -> None:
        """Write a patch as it is, escaped only on a terminal."""
        if self._file is not None:
            _replace(self._file, data)
            return
        terminal.write_patch(self._out, data)


def _replace(file: Path, data: bytes) -> None:
    try:
        if _is_special(file):
            file.write_bytes(data)
            return
        real = os.path.realpath(file)
        handle, aside = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".quickfit-")
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(data)
            os.chmod(aside, _mode(real))
            os.replace(aside, real)
        except OSError:
            os.unlink(aside)
            raise
    except OSError as error:
        raise UsageError(f"--output {file}: cannot be written ({error.strerror}).") from error


def _is_special(file: Path) -> bool:
    """Tell whether it is a pipe or a device, in whose place no file may be put."""
    try:
        return not stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return False


def _mode(file: str) -> int:
    """Return the mode of a file, or the one that a new file would have."""
    try:
        return stat.S_IMODE(os.stat(file).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
