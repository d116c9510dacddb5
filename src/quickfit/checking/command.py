"""The story of `quickfit check`: settings, files, findings, fixes, and what is written where."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TextIO

from quickfit import terminal
from quickfit.causes import catalogue
from quickfit.checking import to_github, to_json, to_markdown, to_sarif, to_text
from quickfit.checking.mending import Answer, Mended, Mender
from quickfit.checking.paths import common_folder, companions, found_files, is_match
from quickfit.checking.records import FREE, Checked, Outcome, Trouble, counted, summary
from quickfit.checking.scanning import Progress, Task, check_all
from quickfit.checking.settings import (
    ALL,
    Choice,
    Settings,
    chosen,
    names,
    nearest_settings,
    read_settings,
)
from quickfit.code import file_changes
from quickfit.code.file_changes import patch, show_patch
from quickfit.errors import FixError, UsageError
from quickfit.findings import FixClass
from quickfit.report.text import path, prose

STDIN = "-"
# More files are counted: a line of names is not read.
MAX_NAMED = 3


@dataclass(frozen=True)
class Request:
    """What the command line asks for.

    Args:
        words: the paths as they were given.
        select: of these causes; empty for what the settings say.
        ignore: not of these.
        hints: also what is only sometimes a fault.
        format: how to write; empty for what the settings say.
        output: a file to write to in the place of stdout.
        statistics: only how often each cause was found.
        exit_zero: findings do not show in the exit code.
        fixes: write the changes.
        diff: print the changes as a patch in the place of findings.
        accepted: classes of changes that may be written besides the free ones.
        config: settings from this file.
        isolated: without any settings.
        jobs: how many processes; 0 for as many as there are cores.
        stdin_name: what text from stdin is called.
        keras3: the files run with Keras 3, whatever versions their project asks for.
    """

    words: tuple[str, ...] = (".",)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    hints: bool = False
    format: str = ""
    output: Path | None = None
    statistics: bool = False
    exit_zero: bool = False
    fixes: bool = False
    diff: bool = False
    accepted: frozenset[FixClass] = frozenset()
    config: Path | None = None
    isolated: bool = False
    jobs: int = 0
    stdin_name: str = ""
    keras3: bool = False


def check(request: Request, *, stdin: BinaryIO, out: TextIO, err: TextIO) -> int:
    """Do what is asked for, and return the exit code.

    Raises:
        UsageError: what is asked for cannot be, or the changes cannot be written.
    """
    _check_together(request)
    settings = _settings(request)
    format = request.format or settings.format or "text"
    _check_format(request, format)
    choice = chosen(request.select, request.ignore, settings, hints=request.hints)
    answer = Answer(out, request.output)
    checker = _Checker(request, settings, choice, Progress(err))
    outcome = checker.outcome(stdin)
    done: Mended | None = None
    if request.fixes or request.diff:
        outcome, done = checker.mended(outcome)
    _say(_notes(request, outcome, done), err)
    if request.diff and done is not None:
        answer.write_bytes(patch(done.files, base=Path.cwd()))
        _say([*map(_error, outcome.troubles), _would(outcome, done)], err)
        return _diff_code(request, outcome, done)
    if done is not None and done.files:
        _write(done, err)
    _tell(outcome, format, request, answer)
    if request.output is not None:
        _say([f"{summary(outcome, fixes=False)}; written to {path(str(request.output))}"], err)
    return _exit_code(request, outcome)


class _Checker:
    """Finds the files of a request and checks them, also again after they have changed."""

    def __init__(
        self, request: Request, settings: Settings, choice: Choice, progress: Progress
    ) -> None:
        self._request = request
        self._settings = settings
        self._choice = choice
        self._progress = progress
        self._together: tuple[str, ...] = ()
        self._given: dict[str, bytes] = {}

    def outcome(self, stdin: BinaryIO) -> Outcome:
        """Check everything that was asked for."""
        folders: list[Checked] = []
        if STDIN in self._request.words:
            paths = [os.path.abspath(self._request.stdin_name or "<stdin>")]
            self._given = {paths[0]: stdin.read()}
            named = paths if self._request.stdin_name else []
        else:
            paths, troubles = found_files(self._request.words, self._is_excluded)
            folders = [Checked(one.where.file, troubles=(one,)) for one in troubles]
            named = [word for word in self._request.words if not os.path.isdir(word)]
        self._together = tuple(dict.fromkeys((*paths, *companions(named))))
        checked = self._check(paths, self._given)
        return Outcome(
            files=tuple(sorted([*checked, *folders], key=lambda file: file.path)),
            accepted=FREE | self._request.accepted,
            words=self._request.words,
        )

    def mended(self, outcome: Outcome) -> tuple[Outcome, Mended]:
        """Return what remains after the changes were made, and the changes."""
        writes = self._request.fixes and not self._request.diff
        mender = Mender(outcome.files, outcome.accepted, self._check, leaves_read_only=writes)
        done = mender.mended()
        files = tuple(done.rest.get(file.path, file) for file in outcome.files)
        return replace(outcome, files=files, fixed=tuple(done.fixed)), done

    def _check(self, paths: Sequence[str], given: Mapping[str, bytes]) -> list[Checked]:
        task = Task(self._together, self._choice, given, self._request.keras3)
        return check_all(task, paths, jobs=self._request.jobs, progress=self._progress)

    def _is_excluded(self, file: str) -> bool:
        base = self._settings.base
        return any(is_match(file, glob, base) for glob in self._settings.exclude)


def _check_together(request: Request) -> None:
    if STDIN in request.words and len(request.words) > 1:
        raise UsageError(
            "check: - (text from stdin) stands alone, without other paths.\nFor example:\n"
            "    quickfit check - --stdin-filename train.py < train.py"
        )
    if STDIN in request.words and (request.fixes or request.diff):
        raise UsageError("check: text from stdin cannot be fixed; name the file.")
    if request.config is not None and request.isolated:
        raise UsageError("check: --config and --isolated (no settings) contradict each other.")
    if request.jobs < 0:
        raise UsageError(f"check: --jobs {request.jobs}: 1 or more processes are expected.")


def _check_format(request: Request, format: str) -> None:
    if request.statistics and format not in ("text", "json"):
        raise UsageError(f"check: --statistics goes with --format text or json, not {format}.")


def _settings(request: Request) -> Settings:
    if request.isolated:
        return Settings()
    if request.config is not None:
        return read_settings(request.config)
    words = (request.stdin_name or ".",) if STDIN in request.words else request.words
    return nearest_settings(common_folder(words))


def _notes(request: Request, outcome: Outcome, done: Mended | None) -> list[str]:
    """Return what is said on stderr besides the findings, each once."""
    notes = [note for file in outcome.files for note in file.notes]
    notes += [
        f"{name} shows only while a script runs: quickfit run train.py"
        for name in sorted(names(request.select, "--select") - {ALL})
        if catalogue()[name].scan is None
    ]
    if not outcome.files:
        notes.append("warning: no Python files and no notebooks found below the given paths.")
    return list(dict.fromkeys([*notes, *(done.notes if done else ())]))


def _say(notes: Sequence[str], err: TextIO) -> None:
    for note in notes:
        terminal.say(prose(note), err)


def _error(trouble: Trouble) -> str:
    return f"{to_text.place(trouble.where)}: {trouble.message}"


def _would(outcome: Outcome, done: Mended) -> str:
    if not done.files:
        return "nothing would change."
    return f"{_fixes(done)} would be fixed. What would remain: {summary(outcome, fixes=False)}."


def _fixes(done: Mended) -> str:
    causes = Counter(told.spotted.cause for told in done.fixed)
    named = [f"{name} ×{count}" if count > 1 else name for name, count in sorted(causes.items())]
    return f"{counted(len(done.fixed), 'finding')} ({', '.join(named)})"


def _write(done: Mended, err: TextIO) -> None:
    home = file_changes.project_of(done.files)
    title = f"check --fix: {', '.join(dict.fromkeys(t.spotted.cause for t in done.fixed))}"
    show_patch(done.files, base=home, stream=err)
    try:
        file_changes.write(done.files, home=home, title=title)
    except FixError as error:
        # The same writer serves `quickfit fix`, whose patch is another one.
        raise UsageError(str(error).replace("quickfit fix", "quickfit check")) from error
    count = len(done.files)
    there = "" if home == Path.cwd() else f"cd {shlex.quote(str(home))} && "
    undoing = f"{there}quickfit fix --undo"
    where = ", ".join(map(path, done.files)) if count <= MAX_NAMED else counted(count, "file")
    _say([f"fixed in {where}: {_fixes(done)}", f"as it was before: {undoing}"], err)


def _tell(outcome: Outcome, format: str, request: Request, answer: Answer) -> None:
    if format == "text":
        write = to_text.write_statistics if request.statistics else to_text.write_text
        answer.write(lambda stream: write(outcome, stream))
    else:
        writers = {
            "markdown": to_markdown.to_markdown,
            "json": to_json.dumps,
            "sarif": to_sarif.dumps,
            "github": to_github.to_github,
        }
        answer.write_text(writers[format](outcome))


def _exit_code(request: Request, outcome: Outcome) -> int:
    return 0 if request.exit_zero and outcome.exit_code == 1 else outcome.exit_code


def _diff_code(request: Request, outcome: Outcome, done: Mended) -> int:
    if outcome.troubles:
        return 2
    return 1 if done.files and not request.exit_zero else 0


def stdin_bytes() -> BinaryIO:
    """Return stdin as bytes: its encoding is what the text itself says."""
    return sys.stdin.buffer
