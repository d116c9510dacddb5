"""Tells which numbers of steps are numbers of samples."""

from __future__ import annotations

import ast
import re

from quickfit.patterns.batch_functions import Batched, Place
from quickfit.program import Module, Program, name_of, own_nodes
from quickfit.program.bindings import Binding
from quickfit.program.fitting import Feed
from quickfit.program.sameness import is_among, is_same
from quickfit.program.values import Item, Made, Member, Routine, Values

# How programs call numbers of samples; and numbers that count something else.
_SAMPLES = re.compile(
    r"^n_|^num|size|count|total|samples|examples|images|records|rows", re.IGNORECASE
)
_OTHERS = re.compile(r"step|batch|buffer|shuffle|iter|update|epoch|class", re.IGNORECASE)
MAX_DEPTH = 4


def counts_samples(program: Program, feed: Feed, steps: ast.expr, data: Batched) -> bool:
    """Tell whether a number of steps is that of the samples which the data is made of."""
    module = feed.fitting.module
    if any(is_length(program, module, steps, sample) for sample in data.samples):
        return True
    if any(_is_buffer(program, (module, steps), buffer) for buffer in data.buffers):
        return True
    only = program.only(module, steps)  # `flow.samples`, `flow.n`
    if not isinstance(only, Member) or only.name not in ("samples", "n"):
        return False
    return data.lasts == "epoch" and is_among((only.of,), program.values(module, feed.data))


def _is_buffer(program: Program, steps: Place, buffer: Place) -> bool:
    """Tell whether a number counts samples by its name, and they are shuffled by it as well.

    Of `n_train` one place alone would not tell; two that mean the very same variable do.
    """
    root = given_by(program, *steps)
    if root is None or root != given_by(program, *buffer):
        return False
    name = getattr(root, "arg", "") or name_of(_target(root))
    return bool(_SAMPLES.search(name)) and not _OTHERS.search(name)


def _target(root: ast.AST) -> ast.AST:
    targets = root.targets if isinstance(root, ast.Assign) else [getattr(root, "target", root)]
    return targets[0]


def given_by(
    program: Program, module: Module, node: ast.expr, depth: int = MAX_DEPTH
) -> ast.AST | None:
    """Return the parameter or assignment that gives a name its value, through other names.

    Also through what a function returns beside other things: `ds, size = load()`.
    """
    if not isinstance(node, ast.Name) or depth == 0:
        return None
    bound = program.files.bindings(module).reaching(node, node.id)
    only = bound[0] if len(bound) == 1 else None
    if only is not None and only.kind == "from":
        other = program.files.imported(module.path, only.module)
        module, only = (other, _exported(program, other, only.name)) if other else (module, None)
    if only is None or only.kind not in ("parameter", "value"):
        return None
    if only.path:
        inner = _returned(program, module, only)
        return given_by(program, *inner, depth - 1) if inner is not None else None
    if isinstance(only.value, ast.Name):
        return given_by(program, module, only.value, depth - 1)
    return only.node


def _exported(program: Program, module: Module, name: str) -> Binding | None:
    found = program.files.bindings(module).all(module.tree, name)
    return found[0] if len(found) == 1 else None


def _returned(program: Program, module: Module, binding: Binding) -> Place | None:
    """Return the part of what a function returns that a name is given."""
    call = binding.value
    called = program.only(module, call.func) if isinstance(call, ast.Call) else None
    if not isinstance(called, Routine) or len(binding.path) != 1:
        return None
    ends = [n.value for n in own_nodes(called.node) if isinstance(n, ast.Return)]
    parts = ends[0].elts if len(ends) == 1 and isinstance(ends[0], ast.Tuple) else []
    at = binding.path[0]
    return (called.module, parts[at]) if at < len(parts) else None


def is_length(
    program: Program, module: Module, steps: ast.expr, sample: tuple[Module, ast.expr]
) -> bool:
    """Tell whether a number is `len(sample)` or `sample.shape[0]`, also through a name."""
    values = program.values(module, steps)
    return bool(values) and all(_is_length_value(program, v, sample) for v in values)


def _is_length_value(program: Program, value: object, sample: tuple[Module, ast.expr]) -> bool:
    if isinstance(value, Made) and value.maker == "builtins.len" and len(value.call.args) == 1:
        return is_same(program, (value.module, value.call.args[0]), sample)
    if not isinstance(value, Item) or value.index != 0 or not isinstance(value.of, Member):
        return False
    of: Values = (value.of.of,)
    return value.of.name == "shape" and is_among(of, program.values(*sample))
