"""Edits that validate less often: `validation_freq`, or a test around a call of `evaluate`."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change
from quickfit.fixes.lookup import argument, bindings, call_at, called, last_name, loads
from quickfit.fixes.script import Project, Script
from quickfit.fixes.training_effects import Effect, effect
from quickfit.fixes.turns import turn_test, under
from quickfit.fixes.written import written

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
    script: Script, line: int, project: Project, epochs: int | None
) -> Change | None:
    """Validate after every n-th epoch of `fit`, the last one among them where that is possible."""
    call = call_at(script, line, "fit")
    if call is None or any(keyword.arg is None for keyword in call.keywords):
        return None
    given = argument(call, "validation_freq")
    before = written(script, given, project) if given is not None else None
    if given is not None and (before is None or before.value != 1):
        return None
    every = _interval(epochs)
    if every < 2 or _needs_every_epoch(project):
        return None
    edit = script.with_keyword(call, "validation_freq", str(every))
    decider = _decider(project)
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


def _decider(project: Project) -> str:
    """Return a callback of the project that waits for validation; a custom one counts too."""
    names = [called(call) for script in _scripts(project) for call in script.all(ast.Call)]
    return next((name for name in DECIDERS if name in names), "")


def _scripts(project: Project) -> list[Script]:
    return [s for file in project.files if (s := project.script(file)) is not None]


def _needs_every_epoch(project: Project) -> bool:
    """Tell whether some code may fail or lie where an epoch has no validation."""
    return any(
        _is_count_needed(script, node)
        for script in _scripts(project)
        for node in script.all(ast.Constant)
        if isinstance(node.value, str) and "val_" in node.value and not _is_prose(script, node)
    ) or any(_reads_all(script) for script in _scripts(project))


def _is_prose(script: Script, node: ast.Constant) -> bool:
    return isinstance(script.parent(node), ast.Expr) or " " in str(node.value).strip()


def _is_count_needed(script: Script, node: ast.Constant) -> bool:
    """Tell whether a use of `"val_loss"` may need its value for every epoch."""
    parent = script.parent(node)
    if isinstance(parent, ast.keyword) and parent.arg == "monitor":
        owner = script.parent(parent)
        return not (isinstance(owner, ast.Call) and called(owner) in DECIDERS)
    if not isinstance(parent, ast.Subscript) or "hist" not in last_name(parent.value):
        return True  # `logs["val_loss"]`, a path with `{val_loss}`, a list of names
    around = script.parent(parent)
    if isinstance(around, ast.Subscript) and around.value is parent:
        return not _is_last(around.slice)
    is_alone = isinstance(around, ast.Call) and len(around.args) == 1 and not around.keywords
    return not (is_alone and isinstance(around, ast.Call) and called(around) in _ANY_COUNT)


def _is_last(index: ast.expr) -> bool:
    return isinstance(index, ast.UnaryOp) and ast.unparse(index) == "-1"


def _reads_all(script: Script) -> bool:
    """Tell whether all curves are taken together, as a table of one row per epoch does."""
    for node in script.all(ast.Attribute):
        if node.attr == "history" and isinstance(node.ctx, ast.Load):
            parent = script.parent(node)
            call = parent if isinstance(parent, ast.Call) else None
            if call is not None and called(call) in ("DataFrame", "zip", "writerows", "from_dict"):
                return True
            if isinstance(parent, ast.Attribute) and parent.attr in ("items", "values"):
                return True
    return False


def seldom_look(script: Script, line: int, project: Project) -> Change | None:
    """Evaluate on every fifth turn of the loop, or call of the hook, that does so by itself."""
    call = call_at(script, line, *LOOKING)
    first = script.statement(call) if call is not None else None
    if first is None or not isinstance(first, ast.Expr | ast.Assign):
        return None
    if isinstance(first, ast.Expr) and first.value is not call and not _only_looks(first):
        return None
    group = _group(script, first)
    if not group:
        return None
    test = turn_test(script, first, SELDOM)
    edit = under(script, group, test) if test is not None else None
    if edit is None:
        return None
    owner = script.around(first, ast.FunctionDef)
    is_hook = owner is not None and isinstance(script.parent(owner), ast.ClassDef)
    worst = effect(project, script, owner) if is_hook and owner is not None else Effect.NONE
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


def _group(script: Script, first: ast.stmt) -> list[ast.stmt]:
    """Return the statements that only look: the call, and what prints or keeps its result."""
    block = script.block(first)
    group = [first]
    if isinstance(first, ast.Assign):
        names = _targets(first)
        behind = block[block.index(first) + 1 :]
        while behind and any(_reads(script, behind[0], name) for name in names):
            group.append(behind.pop(0))
            names += _targets(group[-1]) if isinstance(group[-1], ast.Assign) else []
        if not names or not all(_is_only_in(script, name, group) for name in names):
            return []
    return group if all(_only_looks(statement) for statement in group[1:]) else []


def _targets(statement: ast.Assign) -> list[str]:
    parts = [p for t in statement.targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    names = [last_name(p) for p in parts if isinstance(p, ast.Name)]
    return names if len(names) == len(parts) else []


def _reads(script: Script, statement: ast.stmt, name: str) -> bool:
    return bool(loads(script, name, statement))


def _is_only_in(script: Script, name: str, group: list[ast.stmt]) -> bool:
    """Tell whether a name is set and read nowhere but in some statements."""
    inside = [node for statement in group for node in ast.walk(statement)]
    if name == "_":
        return True
    is_read_inside = all(node in inside for node in loads(script, name))
    return is_read_inside and all(node in inside for node in bindings(script, name))


def _only_looks(statement: ast.stmt) -> bool:
    """Tell whether a statement writes something for the user to read.

    A list of results may be drawn against the epochs later, and then needs one for each.
    """
    if isinstance(statement, ast.Assign):
        calls = [called(n).lower() for n in ast.walk(statement) if isinstance(n, ast.Call)]
        is_pure = all(any(word in name for word in _SCORES) for name in calls)
        return bool(_targets(statement)) and is_pure
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and called(call) in PRINTING
