"""Under which conditions code runs, what it is written for, and whether a call comes to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.resolver import Resolver
from quickfit.code.syntax import FUNCTIONS, name_of, own_nodes
from quickfit.code.values import Class, Frame, Group, Instance, Literal, Routine

# Names of switches that are thrown to look at a program, not to run it.
_LOOKING = re.compile(r"debug|eager|test|smoke|dry|profil|inspect|trace", re.IGNORECASE)
MAX_DEPTH = 3


def conditions_around(module: Module, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the conditions around a node in its function, each with what it must be."""
    child, above = node, module.parent(node)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(above, ast.If | ast.IfExp) and child is not above.test:
            body = above.body if isinstance(above.body, list) else [above.body]
            yield above.test, child in body
        elif isinstance(above, ast.While) and child in above.body:
            yield above.test, True
        child, above = above, module.parent(above)


def decide_condition(program: Program, module: Module, test: ast.expr) -> bool | None:
    """Return what a condition surely is; None where that is open."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = decide_condition(program, module, test.operand)
        return None if inner is None else not inner
    if name_of(test) == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Compare) and "__name__" in ast.unparse(test):
        return True
    value = program.literal(module, test) if isinstance(test, ast.Name | ast.Constant) else None
    return bool(value) if isinstance(value, bool | int) else None


def never_runs(program: Program, module: Module, node: ast.AST) -> bool:
    """Tell whether a condition around a node never holds: `if False:`."""
    found = [
        (decide_condition(program, module, test), wanted)
        for test, wanted in conditions_around(module, node)
    ]
    return any(value is not None and value != wanted for value, wanted in found)


def dead_lines(module: Module) -> list[tuple[int, int]]:
    """Return the first and last lines of code that is never come to: behind a `return`, `if 0:`.

    The cells of a notebook are run one by one, whatever ended the one before.
    """
    found: list[list[ast.stmt]] = []
    for end in module.all(ast.Return, ast.Raise, ast.Continue, ast.Break):
        if not module.path.endswith(".ipynb") or module.function(end) is not None:
            block = module.block(end)
            found.append(block[block.index(end) + 1 :])
    choices: list[ast.If | ast.While] = [*module.all(ast.If), *module.all(ast.While)]
    settled = [(c, c.test.value) for c in choices if isinstance(c.test, ast.Constant)]
    found += [choice.orelse if value else choice.body for choice, value in settled]
    return [(block[0].lineno, block[-1].end_lineno or 0) for block in found if block]


def is_for_looking(program: Program, module: Module, node: ast.AST, depth: int = MAX_DEPTH) -> bool:
    """Tell whether code may run only where somebody looks into the program: `if debug:`.

    Also where every call of its function stands under such a condition.
    """
    for test, _ in conditions_around(module, node):
        if decide_condition(program, module, test) is None and _LOOKING.search(ast.unparse(test)):
            return True
    function = module.function(node)
    if function is None or depth == 0:
        return False
    callers = program.resolver.callers(module, function)
    return bool(callers) and all(is_for_looking(program, m, c, depth - 1) for m, c in callers)


def has_other_way(module: Module, node: ast.AST, name: str) -> bool:
    """Tell whether the other branch of an `if` around a node calls the same name."""
    child, above = node, module.parent(node)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
        if isinstance(above, ast.If) and child is not above.test:
            other = above.orelse if child in above.body else above.body
            calls = (n for s in other for n in ast.walk(s) if isinstance(n, ast.Call))
            if any(name_of(call.func) == name for call in calls):
                return True
        child, above = above, module.parent(above)
    return False


_DRAWING = frozenset(
    ("subplot", "subplots", "add_subplot", "imshow", "show", "savefig", "plot", "scatter", "figure")
)
_WAITING = frozenset(("input", "recv", "recv_json", "recv_string", "accept", "sleep", "wait"))
_CAMERA = frozenset(("waitKey", "VideoCapture", "grab", "retrieve"))
_FOLDERS = ("test", "tests", "testing")


def is_for_tests(module: Module) -> bool:
    """Tell whether a file holds tests, which do slow things on purpose."""
    path = Path(module.path)
    stem = path.stem
    is_named = stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"
    return is_named or path.parent.name in _FOLDERS


def draws(loop: ast.AST) -> bool:
    """Tell whether each turn of a loop makes a picture: a person looks at a few of them."""
    return _calls_any(loop, _DRAWING)


def shows_live(loop: ast.AST) -> bool:
    """Tell whether each turn of a loop takes a picture from a camera, or waits for its window."""
    return _calls_any(loop, _CAMERA)


def waits_for_someone(program: Program, module: Module, loop: ast.AST) -> bool:
    """Tell whether each turn of a loop waits for a person, another program or the clock."""
    if _calls_any(loop, _WAITING):
        return True
    gets = [n for n in ast.walk(loop) if isinstance(n, ast.Call) and name_of(n.func) == "get"]
    queues = [g.func.value for g in gets if isinstance(g.func, ast.Attribute) and not g.args]
    return any("ueue" in program.maker(module, queue) for queue in queues)


def _calls_any(loop: ast.AST, names: frozenset[str]) -> bool:
    calls = (n for n in ast.walk(loop) if isinstance(n, ast.Call))
    return any(name_of(call.func) in names for call in calls)


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
        return _common_answer([bool(value) for value in self._literals(test)])

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
        return _common_answer([compare(a, b) for a in left for b in right])

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
        return _common_answer([compare(a.value, b.value) for a, b in pairs])  # type: ignore[attr-defined]

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


def _common_answer(answers: list[bool]) -> bool | None:
    return answers[0] if len(set(answers)) == 1 else None
