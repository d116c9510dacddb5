"""Compiles a hand-written training step that is a function already: `@tf.function` above it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.bindings import (
    dotted,
    is_called_in_loop,
    local_names,
    loops_around,
    parameters,
    scope_of,
    writes,
)
from quickfit.fixes.change import Change
from quickfit.fixes.frozen_layers import changes_trainable
from quickfit.fixes.graph_code import GraphCode
from quickfit.fixes.own_classes import derived, is_plain_class
from quickfit.fixes.same_objects import is_given_same_objects
from quickfit.fixes.script import Function, Script

TITLE = "Compile the step with `tf.function`"
ROUNDING = "The same mathematics as one graph: losses agree to rounding, and such differences grow."
RANDOM = "Random numbers drawn with `tf.random` in the step are others in a graph."
# Keras calls and compiles these itself.
_KERAS_OWN = {"train_step", "test_step", "predict_step", "call", "build", "compute_loss"}


def compiled_step(script: Script, line: int, scripts: Sequence[Script]) -> Change | None:
    """Decorate the function at a line, if it is one step that means the same as a graph."""
    function = function_at(script, line)
    if function is None or any(_is_at(n, line) for n in script.all(ast.For, function)):
        return None
    code = GraphCode(scripts)
    if not (
        is_decoratable(script, function, scripts)
        and code.is_legal_function(script, function)
        and returns_tensors(function)
        and _is_called_plainly(scripts, function)
        and not changes_trainable(scripts, function.name)
        and is_given_same_objects(scripts, function)
    ):
        return None
    name, imports = script.import_of("tensorflow", "tf")
    if imports and is_taken(script, name):
        return None
    decorator = script.decorate(function, f"@{name}.function")
    return Change(TITLE, *class_of(code), (*imports, decorator), note_of(code))


def class_of(code: GraphCode) -> tuple[FixClass]:
    """Return how far compiling changes results."""
    return (FixClass.MAY_CHANGE_RESULTS if code.is_random else FixClass.EQUIVALENT,)


def note_of(code: GraphCode) -> str:
    """Return what to know about the results of a compiled step."""
    return f"{ROUNDING} {RANDOM}" if code.is_random else ROUNDING


def function_at(script: Script, line: int) -> ast.FunctionDef | None:
    """Return the innermost function that a line is part of; None if that is asynchronous."""
    functions = [n for n in ast.walk(script.tree) if isinstance(n, Function)]
    inside = [n for n in functions if n.lineno <= line <= (n.end_lineno or 0)]
    found = max(inside, key=lambda n: n.lineno, default=None)
    return found if isinstance(found, ast.FunctionDef) else None


def is_decoratable(script: Script, function: ast.FunctionDef, scripts: Sequence[Script]) -> bool:
    """Tell whether a function is made once, and nothing but a decorator is missing."""
    if function.decorator_list or loops_around(script, function):
        return False
    if function.args.vararg or function.args.kwarg or not script.is_alone(function):
        return False
    outer = script.parent(function)
    if isinstance(outer, ast.ClassDef):
        classes = [outer, *derived(scripts, outer)]
        is_own = function.name not in _KERAS_OWN or is_plain_class(scripts, outer)
        return is_own and all(map(is_hashable, classes))
    if isinstance(outer, ast.FunctionDef):
        return not is_called_in_loop(script, outer.name)
    return isinstance(outer, ast.Module)


def is_hashable(node: ast.ClassDef) -> bool:
    """Tell whether objects of a class can be keys, as `tf.function` needs of a method's `self`."""
    names = {n.name for n in node.body if isinstance(n, Function)}
    slots = any(isinstance(n, ast.Name) and n.id == "__slots__" for n in ast.walk(node))
    return not node.decorator_list and not slots and not names & {"__eq__", "__hash__"}


def returns_tensors(function: ast.FunctionDef) -> bool:
    """Tell whether all that a function returns is a tensor: a number would become one."""
    returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    return all(value is None or is_tensor(value, function) for value in returned)


def is_tensor(
    value: ast.expr, function: ast.FunctionDef, open_names: frozenset[str] = frozenset()
) -> bool:
    """Tell whether an expression at the end of a function gives tensors, or a structure of them."""
    if isinstance(value, ast.Tuple | ast.List):
        return all(is_tensor(part, function, open_names) for part in value.elts)
    if isinstance(value, ast.Dict):
        return all(is_tensor(part, function, open_names) for part in value.values)
    if isinstance(value, ast.DictComp | ast.ListComp):
        part = value.value if isinstance(value, ast.DictComp) else value.elt
        return isinstance(part, ast.Call) and is_tensor(part, function, open_names)
    if isinstance(value, ast.BinOp):
        return is_tensor(value.left, function, open_names) or is_tensor(
            value.right, function, open_names
        )
    if isinstance(value, ast.Subscript):
        return not _is_of_shape(value) and is_tensor(value.value, function, open_names)
    if isinstance(value, ast.Call):
        return dotted(value.func) not in ("len", "int", "float", "range", "sum", "abs", "zip")
    if isinstance(value, ast.Name):
        return value.id not in parameters(function) and _is_tensor_name(
            value.id, function, open_names
        )
    return isinstance(value, ast.Constant) and value.value is None


def _is_tensor_name(name: str, function: ast.FunctionDef, open_names: frozenset[str]) -> bool:
    """Tell whether a name of a function is bound to tensors only."""
    if name in open_names:
        return True  # `loss = loss * 2`: its first value tells
    if name not in local_names(function):
        return False
    open_names = open_names | {name}
    for node in ast.walk(function):
        if _binds_otherwise(node, name):
            return False
        if isinstance(node, ast.Assign) and name in map(dotted, node.targets):
            is_sum = any(
                isinstance(n, ast.AugAssign) and dotted(n.target) == name
                for n in ast.walk(function)
            )
            if not is_sum and not is_tensor(node.value, function, open_names):
                return False
    return True


def _binds_otherwise(node: ast.AST, name: str) -> bool:
    """Tell whether a node may give a name something that is no tensor: a tape, a size."""
    if isinstance(node, ast.With):
        return name in writes(*(i.optional_vars for i in node.items if i.optional_vars))
    if isinstance(node, ast.For):
        return name in writes(node.target)
    if not isinstance(node, ast.Assign) or name not in writes(*node.targets):
        return False
    is_plain = any(dotted(target) == name for target in node.targets)
    return not is_plain and not isinstance(node.value, ast.Call)


def _is_of_shape(value: ast.Subscript) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "shape" for n in ast.walk(value.value))


def _is_called_plainly(scripts: Sequence[Script], function: ast.FunctionDef) -> bool:
    """Tell whether a function is only called, and with nothing that is a new number each time."""
    calls = 0
    for script in scripts:
        for node in ast.walk(script.tree):
            if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            if (node.id if isinstance(node, ast.Name) else node.attr) != function.name:
                continue
            call = script.parent(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                return False
            if any(is_number(script, value) for value in _given(call)):
                return False
            calls += 1
    return calls > 0


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def is_number(script: Script, value: ast.expr) -> bool:
    """Tell whether an argument is a number of Python that may be another one in each call."""
    if isinstance(value, ast.BinOp | ast.UnaryOp):
        parts = (n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr))
        return any(is_number(script, part) for part in parts)
    if isinstance(value, ast.Call):
        return dotted(value.func) in ("float", "int", "len", "round", "min", "max")
    return isinstance(value, ast.Name) and value.id in counters(script, value)


def counters(script: Script, node: ast.AST) -> set[str]:
    """Return the names that loops around a node count with, and sums of Python's."""
    names: set[str] = set()
    for loop in loops_around(script, node):
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
            called, target = dotted(loop.iter.func), loop.target
            if called in ("range", "trange", "tqdm.trange") and isinstance(target, ast.Name):
                names.add(target.id)
            if called == "enumerate" and isinstance(target, ast.Tuple):
                names |= {n.id for n in target.elts[:1] if isinstance(n, ast.Name)}
    scope = scope_of(script, node)
    sums = [n.target for n in ast.walk(scope) if isinstance(n, ast.AugAssign)]
    return names | {n.id for n in sums if isinstance(n, ast.Name)}


def _is_at(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def is_taken(script: Script, name: str) -> bool:
    """Tell whether a name that would be imported means something else already."""
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(script.tree))
