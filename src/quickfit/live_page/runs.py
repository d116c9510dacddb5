"""The runs that a live page can show, and the state that each one is in."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from quickfit import units
from quickfit.recording import folder as folders
from quickfit.recording.schema import PROCESS_SUFFIX, RUN_FILE, RUN_SUFFIX
from quickfit.report import text

# Between the folder of a run and the number of its process lies the start of Python.
START_S = 30.0


class RunState(StrEnum):
    """Where a run is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    QUIET = "quiet"
    ENDED = "ended"
    GONE = "gone"

    @property
    def goes_on(self) -> bool:
        """Whether more may still be recorded."""
        return self not in (RunState.ENDED, RunState.GONE)


@dataclass(frozen=True)
class SeenRun:
    """A run as its folder shows it.

    Args:
        folder: its recording.
        script: what runs, as a person would name it.
        started_at: seconds of the wall clock; 0 where that is not known.
        state: where it is in its life.
        label: the same in words.
        elapsed_s: how long it has been going on, or took.
    """

    folder: Path
    script: str
    started_at: float
    state: RunState
    label: str
    elapsed_s: float

    @property
    def name(self) -> str:
        """What it is asked for by."""
        return self.folder.name

    @property
    def detail(self) -> str:
        """When it began, and its state."""
        known = 0 < self.started_at < 4e9
        began = time.strftime("%-d %b, %H:%M", time.localtime(self.started_at)) if known else ""
        return ", ".join(filter(None, [began, self.label, text.one_line(self.name, limit=80)]))


def list_runs(home: Path) -> list[SeenRun]:
    """Return the runs in a folder, the newest first."""
    found: list[SeenRun] = []
    with contextlib.suppress(OSError):
        folders_here = [f for f in home.glob(f"*{RUN_SUFFIX}") if not f.is_symlink()]
        found = [look_at_run(folder) for folder in folders_here if folder.is_dir()]
    return sorted(found, key=lambda run: (run.started_at, run.name), reverse=True)


def look_at_run(folder: Path, *, now: Callable[[], float] = time.time) -> SeenRun:
    """Return what the folder of a run says of it now."""
    facts = folders.read_run_file(folder)
    started_at = _number(facts.get("started_at")) or folders.changed_at(folder)
    changed_at = max(map(folders.changed_at, [folder / RUN_FILE, *stamped_files(folder)]))
    state, label = _state(folder, facts, now() - changed_at, now() - started_at)
    end_at = _number(facts.get("ended_at")) or (now() if state.goes_on else changed_at)
    script = facts.get("script") or facts.get("module") or folder.name
    return SeenRun(
        folder,
        text.path(str(script)),
        started_at,
        state,
        label,
        max(end_at - started_at, 0.0),
    )


def stamped_files(folder: Path) -> list[Path]:
    """Return the files of a run that grow while it goes on."""
    files = folders.process_files(folder)
    return [*files, *(file.with_name(f"{file.name}-wal") for file in files)]


def _number(value: Any) -> float:  # Any: JSON
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e12 else 0.0


def _state(
    folder: Path, facts: dict[str, Any], since_change_s: float, age_s: float
) -> tuple[RunState, str]:
    if facts.get("ended_at") is not None or facts.get("exit_code") is not None:
        return RunState.ENDED, _ending(facts)
    pids = _pids(folder, facts)
    if not pids and age_s < START_S:
        return RunState.STARTING, "starting"
    changed_at = time.time() - since_change_s
    # A run whose files still grow goes on, whatever the process table of this machine says of it.
    if since_change_s > folders.WRITES_EVERY_S and not any(
        folders.is_alive(pid, changed_at) for pid in pids
    ):
        return RunState.GONE, "no longer running: it was killed, or its machine went down"
    if not folders.process_files(folder):
        return RunState.STARTING, "starting"
    silence = (facts.get("quiet") or [{}])[-1]
    if silence.get("text") and silence.get("moved_again_s") is None:
        return RunState.QUIET, text.one_line(str(silence["text"]), limit=200)
    return RunState.RUNNING, "running"


def _ending(facts: dict[str, Any]) -> str:
    signal, code = facts.get("signal"), facts.get("exit_code")
    if isinstance(signal, str) and signal:
        return f"ended by {text.one_line(signal, limit=20)}"
    return f"ended with exit code {code}" if isinstance(code, int) and code else "ended"


def _pids(folder: Path, facts: dict[str, Any]) -> list[int]:
    """Return the processes of a run: the script's own where it is known."""
    pid = facts.get("pid")
    if isinstance(pid, int):
        return [pid]
    names = [file.name.removesuffix(PROCESS_SUFFIX) for file in folders.process_files(folder)]
    return [int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 10]


def size_stamp(folder: Path) -> tuple[int, ...]:
    """Return what changes whenever a run has recorded more."""
    stamps: list[int] = []
    for file in (folder / RUN_FILE, *stamped_files(folder)):
        with contextlib.suppress(OSError):
            facts = os.stat(file)
            stamps += [facts.st_size, facts.st_mtime_ns]
    return tuple(stamps)


def clock_text(seconds: float) -> str:
    """Return a time as a clock shows it: `2:05`, `1:02:05`."""
    if seconds >= 360_000:
        return units.about(seconds)
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
