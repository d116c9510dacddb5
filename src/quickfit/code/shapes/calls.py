"""Calls whose arguments have known shapes: of library functions, and of the program's own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quickfit.code.calls import (
    Spread,
    default_of_parameter,
    is_first_parameter,
    is_hidden_in_spread,
    position_of_parameter,
    spread_at,
)
from quickfit.code.module import Module
from quickfit.code.shapes.shape import (
    Array,
    Parts,
    Shape,
    Side,
    Stream,
    Thing,
    as_array,
    item_shape,
    merge_shapes,
)
from quickfit.code.syntax import Function, argument, is_open, keyword_value, own_nodes
from quickfit.code.values import Group, Literal, Routine

if TYPE_CHECKING:
    from quickfit.code.shapes.shaping import Shaping

Env = dict[ast.arg, Thing | None]
# A position behind all that a call has: for arguments that are given by their name.
BY_NAME = 99


@dataclass(frozen=True)
class Question:
    """What is asked about a call: `x.reshape(3)` has `x` as its first argument.

    Args:
        shaping: answers for the arguments.
        module: where the call stands.
        node: the call.
        env: what the parameters of the functions around it are.
        receiver: the object whose method it is.
        is_method: it is a method of `receiver`.
    """

    shaping: Shaping
    module: Module
    node: ast.expr
    env: Env = field(default_factory=dict)
    receiver: Thing | None = None
    is_method: bool = False

    @property
    def call(self) -> ast.Call:
        """The call."""
        assert isinstance(self.node, ast.Call)
        return self.node

    def given(self, name: str, position: int) -> ast.expr | None:
        """Return what is written for an argument."""
        return argument(self.call, name, position - 1 if self.is_method else position)

    def thing(self, name: str, position: int) -> Thing | None:
        """Return what is known of the shape of an argument."""
        if self.is_method and position == 0:
            return self.receiver
        return self.shaping.of(self.module, self.given(name, position), self.env)

    def array(self, name: str, position: int) -> Array | None:
        """Return an argument as the array that a library makes of it."""
        return as_array(self.thing(name, position))

    def is_given(self, name: str, position: int) -> bool:
        """Tell whether there is an argument, or may be one that is not shown."""
        given = self.given(name, position)
        is_none = isinstance(given, ast.Constant) and given.value is None
        return (given is not None and not is_none) or is_open(self.call)

    def literal(self, name: str, position: int, default: object = None) -> object:
        """Return the number, text or truth value that an argument surely is."""
        given = self.given(name, position)
        if given is None:
            return default if not is_open(self.call) else None
        return self.shaping.program.literal(self.module, given)

    def number(self, name: str, position: int) -> Side:
        """Return the whole number that an argument surely is."""
        found = self.literal(name, position)
        return found if type(found) is int else None

    def sides(self, name: str, position: int) -> Shape | None:
        """Return the shape that an argument names."""
        return self.shape(self.given(name, position))

    def shape(self, node: ast.expr | None) -> Shape | None:
        """Return the shape that an expression names: a number, a tuple, `x.shape[1:]`."""
        if node is None:
            return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.shape(node.left), self.shape(node.right)
            if isinstance(node.left, ast.Tuple | ast.List) or isinstance(node.right, ast.Tuple):
                return left + right if left is not None and right is not None else None
        known = self._of_shape(node)
        if known is not None:
            return known
        only = self.shaping.program.only(self.module, node)
        if isinstance(only, Literal):
            return (only.value,) if type(only.value) is int else None
        if isinstance(only, Group) and isinstance(only.node, ast.Tuple | ast.List):
            return self._numbers(only.module, only.node.elts)
        thing = self.shaping.of(self.module, node, self.env)
        return (None,) if isinstance(thing, Array) and not thing.sides else None

    def _of_shape(self, node: ast.expr) -> Shape | None:
        """Return what `x.shape` or `x.shape[1:]` is."""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            inner = self._of_shape(node.value)
            return self._sliced(inner, node.slice) if inner is not None else None
        owner = node.value if isinstance(node, ast.Attribute) and node.attr == "shape" else None
        if isinstance(node, ast.Call) and len(node.args) == 1:
            name = self.shaping.program.called(self.module, node)
            owner = node.args[0] if name in ("tensorflow.shape", "keras.ops.shape") else None
        found = as_array(self.shaping.of(self.module, owner, self.env))
        return found.sides if found is not None else None

    def _sliced(self, sides: Shape, part: ast.Slice) -> Shape | None:
        numbers: list[int | None] = []
        for bound in (part.lower, part.upper, part.step):
            number = self.shaping.program.literal(self.module, bound)
            if bound is not None and type(number) is not int:
                return None
            numbers.append(number if isinstance(number, int) else None)
        return sides[slice(*numbers)]

    def _numbers(self, module: Module, nodes: list[ast.expr]) -> Shape | None:
        if any(isinstance(node, ast.Starred) for node in nodes):
            return None
        found = [self.shaping.program.literal(module, node) for node in nodes]
        return tuple(n if type(n) is int and n >= 0 else None for n in found)

    def fresh(self, sides: Shape | None) -> Array | None:
        """Return an array that this call makes."""
        return Array(sides, place=(self.module, self.node)) if sides is not None else None


# Decorators behind which a function gives what it gave before.
_PLAIN = frozenset(("tensorflow.function", "builtins.staticmethod", "builtins.classmethod"))


def argument_shapes(shaping: Shaping, routine: Routine, question: Question) -> Env:
    """Return what one call gives for the parameters of a function of the program."""
    home, module = routine.node, routine.module
    args = [*home.args.posonlyargs, *home.args.args, *home.args.kwonlyargs]
    return {a: argument_shape(module, home, a.arg, question) for a in args}


def argument_shape(module: Module, home: Function, name: str, asked: Question) -> Thing | None:
    """Return what one call of a function gives for a parameter."""
    call, at = asked.call, position_of_parameter(module, home, name)
    given = argument(call, name, at) if at >= 0 else keyword_value(call, name)
    if given is not None:
        return asked.shaping.of(asked.module, given, asked.env)
    default = default_of_parameter(home, name)
    if is_hidden_in_spread(call, at):
        return _spread(spread_at(call, at), asked, is_needed=default is None)
    return asked.shaping.of(module, default) if default is not None else None


def _spread(spread: Spread | None, asked: Question, *, is_needed: bool) -> Thing | None:
    """Return what `f(*data, 3)` gives for a parameter."""
    data = asked.shaping.of(asked.module, spread.rest, asked.env) if spread is not None else None
    if spread is None or data is None:
        return None
    length = len(data.items) if isinstance(data, Parts) else None
    if length is None:
        return item_shape(data, spread.index) if spread.is_last and is_needed else None
    if spread.index < length:
        return item_shape(data, spread.index)
    return asked.shaping.of(asked.module, spread.behind(length), asked.env)


def run_routine(
    shaping: Shaping, routine: Routine, given: Env, env: Env | None = None
) -> Thing | None:
    """Return what a function gives when its parameters are these."""
    home, module = routine.node, routine.module
    inner = {**(env or {}), **given}
    if isinstance(home, ast.Lambda):
        return shaping.of(module, home.body, inner)
    if not _is_plain(shaping, module, home):
        return None
    nodes = own_nodes(home)
    yields = [n.value for n in nodes if isinstance(n, ast.Yield)]
    if yields or any(isinstance(n, ast.YieldFrom) for n in nodes):
        is_whole = not any(isinstance(n, ast.YieldFrom) for n in nodes)
        return Stream(
            merge_shapes(shaping.of(module, y, inner) for y in yields) if is_whole else None
        )
    returns = [n.value for n in nodes if isinstance(n, ast.Return)]
    return merge_shapes(shaping.of(module, r, inner) for r in returns)


def called_with(
    shaping: Shaping, routine: Routine, things: Sequence[Thing | None], env: Env | None = None
) -> Thing | None:
    """Return what a function gives for these arguments, one behind the other."""
    plain = [*routine.node.args.posonlyargs, *routine.node.args.args]
    if plain and is_first_of_method(routine.module, routine.node, plain[0].arg):
        plain = plain[1:]
    if routine.node.args.vararg is not None or len(plain) < len(things):
        return None
    given: Env = dict.fromkeys(plain)
    given.update(zip(plain, things, strict=False))
    return run_routine(shaping, routine, given, env)


def is_first_of_method(module: Module, home: Function, name: str) -> bool:
    """Tell whether a parameter is the object of a method."""
    return isinstance(module.parent(home), ast.ClassDef) and is_first_parameter(home, name)


def _is_plain(
    shaping: Shaping, module: Module, home: ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    names = [d.func if isinstance(d, ast.Call) else d for d in home.decorator_list]
    return all(shaping.program.name(module, name) in _PLAIN for name in names)
