"""The edit that gives a map several threads, and how a file names what it needs of TensorFlow."""

from __future__ import annotations

import ast

from quickfit.code.datasets import method_call_at
from quickfit.code.module import Module
from quickfit.code.scopes import target_of, value_of_statement
from quickfit.code.syntax import argument
from quickfit.findings import Change, Edit, FixClass


def parallel_map(module: Module, line: int, *, is_random: bool) -> Change | None:
    """Return the change that gives the map at a line several threads."""
    call = method_call_at(module, line, "map")
    return parallel_call(module, call, is_random=is_random) if call is not None else None


def parallel_call(module: Module, call: ast.Call, *, is_random: bool) -> Change | None:
    """Return the change that gives a call of `map` several threads."""
    named = autotune_code(module, call.func.end_lineno or call.lineno)
    if named is None or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    code, imports = named
    edit = _with_threads(module, call, code)
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


def _with_threads(module: Module, call: ast.Call, code: str) -> Edit | None:
    threads = argument(call, "num_parallel_calls", 1)
    if threads is None:
        is_given = call.args or call.keywords
        return module.with_keyword(call, "num_parallel_calls", code) if is_given else None
    is_one = isinstance(threads, ast.Constant) and threads.value in (None, 1)
    return module.replace(threads, code) if is_one and len(call.args) <= 2 else None


def autotune_code(module: Module, line: int) -> tuple[str, tuple[Edit, ...]] | None:
    """Return the code for `tf.data.AUTOTUNE` at a line, and the edits that import what it needs.

    A constant of the user's for it comes first. None where the name `tf` is something else.
    """
    for statement in module.tree.body:
        value, name = value_of_statement(statement), target_of(statement)
        if name and isinstance(value, ast.Attribute) and value.attr == "AUTOTUNE":
            return (name, ()) if statement.lineno < line else None
    return tensorflow_code(module, line, "data.AUTOTUNE")


def tensorflow_code(module: Module, line: int, path: str) -> tuple[str, tuple[Edit, ...]] | None:
    """Return the code for something of TensorFlow, and the edits that import what it needs."""
    for node in module.all(ast.Import):
        inside = module.around(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        if inside is not None and not inside.lineno <= line <= (inside.end_lineno or 0):
            continue
        for alias in node.names:
            is_whole = alias.name in ("tensorflow", "tensorflow.compat.v2")
            if is_whole and (alias.asname or alias.name == "tensorflow"):
                return f"{alias.asname or alias.name}.{path}", ()
            if alias.name.startswith("tensorflow.") and alias.asname is None:
                return f"tensorflow.{path}", ()
    names = {node.id for node in module.all(ast.Name)} | {
        alias.asname or alias.name for node in module.all(ast.ImportFrom) for alias in node.names
    }
    if "tf" in names:
        return None  # it has another meaning here
    name, edits = module.import_of("tensorflow", "tf")
    return f"{name}.{path}", edits
