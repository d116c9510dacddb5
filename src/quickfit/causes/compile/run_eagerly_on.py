"""The train step runs eagerly: every operation is started from Python, one by one.

Why it is slow: `run_eagerly=True` and `tf.config.run_functions_eagerly(True)` are for debugging.
Each of the hundreds of operations of a step is looked up, checked and started by Python, and
nothing is fused or run side by side.

How it shows: the model or TensorFlow says that it runs eagerly, and stack samples find the main
thread in Python code between operations for a large part of the step.

Example:
    model.compile(optimizer="adam", loss="mse", run_eagerly=True)

Use instead:
    model.compile(optimizer="adam", loss="mse")

Fix class: may change results. The same mathematics in another order: losses agree to rounding,
not to the last bit. Python side effects in a `train_step` (prints, counters) then run only while
it is traced.

When it is wrong: a model of few, very large operations spends its time inside them, and eager
mode costs it little. Then nothing is reported.
"""

from __future__ import annotations

import os

from quickfit.causes._cause import Cause, example
from quickfit.findings import Evidence, Finding, Fix, FixClass, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain_of_removing
from quickfit.signals.host import SampledStack
from quickfit.source.calls import call_at, without_keyword

# Below a tenth of the step time the gain is smaller than the noise between runs.
MIN_PYTHON_SHARE = 0.10
# Samples inside the step that make a share more than chance.
MIN_SAMPLES = 20
# A compiled step saves the Python between operations; beyond that, operations run side by side.
SAVED = (0.7, 1.0)


def detect(signals: Signals) -> Finding | None:
    """Report eager steps whose Python part is worth saving."""
    facts = signals.loop.facts
    if not (facts.get("run_eagerly") or facts.get("functions_run_eagerly")):
        return None
    python_share, samples = _python_share(signals)
    call_share = signals.steps.mean_of("call_s") / signals.steps.mean_s
    share = python_share * call_share
    if samples < MIN_SAMPLES or share < MIN_PYTHON_SHARE:
        return None
    cpu_share = min(signals.steps.mean_of("cpu_s") / signals.steps.mean_s, 1.0)
    return Finding(
        summary="the train step runs eagerly, one operation at a time from Python",
        where=_place(signals),
        evidence=(
            Evidence(
                "of the step is Python between operations",
                python_share,
                "share",
                f"{samples} samples of the main thread",
            ),
            Evidence(
                "of the step the main thread computes",
                cpu_share,
                "share",
                "a compiled step leaves it waiting",
            ),
        ),
        gain=gain_of_removing(
            min(share, 0.95),
            low=SAVED[0],
            high=SAVED[1],
            basis="the Python between operations is gone in a compiled step",
        ),
        cost_share=share,
        claims=("step",),
    )


def _python_share(signals: Signals) -> tuple[float, int]:
    """Return the share of samples inside the step that are not inside an operation."""
    inside = [stack for stack in signals.main_stacks() if _is_in_step(stack)]
    total = sum(stack.seen for stack in inside)
    in_operation = sum(stack.seen for stack in inside if _is_in_operation(stack))
    return (1 - in_operation / total if total else 0.0), total


def _is_in_step(stack: SampledStack) -> bool:
    return any(frame.function == "one_step_on_data" for frame in stack.frames)


def _is_in_operation(stack: SampledStack) -> bool:
    """Tell whether the innermost Python frame is one that hands over to TensorFlow's C++."""
    leaf = stack.frames[0]
    file = os.path.basename(leaf.file)
    return file.startswith("gen_") or (file == "execute.py" and leaf.function == "quick_execute")


def _place(signals: Signals) -> Location | None:
    facts = signals.loop.facts
    name = "compile" if facts.get("run_eagerly") else "run_functions_eagerly"
    if facts.get("functions_run_eagerly") and "run_functions_eagerly_file" in facts:
        name = "run_functions_eagerly"
    place = signals.location(facts.get(f"{name}_file"), facts.get(f"{name}_line"))
    return place or signals.loop.location


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Remove `run_eagerly=True` from the call of `compile`."""
    before = after = ""
    if finding.where is not None:
        text = signals.source_text(finding.where.file)
        call = call_at(text, finding.where.line, "compile")
        edit = without_keyword(text, call, "run_eagerly") if call is not None else None
        before, after = edit or ("", "")
    return Fix(
        title="Let Keras compile the train step",
        kind=FixClass.MAY_CHANGE_RESULTS,
        before=before,
        after=after,
        example="" if before else example(__doc__ or "", "Use instead"),
        note="Prints and counters inside a train_step then run only once, while it is traced.",
    )


CAUSE = Cause(title="The train step runs eagerly", symptom=Symptom.SLOW, detect=detect, fix=fix)
