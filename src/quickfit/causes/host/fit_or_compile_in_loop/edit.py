"""Calls `fit` or `compile` once, where a loop or a helper calls it in every turn."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.causes._shared.train_loops.compiled_steps import placed
from quickfit.code.compiled_functions import calls_of
from quickfit.code.constants import PythonNumbers
from quickfit.code.edits import call_code, code_with_replaced
from quickfit.code.graph_code import argument_for_parameter
from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    is_read_after,
    parameters,
    reads,
    scope_of,
    writes,
)
from quickfit.code.syntax import keyword_value
from quickfit.findings import Change, FixClass

ONE_FIT, ONE_COMPILE = "Call `fit` once, for all epochs", "Compile once, before the loop"
LR = "Compile once, before the loop, and only set the learning rate in it"
SCHEDULED = "Compile and call `fit` once, with a schedule for the learning rate"
FORGETS = "`compile` made the optimizer forget its momentum or averages; now it keeps them."
SHUFFLED = "The same rows in each epoch; `fit` shuffles them itself."
# After these a model is another one, or is meant to begin again.
_STARTS_ANEW = {
    "add",
    "pop",
    "quantize",
    "load_model",
    "clone_model",
    "set_weights",
    "load_weights",
}
_LOOKED_AT = {"callbacks", "initial_epoch", "steps_per_epoch"}


@dataclass(frozen=True)
class Compiled:
    """A `compile` in a loop.

    Args:
        rate: what the optimizer is given as its learning rate; None where nothing in the call
            changes from turn to turn.
        forgets: the optimizer has a state, which a new one does not have.
    """

    loop: ast.For
    statement: ast.stmt
    call: ast.Call
    model: str
    optimizer: ast.Call | None
    rate: ast.expr | None
    forgets: bool


def one_fit(module: Module, line: int) -> Change | None:
    """Make one `fit` for all epochs of a loop that does nothing but call it."""
    call = method_at(module, line, "fit")
    loop = module.parent(module.statement(call)) if call is not None else None
    if call is None or not isinstance(loop, ast.For) or len(loop.body) != 1:
        return None
    count = epochs_of(module, loop, call)
    if not count or loop.body[0] is not module.statement(call):
        return None
    code = fit_code(module, call, count)
    edit = module.replace_statements(loop, loop, "\n".join([*module.comments_in(loop), code]))
    if edit is None or not code:
        return None
    shuffle = keyword_value(call, "shuffle")
    is_same = isinstance(shuffle, ast.Constant) and shuffle.value is False
    kind = FixClass.SAME_RESULTS if is_same else FixClass.EQUIVALENT
    return Change(ONE_FIT, kind, (edit,), "" if is_same else SHUFFLED)


def one_compile(module: Module, line: int, modules: Sequence[Module]) -> list[Change]:
    """Return the changes that take a `compile` at a line out of its loop."""
    found = _compiled(module, line, modules)
    if found is None:
        return []
    made = (_with_schedule(module, found), _before_loop(module, found))
    return [change for change in made if change is not None]


def method_at(module: Module, line: int, name: str) -> ast.Call | None:
    """Return the only call of a method at a line, where it is all of its statement."""
    found = [
        c
        for c in module.all(ast.Call)
        if isinstance(c.func, ast.Attribute)
        and c.func.attr == name
        and c.lineno <= line <= (c.end_lineno or 0)
        and dotted(c.func)
    ]
    statements = [module.statement(c) for c in found]
    plain = [
        c
        for c, s in zip(found, statements, strict=True)
        if isinstance(s, ast.Expr | ast.Assign) and s.value is c
    ]
    return plain[0] if len(plain) == len(found) == 1 else None


def epochs_of(
    module: Module, loop: ast.For, call: ast.Call, *, can_begin_at_one: bool = False
) -> str:
    """Return how many epochs a loop around a `fit` of one epoch trains; nothing if unclear."""
    counted, target = loop.iter, loop.target
    if not isinstance(counted, ast.Call) or dotted(counted.func) != "range" or loop.orelse:
        return ""
    count = _turns(module, counted)
    if not count or counted.keywords or not isinstance(target, ast.Name):
        return ""
    if len(counted.args) > 1 and not can_begin_at_one:
        return ""
    epochs = keyword_value(call, "epochs")
    is_one = epochs is None or (isinstance(epochs, ast.Constant) and epochs.value == 1)
    names = {k.arg for k in call.keywords}
    if not is_one or None in names or names & _LOOKED_AT or len(call.args) > 3:
        return ""
    given = [*call.args, *(k.value for k in call.keywords)]
    changed = reads(*given, call.func) & writes(loop)
    # A call would be made in every turn, and a generator is used up in one.
    is_made = any(isinstance(n, ast.Call) for value in given for n in ast.walk(value))
    is_read = is_read_after(module, target.id, [loop])
    result = module.statement(call)
    kept = writes(result) if isinstance(result, ast.Assign) else set()
    is_used = any(is_read_after(module, name, [loop]) for name in kept)
    if changed or is_made or is_read or is_used or _is_generator(module, call):
        return ""
    return count


def _turns(module: Module, counted: ast.Call) -> str:
    """Return how many turns `range(n)` or `range(1, n + 1)` makes; nothing for others."""
    if len(counted.args) == 1:
        return module.code(counted.args[0])
    match = re.fullmatch(r"range\(1, (\w+) \+ 1\)", ast.unparse(counted))
    return match[1] if match is not None else ""


def _is_generator(module: Module, call: ast.Call) -> bool:
    """Tell whether `fit` may be given a generator: the loop may use it up part by part."""
    first = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "x")]
    if len(call.args) > 1 or keyword_value(call, "y") is not None or not first:
        return False
    found = binders(scope_of(module, call), first[0].id) if isinstance(first[0], ast.Name) else []
    statements = [module.statement(node) for node in found]
    texts = [ast.unparse(s) for s in statements]
    return not texts or not all("tf.data" in t or "Dataset" in t or "_dataset" in t for t in texts)


def fit_code(module: Module, call: ast.Call, count: str, more: Sequence[str] = ()) -> str:
    """Return the code of a call of `fit` for more epochs, its other arguments as they are."""
    given = [module.code(value) for value in call.args]
    for keyword in call.keywords:
        value = count if keyword.arg == "epochs" else module.code(keyword.value)
        given.append(f"{keyword.arg}={value}")
    if keyword_value(call, "epochs") is None:
        given.append(f"epochs={count}")
    return call_code(dotted(call.func), [*given, *more], "")


# -- compile ----------------------------------------------------------------------------------


def _compiled(module: Module, line: int, modules: Sequence[Module]) -> Compiled | None:
    call = method_at(module, line, "compile")
    statement = module.statement(call) if call is not None else None
    loop = module.parent(statement) if statement is not None else None
    if call is None or not isinstance(loop, ast.For) or not isinstance(statement, ast.Expr):
        return None
    model = dotted(call.func).removesuffix(".compile")
    if is_touched(loop, statement, model):
        return None
    optimizer = call.args[0] if call.args else keyword_value(call, "optimizer")
    made = optimizer if isinstance(optimizer, ast.Call) else None
    rate = rate_of(made) if made is not None else None
    if rate is not None and not reads(rate) & writes(loop):
        rate = None
    others = reads(call) - (reads(rate) if rate is not None else set())
    rate_names = reads(rate) if rate is not None else set()
    if (others | ({model.partition(".")[0]})) & writes(loop) or _has_both(call, rate, rate_names):
        return None
    is_more = made is not None and len(made.args) > 1  # momentum and the like, by position
    if rate is not None and (is_more or not PythonNumbers(modules).is_number(module, rate)):
        return None
    return Compiled(loop, statement, call, model, made, rate, _forgets(module, optimizer))


def _has_both(call: ast.Call, rate: ast.expr | None, names: set[str]) -> bool:
    """Tell whether names of the learning rate are read elsewhere in the call, too."""
    inside = set(ast.walk(rate)) if rate is not None else set()
    rest = [n for n in ast.walk(call) if isinstance(n, ast.Name) and n not in inside]
    return bool({n.id for n in rest} & names)


def is_touched(loop: ast.For, statement: ast.stmt, model: str) -> bool:
    """Tell whether the loop does something to a model after which it must be compiled."""
    counted = dotted(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
    if not model or loop.orelse or loop.body.count(statement) != 1 or counted != "range":
        return True
    for node in ast.walk(loop):
        if isinstance(node, ast.Attribute):
            is_set = not isinstance(node.ctx, ast.Load) and model.startswith(dotted(node))
            if is_set or node.attr in ("trainable", "dtype_policy"):
                return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _STARTS_ANEW:
                return True
            if node.func.attr == "compile" and node is not getattr(statement, "value", None):
                return True
        if isinstance(node, ast.Break | ast.Continue | ast.Return):
            return True
    return False


def rate_of(optimizer: ast.Call) -> ast.expr | None:
    """Return what an optimizer is given as its learning rate."""
    by_name = keyword_value(optimizer, "learning_rate")
    return by_name if by_name is not None else next(iter(optimizer.args), None)


def _forgets(module: Module, optimizer: ast.expr | None) -> bool:
    """Tell whether a new optimizer differs from one that has trained."""
    if isinstance(optimizer, ast.Name | ast.Attribute):
        return False  # the same object each time
    if not isinstance(optimizer, ast.Call):
        return True
    path = import_path(module, dotted(optimizer.func))
    options = {k.arg for k in optimizer.keywords}
    is_plain = options <= {"learning_rate"} and len(optimizer.args) <= 1
    return not (path.endswith("optimizers.SGD") and is_plain)


def _class(found: Compiled) -> tuple[FixClass, str]:
    if found.forgets:
        return FixClass.MAY_CHANGE_RESULTS, FORGETS
    return FixClass.SAME_RESULTS, ""


def _compile_code(module: Module, found: Compiled) -> str:
    """Return the `compile` for all turns: the optimizer without a rate, if that changes."""
    if found.rate is None or found.optimizer is None:
        return module.code(found.call)
    rest = [f"{k.arg}={module.code(k.value)}" for k in found.optimizer.keywords]
    rest = [text for text in rest if not text.startswith("learning_rate=")]
    code = f"{module.code(found.optimizer.func)}({', '.join(rest)})"
    return code_with_replaced(module, found.call, {found.optimizer: code})


def _before_loop(module: Module, found: Compiled) -> Change | None:
    made = placed(module, found.loop, _compile_code(module, found), is_function=False)
    if found.rate is None:
        title, taken = ONE_COMPILE, module.remove(found.statement)
    else:
        code = f"{found.model}.optimizer.learning_rate = {module.code(found.rate)}"
        title, taken = LR, module.replace_statements(found.statement, found.statement, code)
    is_lost = len(module.comments_in(found.statement)) > 0
    if made is None or taken is None or is_lost or len(found.loop.body) == 1:
        return None
    kind, note = _class(found)
    return Change(title, kind, (made, taken), note)


def _with_schedule(module: Module, found: Compiled) -> Change | None:
    """Replace a loop of `compile` and `fit` by both once, and a schedule."""
    *before, last = found.loop.body
    call = last.value if isinstance(last, ast.Expr | ast.Assign) else None
    if not isinstance(call, ast.Call) or found.rate is None or before != [found.statement]:
        return None
    is_fit = dotted(call.func) == f"{found.model}.fit"
    count = epochs_of(module, found.loop, call) if is_fit else ""
    keras = import_path(module, dotted(found.optimizer.func)) if found.optimizer else ""
    name = dotted(found.optimizer.func) if found.optimizer else ""
    alias = name.removesuffix(".optimizers.SGD")
    if (
        not count
        or alias == name
        or keras not in ("keras.optimizers.SGD", "tensorflow.keras.optimizers.SGD")
    ):
        return None
    assert isinstance(found.loop.target, ast.Name)
    schedule = f"lambda {found.loop.target.id}: {module.code(found.rate)}"
    callback = f"callbacks=[{alias}.callbacks.LearningRateScheduler({schedule})]"
    fit = fit_code(module, call, count, [callback])
    lines = [*module.comments_in(found.loop), _compile_code(module, found), fit]
    edit = module.replace_statements(found.loop, found.loop, "\n".join(lines))
    kind, note = _class(found)
    return Change(SCHEDULED, kind, (edit,), note) if edit is not None else None


def one_compile_of_helper(module: Module, line: int, modules: Sequence[Module]) -> Change | None:
    """Make `compile` in a function of its own happen once, before the loop that calls it."""
    call = method_at(module, line, "compile")
    function = module.around(call, ast.FunctionDef) if call is not None else None
    if call is None or function is None or len(function.body) != 1 or function.decorator_list:
        return None
    statement, given = function.body[0], parameters(function)
    model = dotted(call.func).removesuffix(".compile")
    optimizer = call.args[0] if call.args else keyword_value(call, "optimizer")
    rate = rate_of(optimizer) if isinstance(optimizer, ast.Call) else None
    if statement is not module.statement(call) or model not in given or rate is None:
        return None
    assert isinstance(optimizer, ast.Call)
    inside = set(ast.walk(rate))
    others = {n.id for n in ast.walk(call) if isinstance(n, ast.Name) and n not in inside}
    if others & set(given) != {model} or len(optimizer.args) > 1 or not reads(rate) & set(given):
        return None
    calls = [(s, c) for s in modules for c in calls_of(s, function.name)]
    if len(calls) != 1 or calls[0][0] is not module or module.parent(function) is not module.tree:
        return None
    if not PythonNumbers(modules).is_number(module, rate) or module.comments_in(statement):
        return None
    return _moved(module, function, calls[0][1], (call, optimizer, rate), model, others)


def _moved(
    module: Module,
    function: ast.FunctionDef,
    used: ast.Call,
    compiled: tuple[ast.Call, ast.Call, ast.expr],
    model: str,
    others: set[str],
) -> Change | None:
    """Return the change: `compile` in front of the loop, and only the rate in the function."""
    call, optimizer, rate = compiled
    statement, loop = module.statement(used), module.parent(module.statement(used))
    given = argument_for_parameter(used, function, model)
    if not isinstance(loop, ast.For) or module.parent(loop) is not module.tree:
        return None
    is_plain = isinstance(statement, ast.Expr) and statement.value is used
    if not is_plain or not isinstance(given, ast.Name) or given.id in writes(loop):
        return None
    seen = others - {model}
    is_early = all(len(binders(module.tree, name)) == 1 for name in seen)
    if not is_early or seen & writes(loop) or is_touched(loop, statement, given.id):
        return None
    rest = [f"{k.arg}={module.code(k.value)}" for k in optimizer.keywords]
    rest = [text for text in rest if not text.startswith("learning_rate=")]
    assert isinstance(call.func, ast.Attribute)
    codes: dict[ast.expr, str] = {
        call.func.value: given.id,
        optimizer: f"{module.code(optimizer.func)}({', '.join(rest)})",
    }
    made = placed(module, loop, code_with_replaced(module, call, codes), is_function=False)
    code = f"{model}.optimizer.learning_rate = {module.code(rate)}"
    taken = module.replace_statements(function.body[0], function.body[0], code)
    if made is None or taken is None:
        return None
    return Change(LR, FixClass.MAY_CHANGE_RESULTS, (made, taken), FORGETS)
