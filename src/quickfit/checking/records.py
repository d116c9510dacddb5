"""What a check found, and how often."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field

from quickfit import units
from quickfit.findings import Effect, FixClass, Span, Spotted

# Classes that need no flag: the results are the same, or were wrong.
FREE = frozenset((FixClass.SAME_RESULTS, FixClass.REPAIRS))


@dataclass(frozen=True)
class Rewrite:
    """Lines of one file as they are and as a change makes them."""

    where: Span
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """A finding as it is told.

    Args:
        spotted: the finding; in a notebook with places in its cells. Its change keeps the lines
            of the joined text, which is what is edited.
        line: the text of the line that it begins on.
        file_lines: the lines of the file that `where` and each of `related` begin on; they differ
            from the lines of the finding in a notebook alone.
        edits: the places that its change replaces, with the text for each.
        rewrites: the lines of its change, for people.
    """

    spotted: Spotted
    line: str = ""
    file_lines: tuple[int, ...] = ()
    edits: tuple[tuple[Span, str], ...] = ()
    rewrites: tuple[Rewrite, ...] = ()

    @property
    def kind(self) -> FixClass | None:
        """The class of its change, where it has one that can be written."""
        change = self.spotted.change
        is_offer = change is not None and bool(change.edits) and not self.spotted.is_hint
        return change.kind if change and is_offer else None

    @property
    def level(self) -> str:
        """How bad it is, in the words of SARIF."""
        if self.spotted.is_hint:
            return "note"
        return "warning" if self.spotted.effect in (Effect.WORSE, Effect.SLOW) else "error"


@dataclass(frozen=True)
class Trouble:
    """A file, or a cell, that could not be checked; `line` is its text, where there is one."""

    where: Span
    message: str
    line: str = ""
    file_line: int = 0


@dataclass(frozen=True)
class Checked:
    """What became of one file.

    Args:
        path: of the file.
        told: the findings that are told, in the order of the text.
        troubles: why it, or a part of it, could not be checked.
        notes: what else is to be said, on stderr.
        hints: how many findings were not told because they are hints.
        sha256: of the bytes that were read; empty where none were.
    """

    path: str
    told: tuple[Told, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    notes: tuple[str, ...] = ()
    hints: int = 0
    sha256: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of all files.

    Args:
        files: each of them, in the order of their paths.
        fixed: the findings that were fixed, where that was asked for.
        accepted: the classes of changes that may be written.
        words: the paths as they were given, for a command to paste.
    """

    files: tuple[Checked, ...]
    fixed: tuple[Told, ...] = ()
    accepted: frozenset[FixClass] = FREE
    words: tuple[str, ...] = field(default=())

    @property
    def told(self) -> list[Told]:
        """All findings; what two files have to tell of one place, once."""
        found: dict[tuple[Span, str, str], Told] = {}
        for told in (told for file in self.files for told in file.told):
            spotted = told.spotted
            found.setdefault((spotted.where, spotted.cause, spotted.summary), told)
        return list(found.values())

    @property
    def troubles(self) -> list[Trouble]:
        """All that could not be checked."""
        return [trouble for file in self.files for trouble in file.troubles]

    @property
    def fixable(self) -> list[Told]:
        """The findings whose changes may be written."""
        return [told for told in self.told if told.kind in self.accepted]

    @property
    def by_cause(self) -> Counter[str]:
        """How often each cause was found."""
        return Counter(told.spotted.cause for told in self.told)

    @property
    def exit_code(self) -> int:
        """What the command ends with: 2 with errors, 1 with findings, 0 without."""
        return 2 if self.troubles else 1 if self.told else 0


_EFFECTS = {
    Effect.CRASHES: ("crashes", "crash"),
    Effect.HANGS: ("hangs", "hang"),
    Effect.WRONG: ("trains on wrong numbers", "train on wrong numbers"),
    Effect.WORSE: ("learns worse", "learn worse"),
    Effect.SLOW: ("slow", "slow"),
}


def summary(outcome: Outcome, *, fixes: bool = True) -> str:
    """Return the line that a report ends with.

    Args:
        outcome: what was found.
        fixes: whether to name the command that fixes some of it.
    """
    told = outcome.told
    files = counted(len(outcome.files), "file")
    if not told:
        text = f"no findings in {files}"
    else:
        places = len({one.spotted.where.file for one in told})
        where = f"{units.count(places)} of {files}" if len(outcome.files) > 1 else files
        text = f"{counted(len(told), 'finding')} in {where} ({_effects(outcome)})"
    return f"{text}{_troubles(outcome)}{_fixes(outcome) if fixes else ''}"


def counted(number: int, thing: str) -> str:
    """Return `1 file`, `12 files`."""
    return f"{units.count(number)} {thing}{'' if number == 1 else 's'}"


def hidden_hints(outcome: Outcome) -> str:
    """Return what to do to see the hints that are not told; empty where there are none."""
    hidden = sum(file.hints for file in outcome.files)
    if not hidden:
        return ""
    what = "1 hint is" if hidden == 1 else f"{units.count(hidden)} hints are"
    return f"{what} not shown (only sometimes slow): --hints"


def _effects(outcome: Outcome) -> str:
    hints = sum(one.spotted.is_hint for one in outcome.told)
    counts = Counter(one.spotted.effect for one in outcome.told if not one.spotted.is_hint)
    parts = [
        f"{units.count(counts[effect])} {words[counts[effect] != 1]}"
        for effect, words in _EFFECTS.items()
        if counts[effect]
    ]
    return ", ".join([*parts, *([counted(hints, "hint")] if hints else [])])


def _troubles(outcome: Outcome) -> str:
    broken = len({trouble.where.file for trouble in outcome.troubles})
    return f"; {counted(broken, 'file')} with errors" if broken else ""


def _fixes(outcome: Outcome) -> str:
    fixable = len(outcome.fixable)
    kinds = {one.kind for one in outcome.told if one.kind} - outcome.accepted
    asked = [kind for kind in (FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS) if kind in kinds]
    more = sum(one.kind in asked for one in outcome.told)
    flags = [f"--accept {kind}" for kind in (*sorted(outcome.accepted - FREE), *asked)]
    paths = "" if outcome.words == (".",) else f" {shlex.join(outcome.words)}"
    if fixable:
        accepted = "".join(f" {flag}" for flag in flags[: len(outcome.accepted - FREE)])
        text = f"; {units.count(fixable)} can be fixed: quickfit check --fix{accepted}{paths}"
        return f"{text} ({units.count(more)} more with {' '.join(flags)})" if more else text
    if more:
        return f"; {units.count(more)} can be fixed: quickfit check --fix {' '.join(flags)}{paths}"
    return ""
