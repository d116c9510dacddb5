"""The page of a run while it goes on: a process beside it serves it, and is ended with it."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path

from quickfit.errors import UsageError
from quickfit.lab.child import STDERR, Child, ChildError, ChildOptions, python_command
from quickfit.launch.status import say

_PROGRAM = "from quickfit.live_page.companion import main; main()"
_NEEDS = ("starlette", "uvicorn")
# A machine that is busy takes its time to start a Python.
START_S = 60.0
# How long open pages have to take in the last drawing, which takes seconds of a long run.
END_S = 15.0


def check_installed(asked_by: str) -> None:
    """Make sure that what a live page needs is installed.

    Raises:
        UsageError: it is not.
    """
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{asked_by} needs what is not installed: {' and '.join(missing)}.\n"
            "Install what it needs:\n    pip install 'quickfit[live]'"
        )


class LivePage:
    """Serves the page of one run until `end`; a failure of it never harms the run.

    Args:
        folder: where the run is recorded.
    """

    def __init__(self, folder: Path) -> None:
        self._child: Child | None = None
        self._answer: threading.Thread | None = None
        self.address = ""
        options = ChildOptions(stdout=STDERR, stderr=STDERR, talks=True)
        try:
            self._child = Child(python_command(_PROGRAM, str(folder)), options)
        except OSError as error:
            say(f"there is no live page: its server cannot be started ({error})")

    def announce(self) -> None:
        """Say the address as soon as it is known; the script does not wait for that."""
        if self._child is not None:
            # Signals are for the main thread, which has blocked them for those it starts.
            self._answer = threading.Thread(target=self._say_address, daemon=True)
            self._answer.start()

    def _say_address(self) -> None:
        assert self._child is not None
        try:
            self.address = str(self._child.receive(START_S)["address"])
        except (ChildError, KeyError) as error:
            say(f"there is no live page: its server {error}", mid_run=True)
        else:
            say(f"live page: {self.address}", mid_run=True)

    def end(self, folder: Path) -> None:
        """Let open pages have the last drawing, and end it.

        Args:
            folder: where the recording lies now.
        """
        child, self._child = self._child, None
        if child is None:
            return
        if self._answer is not None:
            self._answer.join()
        try:
            if not self.address:
                return
            child.send({"folder": str(folder)})
            if child.receive(END_S).get("pages"):
                child.wait(END_S)
        except ChildError:
            pass  # it is gone already
        finally:
            child.end()
