"""XLA compiles the train step for longer than it can save in the training.

Why it is slow: with `jit_compile` XLA compiles the whole step before it runs it, which takes
seconds to minutes. It does so again for every batch of another shape: a smaller last batch, or
sequences that are padded to the longest of their batch.

How it shows: the step is compiled with XLA; its first step, and steps with a batch of a new shape,
take many times as long as the others, though nothing is traced in them; and together that is a
large part of the whole training as it is planned.

Example:
    model.compile("adam", loss="mse", jit_compile=True)

Use instead:
    model.compile("adam", loss="mse", jit_compile=False)

Fix class: may change results. The same mathematics in another order: losses agree to rounding,
not to the last bit. Batches of one shape (`drop_remainder=True`, padding to a few fixed lengths)
are the other way: XLA then compiles once.

When it is wrong: in a long training one compilation is nothing, and the compiled step is often
faster: what it gains is not known without trying. So one compilation at the start is reported
only where it is a quarter of the whole training, a repeated one from a tenth.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause
from quickfit.code.compile_settings import without_xla
from quickfit.code.program import Program
from quickfit.findings import MIN_GAIN, Change, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.liveness import phases
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals
from quickfit.signals.compiling import Compiled, compiled, is_jit, jit_location, may_change_shape
from quickfit.signals.gains import gain

# One compilation at the start is the price of a faster step; a quarter of the training is too much.
MIN_FIRST_SHARE = 0.25
# Compiling again and again never pays; below a tenth the gain is smaller than the noise.
MIN_AGAIN_SHARE = 0.10
# A smaller last batch is compiled once more; from here the shapes keep changing.
MIN_AGAIN = 3
# The first step without XLA sets up its graph too: this part of XLA's time goes.
FIRST_REMOVED = (0.5, 0.8, 1.0)
# A step without XLA, as a multiple of one with: nobody knows without trying.
STEP_WITHOUT = (1.5, 1.0, 0.9)
# What a step keeps busy at least; on a busy machine it does not get more.
BUSY_CORES = 0.15


def detect(signals: Signals) -> Finding | None:
    """Report compiling that takes a large share of the training."""
    found = compiled(signals) if is_jit(signals) else None
    if found is None:
        return None
    is_again = found.again >= MIN_AGAIN and found.again_s >= MIN_AGAIN_SHARE * found.expected_s
    if is_again and not may_change_shape(signals):
        return None  # other steps are slow too: something else holds them up
    spent_s = found.first_s + found.again_s
    share = spent_s / found.expected_s
    if not is_again and share < MIN_FIRST_SHARE:
        return None
    after = [_after_s(found, *parts) for parts in zip(FIRST_REMOVED, STEP_WITHOUT, strict=True)]
    gained = gain(
        found.expected_s,
        (after[0], after[1], after[2]),
        "without compiling, if a step takes as long without XLA (0.9 to 1.5 times)",
    )
    if gained.likely < MIN_GAIN:
        return None
    pays_after = spent_s / (0.3 * found.step_s)
    return Finding(
        summary="XLA compiles again for every new batch shape"
        if is_again
        else "compiling with XLA takes a large part of this short training",
        where=jit_location(signals),
        evidence=(
            Evidence(
                "of compiling with XLA",
                spent_s,
                "s",
                f"of {found.expected_s:.0f} s in {found.steps:,} steps; steps 1.3 times as fast"
                f" make up for it after {pays_after:,.0f}",
            ),
            Evidence(
                "steps that compiled without a trace",
                found.again,
                "count",
                "batches of another shape" if found.again else "one compilation in all",
            ),
            Evidence(
                "the time of a usual step",
                (spent_s / (found.again + 1)) / found.step_s,
                "factor",
                "for one compilation",
            ),
        ),
        gain=gained,
        cost_share=min(share, 1.0),
        claims=("tracing",) if is_again else ("first_step",),
        is_of_whole=True,
    )


def _after_s(found: Compiled, first_removed: float, step_without: float) -> float:
    steps_s = found.steps * found.step_s
    rest_s = found.expected_s - found.first_s - found.again_s - steps_s
    return max(rest_s, 0.0) + (1 - first_removed) * found.first_s + step_without * steps_s


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Turn XLA off in the call that turns it on."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    change = without_xla(module, where.line, program)
    return [change] if change is not None else []


def show_compiling(scene: Scene) -> Reason | None:
    """Tell of a first call that XLA is still compiling."""
    main, loop = scene.main, scene.loop
    if main is None or scene.compiled is None or not phases.is_executing(main):
        return None
    if (scene.machine.cores or 0.0) < BUSY_CORES:
        return None
    facts = loop.facts if loop is not None else {}
    place = scene.at(facts.get("compile_file"), facts.get("compile_line"))
    return Reason(
        cause="xla-first-compile",
        summary=f"XLA has been compiling a step for {units.seconds(scene.still_s)}",
        where=place or scene.compiled,
        evidence=(
            Evidence("cores busy meanwhile", scene.machine.cores or 0.0, "factor"),
            Evidence("since the function was traced", scene.still_s, "s", "it has not run yet"),
        ),
        advice="It is done once per shape. Leave `jit_compile` out for short runs, and keep"
        " shapes fixed.",
        moves=True,
    )


CAUSE = Cause(
    title="XLA compiles for a large part of the training",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(
        title="Train without XLA, or give every batch the same shape",
        kind=FixClass.MAY_CHANGE_RESULTS,
        note="To keep XLA: `drop_remainder=True` in `batch`, and padding to a few fixed lengths.",
    ),
    changes=changes,
    live=(Mechanism(show_compiling, Proof.COMPUTING),),
)
