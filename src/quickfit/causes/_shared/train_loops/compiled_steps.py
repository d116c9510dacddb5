"""Edits that compile a training step: `@tf.function` above it, made once before its loop."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from quickfit.code import Module
from quickfit.code.compiled_functions import (
    changes_trainable,
    classes_derived_from,
    is_given_same_objects,
    is_plain_class,
    is_same_object,
)
from quickfit.code.graph_code import GraphCode
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    is_called_in_loop,
    local_names,
    loops_around,
    parameters,
    reads,
    scope_of,
    writes,
)
from quickfit.code.syntax import Def, Loop
from quickfit.findings import Change, Edit, FixClass

COMPILE_TITLE = "Compile the step with `tf.function`"
COMPILE_ROUNDING = (
    "The same mathematics as one graph: losses agree to rounding, and such differences grow."
)
COMPILE_RANDOM = "Random numbers drawn with `tf.random` in the step are others in a graph."
# Keras calls and compiles these itself.
_KERAS_OWN = {"train_step", "test_step", "predict_step", "call", "build", "compute_loss"}


def compiled_step(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Decorate the function at a line, if it is one step that means the same as a graph."""
    function = function_at(module, line)
    if function is None or any(_is_at(n, line) for n in module.all(ast.For, within=function)):
        return None
    code = GraphCode(modules)
    if not (
        is_decoratable(module, function, modules)
        and code.is_legal_function(module, function)
        and returns_tensors(function)
        and _is_called_plainly(modules, function)
        and not changes_trainable(modules, function.name)
        and is_given_same_objects(modules, function)
    ):
        return None
    name, imports = module.import_of("tensorflow", "tf")
    if imports and is_taken(module, name):
        return None
    decorator = module.decorate(function, f"@{name}.function")
    return Change(COMPILE_TITLE, *class_of(code), (*imports, decorator), note_of(code))


def class_of(code: GraphCode) -> tuple[FixClass]:
    """Return how far compiling changes results."""
    return (FixClass.MAY_CHANGE_RESULTS if code.is_random else FixClass.EQUIVALENT,)


def note_of(code: GraphCode) -> str:
    """Return what to know about the results of a compiled step."""
    return f"{COMPILE_ROUNDING} {COMPILE_RANDOM}" if code.is_random else COMPILE_ROUNDING


def function_at(module: Module, line: int) -> ast.FunctionDef | None:
    """Return the innermost function that a line is part of; None if that is asynchronous."""
    functions = [n for n in ast.walk(module.tree) if isinstance(n, Def)]
    inside = [n for n in functions if n.lineno <= line <= (n.end_lineno or 0)]
    found = max(inside, key=lambda n: n.lineno, default=None)
    return found if isinstance(found, ast.FunctionDef) else None


def is_decoratable(module: Module, function: ast.FunctionDef, modules: Sequence[Module]) -> bool:
    """Tell whether a function is made once, and nothing but a decorator is missing."""
    if function.decorator_list or loops_around(module, function):
        return False
    if function.args.vararg or function.args.kwarg or not module.is_alone(function):
        return False
    outer = module.parent(function)
    if isinstance(outer, ast.ClassDef):
        classes = [outer, *classes_derived_from(modules, outer)]
        is_own = function.name not in _KERAS_OWN or is_plain_class(modules, outer)
        return is_own and all(map(is_hashable, classes))
    if isinstance(outer, ast.FunctionDef):
        return not is_called_in_loop(module, outer.name)
    return isinstance(outer, ast.Module)


def is_hashable(node: ast.ClassDef) -> bool:
    """Tell whether objects of a class can be keys, as `tf.function` needs of a method's `self`."""
    names = {n.name for n in node.body if isinstance(n, Def)}
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


def _is_called_plainly(modules: Sequence[Module], function: ast.FunctionDef) -> bool:
    """Tell whether a function is only called, and with nothing that is a new number each time."""
    calls = 0
    for module in modules:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            if (node.id if isinstance(node, ast.Name) else node.attr) != function.name:
                continue
            call = module.parent(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                return False
            if any(is_number(module, value) for value in _given(call)):
                return False
            calls += 1
    return calls > 0


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def is_number(module: Module, value: ast.expr) -> bool:
    """Tell whether an argument is a number of Python that may be another one in each call."""
    if isinstance(value, ast.BinOp | ast.UnaryOp):
        parts = (n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr))
        return any(is_number(module, part) for part in parts)
    if isinstance(value, ast.Call):
        return dotted(value.func) in ("float", "int", "len", "round", "min", "max")
    return isinstance(value, ast.Name) and value.id in counters(module, value)


def counters(module: Module, node: ast.AST) -> set[str]:
    """Return the names that loops around a node count with, and sums of Python's."""
    names: set[str] = set()
    for loop in loops_around(module, node):
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
            called, target = dotted(loop.iter.func), loop.target
            if called in ("range", "trange", "tqdm.trange") and isinstance(target, ast.Name):
                names.add(target.id)
            if called == "enumerate" and isinstance(target, ast.Tuple):
                names |= {n.id for n in target.elts[:1] if isinstance(n, ast.Name)}
    scope = scope_of(module, node)
    sums = [n.target for n in ast.walk(scope) if isinstance(n, ast.AugAssign)]
    return names | {n.id for n in sums if isinstance(n, ast.Name)}


def _is_at(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def is_taken(module: Module, name: str) -> bool:
    """Tell whether a name that would be imported means something else already."""
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(module.tree))


HOIST_TITLE = "Make the compiled function once, before the loop"
HOIST_RANDOM = (
    "Each new function drew the same random numbers again; one draws new ones every time."
)


def hoisted_function(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Move the compiled function that is made at a line to where it is made once."""
    code = GraphCode(modules)
    function = _decorated_at(module, line)
    if function is not None:
        if not code.is_legal_function(module, function):
            return None
        outer = scope_of(module, function)
        if loops_around(module, function):
            edits = _before_loop(module, function, _free(function))
        elif isinstance(outer, ast.FunctionDef) and is_called_in_loop_of(modules, outer.name):
            edits = _out_of(module, function, outer, modules)
        else:
            edits = None
    else:
        edits = _wrapped(module, line, code)
    if edits is None:
        return None
    kind = FixClass.MAY_CHANGE_RESULTS if code.is_random else FixClass.SAME_RESULTS
    return Change(HOIST_TITLE, kind, edits, HOIST_RANDOM if code.is_random else "")


def is_called_in_loop_of(modules: Sequence[Module], name: str) -> bool:
    """Tell whether any file calls a function of a name inside a loop."""
    return any(is_called_in_loop(module, name) for module in modules)


def _is_compiler(module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is `tf.function`, or a call of it with options."""
    called = node.func if isinstance(node, ast.Call) else node
    return import_path(module, dotted(called)) == "tensorflow.function"


def _decorated_at(module: Module, line: int) -> ast.FunctionDef | None:
    for node in module.all(ast.FunctionDef):
        lines = (node.lineno, *(d.lineno for d in node.decorator_list))
        if line in lines:
            is_one = len(node.decorator_list) == 1
            return node if is_one and _is_compiler(module, node.decorator_list[0]) else None
    return None


def _free(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function, its decorators and its defaults take from outside."""
    inner = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and _is_store(n)}
    inside = reads(*function.body) - local_names(function) - inner
    return inside | reads(*function.decorator_list, function.args)


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def steady_loop(module: Module, statement: ast.stmt, needs: set[str]) -> Loop | None:
    """Return the outermost loop in front of which a statement finds all names that it needs."""
    scope, own = scope_of(module, statement), writes(statement)
    best = None
    for loop in loops_around(module, statement):
        bound = writes(loop)
        late = [b for name in needs for b in binders(scope, name) if _line(b) >= loop.lineno]
        if bound & needs or late or any(len(binders(scope, name)) != 1 for name in own):
            return best
        best = loop
    return best


def _line(node: ast.AST) -> int:
    return node.lineno  # type: ignore[attr-defined, no-any-return]


def _before_loop(module: Module, statement: ast.stmt, needs: set[str]) -> tuple[Edit, ...] | None:
    """Move a statement in front of the outermost loop that leaves what it needs alone."""
    loop = steady_loop(module, statement, needs)
    if loop is None or not _can_move(module, statement) or module.parent(statement) is None:
        return None
    if len(module.block(statement)) == 1:
        return None
    made = placed(module, loop, _text(module, statement), is_function=_is_def(statement))
    return (made, _taken(module, statement)) if made is not None else None


def _is_def(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef)


def _out_of(
    module: Module, function: ast.FunctionDef, outer: ast.FunctionDef, modules: Sequence[Module]
) -> tuple[Edit, ...] | None:
    """Move a function out of the one it is made in, as a method or a function of the file."""
    owner = module.parent(outer)
    needs = _free(function) & local_names(outer)
    if not _can_move(module, function) or len(module.block(function)) == 1:
        return None
    calls = _calls_of(module, function, outer)
    if calls is None or _is_used(module, function.name, outer):
        return None
    if isinstance(owner, ast.ClassDef):
        is_plain = is_hashable(owner) and not outer.decorator_list and not owner.bases
        if needs != {"self"} or not is_plain or "self" in parameters(function):
            return None
        extra, prefix = ["self"], "self."
    elif isinstance(owner, ast.Module) and all(_is_object(n, function) for n in needs):
        extra, prefix = [n for n in parameters(outer) if n in needs], ""
        if set(extra) != needs or set(extra) & set(parameters(function)):
            return None
        loads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id in extra]
        if not all(is_same_object(modules, module, node) for node in loads):
            return None
    else:
        return None
    text = _with_parameters(module, function, extra)
    made = placed(module, outer, text, is_function=True) if text else None
    if made is None:
        return None
    given = extra if not prefix else []
    called = [_call_edit(module, call, prefix, given) for call in calls]
    return (made, _taken(module, function), *called)


def _is_object(name: str, function: ast.FunctionDef) -> bool:
    """Tell whether a name is called or asked for attributes, and nothing else."""
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
    return all(
        isinstance(p := parents[n], ast.Attribute) or (isinstance(p, ast.Call) and p.func is n)
        for n in uses
    )


def _calls_of(
    module: Module, function: ast.FunctionDef, outer: ast.FunctionDef
) -> list[ast.Call] | None:
    """Return the calls of a function inside the one around it; None where it is used otherwise."""
    inside = set(ast.walk(function))
    uses = [
        n
        for n in ast.walk(outer)
        if isinstance(n, ast.Name) and n.id == function.name and n not in inside
    ]
    calls = [module.parent(n) for n in uses]
    plain = [c for c, n in zip(calls, uses, strict=True) if isinstance(c, ast.Call) and c.func is n]
    return plain if plain and len(plain) == len(uses) else None


def _is_used(module: Module, name: str, outer: ast.FunctionDef) -> bool:
    """Tell whether a name has another meaning outside a function."""
    inside = set(ast.walk(outer))
    for node in ast.walk(module.tree):
        if node not in inside:
            keys = ("id", "attr", "name", "arg", "asname")
            if name in {getattr(node, key, None) for key in keys}:
                return True
    return False


def _with_parameters(module: Module, function: ast.FunctionDef, extra: list[str]) -> str:
    """Return the text of a function with parameters added in front; nothing if that is unclear."""
    text = _text(module, function)
    if not extra:
        return text
    head = f"def {function.name}("
    if text.count(head) != 1:
        return ""
    comma = ", " if parameters(function) else ""
    return text.replace(head, f"{head}{', '.join(extra)}{comma}")


def _call_edit(module: Module, call: ast.Call, prefix: str, given: list[str]) -> Edit:
    begin, end = module.begin(call.func), module.end(call.func)
    name = f"{prefix}{module.code(call.func)}"
    if not given:
        return Edit(module.path, begin, end, name)
    comma = ", " if call.args or call.keywords else ""
    return Edit(module.path, begin, (end[0], end[1] + 1), f"{name}({', '.join(given)}{comma}")


# -- tf.function(f) ---------------------------------------------------------------------------


def _wrapped(module: Module, line: int, code: GraphCode) -> tuple[Edit, ...] | None:
    """Move `name = tf.function(f)` in front of the loop."""
    calls = [
        c
        for c in module.all(ast.Call)
        if c.lineno <= line <= (c.end_lineno or 0) and _is_compiler(module, c) and c.args
    ]
    if len(calls) != 1 or not _is_legal_wrapped(module, calls[0].args[0], code):
        return None
    call, statement = calls[0], module.statement(calls[0])
    is_plain = isinstance(statement, ast.Assign) and statement.value is call
    if not is_plain or not isinstance(statement.targets[0], ast.Name):  # type: ignore[attr-defined]
        return None
    return _before_loop(module, statement, reads(call))


def _is_legal_wrapped(module: Module, wrapped: ast.expr, code: GraphCode) -> bool:
    own = code.functions(wrapped.id) if isinstance(wrapped, ast.Name) else []
    return len(own) == 1 and code.is_legal_function(*own[0])


# -- text -------------------------------------------------------------------------------------


def _can_move(module: Module, statement: ast.stmt) -> bool:
    """Tell whether a statement has its lines for itself, and no text over several of them."""
    texts = [n for n in ast.walk(statement) if isinstance(n, ast.Constant)]
    is_long = any(isinstance(n.value, str | bytes) and n.lineno != n.end_lineno for n in texts)
    return module.is_alone(statement) and not is_long


def _text(module: Module, statement: ast.stmt) -> str:
    """Return the lines of a statement and of the comments above it, without indentation."""
    first = _first_line(module, statement)
    return textwrap.dedent("\n".join(module.lines[first - 1 : module.end(statement)[0]]))


def _first_line(module: Module, statement: ast.stmt) -> int:
    edit = module.insert_before(statement, "pass")
    assert edit is not None  # the statement is alone on its lines
    return edit.begin[0]


def _taken(module: Module, statement: ast.stmt) -> Edit:
    """Take a statement away with its comments and the blank lines behind it."""
    first, last = _first_line(module, statement), module.end(statement)[0] + 1
    while last <= len(module.lines) and not module.lines[last - 1].strip():
        last += 1
    return Edit(module.path, (first, 0), (last, 0), "")


def placed(module: Module, place: ast.stmt, code: str, *, is_function: bool) -> Edit | None:
    """Add code in front of a statement, a function with blank lines around it."""
    edit = module.insert_before(place, code)
    if edit is None or not is_function:
        return edit
    blank = "\n" if module.indent(place) else "\n\n"
    above = module.lines[edit.begin[0] - 2].strip() if edit.begin[0] > 1 else ""
    begin = blank if above and not above.endswith(":") else ""
    return Edit(edit.file, edit.begin, edit.end, f"{begin}{edit.text}{blank}")
