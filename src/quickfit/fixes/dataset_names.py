"""Tells which names are datasets of TensorFlow, by what they are assigned."""

from __future__ import annotations

import ast

from quickfit.fixes.bindings import binders, dotted, imported, own_nodes, scope_of, value_of
from quickfit.fixes.lookup import bindings
from quickfit.fixes.script import Script

_READERS = ("image_dataset_from_directory", "text_dataset_from_directory")
# Methods of a dataset that give something else.
_OTHERS = ("as_numpy_iterator", "cardinality", "reduce", "save", "get_single_element")
_RANDOM = ("shuffle", "random", "sample_from_datasets")


def is_dataset(script: Script, value: ast.expr, depth: int = 0) -> bool:
    """Tell whether an expression is certainly a `tf.data` dataset."""
    if depth > 10:
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return _gives_dataset(script, value.func.id, depth)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in _OTHERS:
            return False
        path = imported(script, dotted(value.func))
        if path.startswith("tensorflow.data.") or path.endswith(_READERS):
            return True
        return is_dataset(script, value.func.value, depth + 1)
    if not isinstance(value, ast.Name):
        return False
    found = _values(script, value)
    first = [v for v in found if v is not None and value.id not in _names(v)]
    return (
        len(first) >= 1
        and None not in found
        and all(is_dataset(script, v, depth + 1) for v in first)
    )


def _gives_dataset(script: Script, name: str, depth: int) -> bool:
    """Tell whether a function of the file returns a dataset, wherever it returns."""
    found = [f for f in script.all(ast.FunctionDef) if f.name == name]
    if len(found) != 1 or found[0].decorator_list or len(bindings(script, name)) != 1:
        return False
    nodes = list(own_nodes(*found[0].body))
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes):
        return False
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    return bool(returned) and all(
        value is not None and is_dataset(script, value, depth + 1) for value in returned
    )


def is_shuffled(script: Script, value: ast.expr) -> bool:
    """Tell whether the order or the content of a dataset may be random."""
    waiting, seen = [value], set()
    while waiting:
        node = waiting.pop()
        text = ast.unparse(node)
        if any(word in text for word in _RANDOM):
            return True
        for name in (n for n in ast.walk(node) if isinstance(n, ast.Name)):
            if name.id not in seen:
                seen.add(name.id)
                waiting += [v for v in _values(script, name) if v is not None]
                functions = [f for f in script.all(ast.FunctionDef) if f.name == name.id]
                if any(word in ast.unparse(f) for f in functions for word in _RANDOM):
                    return True
    return False


def _values(script: Script, name: ast.Name) -> list[ast.expr | None]:
    scope = scope_of(script, name)
    found = binders(scope, name.id) or binders(script.tree, name.id)
    return [value_of(script, node) for node in found]


def _names(value: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
