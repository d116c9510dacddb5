"""Follows a generator over image files: what it gives, and how it fills its batches."""

from __future__ import annotations

import ast

from quickfit.causes._shared.image_pipeline import loops
from quickfit.causes._shared.image_pipeline.calls import Reading
from quickfit.causes._shared.image_pipeline.expressions import Env
from quickfit.causes._shared.image_pipeline.values import (
    INDEX,
    Blank,
    Empty,
    Group,
    Item,
    Many,
    NotRecognisedError,
    Picture,
    Place,
    Plain,
    Plan,
    Start,
    Value,
    Window,
    assignment,
    code,
    number,
    same,
)
from quickfit.code.syntax import parse_expression


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
            dtype = self.reading.pictures.dtype(parse_expression(blank.dtype))
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


_SOURCES = ("default_rng", "RandomState", "Random")
_SHUFFLES = ("random.shuffle", "numpy.random.shuffle")


class Batches(Filling):
    """Follows the statements of a generator."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading)
        self.plan = Plan()
        self._carried: set[str] = set()
        self._lists: set[str] = set()
        self._given: ast.expr | None = None
        # Whether the whole generator runs again for every round.
        self.is_rerun = False

    def followed(self, body: list[ast.stmt]) -> Plan:
        """Return what the body of a generator gives."""
        env: Env = {}
        at = loops.first_loop(body)
        loop = body[at]
        self.plan.is_endless = isinstance(loop, ast.While)
        kept = loops.filled(body[:at])
        for statement in body[:at]:
            self._before(statement, env, kept)
        if isinstance(loop, ast.While):
            if code(loop.test) not in ("True", "1") or loop.orelse or body[at + 1 :]:
                raise NotRecognisedError
            self.plan.origins["repeat"] = loop.lineno
            self._carried = {k for k, v in env.items() if isinstance(v, Empty)}
            self._forever(loop, env)
        else:
            self._epoch(body[at:], env)
        return self._finished()

    def _forever(self, loop: ast.While, env: Env) -> None:
        """Follow a loop without end: over rounds, or over batches that are drawn by chance."""
        if not any(_yielded(statement) is not None for statement in loop.body):
            self._epoch(loop.body, env)
            return
        self.reading.batching.draws = True
        self.plan.origins["batch"] = loop.lineno
        inner: Env = {k: v for k, v in env.items() if not isinstance(v, Blank | Empty)}
        has_loop = any(
            isinstance(n, ast.For | ast.ListComp) for s in loop.body for n in ast.walk(s)
        )
        if not has_loop:
            self.reading.in_item = True
            self._items(loop.body, inner)
            return
        self._batch(loop.body, inner)
        self.plan.batch_size = self.facts.batch_size

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
        if (self.facts.drawn is not None) != self.reading.batching.draws:
            raise NotRecognisedError
        if self.reading.batching.draws:
            if plan.shuffles or self.facts.drops is not None:
                raise NotRecognisedError
            return plan
        if plan.batch_size is not None and not plan.carries:
            if self.facts.drops is None:
                raise NotRecognisedError
            plan.drops = self.facts.drops
        return plan

    def _before(self, statement: ast.stmt, env: Env, kept: set[str]) -> None:
        """Take a statement in front of the loops: a list to be filled, or one that stays."""
        made: Env = {}
        if self._empties(statement, made) and not set(made) & kept:
            env.update(made)
            return
        loops.check_kept(statement)
        is_harmless = loops.is_harmless(statement, loops.stored([*self.plan.prelude, statement]))
        if self.is_rerun and not is_harmless:
            # It runs in every round, as if it stood in a loop over rounds.
            if self.plan.is_endless:
                raise NotRecognisedError
            if not self._shuffles(statement, env):
                self._of_epoch(statement, env)
            return
        self.facts.is_random = self.facts.is_random or not is_harmless
        self.plan.prelude.append(statement)
        numbers = self.reading.all_numbers
        numbers -= loops.stored([statement])
        numbers -= {code(n) for n in ast.walk(statement) if isinstance(n, ast.Name)} & numbers
        given = assignment(statement)
        if given is not None and self.reading.batching.is_all(given[1]):
            numbers.add(code(given[0]))

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
        given = assignment(statement)
        if given is None:
            raise NotRecognisedError
        value = self.reading.value(given[1], env)
        if isinstance(value, Plain):  # such as the number of items: the same in every round
            if not isinstance(given[0], ast.Name):
                raise NotRecognisedError
            self.plan.prelude.append(statement)
            return
        self.reading.bind(given[0], value, env)

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
        if name not in _SHUFFLES and not self._is_of_generator(call.func):
            return False
        many = self.reading.many(self.reading.value(call.args[0], env))
        tag = f"line {call.lineno}"
        env[code(call.args[0])] = Many(_tagged(many.item, tag), is_array=many.is_array)
        self.facts.shuffled[code(call.args[0])] = tag
        self.facts.shuffles.append((condition, call.lineno))
        return True

    def _is_of_generator(self, func: ast.expr) -> bool:
        """Tell whether a method is the `shuffle` of a source of chance; its seed is noted."""
        if not isinstance(func, ast.Attribute) or func.attr != "shuffle":
            return False
        pairs = [assignment(statement) for statement in self.plan.prelude]
        own = [p[1] for p in pairs if p is not None and code(p[0]) == code(func.value)]
        made = own[0] if len(own) == 1 else None
        if made is None and not own:
            made = self.reading.names.assigned(func.value, self.reading.batching.scope)
        name = self.reading.names.qualified(made.func) if isinstance(made, ast.Call) else ""
        if name.rsplit(".", 1)[-1] not in _SOURCES or not isinstance(made, ast.Call):
            return "rng" in code(func.value)
        seeds = [*made.args, *(k.value for k in made.keywords if k.arg == "seed")]
        if own and len(seeds) == 1 and isinstance(seeds[0], ast.Name | ast.Constant):
            self.facts.seed = code(seeds[0])
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
        self.reading.in_item = True
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
            if isinstance(statement, ast.If) and not body[at + 1 :]:
                self.reading.in_item = False
                if not self._full(statement, env):
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
