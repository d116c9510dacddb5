"""What came of an input: it was read, refused in clear words, or shows a fault of quickfit."""

import os
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from quickfit.errors import QuickfitError

# The files of an input by their names; they are put into a folder of their own.
Case = dict[str, bytes]
TREE = Path(__file__).parents[2]
# A message is read by a person; a longer one has swallowed the input.
MAX_MESSAGE = 20_000
# What is said where a cause fails, which must not take the others along.
OWN_ERROR = "an error in quickfit"
# Of the processor, for one input; the slowest seed takes a hundredth of it.
LIMIT_S = 10.0


@dataclass(frozen=True)
class Kind:
    """One kind of outside input.

    Args:
        seeds: returns whole inputs.
        change: returns an input made of one of the seeds.
        read: hands the files of a folder to the readers; returns what people would see.
        refusals: what a reader may raise besides `QuickfitError`; its callers put it into words.
        starts_python: a reader may start another Python, which is the one that may hang.
    """

    seeds: Callable[[], list[Case]]
    change: Callable[[Random, list[Case]], Case]
    read: Callable[[Path], str]
    refusals: tuple[type[Exception], ...] = ()
    starts_python: bool = False


class TooLong(BaseException):
    """An input takes more of the processor than it may."""


@dataclass(frozen=True)
class Verdict:
    """What came of an input: `accepted`, `refused` or `finding`, and for a finding what and where.

    Args:
        outcome: one of the three.
        key: what and where, the same for inputs that show the same fault.
        detail: the whole of it, for a person.
    """

    outcome: str
    key: str = ""
    detail: str = ""


def judge(kind: Kind, case: Case, folder: Path) -> Verdict:
    """Write a case into an empty folder, have it read there, and return what came of it."""
    write_case(case, folder)
    refused: Exception | None = None
    with _watch(folder, starts_python=kind.starts_python) as reaching_out:
        try:
            with time_limit(LIMIT_S):
                shown = kind.read(folder)
        except (QuickfitError, *kind.refusals) as error:
            refused, shown = error, str(error)
        except (Exception, TooLong) as error:  # noqa: BLE001 - whatever it is, it is a finding
            return Verdict("finding", f"{type(error).__name__} {_place(error)}", _trace(error))
    if reaching_out:
        return Verdict("finding", f"reaches out: {reaching_out[0][:60]}", "\n".join(reaching_out))
    if OWN_ERROR in shown:
        what = re.sub(r"\d+", "0", shown[shown.index(OWN_ERROR) :].splitlines()[0][:80])
        return Verdict("finding", what, shown[:3000])
    odd = next((c for c in shown if not c.isprintable() and c not in "\n\t"), None)
    if odd is not None:
        place = _place(refused) if refused else ""
        return Verdict("finding", f"writes {odd!r} {place}", repr(shown[:2000]))
    if refused is None:
        return Verdict("accepted")
    if not shown.strip() or len(shown) > MAX_MESSAGE:
        return Verdict("finding", f"message of {len(shown)} {_place(refused)}", repr(shown[:2000]))
    return Verdict("refused")


def write_case(case: Case, folder: Path) -> None:
    """Put the files of a case into a folder, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    for name, data in case.items():
        file = folder / name
        if file.parent != folder:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


@contextmanager
def time_limit(seconds: float):
    """Raise `TooLong` in what runs longer, by the processor's time and so on any machine."""

    def stop(number, frame):
        raise TooLong(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = {
    *("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link"),
    *("os.symlink", "os.truncate", "os.utime", "os.setxattr"),
}
_NEVER = {
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.kill"),
    *("socket.connect", "pickle.find_class", "ctypes.dlopen"),
}
# The folder that may be changed, whether Python may be started, and what was seen.
_watched: list[tuple[str, bool, list[str]]] = []


def _audit(event: str, args: tuple) -> None:
    if not _watched:
        return
    home, starts_python, found = _watched[-1]
    if event == "open":
        path, _, flags = args
        if flags & _WRITING and isinstance(path, (str, bytes)):
            _note(event, os.fsdecode(path), home, found)
    elif event in _CHANGES:
        for path in args[: 2 if event in ("os.rename", "os.link") else 1]:
            # `shutil.rmtree` names files below a folder that it has open.
            if isinstance(path, (str, bytes, os.PathLike)) and os.path.isabs(path):
                _note(event, os.fsdecode(path), home, found)
    elif event in _NEVER and not (starts_python and args[0] == sys.executable):
        found.append(f"{event} {args!r:.100}")


def _note(event: str, path: str, home: str, found: list[str]) -> None:
    real = os.path.abspath(path)
    is_cache = "__pycache__" in real  # of a module that is imported for the first time
    if not real.startswith((home, "/dev/null")) and not is_cache:
        found.append(f"{event} {real}")


@cache
def _install_audit() -> None:
    sys.addaudithook(_audit)


@contextmanager
def _watch(folder: Path, *, starts_python: bool):
    """Yield a list of what reaches beyond the folder and the one for temporary files beside it."""
    _install_audit()
    found: list[str] = []
    _watched.append((str(folder.parent), starts_python, found))
    try:
        yield found
    finally:
        _watched.pop()


def _place(error: BaseException) -> str:
    """Return the innermost place in quickfit that an error came through."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if f"{os.sep}quickfit{os.sep}" in frame.filename
    ]
    if not own:
        return "nowhere"
    return f"{Path(own[-1].filename).relative_to(TREE / 'src' / 'quickfit')}:{own[-1].name}"


def _trace(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error, limit=-12))
    return lines if len(lines) < 6000 else f"{lines[:2000]}\n…\n{lines[-4000:]}"
