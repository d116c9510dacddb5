"""Edits of the number of examples in a batch."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.code.constants import WrittenConstant, find_constant
from quickfit.code.datasets import PASSING
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import call_at, only_value_in_file, reads_in_file
from quickfit.code.syntax import called_name, is_open, keyword_value
from quickfit.findings import Change, FixClass

# A model that is made for one size of batch says so with one of these.
_FIXED = ("batch_shape", "batch_input_shape", "stateful")
# Methods of a dataset that keep the shapes of its elements.
_KEEPING = PASSING | {"batch", "shard"}
# Without gradients, a batch of this size fits where one of the training does.
VALIDATION_BATCH, MAX_SMALL = 256, 16


@dataclass(frozen=True)
class Size:
    """The examples in a batch as they were seen in a call of `method`, and how many to take."""

    method: str
    examples: int
    after: int


def larger_batch(module: Module, line: int, size: Size, program: Program) -> Change | None:
    """Take more examples per step, where the number is written: in the call or as a constant."""
    call = call_at(module, line, size.method)
    if call is None or is_open(call) or has_fixed_size(program):
        return None
    found = find_constant(module, _size(call, size.method), program)
    if found is None or found.value != size.examples or not _is_a_size(found):
        return None
    if not found.reads and _counts_steps(program):
        return None  # a number of steps was worked out from this one, and would be wrong
    return Change(
        title=f"Take {size.after} examples per step",
        kind=FixClass.MAY_CHANGE_RESULTS,
        edits=(found.edit(str(size.after)),),
        note="Fewer, larger updates: the learning rate may have to grow with the batch.",
    )


def larger_validation_batch(module: Module, line: int, program: Program) -> Change | None:
    """Take more examples per step of a validation, where its dataset says how many."""
    call = call_at(module, line, "evaluate", "fit")
    if call is None or is_open(call) or has_fixed_size(program):
        return None
    data = keyword_value(call, "validation_data")
    if called_name(call) == "evaluate":
        data = call.args[0] if len(call.args) == 1 else None
    batch = _only_batch(module, data) if data is not None else None
    found = find_constant(module, _size(batch, "batch"), program) if batch is not None else None
    if found is None or found.reads > 1 or type(found.value) is not int:
        return None
    if not 1 <= found.value <= MAX_SMALL or _counts_steps(program):
        return None
    return Change(
        title=f"Validate {VALIDATION_BATCH} examples at a time",
        kind=FixClass.EQUIVALENT,
        edits=(found.edit(str(VALIDATION_BATCH)),),
        note="Means agree to rounding.",
    )


def _only_batch(module: Module, data: ast.expr) -> ast.Call | None:
    """Return the `batch` that ends the only value of a dataset that is just validated with."""
    uses, value = _uses(module, data)
    if value is None or not all(_is_validation(module, node) for node in uses):
        return None
    while isinstance(value, ast.Call) and called_name(value) in ("prefetch", "cache"):
        value = value.func.value if isinstance(value.func, ast.Attribute) else None
    is_batch = isinstance(value, ast.Call) and called_name(value) == "batch" and not is_open(value)
    if not is_batch or not isinstance(value, ast.Call):
        return None
    return value if _is_of_one_shape(module, value) else None


def _is_of_one_shape(module: Module, value: ast.expr | None) -> bool:
    """Tell whether all elements of a dataset are rows of arrays: others may not fit a batch."""
    while value is not None:
        if isinstance(value, ast.Name):
            value = only_value_in_file(module, value.id)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr == "from_tensor_slices":
                return True
            value = value.func.value if value.func.attr in _KEEPING else None
        else:
            return False
    return False


def _uses(module: Module, data: ast.expr) -> tuple[list[ast.expr], ast.expr | None]:
    """Return where a name or an attribute of `self` is read, and its only value."""
    if isinstance(data, ast.Name):
        return list(reads_in_file(module, data.id)), only_value_in_file(module, data.id)
    if not isinstance(data, ast.Attribute) or ast.unparse(data.value) != "self":
        return [], None
    same = [node for node in module.all(ast.Attribute) if node.attr == data.attr]
    stores = [module.parent(node) for node in same if not isinstance(node.ctx, ast.Load)]
    one = stores[0] if len(stores) == 1 else None
    value = one.value if isinstance(one, ast.Assign) and len(one.targets) == 1 else None
    return [node for node in same if isinstance(node.ctx, ast.Load)], value


def _is_validation(module: Module, node: ast.expr) -> bool:
    parent = module.parent(node)
    if isinstance(parent, ast.keyword):
        return parent.arg == "validation_data"
    is_first = isinstance(parent, ast.Call) and parent.args == [node]
    return is_first and isinstance(parent, ast.Call) and called_name(parent) == "evaluate"


def _size(call: ast.Call, method: str) -> ast.expr | None:
    given = keyword_value(call, "batch_size")
    if given is None and call.args:
        if method == "batch":
            return call.args[0]
        return call.args[2] if len(call.args) > 2 else None
    return given


def _is_a_size(found: WrittenConstant) -> bool:
    """Tell whether a constant is nothing but the size of a batch."""
    if found.reads <= 1:
        return True
    name = _name_of(found).lower()
    return "batch" in name and "val" not in name


def _name_of(found: WrittenConstant) -> str:
    """Return what a constant is called: by a name, an entry or an option."""
    parent = found.module.parent(found.node)
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        return ast.unparse(parent).split("=")[0]
    if isinstance(parent, ast.Dict):
        keys = dict(zip(parent.values, parent.keys, strict=True))
        return ast.unparse(keys[found.node] or found.node)
    call = found.module.parent(parent) if isinstance(parent, ast.keyword) else None
    return " ".join(map(ast.unparse, call.args)) if isinstance(call, ast.Call) else ""


def has_fixed_size(program: Program) -> bool:
    """Tell whether a model of the files is made for batches of one size."""
    return any(
        keyword.arg in _FIXED
        or (keyword.arg == "batch_size" and called_name(call).startswith("Input"))
        for call in _calls(program)
        for keyword in call.keywords
    )


def _counts_steps(program: Program) -> bool:
    """Tell whether some call says how many steps an epoch has."""
    return any(keyword_value(call, "steps_per_epoch") is not None for call in _calls(program))


def _calls(program: Program) -> list[ast.Call]:
    modules = (program.find_module(file) for file in program.paths)
    return [call for module in modules if module is not None for call in module.all(ast.Call)]
