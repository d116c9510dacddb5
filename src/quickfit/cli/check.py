"""`quickfit check`: certain mistakes from the text of scripts and notebooks alone."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quickfit.cli._stdout import answer
from quickfit.cli.fix import Accept


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def check(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH…",
            help="Files, notebooks and folders; - reads a script from stdin. [default: .]",
            show_default=False,
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CAUSES", help="Only these causes: names with commas, or ALL."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="CAUSES", help="Not these causes.")
    ] = None,
    hints: Annotated[
        bool, typer.Option("--hints", help="Also what is only sometimes slow.")
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Write the fixes that keep results or repair them. The originals are kept in"
            " .quickfit/fixes: quickfit fix --undo",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Print what --fix would do as a patch; change nothing."),
    ] = False,
    accept: Annotated[
        list[Accept] | None,
        typer.Option(
            help="Fix also in this class: `equivalent` (rounding, another decoder) or"
            " `may-change-results` (order, batch size, precision)."
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format", "-f", help="For people, comments, programs, code scanning or GitHub."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file, not to stdout."),
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Only how often each cause was found.")
    ] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="End with 0 even if there are findings.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings from this file, not the nearest one."),
    ] = None,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="Without any settings of a project.")
    ] = False,
    keras3: Annotated[
        bool,
        typer.Option(
            "--keras3", help="The code is to run with Keras 3, whatever its project pins."
        ),
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(metavar="N", help="Processes that work. [default: cores]", show_default=False),
    ] = 0,
    lsp: Annotated[
        bool,
        typer.Option(
            "--lsp", help="Be a language server on stdin and stdout: findings and fixes in editors."
        ),
    ] = False,
    stdin_filename: Annotated[
        str, typer.Option(metavar="FILE", help="What text from stdin is called.")
    ] = "",
) -> None:
    """Find certain mistakes in the text of scripts and notebooks, without running them.

    \b
        quickfit check                               everything below this folder
        quickfit check train.py notebooks/           some files and folders
        quickfit check --diff train.py               what would be fixed, as a patch
        quickfit check --fix train.py                fix it; quickfit fix --undo takes it back
        quickfit check --select shuffle-autotune .   one cause; quickfit explain lists them
        quickfit check --format sarif -o out.sarif   for code scanning; also markdown, json, github

    Reported is what crashes, hangs, trains on wrong numbers or is slow on every run, and only
    what the text proves. Nothing is imported or run. To silence one finding, end its line with
    `# quickfit: ignore[cause]`; for a project, see [tool.quickfit] in docs/check.md.

    Ends with 0 where nothing was found, 1 with findings, 2 if a file cannot be read.
    """
    if lsp:
        from quickfit.checking.language_server import serve

        serve(keras3=keras3)
        return
    from quickfit.checking.command import Request, stdin_bytes
    from quickfit.checking.command import check as check_all
    from quickfit.findings import FixClass

    request = Request(
        words=tuple(paths or (".",)),
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        hints=hints,
        format=format.value if format else "",
        output=output,
        statistics=statistics,
        exit_zero=exit_zero,
        fixes=fix,
        diff=diff,
        accepted=frozenset(FixClass(one.value) for one in accept or ()),
        config=config,
        isolated=isolated,
        jobs=jobs,
        stdin_name=stdin_filename,
        keras3=keras3,
    )
    code = 0

    def write(out: object) -> None:
        nonlocal code
        code = check_all(request, stdin=stdin_bytes(), out=sys.stdout, err=sys.stderr)

    answer(write)
    raise typer.Exit(code)
