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

from quickfit.causes._cause import Cause, silence_finding
from quickfit.code.lines import loop_around
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals

# A graph grows by a Python loop: this many operations, for this long, at one loop.
MIN_OPERATIONS = 5000
MIN_TRACING_S = 10.0


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "python-loop-unrolled")


def show_unrolled_loop(scene: Scene) -> Reason | None:
    """Tell of a Python loop that is written into a graph turn by turn."""
    tracing = scene.tracing
    if tracing is None or tracing.place is None or tracing.operations < MIN_OPERATIONS:
        return None
    place = tracing.place
    loop = loop_around(scene.sources.get(place.file, ""), place.line)
    lasted_s = scene.at_s - tracing.since_s
    if loop is None or lasted_s < MIN_TRACING_S:
        return None
    return Reason(
        cause="python-loop-unrolled",
        summary=f"a Python loop in `{tracing.name}` is unrolled while it is traced:"
        f" {tracing.operations:,} operations so far",
        where=scene.at(place.file, loop.lineno),
        evidence=(
            Evidence("operations in the graph", tracing.operations, "count"),
            Evidence("more every second", tracing.per_s, "per_s", f"at line {place.line}"),
        ),
        advice="Loop over a tensor (`for i in tf.range(n):`, `tf.while_loop`, `tf.scan`), which"
        " becomes one loop of the graph.",
        is_certain=True,
        moves=True,
    )


CAUSE = Cause(
    title="A Python loop is unrolled into a huge graph",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Loop over a tensor instead of a Python range", FixClass.SHOW_ONLY),
    live=(Mechanism(show_unrolled_loop, Proof.COUNTED),),
)
