"""Which loops run a piece of code, how often they turn, and what is new in each turn."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import prod

from quickfit.program import Module, Program, argument, name_of
from quickfit.program.bindings import Binding
from quickfit.program.module import FUNCTIONS, LOOPS, Function, own_nodes
from quickfit.program.parameters import is_first, position_of
from quickfit.program.repeats import runs_once

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAX_DEPTH = 3


@dataclass(frozen=True)
class Turns:
    """A loop or comprehension that runs a piece of code.

    Args:
        loop: the loop.
        module: where it stands.
        calls: the calls that lead from its body to the code, the one in the body first.
    """

    loop: ast.AST
    module: Module
    calls: tuple[tuple[Module, ast.Call], ...] = ()

    @property
    def line(self) -> int:
        """The line at which the loop begins."""
        return int(getattr(self.loop, "lineno", 0))


def turns(
    program: Program, module: Module, node: ast.AST, *, depth: int = MAX_DEPTH
) -> list[Turns]:
    """Return the loops that run a node, innermost first, also through calls of its function.

    Where several calls lead to the function, the first one from a loop tells.
    """
    found = [Turns(loop, module) for loop in loops_of(module, node)]
    function = module.function(node)
    if function is None or depth == 0:
        return found
    for other, call in program.resolver.callers(module, function):
        outer = turns(program, other, call, depth=depth - 1)
        if outer:
            return found + [Turns(t.loop, t.module, (*t.calls, (other, call))) for t in outer]
    return found


def loops_of(module: Module, node: ast.AST) -> list[ast.AST]:
    """Return the loops and comprehensions of the same function around a node, innermost first."""
    found: list[ast.AST] = []
    child, above = node, module.parent(node)
    while above is not None and not isinstance(above, (*FUNCTIONS, ast.ClassDef)):
        if isinstance(above, COMPREHENSIONS):
            if child is not above.generators[0]:
                found.append(above)
        elif isinstance(above, LOOPS) and _turns(above, child) and not runs_once(above):
            found.append(above)
        child, above = above, module.parent(above)
    return found


def _turns(loop: ast.For | ast.AsyncFor | ast.While, child: ast.AST) -> bool:
    return child in loop.body or (isinstance(loop, ast.While) and child is loop.test)


# -- how often --------------------------------------------------------------------------------


def is_many(program: Program, around: list[Turns], at_least: int) -> bool:
    """Tell whether loops turn so often together, or nobody knows how often they do."""
    counts = [count(program, t.module, t.loop) for t in around]
    known = [number for number in counts if number is not None]
    return bool(around) and (len(known) < len(counts) or prod(known) >= at_least)


def count(program: Program, module: Module, loop: ast.AST) -> int | None:
    """Return how often a loop turns; None where the text does not say."""
    if isinstance(loop, ast.For | ast.AsyncFor):
        return counted(program, module, loop.iter)
    if isinstance(loop, COMPREHENSIONS):
        parts = [counted(program, module, g.iter) for g in loop.generators]
        known = [part for part in parts if part is not None]
        return prod(known) if len(known) == len(parts) else None
    return None


def counted(program: Program, module: Module, node: ast.expr) -> int | None:
    """Return how many elements a loop gets from an expression; None where nobody knows."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        is_plain = not any(isinstance(e, ast.Starred) for e in node.elts)
        return len(node.elts) if is_plain else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        upper = program.literal(module, node.slice.upper)
        is_plain = isinstance(upper, int) and upper >= 0 and node.slice.lower is None
        return upper if is_plain and isinstance(upper, int) else None
    if isinstance(node, ast.Call):
        return _of_call(program, module, node)
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        only = program.only(module, node)
        inner = getattr(only, "node", None) or getattr(only, "call", None)
        where = getattr(only, "module", None)
        if isinstance(where, Module) and isinstance(inner, ast.Tuple | ast.List | ast.Call):
            return counted(program, where, inner)
    return None


_SAME_LENGTH = frozenset(("enumerate", "reversed", "sorted", "list", "tuple", "tqdm", "iter"))
_SPACES = ("linspace", "geomspace", "logspace")


def _of_call(program: Program, module: Module, call: ast.Call) -> int | None:
    name = name_of(call.func)
    parts = [counted(program, module, a) for a in call.args] if name in ("zip", "product") else []
    known = [part for part in parts if part is not None]
    if name == "zip":
        return min(known, default=None)
    if name == "product":
        is_whole = len(known) == len(parts) and not call.keywords
        return prod(known) if is_whole else None
    if name in _SAME_LENGTH and call.args:
        return counted(program, module, call.args[0])
    if name in ("range", "trange"):
        return _of_range([program.literal(module, a) for a in call.args])
    number: object = None
    if name == "take" and call.args:
        number = program.literal(module, call.args[0])
    elif name in _SPACES and program.called(module, call).startswith("numpy."):
        given = argument(call, "num", 2)
        number = program.literal(module, given) if given is not None else 50
    elif name in ("array_split", "split") and program.called(module, call).startswith("numpy."):
        number = program.literal(module, argument(call, "indices_or_sections", 1))
    elif name == "split" and isinstance(call.func, ast.Attribute):
        number = _folds(program, module, call.func.value)
    return number if isinstance(number, int) and number >= 0 else None


def _of_range(given: list[object]) -> int | None:
    numbers = [number for number in given if isinstance(number, int)]
    if len(numbers) != len(given) or not numbers or (len(numbers) == 3 and numbers[2] == 0):
        return None
    return len(range(*numbers))


def _folds(program: Program, module: Module, node: ast.expr) -> object:
    """Return how many folds a splitter of scikit-learn makes."""
    only = program.only(module, node)
    made = getattr(only, "call", None)
    if not program.maker(module, node).startswith("sklearn.") or not isinstance(made, ast.Call):
        return None
    given = argument(made, "n_splits", 0)
    return program.literal(module, given) if given is not None else 5


# -- what is new in each turn -----------------------------------------------------------------


def is_new(program: Program, module: Module, node: ast.AST, loop: ast.AST) -> bool:
    """Tell whether an expression inside a loop uses a name or attribute that the loop sets."""
    bindings = program.files.bindings(module)
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            reaching = bindings.reaching(part, part.id)
            if any(module.is_in(b.node, loop) for b in reaching):
                return True
        elif isinstance(part, ast.Attribute) and _is_set(part, loop):
            return True
    return False


def is_given_new(program: Program, module: Module, node: ast.AST, around: Turns) -> bool:
    """Tell whether an expression uses what a loop sets, also through the calls that lead to it."""
    if not around.calls:
        return is_new(program, module, node, around.loop)
    other, call = around.calls[0]
    return any(is_new(program, other, part, around.loop) for part in (*call.args, *call.keywords))


def is_kept(program: Program, module: Module, node: ast.expr, around: Turns) -> bool:
    """Tell whether an object is surely made before a loop, and not again in its turns."""
    if isinstance(node, ast.Attribute):
        return _is_attribute_kept(program, module, node, around)
    if not isinstance(node, ast.Name):
        return False
    bindings = program.files.bindings(module).reaching(node, node.id)
    return bool(bindings) and all(_is_before(program, module, b, around) for b in bindings)


def _is_before(program: Program, module: Module, binding: Binding, around: Turns) -> bool:
    """Tell whether a binding is made once, before the loop."""
    if module is around.module and module.is_in(binding.node, around.loop):
        return False
    place: ast.AST | None = module.function(binding.node)
    if binding.kind == "parameter":
        place = module.around(binding.node, *FUNCTIONS)
    for level in range(len(around.calls), 0, -1):
        function = _callee(program, around, level)
        if function is not place:
            continue
        if binding.kind != "parameter" or not isinstance(function, FUNCTIONS):
            return False  # made by the function that the loop calls
        return _is_given_kept(program, (module, function, binding.name), around, level)
    return binding.kind != "other"


def _is_given_kept(
    program: Program, parameter: tuple[Module, Function, str], around: Turns, level: int
) -> bool:
    """Tell whether what the call of a loop gives for a parameter is made before the loop."""
    module, function, name = parameter
    other, call = around.calls[level - 1]
    outer = Turns(around.loop, around.module, around.calls[: level - 1])
    if isinstance(module.parent(function), ast.ClassDef) and is_first(function, name):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    else:
        owner = argument(call, name, position_of(module, function, name))
    return owner is not None and is_kept(program, other, owner, outer)


def _callee(program: Program, around: Turns, level: int) -> Function | None:
    """Return the function that a call on the way from the loop goes to."""
    module, call = around.calls[level - 1]
    for value in program.values(module, call.func):
        node = getattr(value, "node", None)
        if isinstance(node, FUNCTIONS):
            return node
    return None


def _is_attribute_kept(
    program: Program, module: Module, node: ast.Attribute, around: Turns
) -> bool:
    loops = [around.loop] if module is around.module else []
    if any(_is_set(node, loop) for loop in loops):
        return False
    owner = module.around(node, ast.ClassDef)
    # Methods that the loop calls, or that lead from it to the code, may make it anew.
    called = {name_of(n.func) for n in ast.walk(around.loop) if isinstance(n, ast.Call)}
    called |= {name_of(call.func) for _, call in around.calls}
    methods = [m for m in owner.body if isinstance(m, FUNCTIONS)] if owner is not None else []
    for method in methods:
        if isinstance(method, ast.Lambda) or method.name not in called:
            continue
        if any(_is_set(node, part) for part in own_nodes(method)):
            return False
    return is_kept(program, module, node.value, around)


def _is_set(node: ast.Attribute, where: ast.AST) -> bool:
    """Tell whether code assigns to an attribute as it is written: `self.model`."""
    text = ast.unparse(node)
    for part in ast.walk(where):
        is_set = isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        if is_set and name_of(part) == node.attr and ast.unparse(part) == text:
            return True
    return False
