"""Lets TensorFlow trace a function once for arguments of every shape."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.script import Script

Function = ast.FunctionDef | ast.AsyncFunctionDef
# What a graph for every shape cannot tell while it is traced.
_STATIC = ("get_shape", "int_shape", "as_list", "ndims", "unstack", "numpy")
# They decide otherwise, or compile for each shape anyway.
_SETTINGS = ("input_signature", "jit_compile", "experimental_relax_shapes", "experimental_compile")


def traced_once(scripts: Sequence[Script], *, file: str, line: int) -> Change | None:
    """Return the change for the `tf.function` whose code begins at a line of a file."""
    function = _function_at(scripts, file, line)
    if function is None or _needs_shape(scripts, function):
        return None
    places = [*_decorated(scripts, function, file), *_wrapped(scripts, function.name)]
    if len(places) != 1:
        return None
    script, maker = places[0]
    edit = _relaxed(script, maker)
    if edit is None:
        return None
    return Change("Trace the function once for every shape", FixClass.SAME_RESULTS, (edit,))


def _function_at(scripts: Sequence[Script], file: str, line: int) -> Function | None:
    for script in scripts:
        for function in _functions(script) if script.file == file else ():
            if line in (function.lineno, script.begin(function)[0]):
                return function
    return None


def _functions(script: Script) -> list[Function]:
    return [*script.all(ast.FunctionDef), *script.all(ast.AsyncFunctionDef)]


def _decorated(
    scripts: Sequence[Script], function: Function, file: str
) -> list[tuple[Script, ast.expr]]:
    script = next(script for script in scripts if script.file == file)
    return [(script, maker) for maker in function.decorator_list if _is_tf_function(maker)]


def _wrapped(scripts: Sequence[Script], name: str) -> list[tuple[Script, ast.expr]]:
    """Return the calls `tf.function(name)`."""
    return [
        (script, call)
        for script in scripts
        for call in script.all(ast.Call)
        if _is_tf_function(call.func) and call.args and _last_name(call.args[0]) == name
    ]


def _is_tf_function(node: ast.expr) -> bool:
    """Tell whether an expression is `tf.function`, `function` or a call of one with settings."""
    if isinstance(node, ast.Call) and not node.args:
        return _is_tf_function(node.func)
    return not isinstance(node, ast.Call) and _last_name(node) == "function"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _relaxed(script: Script, maker: ast.expr) -> Edit | None:
    if not isinstance(maker, ast.Call):
        return script.replace(maker, f"{script.code(maker)}(reduce_retracing=True)")
    if any(keyword.arg in _SETTINGS for keyword in maker.keywords) or len(maker.args) > 1:
        return None
    asked = [k.value for k in maker.keywords if k.arg == "reduce_retracing"]
    if any(not isinstance(value, ast.Constant) or value.value for value in asked):
        return None
    return script.with_keyword(maker, "reduce_retracing", "True")


def _needs_shape(scripts: Sequence[Script], function: Function) -> bool:
    """Tell whether a function, or what it calls, asks in Python how large its arguments are."""
    known: dict[str, list[Function]] = {}
    for script in scripts:
        for other in _functions(script):
            known.setdefault(other.name, []).append(other)
    # A model calls these by itself.
    waiting = [function, *known.get("call", ()), *known.get("train_step", ())]
    seen: set[Function] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if any(_asks(node) for statement in one.body for node in ast.walk(statement)):
            return True
        calls = [n for n in ast.walk(one) if isinstance(n, ast.Call)]
        waiting += [other for call in calls for other in known.get(_last_name(call.func), ())]
    return False


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return _last_name(node.value) not in ("tf", "tensorflow", "ops", "K", "backend")
    if isinstance(node, ast.Call):
        return _last_name(node.func) in (*_STATIC, "len")
    return isinstance(node, ast.Attribute) and node.attr in _STATIC
