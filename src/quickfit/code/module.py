"""One file of a program: its tree, what stands where in it, and how its text is edited."""

from __future__ import annotations

import ast
import io
import itertools
import os
import re
import textwrap
import tokenize
from collections import defaultdict
from functools import cached_property
from typing import TypeVar

from quickfit.code.edits import remove_keywords, with_keyword
from quickfit.code.syntax import (
    FUNCTIONS,
    LOOPS,
    Def,
    Function,
    Loop,
    is_docstring,
    name_of,
    parse_python,
)
from quickfit.errors import SourceError
from quickfit.findings import Edit, Position, Span

Node = TypeVar("Node", bound=ast.AST)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that may have other nodes in them, computed once."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        # Contexts and operators say nothing by themselves, and are shared between nodes.
        skipped = ("ctx", "op", "ops", "id", "attr", "arg", "lineno", "type_comment", "kind")
        self[kind] = tuple(field for field in kind._fields if field not in skipped)
        return self[kind]


_FIELDS = _Fields()


class Module:
    """A parsed file: its tree, what stands where in it, and edits of its text.

    Args:
        path: of the file.
        text: with `\\n` at its line ends.

    Raises:
        SourceError: the text is not Python.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = _parse_file(path, text)
        self.parents: dict[ast.AST, ast.AST] = {}
        self._by_kind: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self._calls: dict[str, list[ast.Call]] = defaultdict(list)
        self._index()

    def _index(self) -> None:
        waiting: list[ast.AST] = [self.tree]
        parents, by_kind = self.parents, self._by_kind
        # Half of the time of a check; a generator such as `ast.iter_child_nodes` doubles it.
        for node in waiting:
            kind = type(node)
            by_kind[kind].append(node)
            if kind is ast.Call:
                self._calls[name_of(node.func)].append(node)  # type: ignore[attr-defined,arg-type]
            for field in _FIELDS[kind]:
                value = getattr(node, field, None)
                children = value if type(value) is list else (value,)
                for child in children:
                    if isinstance(child, ast.AST):
                        parents[child] = node
                        waiting.append(child)

    @cached_property
    def lines(self) -> list[str]:
        """The lines as the parser counts them, for which a form feed ends none."""
        return self.text.split("\n")

    # -- finding ----------------------------------------------------------------------------

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node around a node."""
        return self.parents.get(node)

    def around(self, node: ast.AST, *kinds: type[Node]) -> Node | None:
        """Return the innermost node of these types around a node, the node itself not."""
        found = self.parents.get(node)
        while found is not None and not isinstance(found, kinds):
            found = self.parents.get(found)
        return found

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that a node is part of, or is."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def is_in(self, node: ast.AST, outer: ast.AST) -> bool:
        """Tell whether a node is part of another, or is it."""
        found: ast.AST | None = node
        while found is not None and found is not outer:
            found = self.parents.get(found)
        return found is outer

    def all(self, *kinds: type[Node], within: ast.AST | None = None) -> list[Node]:
        """Return the nodes of these types, in the order of the text."""
        if within is None:
            types = [each for kind in kinds for each in (kind, *kind.__subclasses__())]
            found = [node for each in types for node in self._by_kind.get(each, ())]
        else:
            found = [node for node in ast.walk(within) if isinstance(node, kinds)]
        return sorted(found, key=_position)  # type: ignore[arg-type]

    def calls(self, *names: str) -> list[ast.Call]:
        """Return the calls of `name(…)` or `something.name(…)`, in the order of the text."""
        return sorted((c for name in names for c in self._calls.get(name, ())), key=_position)

    def function(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node, in whose body (not head) it stands."""
        child, found = node, self.parents.get(node)
        while found is not None:
            if isinstance(found, FUNCTIONS) and _is_in_body(found, child):
                return found
            child, found = found, self.parents.get(found)
        return None

    def loops(self, node: ast.AST) -> list[Loop]:
        """Return the loops that run a node again and again, innermost first.

        Only those of the same function; the head of a `for` and its `else` run once.
        """
        found: list[Loop] = []
        child, above = node, self.parents.get(node)
        while above is not None and not isinstance(above, (*FUNCTIONS, ast.ClassDef)):
            if isinstance(above, LOOPS) and (
                child in above.body or (isinstance(above, ast.While) and child is above.test)
            ):
                found.append(above)
            child, above = above, self.parents.get(above)
        return found

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that a statement stands in, itself among them."""
        parent = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]

    # -- places -------------------------------------------------------------------

    def begin(self, node: ast.AST) -> Position:
        """Return line and column, in characters from 0, where a node begins.

        A decorated function begins at its first decorator.
        """
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            line = decorators[0].lineno
            while "@" not in self.lines[line - 1]:  # an opening bracket stands between
                line -= 1
            return line, self.lines[line - 1].index("@")
        return self._at(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> Position:
        """Return where a node ends."""
        return self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _at(self, line: int, offset: int) -> Position:
        text = self.lines[line - 1]
        return line, offset if text.isascii() else len(text.encode()[:offset].decode())

    def code(self, node: ast.AST) -> str:
        """Return the text of a node as it is written."""
        if not hasattr(node, "lineno"):
            return ast.unparse(node)
        return self.between(self.begin(node), self.end(node))

    def between(self, begin: Position, end: Position) -> str:
        """Return the text between two positions."""
        lines = self.lines[begin[0] - 1 : end[0]]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][begin[1] :]
        return "\n".join(lines)

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node; of a method's call, from the method's own name on."""
        begin = self._at(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self.end(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = self.end(node.func)
            begin = (name[0], name[1] - len(node.func.attr))
        return Span(self.path, begin[0], begin[1] + 1, end[0], end[1] + 1)

    def place(self, line: int) -> str:
        """Return a line as people name it: `train.py:41`."""
        return f"{os.path.basename(self.path)}:{line}"

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
        text = "\n".join(self.lines[self.begin(first)[0] - 1 : self.end(last)[0]]) + "\n"
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(textwrap.dedent(text)).readline))
        except (tokenize.TokenError, IndentationError):
            return True
        return any(token.type == tokenize.COMMENT for token in tokens)

    def comments_in(self, first: ast.stmt, last: ast.stmt | None = None) -> list[str]:
        """Return the comments in the lines of statements, each as a line of its own."""
        begin, end = self.begin(first)[0], self.end(last or first)[0]
        text = textwrap.dedent("\n".join(self.lines[begin - 1 : end])) + "\n"
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return [token.string for token in tokens if token.type == tokenize.COMMENT]

    # -- editing ----------------------------------------------------------------------------

    def replace(self, node: ast.AST, code: str) -> Edit:
        """Return the edit that puts other code in the place of an expression."""
        return Edit(self.path, self.begin(node), self.end(node), code)

    def replace_statements(self, first: ast.stmt, last: ast.stmt, code: str) -> Edit | None:
        """Put code, written without indentation, in the place of statements of one block."""
        if not (self.is_alone(first) and self.is_alone(last)):
            return None
        text = textwrap.indent(code.strip("\n"), self.indent(first))
        return Edit(self.path, (self.begin(first)[0], 0), self.end(last), text)

    def insert_before(self, statement: ast.stmt, code: str) -> Edit | None:
        """Add statements, written without indentation, in front of one and its comments."""
        if not self.is_alone(statement):
            return None
        place = (self._first_line(statement), 0)
        text = textwrap.indent(code.strip("\n"), self.indent(statement)) + "\n"
        return Edit(self.path, place, place, text)

    def insert_after(self, statement: ast.stmt, code: str) -> Edit | None:
        """Add statements, written without indentation, behind one."""
        if not self.is_alone(statement):
            return None
        line = self.end(statement)[0]
        place = (line, len(self.lines[line - 1]))
        text = textwrap.indent(code.strip("\n"), self.indent(statement))
        return Edit(self.path, place, place, "\n" + text)

    def remove(self, statement: ast.stmt) -> Edit | None:
        """Take a statement away, with the comments that belong to it."""
        if not self.is_alone(statement):
            return None
        if len(self.block(statement)) == 1:
            return self.replace_statements(statement, statement, "pass")
        first, last = self._first_line(statement), self.end(statement)[0]
        return Edit(self.path, (first, 0), (last + 1, 0), "")

    def _first_line(self, statement: ast.stmt) -> int:
        """Return the line of the first comment that stands directly above a statement."""
        line, indent = self.begin(statement)[0], self.indent(statement)
        while line > 1 and re.match(
            re.escape(indent) + r"#(?!!|.*coding[:=])", self.lines[line - 2]
        ):
            line -= 1
        return line

    def decorate(self, function: Def, code: str) -> Edit:
        """Add a decorator, such as `@tf.function`, above the others of a function."""
        line = self.begin(function)[0]
        return Edit(self.path, (line, 0), (line, 0), f"{self.indent(function)}{code}\n")

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
        docstring = [s for s in body[:1] if is_docstring(s)]
        behind = (imports or docstring)[-1:]
        if not behind:
            line = self._first_line(body[0]) if body else 1
            return Edit(self.path, (line, 0), (line, 0), f"{code}\n")
        line = self.end(behind[0])[0]
        place = (line, len(self.lines[line - 1]))
        return Edit(self.path, place, place, f"\n{code}")


def _is_in_body(function: Function, child: ast.AST) -> bool:
    if isinstance(function, ast.Lambda):
        return child is function.body
    return child in function.body


def _position(node: ast.AST) -> Position:
    """Order by where a node ends its head: of a chain of calls, the inner one first."""
    head = node.func if isinstance(node, ast.Call) else node
    line = getattr(head, "end_lineno" if head is not node else "lineno", 0)
    return line, getattr(head, "end_col_offset" if head is not node else "col_offset", 0)


def _parse_file(path: str, text: str) -> ast.Module:
    try:
        return parse_python(text)
    except SyntaxError as error:
        line, column = error.lineno or 0, error.offset or 0
        raise SourceError(f"{path}: {error.msg}", line=line, column=column) from error
    except ValueError as error:
        raise SourceError(f"{path}: cannot be read as Python ({error})") from error
