"""Makes arrays tensors once, so that a step takes its rows from them without a copy by Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quickfit.causes._shared.train_loops.step_values import functions_reached, is_compiled
from quickfit.code.arrays import changes_in_place
from quickfit.code.compiled_functions import calls_of
from quickfit.code.graph_code import argument_for_parameter
from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    is_read_after,
    local_names,
    loops_around,
    nodes_in_scope,
    parameters,
    scope_of,
    value_of,
    writes,
)
from quickfit.code.syntax import Def
from quickfit.findings import Change, Edit, FixClass

TITLE = "Make the data tensors once, and take the rows of each batch from them"
MEMORY = "The tensors are a second copy of the data in memory."
ROUNDING = "NumPy computed in float64 where TensorFlow computes in float32: equal to rounding."
_NO_ARRAYS = re.compile(r"\b(memmap|mmap_mode|h5py|zarr|pandas|dask)\b")
_MAKERS = {"constant", "convert_to_tensor"}
_CHOOSERS = {"permutation", "arange", "integers", "randint", "choice"}
# Around these an expression needs no brackets.
_APART = (ast.Assign, ast.Call, ast.keyword, ast.Return, ast.Tuple, ast.List)
_DRAWN = {"integers", "random", "normal", "uniform", "standard_normal"}
_READING = {"len", "constant", "permutation", "print", "from_tensor_slices", "range"}
_OPERATORS = {ast.Div: "/", ast.Mult: "*", ast.Sub: "-", ast.Add: "+"}


@dataclass(frozen=True)
class Rows:
    """Rows of an array that become a tensor, and the code that takes them from a tensor.

    `copied` is what makes them a tensor, where that stands elsewhere.
    """

    whole: ast.expr
    array: ast.Name
    code: str
    is_rounded: bool
    copied: ast.expr | None = None

    @property
    def lines(self) -> list[tuple[int, int]]:
        """The lines that the copy stands on, as pairs of a first and a last one."""
        nodes = [node for node in (self.whole, self.copied) if node is not None]
        return [(node.lineno, node.end_lineno or 0) for node in nodes]


def rows_of_tensors(module: Module, line: int, modules: Sequence[Module] = ()) -> Change | None:
    """Make the arrays tensors whose rows the loop around a line copies."""
    modules = modules or [module]
    loops = [n for n in module.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    alias, imports = module.import_of("tensorflow", "tf")
    if not loops or imports or any(_NO_ARRAYS.search(s.text) for s in modules):
        return None
    found = list(dict.fromkeys(_all_rows(module, loops[-1], alias, modules)))
    found.sort(key=lambda rows: module.begin(rows.whole))
    copied = [r for r in found if any(first <= line <= last for first, last in r.lines)]
    if not copied or not all(_is_settled(module, loops[-1], r.array, modules) for r in found):
        return None
    arrays = list(dict.fromkeys(r.array.id for r in found))
    lines = [f"{_tensor(name)} = {alias}.constant({name})" for name in arrays]
    if any(re.search(rf"\b{_tensor(name)}\b", module.text) for name in arrays):
        return None
    made = module.insert_before(loops_around(module, loops[-1].body[0])[-1], "\n".join(lines))
    if made is None:
        return None
    replaced = dict.fromkeys(module.replace(r.whole, r.code) for r in found)
    edits: list[Edit] = [made, *replaced]
    is_rounded = any(r.is_rounded for r in found)
    kind = FixClass.EQUIVALENT if is_rounded else FixClass.SAME_RESULTS
    note = f"{MEMORY} {ROUNDING}" if is_rounded else MEMORY
    return Change(TITLE, kind, tuple(edits), note)


def _tensor(name: str) -> str:
    return f"all_{name}"


def _all_rows(
    module: Module, loop: ast.For, alias: str, modules: Sequence[Module]
) -> Iterator[Rows]:
    """Yield what is copied into tensors in a loop, in the order of the text."""
    for call in module.all(ast.Call, within=loop):
        if is_compiled(module, call, modules):
            # A compiled function that is given an array copies it into a tensor itself.
            given = [*call.args, *(k.value for k in call.keywords)]
            made = [_copies(module, loop, value, alias, modules) for value in given]
            yield from (row for rows in made for row in rows if all(made))
        elif _is_maker(module, call):
            yield from _copies(module, loop, call, alias, modules)


def _copies(
    module: Module, loop: ast.For, value: ast.expr, alias: str, modules: Sequence[Module]
) -> list[Rows]:
    """Return what becomes a tensor in an argument of a compiled function, or in `tf.constant`."""
    if not isinstance(value, ast.Call) or not _is_maker(module, value):
        return list(_one(module, loop, value, value, alias, modules))
    kinds = [*value.args[1:], *(k.value for k in value.keywords if k.arg == "dtype")]
    given = len(value.args) + len(value.keywords)
    if not value.args or given != len(kinds) + 1 or len(kinds) > 1:
        return []
    is_single = bool(kinds) and import_path(module, dotted(kinds[0])) == "tensorflow.float32"
    if kinds and not is_single:
        return []
    return list(_one(module, loop, value, value.args[0], alias, modules, is_single=is_single))


def _one(
    module: Module, loop: ast.For, whole: ast.expr, value: ast.expr, alias: str,
    modules: Sequence[Module], *, is_single: bool = False,
) -> Iterator[Rows]:  # fmt: skip
    """Yield rows that become a tensor, where an expression takes them from an array."""
    if isinstance(value, ast.Name) and not is_single:
        yield from _named(module, loop, whole, value, alias, modules)
        return
    found = _converted(module, loop, value, alias, modules)
    if found is None:
        return
    array, code, is_rounded = found
    if is_single:
        if is_rounded:
            return
        code = f"{alias}.cast({code}, {alias}.float32)" if ".cast(" not in code else code
    is_apart = isinstance(module.parent(whole), _APART)
    yield Rows(whole, array, code if is_apart else f"({code})", is_rounded)


def _named(
    module: Module, loop: ast.For, whole: ast.expr, name: ast.Name, alias: str,
    modules: Sequence[Module],
) -> Iterator[Rows]:  # fmt: skip
    """Yield the rows that a name of a batch stands for, where nothing needs them as an array."""
    stores = binders(ast.Module([loop], []), name.id)
    value = value_of(module, stores[0]) if len(stores) == 1 else None
    if value is None or module.parent(module.statement(stores[0])) is not loop:
        return
    found = _converted(module, loop, value, alias, modules)
    uses = [n for n in module.all(ast.Name, within=loop) if n.id == name.id and n is not stores[0]]
    if found is None or not all(_is_copied(module, n, modules) for n in uses):
        return
    if is_read_after(module, name.id, [loop]):
        return
    yield Rows(value, *found, copied=whole)
    if whole is not name:
        yield Rows(whole, found[0], name.id, is_rounded=False)


def _is_copied(module: Module, name: ast.Name, modules: Sequence[Module]) -> bool:
    """Tell whether an array is given to what makes it a tensor."""
    call = module.parent(name)
    call = module.parent(call) if isinstance(call, ast.keyword) else call
    if not isinstance(call, ast.Call) or call.func is name:
        return False
    is_alone = len(call.args) == 1 and not call.keywords
    return (_is_maker(module, call) and is_alone) or is_compiled(module, call, modules)


def _is_maker(module: Module, value: ast.expr) -> bool:
    """Tell whether an expression is `tf.constant(...)` or the like."""
    path = import_path(module, dotted(value.func)) if isinstance(value, ast.Call) else ""
    return path.startswith("tensorflow.") and path.rpartition(".")[2] in _MAKERS


def _converted(
    module: Module, loop: ast.For, value: ast.expr, alias: str, modules: Sequence[Module]
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
            steps.insert(0, f" {sign} {module.code(value.right)}")
            value = value.left
        elif _is_single(module, value) and isinstance(value, ast.Call) and not is_cast:
            assert isinstance(value.func, ast.Attribute)
            is_cast, value = True, value.func.value
        else:
            return None
    rows = _rows(module, loop, value, alias, modules)
    if rows is None or (steps and not is_cast):
        return None
    code = f"{alias}.cast({rows[1]}, {alias}.float32)" if is_cast else rows[1]
    for number, step in enumerate(steps):
        code = f"({code}){step}" if number else f"{code}{step}"
    return rows[0], code, bool(steps)


def _is_single(module: Module, value: ast.expr) -> bool:
    """Tell whether a call is `.astype("float32")`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    if value.func.attr != "astype" or len(value.args) != 1 or value.keywords:
        return False
    kind = value.args[0]
    is_text = isinstance(kind, ast.Constant) and kind.value == "float32"
    return is_text or import_path(module, dotted(kind)) == "numpy.float32"


def _rows(
    module: Module, loop: ast.For, value: ast.Subscript, alias: str, modules: Sequence[Module]
) -> tuple[ast.Name, str] | None:
    array, index = value.value, value.slice
    outer = loops_around(module, loop.body[0])[-1]
    if not isinstance(array, ast.Name) or array.id in writes(outer):
        return None
    if not _is_array(module, array) and not is_numpy(module, array, modules):
        return None
    tensor = _tensor(array.id)
    if isinstance(index, ast.Slice) and index.step is None and index.lower and index.upper:
        rows = module.between(module.begin(index.lower), module.end(index.upper))
        return array, f"{tensor}[{rows}]"
    if isinstance(index, ast.Name) and _is_choice(module, loop, index):
        return array, f"{alias}.gather({tensor}, {index.id})"
    if isinstance(index, ast.Subscript) and _is_part_of_order(module, loop, index):
        return array, f"{alias}.gather({tensor}, {module.code(index)})"
    return None


def _is_array(module: Module, array: ast.Name) -> bool:
    """Tell whether a name is bound once, to an array of NumPy."""
    scope = scope_of(module, array)
    found = binders(scope, array.id)
    if len(found) != 1:
        return False
    value = value_of(module, found[0])
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if import_path(module, dotted(value.func)).startswith("numpy."):
            return True
        if value.func.attr == "astype":
            return True
        if value.func.attr in _DRAWN and isinstance(value.func.value, ast.Name):
            return True
        value = value.func.value
    return False


def _is_choice(module: Module, loop: ast.For, index: ast.Name) -> bool:
    """Tell whether a name of a loop is row numbers: a part of an order, or drawn ones."""
    found = binders(ast.Module(loop.body, []), index.id)
    value = value_of(module, found[0]) if len(found) == 1 else None
    if isinstance(value, ast.Subscript):
        return _is_part_of_order(module, loop, value)
    return _chooses(value)


def _is_part_of_order(module: Module, loop: ast.For, value: ast.Subscript) -> bool:
    """Tell whether an expression is a part of an order of rows: `order[i : i + 32]`."""
    order = value.value
    if not isinstance(order, ast.Name) or not isinstance(value.slice, ast.Slice):
        return False
    made = [value_of(module, b) for b in binders(scope_of(module, loop), order.id)]
    return bool(made) and all(_chooses(one) for one in made)


def _chooses(value: ast.expr | None) -> bool:
    callee = value.func if isinstance(value, ast.Call) else None
    return isinstance(callee, ast.Attribute) and callee.attr in _CHOOSERS


def _is_settled(module: Module, loop: ast.For, array: ast.Name, modules: Sequence[Module]) -> bool:
    """Tell whether nothing changes an array while the loop runs: the tensor would not see it."""
    outer = loops_around(module, loop.body[0])[-1]
    reached = [f for f in functions_reached([outer], modules) if array.id not in local_names(f)]
    nodes = [n for place in (outer, *reached) for n in ast.walk(place) if isinstance(n, ast.Name)]
    if any(_is_written(module, n, modules) for n in ast.walk(outer)):
        return False  # it may be another view of the same memory
    if changes_in_place(module, outer, {array.id}):
        return False
    return all(_is_only_read(module, modules, n) for n in nodes if n.id == array.id)


def _is_written(module: Module, node: ast.AST, modules: Sequence[Module]) -> bool:
    """Tell whether a node changes parts of an array."""
    is_store = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return is_store and is_numpy(module, node.value, modules)  # type: ignore[attr-defined]


def _is_only_read(module: Module, modules: Sequence[Module], node: ast.Name) -> bool:
    where = next(s for s in modules if s.parent(node) is not None)
    parent = where.parent(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("shape", "dtype", "ndim", "size")
    if isinstance(parent, ast.Call) and node in parent.args:
        return dotted(parent.func).rpartition(".")[2] in _READING
    return False


_METHODS = {"astype", "reshape", "integers", "random", "normal", "uniform", "standard_normal"}
_METHODS |= {"permutation", "to_numpy"}
# Methods that give an array where they are asked of one.
_OWN_METHODS = {"sum", "mean", "max", "min", "clip", "squeeze", "argmax", "repeat", "transpose"}
_NOT_ARRAYS = {"numpy.load", "numpy.memmap", "numpy.random.default_rng", "numpy.lib.format"}
# Names are followed this far.
MAX_DEPTH = 8


def is_numpy(
    module: Module, value: ast.expr | None, modules: Sequence[Module], depth: int = 0
) -> bool:
    """Tell whether an expression is an array in memory: no list, table, file or tensor."""
    if value is None or depth > MAX_DEPTH:
        return False
    if isinstance(value, ast.Name):
        return _is_numpy_name(module, value, modules, depth)
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(is_numpy(module, side, modules, depth + 1) for side in sides)
    if isinstance(value, ast.Subscript):
        is_rows = isinstance(value.slice, ast.Slice | ast.Tuple | ast.Name | ast.Compare)
        return is_rows and is_numpy(module, value.value, modules, depth + 1)
    if not isinstance(value, ast.Call):
        return False
    path = import_path(module, dotted(value.func))
    if path.startswith("numpy."):
        return path not in _NOT_ARRAYS
    is_other = path.startswith(("tensorflow.", "keras.", "torch.", "random."))
    if not isinstance(value.func, ast.Attribute) or is_other:
        return False
    if value.func.attr in _OWN_METHODS:
        return is_numpy(module, value.func.value, modules, depth + 1)
    return value.func.attr in _METHODS


def _is_numpy_name(module: Module, name: ast.Name, modules: Sequence[Module], depth: int) -> bool:
    scope = scope_of(module, name)
    found = binders(scope, name.id)
    if isinstance(scope, Def) and name.id in parameters(scope):
        return not found and _is_given(scope, name.id, modules, depth)
    if not found and scope is not module.tree:
        found = binders(module.tree, name.id)
    return bool(found) and all(_is_bound(module, node, modules, depth) for node in found)


def _is_given(function: Def, name: str, modules: Sequence[Module], depth: int) -> bool:
    """Tell whether all calls give an array for a parameter."""
    same = [f for s in modules for f in s.all(ast.FunctionDef) if f.name == function.name]
    calls = [(s, c) for s in modules for c in calls_of(s, function.name)]
    values = [(s, argument_for_parameter(c, function, name)) for s, c in calls]
    is_known = len(same) == 1 and bool(values)
    return is_known and all(is_numpy(s, value, modules, depth + 1) for s, value in values)


def _is_bound(module: Module, node: ast.AST, modules: Sequence[Module], depth: int) -> bool:
    """Tell whether what binds a name gives it an array."""
    path: list[int] = []
    parent = module.parent(node)
    while isinstance(parent, ast.Tuple) and isinstance(node, ast.expr):
        path.insert(0, parent.elts.index(node))
        node, parent = parent, module.parent(parent)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    value: ast.expr = parent.value
    while path and isinstance(value, ast.Tuple) and path[0] < len(value.elts):
        value = value.elts[path.pop(0)]
    if not path:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return _is_returned(value, None, modules, depth)
        return is_numpy(module, value, modules, depth + 1)
    if not isinstance(value, ast.Call):
        return False
    is_keras = import_path(module, dotted(value.func)).endswith(".load_data")
    if is_keras and "keras" in import_path(module, dotted(value.func)):
        return len(path) == 2
    return len(path) == 1 and _is_returned(value, path[0], modules, depth)


def _is_returned(call: ast.Call, place: int | None, modules: Sequence[Module], depth: int) -> bool:
    """Tell whether a function of the project returns an array, all or at a place."""
    name = dotted(call.func).rpartition(".")[2]
    made = [(s, f) for s in modules for f in s.all(ast.FunctionDef) if f.name == name]
    if len(made) != 1 or made[0][1].decorator_list:
        return False
    module, function = made[0]
    returned = [n.value for n in nodes_in_scope(*function.body) if isinstance(n, ast.Return)]
    for value in returned:
        one = value
        if place is not None:
            is_tuple = isinstance(value, ast.Tuple) and place < len(value.elts)
            one = value.elts[place] if is_tuple else None  # type: ignore[union-attr]
        if not is_numpy(module, one, modules, depth + 1):
            return False
    return bool(returned)
