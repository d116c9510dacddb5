"""Tells whether code of a script that runs in the train step can be compiled into a graph.

Keras traces a step without AutoGraph: an `if` on a tensor, a `print` or a `.numpy()` works only
while the step runs eagerly. What is not known to be fine counts as code that needs values.
"""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

from quickfit.fixes.lookup import bindings, called, last_name
from quickfit.fixes.script import Project, Script

Body = ast.FunctionDef | ast.Lambda
# Bases of classes whose methods are part of a step.
_PARTS = ("Model", "Layer", "Loss", "Metric", "Constraint", "Regularizer", "Sequential")
# Methods of theirs that run outside of it.
_OUTSIDE = ("__init__", "build", "get_config", "from_config", "compute_output_shape", "compile")
# Methods that need a value, or that a graph would do once only.
_VALUES = {"numpy", "item", "tolist", "append", "extend", "write", "set_trace", "py_function"}
_VALUES |= {"numpy_function"}
# Functions of Python that work on tensors as on anything.
_HARMLESS = {"len", "zip", "range", "enumerate", "isinstance", "hasattr", "getattr", "super"}
_HARMLESS |= {"tuple", "list", "dict", "reversed", "type", "callable", "sum", "map", "slice"}
# What modules are made of graphs.
_GRAPHS = ("tensorflow", "keras", "tf_keras", "tensorflow_probability", "keras_hub", "keras_cv")
# What is given a function of the script and does not make it part of the step.
_GIVEN_ELSEWHERE = {"map", "filter", "from_generator", "LambdaCallback", "LearningRateScheduler"}
_GIVEN_ELSEWHERE |= {"Thread", "register", "interleave", "submit", "signal", "Pool"}


def step_needs_values(project: Project) -> bool:
    """Tell whether some function of the step may need eager execution."""
    fine = (*_GRAPHS, *(Path(file).stem for file in project.files))
    return any(_needs(script, body, fine) for script, body in _in_step(project))


def step_is_random(project: Project) -> bool:
    """Tell whether a part of the step draws random numbers from TensorFlow by itself."""
    return any("random" in ast.unparse(body) for _, body in _in_step(project))


def _in_step(project: Project) -> list[tuple[Script, Body]]:
    """Return the functions of all files that may run in a step; rather one too many."""
    scripts = [s for file in project.files if (s := project.script(file)) is not None]
    found = [(script, body) for script in scripts for body in _roots(script, scripts)]
    waiting = list(found)
    while waiting:
        _, body = waiting.pop()
        names = {called(n) for n in ast.walk(body) if isinstance(n, ast.Call)}
        inner = [(s, f) for s in scripts for f in s.all(ast.FunctionDef) if f.name in names]
        more = [pair for pair in inner if pair not in found and not _is_method(*pair)]
        found += more
        waiting += more
    return found


def _is_method(script: Script, function: ast.FunctionDef) -> bool:
    return isinstance(script.parent(function), ast.ClassDef)


def _roots(script: Script, scripts: list[Script]) -> list[Body]:
    """Return the functions that a step calls by itself: methods, losses, lambdas in layers."""
    found: list[Body] = []
    for function in script.all(ast.FunctionDef):
        owner = script.parent(function)
        if isinstance(owner, ast.ClassDef):
            is_root = _is_part(owner) and function.name not in _OUTSIDE
        else:
            is_root = any(_is_handed_on(other, function.name) for other in scripts)
        if is_root or _is_converted(function):
            found.append(function)
    lambdas = [(body, script.around(body, ast.Call)) for body in script.all(ast.Lambda)]
    return [*found, *(b for b, c in lambdas if c is None or called(c) not in _GIVEN_ELSEWHERE)]


def _is_part(owner: ast.ClassDef) -> bool:
    """Tell whether a class may be a model, layer, loss or metric: no plain class, no callback."""
    names = [last_name(base) for base in owner.bases]
    return any(part in name for name in names for part in _PARTS)


def _is_converted(body: Body) -> bool:
    """Tell whether AutoGraph looks at a function, which knows an `if` on a tensor."""
    decorators = body.decorator_list if isinstance(body, ast.FunctionDef) else []
    return any("function" in ast.unparse(decorator) for decorator in decorators)


def _is_handed_on(script: Script, name: str) -> bool:
    """Tell whether a function is given to something, as a loss is, and not just called."""
    for node in script.all(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        parent, call = script.parent(node), script.around(node, ast.Call)
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if not is_called and (call is None or called(call) not in _GIVEN_ELSEWHERE):
            return True
    return False


def _needs(script: Script, body: Body, fine: tuple[str, ...]) -> bool:
    is_converted = _is_converted(body)
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and _needs_value(script, node, fine):
            return True
        if isinstance(node, ast.Try | ast.Raise | ast.Assert | ast.Global | ast.Nonlocal):
            return True
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True  # something is kept from step to step
        if not is_converted and _branches(node):
            return True
    return False


def _needs_value(script: Script, call: ast.Call, fine: tuple[str, ...]) -> bool:
    """Tell whether a call may need the value of a tensor: by its name, or by its module.

    `fine` are the modules that do not: those of graphs, and the script's own, which are looked at.
    """
    if called(call) in _VALUES:
        return True
    root: ast.AST = call.func
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return False  # a method of what some expression gives
    if root.id in _HARMLESS:
        return False
    found = bindings(script, root.id)
    modules = [_module(script, node) for node in found if isinstance(node, ast.alias)]
    if any(module and module.split(".")[0] not in fine for module in modules):
        return True
    if not found:
        is_alias = root.id in ("tf", "keras", "K", "ops", "layers")
        return root.id in dir(builtins) or not is_alias
    return False


def _module(script: Script, node: ast.alias) -> str:
    """Return where an import takes a name from; nothing for a file of the script's own."""
    parent = script.parent(node)
    if isinstance(parent, ast.ImportFrom):
        return "" if parent.level else parent.module or ""
    return node.name


def _branches(node: ast.AST) -> bool:
    """Tell whether a node may decide by the value of a tensor."""
    if isinstance(node, ast.While | ast.If | ast.IfExp):
        return not _is_static(node.test)
    return isinstance(node, ast.For) and not _is_static_iter(node.iter)


def _is_static(test: ast.expr) -> bool:
    """Tell whether a test is certainly one of Python values."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_static, test.values))
    if isinstance(test, ast.UnaryOp):
        return _is_static(test.operand)
    if isinstance(test, ast.Compare):
        if all(isinstance(operation, ast.Is | ast.IsNot) for operation in test.ops):
            return True
        sides = (test.left, *test.comparators)
        return all(isinstance(s, ast.Constant) or _is_size(s) for s in sides)
    if isinstance(test, ast.Call):
        return called(test) in ("isinstance", "hasattr", "callable", "len")
    return isinstance(test, ast.Constant) or last_name(test) == "training"


def _is_size(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return called(value) in ("len", "getattr")
    is_shape = isinstance(value, ast.Subscript) and last_name(value.value) == "shape"
    return is_shape or last_name(value) in ("ndim", "rank")


def _is_static_iter(value: ast.expr) -> bool:
    """Tell whether a loop goes over Python objects: numbers, layers, gradients."""
    if isinstance(value, ast.Call):
        return called(value) in ("range", "zip", "enumerate", "reversed", "items", "values")
    if isinstance(value, ast.Subscript):
        return _is_static_iter(value.value)
    return isinstance(value, ast.Attribute | ast.List | ast.Tuple)
