"""The steps wait for input, and one stage or line of it takes most of that.

Why it is slow: a step cannot begin before its batch is there. The slowest stage of a pipeline,
or the slowest line of a generator, decides how often that is.

How it shows: a tenth of the run or more is spent waiting for input, no other cause explains it,
and tf.data's model or the samples of the input's threads name the stage or line that is slowest.

Example:
    ds = tf.data.TFRecordDataset(files).map(parse).map(decode).map(scale).batch(32)

Use instead:
    ds = tf.data.TFRecordDataset(files).batch(32)
    ds = ds.map(parse_decode_and_scale_batch, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache().prefetch(tf.data.AUTOTUNE)

Fix class: show only. What helps depends on the stage: whole batches instead of single elements,
`num_parallel_calls`, a `cache()` behind it, or doing its work once, before the training.

When it is wrong: input and model share the cores of a machine without an accelerator. There,
input that is made faster leaves the model more of them, and the gain may be smaller or larger.
"""

from __future__ import annotations

import dataclasses

from quickfit import units
from quickfit.causes._cause import Cause, advice
from quickfit.causes._shared.large_node import (
    finding_of_loop,
    line_evidence,
    loop_part,
    share_of_run,
)
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.findings import AccountNode, Evidence, Finding, Fix, Symptom
from quickfit.signals import Signals

# A wait of which more than this lies in the first steps of epochs is one at their start.
AT_STARTS = 0.5


def detect(signals: Signals) -> Finding | None:
    """Report a wait for input at the stage or line that most of it is spent at."""
    node = loop_part(signals, "input_wait")
    if node is None:
        return None
    largest = node.children[0] if node.children else None
    share = share_of_run(signals, node)
    line = line_evidence(node)
    evidence = [
        Evidence("of the run is spent waiting for input", min(share, 1.0), "share"),
        Evidence("of waiting in all", node.seconds, "s", node.limited_by),
        *([line] if line is not None else []),
    ]
    where = node.where or signals.loop.location
    found = finding_of_loop(signals, node, _summary(largest), where, evidence)
    if found is not None and sum(signals.epoch_start_s) > AT_STARTS * node.seconds:
        return dataclasses.replace(found, claims=("epoch_start", "input_wait"))
    return found


def _summary(largest: AccountNode | None) -> str:
    if largest is None:
        return "the steps wait for input"
    if largest.name == "shuffle_fill":
        took = units.seconds(largest.seconds)
        return f"the first step waits {took} for {largest.label}"
    if largest.name == "first_batch":
        return f"the first batch takes {units.seconds(largest.seconds)}"
    if largest.name == "input_stage":
        return f"`{largest.label}` is the slowest stage of an input that the steps wait for"
    return "the steps wait for input that is made at one line"


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say what to try."""
    shown = advice(__doc__ or "", "Make the slowest stage cheaper, parallel, or cached")
    return with_own_sizes(shown, signals)


CAUSE = Cause(
    title="The steps wait for one stage of the input",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    is_general=True,
)
