"""Looking at the model takes as long as a good part of its training.

Why it is slow: validation, `evaluate` and `predict` calls run the model as training does, and the
training waits meanwhile.

How it shows: they take three tenths of the run or more, and no other cause explains it. Less is
in proportion.

Example:
    for epoch in range(100):
        model.fit(x, y, epochs=1)
        score = model.evaluate(all_of_the_data_x, all_of_the_data_y)

Use instead:
    for epoch in range(100):
        model.fit(x, y, epochs=1)
        if epoch % 10 == 9:
            score = model.evaluate(sample_x, sample_y, batch_size=256)

Fix class: show only. Validate less often, on fewer data, or with larger batches: weights do not
depend on it, but what early stopping sees does.

When it is wrong: a script that is there to evaluate a model does just that.
"""

from __future__ import annotations

from quickfit.account import loop_account
from quickfit.causes._cause import Cause
from quickfit.causes._shared.large_node import (
    finding_of_loop,
    loop_part,
    share_of_run,
    time_evidence,
)
from quickfit.findings import AccountNode, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals

# From here on it is out of proportion, as `validation-dominates` has it.
MIN_SHARE = 0.30


def detect(signals: Signals) -> Finding | None:
    """Report validation in a training, or a loop beside it that only looks at the model."""
    if not signals.loop.trains:
        return _looking_loop(signals)
    nodes = [node for name in ("validation", "looks") if (node := loop_part(signals, name))]
    largest = max(nodes, key=lambda node: node.seconds, default=None)
    if largest is None:
        return None
    return _finding(signals, largest, f"{largest.label} takes much of the training")


def _looking_loop(signals: Signals) -> Finding | None:
    """Report a loop that does not train, in a script that does."""
    loop = loop_account(signals)
    trains = any(other.trains for other in signals.loops)
    largest = max(loop.children, key=lambda node: node.seconds) if loop and loop.children else None
    if loop is None or largest is None or not trains or largest.name != "step":
        return None
    return _finding(signals, largest, f"`{loop.label}` beside the training takes much of the run")


def _finding(signals: Signals, node: AccountNode, summary: str) -> Finding | None:
    share = share_of_run(signals, node)
    if share < MIN_SHARE:
        return None
    evidence = (
        Evidence("of the run looks at the model", min(share, 1.0), "share"),
        time_evidence(node, "in looking at it"),
    )
    return finding_of_loop(signals, node, summary, node.where or signals.loop.location, evidence)


CAUSE = Cause(
    title="Validation takes much of the time",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix("Validate less often, on fewer data, or in larger batches", FixClass.SHOW_ONLY),
    is_general=True,
)
