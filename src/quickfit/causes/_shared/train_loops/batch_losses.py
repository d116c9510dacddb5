"""What a loop does with the loss of each batch, and the same after `fit` trains instead."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quickfit.causes._shared.train_loops.batch_slices import is_bar
from quickfit.code.edits import call_code
from quickfit.code.loops import indent_unit
from quickfit.code.module import Module
from quickfit.code.scopes import (
    Scope,
    binders_in_file,
    dotted,
    import_path,
    is_read_after,
    local_names,
    nodes_in_scope,
    reads,
    reads_in_file,
    scope_of,
    writes,
)
from quickfit.findings import Edit

# The names under which Keras keeps these metrics are what they were called in `compile`.
_METRICS = {"accuracy", "acc", "mae", "mse"}


@dataclass(frozen=True)
class Results:
    """The names for what `train_on_batch` returned.

    Args:
        names: the names, in the order of the metrics.
        keys: the metric of each name; nothing for a dict of all.
        read: the names that are read later, all of them in prints.
        statement: the statement that binds them.
    """

    names: tuple[str, ...]
    keys: tuple[str, ...]
    read: tuple[str, ...]
    statement: ast.stmt

    def from_history(self, module: Module) -> tuple[str, str] | None:
        """Return the name for what `fit` returns, and the code that takes the numbers from it."""
        if not self.read:
            return None
        name = history_name(module)
        if not self.keys:
            values = f"{{name: values[-1] for name, values in {name}.history.items()}}"
            return name, f"{self.names[0]} = {values}"
        wanted = [(n, k) for n, k in zip(self.names, self.keys, strict=True) if n in self.read]
        return name, "\n".join(f'{n} = {name}.history["{k}"][-1]' for n, k in wanted)

    def is_read_outside(self, module: Module, outer: ast.For) -> Iterator[bool]:
        """Yield for each name whether it is read behind the loop over epochs."""
        return (is_read_after(module, name, [outer]) for name in self.names)

    def report(
        self, module: Module, number: str, shown: Sequence[ast.stmt]
    ) -> tuple[str, str] | None:
        """Return the function that prints after each epoch, and the argument that registers it."""
        if not shown:
            return "", ""
        alias, _ = keras_import(module)
        name = "report" if "report" not in module.text else "show_epoch"
        if not alias or name in module.text or number == "logs":
            return None
        lines = [f"def {name}({number}, logs):"]
        if not self.keys and self.read and self.names != ("logs",):
            lines.append(f"    {self.names[0]} = logs")
        pairs = zip(self.names, self.keys, strict=True) if self.keys else ()
        lines += [f'    {n} = logs["{key}"]' for n, key in pairs if n in reads(*shown)]
        lines += [f"    {module.code(statement)}" for statement in shown]
        if any("\n" in module.code(statement) for statement in shown):
            return None
        callback = f"{alias}.callbacks.LambdaCallback(on_epoch_end={name})"
        return "\n".join(lines), f"callbacks=[{callback}]"


def history_name(module: Module) -> str:
    """Return a new name for what `fit` returns."""
    names = ("history", "epoch_history", "fit_history", "fitted_history")
    used = {n.id for n in module.all(ast.Name)} | {n.arg for n in module.all(ast.arg)}
    return next(name for name in names if name not in used)


def keras_name(module: Module) -> str:
    """Return the name that Keras has in a file; nothing where it has none."""
    for node in module.all(ast.Import) + module.all(ast.ImportFrom):
        for alias in node.names:
            name = alias.asname or alias.name
            path = import_path(module, name)
            if path in ("keras", "tensorflow.keras"):
                return name
            if path == "tensorflow":
                return f"{name}.keras"
    return ""


def keras_import(module: Module) -> tuple[str, tuple[Edit, ...]]:
    """Return the name of Keras in a file, and the edits that import it where only parts of it are.

    The name is empty where the file has no part of Keras, or means something else by `keras`.
    """
    name = keras_name(module)
    if name:
        return name, ()
    paths = [n.module or "" for n in module.all(ast.ImportFrom) if not n.level]
    paths += [alias.name for n in module.all(ast.Import) for alias in n.names]
    if binders_in_file(module, "keras") or reads_in_file(module, "keras"):
        return "", ()
    if any(f"{path}.".startswith("tensorflow.keras.") for path in paths):
        return module.from_import("tensorflow", "keras")
    is_known = any(f"{path}.".startswith("keras.") for path in paths)
    return module.import_of("keras") if is_known else ("", ())


def results_of(
    module: Module,
    statement: ast.stmt,
    call: ast.Call,
    modules: Sequence[Module],
    *,
    tail: Sequence[ast.stmt] = (),
    is_exact: bool = False,
) -> Results | None:
    """Return what is done with the result of a call; None where more than printing.

    What statements of `tail` read is left out. All uses are fine where the numbers are exact.
    """
    options = {k.arg: k.value for k in call.keywords}
    returns_dict = options.pop("return_dict", None)
    if options or (returns_dict is not None and not isinstance(returns_dict, ast.Constant)):
        return None
    is_dict = isinstance(returns_dict, ast.Constant) and returns_dict.value is True
    if isinstance(statement, ast.Expr) and statement.value is call:
        return Results((), (), (), statement)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return None
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    if len(statement.targets) > 1 or len(names) != len(parts):
        return None
    read = tuple(name for name in names if is_read_after(module, name, [statement, *tail]))
    if not is_exact and not all(_is_printed(module, name, tail) for name in read):
        return None
    keys = () if is_dict and len(names) == 1 else metric_keys(modules)[: len(names)]
    is_known = bool(keys) and len(keys) == len(metric_keys(modules)) == len(names)
    used = read or set(names) & reads(*tail)
    return Results(names, keys, read, statement) if is_dict or is_known or not used else None


def unnamed_loss(
    module: Module, statement: ast.stmt, call: ast.Call, modules: Sequence[Module]
) -> Results | None:
    """Return the result of a call that is collected without a name, where it is the loss alone."""
    around = module.parent(call)
    is_added = isinstance(statement, ast.AugAssign) and statement.value is call
    is_kept = isinstance(around, ast.Call) and around is getattr(statement, "value", None)
    is_kept = is_kept and isinstance(around, ast.Call) and around.args == [call]
    if call.keywords or not (is_added or is_kept) or metric_keys(modules) != ("loss",):
        return None
    return Results((), ("loss",), (), statement)


def metric_keys(modules: Sequence[Module]) -> tuple[str, ...]:
    """Return the names of the loss and the metrics, in order; nothing where they are unclear."""
    calls = [c for s in modules for c in s.all(ast.Call) if _is_compile(c)]
    if len(calls) != 1 or len(calls[0].args) > 2:
        return ()
    options = {k.arg: k.value for k in calls[0].keywords}
    losses = [*calls[0].args[1:2], *(v for k, v in options.items() if k == "loss")]
    if None in options or any(isinstance(v, ast.Dict | ast.List) for v in losses):
        return ()
    metrics = options.get("metrics")
    if metrics is None:
        return ("loss",) if not {"weighted_metrics", "loss_weights"} & set(options) else ()
    named = metrics.elts if isinstance(metrics, ast.List | ast.Tuple) else []
    texts = [n.value for n in named if isinstance(n, ast.Constant) and n.value in _METRICS]
    is_known = bool(named) and len(texts) == len(named)
    return ("loss", *map(str, texts)) if is_known else ()


def _is_compile(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "compile"
        and (dotted(call.func) != "re.compile")
    )


def _is_printed(module: Module, name: str, tail: Sequence[ast.stmt]) -> bool:
    """Tell whether a name is read in prints only, but for some statements."""
    inside = {node for statement in tail for node in ast.walk(statement)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store):
            continue
        if node in inside:
            continue
        around = module.statement(node)
        value = around.value if isinstance(around, ast.Expr) else None
        if not isinstance(value, ast.Call) or dotted(value.func) != "print":
            return False
    return True


_CALLS = {"print", "float", "int", "round", "min", "max", "len", "abs", "sum", "str"}
_METHODS = {"append", "format", "item"}
_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Raise)
WHY = "# the metrics of single batches, not their means so far"


def can_replay(
    module: Module, loop: ast.For, tail: Sequence[ast.stmt], model: str, results: Results
) -> bool:
    """Tell whether statements need only the results of each batch, and no batch needs them."""
    first = loop.body[: len(loop.body) - len(tail)]
    root = model.partition(".")[0]
    nodes = [node for statement in tail for node in nodes_in_scope(statement)]
    if any(leaves(node) for node in nodes):
        return False
    if not all(is_harmless(module, n) for n in nodes if isinstance(n, ast.Call)):
        return False
    # What holds the model, as `self` does, may hold what a statement writes, too.
    if root in reads(*tail) and root != "self":
        return False
    if any(isinstance(n, ast.Attribute) and dotted(n).startswith(f"{model}.") for n in nodes):
        return False
    if not all(_is_own_place(node, first, loop) for node in nodes):
        return False
    changed = writes(*tail) | {n.func.value.id for n in nodes if _is_append(n)}  # type: ignore[attr-defined]
    if changed & _from_outside(module, scope_of(module, loop)):
        return False
    is_named = bool(results.names) and bool(results.keys or len(results.names) == 1)
    is_fed = changed & (reads(*first, loop.iter) | writes(*first, loop.target))
    own = writes(*first, loop.target) - set(results.names) - counter_of(loop)
    return is_named and not is_fed and not own & reads(*tail) and not _has_texts(module, tail)


def _is_own_place(node: ast.AST, first: Sequence[ast.stmt], loop: ast.For) -> bool:
    """Tell whether what a node sets in an object is nothing that the training may look at.

    `optimizer.learning_rate = ...` is; `self.best = ...` and `history["loss"] = ...` are not.
    """
    if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
        return True
    place: ast.expr = node
    while isinstance(place, ast.Subscript):
        place = place.value
    name = dotted(place)
    is_plain = isinstance(node, ast.Subscript) and name.isidentifier()
    if not is_plain and not (name.startswith("self.") and name.count(".") == 1):
        return False
    nodes = [n for part in (*first, loop.iter) for n in ast.walk(part)]
    asked = {dotted(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute)}
    return not any(f"{one}.".startswith(f"{name}.") for one in asked)


def _from_outside(module: Module, scope: Scope) -> set[str]:
    """Return the names that functions of a file, other than the one of a loop, do not own."""
    functions = [f for f in module.all(ast.FunctionDef) if f is not scope]
    return set().union(*(reads(*f.body) - local_names(f) for f in functions))


def leaves(node: ast.AST) -> bool:
    """Tell whether code ends a turn, or makes a function that could run at another time."""
    return isinstance(node, (*_LEAVES, ast.FunctionDef, ast.Lambda, ast.With))


def is_harmless(module: Module, call: ast.Call) -> bool:
    """Tell whether a call only shows or collects numbers."""
    name = dotted(call.func)
    if name in _CALLS or import_path(module, name) in ("numpy.mean", "numpy.isnan"):
        return not any(k.arg == "file" for k in call.keywords)
    return isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS


def _is_append(node: ast.AST) -> bool:
    func = node.func if isinstance(node, ast.Call) else None
    is_method = isinstance(func, ast.Attribute) and func.attr == "append"
    return is_method and isinstance(func.value, ast.Name)  # type: ignore[union-attr]


def counted(loop: ast.For) -> tuple[ast.expr, ast.expr] | None:
    """Return the batch and the batches of `for step, batch in enumerate(batches)`."""
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or dotted(call.func) != "enumerate" or not call.args:
        return None
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    is_pair = isinstance(target, ast.Tuple) and len(target.elts) == 2
    if (
        not is_pair
        or not isinstance(target, ast.Tuple)
        or not dotted(target.elts[0]).isidentifier()
    ):
        return None
    return target.elts[1], call.args[0]


def counter_of(loop: ast.For) -> set[str]:
    """Return the name that counts the turns of a loop, where a loop over losses can count, too."""
    if counted(loop) is not None and isinstance(loop.target, ast.Tuple):
        return {dotted(loop.target.elts[0])}
    is_range = isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "range"
    is_plain = is_range and isinstance(loop.target, ast.Name) and not is_bar(loop.iter)
    return {loop.target.id} if is_plain and isinstance(loop.target, ast.Name) else set()


def _has_texts(module: Module, tail: Sequence[ast.stmt]) -> bool:
    """Tell whether moving the lines of statements could change a text, or lose one's place."""
    texts = [n for s in tail for n in ast.walk(s) if isinstance(n, ast.Constant | ast.JoinedStr)]
    is_alone = module.is_alone(tail[0]) and module.is_alone(tail[-1])
    return not is_alone or any(n.lineno != n.end_lineno for n in texts)


def has_own_steps(modules: Sequence[Module]) -> bool:
    """Tell whether a model may train, or count its metrics, in a way of its own."""
    methods = {f.name for s in modules for f in s.all(ast.FunctionDef)}
    words = [k.arg for s in modules for k in s.all(ast.keyword)]
    return bool(methods & {"train_step", "reset_metrics"}) or "steps_per_execution" in words


def added_up(
    module: Module, loop: ast.For, tail: Sequence[ast.stmt], results: Results
) -> tuple[str, str, str]:
    """Return the same as `replayed` for `total += model.train_on_batch(...)`."""
    kept = "batch_losses" if "batch_losses" not in module.text else "kept_losses"
    total = tail[0].target.id  # type: ignore[attr-defined]
    name = "loss" if not re.search(r"\bloss\b(?!\s*=)", module.text) else "batch_loss"
    again = f"for {name} in {kept}:\n    {total} += {name}"
    return f"{kept} = []", f'{kept}.append(logs["loss"])', again


def replayed(
    module: Module, loop: ast.For, tail: Sequence[ast.stmt], results: Results
) -> tuple[str, str, str]:
    """Return the list's first line, the hook that fills it, and the loop over it."""
    used = {n.id for n in module.all(ast.Name)} | {n.arg for n in module.all(ast.arg)}
    names = ("batch_logs", "batch_results") if len(results.keys) != 1 else ("batch_losses",)
    kept = next((name for name in (*names, "logs_of_batches") if name not in used), "kept_logs")
    parts = [f'logs["{key}"]' for key in results.keys] or ["dict(logs)"]
    value = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
    target, source = ", ".join(results.names), kept
    count = next(iter(counter_of(loop)), "")
    if count and (count in reads(*tail) or is_read_after(module, count, [loop])):
        inner = f"({target})" if len(results.names) > 1 else target
        target, source = f"{count}, {inner}", _counting(module, loop, kept)
    first, last = (
        module.begin(tail[0])[0] - comments_above(module, tail[0]),
        module.end(tail[-1])[0],
    )
    body = textwrap.dedent("\n".join(module.lines[first - 1 : last]))
    again = f"for {target} in {source}:\n{textwrap.indent(body, indent_unit(module, tail[0]))}"
    return f"{kept} = []", f"{kept}.append({value})", again


def comments_above(module: Module, statement: ast.stmt) -> int:
    """Return how many lines right above a statement are comments about it."""
    begin, found = module.begin(statement)[0], 0
    while module.lines[begin - 2 - found].startswith(f"{module.indent(statement)}#"):
        found += 1
    return found


def _counting(module: Module, loop: ast.For, kept: str) -> str:
    """Return the code that goes over a list and counts as a loop does."""
    pair = counted(loop)
    if pair is None or not isinstance(loop.iter, ast.Call):
        return f"zip({module.code(loop.iter)}, {kept})"
    start = [*loop.iter.args[1:], *loop.iter.keywords]
    return f"enumerate({', '.join([kept, *map(module.code, start)])})"


def callbacks_code(module: Module, model: str, ends: Sequence[str], indent: str) -> str:
    """Return the argument that gives each batch its own metrics, and does more at its end."""
    name = f"{keras_import(module)[0]}.callbacks.LambdaCallback"
    hooks = [f"on_train_batch_begin=lambda batch, logs: {model}.reset_metrics()"]
    hooks += [f"on_train_batch_end=lambda batch, logs: {end}" for end in ends]
    made = [call_code(name, [hook], indent + " " * 8) for hook in hooks]
    inner = textwrap.indent("\n".join([WHY, *(f"{one}," for one in made)]), "    ")
    return f"callbacks=[\n{inner}\n]"
