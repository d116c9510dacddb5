"""Edits of a loop that validates by hand: it runs on every fifth turn of the loop around it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.change import Change
from quickfit.fixes.known_arrays import is_inside
from quickfit.fixes.lookup import called, last_name
from quickfit.fixes.script import Script
from quickfit.fixes.turns import turn_test, under

SELDOM = 5
_RESETS = ("reset_state", "reset_states")
_PRINTING = ("print", "info", "debug")
# Calls that only read the values of metrics.
_READING = {"result", "float", "numpy", "mean", "round", "reduce_mean", "int", "item", "len", "sum"}


def seldom_loop(script: Script, line: int) -> Change | None:
    """Validate on every fifth turn, with what prints the results and begins metrics anew."""
    found = [loop for loop in script.all(ast.For) if loop.lineno == line]
    loop = found[0] if len(found) == 1 and not found[0].orelse else None
    around = script.parent(loop) if loop is not None else None
    if loop is None or not isinstance(around, ast.For):
        return None
    group = _group(script, loop)
    if (
        not group
        or _leaves(group)
        or not all(_is_only_here(script, n, group, around) for n in _set(group))
    ):
        return None
    if _changes_something(loop):
        return None
    test = turn_test(script, loop, SELDOM)
    edit = under(script, group, test) if test is not None else None
    if edit is None:
        return None
    return Change(
        title="Validate a fifth as often",
        kind=FixClass.SAME_RESULTS,
        edits=(edit,),
        note="There are fewer numbers of validation, and lines that print them.",
    )


def _group(script: Script, loop: ast.For) -> list[ast.stmt]:
    """Return the loop and the statements behind it that read, print or reset its results."""
    block = script.block(loop)
    group: list[ast.stmt] = [loop]
    others = [s for s in block if isinstance(s, ast.For | ast.While) and s is not loop]
    # What training uses too, such as the model, says nothing about validation.
    used, shared = _used(script, [loop]), _used(script, others)
    if used & shared & _metrics(script):
        return []  # what is printed then would be the training's
    own = used - shared
    behind = block[block.index(loop) + 1 :]
    while behind and _belongs(behind[0], own | _set(group)):
        group.append(behind.pop(0))
    # What is left must not show numbers of a validation that did not take place.
    return [] if any(_names([statement]) & own for statement in behind) else group


def _metrics(script: Script) -> set[str]:
    """Return the names whose results are asked for."""
    reads = [n for n in script.all(ast.Attribute) if n.attr in ("result", "update_state")]
    return {last_name(node.value) for node in reads}


def _used(script: Script, group: Sequence[ast.stmt]) -> set[str]:
    """Return the names in statements, and in the functions of the file that they call."""
    calls = {called(n) for s in group for n in ast.walk(s) if isinstance(n, ast.Call)}
    functions = [f for f in script.all(ast.FunctionDef) if f.name in calls]
    return _names([*group, *functions])


def _belongs(statement: ast.stmt, names: set[str]) -> bool:
    """Tell whether a statement does nothing but read, print or reset what has some names."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    if not _names([statement]) & names:
        return False
    if isinstance(statement, ast.Assign):
        are_names = all(isinstance(target, ast.Name) for target in statement.targets)
        return are_names and all(called(call) in _READING for call in calls)
    value = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(value, ast.Call) or called(value) not in (*_PRINTING, *_RESETS):
        return False
    return all(call is value or called(call) in {*_READING, "format"} for call in calls)


def _names(group: Sequence[ast.stmt]) -> set[str]:
    """Return the names, and those of attributes of `self`."""
    nodes = [node for statement in group for node in ast.walk(statement)]
    own = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    attributes = {n.attr for n in own if isinstance(n.value, ast.Name) and n.value.id == "self"}
    names = {n.id for n in nodes if isinstance(n, ast.Name)} - {"tf", "np", "self", "print"}
    return names | attributes


def _set(group: list[ast.stmt]) -> set[str]:
    nodes = [node for statement in group for node in ast.walk(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return {node.id for node in names if not isinstance(node.ctx, ast.Load)}


def _leaves(group: list[ast.stmt]) -> bool:
    """Tell whether some statement may leave the loop around, or wait for another task."""
    nodes = [node for statement in group for node in ast.walk(statement)]
    return any(isinstance(n, ast.Return | ast.Yield | ast.Await | ast.Raise) for n in nodes)


def _changes_something(loop: ast.For) -> bool:
    """Tell whether the loop collects or sets what others may read."""
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    stores = [n for n in nodes if isinstance(n, ast.Attribute | ast.Subscript)]
    is_set = any(not isinstance(n.ctx, ast.Load) for n in stores)
    sums = [n.target for n in nodes if isinstance(n, ast.AugAssign)]
    return is_set or any(isinstance(n, ast.Global | ast.Nonlocal) for n in nodes) or bool(sums)


def _is_only_here(script: Script, name: str, group: list[ast.stmt], around: ast.For) -> bool:
    """Tell whether nothing else reads a value that the group gives to a name.

    Another statement of the loop around may use the name, if it sets it first, as `for x, y in`
    does; so may functions, which have names of their own.
    """
    for node in script.all(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        if any(is_inside(script, node, statement) for statement in group):
            continue
        if script.around(node, ast.FunctionDef) is not script.around(around, ast.FunctionDef):
            continue
        if not _sets_first(script, node, around):
            return False
    return True


def _sets_first(script: Script, node: ast.Name, around: ast.For) -> bool:
    """Tell whether a name is read inside a loop, within the one around, that sets it each turn."""
    loop = script.around(node, ast.For)
    while loop is not None and loop is not around:
        targets = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        if node.id in targets and not is_inside(script, node, loop.iter):
            return is_inside(script, loop, around)
        loop = script.around(loop, ast.For)
    return False
