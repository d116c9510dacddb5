"""Asks for the diagnosis of a recording and prints it; a failure here never harms a run."""

from __future__ import annotations

import importlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quickfit.errors import QuickfitError
from quickfit.launch.status import STDERR, say, write
from quickfit.terminal import escape

if TYPE_CHECKING:
    from quickfit.findings import Diagnosis


class _WholeText(io.StringIO):
    """Collects a report, so that it reaches a shared stderr in one piece."""

    # What a renderer asks before it uses colours or box characters.
    encoding = property(lambda self: getattr(sys.stderr, "encoding", None) or "utf-8")

    def isatty(self) -> bool:
        """Tell what the text is written to in the end."""
        return os.isatty(STDERR)


def load() -> None:
    """Import ahead of time what a report needs, because a Ctrl-C leaves little of it."""
    try:
        importlib.import_module("quickfit.diagnosis")
        importlib.import_module("quickfit.report.to_terminal")
    except Exception as error:  # noqa: BLE001 - anything: the user's run comes first
        _say_bug(error)


@dataclass(frozen=True)
class ReportForm:
    """How a report is given at the end of a run.

    Args:
        page: where to write it as a page as well; None for nowhere.
        replaces: replace what is there, also if it is no page and no report.
        format: `terminal`, `markdown` or `json`.
        file: where to write it in this format; None for stderr.
        prints: print or write it; not where that was done already.
    """

    page: Path | None = None
    replaces: bool = False
    format: str = "terminal"
    file: Path | None = None
    prints: bool = True


def print_report(folder: Path, form: ReportForm | None = None) -> bool:
    """Diagnose the recording and print the report to stderr; False if there is none.

    A page that was asked for is written first, and its path printed last.
    """
    form = form or ReportForm()
    try:
        from quickfit.diagnosis import diagnose

        diagnosis = diagnose(folder, with_details=form.page is not None)
        text = _report_text(diagnosis, form)
    except QuickfitError as error:
        say(str(error))
        return False
    except Exception as error:  # noqa: BLE001 - anything: the user's exit code comes first
        _say_bug(error)
        return False
    if form.prints and form.file is None:
        write(text)
    elif form.prints and form.file is not None:
        _write_file(text, form.file, replaces=form.replaces)
    if form.page is not None:
        _write_page(diagnosis, form.page, replaces=form.replaces)
    return True


def _report_text(diagnosis: Diagnosis, form: ReportForm) -> str:
    if form.format == "json":
        from quickfit.report.to_json import dumps

        return f"{dumps(diagnosis)}\n"
    if form.format == "markdown":
        from quickfit.report.to_markdown import to_markdown

        # On stderr it opens with an empty line, as that of the terminal does.
        return ("" if form.file else "\n") + escape(to_markdown(diagnosis))
    from quickfit.report.to_terminal import write_report

    # A file has no colours and no width of its own.
    stream = _WholeText() if form.file is None else io.StringIO()
    write_report(diagnosis, stream)
    return stream.getvalue()


def _write_file(text: str, file: Path, *, replaces: bool) -> None:
    try:
        from quickfit.launch.report_file import write_report_file

        write_report_file(text, file, replaces=replaces)
        say(f"report: {file}")
    except QuickfitError as error:
        say(str(error))


def _write_page(diagnosis: Diagnosis, file: Path, *, replaces: bool) -> None:
    try:
        from quickfit.report.page import write_page

        say(f"page: {write_page(diagnosis, file, replaces=replaces)}")
    except QuickfitError as error:
        say(str(error))
    except Exception as error:  # noqa: BLE001 - anything: the user's exit code comes first
        _say_bug(error)


def _say_bug(error: Exception) -> None:
    say(
        f"the report could not be made ({type(error).__name__}: {error}). This is a bug in"
        " quickfit, not in your script; please report it with this line."
    )
