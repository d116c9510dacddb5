"""What the command does with a story: shows it, keeps it, writes the fixes, undoes them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from quickfit import terminal
from quickfit.code import file_changes
from quickfit.code.edits import is_in_conflict
from quickfit.code.file_changes import show_patch
from quickfit.errors import FixError, UsageError
from quickfit.findings import FixClass
from quickfit.fixing import proven
from quickfit.fixing.proven import Proven, written_title
from quickfit.fixing.story import Request, Story, told
from quickfit.lab.verdict import Outcome
from quickfit.terminal import wants_color

# Classes that need no flag: the results are the same, or were wrong.
FREE = frozenset((FixClass.SAME_RESULTS, FixClass.REPAIRS))

DOES = {
    "--apply": "writes files",
    "--diff": "prints a patch",
    "--format json": "prints JSON with the patch in it",
}


@dataclass(frozen=True)
class Asked:
    """What is to be done with what was proven."""

    applies: bool = False
    prints_patch: bool = False
    forces: bool = False
    accepted: frozenset[str] = frozenset()

    def allows(self, kind: FixClass) -> bool:
        """Tell whether a fix of this class may be written."""
        return kind in FREE or kind.value in self.accepted

    def check(self, command: str, *, as_json: bool = False) -> None:
        """Refuse what cannot be done at once, before anything is run.

        Raises:
            UsageError: two of the options speak against each other.
            FixError: what is written could not be undone.
        """
        if self.applies:
            file_changes.check_key()
        given = {"--apply": self.applies, "--diff": self.prints_patch, "--format json": as_json}
        both = [name for name, is_given in given.items() if is_given]
        if len(both) > 1:
            raise UsageError(
                f"{command}: {' and '.join(both)} do not go together:"
                f" {', '.join(f'{name} {DOES[name]}' for name in both)}.\n"
                "Take one of them. What was proven is kept: quickfit fix --apply writes it later."
            )

    def say_limits(self, err: TextIO) -> None:
        """Say before hours of trials which settings will only be shown."""
        kinds = (FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS)
        left = [kind.value for kind in kinds if not self.allows(kind)]
        if self.applies and left:
            terminal.say(
                f"--apply writes no settings of class {' or '.join(left)}: these are only shown.\n"
                f"To write them too: {' '.join(f'--accept {kind}' for kind in left)}",
                err,
            )


def fix(request: Request, asked: Asked, *, out: TextIO, err: TextIO, format: str = "text") -> None:
    """Prove fixes, show them as `text`, `markdown` or `json`, and write those that are asked for.

    Raises:
        FixError: a fix cannot be made, proven or written.
        UsageError: what is asked for makes no sense together.
        KeyboardInterrupt: it was interrupted; what is known was shown.
    """
    asked.check("fix", as_json=format == "json")
    if request.tunes:
        asked.say_limits(err)
    if asked.applies:
        request = replace(request, prefers=FREE | {FixClass(one) for one in asked.accepted})
    story = told(request, err)
    shown = err if asked.prints_patch else out
    if format == "json":
        from quickfit.fixing.to_json import story_json

        terminal.write(out, story_json(story))
    elif format == "markdown":
        from quickfit.fixing.to_markdown import story_markdown

        terminal.write(shown, story_markdown(story))
    else:
        from quickfit.fixing.to_terminal import write_story

        write_story(story, shown, color=wants_color(shown))
    # What follows is for the person at the terminal, not for whoever reads the answer.
    settle(story, asked, out=out if format == "text" or asked.prints_patch else err)


def settle(story: Story, asked: Asked, *, out: TextIO) -> None:
    """Keep what was proven, and write it or print it as a patch where that is asked for.

    Raises:
        FixError: a file cannot be written, or has changed.
        KeyboardInterrupt: the story was interrupted.
    """
    from quickfit.fixing.to_terminal import patch_of

    kept = _proven(story)
    if kept:
        proven.keep(kept, story.home)
    if story.is_interrupted:
        raise KeyboardInterrupt
    chosen = _chosen(story, asked)
    if asked.prints_patch:
        terminal.write_patch(out, patch_of(chosen, story.sources, Path.cwd()))
    if asked.applies:
        entries = [_entry(story, outcome) for outcome in chosen]
        # The diffs of what was proven are on the screen already.
        _write(entries, story.home, out, shows=not all(one.is_accepted for one in chosen))
        left = [entry for entry in kept if not asked.allows(entry.kind)]
        _say_left(left, entries, story.home, out)
    elif not asked.prints_patch and kept:
        command = _command(f"--apply{_flags(kept)}", story.home)
        terminal.write(out, f"\nTo write what was proven:\n    {command}\n")


def _chosen(story: Story, asked: Asked) -> list[Outcome]:
    chosen: list[Outcome] = []
    for outcome in story.outcomes:
        is_wanted = (outcome.is_accepted or asked.forces) and asked.allows(outcome.kind)
        edits = [edit for other in chosen for edit in other.change.edits]
        if is_wanted and not is_in_conflict(outcome.change.edits, edits):
            chosen.append(outcome)
    return chosen


def _proven(story: Story) -> list[Proven]:
    return [_entry(story, outcome) for outcome in story.accepted]


def _entry(story: Story, outcome: Outcome) -> Proven:
    digests = {path: story.sources.files[path].sha256 for path in outcome.change.files}
    return Proven(outcome.cause, outcome.kind, outcome.change.edits, digests)


def apply_last(home: Path, asked: Asked, out: TextIO) -> None:
    """Write what was proven last in this folder.

    Raises:
        FixError: nothing was proven, a file has changed since, or a part is written already.
        UsageError: what is asked for makes no sense together.
    """
    asked.check("fix")
    entries = proven.read(home)
    chosen = [entry for entry in entries if asked.allows(entry.kind)]
    if not chosen:
        needed = " ".join(f"--accept {kind}" for kind in sorted({e.kind.value for e in entries}))
        raise FixError(
            "What was proven last needs to be asked for, because it is not bit by bit the same:\n"
            f"    quickfit fix --apply {needed}"
        )
    title = written_title(chosen, home)
    if not title:
        _write(chosen, home, out, shows=True)
        return
    rest = [entry for entry in chosen if entry.cause not in title.split(", ")]
    if rest:
        raise FixError(_partly_written(title, rest, chosen))
    terminal.write(out, f"Already written: {title}\nAs it was before: quickfit fix --undo\n")


def _partly_written(title: str, rest: Sequence[Proven], chosen: Sequence[Proven]) -> str:
    names = ", ".join(entry.cause for entry in rest)
    return (
        f"{title}: already written, without {names}. To write all of them at once:\n"
        f"    quickfit fix --undo\n    quickfit fix --apply{_flags(chosen)}"
    )


def _flags(entries: Sequence[Proven]) -> str:
    """Return the words that allow all of these to be written."""
    kinds = sorted({entry.kind.value for entry in entries if entry.kind not in FREE})
    return "".join(f" --accept {kind}" for kind in kinds)


def _write(entries: Sequence[Proven], home: Path, out: TextIO, *, shows: bool) -> None:
    """Write changes; show them before, unless they were shown."""
    if not entries:
        said = "Nothing was written: no fix was proven that may be written without a flag."
        terminal.write(out, f"\n{said}\n")
        return
    files = proven.files_of(entries)
    if shows:
        show_patch(files, base=home, stream=out)
    title = ", ".join(entry.cause for entry in entries)
    file_changes.write(files, home=home, title=title)
    names = ", ".join(_short(path) for path in files)
    undoing = _command("--undo", home)
    terminal.write(out, f"\nWritten: {title} in {names}\nAs it was before: {undoing}\n")


def undo(home: Path, out: TextIO) -> None:
    """Show what is put back, and put the originals back.

    Raises:
        FixError: there is nothing to undo, or a file has changed since.
    """
    title, files = file_changes.undo(
        home=home, show=lambda files: show_patch(files, base=home, stream=out)
    )
    terminal.write(out, f"Undone: {title} in {', '.join(map(_short, files))}\n")


def _short(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _command(words: str, home: Path) -> str:
    """Return a command of `fix`, to be run in the project folder."""
    there = "" if home == Path.cwd() else f"cd {shlex.quote(str(home))} && "
    return f"{there}quickfit fix {words}"


def _say_left(left: Sequence[Proven], done: Sequence[Proven], home: Path, out: TextIO) -> None:
    """Say which command writes what was proven and not asked for."""
    if not left:
        return
    names = ", ".join(entry.cause for entry in left)
    before = f"    {_command('--undo', home)}\n" if done else ""
    command = _command(f"--apply{_flags([*left, *done])}", home)
    said = f"Proven and not written: {names}. To write all:\n{before}    {command}\n"
    terminal.write(out, said)
