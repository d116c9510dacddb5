"""What the text of a whole program says: names followed through assignments, calls and files."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from quickfit.program.files import Files
from quickfit.program.frames import Frame
from quickfit.program.module import Module, argument, is_open, keyword, name_of, own_nodes
from quickfit.program.resolver import Resolver
from quickfit.program.values import External, Instance, Literal, Made, Value, Values

__all__ = ["Module", "Program", "argument", "is_open", "keyword", "name_of", "own_nodes"]


class Program:
    """The files that are read together.

    Args:
        paths: of the files, Python and notebooks; each is read when it is asked for.
        texts: of files that are not to be read from disk, by path.
    """

    def __init__(self, paths: Iterable[str], texts: dict[str, str] | None = None) -> None:
        self.files = Files([*paths, *(texts or {})], texts)
        self.resolver = Resolver(self.files)
        self.notes: list[str] = []

    def module(self, path: str) -> Module:
        """Return a parsed file.

        Raises:
            SourceError: it cannot be read, or is not Python.
        """
        return self.files.module(path)

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
