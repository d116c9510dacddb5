"""Takes a training step out of its loop as a compiled function, in the user's names."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.causes._shared.train_loops.compiled_steps import (
    class_of,
    counters,
    is_hashable,
    is_taken,
    is_tensor,
    note_of,
    placed,
)
from quickfit.code import Module
from quickfit.code.compiled_functions import (
    changes_trainable_in,
    classes_derived_from,
    innermost_function,
    is_plain_class,
    is_same_object,
    object_parameters,
    python_only,
)
from quickfit.code.graph_code import GraphCode
from quickfit.code.scopes import (
    Scope,
    first_reads,
    is_called_in_loop,
    is_read_after,
    local_names,
    loops_around,
    parameters,
    scope_of,
    writes,
)
from quickfit.code.syntax import Def, parse_or_none
from quickfit.findings import Change, Edit

TITLE = "Make the step a function and compile it with `tf.function`"
NAMES = ("train_step", "compiled_step")
# A step ends with one of these; what follows stays in the loop.
_LAST = {"apply_gradients", "apply", "assign", "assign_add", "assign_sub", "update_state"}
_APPLIES = {"apply_gradients", "apply", "assign_sub", "assign_add", "assign"}


@dataclass(frozen=True)
class Step:
    """The statements of a loop that become a function.

    Args:
        body: the statements.
        given: what they read that is another in each turn of the loop, or is local.
        returned: what they bind that is read behind them.
        name: what the function is called.
    """

    body: tuple[ast.stmt, ...]
    given: tuple[str, ...]
    returned: tuple[str, ...]
    name: str


def extracted_step(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Move the step around the tape at a line into a compiled function in front of the loop."""
    tape = _tape_at(module, line)
    loop = module.parent(tape) if tape is not None else None
    if tape is None or not isinstance(loop, ast.For) or tape not in loop.body:
        return None
    code, scope = GraphCode(modules), scope_of(module, loop)
    is_apart = isinstance(scope, Def) and is_called_in_loop(module, scope.name)
    step = _step(module, code, loop, tape, is_apart=is_apart)
    if step is None or changes_trainable_in(modules, module, loop):
        return None
    if is_apart and not _has_same_objects(module, step, modules):
        return None
    alias, imports = module.import_of("tensorflow", "tf")
    if imports and is_taken(module, alias):
        return None
    written = _written(module, step, scope, alias, modules if is_apart else None)
    if written is None:
        return None
    return Change(TITLE, *class_of(code), (*imports, *written), note_of(code))


def _has_same_objects(module: Module, step: Step, modules: Sequence[Module]) -> bool:
    """Tell whether models and optimizers that the function would be given are always the same."""
    block = ast.Module(list(step.body), [])
    names = object_parameters(block, step.given)
    loads = [n for n in ast.walk(block) if isinstance(n, ast.Name) and n.id in names]
    return all(is_same_object(modules, module, node) for node in loads)


def _tape_at(module: Module, line: int) -> ast.With | None:
    found = [n for n in module.all(ast.With) if n.lineno <= line <= (n.end_lineno or 0)]
    return found[-1] if found else None


def _step(
    module: Module, code: GraphCode, loop: ast.For, tape: ast.With, *, is_apart: bool
) -> Step | None:
    scope = scope_of(module, loop)
    own = local_names(scope) if isinstance(scope, Def) and is_apart else set()
    inner = writes(loop.target, *loop.body) | own
    body: list[ast.stmt] = []
    after = loop.body[loop.body.index(tape) :]
    for number in range(1, len(after) + 1):
        given = [name for name in first_reads(after[:number]) if name in inner]
        if not code.is_legal(module, after[:number], given):
            break
        if _calls(after[number - 1]) & _LAST:
            body = after[:number]
    bound = writes(*body)
    given = [name for name in first_reads(body) if name in inner]
    leaves = any(isinstance(n, ast.Return) for s in body for n in ast.walk(s))
    if leaves or not _applies(body) or set(given) & (bound | counters(module, tape)):
        return None
    returned = [name for name in sorted(bound) if is_read_after(module, name, body)]
    name = _free_name(code.modules, scope)
    if not name or not _are_tensors(body, returned) or _has_long_text(module, body):
        return None
    given = _in_order([loop, *scope.body], [n for n in given if n != "self"])
    if isinstance(scope, Def):
        first = [n for n in parameters(scope) if n in given]
        given = first + [n for n in given if n not in first]
    return Step(tuple(body), tuple(given), tuple(_in_order(body, returned)), name)


def _calls(node: ast.AST) -> set[str]:
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    return {f.attr for f in calls if isinstance(f, ast.Attribute)}


def _applies(body: Sequence[ast.stmt]) -> bool:
    """Tell whether statements ask for gradients and use them."""
    called = set().union(*map(_calls, body)) if body else set()
    return "gradient" in called and bool(called & _APPLIES)


def _are_tensors(body: Sequence[ast.stmt], names: Sequence[str]) -> bool:
    arguments = ast.arguments([], [], None, [], [], None, [])
    function = ast.FunctionDef("step", arguments, list(body), [])
    return all(is_tensor(ast.Name(name, ast.Load()), function) for name in names)


def _in_order(body: Sequence[ast.stmt], names: Sequence[str]) -> list[str]:
    """Return names in the order in which they are bound."""
    stored = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Name))
    places: dict[str, tuple[int, int]] = {}
    for node in stored:
        if isinstance(node.ctx, ast.Store):
            place = (node.lineno, node.col_offset)
            places[node.id] = min(place, places.get(node.id, place))
    return sorted(names, key=lambda name: places.get(name, (0, 0)))


def _has_long_text(module: Module, body: Sequence[ast.stmt]) -> bool:
    """Tell whether a text runs over lines: moving it to the left would change it."""
    texts = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Constant))
    is_long = any(isinstance(n.value, str | bytes) and n.lineno != n.end_lineno for n in texts)
    return is_long or not all(module.is_alone(s) for s in body)


def _free_name(modules: Sequence[Module], scope: Scope) -> str:
    """Return a name for the function that nothing in the project has."""
    used = set()
    for module in modules:
        for node in ast.walk(module.tree):
            used |= {getattr(node, key, None) for key in ("id", "attr", "name", "arg", "asname")}
    return next((name for name in NAMES if name not in used), "")


def _written(
    module: Module, step: Step, scope: Scope, alias: str, modules: Sequence[Module] | None
) -> tuple[Edit, Edit] | None:
    """Return the edits that add the function and call it.

    All files are `scripts` where the function has to stand apart from the loop; else None.
    """
    is_apart = modules is not None
    outer = module.parent(scope) if isinstance(scope, Def) else None
    is_method = is_apart and isinstance(outer, ast.ClassDef)
    if is_apart and not (isinstance(outer, ast.Module) or is_method):
        return None
    if is_method and isinstance(outer, ast.ClassDef) and not _is_plain(outer, scope, modules or ()):
        return None
    place = scope if is_apart else loops_around(module, step.body[0])[-1]
    owner = "self." if is_method else ""
    call = f"{owner}{step.name}({', '.join(step.given)})"
    call = f"{', '.join(step.returned)} = {call}" if step.returned else call
    called = module.replace_statements(step.body[0], step.body[-1], call)
    assert isinstance(place, ast.stmt)
    function = _function(module, step, alias, is_method=is_method)
    made = placed(module, place, function, is_function=True)
    return (made, called) if called is not None and made is not None else None


def _is_plain(outer: ast.ClassDef, method: Scope, modules: Sequence[Module]) -> bool:
    """Tell whether a class can have another compiled method."""
    names = [a.arg for a in method.args.args[:1]] if isinstance(method, Def) else []
    is_bound = isinstance(method, Def) and not method.decorator_list and names == ["self"]
    is_keyed = all(map(is_hashable, [outer, *classes_derived_from(modules, outer)]))
    return is_bound and is_keyed and is_plain_class(modules, outer)


def _function(module: Module, step: Step, alias: str, *, is_method: bool) -> str:
    first, last = module.begin(step.body[0])[0], module.end(step.body[-1])[0]
    text = textwrap.dedent("\n".join(module.lines[first - 1 : last]))
    given = ["self", *step.given] if is_method else step.given
    lines = [f"@{alias}.function", f"def {step.name}({', '.join(given)}):"]
    lines.append(textwrap.indent(text, "    "))
    if step.returned:
        lines.append(f"    return {', '.join(step.returned)}")
    return "\n".join(lines)


_OPTIMIZER_CALLS = {"apply_gradients", "apply"}
# A longer step is better read in the script.
MAX_LINES = 25


@dataclass(frozen=True)
class OwnStep:
    """From the tape of a step to where its gradients are applied.

    Args:
        text: these statements.
        given: the names in them that are others in each turn of the loop.
        python: calls in them that cannot be traced.
        model, optimizer, loss: what the script calls these; the loss may be unknown.
    """

    text: str
    given: tuple[str, ...]
    python: tuple[str, ...]
    model: str
    optimizer: str
    loss: str


def own_step(text: str, line: int) -> OwnStep | None:
    """Return the step around the tape at a line; None where it is not plain to see."""
    tree = parse_or_none(text)
    if tree is None:
        return None
    body = _from_tape_to_apply(tree, line)
    calls = [node for each in body for node in ast.walk(each) if isinstance(node, ast.Call)]
    applied = next((c for c in calls if _method(c) in _OPTIMIZER_CALLS), None)
    asked = next((c for c in calls if _method(c) == "gradient" and len(c.args) > 1), None)
    variables = asked.args[1] if asked is not None else None
    if asked is None or applied is None or not isinstance(variables, ast.Attribute):
        return None
    assert isinstance(applied.func, ast.Attribute)
    model, optimizer = ast.unparse(variables.value), ast.unparse(applied.func.value)
    owners = {model.split(".")[0], optimizer.split(".")[0]}
    given = [name for name in first_reads(body) if name in _changing(tree, line) - owners]
    lines = text.split("\n")[body[0].lineno - 1 : body[-1].end_lineno]
    return OwnStep(
        textwrap.dedent("\n".join(lines)),
        tuple(given),
        tuple(python_only(*body)),
        model,
        optimizer,
        asked.args[0].id if isinstance(asked.args[0], ast.Name) else "",
    )


def _from_tape_to_apply(tree: ast.Module, line: int) -> list[ast.stmt]:
    """Return the statements from the `with` at a line to the one that applies gradients."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            lines = [s.lineno for s in block] if isinstance(block, list) else []
            if isinstance(block, list) and line in lines:
                after = block[lines.index(line) :]
                applies = [n for n, each in enumerate(after) if _optimizer_call(each)]
                return after[: applies[0] + 1] if applies else []
    return []


def _optimizer_call(statement: ast.stmt) -> bool:
    return any(
        isinstance(n, ast.Call) and _method(n) in _OPTIMIZER_CALLS for n in ast.walk(statement)
    )


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _changing(tree: ast.Module, line: int) -> set[str]:
    """Return the names that are bound in the loops around a line, or by the function around it."""
    function = innermost_function(tree, line)
    around = [
        node
        for node in ast.walk(tree if function is None else function)
        if isinstance(node, ast.For | ast.While) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    given = function.args if function is not None else None
    own = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)} if given else set()
    return writes(*around) | own - {"self"}


def render_step(step: OwnStep, tf: str) -> str:
    """Return the step as a compiled function, and the call of it; empty if it is too long."""
    lines = step.text.split("\n")
    if step.python or len(lines) > MAX_LINES:
        return ""
    given, loss = ", ".join(step.given), step.loss
    call = f"train_step({given})"
    return "\n".join(
        [
            f"@{tf}.function",
            f"def {call}:",
            *(f"    {line}" if line else "" for line in lines),
            *([f"    return {loss}"] if loss else []),
            "",
            "# in the loop, in place of these lines",
            f"{loss} = {call}" if loss else call,
        ]
    )


def render_split(step: OwnStep, tf: str) -> str:
    """Return what to compile of a step that holds code which cannot be traced."""
    model, optimizer, loss = step.model, step.optimizer, step.loss or "loss"
    variables = f"{model}.trainable_variables"
    return "\n".join(
        [
            f"forward = {tf}.function({model})  # in the loop, without a tape",
            "",
            f"@{tf}.function(reduce_retracing=True)",
            "def train_step(inputs, targets):  # tensors that hold all turns of the loop",
            f"    with {tf}.GradientTape() as tape:",
            f"        outputs = {model}(inputs)",
            f"        {loss} = ...  # from `outputs` and `targets`, with operations only",
            f"    grads = tape.gradient({loss}, {variables})",
            f"    {optimizer}.apply_gradients(zip(grads, {variables}))",
            f"    return {loss}",
        ]
    )
