"""Writes the report of a run to the file that its user named, and to nothing else of theirs."""

from __future__ import annotations

import stat
from pathlib import Path

from quickfit import trust
from quickfit.errors import UsageError

# How a report of ours begins, by format: for a terminal, Markdown, JSON.
BEGINNINGS = ("\ndevice ", "### quickfit: ", '{\n  "schema_version"')


def check_report_file(file: Path, *, replaces: bool = False) -> None:
    """Find out before the work whether a report can be written to `file`.

    A pipe or a descriptor (`/dev/fd/3`) is taken as it is.

    Raises:
        UsageError: it is a folder or in none, or holds something else than a report.
    """
    if file.is_dir() or not file.parent.is_dir():
        what = "is a folder" if file.is_dir() else f"the folder {file.parent} does not exist"
        raise UsageError(
            f"--report-to {file}: {what}.\n"
            "Name a file in a folder that exists, or a descriptor: --report-to /dev/fd/3"
        )
    if replaces or not _is_regular(file):
        return
    try:
        begins = trust.read_regular(file, max(map(len, BEGINNINGS)), follow=True)
    except OSError:
        begins = b"?"
    if begins and not begins.startswith(tuple(map(str.encode, BEGINNINGS))):
        raise UsageError(
            f"--report-to {file}: there is a file that is not a report of quickfit; nothing was"
            " changed.\nName another file, or replace it with --force."
        )


def write_report_file(text: str, file: Path, *, replaces: bool = False) -> None:
    """Write a report to a file, whole or not at all, or to a pipe or descriptor.

    Raises:
        UsageError: it cannot be written there.
    """
    check_report_file(file, replaces=replaces)
    try:
        if not file.exists() or _is_regular(file):
            trust.write_private(file, text.encode("utf-8", "backslashreplace"), sync=False)
        else:
            file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(
            f"--report-to {file}: the report cannot be written ({error.strerror or error}).\n"
            "Name a file in a place you may write to."
        ) from error


def _is_regular(file: Path) -> bool:
    """Tell whether there is a file with a content of its own; a descriptor's is its user's."""
    try:
        return not str(file).startswith("/dev/") and stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return False
