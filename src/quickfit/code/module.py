"""One file of a program: its tree, and what stands where in it, found in a single walk."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from functools import cached_property
from typing import TypeVar

from quickfit.errors import SourceError
from quickfit.findings import Edit, Position, Span

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Loop = ast.For | ast.AsyncFor | ast.While
LOOPS = (ast.For, ast.AsyncFor, ast.While)
Node = TypeVar("Node", bound=ast.AST)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that may have other nodes in them, computed once."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        # Contexts and operators say nothing by themselves, and are shared between nodes.
        skipped = ("ctx", "op", "ops", "id", "attr", "arg", "lineno", "type_comment", "kind")
        self[kind] = tuple(field for field in kind._fields if field not in skipped)
        return self[kind]


_FIELDS = _Fields()


# Trees that are kept for texts that are asked about again: a report asks dozens of questions about
# the same few files. A tree takes about sixty times the room of its text.
MAX_KEPT_TREE_CHARS = 300_000
_trees: dict[str, ast.Module] = {}


def parse_python(text: str) -> ast.Module:
    """Return the tree of a text, parsed once while it is in use; nobody may change it.

    Raises:
        SyntaxError, ValueError: it is not Python; also where it is too deeply nested.
    """
    tree = _trees.pop(text, None)
    if tree is None:
        try:
            with warnings.catch_warnings():
                # Odd escapes in the user's strings are not for our reader to hear about.
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (RecursionError, MemoryError) as error:
            raise ValueError("too deeply nested") from error
    _trees[text] = tree
    while len(_trees) > 1 and sum(map(len, _trees)) > MAX_KEPT_TREE_CHARS:
        del _trees[next(iter(_trees))]
    return tree


def parse_or_none(text: str) -> ast.Module | None:
    """Return the tree of a text; None where it is not Python."""
    try:
        return parse_python(text)
    except (SyntaxError, ValueError):
        return None


def parse_expression(code: str) -> ast.expr:
    """Return the tree of an expression of our own making, which may be changed."""
    return ast.parse(code, mode="eval").body


def parse_code(code: str) -> ast.Module:
    """Return the tree of code of our own making, which may be changed.

    Raises:
        SyntaxError: it is not Python.
    """
    return ast.parse(code)


class ParsedFile:
    """A file with its tree, and what stands where in it.

    Args:
        path: of the file.
        text: with `\\n` at its line ends.

    Raises:
        SourceError: the text is not Python.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = _parsed(path, text)
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

    # -- places and edits -------------------------------------------------------------------

    def begin(self, node: ast.AST) -> Position:
        """Return line and column, in characters from 0, where a node begins."""
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

    def replace(self, node: ast.AST, code: str) -> Edit:
        """Return the edit that puts other code in the place of an expression."""
        return Edit(self.path, self.begin(node), self.end(node), code)


class Module(ParsedFile):
    """A file of a whole program.

    Args:
        path: of the file.
        text: with `\\n` at its line ends.
        name: as other files import it, such as `project.data`; empty where nobody can.

    Raises:
        SourceError: the text is not Python.
    """

    def __init__(self, path: str, text: str, name: str = "") -> None:
        super().__init__(path, text)
        self.name = name

    def all(self, *kinds: type[Node]) -> list[Node]:
        """Return the nodes of these very types, in the order of the text."""
        found = [node for kind in kinds for node in self._by_kind.get(kind, ())]
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

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node; of a method's call, from the method's own name on."""
        begin, end = self.begin(node), self.end(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = self.end(node.func)
            begin = (name[0], name[1] - len(node.func.attr))
        return Span(self.path, begin[0], begin[1] + 1, end[0], end[1] + 1)


def name_of(node: ast.AST) -> str:
    """Return the last name of `a.b.name` or `name`; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def called_name(call: ast.Call) -> str:
    """Return the last name of what a call calls: `fit` of `model.fit(…)`."""
    return name_of(call.func)


def keyword_value(call: ast.Call, name: str) -> ast.expr | None:
    """Return what a call gives for a keyword."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """Return what a call gives for an argument, by its name or its position.

    None also where it may be hidden in `*rest` or `**rest`; ask `is_open` for that.
    """
    before = call.args[: position + 1]
    if len(before) > position and not any(isinstance(a, ast.Starred) for a in before):
        return before[position]
    return keyword_value(call, name)


def is_open(call: ast.Call) -> bool:
    """Tell whether a call has arguments that the text does not show: `*rest`, `**rest`."""
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    return starred or any(k.arg is None for k in call.keywords)


def own_nodes(function: ast.AST) -> list[ast.AST]:
    """Return what a function or class consists of, without the functions and classes inside."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(function))
    for node in waiting:
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return waiting


def _is_in_body(function: Function, child: ast.AST) -> bool:
    if isinstance(function, ast.Lambda):
        return child is function.body
    return child in function.body


def _position(node: ast.AST) -> Position:
    """Order by where a node ends its head: of a chain of calls, the inner one first."""
    head = node.func if isinstance(node, ast.Call) else node
    line = getattr(head, "end_lineno" if head is not node else "lineno", 0)
    return line, getattr(head, "end_col_offset" if head is not node else "col_offset", 0)


def _parsed(path: str, text: str) -> ast.Module:
    try:
        return parse_python(text)
    except SyntaxError as error:
        line, column = error.lineno or 0, error.offset or 0
        raise SourceError(f"{path}: {error.msg}", line=line, column=column) from error
    except ValueError as error:
        raise SourceError(f"{path}: cannot be read as Python ({error})") from error
