"""How many samples and batches there are, where the text of a program has the numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass

from quickfit.code.calls import assigned_to_self, default_of_parameter, position_of_parameter
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import argument, keyword_value, name_of, own_nodes
from quickfit.code.values import Computed, Group, Instance, Made, Routine, Value

MAX_DEPTH = 16
Number = int | float
_OPERATIONS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a / b,
    ast.Mod: lambda a, b: a % b,
}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "builtins.int": int,
    "builtins.float": float,
    "builtins.max": max,
    "builtins.min": min,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "numpy.ceil": math.ceil,
    "numpy.floor": math.floor,
}
# Arrays by their sides: as a tuple, as a list of numbers, or by `size=`.
_SHAPED = frozenset(("zeros", "ones", "empty", "full", "random", "random_sample"))
_SIDES = frozenset(("rand", "randn"))
_SIZED = frozenset(("randint", "integers", "normal", "uniform", "standard_normal", "choice"))
# NumPy that gives one number for each it gets.
_EACH = frozenset(("sin", "cos", "tan", "tanh", "exp", "log", "log1p", "sqrt", "square", "abs"))
_KEEPING = frozenset(("astype", "array", "asarray", "list", "tuple", "sorted", "copy"))


@dataclass(frozen=True)
class Counting:
    """Counts in one file; `of` is the object whose method is looked at."""

    program: Program
    module: Module
    of: Instance | None = None
    depth: int = MAX_DEPTH

    def number(self, node: ast.expr | None) -> Number | None:
        """Return what an expression comes to; None where that is not known."""
        if node is None or self.depth == 0:
            return None
        known = self.program.literal(self.module, node) if self.of is None else _literal(node)
        if isinstance(known, int | float) and not isinstance(known, bool):
            return known
        if isinstance(node, ast.BinOp):
            return _result(node.op, self._in.number(node.left), self._in.number(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._in.number(node.operand)
            return -inner if inner is not None else None
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Subscript):
            return self._side(node)
        place = self._followed(node) or self._named(node)
        return place[0].number(place[1]) if place is not None else None

    def _named(self, node: ast.expr) -> tuple[Counting, ast.expr] | None:
        """Return the arithmetic that a name stands for, and where it is written."""
        is_name = self.of is None and isinstance(node, ast.Name)
        only = self.program.only(self.module, node) if is_name else None
        if not isinstance(only, Computed) or not isinstance(only.node, ast.BinOp):
            return None
        return Counting(self.program, only.module, None, self.depth - 1), only.node

    @property
    def _in(self) -> Counting:
        return Counting(self.program, self.module, self.of, self.depth - 1)

    def _called(self, node: ast.Call) -> Number | None:
        name = self.program.called(self.module, node)
        if name == "builtins.len" and len(node.args) == 1:
            return self._in.length(node.args[0])
        given = [self._in.number(each) for each in node.args]
        known = [number for number in given if number is not None]
        if name not in _FUNCTIONS or len(known) != len(given) or not given or node.keywords:
            return None
        return _FUNCTIONS[name](*known)

    def _side(self, node: ast.Subscript) -> Number | None:
        """Return the first side of an array: `x.shape[0]`."""
        value = node.value
        is_shape = isinstance(value, ast.Attribute) and value.attr == "shape"
        is_first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
        if not is_shape or not is_first or not isinstance(value, ast.Attribute):
            return None
        return self._in.length(value.value)

    def length(self, node: ast.expr) -> int | None:
        """Return how many elements something has; None where that is not known."""
        if self.depth == 0:
            return None
        place = self._followed(node) or self._kept(node)
        if place is not None:
            return place[0].length(place[1])
        if self.of is not None and not isinstance(node, ast.Call | ast.List | ast.ListComp):
            return None
        only = self.program.only(self.module, node)
        return self._length_of(only) if only is not None else None

    def _kept(self, node: ast.expr) -> tuple[Counting, ast.expr] | None:
        """Return where an attribute of an object of the program is set, if only once."""
        if self.of is not None or not isinstance(node, ast.Attribute):
            return None
        owner = self.program.only(self.module, node.value)
        if not isinstance(owner, Instance):
            return None
        given = assigned_to_self(owner.made, node.attr)
        inside = Counting(self.program, owner.made.module, owner, self.depth - 1)
        return (inside, given[0]) if len(given) == 1 else None

    def _length_of(self, value: Value) -> int | None:
        if isinstance(value, Group):
            return self._elements(value)
        if isinstance(value, Computed):
            return Counting(self.program, value.module, None, self.depth - 1)._joined(value.node)
        if not isinstance(value, Made):
            return None
        inner = Counting(self.program, value.module, None, self.depth - 1)
        call, name = value.call, name_of(value.call.func)
        if name in _KEEPING:
            is_method = value.method and isinstance(call.func, ast.Attribute)
            kept = call.func.value if is_method else (call.args[0] if call.args else None)  # type: ignore[attr-defined]
            return inner.length(kept) if kept is not None else None
        if name in _EACH and value.maker.startswith("numpy.") and call.args:
            return inner.length(call.args[0])
        if name in ("range", "arange") and len(call.args) == 1:
            return _whole(inner.number(call.args[0]))
        if name in _SIDES:
            return _whole(inner.number(call.args[0])) if call.args else None
        shape = argument(call, "shape", 0) if name in _SHAPED else None
        return inner.first(
            shape or keyword_value(call, "size") if name in _SHAPED | _SIZED else None
        )

    def _joined(self, node: ast.expr) -> int | None:
        """Return how long the sum, product or the like of arrays and numbers is."""
        if not isinstance(node, ast.BinOp):
            return None
        sides = [side for side in (node.left, node.right) if self.number(side) is None]
        if any(self._is_list(side) for side in sides):
            return None  # of lists, a sum is both, one behind the other
        lengths = {self.length(side) for side in sides}
        return lengths.pop() if len(lengths) == 1 else None

    def _is_list(self, node: ast.expr) -> bool:
        only = self.program.only(self.module, node)
        is_made = isinstance(only, Made) and only.maker.startswith("builtins.")
        return only is None or is_made or isinstance(only, Group)

    def first(self, shape: ast.expr | None) -> int | None:
        """Return the first side of a shape."""
        if isinstance(shape, ast.Tuple | ast.List):
            return _whole(self.number(shape.elts[0])) if shape.elts else None
        return _whole(self.number(shape))

    def _elements(self, value: Group) -> int | None:
        node = value.node
        if isinstance(node, ast.List | ast.Tuple):
            return None if any(isinstance(e, ast.Starred) for e in node.elts) else len(node.elts)
        if isinstance(node, ast.ListComp) and len(node.generators) == 1:
            only = node.generators[0]
            inner = Counting(self.program, value.module, None, self.depth - 1)
            return inner.length(only.iter) if not only.ifs else None
        return None

    def _followed(self, node: ast.expr) -> tuple[Counting, ast.expr] | None:
        """Return where an attribute of the object, or an argument it was made with, comes from."""
        if self.of is None:
            return None
        owner = self.of.made
        if isinstance(node, ast.Attribute) and name_of(node.value) == "self":
            given = assigned_to_self(owner, node.attr)
            return (self._in, given[0]) if len(given) == 1 else None
        if not isinstance(node, ast.Name):
            return None
        plain = Counting(self.program, self.module, None, self.depth - 1)
        made = self.program.resolver.attribute(owner, "__init__")
        init = made[0] if len(made) == 1 and isinstance(made[0], Routine) else None
        if init is None or not self._is_parameter(node, init):
            return plain, node
        at = position_of_parameter(init.module, init.node, node.id)
        found = (
            argument(self.of.call, node.id, at) if at >= 0 else keyword_value(self.of.call, node.id)
        )
        if found is not None:
            return Counting(self.program, self.of.module, None, self.depth - 1), found
        default = default_of_parameter(init.node, node.id)
        return (plain, default) if default is not None else None

    def _is_parameter(self, node: ast.Name, init: Routine) -> bool:
        """Tell whether a name in `__init__` is what the object was made with, as it was given."""
        bound = self.program.files.bindings(self.module).reaching(node, node.id)
        is_given = bool(bound) and all(binding.kind == "parameter" for binding in bound)
        return is_given and self.module.function(node) is init.node


def batches_of(program: Program, value: Instance) -> int | None:
    """Return how many batches an object of a PyDataset class says it has."""
    found = program.resolver.attribute(value.made, "__len__")
    routine = found[0] if len(found) == 1 and isinstance(found[0], Routine) else None
    if routine is None:
        return None
    returns = [n.value for n in own_nodes(routine.node) if isinstance(n, ast.Return)]
    if len(returns) != 1:
        return None
    return _whole(Counting(program, routine.module, value).number(returns[0]))


def _literal(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _result(sign: ast.operator, left: Number | None, right: Number | None) -> Number | None:
    operation = _OPERATIONS.get(type(sign))
    if operation is None or left is None or right is None:
        return None
    return (
        None
        if right == 0 and not isinstance(sign, ast.Add | ast.Sub | ast.Mult)
        else operation(left, right)
    )


def _whole(number: Number | None) -> int | None:
    return int(number) if number is not None and number == int(number) and number > 0 else None
