"""The script waits for the disk or the network that its data lies on.

Why it is slow: a read from a network drive, a bucket mounted as a folder, a disk that is failing or
an overloaded one may take seconds or never come back. The file may also be a pipe that nobody
writes to. The thread sleeps in the kernel, the CPU is idle, and no error is raised.

How it shows: a thread of the script is inside one and the same read at one line of yours, and the
system names the file; or, wherever the reading is done, threads of the script wait in the disk's
queue for at least half of the time while nothing is counted on, and memory is not being swapped.

Example:
    files = tf.data.Dataset.list_files("/content/drive/MyDrive/photographs/*.jpg")
    ds = files.map(load).batch(32)

Use instead:
    import shutil

    # one large copy, then thousands of small reads from a disk that is near
    shutil.unpack_archive("/content/drive/MyDrive/photographs.zip", "photographs")
    files = tf.data.Dataset.list_files("photographs/*.jpg")
    ds = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)

Fix class: shown only. Where the data does not fit on the local disk, pack it into TFRecord files of
100 to 200 MB and read several at a time with `interleave`: large reads hide the distance.

When it is wrong: a storage that is slow and delivers is told as a phase with its rate, and is not
called stuck: a read has to be the same one in all looks, and anything that is counted on rules it
out. Pipes between processes, sockets and devices are not storage. Waiting for swapped memory looks
the same from the disk's side and is told apart by the pages that go in and out.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause, silence_finding
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene, Thread
from quickfit.liveness.system import STDIN
from quickfit.liveness.waiting import stands_still
from quickfit.signals import Signals

MIN_SWAPPED_BYTES_PER_S = 5e6
# This many threads on average wait for the disk.
MIN_DISK_WAIT = 0.5
_READS = ("read", "pread64", "readv", "preadv", "openat", "open", "io_", "folio_", "wait_for_part")
# A pipe between two processes and a socket have no name; they are not storage.
_NAMELESS = ("pipe:", "socket:", "anon_inode:", "/dev/")


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "slow-storage")


def show_slow_read(scene: Scene) -> Reason | None:
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


CAUSE = Cause(
    title="Reading the data does not come back",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Copy the data to a local disk once, packed into few files", FixClass.SHOW_ONLY),
    live=(Mechanism(show_slow_read, Proof.READING),),
)
