"""Finds where a function is made into a `tf.function`, and which argument of a call is which."""

from __future__ import annotations

import ast

from quickfit.source.calls import call_at, module_alias, parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef


def wrapping_lines(text: str, name: str) -> list[int]:
    """Return the lines that call `function(name, ...)`, as in `tf.function(name)`."""
    tree = parsed(text)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)] if tree is not None else []
    return sorted(c.lineno for c in calls if _is_function(c.func) and c.args and _ends(c, name))


def is_made_here(text: str, line: int) -> bool:
    """Tell whether the function that begins at a line is compiled there: decorated, or a lambda.

    A decorated function begins at its first decorator.
    """
    tree = parsed(text)
    nodes = list(ast.walk(tree)) if tree is not None else []
    for node in nodes:
        if isinstance(node, Function) and line in (node.lineno, *_decorators(node)):
            return any(_is_function(d) for d in node.decorator_list)
    return any(isinstance(node, ast.Lambda) and node.lineno == line for node in nodes)


def is_method(text: str, line: int) -> bool:
    """Tell whether the function that begins at a line is a method of a class."""
    tree = parsed(text)
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)] if tree else []
    methods = [n for c in classes for n in c.body if isinstance(n, Function)]
    return any(line in (node.lineno, *_decorators(node)) for node in methods)


def with_tensor(
    text: str, line: int, *, function: str, defined_at: int, argument: str
) -> tuple[str, str] | None:
    """Return a line that calls a function, as it is and with one argument made a tensor.

    None where the call or the argument is not recognised.
    """
    call = call_at(text, line, function)
    given = _given(text, call, defined_at, argument) if call is not None else None
    if given is None or given.lineno != given.end_lineno or isinstance(given, ast.Starred):
        return None
    before = text.replace("\r\n", "\n").split("\n")[given.lineno - 1]
    data = before.encode()
    head, middle = data[: given.col_offset], data[given.col_offset : given.end_col_offset]
    made = f"{module_alias(text, 'tensorflow', 'tf')}.constant({middle.decode()})"
    after = head.decode() + made + data[given.end_col_offset :].decode()
    return before.strip(), after.strip()


def _given(text: str, call: ast.Call, defined_at: int, argument: str) -> ast.expr | None:
    """Return the expression that a call gives for an argument of a function of the same text."""
    by_name = next((k.value for k in call.keywords if k.arg == argument), None)
    if by_name is not None:
        return by_name
    tree = parsed(text)
    functions = [n for n in ast.walk(tree) if isinstance(n, Function)] if tree else []
    found = [f for f in functions if defined_at in (f.lineno, *_decorators(f))]
    if len(found) != 1 or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    names = [arg.arg for arg in (*found[0].args.posonlyargs, *found[0].args.args)]
    names = names[1:] if names[:1] == ["self"] else names
    index = names.index(argument) if argument in names else len(call.args)
    return call.args[index] if index < len(call.args) else None


def _decorators(function: Function) -> list[int]:
    return [decorator.lineno for decorator in function.decorator_list]


def _is_function(node: ast.expr) -> bool:
    """Tell whether an expression is `tf.function`, `function` or a call of it."""
    if isinstance(node, ast.Call):
        return _is_function(node.func)
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == "function"


def _ends(call: ast.Call, name: str) -> bool:
    first = call.args[0]
    return (first.attr if isinstance(first, ast.Attribute) else getattr(first, "id", "")) == name
