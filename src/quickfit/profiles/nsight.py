"""Reads what Nsight Systems exports as SQLite: kernels, copies, what the host did, NVTX ranges."""

from __future__ import annotations

import bisect
import itertools
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from quickfit.errors import RecordingError
from quickfit.profiles.device_work import (
    DeviceEvent,
    DeviceWork,
    Gap,
    OddProfileError,
    Profile,
    ProfileStep,
    add_up,
)

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_COPIES, _SETS = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
_CALLS, _RANGES = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
# As CUPTI numbers them.
_COPY_KINDS = {
    1: "host to device",
    2: "device to host",
    8: "device to device",
    9: "host to host",
    10: "device to device",
    11: "host to device (unified)",
    12: "device to host (unified)",
}
# Calls and ranges that are kept in memory, 100 bytes each.
MAX_CALLS, MAX_RANGES = 5_000_000, 2_000_000
# An hour on eight GPUs asks for less. A damaged or crafted file may have no end.
_MAX_INSTRUCTIONS, _CHECK_EVERY = 50_000_000_000, 10_000_000
_MAX_VALUE_BYTES = 8_000_000
# Push and pop, start and end: ranges. Others are marks without an end.
_RANGE_TYPES = (59, 60, 70, 71)
# What the names of steps say, in any framework.
_STEP = re.compile(r"(?:^|[^a-z])(?:train|training)?[ _]?(?:step|iteration|iter|batch)\b", re.I)
_STEP_CAMEL = re.compile(r"(?:Step|Iteration|Iter|Batch)(?:#|\d|$|_|\s)")
# Numbers that tell one range of a kind from the next.
_NUMBERED = re.compile(r",? ?(?:op_id|seq) = \d+|[#_ :=]*\d+$")
# Fewer ranges of a name than this are phases, not steps.
MIN_STEPS = 3
_MAX_LOOK_BACK = 500
# A call that lets the host wait for the device.
_WAITS = ("Synchronize", "cudaEventQuery")


class _Call(NamedTuple):
    begin_ns: int
    end_ns: int
    name: str


class _Host:
    """What the threads of the host did: calls of CUDA, and the ranges of the program."""

    def __init__(self) -> None:
        self.calls: dict[int, list[_Call]] = {}
        self.ranges: dict[int, list[_Call]] = {}
        # By the number that leads from an operation back to its call: thread and call.
        self.by_key: dict[int, tuple[int, _Call]] = {}

    def reason(self, gap: Gap) -> tuple[str, str]:
        """Return why a device had nothing to do: what the host did before it launched the next."""
        if not gap.key:
            return "at the end", "nothing followed in this profile"
        thread, launch = self.by_key.get(gap.key, (0, None))
        if launch is None:
            return "unknown", "the call that started the next operation is not in the profile"
        if launch.end_ns <= gap.begin_ns:
            return "waiting for other work", "launched already: another stream or device, or a copy"
        until_ns = min(launch.begin_ns, gap.end_ns)
        spent: Counter[str] = Counter()
        for call in self._between(self.calls.get(thread, []), gap.begin_ns, until_ns):
            spent[call.name] += min(call.end_ns, until_ns) - max(call.begin_ns, gap.begin_ns)
        host_ns = until_ns - gap.begin_ns
        name, longest_ns = spent.most_common(1)[0] if spent else ("", 0)
        if host_ns < 0.5 * gap.length_ns:
            return "launching", f"in {launch.name}"
        if 2 * longest_ns >= host_ns:
            kind = "host waited" if any(mark in name for mark in _WAITS) else "host in CUDA"
            return kind, f"in {name}"
        inside = self._innermost(thread, gap.begin_ns + host_ns // 2)
        return "host busy elsewhere", f"in `{inside}`" if inside else "outside any range"

    @staticmethod
    def _between(calls: list[_Call], begin_ns: int, end_ns: int) -> Iterator[_Call]:
        place = bisect.bisect_left(calls, (end_ns,)) - 1
        for index in range(place, max(place - _MAX_LOOK_BACK, -1), -1):
            if calls[index].end_ns > begin_ns:
                yield calls[index]
            else:
                return  # the calls of a thread follow each other

    def _innermost(self, thread: int, at_ns: int) -> str:
        ranges = self.ranges.get(thread, [])
        place = bisect.bisect_right(ranges, (at_ns, 2**63)) - 1
        for index in range(place, max(place - _MAX_LOOK_BACK, -1), -1):
            if ranges[index].end_ns >= at_ns:
                return plain_name(ranges[index].name)
        return ""


def plain_name(name: str) -> str:
    """Return the name of a range without what tells it from the next of its kind."""
    return _NUMBERED.sub("", name).strip() or name


def read_nsight(path: Path) -> Profile:
    """Read an export of Nsight Systems.

    Raises:
        RecordingError: it is something else, is damaged, or holds no work of a GPU.
    """
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as db:
            _limit(db)
            return _read(db, path)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, OddProfileError) as error:
        raise RecordingError(
            f"{path}: this export of Nsight Systems is damaged ({error!s:.100}).\n"
            "Export it again:\n    nsys export --type sqlite PROFILE.nsys-rep"
        ) from error


def _limit(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    rounds = iter(range(_MAX_INSTRUCTIONS // _CHECK_EVERY))
    db.set_progress_handler(lambda: next(rounds, None) is None, _CHECK_EVERY)


def _read(db: sqlite3.Connection, path: Path) -> Profile:
    asked = db.execute("SELECT name FROM sqlite_master WHERE type='table'")
    present = {str(row[0]) for row in asked}
    if "StringIds" not in present or not present & {KERNELS, _COPIES, _CALLS, _RANGES}:
        raise RecordingError(
            f"{path}: this SQLite file is no export of Nsight Systems (it has no table"
            " StringIds, or no events).\n"
            "Export a profile:\n    nsys export --type sqlite PROFILE.nsys-rep"
        )
    work = [table for table in (KERNELS, _COPIES, _SETS) if table in present]
    spans = [db.execute(f"SELECT min(start), max(end) FROM {table}").fetchone() for table in work]
    spans = [span for span in spans if span[0] is not None]
    if not spans:
        raise RecordingError(
            f"{path}: this profile holds no work of a GPU: no kernel, no copy.\n"
            "Was CUDA traced, while the GPU trained?\n"
            "    nsys profile --trace=cuda,nvtx python train.py"
        )
    begin_ns, end_ns = min(_whole(span[0]) for span in spans), max(_whole(s[1]) for s in spans)
    profile = Profile("Nsight Systems", [])
    host = _host(db, present, profile)
    names = _device_names(db, present)
    devices: set[int] = set()
    for table in work:
        devices |= {_whole(row[0]) for row in db.execute(f"SELECT DISTINCT deviceId FROM {table}")}
    if len(devices) > 1_000:
        raise sqlite3.DataError(f"{len(devices)} devices")
    for device in sorted(devices):
        one = DeviceWork(names.get(device, f"GPU {device}"), begin_ns, end_ns)
        add_up(one, _events(db, work, device), host.reason)
        profile.devices.append(one)
    profile.steps = _steps(host)
    return profile


def _whole(value: object) -> int:
    """Return a whole number; a column of SQLite may hold anything."""
    if not isinstance(value, int):
        raise sqlite3.DataError(f"{value!r:.40} where a whole number belongs")
    return value


def _events(db: sqlite3.Connection, work: list[str], device: int) -> Iterator[DeviceEvent]:
    """Yield the operations of a device in order."""
    columns = {
        KERNELS: "start, end, correlationId, 'kernel', shortName, NULL",
        _COPIES: "start, end, correlationId, 'copy', copyKind, bytes",
        _SETS: "start, end, correlationId, 'memset', NULL, bytes",
    }
    parts = " UNION ALL ".join(
        f"SELECT {columns[table]} FROM {table} WHERE deviceId = :device" for table in work
    )
    texts = _Texts(db)
    for start, end, key, kind, name, size in db.execute(
        f"{parts} ORDER BY 1, 2", {"device": device}
    ):
        begin_ns, end_ns = _whole(start), _whole(end)
        if kind == "kernel":
            label = texts[_whole(name)]
            if label.startswith(("nccl", "ncclDev")):
                kind = "communication"
        else:
            label = _COPY_KINDS.get(name, "other copies") if kind == "copy" else "memset"
        yield DeviceEvent(
            begin_ns, end_ns, str(kind), label, size if isinstance(size, int) else None, key or 0
        )


class _Texts(dict[int, str]):
    """Texts by number, read when they are asked for."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__()
        self._db = db

    def __missing__(self, number: int) -> str:
        found = self._db.execute("SELECT value FROM StringIds WHERE id = ?", (number,)).fetchone()
        text = str(found[0]) if found is not None else f"name {number}"
        if len(self) < 1_000_000:
            self[number] = text
        return text


def _device_names(db: sqlite3.Connection, present: set[str]) -> dict[int, str]:
    if "TARGET_INFO_GPU" not in present:
        return {}
    asked = db.execute("SELECT id, name FROM TARGET_INFO_GPU LIMIT 1000")
    return {number: f"GPU {number} ({name!s:.60})" for number, name in asked if name}


def _host(db: sqlite3.Connection, present: set[str], profile: Profile) -> _Host:
    """Return what the host did, as far as it was traced."""
    host, texts = _Host(), _Texts(db)
    if _CALLS in present:
        asked = db.execute(
            f"SELECT start, end, globalTid, correlationId, nameId FROM {_CALLS}"
            f" ORDER BY start LIMIT {MAX_CALLS + 1}"
        )
        for count, (start, end, thread, key, name) in enumerate(asked):
            if count == MAX_CALLS:
                profile.notes.append(f"Calls of CUDA after the first {MAX_CALLS:,} were left out.")
                break
            call = _Call(_whole(start), _whole(end), re.sub(r"_v\d+$", "", texts[_whole(name)]))
            host.calls.setdefault(thread or 0, []).append(call)
            if key:
                host.by_key[key] = (thread or 0, call)
    else:
        profile.notes.append("Calls of CUDA were not traced, so it is not known why a GPU waited.")
    if _RANGES in present:
        asked = db.execute(
            f"SELECT start, end, globalTid, text, textId FROM {_RANGES}"
            f" WHERE end IS NOT NULL AND eventType IN {_RANGE_TYPES}"
            f" ORDER BY start, end DESC LIMIT {MAX_RANGES + 1}"
        )
        for count, (start, end, thread, text, name) in enumerate(asked):
            if count == MAX_RANGES:
                profile.notes.append(f"NVTX ranges after the first {MAX_RANGES:,} were left out.")
                break
            label = str(text) if text is not None else texts[name or 0]
            call = _Call(_whole(start), _whole(end), label)
            host.ranges.setdefault(thread or 0, []).append(call)
    return host


def _steps(host: _Host) -> list[ProfileStep]:
    """Return the ranges that are steps by their names, of the thread and name that has most time.

    They must follow each other: a name that holds ranges of its own name is not one of steps.
    """
    best: list[_Call] = []
    for ranges in host.ranges.values():
        groups: dict[str, list[_Call]] = {}
        for one in ranges:
            if _STEP.search(one.name) or _STEP_CAMEL.search(one.name):
                groups.setdefault(plain_name(one.name), []).append(one)
        for group in groups.values():
            follow = all(a.end_ns <= b.begin_ns for a, b in itertools.pairwise(group))
            if len(group) >= MIN_STEPS and follow and _length(group) > _length(best):
                best = group
    return [ProfileStep(one.name, one.begin_ns, one.end_ns) for one in best]


def _length(ranges: list[_Call]) -> int:
    return sum(one.end_ns - one.begin_ns for one in ranges)
