"""How a generator walks over its items, and what may stay in front of its loops."""

from __future__ import annotations

import ast

from quickfit.causes._shared.image_pipeline.values import (
    INDEX,
    Facts,
    Item,
    Many,
    Names,
    NotRecognisedError,
    Place,
    Plain,
    Start,
    Value,
    code,
    number,
    same,
)
from quickfit.code.syntax import Def

_CEILS = ("math.ceil", "numpy.ceil", "ceil")


class Batching:
    """What the numbers of a generator stand for."""

    def __init__(self, names: Names, facts: Facts) -> None:
        self.names = names
        self.facts = facts
        # The function whose names are looked up first.
        self.scope: Def | None = None
        # Whether batches are drawn by chance, one after the other without end.
        self.draws = False
        # The expression that `len(self)` gives, in a class that has one.
        self.batches_of_class: ast.expr | None = None

    def moved(self, left: Value, operator: ast.operator, right: Value) -> Start:
        """Return a begin of a batch that is moved on, or made of the number of the batch."""
        if isinstance(right, Start) and isinstance(operator, ast.Mult | ast.Add):
            left, right = right, left
        if not isinstance(left, Start) or not isinstance(right, Plain):
            raise NotRecognisedError
        is_size = same(right.node, self.facts.batch_size)
        if isinstance(operator, ast.Mult) and left.counts_batches:
            if self.facts.batch_size is None:
                self.facts.batch_size, is_size = right.node, True
            if is_size:
                return Start(left.batches)
        if isinstance(operator, ast.Add):
            if left.counts_batches and number(right.node) == 1:
                return Start(left.batches + 1, counts_batches=True)
            if not left.counts_batches and is_size:
                return Start(left.batches + 1)
        raise NotRecognisedError

    def called(self, node: ast.Call, name: str, values: list[Value | None]) -> Value | None:
        """Return the numbers that `range(len(paths))`, a permutation or `min` gives."""
        if name == "min" and Start(1) in values and len(values) == 2:
            other = values[1 - values.index(Start(1))]
            if isinstance(other, Plain) and self.is_length(other.node):
                return Start(1)
            raise NotRecognisedError
        if name in ("range", "numpy.arange") and values == [Start(0), Start(1)]:
            return Many(Item(ast.Name(INDEX, ast.Load())), is_batch=True, is_array=True)
        if len(node.args) != 1 or node.keywords:
            return None
        if name in ("range", "numpy.arange"):
            return self._range(node.args[0], values[0])
        if name.rsplit(".", 1)[-1] == "permutation":
            if not isinstance(values[0], Plain) or not self.is_length(values[0].node):
                raise NotRecognisedError
            tag = f"line {node.lineno}"
            self.facts.shuffles.append(("", node.lineno))
            return Many(Item(ast.Name(INDEX, ast.Load()), frozenset({tag})), is_array=True)
        return None

    def _range(self, node: ast.expr, value: Value | None) -> Value | None:
        if isinstance(value, Plain) and self.is_length(value.node):
            return Many(Item(ast.Name(INDEX, ast.Load())), is_array=True)
        if isinstance(value, Plain) and self.draws and self.facts.batch_size is None:
            self.facts.batch_size = value.node
        if isinstance(value, Plain) and same(value.node, self.facts.batch_size):
            return Many(Place(), is_batch=True)
        return None

    def is_all(self, node: ast.expr) -> bool:
        """Tell whether an expression gives the numbers of all items, in their order."""
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            name = self.names.qualified(node.func)
            if name in ("list", "numpy.array"):
                return self.is_all(node.args[0])
            return name in ("range", "numpy.arange") and self.is_length(node.args[0])
        return False

    def is_length(self, node: ast.expr) -> bool:
        """Tell whether an expression is the length of a list; it is noted then."""
        found = self.length(node)
        if found is None:
            return False
        self.facts.lengths.append(found)
        return True

    def length(self, node: ast.expr) -> ast.expr | None:
        """Return the list whose length an expression is."""
        if isinstance(node, ast.Name | ast.Attribute):
            value = self.names.assigned(node, self.scope)
            return self.length(value) if value is not None else None
        if isinstance(node, ast.Call) and code(node.func) == "len" and len(node.args) == 1:
            return node.args[0] if code(node.args[0]) != "self" else None
        is_first = isinstance(node, ast.Subscript) and number(node.slice) == 0
        shape = node.value if is_first and isinstance(node, ast.Subscript) else None
        is_shape = isinstance(shape, ast.Attribute) and shape.attr == "shape"
        return shape.value if is_shape and isinstance(shape, ast.Attribute) else None

    # -- loops over batches -----------------------------------------------------------------

    def loop(self, node: ast.expr) -> Start | None:
        """Return what the variable of a loop over batches holds; None for another loop."""
        if not isinstance(node, ast.Call) or code(node.func) != "range" or node.keywords:
            return None
        if len(node.args) == 3 and number(node.args[0]) == 0:
            self.facts.batch_size = node.args[2]
            self.facts.drops = self._drops_at(node.args[1])
            return Start(0)
        if len(node.args) == 2 and number(node.args[0]) != 0:
            return None
        return self._counted(node.args[-1]) if node.args else None

    def _drops_at(self, end: ast.expr) -> bool:
        """Tell whether a loop up to an end leaves the incomplete batch out."""
        if self.is_length(end):
            return False
        size = code(self.facts.batch_size) if self.facts.batch_size else ""
        for node in ast.walk(end):
            if isinstance(node, ast.expr) and self.length(node) is not None:
                n = code(node)
                whole = (f"{n} - {size} + 1", f"{n} - {n} % {size}", f"{n} // {size} * {size}")
                if code(end) in whole and self.is_length(node):
                    return True
        raise NotRecognisedError

    def _counted(self, node: ast.expr) -> Start | None:
        """Return the number of a batch where an expression is the number of all batches."""
        found = self.batches(node)
        if found is None:
            return None
        self.facts.batch_size, self.facts.drops = found
        return Start(0, counts_batches=True)

    def batches(self, node: ast.expr) -> tuple[ast.expr, bool] | None:
        """Return the batch size and whether the rest is dropped, of a number of batches."""
        if isinstance(node, ast.Name | ast.Attribute):
            value = self.names.assigned(node, self.scope)
            return self.batches(value) if value is not None else None
        if code(node) == "len(self)" and self.batches_of_class is not None:
            return self.batches(self.batches_of_class)
        if isinstance(node, ast.Call):
            return self._rounded(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return self._divided(node.left, node.right)
        return None

    def _rounded(self, node: ast.Call) -> tuple[ast.expr, bool] | None:
        name = self.names.qualified(node.func)
        if len(node.args) != 1 or node.keywords:
            return None
        inner = node.args[0]
        if name == "int":
            is_quotient = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div)
            if is_quotient and isinstance(inner, ast.BinOp) and self.is_length(inner.left):
                return _bare(inner.right), True
            if isinstance(inner, ast.Call) and self.names.qualified(inner.func) == "numpy.floor":
                node, name = inner, "numpy.floor"
            else:
                return self.batches(inner)
        if name not in (*_CEILS, "numpy.floor", "math.floor") or len(node.args) != 1:
            return None
        inner = node.args[0]
        if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Div):
            return None
        return (_bare(inner.right), name.endswith("floor")) if self.is_length(inner.left) else None

    def _divided(self, upper: ast.expr, size: ast.expr) -> tuple[ast.expr, bool] | None:
        if self.is_length(upper):
            return size, True
        for node in ast.walk(upper):
            text = f"{code(node)} + {code(size)} - 1" if isinstance(node, ast.expr) else ""
            if isinstance(node, ast.expr) and code(upper) == text and self.is_length(node):
                return size, False
        return None


def _bare(node: ast.expr) -> ast.expr:
    """Return the batch size of `float(batch_size)`."""
    if isinstance(node, ast.Call) and code(node.func) == "float" and len(node.args) == 1:
        return node.args[0]
    return node


# Calls that give the same each time as long as the files are the same, and change nothing else.
_HARMLESS = {"len", "list", "sorted", "range", "zip", "enumerate", "str", "int", "float", "tuple"}
_HARMLESS |= {"dict", "set", "min", "max", "sum", "array", "asarray", "arange", "zeros", "eye"}
_HARMLESS |= {"glob", "rglob", "listdir", "iterdir", "join", "basename", "dirname", "splitext"}
_HARMLESS |= {"Path", "isdir", "isfile", "is_dir", "is_file", "exists", "split", "rsplit", "strip"}
_HARMLESS |= {"startswith", "endswith", "lower", "upper", "replace", "index", "get", "format"}
_HARMLESS |= {"read_csv", "reader", "DictReader", "ceil", "floor", "unique", "items", "keys"}
_HARMLESS |= {"values", "tolist", "print"}
# Methods that fill a list; harmless where the list is made in the same place.
_FILLS = {"append", "extend"}
_KEPT = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Assert, ast.For, ast.If, ast.With)
_NEVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.Return, ast.Break, ast.Try, ast.NamedExpr)


def check_kept(statement: ast.stmt) -> None:
    """Make sure that a statement may run when the dataset is made, and not with its first batch.

    Raises:
        NotRecognisedError: where it gives a batch, or ends the generator.
    """
    if not isinstance(statement, _KEPT):
        raise NotRecognisedError
    if any(isinstance(n, (*_NEVER, ast.Global, ast.Nonlocal)) for n in ast.walk(statement)):
        raise NotRecognisedError


def is_harmless(statement: ast.stmt, own: set[str]) -> bool:
    """Tell whether a statement gives the same each time it runs, and changes nothing else.

    `own` are the names that statements before it have made.
    """
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else code(node.func)
            base = code(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if name not in _HARMLESS and not (name in _FILLS and base in own):
                return False
            if ".random" in code(node.func) or "rng" in base:
                return False
        is_part = isinstance(node, ast.Attribute | ast.Subscript)
        if is_part and not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            return False
    return True


def stored(statements: list[ast.stmt]) -> set[str]:
    """Return the names that statements give a value."""
    nodes = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
    return {n.id for n in nodes if isinstance(n.ctx, ast.Store)}


def filled(statements: list[ast.stmt]) -> set[str]:
    """Return the names of lists that statements put something into."""
    found = set()
    for node in (n for s in statements for n in ast.walk(s)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {code(node.func.value)} if node.func.attr in _FILLS else set()
        if isinstance(node, ast.AugAssign):
            found.add(code(node.target))
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found.add(code(node.value))
    return found


def first_loop(body: list[ast.stmt]) -> int:
    """Return the place of the loop that gives batches or items."""
    for at, statement in enumerate(body):
        if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(statement)):
            if not isinstance(statement, ast.For | ast.While):
                raise NotRecognisedError
            return at
    raise NotRecognisedError
