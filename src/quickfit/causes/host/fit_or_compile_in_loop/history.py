"""Calls `fit` once, where a loop calls it for each epoch and looks at what it returns."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.causes._shared.train_loops.batch_losses import is_harmless, leaves, metric_keys
from quickfit.causes.host.fit_or_compile_in_loop.edit import epochs_of, fit_code, method_at
from quickfit.code.datasets import is_surely_dataset
from quickfit.code.loops import indent_unit
from quickfit.code.module import Module
from quickfit.code.scopes import dotted, is_read_after, nodes_in_scope, reads, writes
from quickfit.findings import Change, FixClass

TITLE = "Call `fit` once for all epochs, and look at its history afterwards"
NOTE = "The same numbers, for each epoch; what the loop printed comes after the training."
EVALUATED = "`evaluate` becomes the validation of each epoch, on the same data in the same batches."
# The batch size of `evaluate` where none is given.
_BATCH_SIZE = "32"


@dataclass(frozen=True)
class Rounds:
    """A loop that calls `fit` for one epoch in each turn.

    Args:
        history: the name for what `fit` returns; may be empty.
        number: the name for the epoch.
        index: the code of its place in the history.
        rest: what a turn does after `fit` and `evaluate`.
        validation: what `fit` is given for `evaluate`, and the statement that takes its numbers.
    """

    loop: ast.For
    call: ast.Call
    history: str
    number: str
    index: str
    rest: tuple[ast.stmt, ...]
    validation: tuple[tuple[str, ...], str] = ((), "")


def fit_with_history(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Make one `fit` for all epochs, and a loop over its history behind it."""
    found = _rounds(module, line, modules)
    count = (
        epochs_of(module, found.loop, found.call, can_begin_at_one=True)
        if found is not None
        else ""
    )
    body = _body(module, found) if found is not None else None
    if found is None or not count or body is None:
        return None
    name = found.history or ("history" if found.validation[1] else "")
    head = f"{name} = " if name else ""
    fit = fit_code(module, found.call, count, found.validation[0])
    lines = [f"{head}{fit}", f"for {found.number} in {module.code(found.loop.iter)}:", body]
    first = [*module.comments_in(module.statement(found.call))]
    edit = module.replace_statements(found.loop, found.loop, "\n".join([*first, *lines]))
    note = f"{NOTE} {EVALUATED}" if found.validation[1] else NOTE
    return Change(TITLE, FixClass.EQUIVALENT, (edit,), note) if edit is not None else None


def _rounds(module: Module, line: int, modules: Sequence[Module]) -> Rounds | None:
    call = method_at(module, line, "fit")
    statement = module.statement(call) if call is not None else None
    loop = module.parent(statement) if statement is not None else None
    if call is None or statement is None or not isinstance(loop, ast.For):
        return None
    if loop.body[0] is not statement or len(loop.body) < 2:
        return None
    history = ""
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        if len(statement.targets) > 1 or not isinstance(target, ast.Name):
            return None
        history = target.id
    number = _number(module, loop)
    is_from_one = isinstance(loop.iter, ast.Call) and len(loop.iter.args) > 1
    index = f"{number} - 1" if is_from_one else number
    model = dotted(call.func).removesuffix(".fit")
    rest, validation = tuple(loop.body[1:]), ((), "")
    if _evaluation(rest[0], model) is not None:
        made = _validation(module, rest[0], model, call, modules, history or "history", index)
        if made is None or (not history and "history" in reads(module.tree)):
            return None
        rest, validation = rest[1:], made  # type: ignore[assignment]
    if not number or not _is_afterwards(module, loop, rest, model, call):
        return None
    return Rounds(loop, call, history, number, index, rest, validation)


def _number(module: Module, loop: ast.For) -> str:
    """Return the name of the epoch's number, a new one where it has none."""
    name = loop.target.id if isinstance(loop.target, ast.Name) else ""
    if name.strip("_"):
        return name if name not in writes(*loop.body) else ""
    used = {n.id for n in module.all(ast.Name)}
    return "epoch" if name and "epoch" not in used else ""


def _is_afterwards(
    module: Module, loop: ast.For, rest: Sequence[ast.stmt], model: str, call: ast.Call
) -> bool:
    """Tell whether statements can run after all epochs: they need nothing of the model."""
    nodes = [node for statement in rest for node in nodes_in_scope(statement)]
    if any(leaves(node) for node in nodes):
        return False
    if not all(is_harmless(module, n) for n in nodes if isinstance(n, ast.Call)):
        return False
    if any(isinstance(n, ast.Attribute) and dotted(n).startswith(f"{model}.") for n in nodes):
        return False
    if any(isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load) for n in nodes):
        return False
    root = model.partition(".")[0]
    if root in reads(*rest) and root != "self":
        return False
    changed = {dotted(n.func.value) for n in nodes if _is_method(n)}  # type: ignore[attr-defined]
    changed |= {_holder(n) for n in nodes if isinstance(n, ast.Subscript)}
    given = [*call.args, *(k.value for k in call.keywords)]
    fed = {dotted(n) for value in given for n in ast.walk(value) if isinstance(n, ast.expr)}
    texts = [n for s in rest for n in ast.walk(s) if isinstance(n, ast.Constant | ast.JoinedStr)]
    return not (changed - {""}) & fed and not any(n.lineno != n.end_lineno for n in texts)


def _holder(node: ast.Subscript) -> str:
    """Return what `x[0] = ...` changes; nothing where an item is only read."""
    place: ast.expr = node
    while isinstance(place, ast.Subscript):
        place = place.value
    return dotted(place) if not isinstance(node.ctx, ast.Load) else ""


def _is_method(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


def _body(module: Module, found: Rounds) -> str | None:
    """Return what each turn does, with the epoch's own numbers from the history."""
    lines = [found.validation[1]] if found.validation[1] else []
    if found.rest:
        first, last = module.begin(found.rest[0])[0], module.end(found.rest[-1])[0]
        if not module.is_alone(found.rest[0]) or not module.is_alone(found.rest[-1]):
            return None
        text = textwrap.dedent("\n".join(module.lines[first - 1 : last]))
        taken = _of_epoch(text, found)
        if taken is None:
            return None
        lines.append(taken)
    above = module.begin(found.rest[0])[0] if found.rest else module.end(found.loop)[0]
    between = module.lines[module.end(found.loop.body[0])[0] : above - 1]
    if any("#" in row for row in between):
        return None
    if found.history and is_read_after(module, found.history, [found.loop]):
        return None
    indent = indent_unit(module, found.loop.body[0])
    return textwrap.indent("\n".join(lines), indent) if lines else None


def _of_epoch(text: str, found: Rounds) -> str | None:
    """Return a text with the numbers of one epoch; None where the history is used otherwise."""
    if not found.history:
        return text
    uses = [
        n
        for statement in found.rest
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and n.id == found.history
    ]
    # By text: Python before 3.12 does not tell where an expression stands in a formatted string.
    pattern = rf"\b{found.history}\.history\[(['\"])(\w+)\1\]\[(0|-1)\]"
    made, count = re.subn(pattern, rf"{found.history}.history[\1\2\1][{found.index}]", text)
    return made if count == len(uses) else None


# -- evaluate ---------------------------------------------------------------------------------


def _evaluation(statement: ast.stmt, model: str) -> ast.Call | None:
    call = statement.value if isinstance(statement, ast.Assign) else None
    is_own = isinstance(call, ast.Call) and dotted(call.func) == f"{model}.evaluate"
    return call if is_own and isinstance(call, ast.Call) else None


def _validation(
    module: Module,
    statement: ast.stmt,
    model: str,
    fit: ast.Call,
    modules: Sequence[Module],
    history: str,
    index: str,
) -> tuple[tuple[str, ...], str] | None:
    """Return what `fit` is given for an `evaluate`, and the code that takes its numbers."""
    call = _evaluation(statement, model)
    assert call is not None
    assert isinstance(statement, ast.Assign)
    options = {k.arg: k.value for k in call.keywords}
    size = options.pop("batch_size", None)
    options.pop("verbose", None)
    taken = {k.arg or "" for k in fit.keywords}
    given = [v for v in call.args if isinstance(v, ast.Name | ast.Attribute)]
    if options or len(given) != len(call.args) or any("validation" in name for name in taken):
        return None
    code = _given(module, given, size)
    keys, target = metric_keys(modules), statement.targets[0]
    if code is None or not keys or len(statement.targets) > 1:
        return None
    values = [f'{history}.history["val_{key}"][{index}]' for key in keys]
    is_tuple = isinstance(target, ast.Tuple) and len(target.elts) == len(keys) > 1
    is_single = isinstance(target, ast.Name) and len(keys) == 1
    if isinstance(target, ast.Name) and len(keys) > 1:
        return code, f"{target.id} = [{', '.join(values)}]"
    if not is_tuple and not is_single:
        return None
    return code, f"{module.code(target)} = {', '.join(values)}"


def _given(
    module: Module, given: Sequence[ast.expr], size: ast.expr | None
) -> tuple[str, ...] | None:
    """Return the arguments of `fit` for the data of `evaluate`."""
    codes = [module.code(value) for value in given]
    if len(given) == 2:
        rows = module.code(size) if size is not None else _BATCH_SIZE
        return f"validation_data=({codes[0]}, {codes[1]})", f"validation_batch_size={rows}"
    is_data = len(given) == 1 and size is None and is_surely_dataset(module, given[0])
    return (f"validation_data={codes[0]}",) if is_data else None
