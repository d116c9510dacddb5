"""Follows the statements that fill a batch: lists appended to, arrays made beforehand."""

from __future__ import annotations

import ast

from quickfit.fixes.image_expressions import Env
from quickfit.fixes.image_reading import Reading
from quickfit.fixes.image_values import (
    Blank,
    Empty,
    Item,
    Many,
    NotRecognisedError,
    Picture,
    Place,
    Start,
    Value,
    Window,
    assignment,
    code,
    number,
    parsed_expression,
)


class Filling:
    """Follows statements of a batch or of an item."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.facts = reading.facts
        reading.step = self.step

    def step(self, statement: ast.stmt, env: Env) -> None:
        """Follow one statement of a batch or of an item."""
        if isinstance(statement, ast.For):
            self._inner(statement, env)
        elif isinstance(statement, ast.With):
            self.reading.opened_with(statement, env)
            for inside in statement.body:
                self.step(inside, env)
        elif self._appends(statement, env):
            return
        elif not self._fills(statement, env) and not self._empties(statement, env):
            self.reading.run([statement], env)
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if target is not None and _is_of_batch(env.get(code(target))):
                self.facts.batch_lines.add(statement.lineno)

    def _inner(self, loop: ast.For, env: Env) -> None:
        """Follow a loop over the items of a batch."""
        many = self.reading.looped(loop.iter, env)
        if not many.is_batch or loop.orelse:
            raise NotRecognisedError
        before = set(env)
        self.reading.bind(loop.target, many.item, env)
        was, self.reading.in_item = self.reading.in_item, True
        for statement in loop.body:
            self.step(statement, env)
        self.reading.in_item = was
        for name in set(env) - before:
            del env[name]  # what the last item left behind

    def _appends(self, statement: ast.stmt, env: Env) -> bool:
        """Take `images.append(image)`, once for every list."""
        found = _appended(statement)
        if found is None:
            return False
        name = code(found[0])
        if isinstance(statement, ast.AugAssign) and name not in env:
            return False
        # What is appended behind the loop over items is no item.
        if not isinstance(env.get(name), Empty) or not self.reading.in_item:
            raise NotRecognisedError
        env[name] = Many(self.reading.value(found[1], env), is_batch=True)
        return True

    def _fills(self, statement: ast.stmt, env: Env) -> bool:
        """Take `batch[i] = image`."""
        given = assignment(statement)
        target = given[0] if given is not None else None
        if given is None or not isinstance(target, ast.Subscript):
            return False
        name, blank, is_channel = code(target.value), env.get(code(target.value)), False
        first = target.slice
        if isinstance(first, ast.Tuple) and first.elts:
            parts = [code(e) for e in first.elts[1:]]
            is_channel = parts in ([":", ":", "0"], ["...", "0"])
            if not is_channel and any(part not in (":", "...") for part in parts):
                raise NotRecognisedError
            first = first.elts[0]
        if not isinstance(blank, Blank) or not isinstance(self.reading.value(first, env), Place):
            raise NotRecognisedError
        value = self.reading.value(given[1], env)
        if is_channel:
            if not isinstance(value, Picture) or number(blank.last) != 1:
                raise NotRecognisedError
            value = self.reading.pictures.with_channel(value)
        env[name] = self._filled(blank, value, statement.lineno)
        return True

    def _filled(self, blank: Blank, value: Value, line: int) -> Many:
        if not isinstance(blank.length, ast.Constant) and not self.facts.drops:
            raise NotRecognisedError  # an incomplete batch would have empty rows
        if isinstance(value, Picture):
            rank = 3 if value.is_flat else 4
            dtype = self.reading.pictures.dtype(parsed_expression(blank.dtype))
            value = self.reading.pictures.array(value, None, line)
            if blank.rank != rank:
                raise NotRecognisedError
            value = self.reading.pictures.cast(value, dtype, line)
            return Many(value, is_batch=True, is_array=True)
        if not isinstance(value, Item) or blank.rank != 1:
            raise NotRecognisedError
        wrap = f"np.array({{}}, dtype={blank.dtype})"
        if self.reading.names.imports.get("np") != "numpy":
            raise NotRecognisedError
        return Many(value, is_batch=True, wraps=(wrap,), is_array=True)

    def _empties(self, statement: ast.stmt, env: Env) -> bool:
        """Take `images, labels = [], []`."""
        given = assignment(statement)
        if given is None:
            return False
        target, value = given
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) else [value]
        if len(targets) != len(values) or not all(isinstance(t, ast.Name) for t in targets):
            return False
        if not all(code(v) in ("[]", "list()") for v in values):
            return False
        env.update({code(t): Empty() for t in targets})
        return True


def _appended(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return the list and the value of `list.append(value)` or `list += [value]`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        value = statement.value
        if isinstance(value, ast.List) and len(value.elts) == 1:
            return statement.target, value.elts[0]
        return None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr != "append" or len(call.args) != 1 or call.keywords:
        return None
    return call.func.value, call.args[0]


def _is_of_batch(value: Value | None) -> bool:
    """Tell whether a value says which items a batch has."""
    if isinstance(value, Many):
        return value.is_batch and isinstance(value.item, Item) and not value.wraps
    return isinstance(value, Start | Window)
