"""Makes arrays tensors once, so that a step takes its rows from them without a copy by Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.findings import FixClass
from quickfit.fixes.bindings import (
    binders,
    dotted,
    imported,
    loops_around,
    reads,
    scope_of,
    value_of,
    writes,
)
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.script import Script

TITLE = "Make the data tensors once, and take the rows of each batch from them"
MEMORY = "The tensors are a second copy of the data in memory."
ROUNDING = "NumPy computed in float64 where TensorFlow computes in float32: equal to rounding."
_NO_ARRAYS = re.compile(r"\b(memmap|mmap_mode|h5py|zarr|pandas|dask)\b")
_MAKERS = {"constant", "convert_to_tensor"}
_CHOOSERS = {"permutation", "arange", "integers", "randint", "choice"}
# Around these an expression needs no brackets.
_APART = (ast.Assign, ast.Call, ast.keyword, ast.Return, ast.Tuple, ast.List)
_DRAWN = {"integers", "random", "normal", "uniform", "standard_normal"}
_OPERATORS = {ast.Div: "/", ast.Mult: "*", ast.Sub: "-", ast.Add: "+"}


@dataclass(frozen=True)
class Rows:
    """Rows of an array that become a tensor, and the code that takes them from a tensor."""

    whole: ast.expr
    array: ast.Name
    code: str
    is_rounded: bool


def rows_of_tensors(script: Script, line: int) -> Change | None:
    """Make the arrays tensors whose rows the loop around a line copies."""
    loops = [n for n in script.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    alias, imports = script.import_of("tensorflow", "tf")
    if not loops or imports or _NO_ARRAYS.search(script.text):
        return None
    found = list(_all_rows(script, loops[-1], alias))
    copied = [r for r in found if r.whole.lineno <= line <= (r.whole.end_lineno or 0)]
    if not copied or not all(_is_settled(script, r.array) for r in found):
        return None
    arrays = list(dict.fromkeys(r.array.id for r in found))
    lines = [f"{_tensor(name)} = {alias}.constant({name})" for name in arrays]
    if any(re.search(rf"\b{_tensor(name)}\b", script.text) for name in arrays):
        return None
    made = script.insert_before(loops_around(script, loops[-1].body[0])[-1], "\n".join(lines))
    if made is None:
        return None
    edits: list[Edit] = [made, *(script.replace(r.whole, r.code) for r in found)]
    is_rounded = any(r.is_rounded for r in found)
    kind = FixClass.EQUIVALENT if is_rounded else FixClass.SAME_RESULTS
    note = f"{MEMORY} {ROUNDING}" if is_rounded else MEMORY
    return Change(TITLE, kind, tuple(edits), note)


def _tensor(name: str) -> str:
    return f"all_{name}"


def _all_rows(script: Script, loop: ast.For, alias: str) -> Iterator[Rows]:
    """Yield what is copied into tensors in a loop, in the order of the text."""
    for call in script.all(ast.Call, loop):
        path = imported(script, dotted(call.func))
        name = path.rpartition(".")[2]
        if not path.startswith("tensorflow.") or name not in _MAKERS:
            continue
        if len(call.args) == 1 and not call.keywords:
            found = _converted(script, loop, call.args[0], alias)
            if found is not None:
                array, code, is_rounded = found
                is_apart = isinstance(script.parent(call), _APART)
                yield Rows(call, array, code if is_apart else f"({code})", is_rounded)


def _converted(
    script: Script, loop: ast.For, value: ast.expr, alias: str
) -> tuple[ast.Name, str, bool] | None:
    """Return the array, and code of TensorFlow for what NumPy does with its rows."""
    steps: list[str] = []
    is_cast = False
    while not isinstance(value, ast.Subscript):
        if isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
            sign = _OPERATORS.get(type(value.op))
            number = value.right.value
            # Whole numbers would stay within the bytes of the array's own type.
            is_fine = isinstance(number, float) or (type(number) is int and not is_cast)
            if sign is None or not is_fine:
                return None
            steps.insert(0, f" {sign} {script.code(value.right)}")
            value = value.left
        elif _is_single(script, value) and isinstance(value, ast.Call) and not is_cast:
            assert isinstance(value.func, ast.Attribute)
            is_cast, value = True, value.func.value
        else:
            return None
    rows = _rows(script, loop, value, alias)
    if rows is None or (steps and not is_cast):
        return None
    code = f"{alias}.cast({rows[1]}, {alias}.float32)" if is_cast else rows[1]
    for number, step in enumerate(steps):
        code = f"({code}){step}" if number else f"{code}{step}"
    return rows[0], code, bool(steps)


def _is_single(script: Script, value: ast.expr) -> bool:
    """Tell whether a call is `.astype("float32")`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    if value.func.attr != "astype" or len(value.args) != 1 or value.keywords:
        return False
    kind = value.args[0]
    is_text = isinstance(kind, ast.Constant) and kind.value == "float32"
    return is_text or imported(script, dotted(kind)) == "numpy.float32"


def _rows(
    script: Script, loop: ast.For, value: ast.Subscript, alias: str
) -> tuple[ast.Name, str] | None:
    array, index = value.value, value.slice
    outer = loops_around(script, loop.body[0])[-1]
    if not isinstance(array, ast.Name) or array.id in writes(outer):
        return None
    if not _is_array(script, array):
        return None
    tensor = _tensor(array.id)
    if isinstance(index, ast.Slice) and index.step is None and index.lower and index.upper:
        return array, f"{tensor}[{script.code(index.lower)} : {script.code(index.upper)}]"
    if isinstance(index, ast.Name) and _is_choice(script, loop, index):
        return array, f"{alias}.gather({tensor}, {index.id})"
    return None


def _is_array(script: Script, array: ast.Name) -> bool:
    """Tell whether a name is bound once, to an array of NumPy."""
    scope = scope_of(script, array)
    found = binders(scope, array.id)
    if len(found) != 1:
        return False
    value = value_of(script, found[0])
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if imported(script, dotted(value.func)).startswith("numpy."):
            return True
        if value.func.attr == "astype":
            return True
        if value.func.attr in _DRAWN and isinstance(value.func.value, ast.Name):
            return True
        value = value.func.value
    return False


def _is_choice(script: Script, loop: ast.For, index: ast.Name) -> bool:
    """Tell whether a name of a loop is row numbers: a part of an order, or drawn ones."""
    found = binders(ast.Module(loop.body, []), index.id)
    value = value_of(script, found[0]) if len(found) == 1 else None
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        order = value.value
        if not isinstance(order, ast.Name):
            return False
        made = [value_of(script, b) for b in binders(scope_of(script, loop), order.id)]
        return bool(made) and all(_chooses(one) for one in made)
    return _chooses(value)


def _chooses(value: ast.expr | None) -> bool:
    callee = value.func if isinstance(value, ast.Call) else None
    return isinstance(callee, ast.Attribute) and callee.attr in _CHOOSERS


def _is_settled(script: Script, array: ast.Name) -> bool:
    """Tell whether nothing changes an array: the tensor would not see it."""
    for node in script.all(ast.Name):
        if node.id != array.id:
            continue
        parent = script.parent(node)
        if isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
            return False
        if isinstance(parent, ast.AugAssign) and parent.target is node:
            return False
        if isinstance(parent, ast.Attribute) and parent.attr in ("sort", "fill", "put", "resize"):
            return False
        if isinstance(parent, ast.Call) and node in parent.args:
            name = dotted(parent.func).rpartition(".")[2]
            if name not in ("len", "constant", "permutation", "print", "from_tensor_slices"):
                return False
    return not any(array.id in reads(a) for a in script.all(ast.Lambda))
