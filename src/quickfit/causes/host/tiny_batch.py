"""A step has so few examples that its fixed cost is nearly all of its time.

Why it is slow: starting a step, waking TensorFlow's threads and updating the weights cost the same
for one example as for many. With a few examples per step this is paid over and over.

How it shows: eight examples or fewer per step, and a third of the step or more is the CPU time of
the framework's own Python. The time that the main thread is inside a compiled function is not
Python: it runs operations there, or waits for them.

Example:
    model.fit(x, y, batch_size=2)

Use instead:
    model.fit(x, y, batch_size=32)

Fix class: may change results. There are fewer, larger updates per epoch: the learning rate and the
number of epochs may have to grow with the batch, and the final accuracy can differ.

When it is wrong: with a large model or large images the examples take the time, however few they
are; then nothing is reported. Where small batches are wanted for the training itself,
`steps_per_execution` in `compile` lowers the fixed cost and keeps the results.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.account.planned import planned_weight
from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.batch_size import Size, larger_batch
from quickfit.code.compile_settings import steps_in_one_call
from quickfit.code.conditions import is_for_tests
from quickfit.code.keras_models import model_of
from quickfit.code.syntax import argument
from quickfit.errors import SignalMissing
from quickfit.findings import Change, Effect, Evidence, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.step_cost import BatchSize, StepCost, batch_size, fixed_cost

# Twice as many may be chosen for the training's sake, and from 32 on the cost is shared by many.
MAX_EXAMPLES = 8
EXAMPLES_AFTER = 32
# Or so many steps in one call, which keeps the results.
STEPS = 32
# Keras's own two work on batches in every run, and mind nothing.
KERAS_OWN = ("History", "ProgbarLogger")
# Of the step: smaller, and the examples themselves take the time.
MIN_PYTHON_SHARE = 0.30
# While a step waits for input, more examples per step make it wait longer.
MAX_WAIT_SHARE = 0.20
# Which part of the compute grows with the examples. Most of it does not: it is starting
# operations and updating weights. The first is the worst case.
GROWS = (1.0, 0.25, 0.0)
MIN_LOW_GAIN = 1.3
# Of the run as planned, imports and all: less saved is not worth a thought about the batches.
MIN_SAVED_SHARE = 0.10


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Hint at `fit` with one example per step; an RNN that keeps its state may need that."""
    if is_for_tests(module) or "stateful" in module.text:
        return
    for call in module.calls("fit"):
        size = argument(call, "batch_size", 2)
        if size is None or program.literal(module, size) != 1:
            continue
        if model_of(program, module, call) is not None:
            yield Spotted(
                where=module.span(size),
                summary="every step of `fit` learns from one example, and its fixed cost is paid"
                " for each",
                effect=Effect.SLOW,
                is_hint=True,
            )


def detect(signals: Signals) -> Finding | None:
    """Report steps of a few examples that are mostly fixed cost."""
    if signals.loop.kind not in ("fit", "custom") or not signals.loop.trains:
        return None
    if signals.is_eager or signals.loop.facts.get("eager_loop"):
        return None  # starting operations from Python is the larger cost
    cost = fixed_cost(signals)
    if cost.python_share < MIN_PYTHON_SHARE or signals.wait.share > MAX_WAIT_SHARE:
        return None
    batch = batch_size(signals)
    if batch is None:
        raise SignalMissing("the number of examples in a batch")
    if batch.examples > MAX_EXAMPLES:
        return None
    times = EXAMPLES_AFTER / batch.examples
    # The time of as many examples as one step has now.
    after = [
        (cost.calm_s - part * cost.compute_s) / times + part * cost.compute_s for part in GROWS
    ]
    basis = f"{EXAMPLES_AFTER} examples per step share the fixed cost; only one size was seen"
    found = gain(cost.calm_s, (after[0], after[1], after[2]), basis)
    if (
        found.low < MIN_LOW_GAIN
        or (1 - 1 / found.likely) * planned_weight(signals) < MIN_SAVED_SHARE
    ):
        return None
    return Finding(
        summary=f"a step has only {batch.examples} example{'s' if batch.examples > 1 else ''}",
        where=batch.location or signals.loop.location,
        evidence=_evidence(batch, cost),
        gain=found,
        cost_share=min(1 - 1 / found.likely, 1.0),
        claims=("step",),
    )


def _evidence(batch: BatchSize, cost: StepCost) -> tuple[Evidence, ...]:
    return (
        Evidence("examples per step", batch.examples, "count", f"given to `{batch.method}`"),
        Evidence(
            "of the step is the framework's Python",
            cost.python_share,
            "share",
            f"{cost.in_words}; CPU time",
        ),
        Evidence("of CPU time per step in operations", cost.compute_s, "s"),
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Change the number where it is written; or keep it, and run several steps in one call."""
    batch, facts = batch_size(signals), signals.loop.facts
    found: list[Change | None] = []
    if batch is not None and batch.location is not None:
        where, module = batch.location, program.find_module(batch.location.file)
        if module is not None:
            size = Size(batch.method, batch.examples, EXAMPLES_AFTER)
            found.append(larger_batch(module, where.line, size, program))
    compiled = signals.location(facts.get("compile_file"), facts.get("compile_line"))
    module = program.find_module(compiled.file) if compiled is not None else None
    if compiled is not None and module is not None and signals.loop.kind == "fit":
        found.append(_same_batches(module, compiled.line, signals))
    return [change for change in found if change is not None]


def _same_batches(module: Module, line: int, signals: Signals) -> Change | None:
    works_on_batches = any(time.name not in KERAS_OWN for time in signals.callbacks)
    return steps_in_one_call(module, line, STEPS, works_on_batches=works_on_batches)


CAUSE = Cause(
    title="A batch has few examples",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    advice=Fix(
        title=f"Take {EXAMPLES_AFTER} examples per step",
        kind=FixClass.MAY_CHANGE_RESULTS,
        note="Fewer, larger updates: the learning rate may have to grow with the batch."
        " To keep the results, set steps_per_execution=32 in compile() instead, for less gain.",
    ),
    changes=changes,
)
