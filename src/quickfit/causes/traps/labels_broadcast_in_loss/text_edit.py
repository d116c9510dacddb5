"""What is said about labels and predictions that do not match, and the edit that helps."""

from __future__ import annotations

import ast

from quickfit.causes.traps.labels_broadcast_in_loss.text import Mismatch
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.shapes.layers import SEQUENTIAL, last_dense, layers_of
from quickfit.code.shapes.shape import Array, Shape, shape_text
from quickfit.code.syntax import argument, keyword_value, name_of
from quickfit.code.values import Made, Value
from quickfit.findings import Change, Edit, Effect, FixClass, Span, Spotted


def labels_as_column(
    program: Program, module: Module, labels: ast.expr, predictions: ast.expr
) -> Edit | None:
    """Return the edit of one side of a difference; None where it could be wrong."""
    name = _uncast(program, module, labels)
    if not isinstance(name, ast.Name):
        return None
    function = module.function(name)
    args = {arg.arg for arg in function.args.args} if function is not None else set()
    if name.id not in args or not isinstance(predictions, ast.Name):
        return module.replace(name, f"{name.id}[:, None]")
    if predictions.id not in args:
        return module.replace(name, f"{name.id}[:, None]")
    # A loss may be called with other labels elsewhere: those that fit already must stay.
    alias = _alias(module)
    code = f"{alias}.reshape({name.id}, {alias}.shape({predictions.id}))"
    return module.replace(name, code) if alias else None


def _uncast(program: Program, module: Module, node: ast.expr) -> ast.expr:
    """Return what is cast to another type; the expression itself where nothing is."""
    if not isinstance(node, ast.Call) or not node.args:
        return node
    is_cast = program.called(module, node) in ("tensorflow.cast", "keras.ops.cast")
    return node.args[0] if is_cast else node


def _alias(module: Module) -> str:
    """Return how a file calls TensorFlow; empty where it does not import it."""
    names = [alias for node in module.all(ast.Import) for alias in node.names]
    return next((a.asname or a.name for a in names if a.name == "tensorflow"), "")


def is_map_for_a_number(labels: Shape, predictions: Shape) -> bool:
    """Tell whether a model gives a row, a map or a volume of numbers where one is wanted."""
    is_number = len(labels) == 1 or (len(labels) == 2 and labels[1] == 1)
    return is_number and 3 <= len(predictions) <= 5 and predictions[-1] == 1


def pooled_head(program: Program, model: Value | None, predictions: Shape) -> tuple[Edit, ...]:
    """Return the edits of `Sequential([..., Dense(1)])`; none where they could be wrong."""
    if not isinstance(model, Made) or model.maker != SEQUENTIAL:
        return ()
    module, found = model.module, layers_of(program, model)
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
        keyword_value(before, "return_sequences") is not None
        or name_of(before.func) == "Bidirectional"
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


_INTEGER, _ONE_HOT = "sparse_categorical_crossentropy", "categorical_crossentropy"
_SAME = "Give predictions and labels the same shape"
_NOTE = "Results so far were trained on the wrong numbers."


def mismatch_spotted(program: Program, mismatch: Mismatch) -> Spotted:
    """Return a mismatch as it is told."""
    return Spotted(
        where=mismatch.module.span(mismatch.node),
        summary=_summary(mismatch),
        effect=mismatch.effect,
        related=_related(program, mismatch),
        change=_change(program, mismatch),
    )


def _summary(mismatch: Mismatch) -> str:
    labels, predictions = _shown(mismatch.labels), _shown(mismatch.predictions)
    if mismatch.effect is Effect.WRONG:
        return (
            f"every label of a batch is compared with all its predictions: labels are {labels}, "
            f"predictions {predictions}"
        )
    name = f"`{mismatch.loss.name}`" if mismatch.loss.name else "this loss"
    return f"{name} cannot compare labels {labels} with predictions {predictions}"


def _shown(array: Array) -> str:
    return shape_text(array.sides)


def _related(program: Program, mismatch: Mismatch) -> tuple[tuple[Span, str], ...]:
    found: list[tuple[Span, str]] = []
    model = mismatch.model
    if isinstance(model, Made):
        listed = layers_of(program, model)
        module, node = (
            (listed[-1].module, listed[-1].node) if listed else (model.module, model.call)
        )
        found.append((module.span(node), f"gives predictions {_shown(mismatch.predictions)}"))
    place = mismatch.labels.place
    if place is not None:
        found.append((place[0].span(place[1]), f"labels come from here: {_shown(mismatch.labels)}"))
    if mismatch.fit is not None:
        module, call = mismatch.fit
        found.append((module.span(call), "trains on them"))
    return tuple(found)


def _change(program: Program, mismatch: Mismatch) -> Change | None:
    labels, predictions = mismatch.labels.sides, mismatch.predictions.sides
    if not mismatch.is_all:
        return None
    if mismatch.effect is Effect.CRASHES:
        return _other_loss(mismatch)
    if mismatch.operands is not None and len(labels) == 1 and predictions[1:] == (1,):
        code = labels_as_column(program, mismatch.module, *mismatch.operands)
        return Change(_SAME, FixClass.REPAIRS, (code,), _NOTE) if code is not None else None
    if not mismatch.loss.aligns or not is_map_for_a_number(labels, predictions):
        return None
    edits = pooled_head(program, mismatch.model, predictions)
    if not edits:
        return None
    return Change(
        title="Pool the map that the model predicts", kind=FixClass.REPAIRS, edits=edits, note=_NOTE
    )


def _other_loss(mismatch: Mismatch) -> Change | None:
    """Return the change to the crossentropy that is for labels like these."""
    call = mismatch.node
    loss = argument(call, "loss", 1) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(loss, ast.Constant):
        return None
    labels, predictions = mismatch.labels.sides, mismatch.predictions.sides
    count = predictions[-1]
    if len(predictions) != 2 or count is None or count < 2 or not _is_plain(call):
        return None
    if loss.value == _ONE_HOT and len(labels) == 1:
        new = _INTEGER
    elif loss.value == _INTEGER and len(labels) == 2 and labels[1] == count:
        new = _ONE_HOT
    else:
        return None
    quote = mismatch.module.code(loss)[-1]
    return Change(
        title="Use the crossentropy for labels like these",
        kind=FixClass.REPAIRS,
        edits=(mismatch.module.replace(loss, f"{quote}{new}{quote}"),),
    )


def _is_plain(call: ast.Call) -> bool:
    """Tell whether no metric of a `compile` depends on the kind of its labels."""
    given = keyword_value(call, "metrics")
    if given is None:
        return len(call.args) <= 2
    names = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    return all(isinstance(n, ast.Constant) and n.value in ("accuracy", "acc") for n in names)
