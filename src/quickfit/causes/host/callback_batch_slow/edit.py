"""Edits of callbacks that work on every batch: they work every n-th batch instead."""

from __future__ import annotations

import ast

from quickfit.causes._shared.train_loops.training_effects import Effect, effect
from quickfit.code import Module, Program
from quickfit.code.loops import indent_unit, put_under_test
from quickfit.code.scopes import only_value_in_file, reads_in_file
from quickfit.code.syntax import called_name, is_open, keyword_value, name_of
from quickfit.findings import Change, Edit, FixClass

BATCH_HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
# Callbacks of libraries, and the argument that says how often they write.
FREQUENCIES = {"TensorBoard": "update_freq", "WandbMetricsLogger": "log_freq"}
NOTE = "The callback sees fewer batches: what it records has fewer entries."


def seldom_hook(module: Module, line: int, program: Program, every: int = 50) -> Change | None:
    """Let the batch hook that a line is part of return at once on most batches."""
    hook = _hook(module, line)
    if hook is None:
        return None
    worst = max(effect(program, module, f) for f in _all_of(module, hook))
    if worst is Effect.CHANGES or _needs_all(module, hook, program):
        return None
    edit = _guarded(module, hook, every) or _only_there(module, hook, line, every)
    return _change(edit, worst, every)


def _change(edit: Edit | None, worst: Effect, every: int) -> Change | None:
    if edit is None:
        return None
    return Change(
        title=f"Do the callback's work every {every}th batch",
        kind=FixClass.SAME_RESULTS if worst is Effect.NONE else FixClass.MAY_CHANGE_RESULTS,
        edits=(edit,),
        note=NOTE,
    )


def _hook(module: Module, line: int) -> ast.FunctionDef | None:
    """Return the hook of a callback around a line, or a function given as one."""
    around = [f for f in module.all(ast.FunctionDef) if f.lineno <= line <= (f.end_lineno or 0)]
    for function in reversed(around):
        owner = module.parent(function)
        if isinstance(owner, ast.ClassDef):
            is_hook = function.name in BATCH_HOOKS and _is_callback(owner)
            return function if is_hook else None
        if _is_given_as_hook(module, function):
            return function
    return None


def _is_callback(owner: ast.ClassDef) -> bool:
    return len(owner.bases) == 1 and name_of(owner.bases[0]) == "Callback"


def _is_given_as_hook(module: Module, function: ast.FunctionDef) -> bool:
    """Tell whether a function is used once only, as a hook of a `LambdaCallback`."""
    used = reads_in_file(module, function.name)
    parent = module.parent(used[0]) if len(used) == 1 else None
    return isinstance(parent, ast.keyword) and _is_hook_keyword(module, parent)


def _is_hook_keyword(module: Module, keyword: ast.keyword) -> bool:
    call = module.parent(keyword)
    is_made = isinstance(call, ast.Call) and called_name(call) == "LambdaCallback"
    return is_made and keyword.arg in BATCH_HOOKS


def _all_of(module: Module, hook: ast.FunctionDef) -> list[ast.FunctionDef]:
    """Return a hook and, of a class, its other methods: they may use what the hook keeps."""
    owner = module.parent(hook)
    if not isinstance(owner, ast.ClassDef):
        return [hook]
    return [node for node in owner.body if isinstance(node, ast.FunctionDef)]


def _needs_all(module: Module, hook: ast.FunctionDef, program: Program) -> bool:
    """Tell whether what a hook collects is used elsewhere beside something as long as it."""
    collected = {
        name_of(call.func.value)
        for call in module.all(ast.Call, within=hook)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend")
    }
    owner = module.parent(hook)
    inside = owner if isinstance(owner, ast.ClassDef) else hook
    return any(
        _is_beside_others(other, node)
        for other in program.modules()
        for node in other.all(ast.expr)
        if isinstance(node, ast.Name | ast.Attribute) and name_of(node) in collected
        if not other.is_in(node, inside)
    )


def _is_beside_others(module: Module, node: ast.expr) -> bool:
    """Tell whether a value is given to a call with other values, or is made into another shape."""
    around = module.around(node, ast.Call)
    while around is not None and called_name(around) in ("array", "asarray", "stack"):
        outer = module.parent(around)
        if isinstance(outer, ast.Attribute) and outer.attr == "reshape":
            return True
        around = module.around(around, ast.Call)
    if around is None or called_name(around) in ("print", "dump", "dumps", "format", "save"):
        return False
    values = [arg for arg in around.args if not isinstance(arg, ast.Constant)]
    return len(values) > 1 or called_name(around) == "reshape"


def _guarded(module: Module, hook: ast.FunctionDef, every: int) -> Edit | None:
    """Return the edit that adds `if batch % 50: return` in front of a hook's work."""
    batch, work = _batch(hook), _work(hook)
    if not batch or not work or _counts(hook, work) or _has_own_interval(hook):
        return None
    if _is_kept_between(module, hook, work) or hook.decorator_list:
        return None
    return module.insert_before(
        work[0], f"if {batch} % {every}:\n{indent_unit(module, work[0])}return"
    )


def _only_there(module: Module, hook: ast.FunctionDef, line: int, every: int) -> Edit | None:
    """Return the edit that puts the statement of a line under `if batch % 50 == 0`.

    The rest of the hook, which counts or keeps something, goes on with every batch.
    """
    here = [s for s in hook.body if s.lineno <= line <= (s.end_lineno or 0)]
    if len(here) != 1 or not isinstance(here[0], ast.Expr | ast.With | ast.For) or not _batch(hook):
        return None
    inside = list(ast.walk(here[0]))
    if _has_own_interval(hook) or _counts(here[0], here) or _is_kept(module, hook, inside):
        return None
    return put_under_test(module, here, f"{_batch(hook)} % {every} == 0")


def _is_kept(module: Module, hook: ast.FunctionDef, inside: list[ast.AST]) -> bool:
    """Tell whether other code uses what some nodes set or collect."""
    names = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    later = [n for n in ast.walk(hook) if isinstance(n, ast.Name) and n not in inside]
    attributes = [n for n in inside if isinstance(n, ast.Attribute)]
    is_set = any(not isinstance(n.ctx, ast.Load) for n in attributes)
    is_collected = any(n.attr in ("append", "extend", "put", "pop", "clear") for n in attributes)
    return is_set or is_collected or any(n.id in names for n in later)


def _batch(hook: ast.FunctionDef) -> str:
    """Return the name of the argument that counts batches."""
    names = [arg.arg for arg in (*hook.args.posonlyargs, *hook.args.args)]
    names = names[1:] if names[:1] == ["self"] else names
    return names[0] if names and names[0].strip("_") else ""


def _work(hook: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements behind a docstring and the counters that a hook begins with."""
    body = list(hook.body)
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        del body[0]
    while body and isinstance(body[0], ast.AugAssign) and isinstance(body[0].value, ast.Constant):
        del body[0]
    return body


def _counts(hook: ast.stmt, work: list[ast.stmt]) -> bool:
    """Tell whether the work sums or counts something up that lives longer than the hook."""
    inside = [node for statement in work for node in ast.walk(statement)]
    sums = [node.target for node in inside if isinstance(node, ast.AugAssign)]
    yields = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(hook))
    outer = any(isinstance(n, ast.Nonlocal | ast.Global) for n in ast.walk(hook))
    calls = [n for n in inside if isinstance(n, ast.Call) and called_name(n) == "update"]
    ticks = any(not c.args or isinstance(c.args[0], ast.Constant) for c in calls)
    is_summed = any(not isinstance(target, ast.Name) for target in sums)
    return yields or outer or ticks or is_summed


def _has_own_interval(hook: ast.FunctionDef) -> bool:
    """Tell whether a hook already works on some batches only, or calls the one it inherits."""
    nodes = list(ast.walk(hook))
    tests = [n.test for n in nodes if isinstance(n, ast.If | ast.IfExp)]
    parts = [part for test in tests for part in ast.walk(test)]
    inherits = any(isinstance(n, ast.Call) and called_name(n) == "super" for n in nodes)
    return inherits or any(isinstance(part, ast.Mod) for part in parts)


def _is_kept_between(module: Module, hook: ast.FunctionDef, work: list[ast.stmt]) -> bool:
    """Tell whether a hook's work sets what it, or the other batch hook, reads next time."""
    inside = [node for statement in work for node in ast.walk(statement)]
    nodes = [n for n in inside if isinstance(n, ast.Attribute) and _is_own(n)]
    stored = {n.attr for n in nodes if not isinstance(n.ctx, ast.Load)}
    others = [f for f in _all_of(module, hook) if f.name in BATCH_HOOKS]
    reads = {
        n.attr
        for function in others
        for n in ast.walk(function)
        if isinstance(n, ast.Attribute) and _is_own(n) and isinstance(n.ctx, ast.Load)
    }
    return bool(stored & reads)


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def seldom_lambda(program: Program, every: int = 50) -> Change | None:
    """Let the only lambda of all files that is a batch hook work on every n-th batch."""
    found = [
        (module, keyword.value)
        for module in program.modules()
        for keyword in module.all(ast.keyword)
        if _is_hook_keyword(module, keyword) and isinstance(keyword.value, ast.Lambda)
    ]
    if len(found) != 1 or not found[0][1].args.args:
        return None
    module, hook = found[0]
    body, batch = hook.body, hook.args.args[0].arg
    worst = effect(program, module, hook)
    if worst is Effect.CHANGES or isinstance(body, ast.IfExp | ast.Lambda) or not batch.strip("_"):
        return None
    code = f"{module.code(body)} if {batch} % {every} == 0 else None"
    return _change(module.replace(body, code), worst, every)


def seldom_written(program: Program, every: int = 100) -> Change | None:
    """Let the only logger of a library write every n-th batch where it writes every batch."""
    found = [
        (module, call)
        for module in program.modules()
        for call in module.all(ast.Call)
        if called_name(call) in FREQUENCIES
    ]
    if len(found) != 1 or is_open(found[0][1]):
        return None
    module, call = found[0]
    value = keyword_value(call, FREQUENCIES[called_name(call)])
    if isinstance(value, ast.Name):
        value = only_value_in_file(module, value.id)
    if not isinstance(value, ast.Constant) or not _is_often(value.value, every):
        return None
    return Change(
        title=f"Let `{called_name(call)}` write every {every} batches",
        kind=FixClass.SAME_RESULTS,
        edits=(module.replace(value, str(every)),),
        note="Its curves have fewer points.",
    )


def _is_often(value: object, every: int) -> bool:
    return value == "batch" or (type(value) is int and value < every)
