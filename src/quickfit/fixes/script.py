"""A user's file as one that can be edited: nodes found with `ast`, edits written with LibCST.

Every method that makes an `Edit` leaves what it does not replace as it stands: comments,
formatting, the order of arguments. None means that the place cannot be edited safely.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from quickfit.fixes.change import Edit, Position
from quickfit.source.calls import parsed

if TYPE_CHECKING:
    import libcst

Function = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)


class Script:
    """One parsed file. `text` must have `\\n` at its line ends.

    Raises:
        SyntaxError: the text is not Python.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.lines = text.split("\n")
        tree = parsed(text)
        if tree is None:
            raise SyntaxError(f"{file}: not valid Python")
        self.tree = tree
        self._parents = {
            child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
        }

    # -- looking ----------------------------------------------------------------------------

    def all(self, kind: type[Node], within: ast.AST | None = None) -> list[Node]:
        """Return the nodes of a type, in the order of the text."""
        nodes = [n for n in ast.walk(within or self.tree) if isinstance(n, kind)]
        return sorted(nodes, key=lambda n: self.begin(n) if hasattr(n, "lineno") else (0, 0))

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node around a node; None around the whole text."""
        return self._parents.get(node)

    def around(self, node: ast.AST, *kinds: type[Node]) -> Node | None:
        """Return the innermost node of these types around a node, the node itself not."""
        found = self._parents.get(node)
        while found is not None and not isinstance(found, kinds):
            found = self._parents.get(found)
        return found

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that a node is part of, or is."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that a statement stands in, itself among them."""
        parent = self._parents[statement]
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
        return node.lineno, self._column(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> Position:
        """Return where a node ends."""
        line, offset = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return line, self._column(line, offset)

    def _column(self, line: int, offset: int) -> int:
        """Return the column in characters; `ast` counts bytes of UTF-8."""
        return len(self.lines[line - 1].encode()[:offset].decode())

    def code(self, node: ast.AST) -> str:
        """Return the text of a node as the user wrote it."""
        return self.between(self.begin(node), self.end(node))

    def between(self, begin: Position, end: Position) -> str:
        """Return the text between two positions."""
        lines = self.lines[begin[0] - 1 : end[0]]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][begin[1] :]
        return "\n".join(lines)

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

    def replace(self, node: ast.expr, code: str) -> Edit:
        """Put other code in the place of an expression; brackets it needs are the caller's."""
        return Edit(self.file, self.begin(node), self.end(node), code)

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
        from quickfit.fixes import codemods

        if any(keyword.arg is None for keyword in call.keywords):
            return None  # `**options` may hold it
        if any(self.end(argument) == self.end(call) for argument in call.args):
            return None  # `f(x for x in y)`: the brackets of the call are the generator's
        for keyword in call.keywords:
            if keyword.arg == name:
                return self.replace(keyword.value, value)
        return self._edited(call, lambda node: codemods.with_keyword(node, name, value))

    def without_keyword(self, call: ast.Call, name: str) -> Edit | None:
        """Take an argument by keyword from a call; None where the call does not have it."""
        from quickfit.fixes import codemods

        if all(keyword.arg != name for keyword in call.keywords):
            return None
        return self._edited(call, lambda node: codemods.without_keyword(node, name))

    def _edited(self, call: ast.Call, edit: object) -> Edit | None:
        from quickfit.fixes import codemods

        found = codemods.call_at(self._module, self.begin(call), self.end(call))
        if found is None:
            return None
        indent = self.indent(self.statement(call))
        before, after = codemods.codes(found, edit, indent)  # type: ignore[arg-type]
        # A layout that LibCST writes otherwise than the user is left alone.
        return (
            self._smallest(self.begin(call), before, after) if before == self.code(call) else None
        )

    @cached_property
    def _module(self) -> libcst.MetadataWrapper:
        from quickfit.fixes import codemods

        return codemods.module(self.text)

    def _smallest(self, begin: Position, before: str, after: str) -> Edit:
        """Return the edit from one code to another without what they begin and end with alike."""
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        rest = 0
        while rest < min(len(before), len(after)) - same and before[-1 - rest] == after[-1 - rest]:
            rest += 1
        begins, ends = before[:same], before[: len(before) - rest]
        text = after[same : len(after) - rest]
        return Edit(self.file, _moved(begin, begins), _moved(begin, ends), text)

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


def _moved(begin: Position, text: str) -> Position:
    """Return where a text ends that begins at a position."""
    rows = text.split("\n")
    return (
        (begin[0], begin[1] + len(text))
        if len(rows) == 1
        else (begin[0] + len(rows) - 1, len(rows[-1]))
    )


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
            except (KeyError, SyntaxError):
                self._scripts[file] = None
        return self._scripts[file]
