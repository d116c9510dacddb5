"""Compiles once, where a loop calls a function that compiles the model with another rate."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.bindings import binders, dotted, parameters, reads, writes
from quickfit.fixes.change import Change
from quickfit.fixes.comments import comments_in
from quickfit.fixes.fit_once import FORGETS, LR, is_touched, method_at, rate_of
from quickfit.fixes.frozen_layers import calls_of
from quickfit.fixes.graph_code import argument
from quickfit.fixes.hoisting import placed
from quickfit.fixes.python_numbers import PythonNumbers
from quickfit.fixes.script import Script
from quickfit.fixes.text_edits import rewritten


def one_compile_of_helper(script: Script, line: int, scripts: Sequence[Script]) -> Change | None:
    """Make `compile` in a function of its own happen once, before the loop that calls it."""
    call = method_at(script, line, "compile")
    function = script.around(call, ast.FunctionDef) if call is not None else None
    if call is None or function is None or len(function.body) != 1 or function.decorator_list:
        return None
    statement, given = function.body[0], parameters(function)
    model = dotted(call.func).removesuffix(".compile")
    optimizer = call.args[0] if call.args else _option(call, "optimizer")
    rate = rate_of(optimizer) if isinstance(optimizer, ast.Call) else None
    if statement is not script.statement(call) or model not in given or rate is None:
        return None
    assert isinstance(optimizer, ast.Call)
    inside = set(ast.walk(rate))
    others = {n.id for n in ast.walk(call) if isinstance(n, ast.Name) and n not in inside}
    if others & set(given) != {model} or len(optimizer.args) > 1 or not reads(rate) & set(given):
        return None
    calls = [(s, c) for s in scripts for c in calls_of(s, function.name)]
    if len(calls) != 1 or calls[0][0] is not script or script.parent(function) is not script.tree:
        return None
    if not PythonNumbers(scripts).is_number(script, rate) or comments_in(script, statement):
        return None
    return _moved(script, function, calls[0][1], (call, optimizer, rate), model, others)


def _option(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def _moved(
    script: Script,
    function: ast.FunctionDef,
    used: ast.Call,
    compiled: tuple[ast.Call, ast.Call, ast.expr],
    model: str,
    others: set[str],
) -> Change | None:
    """Return the change: `compile` in front of the loop, and only the rate in the function."""
    call, optimizer, rate = compiled
    statement, loop = script.statement(used), script.parent(script.statement(used))
    given = argument(used, function, model)
    if not isinstance(loop, ast.For) or script.parent(loop) is not script.tree:
        return None
    is_plain = isinstance(statement, ast.Expr) and statement.value is used
    if not is_plain or not isinstance(given, ast.Name) or given.id in writes(loop):
        return None
    seen = others - {model}
    is_early = all(len(binders(script.tree, name)) == 1 for name in seen)
    if not is_early or seen & writes(loop) or is_touched(loop, statement, given.id):
        return None
    rest = [f"{k.arg}={script.code(k.value)}" for k in optimizer.keywords]
    rest = [text for text in rest if not text.startswith("learning_rate=")]
    assert isinstance(call.func, ast.Attribute)
    codes: dict[ast.expr, str] = {
        call.func.value: given.id,
        optimizer: f"{script.code(optimizer.func)}({', '.join(rest)})",
    }
    made = placed(script, loop, rewritten(script, call, codes), is_function=False)
    code = f"{model}.optimizer.learning_rate = {script.code(rate)}"
    taken = script.replace_statements(function.body[0], function.body[0], code)
    if made is None or taken is None:
        return None
    return Change(LR, FixClass.MAY_CHANGE_RESULTS, (made, taken), FORGETS)
