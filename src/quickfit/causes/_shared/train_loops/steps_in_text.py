"""Training loops written by hand: where a step is, what compiles it, which loop runs it."""

from __future__ import annotations

import ast

from quickfit.code import Module, Program
from quickfit.code.datasets import is_dataset
from quickfit.code.syntax import Function, name_of, own_nodes
from quickfit.code.values import Class, Made, Routine, Value

COMPILES = "tensorflow.function"
TAPE = "tensorflow.GradientTape"
# What changes weights, given gradients.
_UPDATES = frozenset(("apply_gradients", "minimize", "assign_sub", "apply"))
# Keras compiles these methods of a model or layer itself.
_COMPILED_METHODS = frozenset(
    ("train_step", "test_step", "predict_step", "call", "compute_loss", "train_function")
)
# They give what they are given, one element after the other.
_PASSING = frozenset(("enumerate", "tqdm", "zip", "iter", "track"))
MAX_DEPTH = 4


def tapes(program: Program, module: Module) -> list[ast.With]:
    """Return the `with tf.GradientTape()` of a file, in the order of the text."""
    found = []
    for call in module.calls("GradientTape"):
        item = module.parent(call)
        block = module.parent(item) if isinstance(item, ast.withitem) else None
        if isinstance(block, ast.With) and program.called(module, call) == TAPE:
            found.append(block)
    return found


def updates(nodes: list[ast.AST]) -> bool:
    """Tell whether weights are changed among the nodes of a step."""
    return any(isinstance(n, ast.Call) and name_of(n.func) in _UPDATES for n in nodes)


def is_step(program: Program, module: Module, function: Function) -> bool:
    """Tell whether a function is a train step: takes gradients and changes weights with them."""
    nodes = own_nodes(function)
    return updates(nodes) and any(_is_tape(program, module, node) for node in nodes)


def _is_tape(program: Program, module: Module, node: ast.AST) -> bool:
    is_named = isinstance(node, ast.Call) and name_of(node.func) == "GradientTape"
    return is_named and isinstance(node, ast.Call) and program.called(module, node) == TAPE


def runs_step(program: Program, module: Module, call: ast.Call, depth: int = MAX_DEPTH) -> bool:
    """Tell whether a call surely runs a train step, itself or through functions it calls."""
    values = program.values(module, call.func)
    found = [routine for value in values for routine in routines(program, value)]
    if not values or len(found) != len(values) or depth == 0:
        return False
    return all(_steps(program, routine, depth) for routine in found)


def _steps(program: Program, routine: Routine, depth: int) -> bool:
    module, function = routine.module, routine.node
    if is_step(program, module, function):
        return True
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and not module.loops(node):
            if runs_step(program, module, node, depth - 1):
                return True
            if name_of(node.func) == "run" and _runs_given(program, module, node, depth):
                return True
    return False


def _runs_given(program: Program, module: Module, call: ast.Call, depth: int) -> bool:
    """Tell whether `strategy.run(step, …)` runs a train step."""
    values = program.values(module, call.args[0]) if call.args else ()
    found = [r for value in values for r in routines(program, value)]
    return bool(found) and all(_steps(program, r, depth - 1) for r in found)


def routines(program: Program, value: Value) -> list[Routine]:
    """Return the functions of the program that a value is, compiled or not."""
    if isinstance(value, Routine):
        return [value]
    if isinstance(value, Made) and value.maker == COMPILES and value.call.args:
        inner = program.values(value.module, value.call.args[0], value.frame)
        return [r for each in inner for r in routines(program, each)]
    return []


# -- what is compiled -------------------------------------------------------------------------


def is_eager(program: Program, module: Module, node: ast.AST, depth: int = MAX_DEPTH) -> bool:
    """Tell whether code surely runs outside any compiled function, on every way to it."""
    function = module.function(node)
    if function is None:
        return True
    if depth == 0 or isinstance(function, ast.Lambda) or function.decorator_list:
        return False  # an unknown decorator may compile it
    if _is_compiled_method(program, module, function) or _is_handed_on(program, module, function):
        return False
    callers = program.resolver.callers(module, function)
    ways = [*callers, (module, function)]
    return all(is_eager(program, other, way, depth - 1) for other, way in ways)


def compiles(program: Program, module: Module, decorator: ast.expr) -> bool:
    """Tell whether a decorator is `tf.function`, with arguments or without."""
    call = decorator if isinstance(decorator, ast.Call) else None
    if call is not None and name_of(call.func) == "partial":
        return bool(call.args) and program.name(module, call.args[0]) == COMPILES
    return program.name(module, call.func if call is not None else decorator) == COMPILES


def _is_compiled_method(program: Program, module: Module, function: Function) -> bool:
    owner = module.parent(function)
    if not isinstance(owner, ast.ClassDef) or isinstance(function, ast.Lambda):
        return False
    if function.name not in _COMPILED_METHODS or not owner.bases:
        return False
    bases = program.resolver.bases(Class(owner, module))
    return any(not isinstance(b, Class) or program.resolver.ancestors(b) for b in bases)


def _is_handed_on(program: Program, module: Module, function: Function) -> bool:
    """Tell whether a function is used other than by a call: given to `tf.function`, perhaps."""
    if isinstance(function, ast.Lambda):
        return True
    name = function.name
    places = [module, *program.files.mentioning(name, module.path)]
    return any(_uses(place, function, name) for place in places)


def _uses(module: Module, function: Function, name: str) -> bool:
    if name not in module.text:
        return False
    for node in module.all(ast.Name, ast.Attribute):
        if name_of(node) != name or module.is_in(node, function):
            continue
        above = module.parent(node)
        is_called = isinstance(above, ast.Call) and above.func is node
        is_read = isinstance(getattr(node, "ctx", None), ast.Load)
        if is_read and not is_called:
            return True
    return False


# -- loops ------------------------------------------------------------------------------------


def is_over_dataset(program: Program, module: Module, loop: ast.AST) -> bool:
    """Tell whether a loop runs over a dataset of tf.data, batch after batch."""
    return isinstance(loop, ast.For) and _is_dataset(program, module, loop.iter)


def _is_dataset(program: Program, module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and name_of(node.func) in _PASSING:
        return any(_is_dataset(program, module, part) for part in node.args)
    if isinstance(node, ast.Name):
        made = program.only(module, node)
        is_passed = isinstance(made, Made) and name_of(made.call.func) in _PASSING
        if is_passed and isinstance(made, Made):
            return _is_dataset(program, made.module, made.call)
    return is_dataset(program, module, node)


def is_epochs(loop: ast.AST) -> bool:
    """Tell whether a loop counts epochs, by the name of what it counts."""
    target = loop.target if isinstance(loop, ast.For) else None
    name = target.id.lower() if isinstance(target, ast.Name) else ""
    return "epoch" in name or name in ("ep", "e")
