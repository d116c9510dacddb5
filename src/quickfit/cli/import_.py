"""`quickfit import FILE`: the profile of another tool as a recording, with its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.profiles.comparing import ProfileChange

_MAX_ROWS = 12


def import_(
    profile: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A .sqlite or .nsys-rep of Nsight Systems, an .xplane.pb, a profile folder of"
            " TensorBoard, or a trace .json(.gz).",
        ),
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="BEFORE",
            help="An earlier profile, or its recording: say what changed since.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder of the recording. [.quickfit/runs/…]"),
    ] = None,
) -> None:
    """Read the profile of another tool, and report on it as on a run.

    \b
        quickfit import train.sqlite                       Nsight: nsys export --type sqlite
        quickfit import logs/                              what TensorFlow's profiler wrote
        quickfit import after.sqlite --against before.sqlite

    The recording it makes is like any other: `quickfit report` shows it again, and as a page.
    """
    from quickfit import diagnosis
    from quickfit.profiles import import_profile
    from quickfit.report import write_report
    from quickfit.report.text import path

    _check_there(profile)
    if against is not None:
        _check_there(against)
    terminal.say(f"reading {path(str(profile))}")
    run = import_profile(profile, output)
    terminal.say(f"recording: {path(str(run))}")
    diagnosed = diagnosis.diagnose(run)
    changed = _changed(against, run) if against is not None else None

    def write(stream: TextIO) -> None:
        write_report(diagnosed, stream)
        if changed is not None:
            terminal.write(stream, changed)

    answer(write)


def _check_there(file: Path) -> None:
    if not file.exists():
        raise UsageError(
            f"{file}: there is no such file or folder.\n"
            "Name the profile:\n    quickfit import PROFILE.sqlite"
        )


def _changed(before: Path, run: Path) -> str:
    """Return in words what changed between two profiles."""
    import tempfile

    from quickfit.profiles import import_profile
    from quickfit.profiles.comparing import compare
    from quickfit.recording.reader import read
    from quickfit.recording.schema import RUN_SUFFIX

    with tempfile.TemporaryDirectory(prefix="quickfit-") as place:
        is_run = before.is_dir() and before.name.endswith(RUN_SUFFIX)
        folder = before if is_run else import_profile(before, Path(place) / f"before{RUN_SUFFIX}")
        change = compare(read(folder).main, read(run).main)
    if change is None:
        return f"\ncompared with {before}: the two profiles have too little work in common\n"
    return "\n".join(["", *_lines(before, change), ""])


def _lines(before: Path, change: ProfileChange) -> list[str]:
    from quickfit import units
    from quickfit.report.text import one_line

    unit = "a step" if change.unit == "step" else "the same work"
    is_longer = change.factor >= 1
    how = (
        f"takes {change.factor:.2f}× as long"
        if is_longer
        else f"is {1 / change.factor:.2f}× faster"
    )
    lines = [
        f"since {one_line(str(before))}: {unit} {how}"
        f" ({units.seconds(change.before_s)} of device time before,"
        f" {units.seconds(change.after_s)} now)"
    ]
    for (kind, name), before_s, after_s in change.parts[:_MAX_ROWS]:
        sign = "+" if after_s >= before_s else "-"
        label = one_line(f"{kind}: {name}", 48)
        lines.append(
            f"   {label:<48}  {units.seconds(before_s):>8} → {units.seconds(after_s):>8}"
            f"  {sign}{units.seconds(abs(after_s - before_s))}"
        )
    if not change.parts:
        lines.append("   no part changed by half a percent or more")
    return lines
