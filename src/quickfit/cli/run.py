"""`quickfit run`: watch a script and say why its training is slow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from quickfit.errors import UsageError

# Which words before the script's name are ours, and whether a value follows.
OPTIONS = {
    "-m": True,
    "--output": True,
    "--steps": True,
    "--for": True,
    "--memory": False,
    "--log-lines": False,
    "--no-log-lines": False,
    "--help": False,
}
_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


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
    log_lines: Annotated[
        bool | None,
        typer.Option(
            "--log-lines/--no-log-lines",
            help="Read TensorFlow's log on stderr for evidence, such as a shuffle buffer that"
            " fills. [default: if stderr is a terminal]",
        ),
    ] = None,
) -> None:
    """Watch a training script and say what makes it slow.

    \b
        quickfit run train.py --epochs 3
        quickfit run -m my_project.train --epochs 3
        quickfit run --steps 200 train.py

    The script keeps its arguments, stdin, stdout, traceback and exit code; everything after
    its name belongs to it. What quickfit says goes to stderr. --steps and --for end the
    script between two steps; nothing after the training loop runs then.

    TensorFlow's warnings are read on their way to the terminal, unchanged. --log-lines reads
    them in a file or a pipe too; --no-log-lines is for scripts that draw on the whole screen.

    The recording goes to .quickfit/runs, which ignores itself in git; the newest 20 are kept.
    """
    stop = asked_stop(steps, duration)
    _start(words or [], module, output=output, stop=stop, log_lines=log_lines, memory=memory)


def _start(
    words: list[str],
    module: str | None,
    *,
    output: Path | None,
    stop: dict[str, float] | None,
    log_lines: bool | None,
    memory: bool,
) -> NoReturn:
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
    parent.run(target, output=output, stop=stop, log_lines=log_lines, memory=memory)


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
