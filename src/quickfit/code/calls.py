"""Which argument of a call is which parameter, also out of `*parts` and `**options`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from quickfit.code.module import Module
from quickfit.code.syntax import Function, name_of
from quickfit.code.values import UNKNOWN, Class, Frame, Group, Made, Value, Values

if TYPE_CHECKING:
    from quickfit.code.program import Program
    from quickfit.code.resolver import Resolver


def default_of_parameter(function: Function, name: str) -> ast.expr | None:
    """Return the default of a parameter."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    for arg, default in zip(reversed(plain), reversed(given.defaults), strict=False):
        if arg.arg == name:
            return default
    for arg, keyword_default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if arg.arg == name:
            return keyword_default
    return None


def position_of_parameter(module: Module, function: Function, name: str) -> int:
    """Return at which position a call gives a parameter; -1 for one that has only a name."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    is_method = isinstance(module.parents.get(function), ast.ClassDef) and not is_static_method(
        function
    )
    offset = 1 if is_method else 0
    return names.index(name) - offset if name in names else -1


def is_static_method(function: Function) -> bool:
    """Tell whether a method takes no object."""
    decorators = getattr(function, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)


def is_first_parameter(function: Function, name: str) -> bool:
    """Tell whether a parameter is the object or class of a method."""
    plain = [*function.args.posonlyargs, *function.args.args]
    return bool(plain) and plain[0].arg == name and not is_static_method(function)


def is_index(index: object, elements: list[ast.expr]) -> bool:
    """Tell whether an index picks one of these elements."""
    if type(index) is not int or any(isinstance(e, ast.Starred) for e in elements):
        return False
    return -len(elements) <= index < len(elements)


def assigned_to_self(owner: Class, name: str) -> list[ast.expr]:
    """Return what the methods of a class assign to `self.name`."""
    if owner.node not in _assigned:
        _assigned[owner.node] = _all_assigned(owner.node)
    return list(_assigned[owner.node].get(name, ()))


# A class is asked for its attributes again and again, and is walked through once.
_assigned: WeakKeyDictionary[ast.ClassDef, dict[str, list[ast.expr]]] = WeakKeyDictionary()


def _all_assigned(node: ast.ClassDef) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for name, value in (pair for t in targets for pair in _to_self(t, part.value)):
                found.setdefault(name, []).append(value)
    return found


def _to_self(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return the attributes that an assignment sets, also `self.x, self.y = x, y`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        if len(target.elts) != len(value.elts):
            return []
        pairs = zip(target.elts, value.elts, strict=True)
        return [found for t, v in pairs for found in _to_self(t, v)]
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return []
    return [(target.attr, value)] if target.value.id in ("self", "cls") else []


@dataclass(frozen=True)
class Spread:
    """The one `*rest` of a call, and the position of an argument that it may give.

    Args:
        call: the call.
        rest: what is spread.
        index: which part of it the argument is, if it has so many.
    """

    call: ast.Call
    rest: ast.expr
    index: int

    def behind(self, length: int) -> ast.expr | None:
        """Return the argument where what is spread has this length, and ends before it."""
        later = self.call.args[len(self.call.args) - self._later :]
        at = self.index - length
        return later[at] if 0 <= at < len(later) else None

    @property
    def is_last(self) -> bool:
        """Whether nothing is given behind it."""
        return self._later == 0

    @property
    def _later(self) -> int:
        starred = next(n for n, a in enumerate(self.call.args) if isinstance(a, ast.Starred))
        return len(self.call.args) - starred - 1


def is_hidden_in_spread(call: ast.Call, position: int) -> bool:
    """Tell whether an argument may be given by `*rest` or `**rest`.

    Args:
        call: that does not name the argument.
        position: of the argument; below 0 for one that is only given by its name.
    """
    if any(k.arg is None for k in call.keywords):
        return True
    before = call.args[: position + 1] if position >= 0 else ()
    return any(isinstance(a, ast.Starred) for a in before)


def spread_at(call: ast.Call, position: int) -> Spread | None:
    """Return what is spread over a position; None where that is not clear."""
    stars = [n for n, a in enumerate(call.args) if isinstance(a, ast.Starred)]
    if len(stars) != 1 or not 0 <= stars[0] <= position or any(not k.arg for k in call.keywords):
        return None
    starred = call.args[stars[0]]
    assert isinstance(starred, ast.Starred)
    return Spread(call, starred.value, position - stars[0])


def parts_of_spread(resolver: Resolver, frame: Frame, position: int, *, is_needed: bool) -> Values:
    """Return what a parameter may be; nothing where it keeps its default.

    Args:
        resolver: of the program.
        frame: the call.
        position: of the parameter.
        is_needed: it has no default, so that it is surely given.
    """
    spread = spread_at(frame.call, position)
    if spread is None:
        return (UNKNOWN,)
    found = [
        _part(resolver, frame, spread, value, is_needed=is_needed)
        for value in resolver.meaning(frame.module, spread.rest, frame.outer)
    ]
    is_sometimes = any(found) and not all(found)
    return (UNKNOWN,) if is_sometimes else tuple(v for values in found for v in values)


def _part(
    resolver: Resolver, frame: Frame, spread: Spread, value: Value, *, is_needed: bool
) -> Values:
    length = _length(value)
    if length is None and not (spread.is_last and is_needed):
        return (UNKNOWN,)
    if length is None or spread.index < length:
        return resolver.item(value, spread.index, frame.outer)
    given = spread.behind(length)
    return resolver.meaning(frame.module, given, frame.outer) if given is not None else ()


def _length(value: Value) -> int | None:
    if not isinstance(value, Group) or not isinstance(value.node, ast.Tuple | ast.List):
        return None
    is_open = any(isinstance(each, ast.Starred) for each in value.node.elts)
    return None if is_open else len(value.node.elts)


Place = tuple[Module, ast.expr]
MAX_DEPTH = 4
# Change what a dictionary has in it.
_CHANGING = frozenset(("update", "pop", "popitem", "setdefault", "clear", "__setitem__"))
# Read a dictionary that they are given.
_READING = frozenset(("print", "pprint", "len", "dict", "str", "repr", "sorted", "list", "tuple"))


def unpack_keyword_dicts(
    program: Program, module: Module, call: ast.Call
) -> dict[str, Place] | None:
    """Return what a call gets by `**options`, by its names; None where more may be in it.

    Empty where the text of the call shows everything.
    """
    if any(isinstance(given, ast.Starred) for given in call.args):
        return None
    dicts = [(k.arg, k.value) for k in call.keywords if k.arg is None]
    return _joined(program, module, dicts, MAX_DEPTH)


def _joined(
    program: Program,
    module: Module,
    parts: Sequence[tuple[str | None, ast.expr]],
    depth: int,
) -> dict[str, Place] | None:
    """Return the items of a dictionary: by their keys, or None for another one spread in it."""
    found: dict[str, Place] = {}
    for key, value in parts:
        inner: dict[str, Place] | None = {key: (module, value)} if key is not None else None
        if key is None:
            inner = _items(program, module, value, depth)
        if inner is None:
            return None
        found |= inner
    return found


def _items(program: Program, module: Module, node: ast.expr, depth: int) -> dict[str, Place] | None:
    """Return what a dictionary surely has in it, and nothing else."""
    only = program.only(module, node) if depth else None
    if not isinstance(only, Made | Group) or _is_changed(module, node):
        return None
    if any(_is_changed(only.module, target) for target in _targets(only)):
        return None
    parts = _items_as_written(only)
    return _joined(program, only.module, parts, depth - 1) if parts is not None else None


def _items_as_written(value: Made | Group) -> list[tuple[str | None, ast.expr]] | None:
    """Return the items as they are written: `{"a": 1, **more}` or `dict(more, a=1)`."""
    if isinstance(value, Made):
        if value.maker != "builtins.dict" or len(value.call.args) > 1:
            return None
        given = [(k.arg, k.value) for k in value.call.keywords]
        return [*((None, each) for each in value.call.args), *given]
    if not isinstance(value.node, ast.Dict):
        return None
    found: list[tuple[str | None, ast.expr]] = []
    for key, item in zip(value.node.keys, value.node.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if key is not None and not isinstance(name, str):
            return None
        found.append((name if isinstance(name, str) else None, item))
    return found


def _targets(value: Made | Group) -> list[ast.expr]:
    """Return what a dictionary is called where it is made."""
    node = value.call if isinstance(value, Made) else value.node
    statement = value.module.parent(node)
    if isinstance(statement, ast.AnnAssign):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []


def _is_changed(module: Module, node: ast.expr, depth: int = MAX_DEPTH) -> bool:
    """Tell whether a file may change what is called alike, itself or through a function."""
    name = name_of(node)
    if not name or depth == 0:
        return depth == 0
    alike = [n for n in module.all(ast.Name, ast.Attribute) if name_of(n) == name]
    return any(_changes(module, each, depth) for each in alike)


def _changes(module: Module, node: ast.AST, depth: int) -> bool:
    above = module.parent(node)
    if isinstance(above, ast.Subscript) and above.value is node:
        return not isinstance(above.ctx, ast.Load)
    if isinstance(above, ast.Attribute) and above.value is node:
        return above.attr in _CHANGING and isinstance(module.parent(above), ast.Call)
    if isinstance(above, ast.AugAssign):
        return above.target is node
    if isinstance(above, ast.Assign) and above.value is node:
        # It has a second name from here on.
        others = [t for t in above.targets if name_of(t) != name_of(node)]
        return any(_is_changed(module, target, depth - 1) for target in others)
    if isinstance(above, ast.keyword):
        return above.arg is not None and not _reads(module.parent(above))
    # A function that is given the dictionary itself may do anything with it.
    return isinstance(above, ast.Call) and node in above.args and not _reads(above)


def _reads(call: ast.AST | None) -> bool:
    return isinstance(call, ast.Call) and name_of(call.func) in _READING
