"""Edits for labels and predictions of unlike shapes: the loss, or the head of the model.

A run knows the shapes of a batch and a line, the text the operands and the model; both end in
`labels_like_predictions` and `pooled_head`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.code.arrays import bindings_near
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import reads_in_file
from quickfit.code.syntax import argument, called_name, keyword_value, name_of
from quickfit.findings import Change, Edit, FixClass

Shape = Sequence[int | None]
SAME_SHAPE = "Give predictions and labels the same shape"
NOTE = "Results so far were trained on the wrong numbers."
_COMPARING = ("subtract", "squared_difference", "sub")


def is_one_side_more(labels: Shape, outputs: Shape) -> bool:
    """Tell whether two shapes are alike but for a last side of one."""
    short, long = sorted((list(labels), list(outputs)), key=len)
    return long == [*short, 1]


def repaired(*, head: tuple[Edit, ...] = (), loss: tuple[Edit, ...] = ()) -> Change:
    """Return the change of a model's head, of a loss, or of both."""
    title = SAME_SHAPE if loss else "Pool the map that the model predicts"
    return Change(title, FixClass.REPAIRS, edits=(*head, *loss), note=NOTE)


def fitting_loss(
    module: Module, line: int, labels: Shape, outputs: Shape, program: Program
) -> tuple[Edit, ...]:
    """Return the edits that give the labels the shape of the predictions in a user's own loss."""
    sides = _compared(module, line)
    if sides is None or not is_one_side_more(labels, outputs):
        return ()
    for label, prediction in (sides, sides[::-1]):
        name = _uncast(label)
        if isinstance(name, ast.Name) and _is_prediction(module, prediction, name, program):
            is_column = len(labels) == 1 and len(outputs) == 2
            return labels_like_predictions(module, name, prediction, is_column=is_column)
    return ()


def labels_like_predictions(
    module: Module, label: ast.expr, prediction: ast.expr, *, is_column: bool = True
) -> tuple[Edit, ...]:
    """Return the edits that give the labels of a difference the shape of its predictions.

    Args:
        module: where the difference stands.
        label: its side with the labels.
        prediction: the other side.
        is_column: the predictions are one column, and the labels a row.
    """
    name = _uncast(label)
    if not isinstance(name, ast.Name):
        return ()
    function = module.around(name, ast.FunctionDef)
    if function is not None and _are_arguments(function, name, prediction):
        # A loss may be called with other labels elsewhere: those that fit already must stay.
        return _reshaped(module, function, name.id, name_of(prediction))
    return (module.replace(name, f"{name.id}[:, None]"),) if is_column else ()


def _uncast(value: ast.expr) -> ast.expr:
    """Return what is cast to another type; the value itself where nothing is."""
    is_cast = isinstance(value, ast.Call) and called_name(value) == "cast" and bool(value.args)
    return value.args[0] if is_cast and isinstance(value, ast.Call) else value


def _compared(module: Module, line: int) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of the only difference at a line."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.expr) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            found.append((node.left, node.right))
        elif isinstance(node, ast.Call) and called_name(node) in _COMPARING and len(node.args) == 2:
            found.append((node.args[0], node.args[1]))
    named = [pair for pair in found if not any(isinstance(s, ast.Constant) for s in pair)]
    return named[0] if len(named) == 1 else None


def _is_prediction(module: Module, value: ast.expr, label: ast.Name, program: Program) -> bool:
    """Tell whether a side is what the model gave, and the other one is not."""
    if isinstance(value, ast.Call):
        return _is_model_call(value)
    if not isinstance(value, ast.Name):
        return False
    function = module.around(label, ast.FunctionDef)
    if function is not None and _are_arguments(function, label, value):
        names = [arg.arg for arg in function.args.args]
        places = (names.index(label.id), names.index(value.id))
        modules = program.modules()
        if _is_of_loss_class(module, function):
            return places == (1, 2)
        return _is_loss(modules, function.name, places) or _is_called_so(modules, function, places)
    return _gives_output(module, value)


def _is_model_call(call: ast.Call) -> bool:
    return keyword_value(call, "training") is not None


def _are_arguments(function: ast.FunctionDef, label: ast.Name, prediction: ast.expr) -> bool:
    names = [arg.arg for arg in function.args.args]
    return label.id in names and name_of(prediction) in names


def _is_of_loss_class(module: Module, function: ast.FunctionDef) -> bool:
    """Tell whether a function is the `call` of a loss of Keras's kind."""
    owner = module.parent(function)
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    return function.name == "call" and [name_of(base) for base in bases] == ["Loss"]


def _is_loss(modules: list[Module], name: str, places: tuple[int, int]) -> bool:
    """Tell whether a function is a loss of `compile`, which gets labels first."""
    if places != (0, 1):
        return False
    calls = [call for module in modules for call in module.all(ast.Call)]
    given = [
        value
        for call in calls
        if called_name(call) == "compile"
        for value in (*call.args[1:2], keyword_value(call, "loss"))
    ]
    return any(value is not None and name_of(value) == name for value in given)


def _is_called_so(
    modules: list[Module], function: ast.FunctionDef, places: tuple[int, int]
) -> bool:
    """Tell whether every call gives the model's output for the predictions, and not for labels."""
    calls = [
        (module, call)
        for module in modules
        for call in module.all(ast.Call)
        if called_name(call) == function.name and isinstance(call.func, ast.Name)
    ]
    label, prediction = places
    return bool(calls) and all(
        len(call.args) > max(places)
        and _gives_output(module, call.args[prediction])
        and not _gives_output(module, call.args[label])
        for module, call in calls
    )


def _gives_output(module: Module, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        parents = [module.parent(node) for node in bindings_near(module, value)]
        made = [p.value for p in parents if isinstance(p, ast.Assign)]
        calls = [m for m in made if isinstance(m, ast.Call) and _is_model_call(m)]
        return bool(calls) and len(calls) == len(parents)
    return isinstance(value, ast.Call) and _is_model_call(value)


def _reshaped(
    module: Module, function: ast.FunctionDef, label: str, prediction: str
) -> tuple[Edit, ...]:
    """Return the edits that reshape the labels where a loss begins."""
    body = function.body
    is_told = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if is_told and len(body) > 1 else body[0]
    if any(
        not isinstance(n.ctx, ast.Load)
        for n in module.all(ast.Name, within=function)
        if n.id == label
    ):
        return ()
    if any(
        isinstance(module.parent(n), ast.Subscript) for n in reads_in_file(module, label, function)
    ):
        return ()  # an axis may have been added on purpose
    tf, imports = module.import_of("tensorflow", "tf")
    code = f"{label} = {tf}.reshape({label}, {tf}.shape({prediction}))"
    made = module.insert_before(first, code) if first.lineno != function.lineno else None
    return (*imports, made) if made is not None else ()


_RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def is_map_for_a_number(labels: Shape, outputs: Shape) -> bool:
    """Tell whether a model gives a row, a map or a volume of numbers where one is wanted."""
    is_number = len(labels) == 1 or (len(labels) == 2 and labels[1] == 1)
    return is_number and 3 <= len(outputs) <= 5 and outputs[-1] == 1


def only_model(program: Program) -> tuple[Module, ast.Call] | None:
    """Return the only call that makes a model; None where there are several, or classes of them."""
    made = [
        (module, call)
        for module in program.modules()
        for call in module.calls("Sequential", "Model")
    ]
    bases = [b for m in program.modules() for owner in m.all(ast.ClassDef) for b in owner.bases]
    is_own = any(name_of(base) in ("Model", "Sequential") for base in bases)
    return made[0] if len(made) == 1 and not is_own else None


def pooled_head(module: Module, call: ast.Call, outputs: Shape) -> tuple[Edit, ...]:
    """Return the edits that pool the map in front of the last `Dense` of a model."""
    pooling = f"GlobalAveragePooling{len(outputs) - 2}D"
    if called_name(call) == "Model":
        return _functional(module, call, pooling)
    layers, added = argument(call, "layers", 0), _added(module, call)
    if isinstance(layers, ast.List) and layers.elts and not added:
        return _in_list(module, layers.elts, pooling)
    return _in_adds(module, added, pooling)


def _layer(module: Module, dense: ast.Call, name: str) -> tuple[str, tuple[Edit, ...]]:
    """Return the code of a layer, named as the script names its `Dense`, and what it imports."""
    if isinstance(dense.func, ast.Attribute):
        return f"{module.code(dense.func.value)}.{name}()", ()
    for node in module.all(ast.ImportFrom):
        if name_of(dense.func) not in [alias.asname or alias.name for alias in node.names]:
            continue
        if any(alias.name == name and alias.asname is None for alias in node.names):
            return f"{name}()", ()
        end = module.end(node.names[-1])
        return f"{name}()", (Edit(module.path, end, end, f", {name}"),)
    return "", ()


def _in_list(module: Module, layers: list[ast.expr], pooling: str) -> tuple[Edit, ...]:
    """Return the edits of `Sequential([..., Dense(1)])`."""
    *before, last = layers
    if not isinstance(last, ast.Call) or called_name(last) != "Dense":
        return ()
    one_row = _last_row(module, before[-1]) if before else None
    if one_row is not None:
        return (one_row,)
    code, imports = _layer(module, last, pooling)
    line, column = module.begin(last)
    indent = module.lines[line - 1][:column]
    text = f"{code},\n{indent}" if not indent.strip() else f"{code}, "
    return (*imports, Edit(module.path, (line, column), (line, column), text)) if code else ()


def _last_row(module: Module, layer: ast.expr) -> Edit | None:
    """Return the edit that makes a recurrent layer give its last row; None for other layers."""
    if isinstance(layer, ast.Call) and called_name(layer) == "Bidirectional" and layer.args:
        layer = layer.args[0]
    if not isinstance(layer, ast.Call) or called_name(layer) not in _RECURRENT:
        return None
    given = keyword_value(layer, "return_sequences")
    is_on = isinstance(given, ast.Constant) and given.value is True
    return module.without_keyword(layer, "return_sequences") if is_on else None


def _added(module: Module, call: ast.Call) -> list[ast.Call]:
    """Return the calls of `add` on the model, in the order of the text."""
    parent = module.parent(call)
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    names = {ast.unparse(target) for target in targets}
    adds = [c for c in module.calls("add") if len(c.args) == 1]
    return [c for c in adds if ast.unparse(c.func).removesuffix(".add") in names]


def _in_adds(module: Module, adds: list[ast.Call], pooling: str) -> tuple[Edit, ...]:
    """Return the edits of `model.add(Dense(1))`, the last one."""
    last = adds[-1].args[0] if adds else None
    if not isinstance(last, ast.Call) or called_name(last) != "Dense":
        return ()
    one_row = _last_row(module, adds[-2].args[0]) if len(adds) > 1 else None
    if one_row is not None:
        return (one_row,)
    statement = module.statement(adds[-1])
    if not isinstance(statement, ast.Expr) or module.around(statement, ast.For, ast.If):
        return ()
    code, imports = _layer(module, last, pooling)
    added = module.insert_before(statement, f"{module.code(adds[-1].func)}({code})")
    return (*imports, added) if code and added is not None else ()


def _last_value(module: Module, name: ast.Name, call: ast.Call) -> ast.expr | None:
    """Return what the last assignment before a call, in the same block, gives to a name."""
    block = module.block(module.statement(call))
    bound = [module.parent(node) for node in bindings_near(module, name)]
    before = [p for p in bound if isinstance(p, ast.Assign) and p.lineno < call.lineno]
    last = max(before, key=lambda p: p.lineno, default=None)
    return last.value if last is not None and last in block else None


def _functional(module: Module, call: ast.Call, pooling: str) -> tuple[Edit, ...]:
    """Return the edits of `Model(inputs, Dense(1)(h))`, also where the output has a name."""
    outputs = argument(call, "outputs", 1)
    if isinstance(outputs, ast.Name):
        outputs = _last_value(module, outputs, call)
    if not isinstance(outputs, ast.Call) or not isinstance(outputs.func, ast.Call):
        return ()
    if called_name(outputs.func) != "Dense" or len(outputs.args) != 1:
        return ()
    code, imports = _layer(module, outputs.func, pooling)
    given = outputs.args[0]
    edit = module.replace(given, f"{code}({module.code(given)})")
    return (*imports, edit) if code else ()
