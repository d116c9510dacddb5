"""Reads what a loop does around `train_on_batch`: its generator, and what becomes of the loss."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.causes._shared.train_loops.batch_losses import Results
from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    nodes_in_scope,
    parameters,
    scope_of,
    value_of,
    writes,
)


@dataclass(frozen=True)
class Tail:
    """The statements behind `train_on_batch` in a turn.

    Args:
        lists: the code of each list that gets a loss or metric, and which one.
        sums: the same for numbers that are added up.
        counts: the names that count the batches.
    """

    lists: tuple[tuple[str, str], ...] = ()
    sums: tuple[tuple[str, str], ...] = ()
    counts: tuple[str, ...] = ()


NO_TAIL = Tail()


def tail_of(
    module: Module, statements: Sequence[ast.stmt], model: str, results: Results
) -> Tail | None:
    """Return what statements do with the results of a batch; None where more than collecting."""
    lists, sums, counts = [], [], []
    keys = dict(zip(results.names, results.keys, strict=False))
    for statement in statements:
        if is_reset(statement, model):
            continue
        name, added = _added(statement)
        if added is not None:
            key = _key(added, results, keys)
            if key:
                sums.append((name, key))
            elif isinstance(added, ast.Constant) and added.value == 1:
                counts.append(name)
            else:
                return None
            continue
        call = statement.value if isinstance(statement, ast.Expr) else None
        place = _list(module, call)
        key = _key(call.args[0], results, keys) if place and isinstance(call, ast.Call) else ""
        if not key:
            return None
        lists.append((place, key))
    return Tail(tuple(lists), tuple(sums), tuple(counts))


def _added(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the name and the value of `total += loss` or `total = total + loss`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        name = dotted(statement.target)
        return (name, statement.value) if name.isidentifier() else ("", None)
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(statement, ast.Assign) or not isinstance(value, ast.BinOp):
        return "", None
    name = dotted(statement.targets[0])
    is_sum = isinstance(value.op, ast.Add) and len(statement.targets) == 1
    is_own = name.isidentifier() and dotted(value.left) == name
    return (name, value.right) if is_sum and is_own else ("", None)


def is_reset(statement: ast.stmt, model: str) -> bool:
    """Tell whether a statement is `model.reset_metrics()`, which `fit` does by itself."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_call = isinstance(call, ast.Call) and not call.args
    return is_call and dotted(call.func) == f"{model}.reset_metrics"  # type: ignore[union-attr]


def _list(module: Module, call: ast.expr | None) -> str:
    """Return the code of the list that a call appends one value to."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    is_one = call.func.attr == "append" and len(call.args) == 1 and not call.keywords
    place = call.func.value
    is_item = isinstance(place, ast.Subscript) and isinstance(place.slice, ast.Constant)
    name = dotted(place.value if is_item else place)  # type: ignore[attr-defined]
    return module.code(place) if is_one and name else ""


def _key(value: ast.expr, results: Results, keys: dict[str, str]) -> str:
    """Return the metric that an expression is; nothing for any other."""
    if isinstance(value, ast.Call) and dotted(value.func) == "float" and len(value.args) == 1:
        value = value.args[0]
    if isinstance(value, ast.Name):
        return keys.get(value.id, "")
    if isinstance(value, ast.Call):  # the call that trains, without a name for its result
        return results.keys[0] if results.keys and not results.names else ""
    is_item = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant)
    if not is_item or not isinstance(value, ast.Subscript) or results.keys:
        return ""
    assert isinstance(value.slice, ast.Constant)
    is_own = dotted(value.value) in results.names and isinstance(value.slice.value, str)
    return str(value.slice.value) if is_own else ""


# -- means ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Means:
    """Names that only lead to the mean of an epoch, which is printed.

    Args:
        made: the statements that give them their first values.
        lists: lists of losses, with their metric.
        texts: the code of each mean of a sum, where it stands, and its metric.
    """

    made: tuple[ast.stmt, ...]
    lists: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, ast.stmt, str], ...]


def means_of(module: Module, loop: ast.For, tail: Tail, batch_count: str) -> Means | None:
    """Return how sums and lists of losses are shown; None where by more than their mean."""
    made: list[ast.stmt] = []
    names = [*(n for n, _ in (*tail.lists, *tail.sums)), *tail.counts]
    if len(set(names)) != len(names) or not all(name.isidentifier() for name in names):
        return None
    for name in names:
        first = _first(module, loop, name)
        if first is None:
            return None
        made.append(first)
    targets = {n.id for s in made for n in ast.walk(s) if isinstance(n, ast.Name)}
    if targets - set(names):
        return None
    texts: list[tuple[str, ast.stmt, str]] = []
    for name, key in tail.sums:
        found = _mean_texts(module, loop, name, [*tail.counts, batch_count])
        if found is None:
            return None
        texts += [(text, statement, key) for text, statement in found]
    if not all(_are_means(module, loop, name) for name, _ in tail.lists):
        return None
    if not all(_is_divisor(module, loop, name, tail.sums) for name in tail.counts):
        return None
    return Means(tuple(dict.fromkeys(made)), tail.lists, tuple(texts))


def _first(module: Module, loop: ast.For, name: str) -> ast.stmt | None:
    """Return the statement right in front of a loop that makes a name 0 or empty."""
    inside = set(ast.walk(loop))
    found = [n for n in binders(scope_of(module, loop), name) if n not in inside]
    statement = module.statement(found[0]) if len(found) == 1 else None
    value = value_of(module, found[0]) if found else None
    is_zero = isinstance(value, ast.Constant) and value.value == 0
    is_empty = isinstance(value, ast.List) and not value.elts
    block = module.block(loop)
    if statement is None or statement not in block or not (is_zero or is_empty):
        return None
    return statement if block.index(statement) < block.index(loop) else None


def _loads(module: Module, loop: ast.For, name: str) -> list[ast.Name]:
    inside = set(ast.walk(loop))
    found = [n for n in module.all(ast.Name) if n.id == name and n not in inside]
    return [n for n in found if isinstance(n.ctx, ast.Load)]


def _print_around(module: Module, loop: ast.For, node: ast.AST) -> ast.stmt | None:
    """Return the `print` behind a loop, in the same block, that a node is part of."""
    statement, block = module.statement(node), module.block(loop)
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_print = isinstance(call, ast.Call) and dotted(call.func) == "print"
    is_behind = statement in block and block.index(statement) > block.index(loop)
    return statement if is_print and is_behind else None


def _are_means(module: Module, loop: ast.For, name: str) -> bool:
    """Tell whether a list is read in prints only, for the mean of its values."""
    for node in _loads(module, loop, name):
        call = module.parent(node)
        path = import_path(module, dotted(call.func)) if isinstance(call, ast.Call) else ""
        if path != "numpy.mean" or _print_around(module, loop, node) is None:
            return False
        assert isinstance(call, ast.Call)
        if call.args != [node] or call.keywords:
            return False
    return True


def _mean_texts(
    module: Module, loop: ast.For, name: str, counts: Sequence[str]
) -> list[tuple[str, ast.stmt]] | None:
    """Return each `total / count` that is printed; None where a sum is read otherwise."""
    found = []
    for node in _loads(module, loop, name):
        mean, statement = module.parent(node), _print_around(module, loop, node)
        is_mean = isinstance(mean, ast.BinOp) and isinstance(mean.op, ast.Div)
        if not is_mean or statement is None or not isinstance(mean, ast.BinOp):
            return None
        count = ast.unparse(mean.right)
        texts = [f"{name} / {count}", f"{name}/{count}"]
        used = [t for t in texts if module.code(statement).count(t) == 1]
        if mean.left is not node or count not in counts or len(used) != 1:
            return None
        found.append((used[0], statement))
    return found


def _is_divisor(module: Module, loop: ast.For, name: str, sums: Sequence[tuple[str, str]]) -> bool:
    """Tell whether a count is read in means only."""
    added = {total for total, _ in sums}
    for node in _loads(module, loop, name):
        mean = module.parent(node)
        is_mean = isinstance(mean, ast.BinOp) and isinstance(mean.op, ast.Div)
        if not is_mean or not isinstance(mean, ast.BinOp) or dotted(mean.left) not in added:
            return False
    return not any(isinstance(n, ast.Name) and n.id == name for n in _tests(loop))


def _tests(loop: ast.For) -> list[ast.AST]:
    return [n for s in nodes_in_scope(*loop.body) if isinstance(s, ast.If) for n in ast.walk(s)]


def generator_steps(module: Module, value: ast.expr, modules: Sequence[Module], model: str) -> str:
    """Return the code of how many batches a call of a generator yields, where `fit` can take them.

    It has to yield pairs of rows, one in each turn of a loop over an array. Nothing if unclear.
    """
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return ""
    found = [f for s in modules for f in s.all(ast.FunctionDef) if f.name == value.func.id]
    if len(found) != 1 or found[0].decorator_list or value.keywords:
        return ""
    function = found[0]
    yields = [n for n in nodes_in_scope(*function.body) if isinstance(n, ast.Yield | ast.YieldFrom)]
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    if len(yields) != 1 or model.partition(".")[0] in names or not _is_pair(function, yields[0]):
        return ""
    return _count(module, function, value, yields[0])


def _count(
    module: Module, function: ast.FunctionDef, call: ast.Call, made: ast.Yield | ast.YieldFrom
) -> str:
    """Return how often `for start in range(0, len(x), size): yield ...` goes round."""
    loop = function.body[-1]
    is_loop = isinstance(loop, ast.For) and not loop.orelse
    if not is_loop or not isinstance(loop, ast.For) or not isinstance(loop.body[-1], ast.Expr):
        return ""
    leaves = any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in ast.walk(function))
    begin = ast.unparse(loop.iter)
    match = re.fullmatch(r"range\(0, len\((\w+)\), (\w+)\)", begin)
    if loop.body[-1].value is not made or leaves or match is None:
        return ""
    given = dict(zip(parameters(function), call.args, strict=False))
    own = writes(*function.body)
    codes = []
    for name in match.groups():
        value = given.get(name)
        if name in own or not isinstance(value, ast.Name | ast.Constant | ast.Attribute):
            return ""
        codes.append(module.code(value))
    return f"(len({codes[0]}) + {codes[1]} - 1) // {codes[1]}"


def _is_pair(function: ast.FunctionDef, node: ast.Yield | ast.YieldFrom) -> bool:
    """Tell whether a batch is inputs and targets, each an array."""
    value = node.value
    if isinstance(node, ast.YieldFrom) or not isinstance(value, ast.Tuple):
        return False
    return len(value.elts) == 2 and all(_is_array(function, part) for part in value.elts)


def _is_array(function: ast.FunctionDef, part: ast.expr) -> bool:
    """Tell whether a part of a batch is rows of an array.

    Keras looks at two batches only: padding that differs between batches would fail in a later one.
    """
    if isinstance(part, ast.Name):
        stores = [n for n in nodes_in_scope(*function.body) if isinstance(n, ast.Assign)]
        named = [s for s in stores if any(dotted(target) == part.id for target in s.targets)]
        is_other = any(isinstance(s.value, ast.Name) for s in named)
        is_own = len(named) == 1 and part.id not in parameters(function)
        return is_own and not is_other and _is_array(function, named[0].value)
    if isinstance(part, ast.BinOp):
        return _is_array(function, part.left) and isinstance(part.right, ast.Constant)
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        return part.func.attr == "astype" and _is_array(function, part.func.value)
    return isinstance(part, ast.Subscript) and bool(dotted(part.value))
