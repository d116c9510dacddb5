"""A training loop written by hand runs its step eagerly: every operation is started from Python.

Why it is slow: outside a `tf.function`, Python looks up, checks and starts each of the hundreds of
operations of a step, and the optimizer's for every weight. Nothing is fused or run side by side.

How it shows: the loop asks a `GradientTape` for gradients, or applies them, outside any compiled
function; a short count of operations finds that Python and starting them take a large part of the
step; and the main thread is busy for most of it.

Example:
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

Use instead:
    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

Fix class: may change results. The same mathematics in another order: losses agree to rounding,
not to the last bit. Python side effects in the step (prints, counters, `float(loss)`) then run
only while it is traced: keep them in the loop. So must code that cannot be traced, such as an
environment's `step` or NumPy: then only the forward pass, the gradient and the update are compiled.

When it is wrong: a model of few, very large operations spends its time inside them, and an eager
loop costs it little. Then nothing is reported.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.train_loops.compiled_steps import compiled_step
from quickfit.causes.compile.missing_tf_function.edit import (
    OwnStep,
    extracted_step,
    own_step,
    render_split,
    render_step,
)
from quickfit.causes.compile.missing_tf_function.text import eager_steps
from quickfit.code import Module, Program
from quickfit.code.compiled_functions import (
    function_around,
    is_a_step,
    is_in_loop,
    python_only,
    tape_line,
)
from quickfit.code.conditions import is_for_tests, never_runs
from quickfit.code.lines import module_alias
from quickfit.findings import (
    MIN_GAIN,
    Change,
    Effect,
    Finding,
    Fix,
    FixClass,
    Location,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.compiling import EagerStep, eager_step
from quickfit.signals.loops import Call

# A few operations are counted over a few steps; a smaller share than this is within their noise.
MIN_SHARE = 0.20
# Starting operations keeps the main thread busy; if it mostly waits, the operations are the limit.
MIN_BUSY_SHARE = 0.40
# What a function that is traced once must be given.
ARGUMENTS = (
    "Give it tensors (`tf.convert_to_tensor`): a Python number or list is traced again for every"
    " value."
)


def detect(signals: Signals) -> Finding | None:
    """Report an eager step of a hand-written loop that a compiled one would beat."""
    loop = signals.loop
    if loop.kind != "custom" or not loop.trains or not loop.facts.get("eager_loop"):
        return None
    gradient, apply = _longest(signals, "gradient"), _longest(signals, "apply")
    call = gradient or apply
    if call is None:
        return None
    # Without an eager gradient only the optimizer runs eagerly; the rest is compiled.
    at_most_s = None if gradient else call.wall_s / call.calls
    step = eager_step(signals, at_most_s=at_most_s)
    if step.share < MIN_SHARE or step.busy_share < MIN_BUSY_SHARE:
        return None
    where = _place(call, signals)
    basis = "the large operations stay; starting each one from Python goes"
    own = own_step(signals.source_text(where.file), where.line) if where and gradient else None
    if own is not None and own.python:
        step = _where_python_stays(step, signals)
        basis = "at worst the gradient and the update alone are compiled, at best the whole step"
    found = step.gain(basis)
    if found.likely < MIN_GAIN:
        return None
    what = "the train step" if gradient else "the optimizer"
    return Finding(
        summary=f"{what} runs eagerly, one operation at a time from Python",
        where=where,
        evidence=step.evidence(),
        gain=found,
        cost_share=step.share,
        claims=("step",),
    )


def _where_python_stays(step: EagerStep, signals: Signals) -> EagerStep:
    """Return a step whose forward pass is mixed with code that cannot be traced.

    Its gradient and update can be compiled as they are; the forward pass has to be taken apart.
    """
    steps = signals.steps
    mine = [c for c in signals.calls if c.loop == signals.loop.id and c.calls]
    timed_s = sum(c.wall_s / c.calls for c in mine if c.kind in ("gradient", "apply"))
    part = min(timed_s / steps.mean_s, 1.0)
    worst_s, whole_s, _ = step.after_s
    worst_s = min(max((1 - part) * step.step_s + part * worst_s, worst_s), step.step_s)
    return dataclasses.replace(step, after_s=(worst_s, math.sqrt(worst_s * whole_s), whole_s))


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report train steps that no `tf.function` compiles; those that may need Python are hints."""
    if is_for_tests(module):
        return
    for found in eager_steps(program, module):
        if never_runs(program, module, found.tape):
            continue
        loop = found.around
        yield Spotted(
            where=module.span(found.tape),
            summary="nothing compiles this train step: in every turn of the loop at line "
            f"{loop.line}, Python starts its operations one by one",
            effect=Effect.SLOW,
            related=((loop.module.span(loop.loop), "the loop"),) if loop.calls else (),
            is_hint=not found.is_certain,
        )


def _longest(signals: Signals, kind: str) -> Call | None:
    """Return the line of the loop that takes longest in such calls; `calls` is in that order."""
    mine = (c for c in signals.calls if c.loop == signals.loop.id and c.kind == kind and c.calls)
    return next(mine, None)


def _place(call: Call, signals: Signals) -> Location | None:
    where = call.location
    if where is None or call.kind != "gradient":
        return where
    line = tape_line(signals.source_text(where.file), where.line)
    return signals.location(where.file, line) or where


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Compile the function that holds the tape, where it is one step."""
    note = "Prints and counters in the step then run only once, while it is traced."
    where = finding.where
    if where is not None:
        text = signals.source_text(where.file)
        function = function_around(text, where.line)
        if function is None or is_in_loop(function, where.line):
            step = own_step(text, where.line)
            if step is not None:
                return _own_fix(step, module_alias(text, "tensorflow", "tf"))
        elif not is_a_step(function, where.line) and python_only(function):
            names = ", ".join(f"`{name}`" for name in python_only(function))
            note = f"Take {names} out of the step first: they need values, not tensors."
    return Fix(
        title="Compile the step with `tf.function`",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=note,
    )


def _own_fix(step: OwnStep, tf: str) -> Fix:
    """Show which part of the step to compile, in the user's names."""
    title, note = "Compile the part from the tape to the optimizer", ARGUMENTS
    if step.python:
        names = ", ".join(f"`{name}`" for name in step.python)
        title = "Compile the forward pass, and the update by itself"
        note = f"{names} cannot be traced: {'it stays' if len(step.python) == 1 else 'they stay'}"
        note += f" in the loop. Keep there what the loss needs. {ARGUMENTS}"
    return Fix(
        title=title,
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=render_step(step, tf) or render_split(step, tf),
        note=note,
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Compile the step, as the function that it is or as a new one."""
    where, modules = finding.where, program.modules()
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    found = compiled_step(module, where.line, modules)
    found = found or extracted_step(module, where.line, modules)
    return [found] if found is not None else []


CAUSE = Cause(
    title="A hand-written step runs eagerly",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
)
