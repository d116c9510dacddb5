"""A callback takes much of the training, in a way that no other cause describes.

Why it is slow: hooks of callbacks run on the main thread, between two steps or two epochs. The
model waits until they are done.

How it shows: the hooks of one callback take a tenth of the run or more, by the clock. The line is
the one inside the callback that most samples of the main thread were at.

Example:
    class Projections(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.points = slow_projection(self.model.predict(self.images))

Use instead:
    class Projections(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch % 10 == 9:
                self.points = slow_projection(self.model.predict(self.images[:500]))

Fix class: show only. Do the work less often, on fewer data, or after the training.

When it is wrong: a callback that the training needs as it is costs what it costs. Then the line
still says what to make faster.
"""

from __future__ import annotations

import dataclasses

from quickfit.causes._cause import Cause
from quickfit.causes._shared.large_node import finding_of_loop, loop_part, time_evidence
from quickfit.findings import AccountNode, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals

# Keras's own are there in every run, and those that save count as saving.
NOT_THE_USERS = ("History", "ProgbarLogger", "ModelCheckpoint", "BackupAndRestore")


def detect(signals: Signals) -> Finding | None:
    """Report the callback that takes most, at its slowest line."""
    nodes = [
        node for name in ("callbacks", "epoch_callbacks") if (node := loop_part(signals, name))
    ]
    found = [
        finding
        for node in nodes
        for child in node.children
        if not child.label.startswith(NOT_THE_USERS)
        if (finding := _finding(signals, node, child))
    ]
    return max(found, key=lambda finding: finding.cost_share, default=None)


def _finding(signals: Signals, node: AccountNode, child: AccountNode) -> Finding | None:
    each_s = child.seconds / child.count if child.count else child.seconds
    evidence = [
        time_evidence(child, "in this callback"),
        Evidence("each time", each_s, "s", f"{child.count} times"),
    ]
    found = finding_of_loop(
        signals, child, f"`{child.label}` takes much of the training", child.where, evidence
    )
    return dataclasses.replace(found, claims=(node.name,)) if found is not None else None


CAUSE = Cause(
    title="A callback takes much of the time",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix("Let the callback work less often, or on fewer data", FixClass.SHOW_ONLY),
    is_general=True,
)
