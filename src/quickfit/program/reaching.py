"""Says whether code is reached in one call of its function, as far as the text decides that."""

from __future__ import annotations

import ast
from collections.abc import Callable

from quickfit.program.frames import Frame
from quickfit.program.module import FUNCTIONS, Module, own_nodes
from quickfit.program.resolver import Resolver
from quickfit.program.values import Class, Group, Instance, Literal, Routine

# What is certainly something.
_OBJECTS = (Class, Group, Instance, Routine)

_COMPARED: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}


class Reach:
    """One call of a function: which of its conditions hold, and what it comes to.

    Args:
        resolver: of the program.
        module: where the function stands.
        frame: the call; without it, what holds in every call.
    """

    def __init__(self, resolver: Resolver, module: Module, frame: Frame | None = None) -> None:
        self.resolver = resolver
        self.module = module
        self.frame = frame

    def holds(self, test: ast.expr) -> bool | None:
        """Tell whether a condition holds; None: that is open."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.holds(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            parts = [self.holds(part) for part in test.values]
            decides = isinstance(test.op, ast.Or)
            if decides in parts:
                return decides
            return None if None in parts else not decides
        if isinstance(test, ast.Compare):
            return self._compared(test)
        return _agreed([bool(value) for value in self._literals(test)])

    def comes_to(self, node: ast.AST) -> bool:
        """Tell whether the call surely comes to a node of its function.

        Loops are taken to have a turn; what may be raised before is left out.
        """
        child, above = node, self.module.parent(node)
        while above is not None and not isinstance(child, FUNCTIONS):
            if not self._lets_in(above, child) or self._is_left_before(above, child):
                return False
            child, above = above, self.module.parent(above)
        return True

    def _compared(self, test: ast.Compare) -> bool | None:
        compare = _COMPARED.get(type(test.ops[0]))
        if len(test.ops) > 1 or compare is None:
            return None
        if isinstance(test.ops[0], ast.Is | ast.IsNot):
            return self._identified(test, test.ops[0])
        left, right = self._literals(test.left), self._literals(test.comparators[0])
        return _agreed([compare(a, b) for a in left for b in right])

    def _identified(self, test: ast.Compare, operator: ast.cmpop) -> bool | None:
        """Tell whether `x is y` holds; what is surely an object of the program is not None."""
        compare = _COMPARED[type(operator)]
        left, right = (
            self.resolver.values(self.module, side, self.frame)
            for side in (test.left, test.comparators[0])
        )
        if right == (Literal(None),) and left and all(isinstance(v, _OBJECTS) for v in left):
            return isinstance(operator, ast.IsNot)
        pairs = [(a, b) for a in left for b in right]
        if not all(isinstance(a, Literal) and isinstance(b, Literal) for a, b in pairs):
            return None
        return _agreed([compare(a.value, b.value) for a, b in pairs])  # type: ignore[attr-defined]

    def _literals(self, node: ast.expr) -> list[object]:
        """Return what an expression may be; none where it may be more than numbers and text."""
        values = self.resolver.values(self.module, node, self.frame)
        known = [v.value for v in values if isinstance(v, Literal)]
        return known if len(known) == len(values) else []

    def _lets_in(self, above: ast.AST, child: ast.AST) -> bool:
        """Tell whether a node surely evaluates the part of it that a child is."""
        if isinstance(above, ast.If | ast.IfExp) and child is not above.test:
            body = above.body if isinstance(above.body, list) else [above.body]
            return self.holds(above.test) is (child in body)
        if isinstance(above, ast.BoolOp):
            return child is above.values[0]
        if isinstance(above, ast.Try):
            return child in above.body or child in above.finalbody
        return not isinstance(above, ast.ExceptHandler | ast.match_case)

    def _is_left_before(self, block: ast.AST, child: ast.AST) -> bool:
        """Tell whether an earlier statement of the same block may return."""
        for field in ("body", "orelse", "finalbody"):
            body = getattr(block, field, None)
            if isinstance(body, list) and child in body:
                return any(self._returns(earlier) for earlier in body[: body.index(child)])
        return False

    def _returns(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            return False
        if isinstance(statement, ast.If):
            test = self.holds(statement.test)
            taken = [*(statement.body if test is not False else ())]
            taken += statement.orelse if test is not True else ()
            return any(self._returns(part) for part in taken)
        return any(isinstance(node, ast.Return) for node in own_nodes(statement))


def _agreed(answers: list[bool]) -> bool | None:
    return answers[0] if len(set(answers)) == 1 else None
