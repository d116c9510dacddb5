"""Finds out which tool wrote a profile, and writes what it holds as a recording."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from quickfit import trust
from quickfit.errors import RecordingError, UsageError
from quickfit.lab.child import DEVNULL, Child, ChildOptions
from quickfit.profiles.chrome import read_chrome
from quickfit.profiles.device_work import DeviceWork, Profile
from quickfit.profiles.nsight import read_nsight
from quickfit.profiles.xplane import read_xplane
from quickfit.recording import folder as folders
from quickfit.recording.environment import process_facts
from quickfit.recording.schema import APPLICATION_ID
from quickfit.recording.writer import Writer

# An hour of training on several GPUs; what is larger takes minutes to read.
MAX_NSIGHT_BYTES = 20_000_000_000
# These are read into memory.
MAX_BYTES = 1_000_000_000
_SQLITE, _GZIP, _ID_AT = b"SQLite format 3\x00", b"\x1f\x8b", 68
# How long `nsys` may take to export a report.
EXPORT_S = 600.0
KINDS = (
    "an Nsight .sqlite or .nsys-rep, an .xplane.pb, a profile folder of TensorBoard, a trace .json"
)


def import_profile(path: Path, folder: Path | None = None) -> Path:
    """Read a profile and write it as a recording; return the folder of the recording.

    Args:
        path: a file, or a profile folder of TensorBoard.
        folder: of the new recording; by default one in `.quickfit/runs`.

    Raises:
        RecordingError: it cannot be read, or holds no work of a device.
        UsageError: the recording cannot be made there.
    """
    profile = read_profile(path)
    place = folder or folders.default_run_folder(path.name)
    folders.create(place)
    facts = {**process_facts("main"), "started_s": 0.0, "imported": {"kind": profile.kind}}
    writer = Writer(place, facts)
    _write(writer, profile)
    try:
        writer.close()
    except OSError as error:
        raise UsageError(
            f"{place}: the recording cannot be written ({error.strerror}).\n"
            "Choose another place with --output FOLDER."
        ) from error
    now_s = time.time()
    folders.write_run_file(
        place,
        {"script": path.name, "started_at": now_s, "ended_at": now_s, "imported": profile.kind},
    )
    return place


def read_profile(path: Path) -> Profile:
    """Read a profile of any kind we know.

    Raises:
        RecordingError: it is of no such kind, or damaged.
    """
    try:
        return _read(path)
    except OSError as error:
        raise RecordingError(
            f"{path}: this file cannot be read ({error.strerror or error}).\n"
            f"Check who may read it:\n    ls -ld {path}"
        ) from error


def _read(path: Path) -> Profile:
    if path.is_dir():
        return _read(_newest_xplane(path))
    if path.suffix == ".nsys-rep":
        return _exported(path)
    head = trust.read_regular(path, _ID_AT + 4)
    if head.startswith(_SQLITE):
        if head[_ID_AT:] == APPLICATION_ID.to_bytes(4, "big"):
            raise RecordingError(
                f"{path}: this is a recording of quickfit already.\n"
                f"For its report:\n    quickfit report {path}"
            )
        _check_size(path, MAX_NSIGHT_BYTES)
        return read_nsight(path)
    _check_size(path, MAX_BYTES)
    if head.startswith(_GZIP) or head.lstrip()[:1] in (b"{", b"["):
        return read_chrome(path)
    if path.suffix == ".pb":
        return read_xplane(path)
    raise RecordingError(
        f"{path}: this is no profile that can be imported.\n"
        f"Received: {_kind(head)}\nKnown are {KINDS}."
    )


def _kind(head: bytes) -> str:
    return "an empty file" if not head else f"a file that begins with {head[:8]!r}"


def _check_size(path: Path, most: int) -> None:
    size = path.stat().st_size
    if size > most:
        raise RecordingError(
            f"{path}: this profile is too large to be read.\n"
            f"Received: {size:,} bytes; at most {most:,} are read.\n"
            "Profile fewer steps: ten say as much as a thousand."
        )


def _newest_xplane(folder: Path) -> Path:
    """Return the newest profile below a folder: TensorBoard keeps one folder for each run."""
    found = [file for file in folder.rglob("*.xplane.pb") if file.is_file()]
    if not found:
        raise RecordingError(
            f"{folder}: there is no .xplane.pb in this folder.\n"
            "Name the folder that the profiler wrote to:\n    quickfit import logs/plugins/profile"
        )
    return max(found, key=lambda file: (folders.changed_at(file), str(file)))


def _exported(path: Path) -> Profile:
    """Read a report of Nsight Systems, which only its own program can."""
    trust.check_regular(path)
    program = shutil.which("nsys")
    if program is None:
        raise RecordingError(
            f"{path}: a report of Nsight Systems is read by `nsys`, which is not installed here.\n"
            "Where it is, export the report, and import that:\n"
            f"    nsys export --type sqlite {path.name}"
        )
    with tempfile.TemporaryDirectory(prefix="quickfit-") as place:
        target = Path(place) / "profile.sqlite"
        command = [program, "export", "--type=sqlite", f"--output={target}", str(path.resolve())]
        with Child(command, ChildOptions(stdout=DEVNULL, stderr=DEVNULL)) as child:
            code = child.wait(EXPORT_S)
        if code != 0 or not target.exists():
            why = f"took more than {EXPORT_S:.0f} s" if code is None else f"ended with code {code}"
            raise RecordingError(
                f"{path}: `nsys export` {why}.\nSee why:\n    nsys export --type sqlite {path.name}"
            )
        return read_nsight(target)


def _write(writer: Writer, profile: Profile) -> None:
    begin_ns = min(device.begin_ns for device in profile.devices)
    for device in profile.devices:
        _write_device(writer, device, begin_ns)
    for step in profile.steps:
        writer.add(
            "profile_steps",
            (step.name[:200], (step.begin_ns - begin_ns) / 1e9, (step.end_ns - begin_ns) / 1e9),
        )
    for note in profile.notes:
        writer.add("notes", (0.0, note))


def _write_device(writer: Writer, device: DeviceWork, begin_ns: int) -> None:
    writer.add(
        "device_use",
        (
            device.name,
            (device.begin_ns - begin_ns) / 1e9,
            (device.end_ns - begin_ns) / 1e9,
            device.busy_ns / 1e9,
        ),
    )
    for (kind, name), total in device.totals.items():
        times = (total.total_ns / 1e9, total.alone_ns / 1e9, total.longest_ns / 1e9)
        writer.add("device_work", (device.name, kind, name, total.count, *times, total.size))
    for (reason, detail), total in device.idle.items():
        row = (device.name, reason, detail, total.count, total.total_ns / 1e9)
        writer.add("device_idle", (*row, total.longest_ns / 1e9))
