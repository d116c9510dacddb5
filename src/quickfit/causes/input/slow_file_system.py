"""The data lies on a network drive, a bucket or a shared folder, and the input waits for reads.

Why it is slow: each file that is opened on NFS, SMB, 9p (WSL, virtual machines), a mounted bucket
or Google Drive is one or several round trips to another machine or process. Thousands of small
files are thousands of round trips, during which the CPU is idle.

How it shows: most files that the run reads lie on such a file system, steps wait for input for a
tenth of their time or more, and the threads of the pipeline are busy for less than half of the time
that their stages take: they wait for reads.

Example:
    files = tf.data.Dataset.list_files("/content/drive/MyDrive/photographs/*.jpg")
    ds = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)

Use instead:
    import shutil

    # one large copy, then small reads from a disk of this machine
    shutil.unpack_archive("/content/drive/MyDrive/photographs.zip", "photographs")
    files = tf.data.Dataset.list_files("photographs/*.jpg")
    ds = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)

Fix class: shown only. Where the data does not fit on a local disk, pack it into files of 100 to
200 MB (`quickfit pack`) and read several of them at a time: large reads hide the distance. The gain
is an estimate, because how fast the local disk is was not measured.

When it is wrong: a fast network in a data centre delivers as fast as a disk; then the threads are
busy and this stays silent. A read that does not come back at all is `slow-storage`.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause, waiting, waits_for_input
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Fix, FixClass, Location, Symptom
from quickfit.machine.file_systems import is_remote
from quickfit.signals import Signals
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage
from quickfit.signals.machine import DataFolder

# Most files that were seen open lie there.
MIN_FILES_SHARE = 0.5
# The threads of the pipeline wait for at least half of the time their stages take.
MIN_READ_SHARE = 0.5
# How much of the waiting for reads goes away on a local disk.
REMOVED = (0.3, 0.8, 1.0)
# They hand elements over and read nothing.
HANDS_OVER = ("root", "prefetch", "options", "batch", "shuffle", "repeat", "take", "cache")


def detect(signals: Signals) -> Finding | None:
    """Report the folder elsewhere that a waiting input reads from."""
    folder = _remote_folder(signals.data_folders)
    if folder is None or not waits_for_input(signals):
        return None
    stages = [stage for stage in signals.stages if stage.kind not in HANDS_OVER]
    took_s = sum(stage.work_s for stage in stages)
    read_share = _read_share(signals, took_s)
    if not stages or read_share < MIN_READ_SHARE:
        return None
    work, period_s = signals.work, signals.input_period_s
    cpu_s = took_s * (1 - read_share)
    after = [
        predicted_step_s(
            work,
            input_s=period_s * (1 - read_share * part),
            input_cpu_s=cpu_s,
            cores=work.cores,
        )
        for part in REMOVED
    ]
    basis = "reads from a disk of this machine; estimated, its speed was not measured"
    return Finding(
        summary=f"the data is read from `{folder.folder}`, on {folder.file_system}",
        where=_reading_place(stages),
        evidence=(
            waiting(signals),
            Evidence(
                "of the pipeline's work its threads wait for reads",
                read_share,
                "share",
                f"{units.seconds(took_s)} per step, {units.seconds(cpu_s)} of it on a core",
            ),
            Evidence("files seen open there", folder.files, "count", folder.file_system),
        ),
        gain=gain(signals.steps.mean_s, (after[0], after[1], after[2]), basis),
        cost_share=min(signals.wait.share, 1.0),
        claims=("input_wait",),
    )


def _remote_folder(folders: list[DataFolder]) -> DataFolder | None:
    """Return the folder elsewhere with most files, if most of all files lie elsewhere."""
    remote = [folder for folder in folders if is_remote(folder.file_system)]
    files = sum(folder.files for folder in folders)
    if not remote or sum(folder.files for folder in remote) < MIN_FILES_SHARE * files:
        return None
    return remote[0]


def _read_share(signals: Signals, took_s: float) -> float:
    """Return the share of the stages' time in which no thread of tf.data had, or wanted, a core."""
    machine = signals.machine
    cores = machine.thread_cores.get("tf.data")
    if cores is None:
        raise SignalMissing("the CPU time of tf.data's threads")
    used_s = (cores + machine.thread_delays.get("tf.data", 0.0)) * signals.steps.mean_s
    return max(1 - used_s / took_s, 0.0) if took_s else 0.0


def _reading_place(stages: list[Stage]) -> Location | None:
    """Return the line of the stage that takes longest."""
    placed = [stage for stage in stages if stage.location is not None]
    slowest = max(placed, key=lambda stage: stage.work_s, default=None)
    return slowest.location if slowest is not None else None


CAUSE = Cause(
    title="The input waits for a network or FUSE file system",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix("Copy the data to a disk of this machine, or pack it", FixClass.SHOW_ONLY),
    resource="a file system that is far away",
)
