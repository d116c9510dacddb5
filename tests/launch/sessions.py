"""Starts real quickfit and Python processes for tests, on pipes or on a real terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

QUICKFIT = (sys.executable, "-m", "quickfit")
PYTHON = (sys.executable,)
COMMAND = Path(__file__).parents[2] / "bin" / "quickfit"
# Generous: a wait that is over ends the test at once, and a loaded machine is no failure.
PATIENCE_S = 400.0


def clean_env(**more: str) -> dict[str, str]:
    """Return the environment without anything of quickfit's or of a developer's own."""
    unwanted = ("QUICKFIT_", "PYTHONPATH", "PYTHONWARNINGS")
    env = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    return {**env, "PYTHONDONTWRITEBYTECODE": "1", **more}


def outcome(
    command: tuple[str, ...],
    cwd: Path,
    *,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end with pipes for stdin, stdout and stderr."""
    return subprocess.run(
        command, cwd=cwd, input=stdin, env=env or clean_env(), capture_output=True, timeout=400
    )


def installed_command(bin_folder: Path, interpreter: str = sys.executable) -> str:
    """Return the command `quickfit` as pip installs it: a shell script beside a Python program."""
    bin_folder.mkdir(exist_ok=True)
    command, program = bin_folder / "quickfit", bin_folder / "quickfit-py"
    if not command.exists():
        program.write_text(f"#!{interpreter}\nfrom quickfit.cli.main import main\nmain()\n")
        program.chmod(0o755)
        shutil.copy(COMMAND, command)
    return str(command)


def quickfit(cwd: Path, *args: str, **how: object) -> subprocess.CompletedProcess[bytes]:
    """Run `quickfit ARGS`."""
    return outcome((*QUICKFIT, *args), cwd, **how)


def python(cwd: Path, *args: str, **how: object) -> subprocess.CompletedProcess[bytes]:
    """Run `python ARGS`."""
    return outcome((*PYTHON, *args), cwd, **how)


def of_the_script(stderr: bytes) -> bytes:
    """Return what the script wrote to stderr: without our lines, up to the report.

    In a pipe, a line of ours that is said during the run has an empty one before it.
    """
    kept = re.sub(rb"(?m)(?:^\n)?^quickfit: .*\n", b"", stderr)
    return kept.partition(b"\ndevice ")[0]


def newest_run(cwd: Path) -> Path:
    """Return the folder of the run that was recorded last below `cwd`."""
    return max((cwd / ".quickfit" / "runs").glob("*.qfrun"), key=lambda run: run.stat().st_mtime_ns)


def eventually(is_true: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Terminal:
    """A command whose stdin, stdout and stderr are a terminal that we type on."""

    def __init__(self, command: tuple[str, ...], cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        self.shown = b""
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=clean_env(),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE_S)
        os.close(self._ours)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._ours, keys)

    def resize(self, rows: int, columns: int) -> None:
        """Give the window another size."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def read_until(self, text: bytes) -> bytes:
        """Return everything shown so far, once it contains `text`."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert time.monotonic() < deadline, f"never shown: {text!r}\n{self.shown.decode()}"
            assert self._read_some(), f"ended without {text!r}\n{self.shown.decode()}"
        return self.shown

    def end(self) -> int:
        """Return how the process ended, when it has ended; `shown` is complete then."""
        while self._read_some():
            pass
        return self.process.wait(PATIENCE_S)

    def _read_some(self) -> bool:
        if not select.select([self._ours], [], [], PATIENCE_S)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says EIO when the last process has left the terminal
            return False
        self.shown += data
        return bool(data)


def pid_in(text: bytes, name: str) -> int:
    """Return N from `name=N`."""
    found = re.search(rf"{name}=(\d+)".encode(), text)
    assert found, f"{name}=N not in {text!r}"
    return int(found[1])
