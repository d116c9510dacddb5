"""Generators inside tf.data that read a file for every element."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._shared.python_work import Work, call_work, work
from quickfit.code import Module, Program
from quickfit.code.loops import loops_of
from quickfit.code.syntax import argument, name_of, own_nodes
from quickfit.code.values import Instance, Made, Routine, Value

# What runs Python beside Python: the generator only hands on.
_HELPERS = ("threading", "multiprocessing", "concurrent", "queue", "joblib", "ray")
_PARALLEL = frozenset(("interleave", "flat_map"))
MAX_DEPTH = 3


@dataclass(frozen=True)
class FileGenerator:
    """A call of `from_generator` whose generator reads files; `read` stands in `module`."""

    call: ast.Call
    name: str
    module: Module
    read: ast.Call


def file_generators(program: Program, module: Module) -> Iterator[FileGenerator]:
    """Yield the calls of `Dataset.from_generator` whose generator surely reads a file each time."""
    for call in module.calls("from_generator"):
        given = argument(call, "generator", 0)
        if given is None or not program.called(module, call).startswith("tensorflow.data."):
            continue
        if _is_one_of_many(program, module, call):
            continue
        values = program.values(module, given)
        found = [g for value in values for g in generators(program, value)]
        reads = [_read(program, routine) for routine in found]
        if values and len(found) == len(values) and all(reads):
            first = reads[0]
            assert first is not None
            yield FileGenerator(call, getattr(found[0].node, "name", "generator"), *first)


def generators(program: Program, value: Value, depth: int = MAX_DEPTH) -> list[Routine]:
    """Return the generator functions that a value stands for, is bound to, or calls."""
    if depth == 0:
        return []
    if isinstance(value, Instance):
        methods = program.resolver.attribute(value.made, "__call__")
        methods = methods or program.resolver.attribute(value.made, "__iter__")
        return [g for method in methods for g in generators(program, method, depth - 1)]
    if isinstance(value, Made) and value.maker == "functools.partial" and value.call.args:
        inner = program.values(value.module, value.call.args[0], value.frame)
        return [g for each in inner for g in generators(program, each, depth - 1)]
    if isinstance(value, Made) and value.maker == "generator":
        return [routine for routine in value.receiver if isinstance(routine, Routine)]
    if not isinstance(value, Routine):
        return []
    if _yields(value.node):
        return [value]
    returned = _returned(value)
    inner = tuple(v for node in returned for v in program.values(value.module, node))
    found = [g for each in inner for g in generators(program, each, depth - 1)]
    return found if len(found) == len(inner) else []


def _returned(routine: Routine) -> list[ast.expr]:
    if isinstance(routine.node, ast.Lambda):
        return [routine.node.body]
    nodes = own_nodes(routine.node)
    return [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]


def _yields(function: ast.AST) -> bool:
    return any(isinstance(node, ast.Yield) for node in own_nodes(function))


def _is_one_of_many(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether several of these datasets run side by side, each with a generator."""
    function = module.function(call)
    if function is None:
        return False
    above = module.parent(function)
    if isinstance(above, ast.Call) and name_of(above.func) in _PARALLEL:
        return True
    name = getattr(function, "name", "")
    places = [module, *program.files.mentioning(name, module.path)] if name else []
    return any(
        name_of(given) == name
        for place in places
        for other in place.calls(*_PARALLEL)
        for given in other.args[:1]
    )


def _read(program: Program, routine: Routine) -> tuple[Module, ast.Call] | None:
    """Return the call that reads a file for every element; None where that is not sure."""
    module, function = routine.module, routine.node
    if any(name in module.text for name in _HELPERS) and _runs_beside(program, routine):
        return None
    whole = work(program, routine)
    if any(other != "?" for other in whole.others):
        return None  # a library for which TensorFlow has nothing
    yields = [n for n in own_nodes(function) if isinstance(n, ast.Yield)]
    inner = [loops[0] for y in yields if (loops := loops_of(module, y))]
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and any(module.is_in(node, loop) for loop in inner):
            found = call_work(program, module, node)
            if found.reads and _is_of_files(found):
                return found.reads[0][:2]
    return None


def _is_of_files(found: Work) -> bool:
    """Tell whether what is read is decoded by a library, not text that Python looks through."""
    return any(name != "builtins.open" for _, _, name in found.reads)


def _runs_beside(program: Program, routine: Routine) -> bool:
    calls = [n for n in ast.walk(routine.node) if isinstance(n, ast.Call)]
    names = [program.called(routine.module, call) for call in calls]
    owners = [c.func.value for c in calls if isinstance(c.func, ast.Attribute)]
    pools = [program.maker(routine.module, owner) for owner in owners]
    return any(name.split(".")[0] in _HELPERS for name in (*names, *pools))
