"""The processor runs at a lower clock speed than at first, because it is hot.

Why it is slow: a chip that cannot get rid of its heat, or has used up its power budget, lowers its
clock. Everything takes longer by the same factor, and nothing in the script has changed.

How it shows: the clock speed falls by a tenth or more from the first part of the run to the last
and goes on falling or stays there; a step takes longer by about as much; no part of the step grows
more than the others; other programs do not take the cores.

Example:
    model.fit(x, y, epochs=500)  # on a laptop on a blanket

Use instead:
    model.fit(x, y, epochs=500)  # on a hard table, plugged in

Fix class: show only. Give the machine air and power, clean its fans, choose another power profile,
or another machine. A lower load (a smaller batch) only spreads the heat.

When it is wrong: a governor that saves power lowers the clock of a core that has nothing to do;
so it counts only where steps get slower, too. Virtual machines and containers often do not show
the clock; then this is not checked. The clock of a GPU is `gpu-throttled`.
"""

from __future__ import annotations

import dataclasses

from quickfit import units
from quickfit.causes._cause import Cause, example
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.drift_places import certain, cost_share, gain, ruled_out, slower

# A governor wanders by a few percent; a hot chip loses more.
MIN_FALL = 0.10
# What the clock explains of the slower step, at least.
MIN_SHARE = 0.5


def detect(signals: Signals) -> Finding | None:
    """Report a clock that falls while steps get slower and no part of them stands out."""
    clock = signals.drift.component("clock")
    slow = signals.slowdown
    if slow is None or slow.unit != "step" or slow.why not in ("unknown", "machine"):
        return None
    fall = 1 - clock.last / clock.first if clock.first > 0 else 0.0
    others = next((one for one in slow.measured if one.name == "others"), None)
    if fall < MIN_FALL or (others is not None and others.growth > 0.12 * signals.machine_cores):
        return None
    explained = (clock.first / clock.last - 1) / (slow.last_s / slow.first_s - 1)
    if explained < MIN_SHARE:
        return None
    slow = dataclasses.replace(slow, share=min(explained, 1.0))
    return Finding(
        summary="the processor lowers its clock speed: it is hot, or short of power",
        where=None,
        evidence=(
            Evidence(
                "of its clock speed the processor lost",
                fall,
                "share",
                f"{clock.first / 1e9:.1f} GHz at first, {clock.last / 1e9:.1f} GHz at the end",
            ),
            Evidence("times as long is a step", slow.last_s / slow.first_s, "factor", slower(slow)),
        ),
        gain=gain(slow, signals),
        cost_share=cost_share(slow, signals),
        not_found=(*ruled_out(slow), certain(slow)),
        is_of_machine=True,
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say that it is not the script."""
    lost = units.share(finding.evidence[0].value)
    return Fix(
        title="Give the machine air and power, or choose another power profile",
        kind=FixClass.SHOW_ONLY,
        example=example(__doc__ or "", "Use instead"),
        note=f"Nothing in the script is at fault; the clock is {lost} lower than at first.",
    )


CAUSE = Cause(
    title="The processor lowers its clock",
    symptom=Symptom.SLOWING_DOWN,
    detect=detect,
    fix=fix,
)
