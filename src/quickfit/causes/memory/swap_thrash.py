"""Memory does not fit: the system moves it to the disk and back while steps wait.

Why it is slow: when programs use more memory than there is, pages are written to swap and read
again when they are touched. A page takes a microsecond in memory and a millisecond from a disk.
Near the limit of a container the same happens with the pages of programs and files.

How it shows: pages go to and from swap all the time, this process has faults that wait for the
disk, tasks wait for memory for a share of the time, and the cores are idle meanwhile. No machine
with swap was at hand when this was written: it is tested with readings that were made up.

Example:
    ds = ds.map(decode).cache().shuffle(500_000).batch(256)

Use instead:
    ds = ds.shuffle(2_000).map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(64)

Fix class: show only. Less must be in memory at once: a smaller shuffle buffer, no cache of decoded
images, a smaller batch, fewer workers; or stop the other program that takes the memory.

When it is wrong: what lies in swap and is not touched does no harm, and nothing is reported
without pages that move and steps that wait for them.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals
from quickfit.signals.machine import MachineUse

# Less than this in and out of swap is tidying up, not thrashing.
MIN_SWAPPED_BYTES_PER_S = 1_000_000
# Without swap, a container this full throws pages of files away and reads them again.
MIN_FULL_SHARE = 0.95
# Faults of this process that wait for the disk: each takes a tenth of a millisecond or more.
MIN_FAULTS_PER_S = 20
# Share of the time in which some task waited for memory; below, it is not what limits.
MIN_PRESSURE = 0.10
# Cores in use, as a share: a step that computes is not waiting for pages.
MAX_BUSY_SHARE = 0.75
# How much of the waiting goes with more memory.
REMOVED = (0.4, 0.8, 1.0)
# Pages fetched from the disk per second, and memory moved, that leave a run no time for work.
MIN_LIVE_FAULTS_PER_S = 200.0
MIN_LIVE_SWAPPED_BYTES_PER_S = 5e6


def detect(signals: Signals) -> Finding | None:
    """Report steps that wait for memory to come back from the disk."""
    machine = signals.machine
    if machine.major_faults_per_s is None or machine.memory_pressure is None:
        raise SignalMissing("page faults and the pressure on memory")
    is_moving = (machine.swapped_bytes_per_s or 0.0) >= MIN_SWAPPED_BYTES_PER_S
    if not is_moving and not _is_full(signals):
        return None
    if machine.major_faults_per_s < MIN_FAULTS_PER_S or machine.memory_pressure < MIN_PRESSURE:
        return None
    if machine.cpu_cores > MAX_BUSY_SHARE * signals.cores:
        return None
    share = min(machine.memory_pressure, 0.95)
    low, likely, high = (1 / max(1 - part * share, 0.05) for part in REMOVED)
    return Finding(
        summary="memory is moved to the disk and back while steps wait",
        where=None,
        evidence=_evidence(signals, machine),
        gain=Gain(low, likely, high, "nothing waits for memory to come back"),
        cost_share=share,
        is_of_whole=True,
    )


def _is_full(signals: Signals) -> bool:
    memory = signals.memory
    if memory.limit_bytes is None or memory.used_bytes is None:
        return False
    return memory.used_bytes >= MIN_FULL_SHARE * memory.limit_bytes


def _evidence(signals: Signals, machine: MachineUse) -> tuple[Evidence, ...]:
    faults, pressure = machine.major_faults_per_s or 0.0, machine.memory_pressure or 0.0
    busy = f"{machine.cpu_cores:.1f} of {signals.cores:g} cores in use"
    found = [
        Evidence("faults of this run that wait for the disk", faults, "per_s"),
        Evidence("of the time a task waited for memory", pressure, "share", busy),
    ]
    if machine.swapped_bytes_per_s:
        what = "a second go to and from swap, all programs"
        found.append(Evidence(what, machine.swapped_bytes_per_s, "bytes"))
    if machine.swap_bytes:
        found.append(Evidence("of this process lie in swap", machine.swap_bytes, "bytes"))
    return tuple(found)


def show_swapping(scene: Scene) -> Reason | None:
    """Tell of a run whose memory lies in swap."""
    machine = scene.machine
    faults, moved = machine.major_faults_per_s or 0.0, machine.swapped_bytes_per_s or 0.0
    if faults < MIN_LIVE_FAULTS_PER_S or moved < MIN_LIVE_SWAPPED_BYTES_PER_S:
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


CAUSE = Cause(
    title="The machine swaps while steps wait",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(
        title="Hold less in memory at once, or stop what else takes it", kind=FixClass.SHOW_ONLY
    ),
    live=(Mechanism(show_swapping, Proof.WAITING),),
)
