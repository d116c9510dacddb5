"""`quickfit watch [RUN]`: the page of a run in a browser, while the run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer_text
from quickfit.errors import UsageError


def watch(
    run: Annotated[
        Path | None,
        typer.Argument(
            help="A recording: its .qfrun folder. Without it, the newest run in .quickfit/runs,"
            " also one that begins later.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="N", help="Listen on this port. [default: a free one]"
        ),
    ] = 0,
) -> None:
    """Show a run in a browser while it goes on: the page of the report, drawn as it grows.

    \b
        quickfit watch                      the newest run here, and those that come after it
        quickfit watch RUN.qfrun            this one
        quickfit watch --port 8123          at a port of your choice, for a tunnel
        quickfit run --live train.py        a run and its page together

    Open the address that is printed; Ctrl-C ends it. It works on this machine alone, and only for
    those who have the address. From another machine, open a tunnel to the port first:

    \b
        ssh -L 8123:127.0.0.1:8123 THE_MACHINE

    It only reads what is recorded, at the lowest priority: the training is not slowed down, and a
    page that is not open costs nothing.
    """
    from quickfit.launch.live import check_installed

    check_installed("quickfit watch")
    if run is not None and not run.is_dir():
        raise UsageError(
            f"watch {run}: this is not the folder of a recording.\n"
            "Name one, or leave it out for the newest run here:\n"
            "    ls -d .quickfit/runs/*.qfrun"
        )
    from quickfit.live_page.companion import give_way
    from quickfit.live_page.server import PageServer

    home = run.absolute().parent if run is not None else Path(".quickfit/runs").absolute()
    server = PageServer(home, run.absolute() if run is not None else None, port=port)
    give_way()
    answer_text(f"{server.address}\n")
    terminal.say("open this address in a browser; Ctrl-C ends it")
    server.serve()
    terminal.say("stopped")
