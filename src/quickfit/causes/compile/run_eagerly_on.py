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
from quickfit.code.calls import unpack_keyword_dicts
from quickfit.code.compile_settings import EAGER_SETTERS, RUN_EAGERLY, step_without_eager
from quickfit.code.conditions import has_other_way, is_for_looking, is_for_tests, never_runs
from quickfit.code.imports import files_run_together
from quickfit.code.lines import call_on_line, line_of_call
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import argument, is_open, keyword_value, name_of, own_nodes
from quickfit.code.values import Literal, Routine
from quickfit.errors import SourceError
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
from quickfit.signals.compiling import eager_step

# A few operations are counted over a few steps; a smaller share than this is within their noise.
MIN_SHARE = 0.20
# Starting operations keeps the main thread busy; if it mostly waits, the operations are the limit.
MIN_BUSY_SHARE = 0.40


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
            change=_change(program, module, call, value) if not needed else None,
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


def _change(program: Program, module: Module, call: ast.Call, value: ast.expr) -> Change | None:
    """Return the change of a call that has `True` for its argument itself."""
    is_own = any(value is each for each in (*call.args, *(k.value for k in call.keywords)))
    if not is_own or not isinstance(value, ast.Constant):
        return None
    near = [program.find_module(path) for path in files_run_together(program, module.path)]
    modules = [each for each in near if each is not None]
    return step_without_eager(program, (module.path, line_of_call(call)), None, modules)


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
    call = call_on_line(signals.source_text(place.file), place.line, "compile")
    given = keyword_value(call, "run_eagerly") if call is not None else None
    return signals.location(place.file, given.lineno) if given is not None else place


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Remove `run_eagerly=True` from the call of `compile`, or the call that turns it on."""
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
            note="Prints and counters inside a train_step then run only once, while it is traced.",
        )
    return Fix(
        title="Let Keras compile the train step",
        kind=FixClass.EQUIVALENT,
        example=example(__doc__ or "", "Use instead"),
        note="Prints and counters inside a train_step then run only once, while it is traced.",
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Remove what turns eager execution on, where no code of the step needs it."""
    facts = signals.loop.facts

    def place(name: str) -> tuple[str, int] | None:
        found = signals.location(facts.get(f"{name}_file"), facts.get(f"{name}_line"))
        return (found.file, found.line) if found is not None else None

    change = step_without_eager(
        program,
        place("compile") if facts.get("run_eagerly") else None,
        place("run_functions_eagerly") if facts.get("functions_run_eagerly") else None,
    )
    return [change] if change is not None else []


# Code that Keras compiles as part of a step.
_STEP_METHODS = frozenset(("train_step", "test_step", "call", "compute_loss", "update_state"))
_TRAINING = ("fit", "fit_generator", "train_on_batch", "apply_gradients")


def asked_for(program: Program, module: Module) -> Iterator[tuple[ast.Call, Module, ast.expr]]:
    """Yield the calls of `compile` that surely make a model eager, with the argument.

    The argument may stand elsewhere: in a dictionary that a call is given with `**`.
    """
    for call in module.calls("compile"):
        given = argument(call, "run_eagerly", RUN_EAGERLY)
        place = (module, given) if given is not None else _spread(program, module, call)
        if place is None or not is_true(program, *place):
            continue
        if not never_runs(program, module, call) and not _is_a_choice(program, module, call):
            yield call, *place


def _spread(program: Program, module: Module, call: ast.Call) -> tuple[Module, ast.expr] | None:
    """Return `run_eagerly` out of a dictionary with arguments of a Keras model."""
    more = unpack_keyword_dicts(program, module, call) if is_open(call) else None
    return more.get("run_eagerly") if more is not None else None


def _is_a_choice(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether another `compile` takes the place of this one where nobody looks."""
    return is_for_looking(program, module, call) or has_other_way(module, call, "compile")


def is_true(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is True, whatever way leads to it."""
    values = program.values(module, node)
    return bool(values) and all(isinstance(v, Literal) and v.value is True for v in values)


def switched_on(program: Program, module: Module) -> Iterator[ast.AST]:
    """Yield what makes all functions, or a model, eager and is never taken back."""
    calls = module.calls(*EAGER_SETTERS)
    if calls and not _is_taken_back(program, module):
        yield from (c for c in calls if _is_for_good(program, module, c))
    if "run_eagerly" not in module.text:
        return
    for node in module.all(ast.Assign):
        target = node.targets[0]
        is_named = isinstance(target, ast.Attribute) and target.attr == "run_eagerly"
        if not is_named or not is_true(program, module, node.value) or _is_own(target):
            continue
        if not never_runs(program, module, node) and not is_for_looking(program, module, node):
            yield node


def _is_own(target: ast.expr) -> bool:
    """Tell whether an attribute is one of a class of the program itself."""
    assert isinstance(target, ast.Attribute)
    return name_of(target.value) in ("self", "cls", "args", "config", "cfg", "FLAGS")


def _is_taken_back(program: Program, module: Module) -> bool:
    """Tell whether some call gives another value than True, here or in another file."""
    near = files_run_together(program, module.path)
    others = [m for name in EAGER_SETTERS for m in program.files.mentioning(name, module.path)]
    places = [module, *(m for m in dict.fromkeys(others) if m.path in near)]
    return any(not _is_on(program, m, c) for m in places for c in m.calls(*EAGER_SETTERS))


def _is_on(program: Program, module: Module, call: ast.Call) -> bool:
    given = argument(call, "run_eagerly", 0)
    return given is not None and is_true(program, module, given)


def _is_for_good(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a program that trains surely runs such a call."""
    if not program.called(module, call).startswith("tensorflow."):
        return False
    if never_runs(program, module, call) or is_for_looking(program, module, call):
        return False
    function = module.function(call)
    if function is None:
        return module.around(call, ast.ExceptHandler) is None
    trains = any(
        isinstance(n, ast.Call) and name_of(n.func) in _TRAINING for n in own_nodes(function)
    )
    return trains or bool(program.resolver.callers(module, function))


# -- what a step needs ------------------------------------------------------------------------


def is_needed(program: Program, module: Module, node: ast.AST) -> bool:
    """Tell whether code of a step takes values out of tensors, which needs eager execution."""
    if "numpy" not in module.text and "print" not in module.text:
        return _has_needy_loss(program, module, node)
    for call in module.calls("numpy", "item", "tolist"):
        function = module.function(call)
        if isinstance(function, ast.FunctionDef) and function.name in _STEP_METHODS:
            return True
    return _has_needy_loss(program, module, node)


def _has_needy_loss(program: Program, module: Module, node: ast.AST) -> bool:
    """Tell whether a loss or metric that is given to `compile` takes values out of tensors."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    values = [v for name in names for v in program.values(module, name)]
    given = [v.node for v in values if isinstance(v, Routine)]
    calls = [n for function in given for n in own_nodes(function) if isinstance(n, ast.Call)]
    return any(name_of(call.func) in ("numpy", "item", "tolist") for call in calls) or any(
        isinstance(call.func, ast.Attribute) and name_of(call.func.value) in ("np", "numpy")
        for call in calls
    )


CAUSE = Cause(
    title="The train step runs eagerly",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
)
