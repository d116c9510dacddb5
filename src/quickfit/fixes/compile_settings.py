"""Edits that turn on XLA, or several steps in one call, where the text says how a step is run."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.keras_calls import MAX_COMPILE_ARGS, steps_in_one_call
from quickfit.fixes.lookup import argument, call_at, called, last_name, may_have_more
from quickfit.fixes.places import said
from quickfit.fixes.script import Function, Project, Script
from quickfit.fixes.written import written

# What was made, or why the text is left alone.
Made = Change | str

XLA_TITLE = "Compile the step with XLA"
XLA_NOTE = "The first step takes longer. Losses agree to rounding; dropout may draw other numbers."


def with_xla(script: Script, line: int, project: Project) -> Made:
    """Give `compile` the argument `jit_compile=True`, or set the one it has."""
    call = _call_of_compile(script, line, "jit_compile=True")
    if isinstance(call, str):
        return call
    edit = _with_value(script, call, "jit_compile", "True", project)
    return _xla(edit) if isinstance(edit, Edit) else edit


def _xla(edit: Edit) -> Change:
    return Change(XLA_TITLE, FixClass.MAY_CHANGE_RESULTS, (edit,), XLA_NOTE)


def with_steps(
    script: Script, line: int, steps: int, project: Project, *, works_on_batches: bool
) -> Made:
    """Give `compile` the argument `steps_per_execution`, or set the one it has."""
    code = f"steps_per_execution={steps}"
    call = _call_of_compile(script, line, code)
    if isinstance(call, str):
        return call
    if argument(call, "steps_per_execution") is None:
        change = steps_in_one_call(script, line, steps, works_on_batches=works_on_batches)
        return change or _by_hand(script, line, code)
    edit = _with_value(script, call, "steps_per_execution", str(steps), project)
    if not isinstance(edit, Edit):
        return edit
    kind = FixClass.MAY_CHANGE_RESULTS if works_on_batches else FixClass.SAME_RESULTS
    note = f"Callbacks on batches then come every {steps} steps."
    return Change(f"Run {steps} steps in one call", kind, (edit,), note)


def _call_of_compile(script: Script, line: int, code: str) -> ast.Call | str:
    """Return the call of `compile` at a line, where its arguments can be seen and changed."""
    call = call_at(script, line, "compile")
    if call is None:
        return f"{said(script, line)} has no single call of `compile`; put `{code}` there by hand"
    if may_have_more(call):
        return f"`compile` at {said(script, line)} is given arguments by `*` or `**`: add `{code}`"
    if len(call.args) > MAX_COMPILE_ARGS or not (call.args or call.keywords):
        return _by_hand(script, line, code)
    return call


def _by_hand(script: Script, line: int, code: str) -> str:
    return f"`compile` at {said(script, line)} is not recognised; put `{code}` there by hand"


def _with_value(
    script: Script, call: ast.Call, name: str, code: str, project: Project
) -> Edit | str:
    """Return the edit of an argument: added, replaced, or set where its constant is written."""
    given = argument(call, name)
    if given is None or isinstance(given, ast.Constant):
        edit = script.with_keyword(call, name, code)
        return edit or _by_hand(script, call.lineno, f"{name}={code}")
    found = written(script, given, project)
    if found is None or found.reads != 1:
        shown = f"`{name}={script.code(given)}` at {said(script, given.lineno)}"
        return f"{shown} is worked out elsewhere: make it {code} by hand"
    return found.edit(code)


def with_xla_function(script: Script, line: int) -> Made:
    """Give the `tf.function` around the function at a line the argument `jit_compile=True`."""
    functions = [f for f in script.all(ast.FunctionDef) if _heads(script, f, line)]
    if len(functions) != 1:
        return f"{said(script, line)} is no function with a name"
    function = functions[0]
    marks = [d for d in function.decorator_list if last_name(_bare(d)) == "function"]
    calls = [c for c in script.all(ast.Call) if _compiles(c, function)]
    if len(marks) + len(calls) != 1:
        where = f"`{function.name}` at {said(script, line)}"
        return f"{where} is not compiled by one `tf.function` in the same file"
    edit = _decorated(script, marks[0]) if marks else _called(script, calls[0])
    return _xla(edit) if edit is not None else f"`tf.function` at {said(script, line)} has `**`"


def _heads(script: Script, function: Function, line: int) -> bool:
    """Tell whether a line is the first one of a function, or one of its decorators."""
    return script.begin(function)[0] <= line < max(function.body[0].lineno, function.lineno + 1)


def _bare(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _compiles(call: ast.Call, function: Function) -> bool:
    """Tell whether a call is `tf.function(step)`."""
    given = call.args[:1]
    return called(call) == "function" and bool(given) and last_name(given[0]) == function.name


def _decorated(script: Script, decorator: ast.expr) -> Edit | None:
    if isinstance(decorator, ast.Call):
        return _called(script, decorator)
    return script.replace(decorator, f"{script.code(decorator)}(jit_compile=True)")


def _called(script: Script, call: ast.Call) -> Edit | None:
    return script.with_keyword(call, "jit_compile", "True")
