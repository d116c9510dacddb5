"""Reasons outside the script: storage that does not deliver, memory that lies in swap."""

from __future__ import annotations

from quickfit import units
from quickfit.findings import Evidence
from quickfit.liveness.reason import Reason
from quickfit.liveness.scene import Scene, Thread
from quickfit.liveness.system import STDIN
from quickfit.liveness.waiting import stands_still

# Pages fetched from the disk per second, and memory moved, that leave no time for work.
MIN_FAULTS_PER_S = 200.0
MIN_SWAPPED_BYTES_PER_S = 5e6
# This many threads on average wait for the disk.
MIN_DISK_WAIT = 0.5
_READS = ("read", "pread64", "readv", "preadv", "openat", "open", "io_", "folio_", "wait_for_part")
# A pipe between two processes and a socket have no name; they are not storage.
_NAMELESS = ("pipe:", "socket:", "anon_inode:", "/dev/")


def storage(scene: Scene) -> Reason | None:
    """Tell of a thread that stands still in reading a file."""
    for thread in scene.threads:
        # A thread of the script's own may well wait for a file that others write.
        if thread.role == "other" or thread.user_frame is None or not _is_reading(thread):
            continue
        rate = scene.machine.chars_read_per_s
        return Reason(
            cause="slow-storage",
            summary=f"reading `{thread.waits_for}` does not come back",
            where=scene.place(thread.user_frame),
            evidence=(
                Evidence(
                    *("looks at which it was in the same read", thread.share, "share"),
                    thread.waits_in,
                ),
                Evidence("bytes read per second by all threads", rate or 0.0, "bytes"),
            ),
            advice="Copy the data to a local disk, or find out why nothing is delivered.",
        )
    return _disk(scene)


def _is_reading(thread: Thread) -> bool:
    is_file = bool(thread.waits_for) and thread.waits_for != STDIN
    if not is_file or thread.waits_for.startswith(_NAMELESS):
        return False
    return stands_still(thread) and thread.waits_in.startswith(_READS)


def _disk(scene: Scene) -> Reason | None:
    """Tell of threads in the disk's queue, wherever they read."""
    machine = scene.machine
    if (machine.disk_wait_threads or 0.0) < MIN_DISK_WAIT or scene.still_s < 10.0:
        return None
    if (machine.swapped_bytes_per_s or 0.0) > MIN_SWAPPED_BYTES_PER_S:
        return None
    maker = next((t for t in (*scene.makers, scene.main) if t is not None and t.user_frame), None)
    rate = machine.read_bytes_per_s or 0.0
    return Reason(
        cause="slow-storage",
        summary=f"the disk delivers {units.size(rate)} a second, and everything waits for it",
        where=scene.place(maker.user_frame) if maker is not None else None,
        evidence=(
            Evidence("threads that wait for the disk", machine.disk_wait_threads or 0.0, "count"),
            Evidence(
                "of the time some task of the machine waits", machine.io_pressure or 0, "share"
            ),
        ),
        advice="Copy the data to a local disk, or pack many small files into a few large ones.",
    )


def swap(scene: Scene) -> Reason | None:
    """Tell of a run whose memory lies in swap."""
    machine = scene.machine
    faults, moved = machine.major_faults_per_s or 0.0, machine.swapped_bytes_per_s or 0.0
    if faults < MIN_FAULTS_PER_S or moved < MIN_SWAPPED_BYTES_PER_S:
        return None
    main = scene.main
    return Reason(
        cause="swap-thrash",
        summary=f"the memory of the run lies in swap: {units.size(moved)} a second go in and out",
        where=scene.place(main.user_frame) if main is not None else None,
        evidence=(
            Evidence("pages fetched from the disk", faults, "per_s"),
            Evidence("moved to and from swap per second", moved, "bytes"),
        ),
        advice="Make caches, shuffle buffers and batches smaller, or give the run more memory.",
        moves=True,
    )
