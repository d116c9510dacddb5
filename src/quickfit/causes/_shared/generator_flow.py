"""Which ways lead out of a piece of code, which `yield`s lie on them, which names hold nothing."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from quickfit.code.syntax import FUNCTIONS, name_of


class Empty:
    """A list, dictionary or set that has nothing in it."""

    def __repr__(self) -> str:
        """Return the mark that stands for all of them."""
        return "EMPTY"


EMPTY, OPEN = Empty(), object()
# What is known of names; a name that is not in it may hold anything.
Env = dict[str, object]
_MAKERS = ("list", "dict", "set", "tuple", "deque")
# Read what they are given, and leave it as it is.
_READERS = frozenset(
    (
        *("len", "print", "bool", "list", "tuple", "zip", "enumerate", "isinstance", "range"),
        *("array", "asarray", "stack", "vstack", "hstack", "concatenate", "convert_to_tensor"),
        *("min", "max", "sum", "sorted", "str", "any", "all", "reversed", "expand_dims"),
    )
)
_LEAVING = ("copy", "index", "count", "clear")
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# Names of numbers that are never set to 0: a batch has at least one sample.
_SIZES = ("batch", "size", "num", "count", "length", "min")


def assigned(node: ast.stmt, env: Env, results: dict[ast.expr, ast.expr]) -> Env:
    """Return what is known behind a simple statement."""
    new = forgotten(node, env)
    if isinstance(node, ast.Assign):
        for target in node.targets:
            new = new | dict(_given(target, results.get(node.value, node.value), env))
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        new = new | dict(_given(node.target, results.get(node.value, node.value), env))
    return new


def forgotten(node: ast.AST, env: Env) -> Env:
    """Return what is still known where everything a node may do has been done."""
    if not env:
        return env
    gone = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            gone.add(part.id)
        elif isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.value, ast.Name):
            if not isinstance(part.ctx, ast.Load):
                gone.add(part.value.id)
        elif isinstance(part, ast.Call):
            gone |= _touched(part)
        elif isinstance(part, ast.Assign | ast.Return | ast.NamedExpr | ast.AnnAssign):
            # A list under a second name may be filled through it.
            gone |= {part.value.id} if isinstance(part.value, ast.Name) else set()
    return {name: value for name, value in env.items() if name not in gone}


def _touched(call: ast.Call) -> set[str]:
    """Return the names whose objects a call may change: that of its method, and its arguments."""
    found = set()
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and name_of(call.func) not in _LEAVING:
        found.add(owner.id)
    if name_of(call.func) not in _READERS:
        given = [*call.args, *(k.value for k in call.keywords)]
        found |= {a.id for a in given if isinstance(a, ast.Name)}
    return found


def common(one: Env, other: Env) -> Env:
    """Return what is known whichever of two ways was gone."""
    return {n: v for n, v in one.items() if n in other and _is_same(v, other[n])}


def _given(target: ast.expr, value: ast.expr, env: Env) -> list[tuple[str, object]]:
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        if len(target.elts) != len(value.elts):
            return []
        pairs = zip(target.elts, value.elts, strict=True)
        return [found for t, v in pairs for found in _given(t, v, env)]
    if not isinstance(target, ast.Name):
        return []
    known = worth(value, env)
    return [(target.id, known)] if known is not OPEN and not isinstance(value, ast.Name) else []


def worth(node: ast.expr, env: Env) -> object:
    """Return what an expression is worth: a constant, `EMPTY`, or `OPEN`."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return env.get(node.id, OPEN)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return OPEN if node.elts else EMPTY
    if isinstance(node, ast.Dict):
        return OPEN if node.keys else EMPTY
    if isinstance(node, ast.Call):
        return _called(node, env)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Mult):
        return 0 if worth(node.left, env) == 0 else OPEN
    holds = truth(node, env) if isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp) else None
    return OPEN if holds is None else holds


def _called(node: ast.Call, env: Env) -> object:
    name = name_of(node.func)
    if not node.args:
        return EMPTY if name in _MAKERS and not node.keywords else OPEN
    if name == "len" and worth(node.args[0], env) is EMPTY:
        return 0
    return EMPTY if name in _READERS and worth(node.args[0], env) is EMPTY else OPEN


def truth(node: ast.expr, env: Env) -> bool | None:
    """Tell whether a condition holds; None where it may or may not."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth(node.operand, env)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        parts = [truth(part, env) for part in node.values]
        ends = isinstance(node.op, ast.Or)
        if ends in parts:
            return ends
        return None if None in parts else not ends
    if isinstance(node, ast.Compare):
        return _compared(node, env) if len(node.ops) == 1 else None
    if isinstance(node, ast.UnaryOp):
        return None
    value = worth(node, env)
    return None if value is OPEN else bool(value) and value is not EMPTY


def _compared(node: ast.Compare, env: Env) -> bool | None:
    sign, other = node.ops[0], node.comparators[0]
    left, right = worth(node.left, env), worth(other, env)
    if isinstance(sign, ast.Is | ast.IsNot):
        if left is OPEN or right is not None:
            return None
        return (left is None) == isinstance(sign, ast.Is)
    compare = _COMPARED.get(type(sign))
    if compare is None:
        return None
    if right is OPEN and _is_size(other):
        right = 1
    if left is OPEN and _is_size(node.left):
        left = 1
    if OPEN in (left, right) or not _are_alike(left, right):
        return None
    return bool(compare(left, right))


def _is_size(node: ast.expr) -> bool:
    name = name_of(node).lower()
    return bool(name) and any(word in name for word in _SIZES)


def _are_alike(left: object, right: object) -> bool:
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return numbers or (left is EMPTY and right is EMPTY)


def _is_same(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and one == other)


NEXT, BREAK, CONTINUE, RETURN, STOP, ERROR = "next", "break", "continue", "return", "stop", "error"
Exits = dict[str, Env]
# Each turn can only take names away, of which a function has a few.
MAX_TURNS = 12
_ENDS = ("exit", "quit", "_exit", "abort")
_FOR_THE_END = ("GeneratorExit", "KeyboardInterrupt", "SystemExit")
_BROAD = ("", "Exception", "BaseException")
# Take what comes next, and raise where there is nothing more.
_TAKERS = ("next", "__next__", "get_next", "pop", "popleft", "get_nowait")


@dataclass
class Walk:
    """Follows every path through statements, as far as conditions are known.

    Args:
        failing: a clause whose `try` is taken to fail at its first call, and to end there.
        results: what calls are taken to give, as if it were written in their place.
        is_endless: tells whether a loop over an expression never ends.

    Attributes:
        yields: the `yield`s that are reached.
        entered: `failing` is reached.
    """

    failing: ast.ExceptHandler | None = None
    results: dict[ast.expr, ast.expr] = field(default_factory=dict)
    is_endless: Callable[[ast.expr], bool] = lambda node: False
    yields: list[ast.AST] = field(default_factory=list)
    entered: bool = False

    def block(self, statements: list[ast.stmt], env: Env) -> Exits:
        """Return how statements may end: what is known then, by the way they end."""
        exits: Exits = {}
        for statement in statements:
            out = self._statement(statement, env)
            after = out.pop(NEXT, None)
            _join(exits, out)
            if after is None:
                return exits
            env = after
        _join(exits, {NEXT: env})
        return exits

    def _statement(self, node: ast.stmt, env: Env) -> Exits:
        if isinstance(node, ast.If):
            return self._if(node, self._seen(node.test, env))
        if isinstance(node, ast.While):
            return self._while(node, self._seen(node.test, env))
        if isinstance(node, ast.For | ast.AsyncFor):
            return self._for(node, self._seen(node.iter, env))
        if isinstance(node, ast.Try | ast.TryStar):
            return self._try(node, env)
        if isinstance(node, ast.With | ast.AsyncWith):
            return self._with(node, env)
        if isinstance(node, ast.Match):
            return self._match(node, self._seen(node.subject, env))
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return {NEXT: env}
        return self._simple(node, env)

    def _simple(self, node: ast.stmt, env: Env) -> Exits:
        env = self._seen(node, env)
        if isinstance(node, ast.Return):
            return {RETURN: env}
        if isinstance(node, ast.Raise):
            return {ERROR if is_error(node) else STOP: env}
        if isinstance(node, ast.Break | ast.Continue):
            return {BREAK if isinstance(node, ast.Break) else CONTINUE: env}
        exits: Exits = {STOP: env} if any(map(self._may_stop, evaluated(node))) else {}
        if isinstance(node, ast.Expr) and self._never_returns(node.value):
            return exits
        return exits | {NEXT: assigned(node, env, self.results)}

    def _if(self, node: ast.If, env: Env) -> Exits:
        holds = truth(node.test, env)
        exits: Exits = {}
        if holds is not False:
            _join(exits, self.block(node.body, env))
        if holds is not True:
            _join(exits, self.block(node.orelse, env))
        return exits

    def _while(self, node: ast.While, env: Env) -> Exits:
        exits, env = self._turns(node, env)
        if truth(node.test, env) is not True:
            _join(exits, self.block(node.orelse, env))
        return exits

    def _for(self, node: ast.For | ast.AsyncFor, env: Env) -> Exits:
        exits, env = self._turns(node, forgotten(node.target, env))
        if not self.is_endless(node.iter):
            _join(exits, self.block(node.orelse, env))
        return exits

    def _turns(self, node: ast.For | ast.AsyncFor | ast.While, env: Env) -> tuple[Exits, Env]:
        """Follow a loop until a turn tells nothing new; with what is known whenever it begins."""
        for _ in range(MAX_TURNS):
            if isinstance(node, ast.While) and truth(node.test, env) is False:
                return {}, env
            exits = self.block(node.body, env)
            ends = [exits.pop(kind) for kind in (NEXT, CONTINUE) if kind in exits]
            before = env
            for end in ends:
                env = common(env, end)
            if env == before:
                break
        if BREAK in exits:
            _join(exits, {NEXT: exits.pop(BREAK)})
        return exits, env

    def _try(self, node: ast.Try | ast.TryStar, env: Env) -> Exits:
        exits: Exits = {}
        if self.failing is not None and self.failing in node.handlers:
            self.entered = True
            begin = env
            for statement in node.body:
                if any(isinstance(n, ast.Call) for n in ast.walk(statement)):
                    break
                begin = self._statement(statement, begin).get(NEXT, begin)
            exits = self.block(self.failing.body, begin)
        else:
            exits = self._tried(node, env)
        if not node.finalbody:
            return exits
        merged = env
        for end in exits.values():
            merged = common(merged, end)
        last = self.block(node.finalbody, merged)
        if NEXT not in last:
            return last
        del last[NEXT]
        _join(exits, last)
        return exits

    def _tried(self, node: ast.Try | ast.TryStar, env: Env) -> Exits:
        exits = self.block(node.body, env)
        if NEXT in exits:
            _join(exits, self.block(node.orelse, exits.pop(NEXT)))
        inside = env
        for statement in node.body:
            inside = forgotten(statement, inside)
        handlers = [h for h in node.handlers if not set(caught(h)) & set(_FOR_THE_END)]
        if any(set(caught(h)) & {*_BROAD, "StopIteration"} for h in handlers):
            exits.pop(STOP, None)
        if any(set(caught(h)) & set(_BROAD) for h in handlers):
            exits.pop(ERROR, None)
        for handler in handlers:
            _join(exits, self.block(handler.body, inside))
        return exits

    def _with(self, node: ast.With | ast.AsyncWith, env: Env) -> Exits:
        for item in node.items:
            env = self._seen(item.context_expr, env)
            env = forgotten(item.optional_vars, env) if item.optional_vars is not None else env
        exits = self.block(node.body, env)
        managers = [i.context_expr for i in node.items if isinstance(i.context_expr, ast.Call)]
        if any("suppress" in name_of(m.func) or "raises" in name_of(m.func) for m in managers):
            inside = env
            for statement in node.body:
                inside = forgotten(statement, inside)
            _join(exits, {NEXT: inside})
        return exits

    def _match(self, node: ast.Match, env: Env) -> Exits:
        exits: Exits = {NEXT: env}
        for case in node.cases:
            _join(exits, self.block(case.body, forgotten(case.pattern, env)))
        return exits

    def _seen(self, node: ast.AST, env: Env) -> Env:
        """Note the yields of an expression or simple statement; forget what its calls may fill."""
        for part in evaluated(node):
            if isinstance(part, ast.Yield | ast.YieldFrom) and part not in self.yields:
                self.yields.append(part)
        return forgotten(node, env) if isinstance(node, ast.expr) else env

    def _may_stop(self, node: ast.AST) -> bool:
        """Tell whether an expression may end the generator for want of more."""
        if not isinstance(node, ast.Call) or name_of(node.func) not in _TAKERS:
            return False
        if isinstance(node.func, ast.Attribute):
            return len(node.args) < 2 and not self.is_endless(node.func.value)
        return len(node.args) == 1 and not self.is_endless(node.args[0])

    def _never_returns(self, node: ast.expr) -> bool:
        if isinstance(node, ast.YieldFrom):
            return self.is_endless(node.value)
        return isinstance(node, ast.Call) and name_of(node.func) in _ENDS


def is_error(node: ast.Raise) -> bool:
    """Tell whether a `raise` reports an error, and is no way of ending regularly."""
    if node.exc is None:
        return True
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    name = name_of(raised)
    return name.endswith(("Error", "Exception")) or not name[:1].isupper()


def caught(handler: ast.ExceptHandler) -> list[str]:
    """Return the last names of what a clause catches; of a bare one, an empty name."""
    if handler.type is None:
        return [""]
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [name_of(kind) for kind in kinds]


def evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node evaluates, and the node, without the functions that it only defines."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, (*FUNCTIONS, ast.GeneratorExp)) or each is node:
            waiting.extend(ast.iter_child_nodes(each))


def _join(exits: Exits, others: Exits) -> None:
    for kind, env in others.items():
        exits[kind] = common(exits[kind], env) if kind in exits else env
