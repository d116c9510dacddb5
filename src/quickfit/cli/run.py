"""`quickfit run`: watch a script and say why its training is slow."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from quickfit.cli.report import FORCE_HELP, HTML_HELP
from quickfit.errors import UsageError

# Which words before the script's name are ours, and whether a value follows.
OPTIONS = {
    "-m": True,
    "--output": True,
    "--steps": True,
    "--for": True,
    "--memory": False,
    "--turbo": False,
    "--stuck-after": True,
    "--on-stuck": True,
    "--on-slowdown": True,
    "--html": True,
    "--live": False,
    "--force": False,
    "--format": True,
    "--report-to": True,
    "--log-lines": False,
    "--no-log-lines": False,
    "--help": False,
}
_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class RunFormat(StrEnum):
    """How the report at the end of a run is written."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    JSON = "json"


def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCRIPT [ARGS]", hidden=True),
    ] = None,
    module: Annotated[
        str | None,
        typer.Option("-m", metavar="MODULE", help="Run a module, as `python -m MODULE` does."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Record in this new folder. [default: .quickfit/runs/NAME.qfrun]",
        ),
    ] = None,
    steps: Annotated[
        str | None, typer.Option(metavar="N", help="End the script after N training steps.")
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", help="End it at the first step after TIME: 90, 60s, 5m, 1h."
        ),
    ] = None,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory",
            help="Find the lines that hold more and more memory. Steps are several times slower"
            " meanwhile: it is for a second run.",
        ),
    ] = False,
    turbo: Annotated[
        bool,
        typer.Option(
            "--turbo",
            help="Make the script faster while it runs, only where every value stays the same, bit"
            " for bit; the report says what that gained and what the edit would be.",
        ),
    ] = False,
    stuck_after: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long it may be quiet before that is called stuck; a step that took longer"
            " before makes it longer. [default: 30s]",
        ),
    ] = None,
    on_stuck: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Run this command, once, when the script is stuck."),
    ] = None,
    on_slowdown: Annotated[
        str | None,
        typer.Option(
            metavar="CMD", help="Run it, once, when training slows down or its memory grows."
        ),
    ] = None,
    log_lines: Annotated[
        bool | None,
        typer.Option(
            "--log-lines/--no-log-lines",
            help="Read TensorFlow's log on stderr for evidence, such as a shuffle buffer that"
            " fills. [default: if stderr is a terminal]",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help=HTML_HELP)] = None,
    force: Annotated[bool, typer.Option("--force", help=FORCE_HELP)] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Show the report in a browser while the script runs; the address is printed at"
            " the start.",
        ),
    ] = False,
    format: Annotated[
        RunFormat, typer.Option("--format", help="How the report at the end is written.")
    ] = RunFormat.TERMINAL,
    report_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the report there, not to stderr: a file, or a descriptor such as"
            " /dev/fd/3. [needed for --format json]",
        ),
    ] = None,
) -> None:
    """Watch a training script and say what makes it slow.

    \b
        quickfit run train.py --epochs 3
        quickfit run -m my_project.train --epochs 3
        quickfit run --steps 200 train.py
        quickfit run --html report.html train.py
        quickfit run --format json --report-to report.json train.py
        quickfit run --live train.py

    The script keeps its arguments, stdin, stdout, traceback and exit code; everything after
    its name belongs to it. What quickfit says goes to stderr. --steps and --for end the
    script between two steps; nothing after the training loop runs then.

    TensorFlow's warnings are read on their way to the terminal, unchanged. --log-lines reads
    them in a file or a pipe too; --no-log-lines is for scripts that draw on the whole screen.

    While nothing moves, quickfit says what the script is doing and how long it will take, and why
    it does not move once that can be told. It never ends the script. A command of --on-stuck or
    --on-slowdown finds QUICKFIT_CAUSE, QUICKFIT_PLACE, QUICKFIT_MESSAGE and QUICKFIT_RECORDING in
    its environment:

    \b
        quickfit run --on-stuck 'mail -s "$QUICKFIT_MESSAGE" me@example.org </dev/null' train.py

    The recording goes to .quickfit/runs, which ignores itself in git; the newest 20 are kept.
    """
    from quickfit.launch.parent import Watching
    from quickfit.launch.verdict import ReportForm

    if html is not None:
        from quickfit.report.page import check_page_file

        check_page_file(html, replaces=force)
    if report_to is not None:
        from quickfit.launch.report_file import check_report_file

        check_report_file(report_to, replaces=force)
    elif format == RunFormat.JSON:
        raise UsageError(
            "run: --format json needs a place of its own: stdout is the script's, and stderr has"
            " its messages.\nName a file or a descriptor:\n"
            "    quickfit run --format json --report-to report.json train.py"
        )
    if live:
        from quickfit.launch.live import check_installed

        check_installed("run --live")
    if turbo and memory:
        raise UsageError(
            "run: --turbo and --memory exclude each other: with --memory steps are slow.\n"
            "Leave one of them out."
        )
    limit_s = time_of("--stuck-after", stuck_after) if stuck_after is not None else None
    _start(
        words or [],
        module,
        output=output,
        stop=asked_stop(steps, duration),
        log_lines=log_lines,
        memory=memory,
        turbo=turbo,
        live=live,
        watching=Watching(limit_s, on_stuck, on_slowdown),
        form=ReportForm(html, replaces=force, format=format.value, file=report_to),
    )


def _start(words: list[str], module: str | None, **options: Any) -> NoReturn:  # those of `run`
    from quickfit.launch import parent
    from quickfit.launch.target import Target

    if module is not None:
        target = Target(module=module, args=tuple(words))
    elif words:
        target = Target(script=words[0], args=tuple(words[1:]))
    else:
        raise UsageError(
            "run: no script was given.\nName the script that trains:\n    quickfit run train.py"
        )
    parent.run(target, **options)


def asked_stop(steps: str | None, duration: str | None) -> dict[str, float] | None:
    """Return `{"steps": n, "seconds": s}` with what was asked for, or None.

    Raises:
        UsageError: a value is not a number of steps, or not a time.
    """
    stop: dict[str, float] = {}
    if steps is not None:
        stop["steps"] = _steps(steps)
    if duration is not None:
        stop["seconds"] = time_of("--for", duration)
    return stop or None


def _steps(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text.strip()) or int(text) == 0:
        raise UsageError(
            f"--steps {text}: this is not a number of steps.\n"
            "Give a whole number from 1, such as --steps 200."
        )
    return int(text)


def time_of(option: str, text: str) -> float:
    """Return the seconds that the value of an option means.

    Raises:
        UsageError: it is not a length of time.
    """
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]+)?) ?(s|min|m|h|)", text.strip())
    seconds = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(
            f"{option} {text}: this is not a length of time.\n"
            f"Give seconds, minutes or hours: {option} 90, {option} 60s, {option} 5m, {option} 1h."
        )
    return seconds
