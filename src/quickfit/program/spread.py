"""Arguments that a call takes out of a tuple: `f(*data, 3)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.program.frames import Frame
from quickfit.program.values import UNKNOWN, Group, Value, Values

if TYPE_CHECKING:
    from quickfit.program.resolver import Resolver


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


def is_hidden(call: ast.Call, position: int) -> bool:
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


def parts(resolver: Resolver, frame: Frame, position: int, *, is_needed: bool) -> Values:
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
