"""Asks for the diagnosis of a recording and prints it; a failure here never harms a run."""

from __future__ import annotations

import importlib
import io
import os
import sys
from pathlib import Path

from quickfit.errors import QuickfitError
from quickfit.launch.status import STDERR, say, write


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


def print_report(folder: Path) -> bool:
    """Diagnose the recording and print the report to stderr; False if there is none."""
    try:
        from quickfit.diagnosis import diagnose
        from quickfit.report.to_terminal import write_report

        text = _WholeText()
        write_report(diagnose(folder), text)
    except QuickfitError as error:
        say(str(error))
        return False
    except Exception as error:  # noqa: BLE001 - anything: the user's exit code comes first
        _say_bug(error)
        return False
    write(text.getvalue())  # it opens with an empty line
    return True


def _say_bug(error: Exception) -> None:
    say(
        f"the report could not be made ({type(error).__name__}: {error}). This is a bug in"
        " quickfit, not in your script; please report it with this line."
    )
