"""Other processes compute on the GPU of this training.

Why it is slow: a GPU runs the kernels of several processes in turns. Each of them waits while the
others compute, and memory that they hold leaves less for a batch.

How it shows: NVIDIA's driver lists processes on the GPU that this run did not start, and they
compute on it for a tenth of the time or more, while the GPU is busy for most of it.

Example:
    # two trainings on one card
    subprocess.Popen(["python", "train_other.py"])
    model.fit(x, y)

Use instead:
    # one card for each
    subprocess.Popen(["python", "train_other.py"], env={**os.environ, "CUDA_VISIBLE_DEVICES": "1"})
    model.fit(x, y)

Fix class: show only. Nothing in the script is at fault: use another card (`CUDA_VISIBLE_DEVICES`),
run one after the other, or end what was left over.

When it is wrong: in a container the driver's numbers of processes are those of the host, and none
of them can be told from this run; then this is not checked. A desktop that draws on the card is
listed apart by the driver and does not count.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause, example
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals

# Below a tenth they cost less than runs differ from each other.
MIN_OTHER_SHARE = 0.10
# As long as the card has time for both, nobody waits.
MIN_BUSY_SHARE = 0.70


def detect(signals: Signals) -> Finding | None:
    """Report the GPU on which other processes compute most."""
    known = [
        use
        for use in signals.gpus
        if use.other_processes is not None and use.busy_share is not None
    ]
    if not known:
        raise SignalMissing("NVML's list of processes on the GPU")
    taken = [
        use
        for use in known
        if use.other_processes
        and (use.other_busy_share or 0.0) >= MIN_OTHER_SHARE
        and (use.busy_share or 0.0) >= MIN_BUSY_SHARE
    ]
    if not taken:
        return None
    use = max(taken, key=lambda one: one.other_busy_share or 0.0)
    share, others = use.other_busy_share or 0.0, use.other_processes or 0
    most = 1 / max(1 - share, 0.1)
    gain = Gain(1.0, 1 + (most - 1) / 2, most, "the time that others compute on the card")
    who = "another process computes" if others == 1 else f"{others} other processes compute"
    return Finding(
        summary=f"{who} on GPU {use.number}",
        where=None,
        evidence=(
            Evidence(
                "of the time other processes computed on the GPU",
                share,
                "share",
                f"{use.readings} readings, {units.size(use.other_bytes or 0)} held by them",
            ),
            Evidence("of the time the GPU was busy", use.busy_share or 0.0, "share"),
        ),
        gain=gain,
        cost_share=1 - 1 / gain.likely,
        is_of_machine=True,
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say that it is not the script."""
    return Fix(
        title="Use another card, or one after the other",
        kind=FixClass.SHOW_ONLY,
        example=example(__doc__ or "", "Use instead"),
        note="See who is on it: nvidia-smi",
    )


CAUSE = Cause(title="Others compute on the GPU", symptom=Symptom.SLOW, detect=detect, fix=fix)
