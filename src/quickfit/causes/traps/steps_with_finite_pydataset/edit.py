"""Edits that give every epoch the steps it is asked for."""

from __future__ import annotations

import ast

from quickfit.code import Module
from quickfit.code.edits import remove_keywords
from quickfit.code.loops import put_under_head
from quickfit.code.scopes import binders_in_file, call_at, reads_in_file
from quickfit.code.syntax import called_name, is_open, keyword_value
from quickfit.findings import Change, Edit, FixClass


def all_of_the_data(module: Module, line: int) -> Change | None:
    """Let every epoch take all batches, by taking `steps_per_epoch` from `fit`."""
    call = call_at(module, line, "fit")
    if call is None or not (call.args or keyword_value(call, "x")):
        return None
    return whole_epochs(module, call)


def whole_epochs(file: Module, fit: ast.Call) -> Change | None:
    """Return the change that takes `steps_per_epoch` from a call of `fit`."""
    edits = remove_keywords(file, fit, {"steps_per_epoch"})
    if not edits:
        return None
    return Change(
        title="Let every epoch take all of the data",
        kind=FixClass.REPAIRS,
        edits=edits,
        note="Epochs are then longer or shorter than before: count schedules in steps.",
    )


def repeated_data(module: Module, line: int) -> Change | None:
    """Let a dataset begin again when it ends, so that every epoch has its steps."""
    call = call_at(module, line, "fit")
    if call is None or is_open(call) or keyword_value(call, "steps_per_epoch") is None:
        return None
    data = call.args[0] if call.args else keyword_value(call, "x")
    if not isinstance(data, ast.Name | ast.Attribute | ast.Call):
        return None
    return Change(
        title="Begin the dataset again when it ends",
        kind=FixClass.REPAIRS,
        edits=(Edit(module.path, module.end(data), module.end(data), ".repeat()"),),
        note="Epochs have the steps that were asked for, and go on in the data where they ended.",
    )


def endless_generator(module: Module, line: int) -> Change | None:
    """Let a generator that goes through its data once begin again for ever."""
    call = call_at(module, line, "fit")
    if call is None or is_open(call) or keyword_value(call, "steps_per_epoch") is None:
        return None
    data = call.args[0] if call.args else keyword_value(call, "x")
    function = _generator(module, data)
    edit = _endless(module, function) if function is not None else None
    if edit is None:
        return None
    return Change(
        title="Let the generator go on for ever",
        kind=FixClass.REPAIRS,
        edits=(edit,),
        note="Keras never begins a generator again: it has to go on by itself.",
    )


def _generator(module: Module, data: ast.expr | None) -> ast.FunctionDef | None:
    """Return the function that makes a generator which only this call of `fit` uses."""
    if isinstance(data, ast.Name):
        found = binders_in_file(module, data.id)
        parent = module.parent(found[0]) if len(found) == 1 else None
        is_only = isinstance(parent, ast.Assign) and len(reads_in_file(module, data.id)) == 1
        data = parent.value if is_only and isinstance(parent, ast.Assign) else None
    if not isinstance(data, ast.Call) or not isinstance(data.func, ast.Name):
        return None
    functions = [f for f in module.all(ast.FunctionDef) if f.name == called_name(data)]
    if len(functions) != 1 or len(reads_in_file(module, called_name(data))) != 1:
        return None
    return functions[0]


def _endless(module: Module, function: ast.FunctionDef) -> Edit | None:
    """Put the one loop that yields, over numbers that never run out, into `while True`."""
    loop = function.body[-1]
    if not isinstance(loop, ast.For) or loop.orelse or function.decorator_list:
        return None
    if not isinstance(loop.iter, ast.Call) or called_name(loop.iter) != "range":
        return None  # an iterator that has ended would make `while True` spin for ever
    yields = [n for n in ast.walk(function) if isinstance(n, ast.Yield | ast.YieldFrom)]
    inside = [n for n in ast.walk(loop) if isinstance(n, ast.Yield | ast.YieldFrom)]
    ends = [n for n in ast.walk(loop) if isinstance(n, ast.Return | ast.Break)]
    texts = [n for n in ast.walk(loop) if isinstance(n, ast.Constant) and _spans_lines(n)]
    # A yield behind an `if` may never come, and the loop would spin as well.
    plain = any(_is_yield(statement) for statement in loop.body)
    if not plain or len(yields) != len(inside) or ends or texts or not module.is_alone(loop):
        return None
    return put_under_head(module, loop, loop, "while True:")


def _is_yield(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield)


def _spans_lines(node: ast.Constant) -> bool:
    return isinstance(node.value, str | bytes) and node.lineno != node.end_lineno
