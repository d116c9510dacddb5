"""Functions that are or may be compiled: where they are made, what they are given, their tape."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from quickfit.code.graph_code import argument_for_parameter
from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    is_called_in_loop,
    loops_around,
    parameters,
    scope_of,
)
from quickfit.code.syntax import Def, parse_or_none

# Bases that bring no methods that anything but the project calls.
_PLAIN = {"object", "abc.ABC", "typing.Generic", "typing.Protocol", "tensorflow.Module"}


def is_plain_class(modules: Sequence[Module], owner: ast.ClassDef) -> bool:
    """Tell whether a class, and all that come from it, have nothing but the project's methods."""
    return all(
        _has_plain_bases(modules, one, []) for one in [owner, *classes_derived_from(modules, owner)]
    )


def classes_derived_from(modules: Sequence[Module], owner: ast.ClassDef) -> list[ast.ClassDef]:
    """Return the classes of a project that come from a class, directly or through others."""
    classes = [c for module in modules for c in module.all(ast.ClassDef)]
    found = [owner]
    for one in found:
        found += [c for c in classes if c not in found and one.name in map(_last, c.bases)]
    return found[1:]


def _has_plain_bases(
    modules: Sequence[Module], owner: ast.ClassDef, seen: list[ast.ClassDef]
) -> bool:
    if owner in seen:
        return False
    words = [k.arg for k in owner.keywords]
    metaclasses = [k.value for k in owner.keywords if _last(k.value) == "ABCMeta"]
    if len(words) != len(metaclasses):
        return False
    return all(_is_plain_base(modules, owner, base, [*seen, owner]) for base in owner.bases)


def _is_plain_base(
    modules: Sequence[Module], owner: ast.ClassDef, base: ast.expr, seen: list[ast.ClassDef]
) -> bool:
    base = base.value if isinstance(base, ast.Subscript) else base
    module = next(s for s in modules if owner in s.all(ast.ClassDef))
    own = [c for s in modules for c in s.all(ast.ClassDef) if c.name == _last(base)]
    if own:
        return len(own) == 1 and _has_plain_bases(modules, own[0], seen)
    name = dotted(base)
    return (import_path(module, name) or name) in _PLAIN


def _last(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return dotted(node).rpartition(".")[2]


Placed = ast.expr | ast.stmt
Place = tuple[Module, Placed]
# Numbers of Python that layers, losses and optimizers read while a step is traced.
_SETTINGS = {"trainable", "rate", "stddev", "momentum", "l1", "l2", "beta_1", "beta_2", "clipnorm"}
_SETTINGS |= {"clipvalue", "global_clipnorm", "weight_decay", "label_smoothing", "activation"}


def changes_trainable(modules: Sequence[Module], step: str) -> bool:
    """Tell whether `trainable` or the like may be set after a step was compiled.

    The step would not notice.
    """
    places = [(module, call) for module in modules for call in calls_of(module, step)]
    return _may_be_set_after(modules, places)


def changes_trainable_in(modules: Sequence[Module], module: Module, loop: ast.For) -> bool:
    """Tell whether `trainable` or the like may be set in a loop or after it."""
    return _may_be_set_after(modules, [(module, loop.body[0])])


def _may_be_set_after(modules: Sequence[Module], places: Sequence[Place]) -> bool:
    stores = [
        (module, node)
        for module in modules
        for node in module.all(ast.Attribute)
        if node.attr in _SETTINGS and not isinstance(node.ctx, ast.Load)
    ]
    for module, node in stores:
        scope = scope_of(module, node)
        if not isinstance(scope, Def):
            at: list[Place] = [(module, node)]
        elif any(is_called_in_loop(other, scope.name) for other in modules):
            return True
        else:
            at = [(other, call) for other in modules for call in calls_of(other, scope.name)]
            at.append((module, node))
        if any(_is_late(*one, *place) for one in at for place in places):
            return True
    return False


def _is_late(module: Module, node: Placed, other: Module, step: Placed) -> bool:
    """Tell whether a node stands behind a step of the same scope, or in a loop with it."""
    if module is not other or scope_of(module, node) is not scope_of(module, step):
        return False
    loops = loops_around(module, node)
    is_shared = any(loop in loops for loop in loops_around(module, step))
    return is_shared or step.lineno <= node.lineno


def calls_of(module: Module, name: str) -> Iterator[ast.Call]:
    """Yield the calls of functions and methods of a name."""
    for call in module.all(ast.Call):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
        if called == name:
            yield call


_OF_TENSORS = {"shape", "dtype"}
# Functions that call each other are followed this far.
MAX_DEPTH = 5


def is_given_same_objects(modules: Sequence[Module], function: ast.FunctionDef) -> bool:
    """Tell whether all calls of a function give it the same objects."""
    names = object_parameters(function, parameters(function))
    calls = [(module, call) for module in modules for call in calls_of(module, function.name)]
    for name in names:
        given = [(module, argument_for_parameter(call, function, name)) for module, call in calls]
        texts = {ast.unparse(value) if value is not None else "" for _, value in given}
        if len(texts) != 1 or not all(is_same_object(modules, *one) for one in given):
            return False
    return True


def object_parameters(function: ast.AST, names: Iterable[str]) -> list[str]:
    """Return the names that code calls or asks for attributes: models, optimizers, losses."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {node.value.id} if node.attr not in _OF_TENSORS else set()
    return [name for name in names if name in found and name != "self"]


def is_same_object(
    modules: Sequence[Module], module: Module, value: ast.expr | None, depth: int = 0
) -> bool:
    """Tell whether an expression is one and the same object, however often it is asked."""
    if not isinstance(value, ast.Name) or depth > MAX_DEPTH:
        return False
    scope = scope_of(module, value)
    while not binders(scope, value.id) and not _is_parameter(scope, value.id):
        if isinstance(scope, ast.Module):
            return False
        scope = scope_of(module, scope)
    found = binders(scope, value.id)
    if _is_parameter(scope, value.id):
        assert isinstance(scope, Def)
        calls = [(other, call) for other in modules for call in calls_of(other, scope.name)]
        if found or len(calls) != 1:
            return False
        return is_same_object(
            modules, calls[0][0], argument_for_parameter(calls[0][1], scope, value.id), depth + 1
        )
    is_once = len(found) == 1 and not loops_around(module, found[0])
    return is_once and (isinstance(scope, ast.Module) or _runs_once(modules, scope.name))


def _is_parameter(scope: ast.AST, name: str) -> bool:
    return isinstance(scope, Def) and name in parameters(scope)


def _runs_once(modules: Sequence[Module], name: str) -> bool:
    calls = [call for module in modules for call in calls_of(module, name)]
    return len(calls) <= 1 and not any(is_called_in_loop(module, name) for module in modules)


def wrapping_lines(text: str, name: str) -> list[int]:
    """Return the lines that call `function(name, ...)`, as in `tf.function(name)`."""
    tree = parse_or_none(text)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)] if tree is not None else []
    return sorted(c.lineno for c in calls if _is_function(c.func) and c.args and _ends(c, name))


def is_made_here(text: str, line: int) -> bool:
    """Tell whether the function that begins at a line is compiled there: decorated, or a lambda.

    A decorated function begins at its first decorator.
    """
    tree = parse_or_none(text)
    nodes = list(ast.walk(tree)) if tree is not None else []
    for node in nodes:
        if isinstance(node, Def) and line in (node.lineno, *_decorators(node)):
            return any(_is_function(d) for d in node.decorator_list)
    return any(isinstance(node, ast.Lambda) and node.lineno == line for node in nodes)


def is_method(text: str, line: int) -> bool:
    """Tell whether the function that begins at a line is a method of a class."""
    tree = parse_or_none(text)
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)] if tree else []
    methods = [n for c in classes for n in c.body if isinstance(n, Def)]
    return any(line in (node.lineno, *_decorators(node)) for node in methods)


def _decorators(function: Def) -> list[int]:
    return [decorator.lineno for decorator in function.decorator_list]


def _is_function(node: ast.expr) -> bool:
    """Tell whether an expression is `tf.function`, `function` or a call of it."""
    if isinstance(node, ast.Call):
        return _is_function(node.func)
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == "function"


def _ends(call: ast.Call, name: str) -> bool:
    first = call.args[0]
    return (first.attr if isinstance(first, ast.Attribute) else getattr(first, "id", "")) == name


# In a compiled function these would run once, while it is traced, or fail.
_PYTHON_ONLY = ("numpy", "item", "print", "float", "int", "bool", "append")


def tape_line(text: str, line: int) -> int | None:
    """Return the line of the `with tf.GradientTape()` that a line asks for gradients, or None."""
    tree = parse_or_none(text)
    if tree is None:
        return None
    scope = _innermost(tree, line)
    inside = [n for n in ast.walk(scope) if isinstance(n, ast.With | ast.AsyncWith)]
    asked = {
        node.func.value.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Call)
        and node.lineno <= line <= (node.end_lineno or 0)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
    }
    before = [n for n in inside if n.lineno <= line and any(_is_tape(i, asked) for i in n.items)]
    return max((node.lineno for node in before), default=None)


def tape_blocks(text: str) -> tuple[tuple[int, int], ...]:
    """Return the first and last line of every block that a `GradientTape` records."""
    tree = parse_or_none(text)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.With)] if tree is not None else []
    return tuple(
        (node.body[0].lineno, node.end_lineno or node.lineno)
        for node in found
        if any(_is_tape(item, set()) for item in node.items)
    )


def function_around(text: str, line: int) -> Def | None:
    """Return the innermost function that a line is part of, or None at the top of a file."""
    tree = parse_or_none(text)
    return innermost_function(tree, line) if tree is not None else None


def innermost_function(tree: ast.Module, line: int) -> Def | None:
    """Return the innermost function of a file that a line is part of, or None."""
    scope = _innermost(tree, line)
    return scope if isinstance(scope, Def) else None


def is_a_step(function: Def, line: int) -> bool:
    """Tell whether a function is one step and can be compiled as it is.

    Not so where the line stands in a loop of the function: then the function is the whole
    training. Nor where it has decorators already, yields, or takes values out of tensors.
    """
    if is_in_loop(function, line):
        return False
    yields = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function))
    return not function.decorator_list and not yields and not python_only(function)


def is_in_loop(function: Def, line: int) -> bool:
    """Tell whether a line stands in a loop of a function."""
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For | ast.While)]
    return any(node.lineno <= line <= (node.end_lineno or 0) for node in loops)


def python_only(*code: ast.AST) -> list[str]:
    """Return the calls in some code that need values, not tensors, such as `float`."""
    nodes = [node for each in code for node in ast.walk(each)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return sorted({name for call in calls if (name := _needs_value(call))})


def _needs_value(call: ast.expr) -> str:
    """Return the name of what is called, if it cannot be part of a graph; else nothing."""
    if not isinstance(call, ast.Attribute):
        name = getattr(call, "id", "")
        return name if name in _PYTHON_ONLY else ""
    owner = getattr(call.value, "id", "")
    is_environment = call.attr in ("step", "reset") and "env" in owner.lower()
    if owner in ("np", "numpy") or is_environment:
        return f"{owner}.{call.attr}"
    # `tf.print` and its like are operations.
    return call.attr if call.attr in _PYTHON_ONLY and owner not in ("tf", "tensorflow") else ""


def _innermost(tree: ast.Module, line: int) -> ast.Module | Def:
    """Return the function, or the module, that holds a line."""
    functions = [n for n in ast.walk(tree) if isinstance(n, Def)]
    around = [n for n in functions if n.lineno <= line <= (n.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno, default=tree)


def _is_tape(item: ast.withitem, asked: set[str]) -> bool:
    """Tell whether a `with` makes a tape, under whatever name that was imported."""
    call, name = item.context_expr, item.optional_vars
    if not isinstance(call, ast.Call):
        return False
    made = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return made == "GradientTape" or (isinstance(name, ast.Name) and name.id in asked)
