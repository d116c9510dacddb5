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
        Format, typer.Option("--format", "-f", help="For people, or for programs.")
    ] = Format.TERMINAL,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="List every cause that was checked, or could not be."),
    ] = False,
) -> None:
    """Print the report of a recording again."""
    from quickfit import diagnosis
    from quickfit.report import dumps, write_report

    chosen = run or _announced(newest_run(Path(".quickfit") / "runs"))
    diagnosed = diagnosis.diagnose(chosen)
    if format == Format.JSON:
        answer_text(dumps(diagnosed) + "\n")
        return

    def write(stream: TextIO) -> None:
        write_report(diagnosed, stream, verbose=verbose)

    answer(write)


def newest_run(runs: Path) -> Path:
    """Return the run that was recorded last.

    Raises:
        UsageError: there is none.
    """
    from quickfit.recording.schema import RUN_SUFFIX

    found = [folder for folder in runs.glob(f"*{RUN_SUFFIX}") if folder.is_dir()]
    if not found:
        raise UsageError(
            f"{runs}: there is no recording here to report on.\n"
            "Record one first, or name the one you mean:\n"
            "    quickfit run train.py\n"
            "    quickfit report FOLDER.qfrun"
        )
    # Runs that started within one tick of the file system are told apart by their names.
    return max(found, key=lambda folder: (folder.stat().st_mtime_ns, folder.name))


def _announced(run: Path) -> Path:
    from quickfit.report.text import path

    terminal.say(f"newest run: {path(str(run))}")
    return run
