"""Follows calls of the user's own functions, which are read as if they stood at the call."""

from __future__ import annotations

import ast
from collections.abc import Callable

from quickfit.fixes.image_chance import Chances
from quickfit.fixes.image_expressions import Env
from quickfit.fixes.image_names import parameters
from quickfit.fixes.image_values import (
    Item,
    Many,
    NotRecognisedError,
    Picture,
    Plain,
    Value,
    code,
)
from quickfit.fixes.script import Function


class Functions(Chances):
    """Follows functions of the same file and methods of the same class."""

    # What follows a statement of a batch, such as a loop over its items.
    step: Callable[[ast.stmt, Env], None] | None = None

    def _of_user(self, node: ast.Call, env: Env) -> Value | None:
        """Return what a function of the same file gives for its arguments."""
        function, values = None, [self._quiet(a, env) for a in node.args]
        if isinstance(node.func, ast.Name):
            function = self.names.function(node.func.id)
        elif isinstance(node.func, ast.Attribute) and code(node.func.value) == "self":
            function = self.methods.get(node.func.attr)
        if function is None or not any(isinstance(v, Item | Picture | Many) for v in values):
            return None
        if any(value is None for value in values) or self._depth > 3:
            raise NotRecognisedError
        is_method = isinstance(node.func, ast.Attribute)
        if not is_method and self.taken & free_names(function):
            raise NotRecognisedError  # they mean something else where the code will stand
        self._depth += 1
        inner = self._arguments(function, node, env)
        found = self.returned(function.body, inner)
        self._depth -= 1
        return found

    def _arguments(self, function: Function, node: ast.Call, env: Env) -> Env:
        given = function.args
        static = [code(d) for d in function.decorator_list] == ["staticmethod"]
        if given.vararg or given.kwarg or (function.decorator_list and not static):
            raise NotRecognisedError
        names = parameters(function)
        is_method = isinstance(node.func, ast.Attribute) and not static
        names = names[1:] if is_method else names
        defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
        inner: Env = {k: v for k, v in env.items() if "." in k}
        inner |= {name: Plain(default) for name, default in defaults.items()}
        inner |= {n: self.value(a, env) for n, a in zip(names, node.args, strict=False)}
        inner |= {k.arg: self.value(k.value, env) for k in node.keywords if k.arg}
        if set(names) - set(inner):
            raise NotRecognisedError
        return inner

    def returned(self, body: list[ast.stmt], env: Env) -> Value:
        """Return what straight code returns, its names bound on the way."""
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self.value(statement.value, env)
            if isinstance(statement, ast.With):
                self.opened_with(statement, env)
                if any(isinstance(n, ast.Return) for n in ast.walk(statement)):
                    return self.returned(statement.body, env)
                self.run(statement.body, env)
            elif self.step is None or self.in_item:
                self.run([statement], env)
            else:  # a function that makes a batch
                self.step(statement, env)
        raise NotRecognisedError

    def opened_with(self, statement: ast.With, env: Env) -> None:
        """Bind the name of `with Image.open(path) as name`."""
        for item in statement.items:
            value = self.value(item.context_expr, env)
            if not isinstance(value, Picture) or not isinstance(item.optional_vars, ast.Name):
                raise NotRecognisedError
            env[item.optional_vars.id] = value


def free_names(function: Function) -> set[str]:
    """Return the names that a function has from outside."""
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    own = {n.id for n in names if isinstance(n.ctx, ast.Store)} | set(parameters(function))
    return {n.id for n in names} - own
