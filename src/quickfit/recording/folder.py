"""Where recordings live: names, the folder's own .gitignore, and how many are kept."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

from quickfit import trust
from quickfit.errors import RecordingError, UsageError
from quickfit.machine.file_systems import file_system_of
from quickfit.recording import shapes
from quickfit.recording.schema import FORMAT_VERSION, PROCESS_SUFFIX, RUN_FILE, RUN_SUFFIX

# Enough for a week of trying things; one run is a few megabytes.
KEPT_RUNS = 20
# SQLite's WAL needs shared memory, which these do not offer between processes.
NETWORK_FILE_SYSTEMS = (
    "nfs",
    "cifs",
    "smb",
    "fuse",
    "9p",
    "lustre",
    "gpfs",
    "afs",
    "ceph",
    "glusterfs",
    "beegfs",
)
# A run that goes on writes at least this often; the clock of a file may be off by as much.
WRITES_EVERY_S = 5.0
# What of `run.json` says how the script is run again.
_LAUNCH = ("script", "module", "argv", "cwd")
_PURPOSE = "run the script of a recording again"
# Its log lines and silences are bounded; what is larger is cut off and so no JSON.
MAX_RUN_FILE_BYTES = 16_000_000
# File systems take names of 255 bytes; the stamp, a number and the suffix need 30 of them.
MAX_NAME_BYTES = 200


def default_run_folder(script: str, *, home: Path | None = None) -> Path:
    """Return a folder `.quickfit/runs/NAME.qfrun` below the working directory, made for this run.

    It is made at once where that is possible, so that two runs which start in the same second do
    not take the same one.
    """
    runs = (home or Path.cwd()) / ".quickfit" / "runs"
    stem = Path(script).stem if script.endswith(".py") else script
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in stem)[:60] or "run"
    safe = safe.encode()[:MAX_NAME_BYTES].decode(errors="ignore")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for attempt in range(1000):
        suffix = f"-{attempt}" if attempt else ""
        folder = runs / f"{safe}-{stamp}{suffix}{RUN_SUFFIX}"
        try:
            trust.make_private_folder(folder, exist_ok=False)
        except FileExistsError:
            continue
        except OSError:
            pass  # `create` says what is wrong with it
        return folder
    raise RecordingError(f"{runs}: no free name for a recording; remove old runs from that folder.")


def create(folder: Path) -> None:
    """Make the folder of a new run, and keep `.quickfit` out of version control.

    Raises:
        UsageError: the folder is already there and is not empty, or cannot be made.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                f"{folder}: already exists, and a recording is never overwritten.\n"
                f"Choose another name with --output, or remove it first."
            )
        trust.make_private_folder(folder)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot make the folder of the recording ({error.strerror}).\n"
            "Choose a place you may write to with --output FOLDER."
        ) from error


def drop_old_runs(runs: Path, *, keep: int = KEPT_RUNS) -> list[Path]:
    """Remove all but the newest `keep` finished runs of a `.quickfit/runs` folder."""
    if runs.name != "runs" or runs.parent.name != ".quickfit":
        return []
    folders = [f for f in runs.glob(f"*{RUN_SUFFIX}") if f.is_dir() and not f.is_symlink()]
    finished = [f for f in folders if read_run_file(f).get("ended_at") is not None]
    finished.sort(key=lambda f: changed_at(f / RUN_FILE), reverse=True)
    for folder in finished[keep:]:
        shutil.rmtree(folder, ignore_errors=True)
    return finished[keep:]


def newest_run(runs: Path) -> Path:
    """Return the run that was recorded last.

    Raises:
        UsageError: there is none.
    """
    found = [folder for folder in runs.glob(f"*{RUN_SUFFIX}") if folder.is_dir()]
    if not found:
        raise UsageError(
            f"{runs}: there is no recording here to report on.\n"
            "Record one first, or name the one you mean:\n"
            "    quickfit run train.py\n"
            "    quickfit report FOLDER.qfrun"
        )
    # Runs that started within one tick of the file system are told apart by their names.
    return max(found, key=lambda folder: (folder.stat().st_mtime_ns, folder.name))


def changed_at(path: Path) -> float:
    """Return when a file was last changed; 0 if another process has removed it meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def write_run_file(folder: Path, facts: dict[str, Any]) -> None:
    """Write what the parent knows of the run, so that a reader never sees half a file."""
    text = json.dumps({"format_version": FORMAT_VERSION, **facts}, indent=1)
    trust.write_private(folder / RUN_FILE, text.encode(), sync=False)


def seal_launch(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the facts of a run with the user's seal on what was run; without, if there is none.

    Args:
        facts: what `run.json` is to say.
        folder: where the recording is found in the end.
    """
    launch = {name: facts.get(name) for name in _LAUNCH}
    try:
        seal = trust.sealed(launch, purpose=_PURPOSE, folder=folder)[trust.SEAL]
    except (OSError, trust.NotTrusted):
        return facts  # `fix RUN` asks before it runs anything
    return {**facts, trust.SEAL: seal}


def check_launch(facts: dict[str, Any], folder: Path) -> None:
    """Make sure that what a recording says was run is what this user ran, recorded there.

    Raises:
        NotTrusted: it is not.
    """
    launch = {name: facts.get(name) for name in (*_LAUNCH, trust.SEAL)}
    trust.check_seal(launch, purpose=_PURPOSE, folder=folder)


def read_run_file(folder: Path) -> dict[str, Any]:
    """Return what the parent wrote, or an empty dict where it is missing or damaged."""
    try:
        data = trust.read_regular(folder / RUN_FILE, MAX_RUN_FILE_BYTES, follow=False)
        facts = shapes.unpacked(data.decode())
    except (OSError, ValueError):
        return {}
    if not isinstance(facts, dict):
        return {}
    if not shapes.is_early_verdict(facts.get("early", {})):
        del facts["early"]
    if not shapes.are_log_lines(facts.get("log_lines", [])):
        del facts["log_lines"]
    if not shapes.are_silences(facts.get("quiet", [])):
        del facts["quiet"]
    return facts


def process_files(folder: Path) -> list[Path]:
    """Return the files of the processes of a run, in the order of their names."""
    return sorted(folder.glob(f"*{PROCESS_SUFFIX}"))


def is_on_network(path: Path, *, mounts: str = "/proc/mounts") -> bool:
    """Tell whether `path` lies on a file system where SQLite's WAL does not work."""
    return file_system_of(path, mounts=Path(mounts))[0].startswith(NETWORK_FILE_SYSTEMS)


def is_gone(folder: Path, pid: object) -> bool:
    """Tell whether the process of a run that has no end is no longer there: it was killed.

    Nothing was written for a while, and no process of that number is as old as the recording.
    """
    stamps = [file.stat().st_mtime for file in process_files(folder) if file.exists()]
    if not isinstance(pid, int) or not stamps or time.time() - max(stamps) < WRITES_EVERY_S:
        return False
    return not is_alive(pid, max(stamps))


def is_alive(pid: int, changed_at: float) -> bool:
    """Tell whether a process lives that may have written what changed at a time."""
    import psutil

    try:
        process = psutil.Process(pid)
        is_same = process.create_time() <= changed_at + WRITES_EVERY_S
        return is_same and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ValueError, OverflowError):
        return False
