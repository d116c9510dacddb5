"""The process that serves the page of one run beside it, for `quickfit run --live`.

It is started by `launch/live.py`. It gives way to the training, and ends when it is asked to or
when who started it is gone; open pages get the last drawing first.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import threading
from pathlib import Path

from quickfit.lab.child_side import ParentLink
from quickfit.report import text

LEAST_PRIORITY = 19


def main() -> None:
    """Serve the run named on the command line; answer through the pipes named after it."""
    folder, commands, answers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    give_way()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = ParentLink(commands, answers)
    from quickfit.live_page.server import PageServer

    shown = shlex.quote(text.path(str(folder)))
    server = PageServer(
        folder.parent,
        folder,
        farewell=f"the run is over and all of it is on this page; again: quickfit watch {shown}",
    )
    threading.Thread(target=_wait_for_end, args=(server, commands, link), daemon=True).start()
    link.answer("address", {"address": server.address})
    server.serve()


def give_way() -> None:
    """Let everything else on the machine go first."""
    with contextlib.suppress(OSError):
        os.nice(LEAST_PRIORITY)


def _wait_for_end(server: object, commands: int, link: ParentLink) -> None:
    from quickfit.live_page.server import PageServer

    assert isinstance(server, PageServer)
    line = b""
    with os.fdopen(commands, "rb", closefd=False) as lines, contextlib.suppress(OSError):
        line = lines.readline()
    try:
        server.move(Path(json.loads(line)["folder"]))
        link.answer("ending", {"pages": server.pages})
    except (ValueError, KeyError, OSError):
        server.farewell = "quickfit run is gone; this is what was seen last"
    server.stop()
