"""Asks py-spy for the Python stacks of a process that knows nothing of quickfit."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit.errors import UsageError
from quickfit.lab.child import ChildError, run_to_end
from quickfit.liveness.scene import Frame

PROGRAM = "py-spy"
# A process with hundreds of threads on a busy machine; it takes some hundredths of a second.
TIMEOUT_S = 20.0
_STANDARD_LIBRARY = re.compile(r"/lib(64)?/python\d\.\d+/")
_PACKAGES = ("/site-packages/", "/dist-packages/")
_OWN = str(Path(__file__).resolve().parent.parent)
# What a user typed has no file; every other such name is generated code.
_TYPED = ("<stdin", "<ipython", "<string")


@dataclass(frozen=True)
class ThreadStack:
    """The Python stack of one thread at one moment, innermost frame first."""

    number: int
    name: str
    frames: tuple[Frame, ...]


class Failed(Exception):  # noqa: N818 - what it means depends on the process, which the caller knows
    """py-spy could not look at a process; the text is its own."""


def find() -> str:
    """Return the program: the one installed beside this Python, or any other.

    Raises:
        UsageError: there is none.
    """
    beside = Path(sys.executable).parent / PROGRAM
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(PROGRAM)
    if found is None:
        raise UsageError(
            f"attach: {PROGRAM} is not installed, and it is what looks into a running process.\n"
            f"Install it:\n    {sys.executable} -m pip install {PROGRAM}"
        )
    return found


def stacks(program: str, pid: int, folder: str, script: str) -> list[ThreadStack]:
    """Return the stacks of a process's threads.

    Args:
        program: py-spy.
        pid: the process.
        folder: where it was started; names of files may be relative to it.
        script: the folder of its script, which is the user's wherever it lies.

    Raises:
        Failed: the process cannot be looked at.
    """
    try:
        told = _dump(program, pid)
    except Failed:
        # What changes while it is read may be wrong; where pausing is refused, it is all there is.
        told = _dump(program, pid, "--nonblocking")
    return parsed(told, folder, script)


def _dump(program: str, pid: int, *options: str) -> str:
    command = [program, "dump", "--json", "--full-filenames", "--pid", str(pid), *options]
    try:
        done = run_to_end(command, timeout_s=TIMEOUT_S)
    except ChildError as error:
        raise Failed(f"{PROGRAM} did not answer within {TIMEOUT_S:.0f} s") from error
    if done.code != 0:
        raise Failed(done.stderr.partition("\n\nStack backtrace")[0].strip())
    return done.stdout


def parsed(told: str, folder: str, script: str) -> list[ThreadStack]:
    """Return the threads in what py-spy wrote.

    Raises:
        Failed: it is not what py-spy 0.4 writes.
    """
    try:
        return [_thread(row, folder, script) for row in json.loads(told)]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Failed(f"{PROGRAM} answered in a way that is not known: {told[:60]!r}") from error


def _thread(row: dict[str, Any], folder: str, script: str) -> ThreadStack:  # py-spy's JSON
    frames = []
    for frame in row["frames"]:
        file = os.path.normpath(os.path.join(folder, frame["filename"]))
        file = frame["filename"] if frame["filename"].startswith("<") else file
        # It has the qualified name: `Reader.__next__`, `make.<locals>.batches`.
        function = frame["name"].rsplit(".", 1)[-1]
        frames.append(Frame(file, frame["line"], function, is_users(file, script)))
    return ThreadStack(row.get("os_thread_id") or 0, row.get("thread_name") or "", tuple(frames))


def is_users(file: str, script: str) -> bool:
    """Tell whether a file of another process is the user's, and no library's."""
    if file.startswith("<"):
        return file.startswith(_TYPED)
    if "__autograph_generated_file" in file:
        return False
    if script and os.path.dirname(file) == script and not script.endswith(("-packages", "/bin")):
        return True
    is_library = any(part in file for part in _PACKAGES) or _STANDARD_LIBRARY.search(file)
    return not is_library and not file.startswith(_OWN + os.sep)
