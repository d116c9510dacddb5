"""Edits that pool the map in front of the last `Dense` of a model, from its text alone."""

from __future__ import annotations

import ast

from quickfit.findings import Edit
from quickfit.program import Module, Program, argument, keyword, name_of
from quickfit.program.values import Made, Value
from quickfit.shapes.layers import SEQUENTIAL, last_dense, layers
from quickfit.shapes.shapes import Shape


def is_map_for_a_number(labels: Shape, predictions: Shape) -> bool:
    """Tell whether a model gives a row, a map or a volume of numbers where one is wanted."""
    is_number = len(labels) == 1 or (len(labels) == 2 and labels[1] == 1)
    return is_number and 3 <= len(predictions) <= 5 and predictions[-1] == 1


def pooled_head(program: Program, model: Value | None, predictions: Shape) -> tuple[Edit, ...]:
    """Return the edits of `Sequential([..., Dense(1)])`; none where they could be wrong."""
    if not isinstance(model, Made) or model.maker != SEQUENTIAL:
        return ()
    module, found = model.module, layers(program, model)
    listed = argument(model.call, "layers", 0)
    last = last_dense(found) if found else None
    if not isinstance(listed, ast.List) or last is None or last.node is not listed.elts[-1]:
        return ()
    dense = last.node
    if not isinstance(dense, ast.Call) or _gives_rows(listed.elts):
        return ()
    return _in_list(module, dense, f"GlobalAveragePooling{len(predictions) - 2}D")


def _gives_rows(elements: list[ast.expr]) -> bool:
    """Tell whether the layer in front is one that could give one row itself."""
    before = elements[-2] if len(elements) > 1 else None
    return isinstance(before, ast.Call) and (
        keyword(before, "return_sequences") is not None or name_of(before.func) == "Bidirectional"
    )


def _in_list(module: Module, dense: ast.Call, name: str) -> tuple[Edit, ...]:
    code, imports = _named(module, dense, name)
    begin = module.begin(dense)
    indent = module.lines[begin[0] - 1][: begin[1]]
    text = f"{code}(),\n{indent}" if not indent.strip() else f"{code}(), "
    return (*imports, Edit(module.path, begin, begin, text)) if code else ()


def _named(module: Module, dense: ast.Call, name: str) -> tuple[str, tuple[Edit, ...]]:
    """Return how the text names a layer beside its `Dense`, and the import that this takes."""
    if isinstance(dense.func, ast.Attribute):
        return f"{module.code(dense.func.value)}.{name}", ()
    for node in module.all(ast.ImportFrom):
        names = {alias.asname or alias.name: alias for alias in node.names}
        if name_of(dense.func) not in names:
            continue
        if any(alias.name == name and alias.asname is None for alias in node.names):
            return name, ()
        end = module.end(node.names[-1])
        return name, (Edit(module.path, end, end, f", {name}"),)
    return "", ()
