"""What becomes of the loss that `train_on_batch` returned, when `fit` trains instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quickfit.fixes.bindings import dotted, imported, reads
from quickfit.fixes.change import Edit
from quickfit.fixes.lifetimes import is_read_after
from quickfit.fixes.lookup import bindings, loads
from quickfit.fixes.script import Script

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

    def from_history(self, script: Script) -> tuple[str, str] | None:
        """Return the name for what `fit` returns, and the code that takes the numbers from it."""
        if not self.read:
            return None
        name = history_name(script)
        if not self.keys:
            values = f"{{name: values[-1] for name, values in {name}.history.items()}}"
            return name, f"{self.names[0]} = {values}"
        wanted = [(n, k) for n, k in zip(self.names, self.keys, strict=True) if n in self.read]
        return name, "\n".join(f'{n} = {name}.history["{k}"][-1]' for n, k in wanted)

    def is_read_outside(self, script: Script, outer: ast.For) -> Iterator[bool]:
        """Yield for each name whether it is read behind the loop over epochs."""
        return (is_read_after(script, name, [outer]) for name in self.names)

    def report(
        self, script: Script, number: str, shown: Sequence[ast.stmt]
    ) -> tuple[str, str] | None:
        """Return the function that prints after each epoch, and the argument that registers it."""
        if not shown:
            return "", ""
        alias, _ = keras_import(script)
        name = "report" if "report" not in script.text else "show_epoch"
        if not alias or name in script.text or number == "logs":
            return None
        lines = [f"def {name}({number}, logs):"]
        if not self.keys and self.read and self.names != ("logs",):
            lines.append(f"    {self.names[0]} = logs")
        pairs = zip(self.names, self.keys, strict=True) if self.keys else ()
        lines += [f'    {n} = logs["{key}"]' for n, key in pairs if n in reads(*shown)]
        lines += [f"    {script.code(statement)}" for statement in shown]
        if any("\n" in script.code(statement) for statement in shown):
            return None
        callback = f"{alias}.callbacks.LambdaCallback(on_epoch_end={name})"
        return "\n".join(lines), f"callbacks=[{callback}]"


def history_name(script: Script) -> str:
    """Return a new name for what `fit` returns."""
    names = ("history", "epoch_history", "fit_history", "fitted_history")
    used = {n.id for n in script.all(ast.Name)} | {n.arg for n in script.all(ast.arg)}
    return next(name for name in names if name not in used)


def keras_name(script: Script) -> str:
    """Return the name that Keras has in a file; nothing where it has none."""
    for node in script.all(ast.Import) + script.all(ast.ImportFrom):
        for alias in node.names:
            name = alias.asname or alias.name
            path = imported(script, name)
            if path in ("keras", "tensorflow.keras"):
                return name
            if path == "tensorflow":
                return f"{name}.keras"
    return ""


def keras_import(script: Script) -> tuple[str, tuple[Edit, ...]]:
    """Return the name of Keras in a file, and the edits that import it where only parts of it are.

    The name is empty where the file has no part of Keras, or means something else by `keras`.
    """
    name = keras_name(script)
    if name:
        return name, ()
    modules = [n.module or "" for n in script.all(ast.ImportFrom) if not n.level]
    modules += [alias.name for n in script.all(ast.Import) for alias in n.names]
    if bindings(script, "keras") or loads(script, "keras"):
        return "", ()
    if any(f"{module}.".startswith("tensorflow.keras.") for module in modules):
        return script.from_import("tensorflow", "keras")
    is_known = any(f"{module}.".startswith("keras.") for module in modules)
    return script.import_of("keras") if is_known else ("", ())


def results_of(
    script: Script,
    statement: ast.stmt,
    call: ast.Call,
    scripts: Sequence[Script],
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
    read = tuple(name for name in names if is_read_after(script, name, [statement, *tail]))
    if not is_exact and not all(_is_printed(script, name, tail) for name in read):
        return None
    keys = () if is_dict and len(names) == 1 else metric_keys(scripts)[: len(names)]
    is_known = bool(keys) and len(keys) == len(metric_keys(scripts)) == len(names)
    used = read or set(names) & reads(*tail)
    return Results(names, keys, read, statement) if is_dict or is_known or not used else None


def unnamed_loss(
    script: Script, statement: ast.stmt, call: ast.Call, scripts: Sequence[Script]
) -> Results | None:
    """Return the result of a call that is collected without a name, where it is the loss alone."""
    around = script.parent(call)
    is_added = isinstance(statement, ast.AugAssign) and statement.value is call
    is_kept = isinstance(around, ast.Call) and around is getattr(statement, "value", None)
    is_kept = is_kept and isinstance(around, ast.Call) and around.args == [call]
    if call.keywords or not (is_added or is_kept) or metric_keys(scripts) != ("loss",):
        return None
    return Results((), ("loss",), (), statement)


def metric_keys(scripts: Sequence[Script]) -> tuple[str, ...]:
    """Return the names of the loss and the metrics, in order; nothing where they are unclear."""
    calls = [c for s in scripts for c in s.all(ast.Call) if _is_compile(c)]
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


def _is_printed(script: Script, name: str, tail: Sequence[ast.stmt]) -> bool:
    """Tell whether a name is read in prints only, but for some statements."""
    inside = {node for statement in tail for node in ast.walk(statement)}
    for node in ast.walk(script.tree):
        if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store):
            continue
        if node in inside:
            continue
        around = script.statement(node)
        value = around.value if isinstance(around, ast.Expr) else None
        if not isinstance(value, ast.Call) or dotted(value.func) != "print":
            return False
    return True
