"""Edits that save a model less often: the number in a callback, or a save in a loop."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.lookup import argument, call_at, called, may_have_more
from quickfit.fixes.script import Project, Script
from quickfit.fixes.turns import modulo_of, turn_test, under
from quickfit.fixes.written import Written, written

SAVERS = ("ModelCheckpoint", "BackupAndRestore")
# Calls that write a model and return nothing, or a path that nobody needs.
WRITING = ("save", "save_weights", "save_model", "write", "export")
# Calls that read what was saved.
READING = ("load_model", "load_weights", "restore", "read", "latest_checkpoint")
TIMES = 10
# A training that would save less often than this saves at the end of its epochs.
MIN_SAVES = 2
NOTE = "After a crash, more is to be done again; the last steps may not be in a file."


def seldom_checkpoint(
    script: Script, line: int, project: Project, *, steps: int | None = None
) -> Change | None:
    """Multiply the `save_freq` of a callback, where it is a number that is written out.

    `steps` is how many the whole training has, where that is known: of too few nothing would be
    left to save, and the end of an epoch is taken instead.
    """
    call = call_at(script, line, *SAVERS)
    if call is None or may_have_more(call):
        return None
    found = written(script, argument(call, "save_freq"), project)
    if found is None or type(found.value) is not int or found.value < 1:
        return None
    edit = _multiplied(script, argument(call, "save_freq"), found)
    if steps is not None and MIN_SAVES * TIMES * found.value > steps:
        edit = None if "{batch" in script.code(call) or found.reads > 1 else found.edit('"epoch"')
    best = argument(call, "save_best_only")
    is_best = best is not None and not (isinstance(best, ast.Constant) and not best.value)
    return _change(edit, project, is_best=is_best)


def _multiplied(script: Script, value: ast.expr | None, found: Written) -> Edit | None:
    """Return the edit of the constant; in the call, where others read the constant too."""
    assert isinstance(found.value, int)
    if found.reads <= 1:
        return found.edit(str(TIMES * found.value))
    return script.replace(value, f"{TIMES} * {script.code(value)}") if value else None


def _change(edit: Edit | None, project: Project, *, is_best: bool = False) -> Change | None:
    if edit is None:
        return None
    is_read = _is_read(project)
    more = " The best model is looked for less often." if is_best else ""
    more += " The script reads a saved model: it may be an older one." if is_read else ""
    return Change(
        title="Save a tenth as often",
        kind=FixClass.MAY_CHANGE_RESULTS if is_best or is_read else FixClass.SAME_RESULTS,
        edits=(edit,),
        note=NOTE + more,
    )


def _is_read(project: Project) -> bool:
    """Tell whether some file of the project reads a model back."""
    scripts = [s for file in project.files if (s := project.script(file)) is not None]
    return any(called(call) in READING for s in scripts for call in s.all(ast.Call))


def seldom_save(script: Script, line: int, project: Project) -> Change | None:
    """Save on every tenth turn of a loop, or of the turns that an `if` around it picks."""
    call = call_at(script, line, *WRITING)
    statement = script.statement(call) if call is not None else None
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return None  # something is done with what it returns
    picked = script.parent(statement)
    if isinstance(picked, ast.If):
        return _change(_seldom_if(script, picked, project), project)
    test = turn_test(script, statement, TIMES)
    edit = under(script, [statement], test) if test is not None else None
    return _change(edit, project)


def _seldom_if(script: Script, picked: ast.If, project: Project) -> Edit | None:
    """Multiply the interval of `if step % 5 == 0:` that holds nothing but the save."""
    if len(picked.body) != 1 or picked.orelse:
        return None
    interval = modulo_of(picked.test)
    found = written(script, interval, project)
    if interval is None or found is None or type(found.value) is not int or found.value < 1:
        return None
    return _multiplied(script, interval, found)
