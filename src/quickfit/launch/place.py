"""Where a run is recorded, and what the parent writes there."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from quickfit import __version__
from quickfit.lab.child_side import signal_name
from quickfit.launch.process import Ending
from quickfit.launch.status import say
from quickfit.launch.target import Target
from quickfit.recording import folder as folders


class Place:
    """The folder of a run, with the facts the parent keeps in it.

    Args:
        folder: where the user finds the recording in the end.
        working: where it is recorded: the same, or a local folder if that one is on a network
            file system.
        facts: what `run.json` says so far.
    """

    def __init__(self, folder: Path, working: Path, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.working = working
        self.facts = facts
        self._writing = threading.Lock()

    @property
    def shown(self) -> str:
        """The folder as short as it can be typed here."""
        try:
            return str(self.folder.relative_to(Path.cwd()))
        except ValueError:
            return str(self.folder)

    def note(self, **facts: Any) -> None:  # plain JSON values
        """Add facts to `run.json`."""
        with self._writing:
            self.facts.update(facts)
            try:
                folders.write_run_file(self.working, self.facts)
            except OSError as error:
                say(f"cannot write to {self.working} ({error.strerror}); the script runs on")

    def note_end(self, ending: Ending, ended_at: float | None = None) -> None:
        """Write down how and when the script ended, and what the parent used."""
        name = None if ending.signal is None else signal_name(ending.signal)
        self.note(
            ended_at=ended_at or time.time(),
            exit_code=ending.exit_code,
            signal=name,
            parent_cpu_s=time.process_time(),
        )

    def settle(self) -> None:
        """Copy a recording that was made elsewhere to the folder the user was promised."""
        if self.working == self.folder:
            return
        try:
            shutil.copytree(self.working, self.folder, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            say(f"cannot copy the recording to {self.folder} ({error}); it is in {self.working}")
            self.folder = self.working
        else:
            shutil.rmtree(self.working, ignore_errors=True)
            self.working = self.folder


def prepare(target: Target, output: Path | None) -> Place:
    """Make the folder of a new run and write down what is about to be run.

    Raises:
        UsageError: the folder is taken or cannot be made.
    """
    folder = (output or folders.default_run_folder(target.name)).absolute()
    folders.create(folder)
    if output is None:
        folders.drop_old_runs(folder.parent)
    place = Place(folder, folder, folders.seal_launch(run_facts(target), folder))
    if folders.is_on_network(folder):
        # Said in the promised folder too: whoever finds it after a power cut knows where to look.
        local = Path(tempfile.mkdtemp(prefix="quickfit-", suffix=".qfrun"))
        place.note(recorded_in=str(local))
        place.working = local
    place.note()
    return place


def launch_facts(target: Target, cwd: Path) -> dict[str, Any]:
    """Return how a script is run again."""
    return {
        "script": target.module if target.script is None else str(cwd / target.script),
        "module": target.module,
        "argv": list(target.args),
        "cwd": str(cwd),
    }


def run_facts(target: Target, cwd: Path | None = None) -> dict[str, Any]:
    """Return what is known of a run before it begins."""
    return {
        "command": target.command(),
        **launch_facts(target, cwd or Path.cwd()),
        "pid": None,
        "python": sys.version.split()[0],
        "quickfit": __version__,
        "started_at": time.time(),
        "ended_at": None,
        "exit_code": None,
        "signal": None,
    }
