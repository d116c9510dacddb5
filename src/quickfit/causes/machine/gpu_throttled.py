"""A GPU that computes runs at a lower clock than it could, because it is hot or short of power.

Why it is slow: a card that cannot get rid of its heat, or is given less power than it needs, lowers
its clock. Every kernel takes longer by about the same factor, and nothing in the script is at
fault.

How it shows: in at least half of the readings in which the GPU was busy, the driver names heat, or
the protection of the hardware, as the reason for a lower clock; and its clock is a tenth or more
below the highest one. For the limit of power alone, which many cards reach, a quarter.

Example:
    model.fit(x, y, epochs=500)  # on a card whose fan is full of dust

Use instead:
    model.fit(x, y, epochs=500)  # on a cool card, at the power it was built for

Fix class: show only. Clean fans, give the machine air, look at the power limit with
`nvidia-smi -q -d PERFORMANCE,POWER`, and raise it with `sudo nvidia-smi -pl WATTS` if it was
lowered.

When it is wrong: the highest clock is that of a card with little to do; under a full load many
stay some percent below it, which does not count. A clock that was set lower on purpose is another
reason, and not reported.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.gpus import GpuUse

# In fewer of the readings it is a moment, not the run.
MIN_SHARE = 0.5
# Cards under full load stay a few percent below their highest clock.
MIN_LOST, MIN_LOST_BY_POWER = 0.10, 0.25


def detect(signals: Signals) -> Finding | None:
    """Report the GPU whose clock is lowest for a reason that the driver names."""
    found = [(use, _reason(use)) for use in signals.gpus]
    slowed = [(use, reason) for use, reason in found if reason and use.clock_share]
    if not slowed:
        return None
    use, (reason, share) = min(slowed, key=lambda one: one[0].clock_share or 1.0)
    clock = use.clock_share or 1.0
    # Kernels that wait for memory do not get faster with the clock.
    most = 1 / clock
    gain = Gain(1.0, 1 + (most - 1) / 2, most, "its highest clock; memory keeps its own")
    heat = f", {use.temperature_c:.0f} °C at most" if use.temperature_c is not None else ""
    return Finding(
        summary=f"GPU {use.number} lowers its clock: {reason}",
        where=None,
        evidence=(
            Evidence(
                "of its highest clock the GPU lost while it was busy",
                1 - clock,
                "share",
                f"{use.readings} readings{heat}",
            ),
            Evidence("of these readings the driver gives that reason", share, "share"),
        ),
        gain=gain,
        cost_share=(1 - 1 / gain.likely) * (use.busy_share or 0.0),
        is_of_machine=True,
    )


def _reason(use: GpuUse) -> tuple[str, float] | None:
    """Return why the clock is low enough to matter, and how often the driver said so."""
    lost = 1 - (use.clock_share or 1.0)
    if lost >= MIN_LOST and (use.hot_share or 0.0) >= MIN_SHARE:
        return "it is hot", use.hot_share or 0.0
    if lost >= MIN_LOST and (use.braked_share or 0.0) >= MIN_SHARE:
        return "the hardware is protected from heat or too little power", use.braked_share or 0.0
    if lost >= MIN_LOST_BY_POWER and (use.power_share or 0.0) >= MIN_SHARE:
        return "it has reached its limit of power", use.power_share or 0.0
    return None


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say that it is not the script."""
    return Fix(
        title="Give the card air and power",
        kind=FixClass.SHOW_ONLY,
        example=example(__doc__ or "", "Use instead"),
        note="See why: nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE",
    )


CAUSE = Cause(title="The GPU lowers its clock", symptom=Symptom.SLOW, detect=detect, fix=fix)
