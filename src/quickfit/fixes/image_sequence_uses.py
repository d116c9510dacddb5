"""Finds where a PyDataset is made and what it is used for."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from quickfit.fixes.change import Edit
from quickfit.fixes.image_plan import Plan
from quickfit.fixes.image_values import NotRecognisedError, code
from quickfit.fixes.script import Function, Project, Script

# What Keras asks a PyDataset for; a dataset has its own threads.
_OF_KERAS = {"workers", "use_multiprocessing", "max_queue_size"}


@dataclass
class Instance:
    """A call that makes the PyDataset, and whether `fit` trains on it."""

    script: Script
    call: ast.Call
    is_trained_on: bool
    keeps_order: bool

    def edits(self, function: str, batch_order: str) -> list[Edit]:
        """Return the edits that call the function instead."""
        call = self.call
        kept = [k for k in call.keywords if k.arg not in _OF_KERAS]
        if any(k.arg is None for k in call.keywords):
            raise NotRecognisedError
        if len(kept) == len(call.keywords) and not (batch_order and self.is_trained_on):
            return [self.script.replace(call.func, self._name(function))]
        arguments = [self.script.code(a) for a in call.args]
        arguments += [f"{k.arg}={self.script.code(k.value)}" for k in kept]
        if batch_order == "shuffle" and self.is_trained_on and not self.keeps_order:
            arguments.append("shuffle=True")
        statement = self.script.statement(call)
        if self.script.has_comment(statement, statement):
            raise NotRecognisedError
        return [self.script.replace(call, f"{self._name(function)}({', '.join(arguments)})")]

    def _name(self, function: str) -> str:
        func = self.call.func
        return f"{code(func.value)}.{function}" if isinstance(func, ast.Attribute) else function


def instances(project: Project, name: str) -> list[Instance]:
    """Return the calls that make a PyDataset."""
    found = []
    for file in project.files:
        script = project.script(file)
        for node in ast.walk(script.tree) if script else ():
            is_it = isinstance(node, ast.Name) and node.id == name
            is_it = is_it or (isinstance(node, ast.Attribute) and node.attr == name)
            if isinstance(node, ast.alias) and node.name == name and node.asname:
                raise NotRecognisedError
            if not is_it or script is None:
                continue
            if _is_super(script, node):
                continue
            call = script.parent(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                raise NotRecognisedError
            found.append(_instance(script, call))
    if not any(use.is_trained_on for use in found):
        raise NotRecognisedError
    return found


def _is_super(script: Script, node: ast.AST) -> bool:
    """Tell whether a class is named in `super(Name, self)`."""
    parent = script.parent(node)
    return isinstance(parent, ast.Call) and code(parent.func) == "super"


def _instance(script: Script, call: ast.Call) -> Instance:
    parent = script.parent(call)
    values: list[ast.expr] = [call]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if not isinstance(target, ast.Name) or parent.value is not call:
            raise NotRecognisedError
        scope = script.around(parent, ast.FunctionDef) or script.tree
        names = [n for n in script.all(ast.Name, scope) if n.id == target.id and n is not target]
        if any(not isinstance(n.ctx, ast.Load) for n in names) or not names:
            raise NotRecognisedError
        values = list(names)
    trained, orders = False, []
    for value in values:
        role, keeps = _role(script, value)
        trained = trained or role == "x"
        orders += [keeps] if role == "x" else []
    if len(set(orders)) > 1:
        raise NotRecognisedError
    return Instance(script, call, trained, bool(orders) and orders[0])


def _role(script: Script, value: ast.expr) -> tuple[str, bool]:
    """Return what a PyDataset is used for, and whether `fit` keeps the order of batches."""
    parent = script.parent(value)
    if isinstance(parent, ast.Call) and code(parent.func) == "len":
        return "len", False
    call, keyword = parent, ""
    if isinstance(parent, ast.keyword):
        keyword, call = parent.arg or "", script.parent(parent)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        raise NotRecognisedError
    named = {k.arg: k.value for k in call.keywords}
    is_first = bool(call.args) and call.args[0] is value
    if call.func.attr in ("evaluate", "predict") and (is_first or keyword == "x"):
        return "evaluated", False
    if call.func.attr != "fit" or None in named or "steps_per_epoch" in named:
        raise NotRecognisedError
    if keyword == "validation_data":
        return "evaluated", False
    if not (is_first or keyword == "x"):
        raise NotRecognisedError
    return "x", code(named["shuffle"]) == "False" if "shuffle" in named else False


def batch_order(made_at: list[Instance], plan: Plan, init: Function) -> str:
    """Return whether Keras shuffles whole batches: never, always or for some instances."""
    conditions = {condition for condition, _ in plan.shuffles}
    if conditions:
        for use in made_at:
            if use.is_trained_on and not use.keeps_order:
                _check_shuffled(use.call, init, conditions)
        return ""  # single pictures are shuffled, which does more
    trained = [use for use in made_at if use.is_trained_on and not use.keeps_order]
    if not trained:
        return ""
    return "always" if len(trained) == len(made_at) else "shuffle"


def _check_shuffled(call: ast.Call, init: Function, conditions: set[str]) -> None:
    """Make sure that the PyDataset trained on shuffles: else Keras shuffles its batches."""
    names = [a.arg for a in init.args.args][1:]
    defaults = dict(zip(reversed(names), reversed(init.args.defaults), strict=False))
    given = {**defaults, **dict(zip(names, call.args, strict=False))}
    given |= {k.arg: k.value for k in call.keywords if k.arg}
    for condition in conditions - {""}:
        name = re.sub(r"\s*(==|is) True$", "", condition)
        if name not in given or code(given[name]) != "True":
            raise NotRecognisedError


def function_name(project: Project, name: str) -> str:
    """Return a name for the function that takes the place of a class."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    texts = [project.script(file) for file in project.files]
    taken = {n.id for s in texts if s for n in s.all(ast.Name)}
    taken |= {a.arg for s in texts if s for a in s.all(ast.arg)}
    taken |= {f.name for s in texts if s for f in s.all(ast.FunctionDef)}
    for candidate in (snake, f"{snake}_dataset"):
        if candidate not in taken:
            return candidate
    raise NotRecognisedError


def imports(project: Project, name: str, function: str) -> list[Edit]:
    """Return the edits of the imports of a class, in all files."""
    edits = []
    for file in project.files:
        script = project.script(file)
        for node in script.all(ast.ImportFrom) if script else ():
            for alias in node.names:
                if alias.name == name and script is not None:
                    begin = (alias.lineno, alias.col_offset)
                    end = (alias.lineno, alias.col_offset + len(name))
                    edits.append(Edit(script.file, begin, end, function))
    return edits
