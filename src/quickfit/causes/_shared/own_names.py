"""The names that a script has for its image files and their labels, where one alone is possible.

Names are followed inside the class or function that makes the batches, from where a picture is
opened back to a parameter, and from there to what the script gives for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

# Calls that open or decode a file of an image, by their last name.
_READERS = {"open", "imread", "load_img", "decode_jpeg", "decode_image", "decode_png"}
# Calls whose result has the same items.
_UNCHANGED = {"str", "fspath", "Path", "list", "tuple", "sorted", "array", "asarray", "stack"}
# A longer name is not worth repeating.
MAX_NAME = 80

Function = ast.FunctionDef | ast.AsyncFunctionDef


def names_of_files_and_labels(
    made: ast.ClassDef | Function | None, call: ast.Call | None
) -> tuple[str, str]:
    """Return the expressions for files and labels at the call that makes the input."""
    if made is None or call is None:
        return "", ""
    arguments = _arguments(made, call)
    follower = _Follower(made)
    paths = follower.lists(follower.read_expressions()) & set(arguments)
    labels = (follower.lists(follower.label_expressions()) & set(arguments)) - paths
    shown = ["", ""]
    for number, names in enumerate((paths, labels)):
        value = arguments[next(iter(names))] if len(names) == 1 else None
        if value is not None and _is_simple(value):
            shown[number] = ast.unparse(value)
    return shown[0], shown[1]


def _is_simple(value: ast.expr) -> bool:
    """Tell whether an expression can be written twice: a name, or a part of an object."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and len(value.id) <= MAX_NAME


def _arguments(made: ast.ClassDef | Function, call: ast.Call) -> dict[str, ast.expr]:
    """Return what a call gives for each parameter; nothing where it passes `*` or `**`."""
    function: ast.AST | None = made
    if isinstance(made, ast.ClassDef):
        function = next(
            (n for n in made.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
        )
    if not isinstance(function, Function):
        return {}
    given = _parameters(function)
    given = given[1:] if isinstance(made, ast.ClassDef) else given
    if any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > len(given):
        return {}
    found = dict(zip(given, call.args, strict=False))
    return found | {k.arg: k.value for k in call.keywords if k.arg}


def _parameters(function: Function) -> list[str]:
    """Return the parameters that can be given by place."""
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args)]


class _Follower:
    """Follows names inside a class or function back to its parameters."""

    def __init__(self, made: ast.ClassDef | Function) -> None:
        self._made = made
        methods = {n.name: n for n in made.body if isinstance(n, ast.FunctionDef)}
        is_class = isinstance(made, ast.ClassDef)
        self._methods = methods if is_class else {}
        own = methods.get("__init__") if is_class else made
        self._parameters = _parameters(own) if isinstance(own, Function) else []
        self._values: dict[str, list[tuple[ast.expr, bool]]] = {}
        for node in ast.walk(made):
            for target, value, is_item in (*_bindings(node), *self._handed_over(node)):
                self._values.setdefault(ast.unparse(target), []).append((value, is_item))

    def _handed_over(self, node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
        """Yield the parameters of a method of the class with what a call gives for them."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        method = self._methods.get(node.func.attr) if last_name(node.func.value) == "self" else None
        if method is not None:
            for name, value in zip(_parameters(method)[1:], node.args, strict=False):
                yield ast.Name(name, ast.Load()), value, False

    def read_expressions(self) -> list[ast.expr]:
        """Return what is given to the calls that open a picture."""
        return [
            n.args[0]
            for n in ast.walk(self._made)
            if isinstance(n, ast.Call) and n.args and last_name(n.func) in _READERS
        ]

    def label_expressions(self) -> list[ast.expr]:
        """Return the second of the two values that are yielded, or returned as an item."""
        item = self._methods.get("__getitem__") or self._methods.get("__next__") or self._made
        values = [n.value for n in ast.walk(item) if isinstance(n, ast.Yield | ast.Return)]
        return [v.elts[1] for v in values if isinstance(v, ast.Tuple) and len(v.elts) == 2]

    def lists(self, expressions: list[ast.expr]) -> set[str]:
        """Return the parameters whose items the expressions are, and nothing else.

        Empty where something is done to the items: then the parameter alone does not tell them.
        """
        todo, seen, found = [(e, False) for e in expressions], set[tuple[str, bool]](), set[str]()
        while todo:
            expression, is_item = todo.pop()
            origin = _origin(expression)
            if origin is None:
                return set()
            name, picks = origin
            is_item = is_item or picks
            if not name or (name, is_item) in seen:
                continue
            seen.add((name, is_item))
            todo += [(value, is_item or loops) for value, loops in self._values.get(name, [])]
            if name in self._parameters:
                if not is_item:
                    return set()
                found.add(name)
        return found


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield what gets a value, with the expression it comes from, and if it is an item of that."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value, is_item=False)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value, False
    elif isinstance(node, ast.For | ast.comprehension):
        yield from _items(node.target, node.iter)
    elif isinstance(node, ast.Call) and len(node.args) == 1:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "append":
            yield function.value, node.args[0], False


def _pairs(
    target: ast.expr, value: ast.expr, *, is_item: bool
) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    if not isinstance(target, ast.Tuple | ast.List):
        # `xs[j] = …` fills `xs`.
        yield target.value if isinstance(target, ast.Subscript) else target, value, is_item
    elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for each, part in zip(target.elts, value.elts, strict=True):
            yield from _pairs(each, part, is_item=is_item)
    else:
        for each in target.elts:  # a part of something: it is not followed
            yield from _pairs(each, ast.Tuple([], ast.Load()), is_item=is_item)


def _items(target: ast.expr, of: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield the names of a loop with what they are items of, through `zip` and `enumerate`."""
    called = last_name(of.func) if isinstance(of, ast.Call) else ""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    if isinstance(of, ast.Call) and called == "enumerate" and len(parts) == 2 and of.args:
        yield from _items(parts[1], of.args[0])
    elif isinstance(of, ast.Call) and called == "zip" and len(parts) == len(of.args) > 0:
        for each, part in zip(parts, of.args, strict=True):
            yield from _items(each, part)
    else:
        yield from _pairs(target, of, is_item=True)


def _origin(node: ast.expr) -> tuple[str, bool] | None:
    """Return the name that an expression only picks from, and if it picks; None for anything else.

    An empty list has no name: it is filled elsewhere.
    """
    picks = False
    while True:
        if isinstance(node, ast.Subscript):
            node, picks = node.value, True
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            node = node.elt
        elif isinstance(node, ast.Call) and last_name(node.func) in _UNCHANGED and node.args:
            node = node.args[0]
        else:
            break
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node), picks
    is_empty_list = isinstance(node, ast.List) and not node.elts
    return ("", picks) if is_empty_list else None


def last_name(node: ast.expr) -> str:
    """Return the name behind the last dot of what an expression names; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
