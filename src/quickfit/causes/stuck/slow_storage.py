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

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "slow-storage")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to bring the data near."""
    return advice(__doc__ or "", "Copy the data to a local disk once, packed into few files")


CAUSE = Cause(
    title="Reading the data does not come back",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)
