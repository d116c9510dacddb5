"""How the generators and PyDatasets of a program make batches of what they are given."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TypeGuard

from quickfit.patterns.generators import endless
from quickfit.program import Module, Program, argument, name_of, own_nodes
from quickfit.program.module import Function
from quickfit.program.parameters import assigned_to_self, default_of, position_of
from quickfit.program.values import Instance, Made, Routine

# How programs call the number of samples in a batch.
SIZE = re.compile(r"batch_?size|^bs$", re.IGNORECASE)
Place = tuple[Module, ast.expr]


@dataclass(frozen=True)
class Batched:
    """Data in batches.

    Args:
        samples: expressions, each of which stands for all of the samples, or for their labels.
        size: how many samples make a batch, and where that is said.
        lasts: `ever`, `once` (it is over after one pass), or `epoch` (each epoch is one pass).
        buffers: numbers of samples that are shuffled together, before they are batched.
    """

    samples: tuple[Place, ...]
    size: Place
    lasts: str
    buffers: tuple[Place, ...] = ()


def of_object(program: Program, value: Instance) -> Batched | None:
    """Return how an object of a PyDataset class of the program batches."""
    if "keras.utils.PyDataset" not in program.ancestors(value):
        return None
    made = program.resolver.attribute(value.made, "__init__")
    init = made[0] if len(made) == 1 else None
    divisor = _divisor(program, value)
    if not isinstance(init, Routine) or divisor is None:
        return None
    given = assigned_to_self(value.made, divisor.attr) if _is_of_self(divisor) else [divisor]
    sizes = [node.id for node in given if isinstance(node, ast.Name)]
    return _from_call(init, value.call, value.module, sizes[:1], "epoch")


def _divisor(program: Program, value: Instance) -> ast.Attribute | ast.Name | None:
    """Return what the length of a PyDataset is divided by: the size of a batch."""
    found = program.resolver.attribute(value.made, "__len__")
    nodes = [n for f in found if isinstance(f, Routine) for n in own_nodes(f.node)]
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv):
            inner = [n for n in ast.walk(node.right) if _is_of_self(n) or isinstance(n, ast.Name)]
            named = [n for n in inner if name_of(n) not in ("self", "float", "int")]
            return named[0] if len(named) == 1 else None
    return None


def _is_of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and name_of(node.value) == "self"


def _groups(node: ast.AST) -> bool:
    """Tell whether a part of a generator takes as many samples at once as a batch has.

    One that makes a batch of each sample, such as of its crops, does not.
    """
    if isinstance(node, ast.Call) and name_of(node.func) == "range" and len(node.args) == 3:
        return _mentions(node.args[2])
    if isinstance(node, ast.Call) and name_of(node.func) in ("choice", "choices", "sample"):
        return any(map(_mentions, [*node.args, *(k.value for k in node.keywords)]))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Div | ast.Mod):
        return _mentions(node.right)
    if isinstance(node, ast.Compare):
        is_count = isinstance(node.ops[0], ast.Eq | ast.GtE | ast.Lt)
        return is_count and any(map(_mentions, node.comparators))
    return isinstance(node, ast.Slice) and node.upper is not None and _mentions(node.upper)


def _mentions(node: ast.AST) -> bool:
    return any(SIZE.search(name_of(n)) for n in ast.walk(node) if name_of(n))


def of_generator(program: Program, value: Made, routine: Routine) -> Batched | None:
    """Return how a generator function batches; None where it does not, or not clearly."""
    nodes = own_nodes(routine.node)
    if not any(_groups(node) for node in nodes) and not _stepped(nodes):
        return None
    names = [n for n in parameters(routine.node) if SIZE.search(n)]
    lasts = "ever" if endless(program, routine) is not None else "once"
    kept = [n for n in nodes if _is_of_self(n)]
    sizes = [n for n in kept if SIZE.search(n.attr)]
    if not names and sizes:
        return Batched(_places(routine, kept), (routine.module, sizes[0]), lasts)
    found = _from_call(routine, value.call, value.module, names or _stepped(nodes), lasts)
    if found is None:
        return None
    return Batched((*found.samples, *_places(routine, kept)), found.size, lasts)


def _places(routine: Routine, nodes: list[ast.Attribute]) -> tuple[Place, ...]:
    """Return what a method has of its object."""
    return tuple((routine.module, node) for node in nodes if not SIZE.search(node.attr))


def _stepped(nodes: list[ast.AST]) -> list[str]:
    """Return the names that loops go on by: of `range(0, n, step)`, `step`."""
    calls = [n for n in nodes if isinstance(n, ast.Call) and name_of(n.func) == "range"]
    steps = [call.args[2] for call in calls if len(call.args) == 3]
    return list(dict.fromkeys(step.id for step in steps if isinstance(step, ast.Name)))


def parameters(function: Function) -> list[str]:
    """Return the names of a function's parameters."""
    given = function.args
    return [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _from_call(
    routine: Routine, call: ast.Call, module: Module, sizes: list[str], lasts: str
) -> Batched | None:
    """Return how a function batches its arguments; the size is one of them, or a constant."""
    names = parameters(routine.node)
    if len(sizes) > 1:
        return None
    if sizes and sizes[0] in names:
        size = given_for(routine, call, module, sizes[0])
    else:
        size = _constant(routine, sizes)
    if size is None:
        return None
    given = [given_for(routine, call, module, name) for name in names if name not in sizes]
    return Batched(tuple(g for g in given if g is not None), size, lasts)


def given_for(routine: Routine, call: ast.Call, module: Module, name: str) -> Place | None:
    """Return what a call of a function gives for a parameter, or the parameter's default."""
    at = position_of(routine.module, routine.node, name)
    given = argument(call, name, at) if at >= 0 else None
    given = given or next((k.value for k in call.keywords if k.arg == name), None)
    if given is not None:
        return module, given
    default = default_of(routine.node, name)
    return (routine.module, default) if default is not None else None


def _constant(routine: Routine, sizes: list[str]) -> Place | None:
    """Return the name of a size that a function takes from outside."""
    used = [n for n in own_nodes(routine.node) if isinstance(n, ast.Name)]
    used = [n for n in used if n.id in sizes or (not sizes and SIZE.search(n.id))]
    loaded = [n for n in used if isinstance(n.ctx, ast.Load)]
    return (routine.module, loaded[0]) if loaded and len(loaded) == len(used) else None
