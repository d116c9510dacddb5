"""Edits that let an endless generator fail which read nothing in a whole round of its data."""

from __future__ import annotations

import ast

from quickfit.findings import Edit
from quickfit.program import Module, Program, name_of
from quickfit.program.module import own_nodes
from quickfit.program.values import Computed, Item, Made, Member

_READ, _ERROR = "has_read", "first_error"
# Give all of what they are given, in some order.
_WHOLE = frozenset(
    (
        *("permutation", "arange", "range", "list", "tuple", "sorted", "reversed", "enumerate"),
        *("zip", "tqdm", "trange", "shuffle", "array", "copy", "glob", "rglob", "listdir"),
        *("iterdir", "iterrows", "itertuples", "items", "keys", "values"),
    )
)
# Take some of the data by chance: a round of them is not the whole.
_CHANCE = frozenset(("choice", "choices", "randint", "sample", "random_integers", "integers"))
_LEAVES = (ast.Continue, ast.Break, ast.Return)


def failing_round(
    program: Program, module: Module, tried: ast.Try, handler: ast.ExceptHandler
) -> tuple[Edit, ...]:
    """Return the edits that raise the first error after a round without success; none: unclear.

    A run in which anything can be read is left as it is.
    """
    loop = _round(program, module, tried)
    if loop is None or not _is_plain(module, tried, handler, loop):
        return ()
    used = {n.id for n in module.all(ast.Name)} | {n.arg for n in module.all(ast.arg)}
    error = handler.name or "error"
    if used & {_READ, _ERROR} or (handler.name is None and error in used):
        return ()
    raising = f"if {_ERROR} is not None and not {_READ}:\n{_inner(module, loop)}raise {_ERROR}"
    return (
        _above(module, loop, f"{_READ}, {_ERROR} = False, None"),
        _below(module, tried.body[-1], f"{_READ} = True"),
        *_named(module, handler, error),
        _noted(module, handler, f"{_ERROR} = {_ERROR} or {error}"),
        _below(module, loop, raising),
    )


def _round(program: Program, module: Module, tried: ast.Try) -> ast.For | None:
    """Return the loop over all data, inside one that never ends, that a `try` stands in."""
    around = module.loops(tried)
    if len(around) < 2 or not all(isinstance(loop, ast.For) for loop in around[:-1]):
        return None
    loop, ever = around[-2], around[-1]
    if not isinstance(loop, ast.For) or not isinstance(ever, ast.While):
        return None
    names = {name_of(n.func) for n in ast.walk(ever) if isinstance(n, ast.Call)}
    if names & _CHANCE or any(isinstance(n, ast.Break | ast.Return) for n in own_nodes(loop)):
        return None
    return loop if _is_whole(program, module, loop.iter, ever) else None


def _is_whole(program: Program, module: Module, node: ast.expr, ever: ast.AST) -> bool:
    """Tell whether a loop runs over everything there is."""
    if isinstance(node, ast.Call) and name_of(node.func) == "range":
        return any(_is_length(program, module, part) for part in node.args)
    if isinstance(node, ast.Call):
        is_all = all(_is_whole(program, module, part, ever) for part in node.args)
        return name_of(node.func) in _WHOLE and is_all
    if isinstance(node, ast.Name):
        bound = program.files.bindings(module).reaching(node, node.id)
        inside = [b for b in bound if module.is_in(b.node, ever)]
        values = [b.value for b in inside if b.kind == "value" and b.value is not None]
        if len(values) != len(inside):
            return False
        return all(_is_whole(program, module, value, ever) for value in values)
    return isinstance(node, ast.Attribute) or _is_length(program, module, node)


def _is_length(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression has the number of all samples in it."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and name_of(part.func) == "len":
            return True
        if isinstance(part, ast.Attribute) and part.attr in ("shape", "size"):
            return True
        if isinstance(part, ast.Name) and any(map(_counts, program.values(module, part))):
            return True
    return False


def _counts(value: object) -> bool:
    if isinstance(value, Made):
        return value.maker == "builtins.len"
    if isinstance(value, Computed):
        calls = [n for n in ast.walk(value.node) if isinstance(n, ast.Call)]
        return any(name_of(call.func) == "len" for call in calls)
    return isinstance(value, Item) and isinstance(value.of, Member) and value.of.name == "shape"


# -- where the lines go -----------------------------------------------------------------------


def _is_plain(module: Module, tried: ast.Try, handler: ast.ExceptHandler, loop: ast.For) -> bool:
    """Tell whether every line that is put in has a line of its own to stand by."""
    if any(isinstance(n, _LEAVES) for statement in tried.body for n in ast.walk(statement)):
        return False
    if any(other is not handler for other in tried.handlers):
        return False
    alone = [loop, tried.body[0], tried.body[-1], handler, handler.body[0]]
    if not all(_begins_line(module, node) for node in alone):
        return False
    return all(_ends_line(module, node) for node in (tried.body[-1], loop))


def _begins_line(module: Module, node: ast.AST) -> bool:
    line, column = module.begin(node)
    return not module.lines[line - 1][:column].strip()


def _ends_line(module: Module, node: ast.AST) -> bool:
    line, column = module.end(node)
    rest = module.lines[line - 1][column:].strip()
    return not rest or rest.startswith("#")


def _indent(module: Module, node: ast.AST) -> str:
    line, column = module.begin(node)
    return module.lines[line - 1][:column]


def _inner(module: Module, loop: ast.For) -> str:
    """Return what a block inside a statement that stands beside the loop is indented by."""
    return _indent(module, loop.body[0])


def _above(module: Module, node: ast.AST, code: str) -> Edit:
    line = module.begin(node)[0]
    return Edit(module.path, (line, 0), (line, 0), f"{_indent(module, node)}{code}\n")


def _below(module: Module, node: ast.stmt, code: str) -> Edit:
    line = module.end(node)[0]
    at = (line, len(module.lines[line - 1]))
    return Edit(module.path, at, at, f"\n{_indent(module, node)}{code}")


def _named(module: Module, handler: ast.ExceptHandler, error: str) -> tuple[Edit, ...]:
    if handler.name is not None:
        return ()
    if handler.type is None:
        begin = module.begin(handler)
        at = (begin[0], begin[1] + len("except"))
        return (Edit(module.path, at, at, f" Exception as {error}"),)
    at = module.end(handler.type)
    line = module.lines[at[0] - 1]
    # The brackets of `except (A):` belong to no node.
    while line[at[1] : at[1] + 1] == ")":
        at = (at[0], at[1] + 1)
    return (Edit(module.path, at, at, f" as {error}"),)


def _noted(module: Module, handler: ast.ExceptHandler, code: str) -> Edit:
    """Return the edit that puts a line first in a clause; instead of a lone `pass`."""
    first = handler.body[0]
    if isinstance(first, ast.Pass) and len(handler.body) == 1:
        return module.replace(first, code)
    return _above(module, first, code)
