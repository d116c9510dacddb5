"""Builds a dataset once, before the loop over the epochs, instead of in each of its turns."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.chain_names import arguments, stores, target_of, value_of
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.dataset_settled import is_settled
from quickfit.fixes.script import Script

Loop = ast.For | ast.AsyncFor | ast.While
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# What hands the elements of a dataset on to a loop.
_AROUND = ("enumerate", "tqdm", "iter")
_NAMES = ("dataset", "ds", "training_data", "epoch_data")


def built_once(
    scripts: Sequence[Script], *, file: str, line: int, is_random: bool
) -> Change | None:
    """Return the change that moves the dataset built at a line out of the loop around it."""
    script = next((script for script in scripts if script.file == file), None)
    statement = _statement_at(script, line) if script is not None else None
    if script is None or statement is None:
        return None
    if target_of(statement) is None:
        edits = _moved_call(scripts, script, statement)
    elif _loop_around(script, statement) is not None:
        edits = _moved_statements(scripts, script, statement)
    else:
        edits = _moved_to_caller(scripts, script, statement)
    if edits is None:
        return None
    return Change(
        "Build the pipeline once, before the loop over the epochs",
        FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.SAME_RESULTS,
        edits,
        "Each epoch still gets a new random order; it is another one than before."
        if is_random
        else "",
    )


def _statement_at(script: Script, line: int) -> ast.stmt | None:
    """Return the innermost statement that begins at a line or spans it."""
    found = [
        node
        for node in ast.walk(script.tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= _header_end(node)
    ]
    return max(found, key=lambda node: node.lineno, default=None)


def _header_end(node: ast.stmt) -> int:
    """Return the last line of a statement, without the block of one that has a block."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return node.iter.end_lineno or node.lineno
    body = getattr(node, "body", None)
    return node.lineno if body else node.end_lineno or node.lineno


# -- `ds = ...` in the loop --------------------------------------------------------------------


def _moved_statements(
    scripts: Sequence[Script], script: Script, statement: ast.stmt
) -> tuple[Edit, ...] | None:
    loop = _loop_around(script, statement)
    group = _group(script, statement)
    if loop is None or group is None or script.block(statement) is not loop.body:
        return None
    name = target_of(statement) or ""
    header = loop.target if isinstance(loop, ast.For | ast.AsyncFor) else loop.test
    if stores(header, name) or _is_named_before(script, loop, group[0], name):
        return None
    if not is_settled(scripts, script, [loop], _values(group), own=name):
        return None
    return _cut(script, group, loop)


def _group(script: Script, statement: ast.stmt) -> list[ast.stmt] | None:
    """Return the statements, one after the other, that build a dataset under one name."""
    name, block = target_of(statement), script.block(statement)
    storing = [s for s in block if name is not None and stores(s, name)]
    if not storing:
        return None
    group = block[block.index(storing[0]) : block.index(storing[-1]) + 1]
    is_whole = all(target_of(s) == name and script.is_alone(s) for s in group)
    return group if is_whole and len(group) < len(block) else None


def _values(group: Sequence[ast.stmt]) -> list[ast.expr]:
    return [value for s in group if (value := value_of(s)) is not None]


def _cut(script: Script, group: Sequence[ast.stmt], loop: Loop) -> tuple[Edit, ...] | None:
    """Return the edits that move statements, with the comments above them, before a loop."""
    begin, end = script.begin(group[0])[0], script.end(group[-1])[0]
    while script.lines[begin - 2].startswith(script.indent(group[0]) + "#"):
        begin -= 1
    code = textwrap.dedent("\n".join(script.lines[begin - 1 : end]))
    added = script.insert_before(loop, code)
    while group[0] is script.block(group[0])[0] and not script.lines[end].strip():
        end += 1  # a block does not begin with an empty line
    return (added, Edit(script.file, (begin, 0), (end + 1, 0), "")) if added is not None else None


def _is_named_before(script: Script, within: ast.AST, first: ast.stmt, name: str) -> bool:
    """Tell whether a name comes up before a statement: a turn may read what one before left."""
    inside = [n for n in script.all(ast.Name, within) if n.id == name]
    return any(script.begin(node) < script.begin(first) for node in inside)


def _loop_around(script: Script, node: ast.AST) -> Loop | None:
    """Return the loop of the same function that a node stands in."""
    found = script.around(
        node, *_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module
    )
    return found if isinstance(found, Loop) else None


# -- `ds = ...` in a function that a loop calls ------------------------------------------------


def _moved_to_caller(
    scripts: Sequence[Script], script: Script, statement: ast.stmt
) -> tuple[Edit, ...] | None:
    """Let the caller build the dataset, and give it to the function as one more argument."""
    function, group = script.parent(statement), _group(script, statement)
    if not isinstance(function, ast.FunctionDef) or group is None:
        return None
    name, call = target_of(statement) or "", _only_call(scripts, script, function)
    loop = _loop_around(script, call) if call is not None else None
    if call is None or loop is None or _is_named_before(script, function, group[0], name):
        return None
    outside = [n for n in script.all(ast.Name) if n.id == name]
    outside = [n for n in outside if script.around(n, ast.FunctionDef) is not function]
    values = _values(group)
    read = {n.id for value in values for n in ast.walk(value) if isinstance(n, ast.Name)}
    local = set(arguments(function)) | {target_of(s) for s in function.body} - {name}
    if outside or read & local:
        return None
    if not is_settled(scripts, script, [loop, function], values, own=name):
        return None
    moved = _cut(script, group, loop)
    given = (
        _with_one_more(script, function.args.args, name),
        _with_one_more(script, call.args, name),
    )
    if moved is None or given[0] is None or given[1] is None:
        return None
    return (*moved, given[0], given[1])


def _only_call(
    scripts: Sequence[Script], script: Script, function: ast.FunctionDef
) -> ast.Call | None:
    """Return the only place of all files that names a function, if it is a plain call of it."""
    args = function.args
    if script.parent(function) is not script.tree or function.decorator_list or args.defaults:
        return None
    if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
        return None
    places = [
        (other, node)
        for other in scripts
        for node in ast.walk(other.tree)
        if _names_it(node, function.name)
    ]
    if len(places) != 1 or places[0][0] is not script:
        return None
    call = script.parent(places[0][1])
    is_plain = isinstance(call, ast.Call) and call.func is places[0][1] and not call.keywords
    if not is_plain or not isinstance(call, ast.Call) or len(call.args) != len(args.args):
        return None
    return None if any(isinstance(arg, ast.Starred) for arg in call.args) else call


def _names_it(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.alias):
        return node.name == name
    return getattr(node, "id", "") == name or getattr(node, "attr", "") == name


def _with_one_more(script: Script, given: Sequence[ast.AST], name: str) -> Edit | None:
    """Return the edit that adds a name behind the last argument."""
    if not given:
        return None
    place = script.end(given[-1])
    return Edit(script.file, place, place, f", {name}")


# -- `for x, y in make_dataset():` in the loop -------------------------------------------------


def _moved_call(
    scripts: Sequence[Script], script: Script, statement: ast.stmt
) -> tuple[Edit, ...] | None:
    loop, call = _loop_around(script, statement), _given(statement)
    if loop is None or call is None or statement not in loop.body or not call.func:
        return None
    if not is_settled(scripts, script, [loop], [call], own=""):
        return None
    used = {n.id for n in script.all(ast.Name)} | {
        arg for function in script.all(ast.FunctionDef) for arg in arguments(function)
    }
    name = next((name for name in _NAMES if name not in used), None)
    code = textwrap.dedent(script.code(call))
    added = script.insert_before(loop, f"{name} = {code}") if name is not None else None
    if added is None or name is None or "\n" in code:
        return None
    return added, script.replace(call, name)


def _given(statement: ast.stmt) -> ast.Call | None:
    """Return the call that makes what a loop, or `fit`, is given."""
    value: ast.expr | None = None
    if isinstance(statement, ast.For | ast.AsyncFor):
        value = statement.iter
        if _is_call(value, _AROUND) and isinstance(value, ast.Call) and value.args:
            value = value.args[0]
    else:
        inner = getattr(statement, "value", None)
        fits = [n for n in ast.walk(inner) if _is_call(n, ("fit",))] if inner is not None else []
        if len(fits) == 1 and isinstance(fits[0], ast.Call) and fits[0].args:
            value = fits[0].args[0]
    return value if isinstance(value, ast.Call) else None


def _is_call(node: ast.AST, names: Sequence[str]) -> bool:
    return isinstance(node, ast.Call) and _last_name(node.func) in names


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
