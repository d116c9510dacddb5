"""`quickfit doctor`: whether this machine is set up to train fast, and what to type where not."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer_json, answer_text
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.machine.setup import Check

# A framework on a slow disk takes this long to be imported; then it is not known what it sees.
PATIENCE_S = 60.0
# From here a person is shown what is waited for.
_SAY_AFTER_S = 2.0
_MARKS = {"ok": ("ok     ", "32"), "warning": ("WARNING", "1;33"), "unknown": ("?      ", "2")}


def doctor(
    data: Annotated[
        Path,
        typer.Argument(metavar="[DATA]", help="The folder of your data: its disk is looked at."),
    ] = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="Write the checks as JSON.")] = False,
) -> None:
    """Say whether this machine is set up to train fast, and what to type where it is not.

    \b
        quickfit doctor              devices, versions, cores, memory, the disk of this folder
        quickfit doctor photos/      the same, with the disk that holds photos/
        quickfit doctor --json       for programs

    Nothing is changed. The exit code is 0 where all is well or not known, and 1 with a warning.
    """
    from quickfit.machine.setup import State, check_setup

    if not data.exists():
        raise UsageError(
            f"{data}: there is no such file or folder.\n"
            "Name the folder that holds your data:\n    quickfit doctor data/"
        )
    checks = check_setup(_setup(data if data.is_dir() else data.parent))
    if as_json:
        from quickfit.machine.setup import as_json as plain

        answer_json(plain(checks))
    else:
        answer_text(_text(checks, color=terminal.wants_color(sys.stdout)), painted=True)
    if any(check.state == State.WARNING for check in checks):
        raise typer.Exit(1)


def _setup(folder: Path) -> Any:  # `machine.setup.Setup`, which is imported late
    from importlib.util import find_spec

    from quickfit.machine.devices import machine_facts
    from quickfit.machine.frameworks import versions
    from quickfit.machine.setup import Setup

    installed = [name for name in ("tensorflow", "jax", "torch") if find_spec(name) is not None]
    seen = _ask(installed)
    return Setup(
        devices=machine_facts(),
        tensorflow=seen.pop("tensorflow", {}),
        versions=versions(),
        others=seen,
        environ=os.environ,
        folder=folder,
    )


def _ask(names: list[str]) -> dict[str, dict[str, Any]]:  # JSON
    """Ask each framework in a child of its own what it sees; all at once."""
    from quickfit.lab.child import DEVNULL, Child, ChildOptions
    from quickfit.machine import frameworks

    program = str(Path(frameworks.__file__).resolve())
    answers = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quickfit-")))
        children = {}
        for name in names:
            options = ChildOptions(stdout=folder / name, stderr=DEVNULL)
            # `-P`: the modules beside the program must not hide others.
            command = [sys.executable, "-P", program, name]
            children[name] = stack.enter_context(Child(command, options))
        began_s = time.monotonic()
        for name, child in children.items():
            left_s = began_s + PATIENCE_S - time.monotonic()
            if child.wait(min(_SAY_AFTER_S, left_s)) is None and sys.stderr.isatty():
                terminal.say(f"asking {name} for its devices")
            child.wait(max(left_s, 0.0))
            answers[name] = _answer(folder / name, child.poll())
    return answers


def _answer(file: Path, code: int | None) -> dict[str, Any]:  # JSON
    if code is None:
        return {"error": f"its import took more than {PATIENCE_S:.0f} s"}
    try:
        last = file.read_text(errors="replace").strip().splitlines()[-1]
        answer = json.loads(last)
    except (OSError, ValueError, IndexError):
        return {"error": f"its import ended the process (exit code {code})"}
    return answer if isinstance(answer, dict) else {"error": "it did not answer"}


def _text(checks: list[Check], *, color: bool) -> str:
    import textwrap

    width = max(len(check.topic) for check in checks)
    lines = []
    for check in checks:
        mark, style = _MARKS[check.state]
        shown = f"\x1b[{style}m{mark}\x1b[0m" if color else mark
        start = len(mark) + width + 4
        summary = textwrap.wrap(terminal.escape(check.summary), 100 - start) or [""]
        topic = terminal.escape(check.topic)
        lines.append(f"{shown}  {topic:<{width}}  {summary[0]}")
        lines += [" " * start + line for line in summary[1:]]
        if check.advice:
            lines.append(" " * start + terminal.escape(check.advice))
    warnings = sum(check.state == "warning" for check in checks)
    unknown = sum(check.state == "unknown" for check in checks)
    said = "nothing to change" if not warnings else f"{warnings} to change"
    lines.append(f"{said}{f', {unknown} not known' if unknown else ''}")
    return "\n".join(lines) + "\n"
