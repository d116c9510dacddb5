"""Reads a loop that cuts batches out of arrays: which arrays, how many rows, in which order."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quickfit.code import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    only_value,
    reads,
    scope_of,
    value_of,
    writes,
)

# They give what cannot be cut as a whole: files, frames of tables.
_NO_ARRAYS = re.compile(r"\b(memmap|mmap_mode|h5py|zarr|pandas|dask)\b")
_REDUCTIONS = {"mean", "std", "max", "min", "sum"}


@dataclass(frozen=True)
class Batches:
    """The loop over batches, whose names are known.

    Args:
        loop: the loop.
        size: the code of the number of rows of a batch.
        rows: the code of how many rows there are.
        is_cut: rows that do not fill a batch are left out.
        begins, ends: the ways to write where a batch begins and ends.
        values: what the names stand for that the loop binds once.
    """

    module: Module
    loop: ast.For
    size: str
    rows: str
    is_cut: bool
    begins: tuple[str, ...]
    ends: tuple[str, ...]
    values: Mapping[str, ast.expr] = field(default_factory=dict)

    def whole(self, value: ast.expr) -> str:
        """Return the code of all rows, where an expression takes a batch; nothing if unclear."""
        if isinstance(value, ast.List | ast.Tuple):
            parts = [self.whole(part) for part in value.elts]
            brackets = "[]" if isinstance(value, ast.List) else "()"
            return f"{brackets[0]}{', '.join(parts)}{brackets[1]}" if all(parts) else ""
        if not isinstance(value, ast.Subscript) or not self._is_steady(value.value):
            return ""
        array = self.module.code(value.value)
        if isinstance(value.slice, ast.Slice):
            return self._cut(array) if self._is_batch(value.slice) else ""
        rows = self._rows(value.slice)
        return f"{array}[{rows}]" if rows else ""

    def _rows(self, index: ast.expr) -> str:
        """Return the code of all row numbers, where an index is a batch of them."""
        index = self.values.get(index.id, index) if isinstance(index, ast.Name) else index
        if not isinstance(index, ast.Subscript) or not self._is_steady(index.value):
            return ""
        if not isinstance(index.slice, ast.Slice) or not self._is_batch(index.slice):
            return ""
        return self._cut(self.module.code(index.value))

    def are_all_rows(self) -> bool:
        """Tell whether the loop goes over all rows of the arrays that it cuts, and no more."""
        nodes = [n for s in self.loop.body for n in ast.walk(s) if isinstance(n, ast.Subscript)]
        cut = [n.value for n in nodes if isinstance(n.slice, ast.Slice) and self._is_batch(n.slice)]
        orders = [v for v in cut if self._is_order(v)]
        arrays = [v for v in cut if v not in orders]
        is_covered = not arrays or any(self._covers(v) for v in arrays)
        return bool(cut) and is_covered and all(self._is_full_order(v) for v in orders)

    def _is_order(self, array: ast.expr) -> bool:
        """Tell whether a batch of an array chooses rows of others."""
        batch = self.module.parent(array)
        assert batch is not None
        names = {n for n, v in self.values.items() if v is batch}
        indices = [
            n.slice for s in self.loop.body for n in ast.walk(s) if isinstance(n, ast.Subscript)
        ]
        return batch in indices or any(isinstance(i, ast.Name) and i.id in names for i in indices)

    def _covers(self, array: ast.expr) -> bool:
        code = self.module.code(array)
        return self.rows in (f"len({code})", f"{code}.shape[0]")

    def _is_full_order(self, order: ast.expr) -> bool:
        """Tell whether an array of row numbers is as long as the loop goes."""
        if self._covers(order):
            return True
        scope = scope_of(self.module, self.loop)
        found = binders(scope, order.id) if isinstance(order, ast.Name) else []
        made = [value_of(self.module, node) for node in found]
        return bool(made) and all(self._is_permutation(value) for value in made)

    def _is_permutation(self, value: ast.expr | None) -> bool:
        if not isinstance(value, ast.Call) or len(value.args) != 1:
            return False
        name = dotted(value.func).rpartition(".")[2]
        length = _meant(self.module, self.loop, value.args[0])
        return name in ("permutation", "arange") and length == self.rows

    def _cut(self, array: str) -> str:
        return f"{array}[: len({array}) // {self.size} * {self.size}]" if self.is_cut else array

    def _is_steady(self, array: ast.expr) -> bool:
        bound = writes(self.loop.target, *self.loop.body)
        return bool(dotted(array)) and not reads(array) & bound

    def _is_batch(self, rows: ast.Slice) -> bool:
        begin, end = self._text(rows.lower), self._text(rows.upper)
        return rows.step is None and begin in self.begins and end in self.ends

    def _text(self, value: ast.expr | None) -> str:
        """Return an expression in one way of writing, with the loop's own names filled in."""
        if value is None:
            return ""
        return ast.unparse(_Filled(self.values).visit(copy.deepcopy(value)))

    def is_index(self, statement: ast.stmt) -> bool:
        """Tell whether a statement only names a part of the rows' numbers."""
        value = statement.value if isinstance(statement, ast.Assign) else None
        if value is None or isinstance(value, ast.Tuple):
            return False
        is_place = self._text(value) in (*self.begins, *self.ends)
        return is_place or (isinstance(value, ast.Subscript) and bool(self._is_rows(value)))

    def _is_rows(self, value: ast.Subscript) -> bool:
        """Tell whether a name for `order[start : start + 32]` is used as an index alone."""
        names = {n for n, v in self.values.items() if v is value}
        uses = [
            n
            for s in self.loop.body
            for n in ast.walk(s)
            if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
        ]
        parents = [self.module.parent(n) for n in uses]
        is_index = [isinstance(p, ast.Subscript) and p.slice in uses for p in parents]
        return bool(self._rows(value)) and bool(uses) and all(is_index)

    def is_by_row(self, value: ast.expr, named: Sequence[str]) -> bool:
        """Tell whether an expression computes each row from that row alone."""
        if self.whole(value):
            return True
        if isinstance(value, ast.Name):
            return value.id in named or value.id not in writes(self.loop)
        if isinstance(value, ast.BinOp):
            is_plain = not isinstance(value.op, ast.MatMult)
            return is_plain and all(self.is_by_row(v, named) for v in (value.left, value.right))
        if isinstance(value, ast.UnaryOp):
            return isinstance(value.op, ast.USub) and self.is_by_row(value.operand, named)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            return _is_row_method(value) and self.is_by_row(value.func.value, named)
        return isinstance(value, ast.Constant) and type(value.value) in (int, float)


class _Filled(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self._values[node.id]) if node.id in self._values else node


def _is_row_method(call: ast.Call) -> bool:
    """Tell whether a method keeps rows apart: `astype`, or a reduction over later axes."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "astype":
        return len(call.args) == 1 and not call.keywords
    keywords = {k.arg: k.value for k in call.keywords}
    axis = call.args[0] if len(call.args) == 1 else keywords.pop("axis", None)
    kept = keywords.pop("keepdims", None)
    if call.func.attr not in _REDUCTIONS or keywords or len(call.args) > 1 or axis is None:
        return False
    axes = axis.elts if isinstance(axis, ast.Tuple) else [axis]
    is_late = all(
        isinstance(a, ast.Constant) and type(a.value) is int and a.value > 0 for a in axes
    )
    return is_late and isinstance(kept, ast.Constant) and kept.value is True


def batches_of(module: Module, loop: ast.For) -> Batches | None:
    """Return what a loop over the rows of arrays does; None where it is not one."""
    call, name = _unwrapped(loop.iter), loop.target
    if _NO_ARRAYS.search(module.text) or not isinstance(name, ast.Name) or loop.orelse:
        return None
    if not isinstance(call, ast.Call) or dotted(call.func) != "range" or call.keywords:
        return None
    if len(call.args) not in (1, 3):
        return None
    read = _by_start if len(call.args) == 3 else _by_number
    found = read(module, loop, name.id, _values(loop))
    return found if found is not None and found.are_all_rows() else None


def _unwrapped(iterated: ast.expr) -> ast.expr:
    """Return what a progress bar goes over."""
    if is_bar(iterated) and isinstance(iterated, ast.Call):
        return iterated.args[0] if iterated.args else iterated
    return iterated


def is_bar(iterated: ast.expr) -> bool:
    """Tell whether a loop shows a progress bar."""
    called = dotted(iterated.func) if isinstance(iterated, ast.Call) else ""
    return called in ("tqdm", "tqdm.tqdm", "tqdm.auto.tqdm")


def _values(loop: ast.For) -> dict[str, ast.expr]:
    """Return the values of the names that the body of a loop binds once."""
    pairs = [pair for statement in loop.body for pair in assigned(statement)]
    body = ast.Module(loop.body, [])
    return {name: value for name, value in pairs if len(binders(body, name)) == 1}


def assigned(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Return the names and values of `a = one` or `a, b = one, two`; nothing for others."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
        pairs = pairs if len(target.elts) == len(value.elts) else []
    names = [(part.id, one) for part, one in pairs if isinstance(part, ast.Name)]
    return names if len(names) == len(pairs) else []


def _by_start(
    module: Module, loop: ast.For, name: str, values: Mapping[str, ast.expr]
) -> Batches | None:
    """Read `for start in range(0, len(x), 32)`."""
    iterated = _unwrapped(loop.iter)
    assert isinstance(iterated, ast.Call)
    begin, end, step = iterated.args
    size = module.code(step)
    if ast.unparse(begin) != "0" or not isinstance(step, ast.Name | ast.Constant | ast.Attribute):
        return None
    rows = _meant(module, loop, end)
    is_cut = rows.endswith(f" - {size} + 1")
    rows = rows.removesuffix(f" - {size} + 1")
    if not _is_length(rows):
        return None
    last = f"{name} + {size}"
    ends = (last, f"{size} + {name}", f"min({last}, {ast.unparse(end)})", f"min({last}, {rows})")
    return Batches(module, loop, size, rows, is_cut, (name,), ends, values)


def _by_number(
    module: Module, loop: ast.For, name: str, values: Mapping[str, ast.expr]
) -> Batches | None:
    """Read `for number in range(len(x) // 32)`."""
    iterated = _unwrapped(loop.iter)
    assert isinstance(iterated, ast.Call)
    count = _meant(module, loop, iterated.args[0])
    rows, size, is_cut = _parts_of(module, count)
    rows = _with_names(module, loop, rows)
    if not rows or not re.fullmatch(r"[\w.]+", size) or not _is_length(rows):
        return None
    begins = (f"{name} * {size}", f"{size} * {name}")
    ends = (f"({name} + 1) * {size}", f"{size} * ({name} + 1)", *(f"{b} + {size}" for b in begins))
    return Batches(module, loop, size, rows, is_cut, begins, ends, values)


def _parts_of(module: Module, count: str) -> tuple[str, str, bool]:
    """Return rows and rows per batch of a number of batches, and whether the rest is left out."""
    inner = re.fullmatch(r"int\((.*)\)", count)
    rounded = re.fullmatch(r"([\w.]*ceil)\((.+) / ([\w.]+)\)", inner[1] if inner else count)
    if rounded is not None:
        path = import_path(module, rounded[1])
        is_whole = path == "math.ceil" or (path == "numpy.ceil" and inner is not None)
        return (rounded[2], rounded[3], False) if is_whole else ("", "", False)
    more = re.fullmatch(r"\((.+) \+ ([\w.]+) - 1\) // ([\w.]+)", count)
    if more is not None:
        return (more[1], more[3], False) if more[2] == more[3] else ("", "", False)
    rows, _, size = count.rpartition(" // ")
    return rows, size, True


def _meant(module: Module, loop: ast.For, value: ast.expr) -> str:
    """Return an expression; for a name that is bound once, what it stands for."""
    text = ast.unparse(value)
    if not isinstance(value, ast.Name):
        return _with_names(module, loop, text)
    found = _settled(module, loop, value.id)
    return _with_names(module, loop, found) if found else text


def _with_names(module: Module, loop: ast.For, text: str) -> str:
    """Fill in what a name such as `n` stands for, at the beginning of an expression."""
    first, space, rest = text.partition(" ")
    found = _settled(module, loop, first) if first.isidentifier() else ""
    return f"{found}{space}{rest}" if found else text


def _settled(module: Module, loop: ast.For, name: str) -> str:
    """Return the value of a name that nothing changes, nor the array that it is the length of."""
    scope = scope_of(module, loop)
    value = only_value(module, scope, name)
    if value is None:
        return ""
    is_same = all(len(binders(scope, other)) <= 1 for other in reads(value))
    return ast.unparse(value) if is_same else ""


def _is_length(rows: str) -> bool:
    """Tell whether a number of rows is all rows of an array."""
    return bool(re.fullmatch(r"len\([\w.]+\)|[\w.]+\.shape\[0\]", rows))
