"""A whole program: what its expressions stand for, and which of them are the same thing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from quickfit.code.files import Files
from quickfit.code.module import Module
from quickfit.code.resolver import Resolver
from quickfit.code.values import (
    External,
    Frame,
    Instance,
    Item,
    Literal,
    Made,
    Member,
    Unknown,
    Value,
    Values,
)
from quickfit.errors import SourceError


class Program:
    """The files that are read together.

    Args:
        paths: of the files, Python and notebooks; each is read when it is asked for.
        texts: of files that are not to be read from disk, by path.
    """

    def __init__(self, paths: Iterable[str] = (), texts: Mapping[str, str] | None = None) -> None:
        self.files = Files([*paths, *(texts or {})], texts)
        self.resolver = Resolver(self.files)
        self.notes: list[str] = []
        # The pins of its project do not count.
        self.assumes_keras3 = False

    def module(self, path: str) -> Module:
        """Return a parsed file.

        Raises:
            SourceError: it cannot be read, or is not Python.
        """
        return self.files.module(path)

    def find_module(self, path: str) -> Module | None:
        """Return a parsed file; None where the program has no such file, or it is not Python."""
        try:
            return self.files.module(path) if path in self.files else None
        except SourceError:
            return None

    def modules(self) -> list[Module]:
        """Return all files of the program that are Python."""
        found = (self.find_module(path) for path in self.paths)
        return [module for module in found if module is not None]

    @property
    def paths(self) -> list[str]:
        """The paths of all files."""
        return self.files.paths

    def tidy(self) -> None:
        """Make room, if there is little left; to be called when nobody holds a module or a node."""
        if self.files.is_full:
            self.files.forget()
            self.resolver.forget()

    def values(self, module: Module, node: ast.expr | None, frame: Frame | None = None) -> Values:
        """Return what an expression may stand for; where that is open, `UNKNOWN` is among it."""
        return self.resolver.values(module, node, frame) if node is not None else ()

    def only(
        self, module: Module, node: ast.expr | None, frame: Frame | None = None
    ) -> Value | None:
        """Return what an expression stands for, where there is one possibility."""
        found = self.values(module, node, frame)
        return found[0] if len(found) == 1 else None

    def name(self, module: Module, node: ast.expr | None, frame: Frame | None = None) -> str:
        """Return the full name of what an expression surely is in a library; else empty."""
        only = self.only(module, node, frame)
        return only.name if isinstance(only, External) else ""

    def maker(self, module: Module, node: ast.expr | None, frame: Frame | None = None) -> str:
        """Return the full name of what surely made an object: `keras.Sequential`; else empty."""
        only = self.only(module, node, frame)
        return only.maker if isinstance(only, Made) else ""

    def literal(self, module: Module, node: ast.expr | None, frame: Frame | None = None) -> object:
        """Return the number, text or truth value that an expression surely is; else None."""
        only = self.only(module, node, frame)
        return only.value if isinstance(only, Literal) else None

    def called(self, module: Module, call: ast.Call) -> str:
        """Return the full name of the library function or class that a call surely calls."""
        return self.name(module, call.func)

    def ancestors(self, value: Value) -> set[str]:
        """Return the full names of the library classes that an object of the program comes from."""
        return self.resolver.ancestors(value.made) if isinstance(value, Instance) else set()


Place = tuple[Module, ast.expr]


def is_same_thing(program: Program, one: Place, other: Place) -> bool:
    """Tell whether an expression is, or may well be, what another one surely is."""
    values, others = program.values(*one), program.values(*other)
    if is_among(values, others):
        return True
    (module, node), (there, named) = one, other
    if module is not there or ast.dump(node) != ast.dump(named):
        return False
    return isinstance(node, ast.Name) and _bindings_of_place(program, one) == _bindings_of_place(
        program, other
    )


def is_among(values: Values, others: Values) -> bool:
    """Tell whether all that something may be is certain, and among what another thing may be."""
    certain = all(_is_certain(value) for value in values)
    return bool(values) and certain and set(values) <= set(others)


def _is_certain(value: Value) -> bool:
    """Tell whether two equal values mean the same object; equal numbers do not."""
    if isinstance(value, Unknown | Literal):
        return False
    if isinstance(value, Item | Member):
        return _is_certain(value.of)
    return True


def _bindings_of_place(program: Program, place: Place) -> list[ast.AST]:
    module, node = place
    assert isinstance(node, ast.Name)
    return [b.node for b in program.files.bindings(module).reaching(node, node.id)] or [node]
