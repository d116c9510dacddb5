"""Which ways lead out of a piece of code, and which `yield`s lie on them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from quickfit.patterns.nothing import Env, assigned, common, forgotten, truth
from quickfit.program.module import FUNCTIONS, name_of

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
