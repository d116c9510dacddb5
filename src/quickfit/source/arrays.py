"""Follows an array through the text of a script to the line that makes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from quickfit.source.calls import _name, parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | Function
Line = tuple[str, int]
_LIBRARIES = ("np", "numpy", "pd", "pandas")
# Methods of a random generator that give floats; what they belong to is not the array.
_RANDOM = ("normal", "random", "uniform", "standard_normal", "randn", "rand", "random_sample")
_SINGLE = ("float32", "float16", "half", "single", "bfloat16")
# Assignments and calls that are followed, one after the other.
MAX_DEPTH = 10


class Arrays:
    """The texts of a script's files, by name."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        trees = {file: parsed(text) for file, text in texts.items()}
        self.trees = {file: tree for file, tree in trees.items() if tree is not None}

    def maker(self, file: str, line: int, method: str) -> Line | None:
        """Return the line that makes the first array given to a call of `method` at a line."""
        tree = self.trees.get(file)
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)] if tree is not None else []
        named = [call for call in calls if _name(call) == method and call.args]
        here = [c for c in named if c.lineno <= line <= (c.end_lineno or 0)]
        if tree is None or len(here) != 1:
            return None
        return self._follow(here[0].args[0], file, _scope(tree, line), 0, 0)

    def _follow(
        self, value: ast.expr, file: str, scope: Scope, part: int, depth: int
    ) -> Line | None:
        """Return where a value, or a part of a tuple, is made; None where that is not told."""
        if depth > MAX_DEPTH:
            return None
        if isinstance(value, ast.Tuple | ast.List):
            parts = value.elts[part : part + 1]
            return self._first(parts, file, scope, depth)
        if isinstance(value, ast.Dict):
            return self._first(value.values, file, scope, depth)
        if isinstance(value, ast.BinOp):
            return self._first((value.left, value.right), file, scope, depth)
        if isinstance(value, ast.Subscript | ast.UnaryOp | ast.Starred):
            inner = value.operand if isinstance(value, ast.UnaryOp) else value.value
            return self._follow(inner, file, scope, part, depth + 1)
        if isinstance(value, ast.Call):
            return self._called(value, file, scope, part, depth)
        if isinstance(value, ast.Attribute):
            named = self._assigned(ast.unparse(value), file, self.trees[file], depth)
            return named or self._follow(value.value, file, scope, 0, depth + 1)
        return self._named(value.id, file, scope, depth) if isinstance(value, ast.Name) else None

    def _first(
        self, values: list[ast.expr] | tuple[ast.expr, ...], file: str, scope: Scope, depth: int
    ) -> Line | None:
        found = (self._follow(value, file, scope, 0, depth + 1) for value in values)
        return next((line for line in found if line is not None), None)

    def _called(
        self, call: ast.Call, file: str, scope: Scope, part: int, depth: int
    ) -> Line | None:
        """Return where the result of a call is made: in it, in what it is given, or at it."""
        name, here = _name(call), (file, call.func.end_lineno or call.lineno)
        if any(word in ast.unparse(k) for k in (*call.args, *call.keywords) for word in _SINGLE):
            return None  # it is made single here
        for other, function in self._functions(name):
            returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
            for value in returns:
                line = self._follow(value, other, function, part, depth + 1)
                if line is not None:
                    return line
        if name == "astype" or (name in _RANDOM and isinstance(call.func, ast.Attribute)):
            return here
        if isinstance(call.func, ast.Attribute) and _root(call) not in _LIBRARIES:
            inner = self._follow(call.func.value, file, scope, 0, depth + 1)
            return inner or self._first(call.args, file, scope, depth)
        return self._first(call.args, file, scope, depth) or here

    def _named(self, name: str, file: str, scope: Scope, depth: int) -> Line | None:
        if isinstance(scope, Function):
            names = [arg.arg for arg in (*scope.args.posonlyargs, *scope.args.args)]
            if name in names:
                return self._given(scope, names.index(name), depth)
        found = self._assigned(name, file, scope, depth)
        tree = self.trees[file]
        return found or (self._assigned(name, file, tree, depth) if scope is not tree else None)

    def _assigned(self, name: str, file: str, scope: Scope, depth: int) -> Line | None:
        """Return where what is assigned to a name is made; the first assignment that tells."""
        for value, part in _assignments(scope, name):
            if name not in map(ast.unparse, ast.walk(value)):
                line = self._follow(value, file, _scope(scope, value.lineno), part, depth + 1)
                if line is not None:
                    return line
        return None

    def _given(self, function: Function, place: int, depth: int) -> Line | None:
        """Return where the argument of a function is made, by the first call that tells."""
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and _name(node) == function.name:
                    given = node.args[place : place + 1]
                    line = self._first(given, file, _scope(tree, node.lineno), depth)
                    if line is not None:
                        return line
        return None

    def _functions(self, name: str) -> Iterator[tuple[str, Function]]:
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, Function) and node.name == name:
                    yield file, node


def _assignments(scope: Scope, name: str) -> Iterator[tuple[ast.expr, int]]:
    """Yield what is assigned to a name, and which part of it."""
    found = [n for n in ast.walk(scope) if isinstance(n, ast.Assign)]
    for node in sorted(found, key=lambda n: n.lineno):
        for target in node.targets:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            names = [ast.unparse(part) for part in parts]
            if name in names:
                yield node.value, names.index(name)


def _scope(tree: Scope, line: int) -> Scope:
    functions = [n for n in ast.walk(tree) if isinstance(n, Function)]
    around = [n for n in functions if n.lineno <= line <= (n.end_lineno or 0)]
    return max(around, key=lambda n: n.lineno, default=tree)


def _root(node: ast.expr) -> str:
    """Return the name that a chain of attributes and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
