"""Follows calls of the user's own functions, and what is done to a picture under a condition."""

from __future__ import annotations

import ast
from collections.abc import Callable

from quickfit.causes._shared.image_pipeline.expressions import Env, Expressions
from quickfit.causes._shared.image_pipeline.pictures import FLIP, RANDOM_FLIP, check_names
from quickfit.causes._shared.image_pipeline.values import (
    Item,
    Line,
    Many,
    Names,
    NotRecognisedError,
    Picture,
    Plain,
    Value,
    code,
    number,
)
from quickfit.code.syntax import Def, parameter_names

# Calls that give a number from 0 to 1, each as likely.
_UNIFORM = {"random.random", "numpy.random.rand", "numpy.random.random", "numpy.random.uniform"}
_UNIFORM |= {"numpy.random.random_sample", "random.uniform"}
# Calls that give 0 or 1.
_BITS = {"random.getrandbits(1)", "random.randint(0, 1)", "numpy.random.randint(2)"}
_BITS |= {"numpy.random.randint(0, 2)", "random.choice([True, False])", "random.randrange(2)"}
_BITS |= {"random.choice([0, 1])", "random.choice((True, False))", "random.choice([False, True])"}


def is_coin(node: ast.expr, names: Names) -> bool:
    """Tell whether a test is true by chance, as often as not."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        operator, right = node.ops[0], number(node.comparators[0])
        if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            return right == 0.5 and _is_uniform(node.left, names)
        is_one = isinstance(operator, ast.Eq) and right in (0, 1)
        return is_one and _is_bit(node.left, names)
    return _is_bit(node, names)


def _is_uniform(node: ast.expr, names: Names) -> bool:
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    name = names.qualified(node.func)
    ends = [number(a) for a in node.args]
    if name.endswith(".uniform"):
        return name in _UNIFORM and ends in ([0, 1], [] if name.startswith("numpy") else [0, 1])
    is_generator = _is_generator(node.func) and name.endswith(".random")
    return (name in _UNIFORM or is_generator) and not ends


def _is_bit(node: ast.expr, names: Names) -> bool:
    if not isinstance(node, ast.Call):
        return False
    arguments = ", ".join(code(a) for a in (*node.args, *node.keywords))
    text = f"{names.qualified(node.func)}({arguments})"
    is_generator = _is_generator(node.func) and text.endswith((".integers(2)", ".integers(0, 2)"))
    return text in _BITS or is_generator


def _is_generator(node: ast.expr) -> bool:
    """Tell whether a method is one of something that is named as a source of chance."""
    return isinstance(node, ast.Attribute) and code(node.value).endswith("rng")


class Chances(Expressions):
    """Follows conditions."""

    def choose(self, statement: ast.If, env: Env) -> None:
        """Follow a change of one picture that is made under a condition."""
        if statement.orelse:
            raise NotRecognisedError
        inner = dict(env)
        self.run(statement.body, inner)
        changed = [name for name in inner if inner[name] is not env.get(name)]
        if len(changed) != 1:
            raise NotRecognisedError
        before, after = env.get(changed[0]), inner[changed[0]]
        env[changed[0]] = self._under(statement.test, before, after, env)

    def _either(self, node: ast.IfExp, env: Env) -> Value | None:
        """Return what `changed if condition else picture` gives."""
        before, after = self._quiet(node.orelse, env), self._quiet(node.body, env)
        if not isinstance(before, Picture) and not isinstance(after, Picture):
            return None
        return self._under(node.test, before, after, env)

    def _quiet(self, node: ast.expr, env: Env) -> Value | None:
        try:
            return self.value(node, env)
        except NotRecognisedError:
            return None

    def _under(
        self, test: ast.expr, before: Value | None, after: Value | None, env: Env
    ) -> Picture:
        """Return a picture that is changed only where a test is true."""
        if not isinstance(before, Picture) or not isinstance(after, Picture):
            raise NotRecognisedError
        if self._asks_for_mode(test, env) and after == self.pictures.converted(before, "RGB", 0):
            return after  # pictures of that mode stay the same
        same = len(before.lines)
        added = after.lines[same:]
        if (
            after.lines[:same] != before.lines
            or after.to(lines=before.lines) != before
            or not added
        ):
            raise NotRecognisedError
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        if isinstance(test, ast.BoolOp) and not isinstance(test.op, ast.And):
            raise NotRecognisedError
        coins = [part for part in parts if is_coin(part, self.names)]
        flags = [part for part in parts if part not in coins]
        if coins:
            added = (self._tossed(coins, added),)
        return before.to(lines=(*before.lines, *self._flagged(flags, added, env)))

    def _asks_for_mode(self, test: ast.expr, env: Env) -> bool:
        """Tell whether a test is `image.mode != "RGB"`."""
        left = test.left if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
        if not isinstance(left, ast.Attribute) or left.attr != "mode":
            return False
        picture = self._quiet(left.value, env)
        return isinstance(picture, Picture) and code(test).endswith(".mode != 'RGB'")

    def _tossed(self, coins: list[ast.expr], added: tuple[Line, ...]) -> Line:
        """Return the line that flips a picture by chance."""
        if len(coins) != 1 or len(added) != 1 or FLIP not in added[0].text:
            raise NotRecognisedError
        self.facts.is_random = True
        return Line(added[0].text.replace(FLIP, RANDOM_FLIP), added[0].origin)

    def _flagged(
        self, flags: list[ast.expr], added: tuple[Line, ...], env: Env
    ) -> tuple[Line, ...]:
        """Return lines under the conditions that are the same for all pictures."""
        tests = []
        for flag in flags:
            found = self.value(flag, env)
            if not isinstance(found, Plain) or any(isinstance(n, ast.Call) for n in ast.walk(flag)):
                raise NotRecognisedError
            check_names(found.node)
            tests.append(code(found.node))
        if not tests:
            return added
        head = Line(f"if {' and '.join(tests)}:", added[0].origin)
        return head, *(Line(f"    {line.text}", line.origin) for line in added)


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

    def _arguments(self, function: Def, node: ast.Call, env: Env) -> Env:
        given = function.args
        static = [code(d) for d in function.decorator_list] == ["staticmethod"]
        if given.vararg or given.kwarg or (function.decorator_list and not static):
            raise NotRecognisedError
        names = parameter_names(function)
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


def free_names(function: Def) -> set[str]:
    """Return the names that a function has from outside."""
    names = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    own = {n.id for n in names if isinstance(n.ctx, ast.Store)} | set(parameter_names(function))
    return {n.id for n in names} - own
