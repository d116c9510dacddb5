"""Python of the script between the steps takes much of the training.

Why it is slow: between two steps the model waits. Whatever the script does there by itself
(preparing a batch, logging, bookkeeping, another computation) is added to each step; what it does
between two epochs (`on_epoch_end` of a PyDataset that reads its files again) to each epoch.

How it shows: a tenth of the run or more lies between the calls of steps, or between two epochs, by
the clock, and the samples of the main thread name the line. Where the main thread hardly computes
meanwhile, that line waits: for a lock, a queue, another thread or process, a network.

Example:
    for images, labels in batches:
        images = np.stack([augment(image) for image in images])
        model.train_on_batch(images, labels)

Use instead:
    ds = tf.data.Dataset.from_tensor_slices((all_images, all_labels)).batch(32)
    ds = ds.map(augment_batch, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    model.fit(ds)

Or, between epochs:
    def __init__(self, path):
        super().__init__()
        self.x, self.y = read(path)  # once
        self.order = np.arange(len(self.x))

    def on_epoch_end(self):
        np.random.shuffle(self.order)

Or, where it waits for another thread:
    with lock:
        rows, pending = pending, []  # no longer than needed
    write(rows)

Fix class: show only. Move the work into the input pipeline, into the compiled step, or out of the
loop.

When it is wrong: an environment or a simulator that the training needs at every step (as in
reinforcement learning) is not overhead. The line then says what to make faster.
"""

from __future__ import annotations

import contextlib
import dataclasses

from quickfit.causes._cause import Cause, advice, example
from quickfit.causes._shared.large_node import (
    NOT_PYTHON,
    finding_of_loop,
    finding_of_run,
    line_evidence,
    loop_part,
    run_part,
    share_evidence,
    time_evidence,
)
from quickfit.errors import SignalMissing
from quickfit.findings import AccountNode, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.compiling import delay_share, main_cpu_s

# A main thread that computes for less of such time than this waits for something else.
MAX_COMPUTING_SHARE = 0.3
WAITS = "the script waits between the steps for much of the training"


def detect(signals: Signals) -> Finding | None:
    """Report the line between the steps, or between the loops, that takes most."""
    found = [
        *(_between_steps(signals), _between_epochs(signals)),
        *(_eager_step(signals), _between_loops(signals)),
    ]
    known = [finding for finding in found if finding is not None]
    return max(known, key=lambda finding: finding.gain.likely, default=None)


def _between_steps(signals: Signals) -> Finding | None:
    node = loop_part(signals, "between")
    if node is None:
        return None
    where = node.where or signals.loop.location
    each_s = node.seconds / node.count if node.count else node.seconds
    evidence = [
        time_evidence(node, "in Python between steps"),
        Evidence("between two steps", each_s, "s"),
        *_lines(node),
    ]
    summary, computing = "Python between the steps takes much of the training", None
    with contextlib.suppress(SignalMissing):
        computing = _computing_share(signals, each_s)
    if computing is not None and computing < MAX_COMPUTING_SHARE:
        summary = WAITS
        said = "the rest of it waits for something else"
        evidence.append(
            Evidence("of it the main thread computes, at most", computing, "share", said)
        )
    return finding_of_loop(signals, node, summary, where, evidence)


def _computing_share(signals: Signals, between_s: float) -> float:
    """Return for how much of the time between steps the main thread computed, or had no core."""
    step_s = main_cpu_s(signals) + delay_share(signals) * signals.steps.mean_s
    return min(step_s / between_s, 1.0) if between_s else 1.0


def _between_epochs(signals: Signals) -> Finding | None:
    """Report what the script itself does between two epochs of `fit`."""
    node = loop_part(signals, "epoch_ends")
    if node is None or not node.children:
        return None
    own = dataclasses.replace(
        node,
        seconds=sum(line.seconds for line in node.children),
        low_s=sum(line.low_s for line in node.children),
    )
    evidence = [
        time_evidence(node, "between the steps of two epochs"),
        Evidence("between two epochs", node.seconds / max(node.count, 1), "s"),
        *_lines(node),
    ]
    summary = "Python between the epochs takes much of the training"
    return finding_of_loop(signals, own, summary, node.where, evidence)


def _eager_step(signals: Signals) -> Finding | None:
    """Report the line of the script that an eager step is at most, beside Keras's own work.

    Every operation that a line starts has its gradient computed later, inside the call of Keras.
    """
    node, loop = loop_part(signals, "step"), signals.loop.location
    own = [
        child
        for child in (node.children if node is not None else ())
        if child.name == "eager_line"
        and child.where is not None
        and (loop is None or child.where.short != loop.short)
    ]
    if node is None or not own or _is_counted(signals):
        return None
    share = own[0].seconds / node.seconds
    evidence = (
        time_evidence(node, "in steps that run eagerly, one operation at a time"),
        Evidence("of it at one line of the script", share, "share", own[0].detail, own[0].where),
    )
    claimed = dataclasses.replace(node, low_s=own[0].low_s)
    summary = "the step starts its operations one by one from Python"
    return finding_of_loop(signals, claimed, summary, own[0].where, evidence)


def _is_counted(signals: Signals) -> bool:
    """Tell whether the operations of the step were counted: then other causes know more."""
    return any(row["loop"] == signals.loop.id for row in signals.process.rows("eager_ops"))


def _between_loops(signals: Signals) -> Finding | None:
    node = run_part(signals, "between_loops")
    parts = [c for c in node.children if c.name not in NOT_PYTHON] if node is not None else []
    if not parts or node is None:
        return None
    largest = parts[0]
    evidence = [
        share_evidence(signals, sum(part.seconds for part in parts)),
        time_evidence(largest, f"in Python {node.label}"),
        *_lines(largest),
    ]
    where = largest.where or signals.loop.location
    summary = f"Python {node.label} takes much of the run"
    return finding_of_run(signals, parts, "between_loops", summary, where, evidence)


def _lines(node: AccountNode) -> list[Evidence]:
    line = line_evidence(node)
    return [line] if line is not None else []


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say what to try."""
    if finding.summary == WAITS:
        return Fix(
            title="Hold the lock, or ask the queue or service, no longer than needed",
            kind=FixClass.SHOW_ONLY,
            example=example(__doc__ or "", "Or, where it waits for another thread"),
        )
    if finding.claims == ("epoch_ends",):
        return Fix(
            title="Do this once, before training; between epochs shuffle what is in memory",
            kind=FixClass.SHOW_ONLY,
            example=example(__doc__ or "", "Or, between epochs"),
        )
    return advice(__doc__ or "", "Move this work into the pipeline, or out of the loop")


CAUSE = Cause(
    title="Python between the steps takes much of the time",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    is_general=True,
)
