"""Edits of `compile` and `tf.function`: eager steps, XLA, steps in one call; may a step be
compiled.
"""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

from quickfit.code.constants import WrittenConstant, find_constant
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import binders_in_file, call_at
from quickfit.code.syntax import argument, called_name, is_open, keyword_value, name_of
from quickfit.findings import Change, Edit, FixClass

EAGER_SETTERS = ("run_functions_eagerly", "experimental_run_functions_eagerly")
# Positions of arguments that nobody gives by position.
MAX_COMPILE_ARGS = 4
# The place of `run_eagerly` among the arguments of `compile`.
RUN_EAGERLY = 5
Place = tuple[str, int] | None


def step_without_eager(
    program: Program, compile_at: Place, setter_at: Place, modules: list[Module] | None = None
) -> Change | None:
    """Let the step be compiled, which `compile` or a call for all functions forbids.

    Args:
        program: all files.
        compile_at: the call of `compile` that makes the model eager; None where it does not.
        setter_at: the call that makes all functions eager; None where there is none.
        modules: the files that run together, if not all: a step may run code of any of them.
    """
    modules = program.modules() if modules is None else modules
    if step_needs_values(modules):
        return None
    edits: list[Edit | None] = []
    if setter_at is not None:
        edits.append(_without_setter(program, setter_at))
    if compile_at is not None:
        edits.append(_without_eager(program, compile_at) or _without_attribute(program, modules))
    found = tuple(edit for edit in edits if edit is not None)
    if not found or len(found) < len(edits):
        return None
    is_random = step_is_random(modules)
    return Change(
        title="Let TensorFlow compile the train step",
        kind=FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.EQUIVALENT,
        edits=found,
        note="Losses agree to rounding."
        + (" Random numbers of the step are other ones." if is_random else ""),
    )


def _without_eager(program: Program, place: tuple[str, int]) -> Edit | None:
    """Take `run_eagerly` from a call of `compile`; a constant of its own is set instead."""
    module = program.find_module(place[0])
    call = call_at(module, place[1], "compile") if module is not None else None
    value = argument(call, "run_eagerly", RUN_EAGERLY) if call is not None else None
    if module is None or call is None or value is None or _is_off(value):
        return None
    if value in call.args:
        return module.replace(value, "False")
    flag = _flag(module, value, program)
    return flag or module.without_keyword(call, "run_eagerly")


def _is_off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _flag(module: Module, value: ast.expr, program: Program) -> Edit | None:
    """Return the edit that turns off a named constant which only this place reads."""
    found = find_constant(module, value, program) if isinstance(value, ast.Name) else None
    if found is None or found.reads != 1 or found.value is not True:
        return None
    if _is_read_elsewhere(program, found):
        return None
    return found.edit("False")


def _is_read_elsewhere(program: Program, found: WrittenConstant) -> bool:
    """Tell whether other files read a constant too, as `settings.DEBUG` or by its name."""
    parent = found.module.parent(found.node)
    name = name_of(parent.targets[0]) if isinstance(parent, ast.Assign) else ""
    modules = program.modules()
    reads = [n for s in modules for n in s.all(ast.expr) if name_of(n) == name]
    return not name or sum(isinstance(getattr(n, "ctx", None), ast.Load) for n in reads) != 1


def _without_attribute(program: Program, modules: list[Module]) -> Edit | None:
    """Take away the only `model.run_eagerly = True` of all files."""
    found = [
        (module, node)
        for module in modules
        for node in module.all(ast.Assign)
        if any(name_of(t) == "run_eagerly" for t in node.targets)
    ]
    if len(found) != 1:
        return None
    module, statement = found[0]
    is_one = len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Attribute)
    return _removed(module, statement, program) if is_one and not _is_off(statement.value) else None


def _without_setter(program: Program, place: tuple[str, int]) -> Edit | None:
    module = program.find_module(place[0])
    call = call_at(module, place[1], *EAGER_SETTERS) if module is not None else None
    if module is None or call is None:
        return None
    statement = module.statement(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    setters = [c for c in module.all(ast.Call) if called_name(c) in EAGER_SETTERS]
    if len(setters) > 1 or (call.args and _is_off(call.args[0])):
        return None  # turned on and off: some part is meant to be eager
    return _removed(module, statement, program)


def _removed(module: Module, statement: ast.stmt, program: Program) -> Edit | None:
    """Take a statement away, with an `if` that holds nothing else; its comments stay or none."""
    parent = module.parent(statement)
    if isinstance(parent, ast.If) and parent.body == [statement] and not parent.orelse:
        is_plain = isinstance(parent.test, ast.Name | ast.Attribute)
        is_elif = parent in getattr(module.parent(parent), "orelse", [])
        if not is_plain or is_elif:
            return None
        flag = _flag(module, parent.test, program)
        if flag is not None:
            return flag
        statement = parent
    if module.has_comment(statement, statement) or _has_comment_above(module, statement):
        return None
    return module.remove(statement)


def _has_comment_above(module: Module, statement: ast.stmt) -> bool:
    line = module.begin(statement)[0]
    return line > 1 and module.lines[line - 2].strip().startswith("#")


def without_xla(module: Module, line: int, program: Program) -> Change | None:
    """Turn XLA off where `compile` or `tf.function` asks for it."""
    call = call_at(module, line, "compile", "function")
    if call is None or is_open(call) or len(call.args) > MAX_COMPILE_ARGS:
        return None
    edit = _xla_off(module, call, program)
    if edit is None:
        return None
    return Change(
        title="Train without XLA",
        kind=FixClass.MAY_CHANGE_RESULTS,
        edits=(edit,),
        note="To keep XLA, give every batch the same shape instead.",
    )


def _xla_off(module: Module, call: ast.Call, program: Program) -> Edit | None:
    given = keyword_value(call, "jit_compile")
    if given is None:
        # Keras turns XLA on by itself where there is a GPU; a plain function never does.
        is_model = called_name(call) == "compile"
        return module.with_keyword(call, "jit_compile", "False") if is_model else None
    if _is_off(given):
        return None
    flag = _flag(module, given, program)
    if flag is not None or called_name(call) == "compile":
        return flag or module.replace(given, "False")
    if not call.args and len(call.keywords) == 1 and _is_decorator(module, call):
        return module.replace(call, module.code(call.func))
    return module.without_keyword(call, "jit_compile")


def _is_decorator(module: Module, call: ast.Call) -> bool:
    return call in getattr(module.parent(call), "decorator_list", [])


def steps_in_one_call(
    module: Module, line: int, steps: int, *, works_on_batches: bool
) -> Change | None:
    """Run several steps in one call of the compiled function."""
    call = call_at(module, line, "compile")
    if call is None or is_open(call) or len(call.args) > MAX_COMPILE_ARGS:
        return None
    if keyword_value(call, "steps_per_execution") is not None or _is_eager(call):
        return None
    edit = module.with_keyword(call, "steps_per_execution", str(steps))
    if edit is None:
        return None
    return Change(
        title=f"Run {steps} steps in one call",
        kind=FixClass.MAY_CHANGE_RESULTS if works_on_batches else FixClass.SAME_RESULTS,
        edits=(edit,),
        note=f"Callbacks on batches then come every {steps} steps.",
    )


def _is_eager(call: ast.Call) -> bool:
    """Tell whether a step may be eager: then it cannot be run several at a time."""
    given = keyword_value(call, "run_eagerly")
    return given is not None and not _is_off(given)


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


def step_needs_values(modules: list[Module]) -> bool:
    """Tell whether some function of the step may need eager execution."""
    fine = (*_GRAPHS, *(Path(module.path).stem for module in modules))
    return any(_needs(module, body, fine) for module, body in _in_step(modules))


def step_is_random(modules: list[Module]) -> bool:
    """Tell whether a part of the step draws random numbers from TensorFlow by itself."""
    return any("random" in ast.unparse(body) for _, body in _in_step(modules))


def _in_step(modules: list[Module]) -> list[tuple[Module, Body]]:
    """Return the functions of all files that may run in a step; rather one too many."""
    found = [(module, body) for module in modules for body in _roots(module, modules)]
    waiting = list(found)
    while waiting:
        _, body = waiting.pop()
        names = {called_name(n) for n in ast.walk(body) if isinstance(n, ast.Call)}
        inner = [(s, f) for s in modules for f in s.all(ast.FunctionDef) if f.name in names]
        more = [pair for pair in inner if pair not in found and not _is_method(*pair)]
        found += more
        waiting += more
    return found


def _is_method(module: Module, function: ast.FunctionDef) -> bool:
    return isinstance(module.parent(function), ast.ClassDef)


def _roots(module: Module, modules: list[Module]) -> list[Body]:
    """Return the functions that a step calls by itself: methods, losses, lambdas in layers."""
    found: list[Body] = []
    for function in module.all(ast.FunctionDef):
        owner = module.parent(function)
        if isinstance(owner, ast.ClassDef):
            is_root = _is_part(owner) and function.name not in _OUTSIDE
        else:
            is_root = any(_is_handed_on(other, function.name) for other in modules)
        if is_root or _is_converted(function):
            found.append(function)
    lambdas = [(body, module.around(body, ast.Call)) for body in module.all(ast.Lambda)]
    return [*found, *(b for b, c in lambdas if c is None or called_name(c) not in _GIVEN_ELSEWHERE)]


def _is_part(owner: ast.ClassDef) -> bool:
    """Tell whether a class may be a model, layer, loss or metric: no plain class, no callback."""
    names = [name_of(base) for base in owner.bases]
    return any(part in name for name in names for part in _PARTS)


def _is_converted(body: Body) -> bool:
    """Tell whether AutoGraph looks at a function, which knows an `if` on a tensor."""
    decorators = body.decorator_list if isinstance(body, ast.FunctionDef) else []
    return any("function" in ast.unparse(decorator) for decorator in decorators)


def _is_handed_on(module: Module, name: str) -> bool:
    """Tell whether a function is given to something, as a loss is, and not just called."""
    for node in module.all(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        parent, call = module.parent(node), module.around(node, ast.Call)
        is_called = isinstance(parent, ast.Call) and parent.func is node
        if not is_called and (call is None or called_name(call) not in _GIVEN_ELSEWHERE):
            return True
    return False


def _needs(module: Module, body: Body, fine: tuple[str, ...]) -> bool:
    is_converted = _is_converted(body)
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and _needs_value(module, node, fine):
            return True
        if isinstance(node, ast.Try | ast.Raise | ast.Assert | ast.Global | ast.Nonlocal):
            return True
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True  # something is kept from step to step
        if not is_converted and _branches(node):
            return True
    return False


def _needs_value(module: Module, call: ast.Call, fine: tuple[str, ...]) -> bool:
    """Tell whether a call may need the value of a tensor: by its name, or by its module.

    `fine` are the modules that do not: those of graphs, and the script's own, which are looked at.
    """
    if called_name(call) in _VALUES:
        return True
    root: ast.AST = call.func
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return False  # a method of what some expression gives
    if root.id in _HARMLESS:
        return False
    found = binders_in_file(module, root.id)
    paths = [_module(module, node) for node in found if isinstance(node, ast.alias)]
    if any(path and path.split(".")[0] not in fine for path in paths):
        return True
    if not found:
        is_alias = root.id in ("tf", "keras", "K", "ops", "layers")
        return root.id in dir(builtins) or not is_alias
    return False


def _module(module: Module, node: ast.alias) -> str:
    """Return where an import takes a name from; nothing for a file of the script's own."""
    parent = module.parent(node)
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
        return called_name(test) in ("isinstance", "hasattr", "callable", "len")
    return isinstance(test, ast.Constant) or name_of(test) == "training"


def _is_size(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return called_name(value) in ("len", "getattr")
    is_shape = isinstance(value, ast.Subscript) and name_of(value.value) == "shape"
    return is_shape or name_of(value) in ("ndim", "rank")


def _is_static_iter(value: ast.expr) -> bool:
    """Tell whether a loop goes over Python objects: numbers, layers, gradients."""
    if isinstance(value, ast.Call):
        return called_name(value) in ("range", "zip", "enumerate", "reversed", "items", "values")
    if isinstance(value, ast.Subscript):
        return _is_static_iter(value.value)
    return isinstance(value, ast.Attribute | ast.List | ast.Tuple)
