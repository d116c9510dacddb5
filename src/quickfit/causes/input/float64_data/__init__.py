"""The step computes in double precision (float64).

Why it is slow: a float64 number has twice the bytes of a float32, processors do at most half as
many of them at a time, and TensorFlow's fast kernels are made for float32. Models gain no accuracy
from it. NumPy and pandas make float64 unless they are told otherwise, and variables that are made
to fit the data follow it; `set_floatx("float64")` makes all of Keras so.

How it shows: most matrix products of the compiled step are in float64, and the arithmetic itself,
by the CPU time of TensorFlow's threads, takes a fifth of the step or more.

Example:
    x = np.random.normal(size=(10_000, 512))          # float64
    weights = tf.Variable(tf.random.normal((512, 256), dtype=x.dtype))

Use instead:
    x = np.random.normal(size=(10_000, 512)).astype("float32")
    weights = tf.Variable(tf.random.normal((512, 256)))

Fix class: may change results. Losses agree to about six digits at first and drift apart as any two
trainings do. Where a computation needs more digits (some physics, very long sums), keep float64
for that part only.

When it is wrong: data in float64 alone costs next to nothing: `fit` casts arrays once, and layers
cast their input. Only products in float64 count. A step that mostly waits, or is mostly Python,
gains nothing; neither is reported.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause
from quickfit.causes.input.float64_data.edit import single_data, single_policy
from quickfit.causes.input.float64_data.run import asking_line, compute_s, products
from quickfit.code.program import Program
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain

# A model in single precision may hold a few doubles, in a loss or a metric.
MIN_DOUBLES_SHARE = 0.5
# Below this share of the step, arithmetic is not what it is slow at.
MIN_SHARE = 0.20
# Shorter arithmetic is the starting of operations, which takes as long for any type (measured:
# steps of 0.2 ms gain nothing, of 0.5 ms twofold).
MIN_COMPUTE_S = 0.0005
# What is left of the arithmetic (measured on a CPU): an LSTM, dense layers, convolutions.
LEFT_OVER = (0.5, 0.27, 0.1)


def detect(signals: Signals) -> Finding | None:
    """Report a compiled step whose arithmetic is in float64."""
    loop = signals.loop
    if not loop.trains or loop.kind in ("predict", "evaluate"):
        return None
    if signals.is_eager or loop.facts.get("eager_loop"):
        return None
    if loop.facts.get("variable_dtype", "float64") != "float64":
        return None
    seen = products(signals)
    if seen.share < MIN_DOUBLES_SHARE:
        return None
    step_s, arithmetic_s = signals.steps.mean_s, compute_s(signals)
    share = arithmetic_s / step_s
    if share < MIN_SHARE or arithmetic_s < MIN_COMPUTE_S:
        return None
    limit_s = signals.input_limit_s or 0.0
    after = [step_s - arithmetic_s * (1 - left) for left in LEFT_OVER]
    basis = "the arithmetic in float32, from an LSTM to convolutions as measured on a CPU"
    if limit_s > after[1]:
        basis += "; then the input is the limit"
    after = [max(s, limit_s) for s in after]
    return Finding(
        summary="the step computes in double precision (float64)",
        where=asking_line(signals),
        evidence=(
            Evidence(
                "of the matrix products of the step are in float64",
                seen.share,
                "share",
                f"{seen.doubles} of {seen.total}",
            ),
            Evidence("of arithmetic in each step", arithmetic_s, "s", f"{share:.0%} of the step"),
        ),
        gain=gain(step_s, (after[0], after[1], after[2]), basis),
        cost_share=share * (1 - LEFT_OVER[1]),
        claims=("step",),
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Remove the setting of float64, or make the arrays of the datasets float32."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    change = single_policy(module, where.line, program) or single_data(program)
    return [change] if change is not None else []


CAUSE = Cause(
    title="Computing in double precision",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(
        title="Compute in float32",
        kind=FixClass.MAY_CHANGE_RESULTS,
        note="Rounding differs from the seventh digit on; accuracy does not, in nearly all models.",
    ),
    changes=changes,
)
