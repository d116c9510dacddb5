"""The train step runs eagerly: every operation is started from Python, one by one.

Why it is slow: `run_eagerly=True` and `tf.config.run_functions_eagerly(True)` are for debugging.
Each of the hundreds of operations of a step is looked up, checked and started by Python, and
nothing is fused or run side by side.

How it shows: the model or TensorFlow says that it runs eagerly, and a short count of operations
finds that Python and starting them take a large part of the step.

Example:
    model.compile(optimizer="adam", loss="mse", run_eagerly=True)

Use instead:
    model.compile(optimizer="adam", loss="mse")

Fix class: equivalent. The same mathematics in another order: losses agree to rounding, not to the
last bit. Python side effects in a `train_step` (prints, counters) then run only while it is
traced; code that needs them, or the values of tensors, is not edited.

When it is wrong: a model of few, very large operations spends its time inside them, and eager
mode costs it little. Then nothing is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.large_node import loop_part
from quickfit.errors import SourceError
from quickfit.findings import Effect, Finding, Fix, FixClass, Location, Spotted, Symptom
from quickfit.fixes.change import Change
from quickfit.fixes.keras_calls import compiled_step
from quickfit.fixes.script import Project
from quickfit.patterns.eager import asked_for, is_needed, switched_on, without_argument
from quickfit.program import Module, Program, name_of
from quickfit.program.purposes import is_for_tests
from quickfit.signals import Signals
from quickfit.signals.eager import eager_step
from quickfit.source.calls import call_at, without_keyword
from quickfit.source.keywords import keyword_of

# A few operations are counted over a few steps; a smaller share than this is within their noise.
MIN_SHARE = 0.20
# Starting operations keeps the main thread busy; if it mostly waits, the operations are the limit.
MIN_BUSY_SHARE = 0.40
# Never tell of a fix that would gain less.
MIN_GAIN = 1.05


def detect(signals: Signals) -> Finding | None:
    """Report eager steps that a compiled step would beat."""
    if not signals.is_eager:
        return None
    step = eager_step(signals)
    if step.share < MIN_SHARE or step.busy_share < MIN_BUSY_SHARE:
        return None
    found = step.gain("the large operations stay; starting each one from Python goes")
    if found.likely < MIN_GAIN:
        return None
    summary, where = "the train step runs eagerly, one operation at a time from Python", None
    if _needs_values(signals):
        summary = "the train step needs values of tensors, so that all of it runs eagerly"
        where = _own_line(signals)
    return Finding(
        summary=summary,
        where=where or _place(signals),
        evidence=step.evidence(),
        gain=found,
        cost_share=step.share,
        claims=("step",),
    )


def _needs_values(signals: Signals) -> bool:
    """Tell whether code of the step takes values out of tensors: it cannot just be compiled."""
    file = signals.loop.facts.get("compile_file")
    if not isinstance(file, str) or not signals.source_text(file):
        return False
    program = Program([], {name: signals.source_text(name) for name in signals.source_files()})
    try:
        module = program.module(file)
    except SourceError:
        return False
    return any(is_needed(program, module, call) for call, _, _ in asked_for(program, module))


def _own_line(signals: Signals) -> Location | None:
    """Return the line of the script that an eager step is at most, beside Keras's own work."""
    loop, node = signals.loop.location, loop_part(signals, "step")
    own = (
        child.where
        for child in (node.children if node is not None else ())
        if child.where is not None and (loop is None or child.where.short != loop.short)
    )
    return next(own, None)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report what surely makes every step run eagerly."""
    if is_for_tests(module):
        return
    for call, place, value in asked_for(program, module):
        needed = is_needed(program, module, call)
        named = f" (`{place.code(value)}` is True)" if not isinstance(value, ast.Constant) else ""
        yield _spotted(
            place,
            value,
            f"`run_eagerly=True` starts every operation of a step from Python{named}",
            change=_change(module, call, value) if not needed else None,
            is_hint=needed,
        )
    for node in switched_on(program, module):
        called = name_of(node.func) if isinstance(node, ast.Call) else "run_eagerly = True"
        said = f"{called}(True)" if isinstance(node, ast.Call) else called
        yield _spotted(
            module,
            node,
            f"`{said}` starts every operation of a step from Python",
            is_hint=is_needed(program, module, node),
        )


def _change(module: Module, call: ast.Call, value: ast.expr) -> Change | None:
    """Return the change of a call that has `True` for its argument itself."""
    is_own = any(value is each for each in (*call.args, *(k.value for k in call.keywords)))
    if not is_own or not isinstance(value, ast.Constant):
        return None
    edit = without_argument(module, call, value)
    return Change("Let Keras compile the train step", FixClass.EQUIVALENT, (edit,))


def _spotted(
    module: Module,
    node: ast.AST,
    summary: str,
    *,
    change: Change | None = None,
    is_hint: bool = False,
) -> Spotted:
    said = summary + ("; code of the step needs the values of tensors" if is_hint else "")
    return Spotted(module.span(node), said, Effect.SLOW, change=change, is_hint=is_hint)


def _place(signals: Signals) -> Location | None:
    facts = signals.loop.facts
    name = "compile" if facts.get("run_eagerly") else "run_functions_eagerly"
    if facts.get("functions_run_eagerly") and "run_functions_eagerly_file" in facts:
        name = "run_functions_eagerly"
    place = signals.location(facts.get(f"{name}_file"), facts.get(f"{name}_line"))
    if place is None or name != "compile":
        return place or signals.loop.location
    call = call_at(signals.source_text(place.file), place.line, "compile")
    given = keyword_of(call, "run_eagerly") if call is not None else None
    return signals.location(place.file, given.lineno) if given is not None else place


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Remove `run_eagerly=True` from the call of `compile`, or the call that turns it on."""
    before = after = ""
    if _needs_values(signals):
        return Fix(
            title="Write this code with operations on whole tensors, without `.numpy()`; then the"
            " step can be compiled",
            kind=FixClass.SHOW_ONLY,
            note="Removing `run_eagerly=True` alone would end in an error.",
        )
    if finding.where is not None and "run_functions_eagerly" in finding.where.text:
        return Fix(
            title="Remove the call that makes every function run eagerly",
            kind=FixClass.EQUIVALENT,
            before=finding.where.text,
            note="Prints and counters inside a train_step then run only once, while it is traced.",
        )
    if finding.where is not None:
        text = signals.source_text(finding.where.file)
        call = call_at(text, finding.where.line, "compile")
        edit = without_keyword(text, call, "run_eagerly") if call is not None else None
        before, after = edit or ("", "")
    return Fix(
        title="Let Keras compile the train step",
        kind=FixClass.EQUIVALENT,
        before=before,
        after=after,
        example="" if before else example(__doc__ or "", "Use instead"),
        note="Prints and counters inside a train_step then run only once, while it is traced.",
    )


def changes(finding: Finding, signals: Signals, project: Project) -> list[Change]:
    """Remove what turns eager execution on, where no code of the step needs it."""
    facts = signals.loop.facts

    def place(name: str) -> tuple[str, int] | None:
        found = signals.location(facts.get(f"{name}_file"), facts.get(f"{name}_line"))
        return (found.file, found.line) if found is not None else None

    change = compiled_step(
        project,
        place("compile") if facts.get("run_eagerly") else None,
        place("run_functions_eagerly") if facts.get("functions_run_eagerly") else None,
    )
    return [change] if change is not None else []


CAUSE = Cause(
    title="The train step runs eagerly",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
)
