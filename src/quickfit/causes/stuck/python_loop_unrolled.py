"""A loop over Python values inside a compiled function is written into the graph turn by turn.

Why it is slow: `tf.function` runs your Python once to record operations. A `for` over a `range`, a
list or an array is run by Python: a thousand turns record a thousand copies of the body. Tracing
takes minutes, then the graph is optimised and compiled for minutes more, in which nothing moves
and nothing is printed, and every step is slow to start.

How it shows: a function has been traced for ten seconds or more, its graph has thousands of
operations and grows by the second, and the line that adds them is inside a loop of yours.

Example:
    import tensorflow as tf

    @tf.function
    def simulate(state):
        for i in range(20_000):
            state = state + 0.01 * dynamics(state)
        return state

Use instead:
    import tensorflow as tf

    @tf.function
    def simulate(state):
        for i in tf.range(20_000):  # one loop in the graph
            state = state + 0.01 * dynamics(state)
        return state

Fix class: shown only. In a loop of the graph shapes must stay the same from turn to turn, lists
become `tf.TensorArray`, and `break` depends on tensors. Over the time steps of a sequence use
`keras.layers.RNN` or `tf.scan`.

When it is wrong: a large model has thousands of operations too, and its layers may be added in a
loop. A loop that is over within ten seconds is not named, and one that builds layers is over by
then. The trace ends by itself: it is told as slow to start, not as stuck.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "python-loop-unrolled")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show a loop that stays a loop."""
    return advice(__doc__ or "", "Loop over a tensor instead of a Python range")


CAUSE = Cause(
    title="A Python loop is unrolled into a huge graph",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)
