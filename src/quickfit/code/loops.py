"""Which loops run a piece of code, how often they turn, and code for every n-th turn."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from quickfit.code.calls import is_first_parameter, position_of_parameter
from quickfit.code.module import Module
from quickfit.code.names import Binding
from quickfit.code.program import Program
from quickfit.code.syntax import (
    FUNCTIONS,
    LOOPS,
    Function,
    Loop,
    argument,
    called_name,
    name_of,
    own_nodes,
)
from quickfit.findings import Edit

MAX_REPEAT_DEPTH = 3


@dataclass(frozen=True)
class Repeat:
    """A loop around a piece of code; `call` is where the loop's body goes to it, if elsewhere."""

    loop: Loop
    module: Module
    call: ast.Call | None = None


def repeating_loop(
    program: Program, module: Module, node: ast.AST, *, depth: int = MAX_REPEAT_DEPTH
) -> Repeat | None:
    """Return the innermost loop that runs a node more than once; None where none is seen to."""
    for loop in module.loops(node):
        if not runs_once(loop):
            return Repeat(loop, module)
    function = module.function(node)
    if function is None or depth == 0:
        return None
    for other, call in program.resolver.callers(module, function):
        found = repeating_loop(program, other, call, depth=depth - 1)
        if found is not None:
            return Repeat(found.loop, found.module, found.call or call)
    return None


def runs_once(loop: Loop) -> bool:
    """Tell whether a loop's body surely ends it at its first turn: `while True: …; break`."""
    last = loop.body[-1]
    if not isinstance(last, ast.Break | ast.Return | ast.Raise):
        return False
    return not any(isinstance(n, ast.Continue) for n in own_nodes(loop))


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


def turns_around(
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
        outer = turns_around(program, other, call, depth=depth - 1)
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
    counts = [count_turns(program, t.module, t.loop) for t in around]
    known = [number for number in counts if number is not None]
    return bool(around) and (len(known) < len(counts) or prod(known) >= at_least)


def count_turns(program: Program, module: Module, loop: ast.AST) -> int | None:
    """Return how often a loop turns; None where the text does not say."""
    if isinstance(loop, ast.For | ast.AsyncFor):
        return count_items(program, module, loop.iter)
    if isinstance(loop, COMPREHENSIONS):
        parts = [count_items(program, module, g.iter) for g in loop.generators]
        known = [part for part in parts if part is not None]
        return prod(known) if len(known) == len(parts) else None
    return None


def count_items(program: Program, module: Module, node: ast.expr) -> int | None:
    """Return how many elements a loop gets from an expression; None where nobody knows."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        is_plain = not any(isinstance(e, ast.Starred) for e in node.elts)
        return len(node.elts) if is_plain else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        upper = program.literal(module, node.slice.upper)
        is_plain = isinstance(upper, int) and upper >= 0 and node.slice.lower is None
        return upper if is_plain and isinstance(upper, int) else None
    if isinstance(node, ast.Call):
        return _items_of_call(program, module, node)
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        only = program.only(module, node)
        inner = getattr(only, "node", None) or getattr(only, "call", None)
        where = getattr(only, "module", None)
        if isinstance(where, Module) and isinstance(inner, ast.Tuple | ast.List | ast.Call):
            return count_items(program, where, inner)
    return None


_SAME_LENGTH = frozenset(("enumerate", "reversed", "sorted", "list", "tuple", "tqdm", "iter"))
_SPACES = ("linspace", "geomspace", "logspace")


def _items_of_call(program: Program, module: Module, call: ast.Call) -> int | None:
    name = name_of(call.func)
    parts = (
        [count_items(program, module, a) for a in call.args] if name in ("zip", "product") else []
    )
    known = [part for part in parts if part is not None]
    if name == "zip":
        return min(known, default=None)
    if name == "product":
        is_whole = len(known) == len(parts) and not call.keywords
        return prod(known) if is_whole else None
    if name in _SAME_LENGTH and call.args:
        return count_items(program, module, call.args[0])
    if name in ("range", "trange"):
        return _range_length([program.literal(module, a) for a in call.args])
    number: object = None
    if name == "take" and call.args:
        number = program.literal(module, call.args[0])
    elif name == "sample" and program.called(module, call) == "random.sample":
        number = program.literal(module, argument(call, "k", 1))
    elif name in _SPACES and program.called(module, call).startswith("numpy."):
        given = argument(call, "num", 2)
        number = program.literal(module, given) if given is not None else 50
    elif name in ("array_split", "split") and program.called(module, call).startswith("numpy."):
        number = program.literal(module, argument(call, "indices_or_sections", 1))
    elif name == "split" and isinstance(call.func, ast.Attribute):
        number = _folds(program, module, call.func.value)
    return number if isinstance(number, int) and number >= 0 else None


def _range_length(given: list[object]) -> int | None:
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


def is_new_in_turn(program: Program, module: Module, node: ast.AST, loop: ast.AST) -> bool:
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


def is_given_new_in_turn(program: Program, module: Module, node: ast.AST, around: Turns) -> bool:
    """Tell whether an expression uses what a loop sets, also through the calls that lead to it."""
    if not around.calls:
        return is_new_in_turn(program, module, node, around.loop)
    other, call = around.calls[0]
    return any(
        is_new_in_turn(program, other, part, around.loop) for part in (*call.args, *call.keywords)
    )


def is_kept_over_turns(program: Program, module: Module, node: ast.expr, around: Turns) -> bool:
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
    if isinstance(module.parent(function), ast.ClassDef) and is_first_parameter(function, name):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    else:
        owner = argument(call, name, position_of_parameter(module, function, name))
    return owner is not None and is_kept_over_turns(program, other, owner, outer)


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
    return is_kept_over_turns(program, module, node.value, around)


def _is_set(node: ast.Attribute, where: ast.AST) -> bool:
    """Tell whether code assigns to an attribute as it is written: `self.model`."""
    text = ast.unparse(node)
    for part in ast.walk(where):
        is_set = isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
        if is_set and name_of(part) == node.attr and ast.unparse(part) == text:
            return True
    return False


HOOKS = ("on_train_batch_end", "on_batch_end", "on_epoch_end")


def modulo_of(test: ast.expr) -> ast.expr | None:
    """Return the interval of a test such as `step % 100 == 0` or `not step % 100`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand.right if _is_modulo(test.operand) else None  # type: ignore[attr-defined]
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    is_zero = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value == 0
    is_one = len(test.ops) == 1 and is_zero and _is_modulo(test.left)
    return test.left.right if is_one and isinstance(test.left, ast.BinOp) else None


def _is_modulo(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def turn_test(module: Module, statement: ast.stmt, every: int) -> str | None:
    """Return the test for every n-th turn and, where it is known, the last one of the loop.

    The statement has to stand directly in a loop that counts, or in a hook of a callback.
    """
    parent = module.parent(statement)
    if isinstance(parent, ast.For) and not parent.orelse and statement in parent.body:
        return _loop_turn_test(parent, every)
    if isinstance(parent, ast.FunctionDef) and parent.name in HOOKS:
        names = [arg.arg for arg in parent.args.args][1:]
        is_hook = isinstance(module.parent(parent), ast.ClassDef) and names
        return f"{names[0]} % {every} == {every - 1}" if is_hook and names[0].strip("_") else None
    return None


def put_under_test(module: Module, group: Sequence[ast.stmt], test: str) -> Edit | None:
    """Put statements that follow each other, with their comments, under an `if`."""
    first, last = group[0], group[-1]
    inside = [node for statement in group for node in ast.walk(statement)]
    if any(isinstance(n, ast.Constant | ast.JoinedStr) and _spans_lines(n) for n in inside):
        return None  # a text would get more spaces
    if not (module.is_alone(first) and module.is_alone(last)):
        return None
    return put_under_head(module, first, last, f"if {test}:")


def put_under_head(module: Module, first: ast.stmt, last: ast.stmt, head: str) -> Edit:
    """Put the lines of some statements under the head of a block."""
    begin, indent = module.begin(first)[0], module.indent(first)
    rows = module.lines[begin - 1 : last.end_lineno]
    begins = indent + indent_unit(module, first)
    body = [begins + row[len(indent) :] if row.startswith(indent) else row for row in rows]
    body = [row if row.strip() else "" for row in body]
    end = (last.end_lineno or 0, len(rows[-1]))
    return Edit(module.path, (begin, 0), end, "\n".join([indent + head, *body]))


def indent_unit(module: Module, statement: ast.stmt) -> str:
    """Return the white space that a block is indented by, as it is around a statement."""
    parent = module.parent(statement)
    if not isinstance(parent, ast.stmt):
        return "    "
    return module.indent(statement)[len(module.indent(parent)) :] or "    "


def _spans_lines(node: ast.expr) -> bool:
    return node.lineno != node.end_lineno


def _loop_turn_test(loop: ast.For, every: int) -> str | None:
    counter = loop.target
    if isinstance(loop.iter, ast.Call) and called_name(loop.iter) == "enumerate":
        counter = counter.elts[0] if isinstance(counter, ast.Tuple) else counter
        if len(loop.iter.args) != 1 or loop.iter.keywords:
            return None
    if not isinstance(counter, ast.Name) or not counter.id.strip("_"):
        return None
    if not isinstance(loop.iter, ast.Call) or _is_changed(loop, counter.id):
        return None
    if called_name(loop.iter) == "enumerate":
        return f"{counter.id} % {every} == {every - 1}"
    return _range_turn_test(loop.iter, counter.id, every)


def _range_turn_test(call: ast.Call, name: str, every: int) -> str | None:
    """Return the test of a loop over `range(n)` or `range(1, n + 1)`, its last turn included."""
    if called_name(call) != "range" or len(call.args) > 2 or call.keywords:
        return None
    stop = call.args[-1]
    if len(call.args) == 1:
        last = _minus_one(stop)
        return f"{name} % {every} == {every - 1} or {name} == {last}" if last else None
    is_one = isinstance(call.args[0], ast.Constant) and call.args[0].value == 1
    last = _minus_one(stop)
    return f"{name} % {every} == 0 or {name} == {last}" if is_one and last else None


def _minus_one(stop: ast.expr) -> str | None:
    """Return the code of the number before a plain one."""
    if isinstance(stop, ast.Constant) and type(stop.value) is int:
        return str(stop.value - 1)
    if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add):
        is_one = isinstance(stop.right, ast.Constant) and stop.right.value == 1
        return ast.unparse(stop.left) if is_one and name_of(stop.left) else None
    return f"{ast.unparse(stop)} - 1" if _is_plain(stop) else None


def _is_plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_changed(loop: ast.For, name: str) -> bool:
    """Tell whether the body of a loop sets its counter."""
    nodes = (node for statement in loop.body for node in ast.walk(statement))
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in nodes
    )
