"""A function is traced again and again, or into a huge graph, and that takes much of the run.

Why it is slow: TensorFlow runs a `tf.function` as Python once for every new kind of arguments, to
build a graph, and optimises the graph when it first runs. That takes as long as hundreds of
steps. Once per function is normal.

How it shows: one function was traced three times or more, and tracing took a tenth of the run or
more, by the clock. Or one trace took that long, its graph has thousands of operations, and most
of what your own lines took of it was inside a Python loop over a `range`: every turn is written
into the graph.

Example:
    for rate in learning_rates:
        @tf.function
        def train_step(x, y):
            return update(model, x, y, rate)

        run_epoch(train_step)

Use instead:
    @tf.function
    def train_step(x, y, rate):
        return update(model, x, y, rate)

    for rate in learning_rates:
        run_epoch(lambda x, y: train_step(x, y, tf.constant(rate)))

Or, where a model is compiled again:
    generator.compile("adam", loss)  # each model once, with the layers it trains
    discriminator.compile("adam", loss)
    for round in range(rounds):
        discriminator.train_on_batch(images, labels)
        generator.train_on_batch(noise, labels)

Or, where a loop of Python makes the graph large:
    def call(self, x):
        return keras.layers.RNN(self.cell)(x)  # or tf.scan, tf.while_loop, for t in tf.range(n)

Fix class: show only. Define the function once, and give it tensors of one shape and type.

When it is wrong: a search or a cross validation that builds another model in every round has to
trace each of them. Models are counted, and what each needs is left out: one trace to train, and one
to validate.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict

from quickfit.causes._cause import Cause, advice, example
from quickfit.causes._shared.large_node import finding_of_loop, gain_without, loop_part
from quickfit.code.lines import unrolled_loop
from quickfit.findings import AccountNode, Evidence, Finding, Fix, FixClass, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.keras_calls import count_models

# A function for training and one for validation may share their code; a third trace is again.
MIN_TRACES = 3
# Setting up the graph of a trace takes up to this part of the trace: it took two thirds with
# recurrent layers. Never more than this share of the time goes.
SETUP, MOST = 0.7, 0.98
# A graph of so many operations is no layer written once.
MIN_OPERATIONS = 5000
# This part of what the script's own lines take of a trace is inside one loop; the gradients of the
# loop are made elsewhere, and take up to four times as long.
MIN_LOOP_SHARE, MIN_TRACE_SHARE = 0.7, 0.2
UNROLLED = "a Python loop is unrolled into a huge graph"
# What Keras calls its own functions for a step.
KERAS_FUNCTIONS = ("`one_step_on_data`", "`one_step_on_iterator`", "`multi_step_on_iterator`")


def detect(signals: Signals) -> Finding | None:
    """Report the function whose repeated traces take most."""
    node = loop_part(signals, "tracing")
    children = node.children if node is not None else ()
    again = [c for c in children if c.count - _needed(signals, c) >= MIN_TRACES - 1]
    if node is None:
        return None
    if not again:
        return _unrolled(signals, node)
    function = again[0]
    seconds = function.seconds * (1 - _needed(signals, function) / function.count)
    repeated = dataclasses.replace(function, name="tracing", seconds=seconds, low_s=seconds)
    evidence = (
        Evidence("traces of one function", function.count, "count", function.detail),
        Evidence("in tracing and compiling it", function.seconds, "s", where=function.where),
    )
    summary = f"{function.label}, takes much of the training"
    found = finding_of_loop(signals, repeated, summary, function.where, evidence)
    if found is None:
        return None
    # A new graph is also set up when it first runs, inside the step.
    most = min((1 + SETUP) * found.cost_share, MOST)
    basis = "a tenth, half or all of this time goes away, at best with setting the graphs up"
    gained = dataclasses.replace(found.gain, high=1 / (1 - most), basis=basis)
    return dataclasses.replace(found, gain=gained)


def _unrolled(signals: Signals, node: AccountNode) -> Finding | None:
    """Report the Python loop that makes a graph, traced no more often than needed, a large one."""
    rows = signals.recorded_process.rows("traces")
    large = [r for r in rows if r["loop"] == signals.loop.id and r["ops"] >= MIN_OPERATIONS]
    seconds: dict[Location, float] = defaultdict(float)
    total_s = own_s = 0.0
    for row in large:
        stacks = signals.stack_clock.between(
            row["at_s"] - row["duration_s"], row["at_s"], wanted=lambda *_: True
        )
        for stack in stacks:
            total_s += stack.seconds
            frame = next((frame for frame in stack.frames if frame.is_user), None)
            if frame is None or frame.line == row["caller_line"]:
                continue
            own_s += stack.seconds
            line = unrolled_loop(signals.source_text(frame.file), frame.line)
            where = signals.location(frame.file, line) if line is not None else None
            if where is not None:
                seconds[where] += stack.seconds
    where = max(seconds, key=lambda place: seconds[place], default=None)
    least_s = max(MIN_LOOP_SHARE * own_s, MIN_TRACE_SHARE * total_s)
    if where is None or seconds[where] < least_s:
        return None
    operations = max(row["ops"] for row in large)
    evidence = (
        Evidence("operations in the graph", operations, "count"),
        Evidence("in tracing and compiling", node.seconds, "s"),
        Evidence("of the trace is in this loop", seconds[where] / total_s, "share", where=where),
    )
    found = finding_of_loop(signals, node, UNROLLED, where, evidence)
    if found is None:
        return None
    gained = gain_without(found.cost_share)
    basis = "a tenth, half or all of this time goes away: the body is traced once"
    return dataclasses.replace(found, gain=dataclasses.replace(gained, basis=basis))


def _needed(signals: Signals, function: AccountNode) -> int:
    """Return how many traces of a function are needed.

    One; of Keras's for each model one to train, and one of the same name to validate.
    """
    if not function.label.startswith(KERAS_FUNCTIONS):
        return 1
    process = signals.recorded_process
    models = count_models([row for row in process.rows("loops") if row["kind"] == "fit"])
    is_validated = any(row["validation_s"] for row in process.rows("epochs"))
    return max(models, 1) * (2 if is_validated else 1)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say what to try; Keras makes its train functions anew when a model is compiled."""
    if finding.summary == UNROLLED:
        return Fix(
            title="Make it one loop of the graph",
            kind=FixClass.SHOW_ONLY,
            example=example(__doc__ or "", "Or, where a loop of Python makes the graph large"),
        )
    if finding.summary.startswith(KERAS_FUNCTIONS):
        return Fix(
            title="Call `compile()` once, before the loop",
            kind=FixClass.SHOW_ONLY,
            example=example(__doc__ or "", "Or, where a model is compiled again"),
        )
    return advice(__doc__ or "", "Define the function once, and keep the kinds of its arguments")


CAUSE = Cause(
    title="A function is traced again and again",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    is_general=True,
)
