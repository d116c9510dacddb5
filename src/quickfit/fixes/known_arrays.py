"""Tells whether a value of a script is certainly an array, by how the script makes it."""

from __future__ import annotations

import ast

from quickfit.fixes.bindings import own_nodes
from quickfit.fixes.lookup import bindings, called, last_name
from quickfit.fixes.script import Project, Script

# Functions and methods that give an array, whatever they are given.
_MAKING = {"array", "asarray", "normal", "random", "uniform", "standard_normal", "rand", "randn"}
_MAKING |= {"astype", "reshape", "zeros", "ones", "stack", "concatenate", "to_numpy", "expand_dims"}
_MAKING |= {"fit_transform", "loadtxt", "genfromtxt", "linspace", "arange", "integers", "vstack"}
_MAKING |= {"hstack", "tile", "atleast_2d", "pad_sequences", "zeros_like", "ones_like", "randint"}
# Functions that give several arrays at once.
_MAKING_MANY = {"load_data", "train_test_split"}
MAX_DEPTH = 6


def is_array(script: Script, value: ast.expr | None, project: Project, depth: int = 0) -> bool:
    """Tell whether an expression is an array or a tensor, and no list, table or dataset."""
    if value is None or depth > MAX_DEPTH:
        return False
    if isinstance(value, ast.Name):
        return _is_array_name(script, value, project, depth)
    if isinstance(value, ast.Subscript):
        if last_name(value.value) in ("loc", "iloc"):
            return False  # a part of a table
        parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        if isinstance(value.slice, ast.Tuple) or any(map(is_new_axis, parts)):
            return any(isinstance(p, ast.Slice) or is_new_axis(p) for p in parts)
        is_part = isinstance(value.slice, ast.Slice)
        return is_part and is_array(script, value.value, project, depth + 1)
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(is_array(script, side, project, depth + 1) for side in sides)
    if isinstance(value, ast.Attribute):
        if value.attr == "values" and _has_tables(script):
            return True
        return _is_array_attribute(script, value, project, depth)
    if not isinstance(value, ast.Call):
        return False
    if called(value) == "astype" and _has_tables(script):
        receiver = value.func.value if isinstance(value.func, ast.Attribute) else None
        return is_array(script, receiver, project, depth + 1)
    if called(value) in _MAKING or _is_loaded(script, value):
        return True
    return _is_returned(script, value, project, depth, place=None)


def _has_tables(script: Script) -> bool:
    """Tell whether a file uses pandas, whose tables have methods of the same names as arrays."""
    names = [alias.name for node in script.all(ast.Import) for alias in node.names]
    names += [node.module or "" for node in script.all(ast.ImportFrom)]
    return any(name.partition(".")[0] == "pandas" for name in names)


def _is_loaded(script: Script, call: ast.Call) -> bool:
    """Tell whether a call reads one array: `np.load` of a file whose name ends in `.npy`."""
    path = call.args[0] if called(call) == "load" and len(call.args) == 1 else None
    while isinstance(path, ast.BinOp | ast.Call | ast.JoinedStr):
        if isinstance(path, ast.BinOp):
            path = path.right
        elif isinstance(path, ast.Call):
            path = path.args[-1] if path.args else None
        else:
            path = path.values[-1] if path.values else None
    text = path.value if isinstance(path, ast.Constant) else ""
    return isinstance(text, str) and text.endswith(".npy")


def _is_returned(
    script: Script, call: ast.Call, project: Project, depth: int, place: int | None
) -> bool:
    """Tell whether a function of the file returns an array, alone or at a place of a tuple."""
    if not isinstance(call.func, ast.Name) or len(bindings(script, call.func.id)) != 1:
        return False
    found = [f for f in script.all(ast.FunctionDef) if f.name == call.func.id]
    if len(found) != 1 or found[0].decorator_list:
        return False
    nodes = list(own_nodes(*found[0].body))
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    if not returned or any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes):
        return False
    if place is not None:
        returned = [_part(value, place) for value in returned]
    return all(is_array(script, value, project, depth + 1) for value in returned)


def _part(value: ast.expr | None, place: int) -> ast.expr | None:
    parts = value.elts if isinstance(value, ast.Tuple) else []
    return parts[place] if place < len(parts) else None


def is_new_axis(part: ast.expr) -> bool:
    """Tell whether an index is `None` or `np.newaxis`."""
    is_none = isinstance(part, ast.Constant) and part.value is None
    return is_none or last_name(part) == "newaxis"


def _is_array_name(script: Script, name: ast.Name, project: Project, depth: int) -> bool:
    """Tell whether everything that a name is bound to where it is read is an array."""
    if _is_trained_with(script, name):
        return True
    found = bindings_near(script, name)
    return bool(found) and all(
        _is_given(script, node, project, depth)
        if isinstance(node, ast.arg)
        else _is_array_binding(script, node, name.id, project, depth)
        for node in found
    )


def _is_trained_with(script: Script, name: ast.Name) -> bool:
    """Tell whether a function trains with a name and with labels: then it is no dataset."""
    function = script.around(name, ast.FunctionDef)
    calls = script.all(ast.Call, function) if function is not None else []
    return any(
        called(call) in ("fit", "train_on_batch")
        and len(call.args) > 1
        and ast.unparse(call.args[0]) == name.id
        for call in calls
    )


def _is_given(script: Script, node: ast.arg, project: Project, depth: int) -> bool:
    """Tell whether every call of a function gives an array for an argument of it."""
    function = script.around(node, ast.FunctionDef, ast.Lambda)
    if not isinstance(function, ast.FunctionDef) or node not in function.args.args:
        return False
    owner = script.parent(function)
    is_method = isinstance(owner, ast.ClassDef)
    is_made = isinstance(owner, ast.ClassDef) and function.name == "__init__"
    name = owner.name if is_made and isinstance(owner, ast.ClassDef) else function.name
    place = function.args.args.index(node) - is_method
    calls = [
        (other, call)
        for file in project.files
        if (other := project.script(file)) is not None
        for call in other.all(ast.Call)
        if called(call) == name
    ]
    given = [(s, _argument(call, place, node.arg)) for s, call in calls]
    return bool(given) and all(is_array(s, value, project, depth + 1) for s, value in given)


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """Return what a call gives by position or by name; None where that is not certain."""
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    named = next((k.value for k in call.keywords if k.arg == name), None)
    return named if named is not None else call.args[place] if place < len(call.args) else None


def _is_array_attribute(script: Script, node: ast.Attribute, project: Project, depth: int) -> bool:
    """Tell whether `self.x` is set once in its class, to an array."""
    owner = script.around(node, ast.ClassDef)
    if owner is None or not isinstance(node.value, ast.Name) or node.value.id != "self":
        return False
    stores = [
        part
        for part in script.all(ast.Attribute)
        if part.attr == node.attr and not isinstance(part.ctx, ast.Load)
    ]
    if len(stores) != 1 or not is_inside(script, stores[0], owner):
        return False
    return is_array(script, _value_of(script, stores[0]), project, depth + 1)


def _value_of(script: Script, target: ast.AST) -> ast.expr | None:
    """Return what is assigned to a target, alone or as one of several."""
    parent = script.parent(target)
    if isinstance(parent, ast.Assign):
        return parent.value
    assign = script.parent(parent) if isinstance(parent, ast.Tuple) else None
    values = assign.value if isinstance(assign, ast.Assign) else None
    if not isinstance(parent, ast.Tuple) or not isinstance(values, ast.Tuple):
        return None
    pairs = zip(parent.elts, values.elts, strict=False)
    return next((value for part, value in pairs if part is target), None)


def bindings_near(script: Script, name: ast.Name) -> list[ast.AST]:
    """Return what binds a name in the function that reads it, else at the top of the file."""
    found = bindings(script, name.id)
    function = script.around(name, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    local = [node for node in found if function is not None and is_inside(script, node, function)]
    top = [node for node in found if script.around(node, ast.FunctionDef, ast.Lambda) is None]
    return local or top


def is_inside(script: Script, node: ast.AST, scope: ast.AST) -> bool:
    """Tell whether a node is a part of another."""
    found: ast.AST | None = node
    while found is not None and found is not scope:
        found = script.parent(found)
    return found is scope


def _is_array_binding(
    script: Script, node: ast.AST, name: str, project: Project, depth: int
) -> bool:
    parent = script.parent(node)
    if isinstance(parent, ast.Assign) and parent.targets == [node]:
        is_scaled = isinstance(parent.value, ast.BinOp) and any(
            isinstance(n, ast.Name) and n.id == name for n in ast.walk(parent.value)
        )
        return is_scaled or is_array(script, parent.value, project, depth + 1)
    if isinstance(parent, ast.AugAssign):
        return True  # the first value says what it is
    inner = parent
    while isinstance(parent, ast.Tuple):
        parent = script.parent(parent)
    many = parent.value if isinstance(parent, ast.Assign) else None
    if isinstance(inner, ast.Tuple) and isinstance(parent, ast.Assign) and inner in parent.targets:
        place = inner.elts.index(node)  # type: ignore[arg-type]
        if any(isinstance(part, ast.Starred) for part in inner.elts):
            return False
        if isinstance(many, ast.Tuple):
            is_pair = len(many.elts) == len(inner.elts)
            return is_pair and is_array(script, many.elts[place], project, depth + 1)
        if isinstance(many, ast.Call) and _is_returned(script, many, project, depth, place):
            return True
    return isinstance(many, ast.Call) and called(many) in _MAKING_MANY
