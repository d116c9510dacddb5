"""Follows a generator over image files, and says what it gives: items, batches, epochs."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from quickfit.fixes.image_expressions import Env
from quickfit.fixes.image_filling import Filling
from quickfit.fixes.image_reading import Reading
from quickfit.fixes.image_values import (
    INDEX,
    Blank,
    Empty,
    Group,
    Item,
    Many,
    NotRecognisedError,
    Plain,
    Value,
    code,
    same,
)

_SHUFFLES = ("random.shuffle", "numpy.random.shuffle")


@dataclass
class Plan:
    """What a generator gives.

    Args:
        prelude: statements that stay as they are, in front of the pipeline.
        given: what one item gives: a picture and what belongs to it.
        batch_size: the code of the batch size; None where single items are given.
        drops: whether an incomplete batch is left out.
        is_endless: whether it begins again and again.
        carries: whether the rest of one round goes into the first batch of the next.
        shuffles: the conditions of the shuffles of each round, with their lines.
        origins: the lines of the loops and of the `yield`.
    """

    prelude: list[ast.stmt] = field(default_factory=list)
    given: tuple[Value, ...] = ()
    batch_size: ast.expr | None = None
    drops: bool = False
    is_endless: bool = False
    carries: bool = False
    shuffles: list[tuple[str, int]] = field(default_factory=list)
    origins: dict[str, int] = field(default_factory=dict)


class Batches(Filling):
    """Follows the statements of a generator."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self.plan = Plan()
        self._carried: set[str] = set()
        self._lists: set[str] = set()
        self._given: ast.expr | None = None

    def followed(self, body: list[ast.stmt]) -> Plan:
        """Return what the body of a generator gives."""
        env: Env = {}
        at = next((i for i, s in enumerate(body) if isinstance(s, ast.For | ast.While)), None)
        if at is None:
            raise NotRecognisedError
        for statement in body[:at]:
            self._before(statement, env)
        loop = body[at]
        if isinstance(loop, ast.While):
            if code(loop.test) not in ("True", "1") or loop.orelse or body[at + 1 :]:
                raise NotRecognisedError
            self.plan.is_endless = True
            self.plan.origins["repeat"] = loop.lineno
            self._carried = {k for k, v in env.items() if isinstance(v, Empty)}
            self._epoch(loop.body, env)
        else:
            self._epoch(body[at:], env)
        return self._finished()

    def epoch_end(self, body: list[ast.stmt], env: Env) -> None:
        """Follow what a PyDataset does between two rounds: it makes a new order."""
        for statement in body:
            if not self._shuffles(statement, env):
                before = len(self.plan.prelude)
                self._of_epoch(statement, env)
                if len(self.plan.prelude) != before:
                    raise NotRecognisedError

    def returned(self, body: list[ast.stmt], env: Env) -> Plan:
        """Return what the body of `__getitem__` gives for one batch."""
        *before, last = body
        if not isinstance(last, ast.Return) or last.value is None:
            raise NotRecognisedError
        self.plan.origins["batch"] = body[0].lineno
        for statement in before:
            self.step(statement, env)
        self._gives(last.value, env, last.lineno, is_batch=True)
        self.plan.batch_size = self.facts.batch_size
        return self._finished()

    def _finished(self) -> Plan:
        plan = self.plan
        if not plan.given:
            raise NotRecognisedError
        plan.shuffles = self.facts.shuffles
        if plan.batch_size is not None and not plan.carries:
            if self.facts.drops is None:
                raise NotRecognisedError
            plan.drops = self.facts.drops
        return plan

    def _before(self, statement: ast.stmt, env: Env) -> None:
        """Take a statement in front of the loops: a list to be filled, or one that stays."""
        if self._empties(statement, env):
            return
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Assert):
            raise NotRecognisedError
        if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(statement)):
            raise NotRecognisedError
        self.plan.prelude.append(statement)
        numbers = self.reading.all_numbers
        numbers -= {code(n) for n in ast.walk(statement) if isinstance(n, ast.Name)}
        if isinstance(statement, ast.Assign) and self.reading.batching.is_all(statement.value):
            numbers |= {code(target) for target in statement.targets}

    # -- one round --------------------------------------------------------------------------

    def _epoch(self, body: list[ast.stmt], env: Env) -> None:
        """Follow the statements of one round over all items."""
        for statement in body:
            if isinstance(statement, ast.For):
                if self.plan.given:
                    raise NotRecognisedError
                self._loop(statement, env)
            elif self.plan.given and isinstance(statement, ast.If) and self._flushes(statement):
                self.facts.drops = False
            elif not self._shuffles(statement, env):
                self._of_epoch(statement, env)

    def _of_epoch(self, statement: ast.stmt, env: Env) -> None:
        if self.plan.given:
            raise NotRecognisedError
        if self._empties(statement, env):
            names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
            self._carried -= names
            return
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise NotRecognisedError
        value = self.reading.value(statement.value, env)
        if isinstance(value, Plain):  # such as the number of items: the same in every round
            if not isinstance(statement.targets[0], ast.Name):
                raise NotRecognisedError
            self.plan.prelude.append(statement)
            return
        self.reading.bind(statement.targets[0], value, env)

    def _shuffles(self, statement: ast.stmt, env: Env, condition: str = "") -> bool:
        """Take a shuffle in place, also one under a condition that is always the same."""
        if isinstance(statement, ast.If) and not statement.orelse and len(statement.body) == 1:
            if any(isinstance(n, ast.Yield | ast.Call) for n in ast.walk(statement.test)):
                return False
            self.reading.value(statement.test, env)
            return self._shuffles(statement.body[0], env, code(statement.test))
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
            return False
        name = self.reading.names.qualified(call.func)
        is_generator = isinstance(call.func, ast.Attribute) and "rng" in code(call.func.value)
        if name not in _SHUFFLES and not (name.endswith(".shuffle") and is_generator):
            return False
        many = self.reading.many(self.reading.value(call.args[0], env))
        tag = f"line {call.lineno}"
        env[code(call.args[0])] = Many(_tagged(many.item, tag), is_array=many.is_array)
        self.facts.shuffled[code(call.args[0])] = tag
        self.facts.shuffles.append((condition, call.lineno))
        return True

    def _loop(self, loop: ast.For, env: Env) -> None:
        """Follow the loop over batches or over items that gives them."""
        if loop.orelse:
            raise NotRecognisedError
        self.plan.origins["batch"] = loop.lineno
        self.facts.lists |= {
            k: v.item for k, v in env.items() if isinstance(v, Many) and not v.is_batch
        }
        numbers = Item(ast.Name(INDEX, ast.Load()))
        self.facts.lists |= dict.fromkeys(self.reading.all_numbers, numbers)
        start = self.reading.batching.loop(loop.iter)
        inner: Env = {k: v for k, v in env.items() if not isinstance(v, Blank)}
        if start is not None:
            # A list that is filled for one batch must be made for that batch.
            inner = {k: v for k, v in inner.items() if not isinstance(v, Empty)}
            self.reading.bind(loop.target, start, inner)
            self.plan.batch_size = self.facts.batch_size
            self._batch(loop.body, inner)
            self.plan.batch_size = self.facts.batch_size
            return
        many = self.reading.looped(loop.iter, inner)
        if many.is_batch:
            raise NotRecognisedError
        self.reading.bind(loop.target, many.item, inner)
        self._items(loop.body, inner)

    # -- loops over batches -----------------------------------------------------------------

    def _batch(self, body: list[ast.stmt], env: Env) -> None:
        for at, statement in enumerate(body):
            given = _yielded(statement)
            if given is not None:
                if body[at + 1 :]:
                    raise NotRecognisedError
                self._gives(given, env, statement.lineno, is_batch=True)
                return
            self.step(statement, env)
        raise NotRecognisedError

    # -- loops over items -------------------------------------------------------------------

    def _items(self, body: list[ast.stmt], env: Env) -> None:
        for at, statement in enumerate(body):
            given = _yielded(statement)
            if given is not None:
                if body[at + 1 :]:
                    raise NotRecognisedError
                self._gives(given, env, statement.lineno, is_batch=False)
                return
            if isinstance(statement, ast.If):
                if body[at + 1 :] or not self._full(statement, env):
                    raise NotRecognisedError
                return
            self.step(statement, env)
        raise NotRecognisedError

    def _full(self, statement: ast.If, env: Env) -> bool:
        """Take `if len(images) == batch_size: yield ...`, and that the lists begin anew."""
        test = statement.test
        if statement.orelse or not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        size, left = test.comparators[0], test.left
        if not isinstance(test.ops[0], ast.Eq | ast.GtE) or not isinstance(left, ast.Call):
            return False
        if code(left.func) != "len" or not isinstance(self.reading.value(size, env), Plain):
            return False
        filled = {
            k for k, v in env.items() if isinstance(v, Many) and v.is_batch and not v.is_array
        }
        if code(left.args[0]) not in filled:
            return False
        first, *rest = statement.body
        given = _yielded(first)
        while given is None and rest and isinstance(first, ast.Assign):
            self.step(first, env)
            first, *rest = rest
            given = _yielded(first)
        if given is None:
            return False
        self.facts.batch_size = self.plan.batch_size = size
        self._gives(given, env, first.lineno, is_batch=True)
        anew: Env = {}
        for statement_after in rest:
            if not (self._empties(statement_after, anew) or _clears(statement_after, anew)):
                return False
        if set(anew) != filled:
            return False
        self.plan.carries = bool(self._carried & filled)
        if self._carried & filled and not filled <= self._carried:
            return False
        if self.facts.drops is None:
            self.facts.drops = True
        return True

    def _flushes(self, statement: ast.If) -> bool:
        """Tell whether a statement behind the loop gives the incomplete batch."""
        if statement.orelse or not statement.body or self.plan.carries:
            raise NotRecognisedError
        given = _yielded(statement.body[0])
        tests = {test for name in self._lists for test in _tests(name)}
        if given is None or len(statement.body) != 1 or code(statement.test) not in tests:
            raise NotRecognisedError
        if not same(given, self._given):
            raise NotRecognisedError
        return True

    def _gives(self, node: ast.expr, env: Env, line: int, *, is_batch: bool) -> None:
        """Take what is given to the model."""
        value = self.reading.value(node, env)
        values = value.values if isinstance(value, Group) else (value,)
        if is_batch and not all(isinstance(v, Many) and v.is_batch for v in values):
            raise NotRecognisedError
        if is_batch and not all(isinstance(v, Many) and v.is_array for v in values):
            raise NotRecognisedError
        self._lists = {
            k for k, v in env.items() if isinstance(v, Many) and v.is_batch and not v.is_array
        }
        self._given = node
        self.plan.given = values
        self.plan.origins["yield"] = line


def _tests(name: str) -> tuple[str, ...]:
    """Return how one asks whether a list has something in it."""
    return name, f"len({name})", f"len({name}) > 0", f"len({name}) != 0"


def _tagged(value: Value, tag: str) -> Value:
    if isinstance(value, Item):
        return Item(value.node, value.orders | {tag})
    if isinstance(value, Group):
        return Group(tuple(_tagged(v, tag) for v in value.values))
    raise NotRecognisedError


def _yielded(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement gives."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
        return statement.value.value
    return None


def _clears(statement: ast.stmt, env: Env) -> bool:
    """Take `images.clear()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    env[code(call.func.value)] = Empty()
    return call.func.attr == "clear"
