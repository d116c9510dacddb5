"""Under which conditions code runs, as far as the text of a program decides them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from quickfit.program import Module, Program, name_of

# Names of switches that are thrown to look at a program, not to run it.
_LOOKING = re.compile(r"debug|eager|test|smoke|dry|profil|inspect|trace", re.IGNORECASE)
MAX_DEPTH = 3


def around(module: Module, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions around a node in its function, each with what it must be."""
    child, above = node, module.parent(node)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(above, ast.If | ast.IfExp) and child is not above.test:
            body = above.body if isinstance(above.body, list) else [above.body]
            yield above.test, child in body
        elif isinstance(above, ast.While) and child in above.body:
            yield above.test, True
        child, above = above, module.parent(above)


def decided(program: Program, module: Module, test: ast.expr) -> bool | None:
    """Return what a condition surely is; None where that is open."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = decided(program, module, test.operand)
        return None if inner is None else not inner
    if name_of(test) == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Compare) and "__name__" in ast.unparse(test):
        return True
    value = program.literal(module, test) if isinstance(test, ast.Name | ast.Constant) else None
    return bool(value) if isinstance(value, bool | int) else None


def never_runs(program: Program, module: Module, node: ast.AST) -> bool:
    """Tell whether a condition around a node never holds: `if False:`."""
    found = [(decided(program, module, test), wanted) for test, wanted in around(module, node)]
    return any(value is not None and value != wanted for value, wanted in found)


def is_for_looking(program: Program, module: Module, node: ast.AST, depth: int = MAX_DEPTH) -> bool:
    """Tell whether code may run only where somebody looks into the program: `if debug:`.

    Also where every call of its function stands under such a condition.
    """
    for test, _ in around(module, node):
        if decided(program, module, test) is None and _LOOKING.search(ast.unparse(test)):
            return True
    function = module.function(node)
    if function is None or depth == 0:
        return False
    callers = program.resolver.callers(module, function)
    return bool(callers) and all(is_for_looking(program, m, c, depth - 1) for m, c in callers)


def has_other_way(module: Module, node: ast.AST, name: str) -> bool:
    """Tell whether the other branch of an `if` around a node calls the same name."""
    child, above = node, module.parent(node)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(above, ast.If) and child is not above.test:
            other = above.orelse if child in above.body else above.body
            calls = (n for s in other for n in ast.walk(s) if isinstance(n, ast.Call))
            if any(name_of(call.func) == name for call in calls):
                return True
        child, above = above, module.parent(above)
    return False
