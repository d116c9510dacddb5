"""What to run: a script or a module, with the arguments that belong to it."""

from __future__ import annotations

import importlib.util
import shlex
import stat
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from quickfit.errors import UsageError
from quickfit.launch.interpreter import interpreter_flags

# `python -` reads the program from stdin.
STDIN = "-"
_HEAD_BYTES = 1024
_KINDS = {
    b"\x7fELF": "a compiled program",
    b"\xff\xd8\xff": "a JPEG image",
    b"\x89PNG": "a PNG image",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "gzip data",
    b"%PDF": "a PDF",
}


@dataclass(frozen=True)
class Target:
    """A script (`python train.py`) or a module (`python -m pkg.mod`), and its arguments.

    Args:
        script: path as the user wrote it; it becomes the script's `sys.argv[0]`.
        module: dotted name; exactly one of the two is given.
        args: everything that belongs to the script.
    """

    script: str | None = None
    module: str | None = None
    args: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The script or module with its arguments, as they are typed in a command."""
        named = ["-m", self.module] if self.module is not None else [self.script or self.name]
        return shlex.join([*named, *self.args])

    @property
    def name(self) -> str:
        """What to call it in a message and in the name of its recording."""
        if self.module is not None:
            return self.module
        return "stdin" if self.script == STDIN else Path(self.script or "").name or "run"

    def command(self) -> list[str]:
        """Return the command line that Python itself would be started with."""
        chosen = ["-m", self.module] if self.module is not None else [self.script or ""]
        return [sys.executable, *interpreter_flags(), *chosen, *self.args]

    def check(self, *, is_repeated: bool = False) -> None:
        """Refuse what Python could not run, before anything is recorded.

        Args:
            is_repeated: it is to be run several times, which a pipe cannot.

        Raises:
            UsageError: there is no such script, or it is not a Python program.
        """
        if self.script == STDIN and self.module is None and is_repeated:
            raise UsageError(
                "-: a script on stdin can be read once, and it is to be run several times.\n"
                "Save it in a file, and give that file."
            )
        if self.module is not None or self.script == STDIN:
            return  # whether a module can be found is known to Python alone
        _check_script(Path(self.script or ""), is_repeated=is_repeated)


def _check_script(path: Path, *, is_repeated: bool) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(_missing(path, error.strerror or "unreadable")) from error
    except ValueError as error:
        raise UsageError(f"{str(path)!r}: this cannot be the name of a file ({error}).") from error
    if stat.S_ISDIR(mode):
        _check_folder(path)
    elif stat.S_ISREG(mode):  # a pipe such as /dev/fd/63 can be read once, by Python
        _check_text(path)
    elif is_repeated:
        raise UsageError(
            f"{path}: this is a pipe or a device, and the script is run several times.\n"
            "Give an ordinary file."
        )


def _missing(path: Path, reason: str) -> str:
    near = path.parent if path.parent.is_dir() else Path.cwd()
    scripts = sorted(f.name for f in near.glob("*.py"))[:5]
    there = (
        f"Python files in {near.resolve()}: {', '.join(scripts)}"
        if scripts
        else (f"There is no Python file in {near.resolve()}")
    )
    return (
        f"{path}: cannot run this script ({reason}).\n{there}.\n"
        "Give the path of a script, or a module with `quickfit run -m MODULE`."
    )


def _check_folder(path: Path) -> None:
    if not (path / "__main__.py").exists() and not (path / "__main__.pyc").exists():
        raise UsageError(
            f"{path}: this is a folder without a __main__.py, so Python cannot run it.\n"
            f"Give the script inside it: quickfit run {path / 'YOUR_SCRIPT.py'}"
        )


def _check_text(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return  # Python says it in its own words
    is_compiled = path.suffix == ".pyc" or head.startswith(importlib.util.MAGIC_NUMBER)
    if b"\0" not in head or is_compiled or zipfile.is_zipfile(path):
        return
    kind = next((name for magic, name in _KINDS.items() if head.startswith(magic)), "binary data")
    raise UsageError(
        f"{path}: this is not a Python script (found: {kind}).\n"
        "Give the path of the script that trains: quickfit run YOUR_SCRIPT.py"
    )
