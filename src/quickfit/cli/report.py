"""`quickfit report RUN`: the report of a recording, for people or for programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer, answer_text
from quickfit.errors import UsageError


class Format(StrEnum):
    """How a report is written."""

    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"


HTML_HELP = (
    "Write the report as one page that opens in any browser, needs no network and can be sent"
    " around. It shows lines of your source."
)
FORCE_HELP = "Replace what is there even if it is no page or report of quickfit."


def report(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="A recording: its .qfrun folder, or the file of one process in it. "
            "Without it, the newest run in .quickfit/runs.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Format,
        typer.Option("--format", "-f", help="For a terminal, for programs, or for a comment."),
    ] = Format.TERMINAL,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="List every cause that was checked, or could not be."),
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help=HTML_HELP)] = None,
    force: Annotated[bool, typer.Option("--force", help=FORCE_HELP)] = False,
) -> None:
    """Print the report of a recording again, or write it as a page."""
    from quickfit import diagnosis
    from quickfit.recording.folder import newest_run
    from quickfit.report import dumps, to_markdown, write_report

    chosen = run or announced(newest_run(Path(".quickfit") / "runs"))
    if html is not None:
        from quickfit.report.page import check_page_file, write_page

        if format != Format.TERMINAL:
            raise UsageError(
                f"--html and --format are two forms of one report.\nReceived: --format {format}\n"
                "Ask for one of them, and then for the other."
            )
        check_page_file(html, replaces=force)
        written = write_page(diagnosis.diagnose(chosen, with_details=True), html, replaces=force)
        answer_text(f"page: {written}\n")
        return
    diagnosed = diagnosis.diagnose(chosen)
    if format != Format.TERMINAL:
        is_json = format == Format.JSON
        answer_text(dumps(diagnosed) + "\n" if is_json else to_markdown(diagnosed))
        return

    def write(stream: TextIO) -> None:
        write_report(diagnosed, stream, verbose=verbose)

    answer(write)


def announced(run: Path) -> Path:
    """Say on stderr which run was chosen, and return it."""
    from quickfit.report.text import path

    terminal.say(f"newest run: {path(str(run))}")
    return run
