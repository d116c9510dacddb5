"""What an expression may stand for, and the calls through which that was found."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from quickfit.code.module import Module
from quickfit.code.syntax import Function


@dataclass(frozen=True)
class Frame:
    """A function that is followed for one call of it; `outer` is where that call stands."""

    function: Function
    call: ast.Call
    module: Module
    outer: Frame | None
    depth: int = 0

    def is_in(self, function: Function) -> bool:
        """Tell whether a function is being followed already."""
        found: Frame | None = self
        while found is not None and found.function is not function:
            found = found.outer
        return found is not None


class Value:
    """One thing that an expression may stand for."""


@dataclass(frozen=True)
class External(Value):
    """Something of a library, by its usual full name: `keras.layers.Dense`, `builtins.len`."""

    name: str


@dataclass(frozen=True)
class Literal(Value):
    """A number, text, truth value or None."""

    value: object


@dataclass(frozen=True)
class Routine(Value):
    """A function or lambda of the program; `owner` is the class whose method it is."""

    node: Function
    module: Module
    owner: Class | None = None


@dataclass(frozen=True)
class Class(Value):
    """A class of the program."""

    node: ast.ClassDef
    module: Module


@dataclass(frozen=True)
class Instance(Value):
    """An object of a class of the program."""

    made: Class
    call: ast.Call
    module: Module


@dataclass(frozen=True)
class File(Value):
    """A module of the program, imported."""

    module: Module


@dataclass(frozen=True)
class Group(Value):
    """A tuple, list, set, dictionary or comprehension, as it is written."""

    node: ast.expr
    module: Module


@dataclass(frozen=True)
class Made(Value):
    """What a call gives that nobody looks into.

    Args:
        call: the call.
        module: where it stands.
        maker: the full name of what is called, where a library has it: `keras.Sequential`.
        method: the name of a method of some object: `shuffle`.
        receiver: what that object may be.
        frame: the calls of functions through which it was found; its arguments mean what these
            give them.
    """

    call: ast.Call
    module: Module
    maker: str = ""
    method: str = ""
    receiver: tuple[Value, ...] = ()
    # The same object is found through different calls.
    frame: Frame | None = field(default=None, compare=False)

    def __hash__(self) -> int:
        # Chains are long, and each part would hash all parts in front of it.
        return hash((self.call, self.method))


@dataclass(frozen=True)
class Member(Value):
    """An attribute of something made elsewhere: `model.optimizer`."""

    of: Value
    name: str


@dataclass(frozen=True)
class Item(Value):
    """A part of something made elsewhere: by its position, or any of those it runs over."""

    of: Value
    index: object = None


@dataclass(frozen=True)
class Parameter(Value):
    """An argument of a function that nobody is seen to call."""

    node: Function
    name: str
    module: Module


@dataclass(frozen=True)
class Computed(Value):
    """The result of arithmetic, a comparison, a formatted text."""

    node: ast.expr
    module: Module


@dataclass(frozen=True)
class Unknown(Value):
    """Anything."""


UNKNOWN = Unknown()
Values = tuple[Value, ...]
