"""`quickfit explain CAUSE`: the page of a cause, or the list; `--schema`: that of our JSON."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from quickfit.cli._stdout import answer_text
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.causes import Cause

# Names share many words ("input", "map"); below this likeness a guess is no help.
MIN_LIKENESS = 0.5


def _causes_beginning(word: str) -> list[str]:
    from quickfit.causes import catalogue

    return [name for name in catalogue() if name.startswith(word)]


class Schema(StrEnum):
    """The commands whose JSON has a schema."""

    REPORT = "report"
    FIX = "fix"
    CHECK = "check"
    TUNE = "tune"
    BENCH = "bench"
    SHRINK = "shrink"
    COMPARE = "compare"


def explain(
    cause: Annotated[
        str | None,
        typer.Argument(
            help="The name of a cause, as reports print it. Without it, all causes are listed.",
            show_default=False,
            autocompletion=_causes_beginning,
        ),
    ] = None,
    schema: Annotated[
        Schema | None,
        typer.Option(help="Print the JSON Schema of what a command answers as JSON."),
    ] = None,
) -> None:
    """Explain a cause: why it is slow, how it shows, what to write instead.

    \b
        quickfit explain                     all causes
        quickfit explain sequential-map      the page of one
        quickfit explain --schema report     the JSON Schema of quickfit report --format json
    """
    from quickfit.causes import catalogue

    if schema is not None:
        if cause is not None:
            raise UsageError(
                f"explain: --schema is about a command, not about a cause.\nReceived: {cause}\n"
                f"Leave the cause out:\n    quickfit explain --schema {schema.value}"
            )
        from importlib import resources

        file = resources.files("quickfit.report").joinpath(f"schemas/{schema.value}.schema.json")
        answer_text(file.read_text(encoding="utf-8"))
        return
    causes = catalogue()
    answer_text(_listing(causes) if cause is None else _page(_named(cause, causes)))


def _named(name: str, causes: Mapping[str, Cause]) -> Cause:
    """Return the cause called `name`; capitals and underscores are forgiven."""
    wanted = name.strip().lower().replace("_", "-")
    if wanted in causes:
        return causes[wanted]
    near = difflib.get_close_matches(wanted, causes, n=3, cutoff=MIN_LIKENESS)
    guesses = "".join(f"    quickfit explain {each}\n" for each in near)
    raise UsageError(
        f"{name!r} is not the name of a cause.\n"
        + (f"Did you mean:\n{guesses}" if near else "")
        + "For the list of all causes:\n    quickfit explain"
    )


def _page(cause: Cause) -> str:
    return f"{cause.name}: {cause.title}\nsymptom: {cause.symptom}\n\n{cause.page.strip()}\n"


def _listing(causes: Mapping[str, Cause]) -> str:
    width = max((len(name) for name in causes), default=0)
    lines = [f"{name:<{width}}  {causes[name].title}" for name in sorted(causes)]
    return "\n".join([*lines, "", "For the page of one: quickfit explain CAUSE", ""])
