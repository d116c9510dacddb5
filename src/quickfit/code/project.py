"""A user's files as ones that can be edited: nodes found with `ast`, edits as spans of text."""

from __future__ import annotations

import ast
import io
import itertools
import os
import re
import textwrap
import tokenize
from collections.abc import Mapping, Sequence
from typing import TypeVar

from quickfit.code.edits import apply_edits, remove_keywords, with_keyword
from quickfit.code.module import ParsedFile
from quickfit.errors import SourceError
from quickfit.findings import Edit, Position

Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)


class Script(ParsedFile):
    """One file as one that can be edited. `text` must have `\\n` at its line ends.

    Raises:
        SourceError: the text is not Python.
    """

    @property
    def file(self) -> str:
        """The path of the file."""
        return self.path

    # -- looking ----------------------------------------------------------------------------

    def all(self, kind: type[Node], within: ast.AST | None = None) -> list[Node]:
        """Return the nodes of a type, in the order of the text."""
        if within is None and not kind.__subclasses__():
            nodes: list[Node] = self._by_kind.get(kind, [])  # type: ignore[assignment]
        else:
            nodes = [n for n in ast.walk(within or self.tree) if isinstance(n, kind)]
        return sorted(nodes, key=lambda n: self.begin(n) if hasattr(n, "lineno") else (0, 0))

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that a statement stands in, itself among them."""
        parent = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    def begin(self, node: ast.AST) -> Position:
        """Return where a node begins; a decorated function at its first decorator."""
        decorators = getattr(node, "decorator_list", [])
        if decorators:
            line = decorators[0].lineno
            while "@" not in self.lines[line - 1]:  # an opening bracket stands between
                line -= 1
            return line, self.lines[line - 1].index("@")
        return super().begin(node)

    def indent(self, statement: ast.stmt) -> str:
        """Return the white space in front of a statement."""
        line = self.lines[self.begin(statement)[0] - 1]
        return line[: len(line) - len(line.lstrip())]

    def is_alone(self, statement: ast.stmt) -> bool:
        """Tell whether nothing but a comment shares the lines of a statement."""
        begin, end = self.begin(statement), self.end(statement)
        before = self.lines[begin[0] - 1][: begin[1]].strip()
        after = self.lines[end[0] - 1][end[1] :].strip()
        return not before and (not after or after.startswith("#"))

    def has_comment(self, first: ast.stmt, last: ast.stmt) -> bool:
        """Tell whether a comment stands in the lines of these statements."""
        import io
        import tokenize

        text = "\n".join(self.lines[self.begin(first)[0] - 1 : self.end(last)[0]]) + "\n"
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(textwrap.dedent(text)).readline))
        except (tokenize.TokenError, IndentationError):
            return True
        return any(token.type == tokenize.COMMENT for token in tokens)

    # -- editing ----------------------------------------------------------------------------

    def replace_statements(self, first: ast.stmt, last: ast.stmt, code: str) -> Edit | None:
        """Put code, written without indentation, in the place of statements of one block."""
        if not (self.is_alone(first) and self.is_alone(last)):
            return None
        text = textwrap.indent(code.strip("\n"), self.indent(first))
        return Edit(self.file, (self.begin(first)[0], 0), self.end(last), text)

    def insert_before(self, statement: ast.stmt, code: str) -> Edit | None:
        """Add statements, written without indentation, in front of one and its comments."""
        if not self.is_alone(statement):
            return None
        place = (self._first_line(statement), 0)
        text = textwrap.indent(code.strip("\n"), self.indent(statement)) + "\n"
        return Edit(self.file, place, place, text)

    def insert_after(self, statement: ast.stmt, code: str) -> Edit | None:
        """Add statements, written without indentation, behind one."""
        if not self.is_alone(statement):
            return None
        line = self.end(statement)[0]
        place = (line, len(self.lines[line - 1]))
        text = textwrap.indent(code.strip("\n"), self.indent(statement))
        return Edit(self.file, place, place, "\n" + text)

    def remove(self, statement: ast.stmt) -> Edit | None:
        """Take a statement away, with the comments that belong to it."""
        if not self.is_alone(statement):
            return None
        if len(self.block(statement)) == 1:
            return self.replace_statements(statement, statement, "pass")
        first, last = self._first_line(statement), self.end(statement)[0]
        return Edit(self.file, (first, 0), (last + 1, 0), "")

    def _first_line(self, statement: ast.stmt) -> int:
        """Return the line of the first comment that stands directly above a statement."""
        line, indent = self.begin(statement)[0], self.indent(statement)
        while line > 1 and re.match(
            re.escape(indent) + r"#(?!!|.*coding[:=])", self.lines[line - 2]
        ):
            line -= 1
        return line

    def decorate(self, function: Function, code: str) -> Edit:
        """Add a decorator, such as `@tf.function`, above the others of a function."""
        line = self.begin(function)[0]
        return Edit(self.file, (line, 0), (line, 0), f"{self.indent(function)}{code}\n")

    def with_keyword(self, call: ast.Call, name: str, value: str) -> Edit | None:
        """Give a call the argument `name=value`, in the place of the one it has by that name."""
        return with_keyword(self, call, name, value, is_by_name_only=True)

    def without_keyword(self, call: ast.Call, name: str) -> Edit | None:
        """Take an argument by keyword from a call; None where the call does not have it."""
        return next(iter(remove_keywords(self, call, {name})), None)

    def import_of(self, module: str, alias: str = "") -> tuple[str, tuple[Edit, ...]]:
        """Return the name a module has here, and the edits that import it where it has none."""
        for node in self.all(ast.Import):
            if self.around(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
                continue
            for name in node.names:
                if name.name == module:
                    return name.asname or name.name, ()
        text = f"import {module} as {alias}" if alias else f"import {module}"
        return alias or module, (self._import_edit(text),)

    def from_import(self, module: str, name: str) -> tuple[str, tuple[Edit, ...]]:
        """Return the name that `from module import name` has here, and the edits that import it."""
        for node in self.all(ast.ImportFrom):
            for alias in node.names if node.module == module and not node.level else ():
                if alias.name == name and self.parent(node) is self.tree:
                    return alias.asname or alias.name, ()
        return name, (self._import_edit(f"from {module} import {name}"),)

    def _import_edit(self, code: str) -> Edit:
        """Return the edit that adds an import behind the last one at the top of the file."""
        body = self.tree.body
        # What stands further down is imported too late for the code between.
        blocks = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)
        top = list(itertools.takewhile(lambda s: not isinstance(s, blocks), body))
        imports = [s for s in top if isinstance(s, ast.Import | ast.ImportFrom)]
        docstring = [s for s in body[:1] if _is_docstring(s)]
        behind = (imports or docstring)[-1:]
        if not behind:
            line = self._first_line(body[0]) if body else 1
            return Edit(self.file, (line, 0), (line, 0), f"{code}\n")
        line = self.end(behind[0])[0]
        place = (line, len(self.lines[line - 1]))
        return Edit(self.file, place, place, f"\n{code}")


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class Project:
    """The user's files of one run, by their paths. Files that are not Python are left out."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = dict(texts)
        self._scripts: dict[str, Script | None] = {}

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files."""
        return tuple(self._texts)

    def script(self, file: str) -> Script | None:
        """Return a file, parsed once; None where there is none or it is not Python."""
        if file not in self._scripts:
            try:
                text = self._texts[file].replace("\r\n", "\n").replace("\r", "\n")
                self._scripts[file] = Script(file, text)
            except (KeyError, SourceError):
                self._scripts[file] = None
        return self._scripts[file]


# Longer lines are hard to read side by side.
WIDTH = 88


def code_with_replaced(script: Script, node: ast.AST, codes: Mapping[ast.expr, str]) -> str:
    """Return the text of a node, as the user wrote it, with expressions replaced."""
    first = script.begin(node)
    edits = []
    for inner, code in codes.items():
        begin, end = script.begin(inner), script.end(inner)
        edits.append(Edit(script.file, _relative(begin, first), _relative(end, first), code))
    return apply_edits(script.code(node), edits)


def call_code(name: str, given: Sequence[str], indent: str) -> str:
    """Return a call, over several lines where one would be too long."""
    line = f"{name}({', '.join(given)})"
    if len(indent) + len(line) <= WIDTH and "\n" not in line:
        return line
    rows = [textwrap.indent(f"{one},", "    ") for one in given]
    return "\n".join([f"{name}(", *rows, ")"])


def _relative(position: tuple[int, int], first: tuple[int, int]) -> tuple[int, int]:
    line = position[0] - first[0] + 1
    return line, position[1] - first[1] if line == 1 else position[1]


def comments_in(script: Script, first: ast.stmt, last: ast.stmt | None = None) -> list[str]:
    """Return the comments in the lines of statements, each as a line of its own."""
    begin, end = script.begin(first)[0], script.end(last or first)[0]
    text = textwrap.dedent("\n".join(script.lines[begin - 1 : end])) + "\n"
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def said(script: Script, line: int) -> str:
    """Return a place: `train.py:41`."""
    return f"{os.path.basename(script.file)}:{line}"
