"""The run is not stuck: one step computes, and takes very long.

Why it is slow: Keras's bar moves once per step. A step with a huge batch, a large model on a CPU,
or many batches in one call (`steps_per_execution`) may take minutes, in which nothing is seen.

How it shows: the main thread is inside a compiled function of TensorFlow, at least half a core is
busy, and no input, lock, read or tracing explains the silence. How long the longest step before
took is told beside it.

Example:
    model.compile("adam", loss="mse", steps_per_execution=500)
    model.fit(x, y, batch_size=4096)

Use instead:
    model.compile("adam", loss="mse", steps_per_execution=20)
    model.fit(x, y, batch_size=64)

Fix class: shown only. Another batch size changes how the model learns; a number of
`steps_per_execution` does not.

When it is wrong: a compiled function that never ends looks the same from outside, for as long as
it uses the CPU. A step that stands still without using it is not called slow.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "slow-step")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to make a step shorter."""
    return advice(__doc__ or "", "Make the work of one step smaller, or wait")


CAUSE = Cause(
    title="Not stuck: one step takes long",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)
