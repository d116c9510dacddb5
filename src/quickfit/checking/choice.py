"""Which findings are told: the causes that were selected, without those that were ignored."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quickfit.causes import catalogue
from quickfit.checking.config import Settings
from quickfit.checking.paths import is_match
from quickfit.errors import UsageError
from quickfit.findings import Spotted

ALL = "ALL"
# Names share many words; below this likeness a guess is no help.
MIN_LIKENESS = 0.5


@dataclass(frozen=True)
class Choice:
    """What is told.

    Args:
        causes: of these causes.
        hints: also what is only sometimes a fault.
        per_file: globs, and the causes that are not told in such files.
        base: the folder that the globs are relative to.
    """

    causes: frozenset[str]
    hints: bool = False
    per_file: tuple[tuple[str, frozenset[str]], ...] = ()
    base: str = ""

    def has(self, spotted: Spotted) -> bool:
        """Tell whether a finding is of a cause that is told in its file."""
        path = spotted.where.file
        return spotted.cause in self.causes and not any(
            spotted.cause in causes and is_match(path, glob, self.base)
            for glob, causes in self.per_file
        )


def chosen(
    select: Sequence[str], ignore: Sequence[str], settings: Settings, *, hints: bool
) -> Choice:
    """Return what the command line and the settings ask for together.

    What the command line selects takes the place of what the settings select, and is told even
    where they ignore it; what it ignores is ignored besides.

    Raises:
        UsageError: there is no such cause.
    """
    file = f"{settings.file}: tool.quickfit"
    asked = names(select, "--select")
    wanted = asked or names(settings.select or (), f"{file}.select") or {ALL}
    if settings.select == () and not asked:
        wanted = set()
    ignored = names(settings.ignore, f"{file}.ignore") - asked
    ignored |= names(ignore, "--ignore")
    return Choice(
        causes=frozenset(_all(wanted) - _all(ignored)),
        hints=hints or settings.hints,
        per_file=tuple(
            (glob, frozenset(_all(names(given, f'{file}.per-file-ignores."{glob}"'))))
            for glob, given in settings.per_file_ignores
        ),
        base=settings.base,
    )


def names(given: Iterable[str], where: str) -> set[str]:
    """Return the names in texts such as `a,b`; capitals and underscores are forgiven.

    Raises:
        UsageError: one is not the name of a cause.
    """
    words = [word.strip() for text in given for word in text.split(",")]
    return {_name(word, where) for word in words if word}


def _name(word: str, where: str) -> str:
    if word.upper() == ALL:
        return ALL
    name = normal(word)
    if name in catalogue():
        return name
    near = near_names(word)
    guess = f"Did you mean: {', '.join(near)}\n" if near else ""
    raise UsageError(
        f"{where}: {word!r} is not the name of a cause.\n{guess}"
        "For the list of all causes:\n    quickfit explain"
    )


def normal(word: str) -> str:
    """Return a name as the catalogue has it."""
    return word.strip().lower().replace("_", "-")


def near_names(word: str) -> list[str]:
    """Return the names of causes that are written nearly like a word."""
    return difflib.get_close_matches(normal(word), catalogue(), n=3, cutoff=MIN_LIKENESS)


def _all(wanted: set[str]) -> set[str]:
    return set(catalogue()) if ALL in wanted else wanted
