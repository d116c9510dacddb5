"""Spreads the calls of a map over threads: `num_parallel_calls=tf.data.AUTOTUNE`."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.chain import call_of
from quickfit.fixes.chain_names import target_of, value_of
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.script import Script


def parallel_map(script: Script, line: int, *, is_random: bool) -> Change | None:
    """Return the change that gives the map at a line several threads."""
    call = call_of(script, line, "map")
    named = autotune(script, line)
    if call is None or named is None or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    code, imports = named
    edit = _with_threads(script, call, code)
    if edit is None:
        return None
    kind = FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.SAME_RESULTS
    note = (
        "The map keeps state (random numbers): elements keep their order,"
        " but may get other random numbers than before."
        if is_random
        else ""
    )
    return Change("Run the map on several threads", kind, (*imports, edit), note)


def _with_threads(script: Script, call: ast.Call, code: str) -> Edit | None:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    threads = call.args[1] if len(call.args) > 1 else given.get("num_parallel_calls")
    if threads is None:
        return script.with_keyword(call, "num_parallel_calls", code) if call.args or given else None
    is_one = isinstance(threads, ast.Constant) and threads.value in (None, 1)
    return script.replace(threads, code) if is_one and len(call.args) <= 2 else None


def autotune(script: Script, line: int) -> tuple[str, tuple[Edit, ...]] | None:
    """Return the code for `tf.data.AUTOTUNE` at a line, and the edits that import what it needs.

    A constant of the user's for it comes first. None where the name `tf` is something else.
    """
    for statement in script.tree.body:
        value, name = value_of(statement), target_of(statement)
        if name and isinstance(value, ast.Attribute) and value.attr == "AUTOTUNE":
            return (name, ()) if statement.lineno < line else None
    return tensorflow(script, line, "data.AUTOTUNE")


def tensorflow(script: Script, line: int, path: str) -> tuple[str, tuple[Edit, ...]] | None:
    """Return the code for something of TensorFlow, and the edits that import what it needs."""
    for node in script.all(ast.Import):
        inside = script.around(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        if inside is not None and not inside.lineno <= line <= (inside.end_lineno or 0):
            continue
        for alias in node.names:
            is_whole = alias.name in ("tensorflow", "tensorflow.compat.v2")
            if is_whole and (alias.asname or alias.name == "tensorflow"):
                return f"{alias.asname or alias.name}.{path}", ()
            if alias.name.startswith("tensorflow.") and alias.asname is None:
                return f"tensorflow.{path}", ()
    names = {node.id for node in script.all(ast.Name)} | {
        alias.asname or alias.name for node in script.all(ast.ImportFrom) for alias in node.names
    }
    if "tf" in names:
        return None  # it has another meaning here
    name, edits = script.import_of("tensorflow", "tf")
    return f"{name}.{path}", edits
