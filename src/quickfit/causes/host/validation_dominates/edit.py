"""Edits that validate less often: `validation_freq`, `evaluate`, or a loop written by hand."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.causes._shared.train_loops.training_effects import Effect, effect
from quickfit.code import Module, Program
from quickfit.code.constants import find_constant
from quickfit.code.loops import put_under_test, turn_test
from quickfit.code.scopes import binders_in_file, call_at, reads_in_file
from quickfit.code.syntax import called_name, keyword_value, name_of
from quickfit.findings import Change, FixClass

# They decide by what validation says, and wait while it says nothing.
DECIDERS = ("EarlyStopping", "ReduceLROnPlateau", "ModelCheckpoint")
SELDOM = 5
# Calls that take the numbers of validation whatever their count is.
_ANY_COUNT = ("min", "max", "mean", "argmin", "argmax", "print", "round", "float", "sum", "format")
# Calls of Keras that only look at a model.
LOOKING = ("evaluate", "predict")
# In the names of functions that give a number for predictions.
_SCORES = ("score", "auc", "accuracy", "error", "mean", "arg", "round", "float", "matrix", "report")
PRINTING = ("print", "info", "write", "debug")


def seldom_validation(
    module: Module, line: int, program: Program, epochs: int | None
) -> Change | None:
    """Validate after every n-th epoch of `fit`, the last one among them where that is possible."""
    call = call_at(module, line, "fit")
    if call is None or any(keyword.arg is None for keyword in call.keywords):
        return None
    given = keyword_value(call, "validation_freq")
    before = find_constant(module, given, program) if given is not None else None
    if given is not None and (before is None or before.value != 1):
        return None
    every = _interval(epochs)
    if every < 2 or _needs_every_epoch(program):
        return None
    edit = module.with_keyword(call, "validation_freq", str(every))
    decider = _decider(program)
    if edit is None:
        return None
    note = f" `{decider}` then looks every {every} epochs only." if decider else ""
    return Change(
        title=f"Validate every {every} epochs",
        kind=FixClass.MAY_CHANGE_RESULTS if decider else FixClass.SAME_RESULTS,
        edits=(edit,),
        note=f"The validation curve has fewer points.{note}",
    )


def _interval(epochs: int | None) -> int:
    """Return every how many epochs to validate: best so that the last one is validated."""
    if epochs is None:
        return SELDOM
    if epochs <= SELDOM:
        return epochs
    divisors = (n for n in (5, 6, 4, 7, 8, 3, 10) if epochs % n == 0)
    return next(divisors, SELDOM)


def _decider(program: Program) -> str:
    """Return a callback of the project that waits for validation; a custom one counts too."""
    names = [called_name(call) for module in _scripts(program) for call in module.all(ast.Call)]
    return next((name for name in DECIDERS if name in names), "")


def _scripts(program: Program) -> list[Module]:
    return program.modules()


def _needs_every_epoch(program: Program) -> bool:
    """Tell whether some code may fail or lie where an epoch has no validation."""
    return any(
        _is_count_needed(module, node)
        for module in _scripts(program)
        for node in module.all(ast.Constant)
        if isinstance(node.value, str) and "val_" in node.value and not _is_prose(module, node)
    ) or any(_reads_all(module) for module in _scripts(program))


def _is_prose(module: Module, node: ast.Constant) -> bool:
    return isinstance(module.parent(node), ast.Expr) or " " in str(node.value).strip()


def _is_count_needed(module: Module, node: ast.Constant) -> bool:
    """Tell whether a use of `"val_loss"` may need its value for every epoch."""
    parent = module.parent(node)
    if isinstance(parent, ast.keyword) and parent.arg == "monitor":
        owner = module.parent(parent)
        return not (isinstance(owner, ast.Call) and called_name(owner) in DECIDERS)
    if not isinstance(parent, ast.Subscript) or "hist" not in name_of(parent.value):
        return True  # `logs["val_loss"]`, a path with `{val_loss}`, a list of names
    around = module.parent(parent)
    if isinstance(around, ast.Subscript) and around.value is parent:
        return not _is_last(around.slice)
    is_alone = isinstance(around, ast.Call) and len(around.args) == 1 and not around.keywords
    return not (is_alone and isinstance(around, ast.Call) and called_name(around) in _ANY_COUNT)


def _is_last(index: ast.expr) -> bool:
    return isinstance(index, ast.UnaryOp) and ast.unparse(index) == "-1"


def _reads_all(module: Module) -> bool:
    """Tell whether all curves are taken together, as a table of one row per epoch does."""
    for node in module.all(ast.Attribute):
        if node.attr == "history" and isinstance(node.ctx, ast.Load):
            parent = module.parent(node)
            call = parent if isinstance(parent, ast.Call) else None
            if call is not None and called_name(call) in (
                "DataFrame",
                "zip",
                "writerows",
                "from_dict",
            ):
                return True
            if isinstance(parent, ast.Attribute) and parent.attr in ("items", "values"):
                return True
    return False


def seldom_look(module: Module, line: int, program: Program) -> Change | None:
    """Evaluate on every fifth turn of the loop, or call of the hook, that does so by itself."""
    call = call_at(module, line, *LOOKING)
    first = module.statement(call) if call is not None else None
    if first is None or not isinstance(first, ast.Expr | ast.Assign):
        return None
    if isinstance(first, ast.Expr) and first.value is not call and not _only_looks(first):
        return None
    group = _group(module, first)
    if not group:
        return None
    test = turn_test(module, first, SELDOM)
    edit = put_under_test(module, group, test) if test is not None else None
    if edit is None:
        return None
    owner = module.around(first, ast.FunctionDef)
    is_hook = owner is not None and isinstance(module.parent(owner), ast.ClassDef)
    worst = effect(program, module, owner) if is_hook and owner is not None else Effect.NONE
    if worst is Effect.CHANGES:
        return None
    # `evaluate` begins the metrics of the training anew, which only a batch's hook would notice.
    is_in_epoch = is_hook and owner is not None and "batch" in owner.name
    return Change(
        title="Validate a fifth as often",
        kind=FixClass.MAY_CHANGE_RESULTS if is_in_epoch else FixClass.SAME_RESULTS,
        edits=(edit,),
        note="There are fewer numbers of validation to look at.",
    )


def _group(module: Module, first: ast.stmt) -> list[ast.stmt]:
    """Return the statements that only look: the call, and what prints or keeps its result."""
    block = module.block(first)
    group = [first]
    if isinstance(first, ast.Assign):
        names = _targets(first)
        behind = block[block.index(first) + 1 :]
        while behind and any(_reads(module, behind[0], name) for name in names):
            group.append(behind.pop(0))
            names += _targets(group[-1]) if isinstance(group[-1], ast.Assign) else []
        if not names or not all(_is_only_in(module, name, group) for name in names):
            return []
    return group if all(_only_looks(statement) for statement in group[1:]) else []


def _targets(statement: ast.Assign) -> list[str]:
    parts = [p for t in statement.targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    names = [name_of(p) for p in parts if isinstance(p, ast.Name)]
    return names if len(names) == len(parts) else []


def _reads(module: Module, statement: ast.stmt, name: str) -> bool:
    return bool(reads_in_file(module, name, statement))


def _is_only_in(module: Module, name: str, group: list[ast.stmt]) -> bool:
    """Tell whether a name is set and read nowhere but in some statements."""
    inside = [node for statement in group for node in ast.walk(statement)]
    if name == "_":
        return True
    is_read_inside = all(node in inside for node in reads_in_file(module, name))
    return is_read_inside and all(node in inside for node in binders_in_file(module, name))


def _only_looks(statement: ast.stmt) -> bool:
    """Tell whether a statement writes something for the user to read.

    A list of results may be drawn against the epochs later, and then needs one for each.
    """
    if isinstance(statement, ast.Assign):
        calls = [called_name(n).lower() for n in ast.walk(statement) if isinstance(n, ast.Call)]
        is_pure = all(any(word in name for word in _SCORES) for name in calls)
        return bool(_targets(statement)) and is_pure
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and called_name(call) in PRINTING


_RESETS = ("reset_state", "reset_states")
_PRINTING = ("print", "info", "debug")
# Calls that only read the values of metrics.
_READING = {"result", "float", "numpy", "mean", "round", "reduce_mean", "int", "item", "len", "sum"}


def seldom_loop(module: Module, line: int) -> Change | None:
    """Validate on every fifth turn, with what prints the results and begins metrics anew."""
    found = [loop for loop in module.all(ast.For) if loop.lineno == line]
    loop = found[0] if len(found) == 1 and not found[0].orelse else None
    around = module.parent(loop) if loop is not None else None
    if loop is None or not isinstance(around, ast.For):
        return None
    group = _loop_group(module, loop)
    if (
        not group
        or _leaves(group)
        or not all(_is_only_here(module, n, group, around) for n in _set(group))
    ):
        return None
    if _changes_something(loop):
        return None
    test = turn_test(module, loop, SELDOM)
    edit = put_under_test(module, group, test) if test is not None else None
    if edit is None:
        return None
    return Change(
        title="Validate a fifth as often",
        kind=FixClass.SAME_RESULTS,
        edits=(edit,),
        note="There are fewer numbers of validation, and lines that print them.",
    )


def _loop_group(module: Module, loop: ast.For) -> list[ast.stmt]:
    """Return the loop and the statements behind it that read, print or reset its results."""
    block = module.block(loop)
    group: list[ast.stmt] = [loop]
    others = [s for s in block if isinstance(s, ast.For | ast.While) and s is not loop]
    # What training uses too, such as the model, says nothing about validation.
    used, shared = _used(module, [loop]), _used(module, others)
    if used & shared & _metrics(module):
        return []  # what is printed then would be the training's
    own = used - shared
    behind = block[block.index(loop) + 1 :]
    while behind and _belongs(behind[0], own | _set(group)):
        group.append(behind.pop(0))
    # What is left must not show numbers of a validation that did not take place.
    return [] if any(_names([statement]) & own for statement in behind) else group


def _metrics(module: Module) -> set[str]:
    """Return the names whose results are asked for."""
    reads = [n for n in module.all(ast.Attribute) if n.attr in ("result", "update_state")]
    return {name_of(node.value) for node in reads}


def _used(module: Module, group: Sequence[ast.stmt]) -> set[str]:
    """Return the names in statements, and in the functions of the file that they call."""
    calls = {called_name(n) for s in group for n in ast.walk(s) if isinstance(n, ast.Call)}
    functions = [f for f in module.all(ast.FunctionDef) if f.name in calls]
    return _names([*group, *functions])


def _belongs(statement: ast.stmt, names: set[str]) -> bool:
    """Tell whether a statement does nothing but read, print or reset what has some names."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    if not _names([statement]) & names:
        return False
    if isinstance(statement, ast.Assign):
        are_names = all(isinstance(target, ast.Name) for target in statement.targets)
        return are_names and all(called_name(call) in _READING for call in calls)
    value = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(value, ast.Call) or called_name(value) not in (*_PRINTING, *_RESETS):
        return False
    return all(call is value or called_name(call) in {*_READING, "format"} for call in calls)


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


def _is_only_here(module: Module, name: str, group: list[ast.stmt], around: ast.For) -> bool:
    """Tell whether nothing else reads a value that the group gives to a name.

    Another statement of the loop around may use the name, if it sets it first, as `for x, y in`
    does; so may functions, which have names of their own.
    """
    for node in module.all(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        if any(module.is_in(node, statement) for statement in group):
            continue
        if module.around(node, ast.FunctionDef) is not module.around(around, ast.FunctionDef):
            continue
        if not _sets_first(module, node, around):
            return False
    return True


def _sets_first(module: Module, node: ast.Name, around: ast.For) -> bool:
    """Tell whether a name is read inside a loop, within the one around, that sets it each turn."""
    loop = module.around(node, ast.For)
    while loop is not None and loop is not around:
        targets = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        if node.id in targets and not module.is_in(node, loop.iter):
            return module.is_in(loop, around)
        loop = module.around(loop, ast.For)
    return False
