"""Edits of `compile` and of `tf.function`: eager steps, XLA, steps in one call."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.lookup import argument, call_at, called, last_name, may_have_more
from quickfit.fixes.needs_values import step_is_random, step_needs_values
from quickfit.fixes.script import Project, Script
from quickfit.fixes.written import Written, written

EAGER_SETTERS = ("run_functions_eagerly", "experimental_run_functions_eagerly")
# Positions of arguments that nobody gives by position.
MAX_COMPILE_ARGS = 4
Place = tuple[str, int] | None


def compiled_step(project: Project, compile_at: Place, setter_at: Place) -> Change | None:
    """Let the step be compiled, which `compile` or a call for all functions forbids.

    Args:
        project: all files, because the step may run code of any of them.
        compile_at: the call of `compile` that makes the model eager; None where it does not.
        setter_at: the call that makes all functions eager; None where there is none.
    """
    if step_needs_values(project):
        return None
    edits: list[Edit | None] = []
    if setter_at is not None:
        edits.append(_without_setter(project, setter_at))
    if compile_at is not None:
        edits.append(_without_eager(project, compile_at) or _without_attribute(project))
    found = tuple(edit for edit in edits if edit is not None)
    if not found or len(found) < len(edits):
        return None
    is_random = step_is_random(project)
    return Change(
        title="Let TensorFlow compile the train step",
        kind=FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.EQUIVALENT,
        edits=found,
        note="Losses agree to rounding."
        + (" Random numbers of the step are other ones." if is_random else ""),
    )


def _without_eager(project: Project, place: tuple[str, int]) -> Edit | None:
    """Take `run_eagerly` from a call of `compile`; a constant of its own is set instead."""
    script = project.script(place[0])
    call = call_at(script, place[1], "compile") if script is not None else None
    value = argument(call, "run_eagerly") if call is not None else None
    if script is None or call is None or value is None or _is_off(value):
        return None
    flag = _flag(script, value, project)
    return flag or script.without_keyword(call, "run_eagerly")


def _is_off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _flag(script: Script, value: ast.expr, project: Project) -> Edit | None:
    """Return the edit that turns off a named constant which only this place reads."""
    found = written(script, value, project) if isinstance(value, ast.Name) else None
    if found is None or found.reads != 1 or found.value is not True:
        return None
    if _is_read_elsewhere(project, found):
        return None
    return found.edit("False")


def _is_read_elsewhere(project: Project, found: Written) -> bool:
    """Tell whether other files read a constant too, as `settings.DEBUG` or by its name."""
    parent = found.script.parent(found.node)
    name = last_name(parent.targets[0]) if isinstance(parent, ast.Assign) else ""
    scripts = [s for file in project.files if (s := project.script(file)) is not None]
    reads = [n for s in scripts for n in s.all(ast.expr) if last_name(n) == name]
    return not name or sum(isinstance(getattr(n, "ctx", None), ast.Load) for n in reads) != 1


def _without_attribute(project: Project) -> Edit | None:
    """Take away the only `model.run_eagerly = True` of all files."""
    found = [
        (script, node)
        for file in project.files
        if (script := project.script(file)) is not None
        for node in script.all(ast.Assign)
        if any(last_name(t) == "run_eagerly" for t in node.targets)
    ]
    if len(found) != 1:
        return None
    script, statement = found[0]
    is_one = len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Attribute)
    return _removed(script, statement, project) if is_one and not _is_off(statement.value) else None


def _without_setter(project: Project, place: tuple[str, int]) -> Edit | None:
    script = project.script(place[0])
    call = call_at(script, place[1], *EAGER_SETTERS) if script is not None else None
    if script is None or call is None:
        return None
    statement = script.statement(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    setters = [c for c in script.all(ast.Call) if called(c) in EAGER_SETTERS]
    if len(setters) > 1 or (call.args and _is_off(call.args[0])):
        return None  # turned on and off: some part is meant to be eager
    return _removed(script, statement, project)


def _removed(script: Script, statement: ast.stmt, project: Project) -> Edit | None:
    """Take a statement away, with an `if` that holds nothing else; its comments stay or none."""
    parent = script.parent(statement)
    if isinstance(parent, ast.If) and parent.body == [statement] and not parent.orelse:
        is_plain = isinstance(parent.test, ast.Name | ast.Attribute)
        is_elif = parent in getattr(script.parent(parent), "orelse", [])
        if not is_plain or is_elif:
            return None
        flag = _flag(script, parent.test, project)
        if flag is not None:
            return flag
        statement = parent
    if script.has_comment(statement, statement) or _has_comment_above(script, statement):
        return None
    return script.remove(statement)


def _has_comment_above(script: Script, statement: ast.stmt) -> bool:
    line = script.begin(statement)[0]
    return line > 1 and script.lines[line - 2].strip().startswith("#")


def without_xla(script: Script, line: int, project: Project) -> Change | None:
    """Turn XLA off where `compile` or `tf.function` asks for it."""
    call = call_at(script, line, "compile", "function")
    if call is None or may_have_more(call) or len(call.args) > MAX_COMPILE_ARGS:
        return None
    edit = _xla_off(script, call, project)
    if edit is None:
        return None
    return Change(
        title="Train without XLA",
        kind=FixClass.MAY_CHANGE_RESULTS,
        edits=(edit,),
        note="To keep XLA, give every batch the same shape instead.",
    )


def _xla_off(script: Script, call: ast.Call, project: Project) -> Edit | None:
    given = argument(call, "jit_compile")
    if given is None:
        # Keras turns XLA on by itself where there is a GPU; a plain function never does.
        is_model = called(call) == "compile"
        return script.with_keyword(call, "jit_compile", "False") if is_model else None
    if _is_off(given):
        return None
    flag = _flag(script, given, project)
    if flag is not None or called(call) == "compile":
        return flag or script.replace(given, "False")
    if not call.args and len(call.keywords) == 1 and _is_decorator(script, call):
        return script.replace(call, script.code(call.func))
    return script.without_keyword(call, "jit_compile")


def _is_decorator(script: Script, call: ast.Call) -> bool:
    return call in getattr(script.parent(call), "decorator_list", [])


def steps_in_one_call(
    script: Script, line: int, steps: int, *, works_on_batches: bool
) -> Change | None:
    """Run several steps in one call of the compiled function."""
    call = call_at(script, line, "compile")
    if call is None or may_have_more(call) or len(call.args) > MAX_COMPILE_ARGS:
        return None
    if argument(call, "steps_per_execution") is not None or _is_eager(call):
        return None
    edit = script.with_keyword(call, "steps_per_execution", str(steps))
    if edit is None:
        return None
    return Change(
        title=f"Run {steps} steps in one call",
        kind=FixClass.MAY_CHANGE_RESULTS if works_on_batches else FixClass.SAME_RESULTS,
        edits=(edit,),
        note=f"Callbacks on batches then come every {steps} steps.",
    )


def _is_eager(call: ast.Call) -> bool:
    """Tell whether a step may be eager: then it cannot be run several at a time."""
    given = argument(call, "run_eagerly")
    return given is not None and not _is_off(given)
