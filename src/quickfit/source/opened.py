"""Finds lines that open a file and do not close it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeGuard

from quickfit.source.calls import _name, parsed

# Names of calls that open something; `Image.open` and `gzip.open` are called `open` too.
_OPENS = {
    *("open", "File", "ZipFile", "TarFile", "NamedTemporaryFile", "TemporaryFile", "fdopen"),
    *("TFRecordWriter", "create_file_writer", "FileWriter", "Popen", "socket", "connect"),
    *("memmap", "GFile", "VideoCapture", "VideoWriter", "mkstemp", "SummaryWriter"),
}
# `np.load` of an archive keeps the archive open; only where it is kept itself is that for good.
_KEEPS_OPEN = {"load"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Opened:
    """A call that opens something, outside of a `with`, and no `close` for it.

    Args:
        is_kept: it goes into a container or an object, which keeps it open for sure.
        function: the function around it; empty at the top.
    """

    line: int
    name: str
    is_kept: bool
    function: str


def opened(text: str) -> list[Opened]:
    """Return the calls that open something for good, as far as text can say."""
    tree = parsed(text)
    if tree is None:
        return []
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    closed = _closed(tree)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _name(node) not in _OPENS | _KEEPS_OPEN:
            continue
        targets = _targets(node, parents)
        if targets is None or targets & closed:
            continue
        is_kept = any(_is_kept(tree, target) for target in targets) or _is_added(node, parents)
        if _name(node) in _KEEPS_OPEN and not (is_kept and _is_of_numpy(node)):
            continue
        found.append(Opened(node.lineno, _name(node), is_kept, _function(node, parents)))
    return sorted(found, key=lambda one: one.line)


def _is_of_numpy(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("np.load", "numpy.load")


def _closed(tree: ast.Module) -> set[str]:
    """Return what is closed, or used by a `with`, by its name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("close", "release", "terminate", "wait"):
                found.add(ast.unparse(node.func.value))
        elif isinstance(node, ast.withitem):
            found.add(ast.unparse(node.context_expr))
    return found


def _targets(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> set[str] | None:
    """Return the names that a call's result is given; None where it is closed by itself."""
    parent = parents.get(call)
    # `open(p).read()` is closed when it is read; a `with` closes what it opens.
    if isinstance(parent, ast.withitem | ast.Attribute | ast.Expr):
        return None
    if isinstance(parent, ast.Call) and _name(parent) in ("closing", "enter_context"):
        return None
    if isinstance(parent, ast.Assign):
        return {ast.unparse(target) for target in parent.targets}
    return set()


def _is_kept(tree: ast.Module, target: str) -> bool:
    """Tell whether a name is that of an attribute or an item, or goes into a container."""
    if "[" in target:
        return True
    for node in ast.walk(tree):
        if _adds(node) and any(ast.unparse(arg) == target for arg in node.args):
            return True
        targets = node.targets if isinstance(node, ast.Assign) else []
        is_given = isinstance(node, ast.Assign) and ast.unparse(node.value) == target
        if is_given and any(isinstance(one, ast.Subscript) for one in targets):
            return True
    return False


def _adds(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("append", "add", "insert", "extend", "appendleft")


def _is_added(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> bool:
    """Tell whether a call's result goes into a container directly: `files.append(open(p))`."""
    node: ast.AST | None = parents.get(call)
    while node is not None and not isinstance(node, ast.stmt):
        if _adds(node):
            return True
        node = parents.get(node)
    return False


def _function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    one: ast.AST | None = parents.get(node)
    while one is not None:
        if isinstance(one, _FUNCTIONS):
            return one.name
        one = parents.get(one)
    return ""
