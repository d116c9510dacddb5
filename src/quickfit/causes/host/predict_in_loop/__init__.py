"""`model.predict` is called again and again for a few rows.

Why it is slow: `predict` is made for large inputs. Every call builds a dataset, traces its
functions, opens an iterator and drops it again: tens of milliseconds, while the model itself needs
less than one for a few rows. Memory grows as well.

How it shows: one line calls `predict` often, a call takes milliseconds by the clock, a tenth of
the training thread's samples or more lies inside it, and most of these are not in the model, nor
wait for its rows; that is so when even the high end of what these may take is less than half.

Example:
    for state in states:
        action = model.predict(state[None], verbose=0).argmax()

Use instead:
    forward = tf.function(model)
    for state in states:
        action = forward(state[None]).numpy().argmax()

Fix class: equivalent. The same numbers to rounding. `predict` returns NumPy arrays and runs the
model in batches of 32; a direct call returns a tensor and takes all rows at once. Rows that are
known beforehand are best predicted by a single call of `predict` for all of them.

When it is wrong: with many rows per call, the model takes the time and the call costs little.
Then nothing is reported. `predict_on_batch` builds no dataset and is not meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.keras_objects import is_one_row
from quickfit.causes.host.predict_in_loop.edit import call_itself, predictions
from quickfit.code import Module, Program
from quickfit.code.conditions import draws, is_for_tests, never_runs, shows_live, waits_for_someone
from quickfit.code.keras_models import is_model, model_of
from quickfit.code.loops import (
    Turns,
    is_given_new_in_turn,
    is_kept_over_turns,
    is_many,
    turns_around,
)
from quickfit.code.syntax import LOOPS, argument, name_of
from quickfit.errors import SignalMissing
from quickfit.findings import Change, Effect, Evidence, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain, is_at_least, share_interval
from quickfit.signals.keras_calls import (
    MAX_ROWS_HIGH,
    MIN_PREDICTIONS,
    PredictLine,
    PredictSamples,
    predict_line,
    predict_samples,
)

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# The clock must agree: half of what the samples say, or more.
MIN_AGREEMENT = 0.5
# A loop of which only the text is known is over many rows from here on.
MANY_TURNS = 20
# What a direct call takes besides the model: called eagerly (a few operations per layer, more
# of them in a deep model), compiled, and compiled with arguments that need no conversion.
DIRECT_S = (5e-3, 0.5e-3, 0.2e-3)


def detect(signals: Signals) -> Finding | None:
    """Report the line that calls `predict` most, when the calls and not the model take the time."""
    line = predict_line(signals)
    if line is None or line.calls < MIN_PREDICTIONS:
        return None
    seen = predict_samples(signals.main_stacks(), line.location)
    if not seen.total:
        raise SignalMissing("samples of the training thread")
    within = share_interval(seen.share, seen.total)
    if not is_at_least(MIN_SHARE, seen.share, within, "samples inside `predict`"):
        return None
    window_s = signals.steps.end_s - signals.steps.begin_s
    low, high = seen.rows_interval
    if line.all_s < MIN_AGREEMENT * seen.share * window_s or seen.rows_share > MAX_ROWS_HIGH:
        return None
    if not seen.is_overhead:
        raise SignalMissing(
            f"more samples inside `predict`, for what its model takes: {low:.0%} to {high:.0%}"
            " so far"
        )
    # By samples for all lines together, so that it also holds where calls lie outside the steps.
    # Samples taken in Python see too much of the model, so at best it is next to nothing.
    is_native = bool(signals.process.facts.get("samples_native"))
    least = share_interval(seen.model_share, seen.inside)[0] if is_native else 0.0
    stay = (seen.rows_share if seen.is_of_few_rows else high, seen.model_share, least)
    kept = [min(s + d / line.call_s, 1.0) for s, d in zip(stay, DIRECT_S, strict=True)]
    shares = (seen.share - seen.spread, seen.share, min(seen.share + 2 * seen.spread, 1.0))
    after = [1.0 - share * (1.0 - part) for share, part in zip(shares, kept, strict=True)]
    basis = "the model runs by itself: called eagerly at worst, compiled once at best"
    return Finding(
        summary="`predict` is called for a few rows at a time"
        if seen.is_of_few_rows
        else "most of each call of `predict` is setting it up, not the model",
        where=line.location,
        evidence=_evidence(line, seen),
        gain=gain(1.0, (after[0], after[1], after[2]), basis),
        cost_share=seen.share * (1.0 - kept[1]),
        claims=_claims(signals),
        is_of_whole=True,
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every `predict` of one row in a loop over many."""
    if is_for_tests(module):
        return
    for call in module.calls("predict"):
        model = model_of(program, module, call)
        around = turns_around(program, module, call) if model is not None else []
        if model is None or not around or not _is_per_row(program, module, call, around):
            continue
        if not is_kept_over_turns(program, module, model, around[0]):
            continue  # a model of its own in each turn
        name, loop = module.code(model), around[0]
        where = f"in {loop.module.path.rsplit('/', 1)[-1]} " if loop.module is not module else ""
        yield Spotted(
            where=module.span(call),
            summary=f"`{name}.predict` is called for one row in each turn of the loop {where}"
            f"at line {loop.line}: every call sets up a data pipeline of its own",
            effect=Effect.SLOW,
            related=((loop.module.span(loop.loop), "the loop"),) if loop.calls else (),
            change=call_itself(module, call, program) if is_model(program, module, model) else None,
            # A camera gives as many pictures as it does, and the calls may keep up.
            is_hint=any(shows_live(each.loop) for each in around),
        )


def _is_per_row(program: Program, module: Module, call: ast.Call, around: list[Turns]) -> bool:
    rows, inner = argument(call, "x", 0), around[0]
    if rows is None or not is_many(program, around, MANY_TURNS):
        return False
    if draws(inner.loop) or waits_for_someone(program, inner.module, inner.loop):
        return False
    if is_round_of_training(program, inner) or never_runs(program, module, call):
        return False
    return is_one_row(program, module, rows) and is_given_new_in_turn(program, module, rows, inner)


def _evidence(line: PredictLine, seen: PredictSamples) -> tuple[Evidence, ...]:
    return (
        Evidence("per call of `predict`", line.call_s, "s", f"timed {line.timed} times"),
        Evidence(
            "of the training thread's samples are inside `predict`",
            seen.share,
            "share",
            f"{seen.inside} of {seen.total}",
        ),
        Evidence(
            "of these are in the model or wait for its rows",
            seen.rows_share,
            "share",
            "the rest builds and drops a dataset",
        ),
    )


def _claims(signals: Signals) -> tuple[str, ...]:
    """Return the parts the calls lie in; the functions of the dataset are traced in each."""
    if signals.loop.kind == "fit":
        return ("looks", "validation", "callbacks", "epoch_callbacks", "fit_calls", "tracing")
    if signals.loop.facts.get("head") == "predict":
        return ("looks", "step", "tracing")
    return ("looks", "validation", "tracing")


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Predict all rows at once where they are known; else call the model itself."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    return predictions(module, where.line, program)


_FITS = ("fit", "fit_generator")
_STEPS = frozenset(("train_on_batch", "apply_gradients", "train_step", "GradientTape", "fit"))


def is_round_of_training(program: Program, around: Turns) -> bool:
    """Tell whether each turn of a loop trains for long: what is done once beside it is cheap."""
    module, loop = around.module, around.loop
    inside = [n for n in ast.walk(loop) if isinstance(n, ast.Call)]
    fits = [c for c in inside if name_of(c.func) in _FITS and _is_plain_part(module, c, loop)]
    if any(not _is_one_row(program, module, call) for call in fits):
        return True
    return any(name_of(c.func) in _STEPS and _is_deeper(module, c, loop) for c in inside)


def _is_plain_part(module: Module, call: ast.Call, loop: ast.AST) -> bool:
    """Tell whether every turn of a loop runs a call once: no condition, no loop between them."""
    above = module.parent(call)
    while above is not None and above is not loop:
        if isinstance(above, (ast.If, ast.IfExp, *LOOPS)):
            return False
        above = module.parent(above)
    return True


def _is_one_row(program: Program, module: Module, call: ast.Call) -> bool:
    rows = argument(call, "x", 0)
    return rows is not None and is_one_row(program, module, rows)


def _is_deeper(module: Module, node: ast.AST, loop: ast.AST) -> bool:
    above = module.parent(node)
    while above is not None and above is not loop:
        if isinstance(above, LOOPS):
            return True
        above = module.parent(above)
    return False


CAUSE = Cause(
    title="predict is called in a loop",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    advice=Fix(
        title="Call the compiled model itself, or `predict` once for all rows",
        kind=FixClass.EQUIVALENT,
        note="Make `tf.function(model)` once, outside the loop.",
    ),
    changes=changes,
)
