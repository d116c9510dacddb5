"""`quickfit demo`: the whole story on a small case, in about a minute."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated, TextIO

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer
from quickfit.errors import UsageError


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the photographs, both scripts and the recording in this new folder.",
        ),
    ] = None,
) -> None:
    """Show on a small case what quickfit does, in one to two minutes.

    Makes JPEGs from real photographs, watches a script that trains from a naive Python
    generator, prints the verdict, then measures the fixed script against it and puts the
    predicted and the measured speed-up side by side. Ends with the report as a page.
    """
    from quickfit.demo.story import check_installed

    check_installed()
    if keep is not None:
        _tell_in(_new_folder(keep), kept=True)
        return
    with tempfile.TemporaryDirectory(prefix="quickfit-demo-", ignore_cleanup_errors=True) as home:
        _tell_in(Path(home), kept=False)


def _tell_in(home: Path, *, kept: bool) -> None:
    from quickfit.demo.story import tell_story

    def tell(stream: TextIO) -> None:
        tell_story(home, stream, page=home / "report.html" if kept else _page_that_stays())
        terminal.write(stream, f"\n{_closing(home, kept=kept)}\n")

    answer(tell)


def _page_that_stays() -> Path:
    """Return a new file beside the folder that is removed."""
    return Path(tempfile.gettempdir()) / f"quickfit-demo-{os.urandom(4).hex()}.html"


def _closing(home: Path, *, kept: bool) -> str:
    if kept:
        return (
            f"Kept in {home}. To see the verdict again, or watch the fixed script:\n"
            f"    cd {home}\n"
            "    quickfit report slow.qfrun\n"
            "    quickfit run fixed.py photographs"
        )
    return (
        "The photographs, scripts and recording are removed; the page stays. To keep them:\n"
        "    quickfit demo --keep FOLDER\n"
        "On your own script:\n"
        "    quickfit run train.py"
    )


def _new_folder(folder: Path) -> Path:
    """Make the folder, or take it if it is empty.

    Raises:
        UsageError: there is something in it, or it cannot be made.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"--keep {folder}: already exists and is not an empty folder; nothing was changed.\n"
            "Name a new folder: quickfit demo --keep my-demo"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--keep {folder}: cannot make this folder ({error.strerror}).\n"
            "Name a folder in a place you may write to."
        ) from error
    return folder.resolve()
