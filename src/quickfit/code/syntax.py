"""Python text as a tree, parsed once, and what its nodes say by themselves."""

from __future__ import annotations

import ast
import warnings

Def = ast.FunctionDef | ast.AsyncFunctionDef
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Loop = ast.For | ast.AsyncFor | ast.While
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

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


def receiver_of(call: ast.Call) -> ast.expr | None:
    """Return the object whose method is called."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def names_in(node: ast.AST) -> set[str]:
    """Return all names that code reads or binds."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def parameter_names(function: Function) -> list[str]:
    """Return the names of a function's parameters, without `*rest` and `**rest`."""
    given = function.args
    return [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is a text that stands by itself."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
