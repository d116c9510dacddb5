"""Saving models and checkpoints takes much of the run.

Why it is slow: the training waits until a model is written. Writing takes longer the larger the
model and its optimizer's state, and the slower the disk.

How it shows: a tenth of the run or more is inside `save` and its like, by the clock, and no other
cause explains it.

Example:
    for epoch in range(50):
        model.fit(ds, epochs=1)
        model.save(f"runs/model_{epoch}.keras")

Use instead:
    for epoch in range(50):
        model.fit(ds, epochs=1)
        if epoch % 10 == 9:
            model.save_weights("runs/newest.weights.h5")

Fix class: show only. Save less often, weights only, or to a faster disk.

When it is wrong: on a machine that may be taken away at any time, saving often is what it costs.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause
from quickfit.causes._shared.large_node import (
    finding_of_loop,
    finding_of_run,
    loop_part,
    run_part,
    share_evidence,
    time_evidence,
)
from quickfit.findings import AccountNode, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals

SUMMARY = "saving takes much of the run"


def detect(signals: Signals) -> Finding | None:
    """Report saves in the training, or between and after its loops."""
    node = loop_part(signals, "checkpoint")
    found = None
    if node is not None:
        evidence = _evidence(signals, node)
        found = finding_of_loop(signals, node, SUMMARY, node.where, evidence)
    return found or _around(signals)


def _around(signals: Signals) -> Finding | None:
    parts = [run_part(signals, name) for name in ("between_loops", "after_training")]
    nodes = [c for part in parts if part is not None for c in part.children if c.name == "saving"]
    if not nodes:
        return None
    largest = max(nodes, key=lambda node: node.seconds)
    evidence = _evidence(signals, largest)
    return finding_of_run(signals, nodes, "saving", SUMMARY, largest.where, evidence)


def _evidence(signals: Signals, node: AccountNode) -> list[Evidence]:
    evidence = [share_evidence(signals, node.seconds), time_evidence(node, "in saving")]
    saves = [call for call in signals.calls if call.kind == "save"]
    count = sum(call.calls for call in saves)
    longest_s = max((call.longest_s for call in saves), default=0.0)
    if count:
        evidence.append(Evidence("longest of its calls", longest_s, "s", f"{count} calls"))
    return evidence


CAUSE = Cause(
    title="Saving takes much of the time",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix("Save less often, or weights only", FixClass.SHOW_ONLY),
    is_general=True,
)
