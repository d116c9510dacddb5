"""`quickfit fix`: make the fix for what was found, prove it, and write it if asked to."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.fixing.story import Request

# Which words before the script's name are ours, and whether a value follows.
OPTIONS = {
    "-m": True,
    "--only": True,
    "--accept": True,
    "--budget": True,
    "--format": True,
    "--apply": False,
    "--diff": False,
    "--force": False,
    "--no-proof": False,
    "--trust-script": False,
    "--tune": False,
    "--undo": False,
    "--help": False,
}
TRUST_HELP = (
    "Try the script also where the kernel cannot confine it (neither namespaces nor Landlock) and"
    " it starts programs or writes past Python."
)
RUN_SUFFIXES = (".qfrun", ".sqlite")


class Accept(StrEnum):
    """Classes of fixes that are written only when they were asked for."""

    EQUIVALENT = "equivalent"
    MAY_CHANGE_RESULTS = "may-change-results"


class Format(StrEnum):
    """How what became of the fixes is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def fix(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCRIPT [ARGS] | RUN [CAUSE…]", hidden=True),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("-m", metavar="MODULE", help="A module, as `python -m MODULE` runs it."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CAUSE", help="Fix this cause alone; may be given several times."),
    ] = None,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help="Write what was proven. The originals are kept in .quickfit/fixes for --undo."
            " Without a script or a recording: write what was proven last.",
        ),
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what was proven as a patch for `git apply`.")
    ] = False,
    accept: Annotated[
        list[Accept] | None,
        typer.Option(
            help="Write fixes of this class too: `equivalent` (rounding, another decoder) or"
            " `may-change-results` (order, batch size, precision)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write also what was not proven.")] = False,
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Only make the candidates; try nothing.")
    ] = False,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="The time for all proofs: 90s, 5m, 1h.")
    ] = "5m",
    trust_script: Annotated[bool, typer.Option("--trust-script", help=TRUST_HELP)] = False,
    format: Annotated[
        Format, typer.Option("--format", help="For people, for a comment, or for programs.")
    ] = Format.TEXT,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Try settings too: XLA, steps per call, batch size, threads, precision.",
        ),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Put back the files as they were before --apply.")
    ] = False,
) -> None:
    """Make the fix for what makes a training slow, and prove it before anything is written.

    \b
        quickfit fix train.py --epochs 3             watch it, make fixes, prove each one
        quickfit fix RUN.qfrun sequential-map        the same from a recording, for one cause
        quickfit fix --apply train.py                and write what was proven
        quickfit fix --tune train.py                 settings too, after the causes: give it 15m
        quickfit fix --apply --accept equivalent     write what was proven last, these too
        quickfit fix --diff RUN.qfrun | git apply    the same as a patch
        quickfit fix --undo                          as it was

    Everything after a script's name belongs to the script. It is run many times for a few
    seconds, the original and the fixed one in turns. Trials write to a scratch folder only; a
    script that would overwrite or delete a file of yours is not tried. Files change with --apply
    alone.
    """
    from quickfit.fixing import write

    _check_together(
        {"--undo": undo, "--apply": apply, "--diff": diff, "--tune": tune}
        | {"--no-proof": no_proof, "a script": bool(words or module)},
        forces=force,
    )
    if undo:
        write.undo(Path.cwd(), sys.stdout)
        return
    allowed = frozenset(one.value for one in accept or ())
    asked = write.Asked(applies=apply, prints_patch=diff, forces=force, accepted=allowed)
    if not words and module is None:
        if not apply:
            raise UsageError(
                "fix: no script and no recording was given.\nName one:\n"
                "    quickfit fix train.py\n    quickfit fix .quickfit/runs/NAME.qfrun"
            )
        write.apply_last(Path.cwd(), asked, sys.stdout)
        return
    request = asked_for(words or [], module, only or [], budget, proves=not no_proof)
    request = dataclasses.replace(request, tunes=tune, trusts_script=trust_script)
    write.fix(request, asked, out=sys.stdout, err=sys.stderr, format=format.value)


def _check_together(given: Mapping[str, bool], *, forces: bool) -> None:
    """Refuse options that speak against each other, before anything is run.

    Raises:
        UsageError: they do.
    """
    beside = [name for name, is_given in given.items() if is_given and name != "--undo"]
    if given["--undo"] and beside:
        raise UsageError(
            f"fix: --undo puts back what was written last, and does nothing about {beside[0]}.\n"
            "Give it alone:\n    quickfit fix --undo"
        )
    writes = [name for name in ("--apply", "--diff") if given[name]]
    if given["--no-proof"] and writes and not forces:
        raise UsageError(
            f"fix: {writes[0]} is for what was proven, and with --no-proof nothing is.\n"
            f"Leave --no-proof out, or take what nobody has tried: {writes[0]} --no-proof --force"
        )


def asked_for(
    words: list[str], module: str | None, only: list[str], budget: str, *, proves: bool
) -> Request:
    """Return what the words of the command line ask for.

    Raises:
        UsageError: the budget is not a time, or an option stands behind a recording.
    """
    from quickfit.cli.run import time_of
    from quickfit.fixing.story import Request
    from quickfit.launch.target import Target

    seconds = time_of("--budget", budget)
    common = {"budget_s": seconds, "proves": proves}
    if module is not None:
        target = Target(module=module, args=tuple(words))
        return Request(target, causes=tuple(only), **common)  # type: ignore[arg-type]
    if is_recording(words[0]):
        _check_causes(words)
        causes = (*words[1:], *only)
        return Request(run=Path(words[0]), causes=causes, **common)  # type: ignore[arg-type]
    target = Target(script=words[0], args=tuple(words[1:]))
    return Request(target, causes=tuple(only), **common)  # type: ignore[arg-type]


def _check_causes(words: list[str]) -> None:
    late = [word for word in words[1:] if word.startswith("-")]
    if late:
        causes = " ".join(word for word in words[1:] if word not in late)
        raise UsageError(
            f"fix: {late[0]} stands behind the recording, where causes are named.\n"
            f"Options go first:\n    quickfit fix {' '.join([*late, words[0], causes]).strip()}"
        )


def is_recording(word: str) -> bool:
    """Tell whether a word names a recording and not a script."""
    path = Path(word)
    return path.suffix in RUN_SUFFIXES or (path.is_dir() and (path / "run.json").exists())
