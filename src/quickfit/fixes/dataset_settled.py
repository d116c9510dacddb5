"""Tells whether code that builds a dataset builds the same one in every turn of a loop.

Nothing that the dataset is made of may change from one turn to the next: neither the names that
its code reads, also inside the functions it calls, nor what they stand for.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence

from quickfit.fixes.chain import METHODS
from quickfit.fixes.chain_names import arguments, only_binding, stores, value_of
from quickfit.fixes.script import Script

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Functions that give the same for the same, and do nothing else.
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        "len range list tuple sorted zip str int min max dict float bool enumerate isinstance set"
        " sum abs round",
    )
)
_LIBRARIES = ("tf", "tensorflow", "np", "numpy", "os", "keras", "ops", "glob", "math")


def is_settled(
    scripts: Sequence[Script],
    script: Script,
    turns: Sequence[ast.AST],
    values: Sequence[ast.expr],
    *,
    own: str,
) -> bool:
    """Tell whether expressions give the same dataset in every turn.

    Args:
        scripts: all files of the user.
        script: the file of the loop.
        turns: what is done in a turn: the loop, and a function that it calls.
        values: the expressions that build the dataset.
        own: the name that they build it under, if they do so in steps.
    """
    functions = _functions(scripts)
    code = _code(values, functions)
    if code is None or not all(_is_plain(node, functions) for node in code):
        return False
    if not any(_is_dataset(part) for node in code for part in ast.walk(node)):
        return False
    read = set().union(*(_read(node) for node in code)) - {own}
    attributes = {n.attr for node in code for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    if any(_gives_anew(script, turn, read, attributes) for turn in turns):
        return False
    fixed = _modules(script) | set(functions) | _constants(script, read) | set(dir(builtins))
    # What else a turn does with them may change what they hold.
    moved = {node for value in values for node in ast.walk(value)}
    named = [node for turn in turns for node in script.all(ast.Name, turn) if node not in moved]
    return not any(node.id in read - fixed for node in named)


def _functions(scripts: Sequence[Script]) -> dict[str, list[Function]]:
    """Return the functions of all files, by their names."""
    found: dict[str, list[Function]] = {}
    for script in scripts:
        for function in script.all(ast.FunctionDef):
            if function.name not in METHODS:
                found.setdefault(function.name, []).append(function)
    return found


def _code(values: Sequence[ast.expr], functions: dict[str, list[Function]]) -> list[ast.AST] | None:
    """Return expressions and the functions they name, and those name; None if one is in doubt."""
    waiting: list[ast.AST] = list(values)
    seen: list[ast.AST] = []
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.append(node)
        named = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        named |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        for name in named & set(functions):
            if len(functions[name]) > 1:
                return None
            waiting += functions[name]
    return seen


def _read(node: ast.AST) -> set[str]:
    """Return the names that code reads from outside."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    for part in ast.walk(node):
        if isinstance(part, Function | ast.Lambda):
            names -= set(arguments(part))
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.discard(part.id)
    return names


def _is_plain(node: ast.AST, functions: dict[str, list[Function]]) -> bool:
    """Tell whether code only builds: it draws no numbers and changes nothing others see."""
    for part in ast.walk(node):
        if isinstance(part, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await):
            return False
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            return False
    is_builder = isinstance(node, ast.expr) or any(_is_dataset(part) for part in _direct(node))
    return all(
        _is_plain_call(part, functions, is_builder=is_builder)
        for part in _direct(node)
        if isinstance(part, ast.Call)
    )


def _direct(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of code without the bodies of functions that have no name."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(part))


def _is_dataset(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and (node.attr in METHODS or "Dataset" in node.attr)


def _is_plain_call(
    call: ast.Call, functions: dict[str, list[Function]], *, is_builder: bool
) -> bool:
    """Tell whether a call gives the same every time.

    What a map's function draws is drawn anew for every element, wherever the map was made. Numbers
    that are drawn while a dataset is built are part of it.
    """
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False
    path = ast.unparse(call.func)
    root, last = path.split(".")[0], path.split(".")[-1]
    is_tensorflow = root in ("tf", "tensorflow")
    if "random" in path and (is_builder or not is_tensorflow):
        return False
    if isinstance(call.func, ast.Name):
        return last in _PLAIN or last in functions
    return root in _LIBRARIES or last in METHODS or last in functions or not is_builder


def _modules(script: Script) -> set[str]:
    """Return the names that a file imports."""
    imports: list[ast.Import | ast.ImportFrom] = [
        *script.all(ast.Import),
        *script.all(ast.ImportFrom),
    ]
    aliases = [alias for node in imports for alias in node.names]
    return {(alias.asname or alias.name).split(".")[0] for alias in aliases}


def _constants(script: Script, names: set[str]) -> set[str]:
    """Return the names that stand for a number or a text in the whole file."""
    found = set()
    for node in script.all(ast.Name):
        statement = only_binding(script, node) if node.id in names else None
        if statement is not None and isinstance(value_of(statement), ast.Constant):
            found.add(node.id)
    return found


def _gives_anew(script: Script, turn: ast.AST, names: set[str], attributes: set[str]) -> bool:
    """Tell whether a turn gives one of some names, or attributes, another value."""
    changed = [n for n in script.all(ast.Attribute, turn) if not isinstance(n.ctx, ast.Load)]
    return any(stores(turn, name) for name in names) or any(n.attr in attributes for n in changed)
