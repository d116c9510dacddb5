"""The machine while the steps ran: CPU used, cores available, waiting for a core, neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quickfit.recording.reader import ProcessRecording, Recording
from quickfit.signals.steps import Steps

# Readings closer together than this say little about a rate.
MIN_WINDOW_S = 1.0

Row = dict[str, Any]  # as the reader hands them out


@dataclass(frozen=True)
class DataFolder:
    """A folder of files that were read, and the type of the file system it lies on."""

    folder: str
    file_system: str
    files: int
    size_bytes: int | None


@dataclass(frozen=True)
class MachineUse:
    """Rates over the steps after warm-up; None where the system does not tell.

    Args:
        cpu_cores: cores that the script's processes kept busy on average.
        other_cores: cores that everything else on the machine kept busy.
        main_delay_share: share of the time the main thread was ready but had no core.
        rss_bytes: memory at the end.
        thread_cores: cores by group of threads, such as `main`, `tf.data` and `inter-op`.
        thread_delays: by group, how many threads on average were ready but had no core.
        io_pressure: share of the time in which some task of the machine waited for the disk.
        memory_pressure: the same for memory.
        disk_wait_threads: how many threads on average waited for the disk.
        read_bytes_per_s: from the disk; `chars_read_per_s` includes cached files.
        swapped_bytes_per_s: in and out of swap, all processes of the machine.
        throttled_share: of the time, summed over cores, that a container's CPU limit took away.
        open_files_growth: files that were opened and not closed meanwhile.
        collecting_share: of the time, in Python's garbage collector.
        is_wider: the readings lie around the steps, because there were too few while they ran.
    """

    window_s: float
    cpu_cores: float
    main_cores: float | None
    other_cores: float | None
    main_delay_share: float | None
    rss_bytes: int | None
    thread_cores: dict[str, float] = field(default_factory=dict)
    thread_delays: dict[str, float] = field(default_factory=dict)
    pressure: float | None = None
    io_pressure: float | None = None
    memory_pressure: float | None = None
    disk_wait_threads: float | None = None
    read_bytes_per_s: float | None = None
    chars_read_per_s: float | None = None
    swap_bytes: int | None = None
    swapped_bytes_per_s: float | None = None
    throttled_share: float | None = None
    open_files: int | None = None
    open_files_growth: int | None = None
    major_faults_per_s: float | None = None
    minor_faults_per_s: float | None = None
    full_collections: int | None = None
    collecting_share: float | None = None
    is_wider: bool = False


def machine_use(recording: Recording, steps: Steps) -> MachineUse | None:
    """Return what the machine did while the steps ran, or None for too short a time."""
    main = recording.main
    window = _window(main.rows("machine"), steps)
    if window is None:
        return None
    first, last = window
    children = [_window(process.rows("machine"), steps) for process in recording.others]
    pairs = [window, *(pair for pair in children if pair is not None)]
    span_s = last["at_s"] - first["at_s"]
    own_s = _grown(first, last, "cpu_s") or 0.0
    own_s += sum(_child_s(child, first["at_s"], last["at_s"]) for child in recording.others)
    busy_s = _grown(first, last, "system_busy_s")
    cores, delays = _thread_groups(main, steps)
    # By field name, whole and broken numbers.
    others: dict[str, Any] = {name: _rate(pairs, column) for name, column in _RATES.items()}
    others |= _pressures(main.rows("machine"), steps) | _counts(first, last)
    return MachineUse(
        window_s=span_s,
        cpu_cores=own_s / span_s,
        main_cores=_rate([window], "main_cpu_s"),
        other_cores=None if busy_s is None else max(busy_s - own_s, 0.0) / span_s,
        main_delay_share=_rate([window], "main_run_delay_s"),
        rss_bytes=last["rss_bytes"],
        thread_cores=cores,
        thread_delays=delays,
        is_wider=first["at_s"] < steps.begin_s,
        **others,
    )


# What is read and waited for in worker processes counts too. Swap and throttling are told for
# the whole machine or container, so those of one process are enough.
_RATES = {
    "disk_wait_threads": "disk_wait_s",
    "read_bytes_per_s": "read_bytes",
    "chars_read_per_s": "chars_read",
    "major_faults_per_s": "major_faults",
    "minor_faults_per_s": "minor_faults",
}


def data_folders(recording: Recording) -> list[DataFolder]:
    """Return the folders that the processes of a run read from, those with most files first."""
    found: dict[str, DataFolder] = {}
    for process in (recording.main, *recording.others):
        for row in process.rows("data_folders"):
            known = found.get(row["folder"])
            # Workers read the same files, or parts of them: the largest count is the safest.
            if known is None or known.files < row["files"]:
                found[row["folder"]] = DataFolder(
                    row["folder"], row["file_system"], row["files"], row["bytes"]
                )
    return sorted(found.values(), key=lambda folder: (-folder.files, folder.folder))


def _counts(first: Row, last: Row) -> dict[str, Any]:
    """Return what the main process alone tells."""
    window = [(first, last)]
    before, after = first.get("open_files"), last.get("open_files")
    full = _grown(first, last, "collections")
    return {
        "swap_bytes": last.get("swap_bytes"),
        "swapped_bytes_per_s": _rate(window, "system_swapped_bytes"),
        "throttled_share": _rate(window, "throttled_s"),
        "open_files": after,
        "open_files_growth": None if before is None or after is None else after - before,
        "full_collections": None if full is None else int(full),
        "collecting_share": _rate(window, "collecting_s"),
    }


def _pressures(rows: list[Row], steps: Steps) -> dict[str, Any]:
    """Return the mean of each pressure over the time."""
    found: dict[str, Any] = {}
    for name in ("pressure", "io_pressure", "memory_pressure"):
        values = [row[name] for row in _inside(rows, steps) if row.get(name) is not None]
        found[name] = sum(values) / len(values) if values else None
    return found


def _thread_groups(
    process: ProcessRecording, steps: Steps
) -> tuple[dict[str, float], dict[str, float]]:
    """Return cores and delay by group; a group that came later started from nothing."""
    rows = process.rows("thread_groups")
    inside = _inside(rows, steps)
    if not inside or inside[-1]["at_s"] - inside[0]["at_s"] < MIN_WINDOW_S:
        return {}, {}
    begin_s = inside[0]["at_s"]
    cores, delays = {}, {}
    for name in sorted({row["name"] for row in inside}):
        last = [row for row in inside if row["name"] == name][-1]
        before = [row for row in rows if row["name"] == name and row["at_s"] <= begin_s]
        first = before[-1] if before else {"at_s": begin_s, "cpu_s": 0.0, "run_delay_s": 0.0}
        span_s = max(last["at_s"] - first["at_s"], MIN_WINDOW_S)
        cores[name] = (_grown(first, last, "cpu_s") or 0.0) / span_s
        delays[name] = (_grown(first, last, "run_delay_s") or 0.0) / span_s
    return cores, delays


def _child_s(child: ProcessRecording, begin_s: float, end_s: float) -> float:
    """Return the CPU time of a process that the script started, in a span.

    Keras makes new workers for every epoch: those that began in the span began with nothing, and
    may have been read only once.
    """
    rows = [row for row in child.rows("machine") if row["at_s"] <= end_s]
    before = [row for row in rows if row["at_s"] <= begin_s]
    is_new = (child.facts.get("started_s") or 0.0) > begin_s
    first = before[-1] if before else {"cpu_s": 0.0} if is_new else rows[0] if rows else None
    return (_grown(first, rows[-1], "cpu_s") or 0.0) if first is not None and rows else 0.0


def _inside(rows: list[Row], steps: Steps) -> list[Row]:
    return [row for row in rows if steps.begin_s <= row["at_s"] <= steps.end_s + 1.0]


def _window(rows: list[Row], steps: Steps) -> tuple[Row, Row] | None:
    """Return two readings that hold the steps, or most of them, between them."""
    inside = _inside(rows, steps)
    if len(inside) < 2 or inside[-1]["at_s"] - inside[0]["at_s"] < MIN_WINDOW_S:
        # Of a short training, the readings around it are all there is.
        before = [row for row in rows if row["at_s"] < steps.begin_s][-1:]
        after = [row for row in rows if row["at_s"] > steps.end_s + 1.0][:1]
        inside = [*before, *inside, *after]
    if len(inside) < 2 or inside[-1]["at_s"] <= inside[0]["at_s"]:
        return None
    return inside[0], inside[-1]


def _rate(windows: list[tuple[Row, Row]], name: str) -> float | None:
    """Return how fast a counter grew, over all processes that have it."""
    rates = []
    for first, last in windows:
        grown = _grown(first, last, name)
        if grown is not None:
            rates.append(grown / (last["at_s"] - first["at_s"]))
    return sum(rates) if rates else None


def _grown(first: Row, last: Row, name: str) -> float | None:
    if first.get(name) is None or last.get(name) is None:
        return None
    return max(float(last[name]) - float(first[name]), 0.0)
