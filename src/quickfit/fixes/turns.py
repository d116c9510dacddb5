"""Says when a statement of a loop or of a callback's hook is to run, if not on every turn."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.fixes.change import Edit
from quickfit.fixes.lookup import called, last_name
from quickfit.fixes.script import Script

HOOKS = ("on_train_batch_end", "on_batch_end", "on_epoch_end")


def modulo_of(test: ast.expr) -> ast.expr | None:
    """Return the interval of a test such as `step % 100 == 0` or `not step % 100`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand.right if _is_modulo(test.operand) else None  # type: ignore[attr-defined]
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    is_zero = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value == 0
    is_one = len(test.ops) == 1 and is_zero and _is_modulo(test.left)
    return test.left.right if is_one and isinstance(test.left, ast.BinOp) else None


def _is_modulo(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def turn_test(script: Script, statement: ast.stmt, every: int) -> str | None:
    """Return the test for every n-th turn and, where it is known, the last one of the loop.

    The statement has to stand directly in a loop that counts, or in a hook of a callback.
    """
    parent = script.parent(statement)
    if isinstance(parent, ast.For) and not parent.orelse and statement in parent.body:
        return _of_loop(parent, every)
    if isinstance(parent, ast.FunctionDef) and parent.name in HOOKS:
        names = [arg.arg for arg in parent.args.args][1:]
        is_hook = isinstance(script.parent(parent), ast.ClassDef) and names
        return f"{names[0]} % {every} == {every - 1}" if is_hook and names[0].strip("_") else None
    return None


def under(script: Script, group: Sequence[ast.stmt], test: str) -> Edit | None:
    """Put statements that follow each other, with their comments, under an `if`."""
    first, last = group[0], group[-1]
    inside = [node for statement in group for node in ast.walk(statement)]
    if any(isinstance(n, ast.Constant | ast.JoinedStr) and _spans_lines(n) for n in inside):
        return None  # a text would get more spaces
    if not (script.is_alone(first) and script.is_alone(last)):
        return None
    return deeper(script, first, last, f"if {test}:")


def deeper(script: Script, first: ast.stmt, last: ast.stmt, head: str) -> Edit:
    """Put the lines of some statements under the head of a block."""
    begin, indent = script.begin(first)[0], script.indent(first)
    rows = script.lines[begin - 1 : last.end_lineno]
    begins = indent + unit(script, first)
    body = [begins + row[len(indent) :] if row.startswith(indent) else row for row in rows]
    body = [row if row.strip() else "" for row in body]
    end = (last.end_lineno or 0, len(rows[-1]))
    return Edit(script.file, (begin, 0), end, "\n".join([indent + head, *body]))


def unit(script: Script, statement: ast.stmt) -> str:
    """Return the white space that a block is indented by, as it is around a statement."""
    parent = script.parent(statement)
    if not isinstance(parent, ast.stmt):
        return "    "
    return script.indent(statement)[len(script.indent(parent)) :] or "    "


def _spans_lines(node: ast.expr) -> bool:
    return node.lineno != node.end_lineno


def _of_loop(loop: ast.For, every: int) -> str | None:
    counter = loop.target
    if isinstance(loop.iter, ast.Call) and called(loop.iter) == "enumerate":
        counter = counter.elts[0] if isinstance(counter, ast.Tuple) else counter
        if len(loop.iter.args) != 1 or loop.iter.keywords:
            return None
    if not isinstance(counter, ast.Name) or not counter.id.strip("_"):
        return None
    if not isinstance(loop.iter, ast.Call) or _is_changed(loop, counter.id):
        return None
    if called(loop.iter) == "enumerate":
        return f"{counter.id} % {every} == {every - 1}"
    return _of_range(loop.iter, counter.id, every)


def _of_range(call: ast.Call, name: str, every: int) -> str | None:
    """Return the test of a loop over `range(n)` or `range(1, n + 1)`, its last turn included."""
    if called(call) != "range" or len(call.args) > 2 or call.keywords:
        return None
    stop = call.args[-1]
    if len(call.args) == 1:
        last = _minus_one(stop)
        return f"{name} % {every} == {every - 1} or {name} == {last}" if last else None
    is_one = isinstance(call.args[0], ast.Constant) and call.args[0].value == 1
    last = _minus_one(stop)
    return f"{name} % {every} == 0 or {name} == {last}" if is_one and last else None


def _minus_one(stop: ast.expr) -> str | None:
    """Return the code of the number before a plain one."""
    if isinstance(stop, ast.Constant) and type(stop.value) is int:
        return str(stop.value - 1)
    if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add):
        is_one = isinstance(stop.right, ast.Constant) and stop.right.value == 1
        return ast.unparse(stop.left) if is_one and last_name(stop.left) else None
    return f"{ast.unparse(stop)} - 1" if _is_plain(stop) else None


def _is_plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_changed(loop: ast.For, name: str) -> bool:
    """Tell whether the body of a loop sets its counter."""
    nodes = (node for statement in loop.body for node in ast.walk(statement))
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in nodes
    )
