"""Moves small maps behind the `batch`, so that they run once per batch."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.chain import Chain, Step, chain_at
from quickfit.fixes.chain_names import binding, only_binding, value_of
from quickfit.fixes.chain_order import argument, reordered
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.elementwise import Function, Values, elementwise
from quickfit.fixes.script import Script

# They hand elements on as they are, whatever these are.
_PASSING = ("shuffle", "repeat", "prefetch", "take", "skip")


def batch_first(script: Script, line: int) -> Change | None:
    """Return the change that moves the map at a line, and those beside it, behind the batch."""
    found = chain_at(script, line, "map")
    if found is None:
        return None
    chain, place = found
    first = place
    while first and chain.steps[first - 1].name == "map":
        first -= 1
    last = _batch_behind(chain, first)
    if last is None:
        return None
    maps = [n for n in range(first, last) if chain.steps[n].name == "map"]
    others = [n for n in range(first, last + 1) if n not in maps]
    known = [_known(script, chain.steps[n]) for n in maps]
    edits = reordered(script, chain, first, [*others, *maps])
    parsing = _parse_edits(script, known)
    if edits is None or parsing is None:
        return None
    is_fused = chain.steps[others[0]].name == "repeat" and (
        first == 0 or chain.steps[first - 1].name == "shuffle"
    )
    is_exact = all(values.is_exact for values in known if values is not None)
    return _change(edits + parsing, is_exact=is_exact, is_fused=is_fused)


def _batch_behind(chain: Chain, first: int) -> int | None:
    """Return the place of the plain batch that follows maps and what hands elements on."""
    for place in range(first, len(chain.steps)):
        step = chain.steps[place]
        if step.name == "batch":
            return place
        if step.name not in ("map", *_PASSING):
            return None
    return None


def _known(script: Script, step: Step) -> Values | None:
    """Return what is known of a map's function; None where it may not take batches."""
    function = _function(script, step.call.args[0]) if step.call.args else None
    if function is None:
        return None
    return elementwise(function, numbers=_numbers(script, function))


def _function(script: Script, given: ast.expr) -> Function | None:
    """Return the function that a map is given, where only this map has it."""
    if isinstance(given, ast.Lambda):
        return given
    name = given.id if isinstance(given, ast.Name) else ""
    if isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name):
        name = given.attr if given.value.id == "self" else ""
    functions: list[Function] = [f for f in script.all(ast.FunctionDef) if f.name == name]
    if len(functions) != 1 or script.all(ast.FunctionDef, functions[0])[1:]:
        return None
    if any(n.id == name and not isinstance(n.ctx, ast.Load) for n in script.all(ast.Name)):
        return None
    decorators = [ast.unparse(d) for d in getattr(functions[0], "decorator_list", [])]
    is_plain = all(d in ("staticmethod", "tf.function") for d in decorators)
    return functions[0] if is_plain else None


def _numbers(script: Script, function: Function) -> frozenset[str]:
    """Return the names in a function that stand for plain numbers of the file."""
    found = set()
    for name in script.all(ast.Name, function):
        statement = only_binding(script, name)
        value = value_of(statement) if statement is not None else None
        if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
            found.add(name.id)
    return frozenset(found)


def _parse_edits(script: Script, known: list[Values | None]) -> tuple[Edit, ...] | None:
    """Return the edits that let functions parse whole batches; None where one is not known."""
    edits = []
    for values in known:
        if values is None or len(values.parsed) > 1:
            return None
        for call in values.parsed:
            if not isinstance(call.func, ast.Attribute) or not _is_called_here_only(script, call):
                return None
            if not _is_dense(script, call):
                return None
            line, end = script.end(call.func)
            begin = (line, end - len("parse_single_example"))
            edits.append(Edit(script.file, begin, (line, end), "parse_example"))
    return tuple(edits)


def _is_dense(script: Script, call: ast.Call) -> bool:
    """Tell whether all features that a call parses have fixed lengths."""
    given = argument(call, 1, "features")
    if isinstance(given, ast.Name):
        statement = binding(script, given) or only_binding(script, given)
        given = value_of(statement) if statement is not None else None
    if not isinstance(given, ast.Dict | ast.DictComp):
        return False
    parts = given.values if isinstance(given, ast.Dict) else [given.value]
    return all(
        isinstance(part, ast.Call) and ast.unparse(part.func).endswith("FixedLenFeature")
        for part in parts
    )


def _is_called_here_only(script: Script, call: ast.Call) -> bool:
    """Tell whether one place of the file uses the function that a call stands in."""
    function = script.around(call, ast.FunctionDef)
    if function is None:
        return True
    named = [n for n in script.all(ast.Name) if n.id == function.name]
    owned = [n for n in script.all(ast.Attribute) if n.attr == function.name]
    return len(named) + len(owned) == 1


def _change(edits: tuple[Edit, ...], *, is_exact: bool, is_fused: bool) -> Change:
    title = "Batch first, and map whole batches"
    if is_fused:  # a shuffle and a repeat that meet run as one, and draw otherwise
        note = "The order of elements is random as before, but another one."
        return Change(title, FixClass.MAY_CHANGE_RESULTS, edits, note)
    if is_exact:
        return Change(title, FixClass.SAME_RESULTS, edits)
    note = "Functions such as `exp` may round the last digit otherwise."
    return Change(title, FixClass.EQUIVALENT, edits, note)
