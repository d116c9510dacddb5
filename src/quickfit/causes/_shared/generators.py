"""Which generators never end, and which of them go round for ever without giving anything."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.causes._shared.generator_flow import ERROR, Walk
from quickfit.code import Module, Program
from quickfit.code.datasets import ENDING, Chain, Stage, chains_of, taken_chains
from quickfit.code.syntax import argument, own_nodes
from quickfit.code.values import Group, Instance, Literal, Made, Routine, Value

# Generators that call generators; and datasets that are made of datasets.
MAX_DEPTH = 6
_ENDLESS_MAKERS = frozenset(("itertools.cycle", "itertools.count"))
_ENDLESS_SOURCES = frozenset(
    (
        *("tensorflow.data.Dataset.counter", "tensorflow.data.Dataset.random"),
        *("tensorflow.data.experimental.Counter", "tensorflow.data.experimental.RandomDataset"),
    )
)
# Datasets of datasets that end with the first, or the last, of them.
_JOINED = frozenset(
    (
        *("tensorflow.data.Dataset.zip", "tensorflow.data.Dataset.sample_from_datasets"),
        "tensorflow.data.experimental.sample_from_datasets",
    )
)
# Methods of `ImageDataGenerator` that give an iterator over batches.
FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")


@dataclass(frozen=True)
class Endless:
    """What makes data endless: a loop, a `repeat()`, a call; and where it stands."""

    node: ast.AST
    module: Module
    kind: str


def is_generator(function: ast.AST) -> bool:
    """Tell whether a function yields."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))


def endless(program: Program, routine: Routine, *, depth: int = MAX_DEPTH) -> Endless | None:
    """Return the loop that a generator never leaves, whatever its arguments; else None."""
    function = routine.node
    if isinstance(function, ast.Lambda) or depth == 0 or not is_generator(function):
        return None
    walk = walk_of(program, routine.module, depth=depth - 1)
    if set(walk.block(function.body, {})) - {ERROR} or not walk.yields:
        return None
    loops = [n for n in own_nodes(function) if isinstance(n, ast.While | ast.For)]
    around = [loop for loop in loops if any(routine.module.is_in(y, loop) for y in walk.yields)]
    return Endless(around[0] if around else function, routine.module, "generator")


def walk_of(
    program: Program,
    module: Module,
    *,
    failing: ast.ExceptHandler | None = None,
    results: dict[ast.expr, ast.expr] | None = None,
    depth: int = MAX_DEPTH,
) -> Walk:
    """Return a walk that knows which loops over something never end."""

    def never_ends(node: ast.expr) -> bool:
        return _runs_on(program, module, node, depth)

    return Walk(failing=failing, results=results or {}, is_endless=never_ends)


def _runs_on(program: Program, module: Module, node: ast.expr, depth: int) -> bool:
    """Tell whether a loop over something never ends."""
    if depth == 0 or isinstance(node, ast.List | ast.Tuple | ast.Constant):
        return False
    values = program.values(module, node)
    return bool(values) and all(_is_running_on(program, v, depth) for v in values)


def _is_running_on(program: Program, value: Value, depth: int) -> bool:
    if isinstance(value, Made) and value.method in FLOWS:
        made = value.receiver
        return bool(made) and all(
            isinstance(m, Made) and m.maker.endswith("ImageDataGenerator") for m in made
        )
    if isinstance(value, Made) and value.maker in ("builtins.iter", "builtins.enumerate"):
        given = value.call.args[:1]
        return bool(given) and _runs_on(program, value.module, given[0], depth - 1)
    if isinstance(value, Made) and value.maker == "itertools.repeat":
        return len(value.call.args) == 1 and not value.call.keywords
    if isinstance(value, Made) and value.maker in _ENDLESS_MAKERS:
        return True
    if isinstance(value, Instance):
        return _endless_object(program, value, depth) is not None
    return endless_value(program, value, depth=depth) is not None


def endless_input(
    program: Program, module: Module, node: ast.expr, *, depth: int = MAX_DEPTH
) -> Endless | None:
    """Return what makes the data that an expression surely stands for endless; else None."""
    values = program.values(module, node)
    if len(values) > 1 and all(chains_of(value) for value in values):
        taken = taken_chains(program, module, node)
        found = [endless_chain(program, chain, depth) for chain in taken]
    else:
        found = [endless_value(program, value, depth=depth) for value in values]
    return found[0] if found and all(f is not None for f in found) else None


def endless_value(program: Program, value: Value, *, depth: int = MAX_DEPTH) -> Endless | None:
    """Return what makes something that Keras takes as data endless; else None.

    An iterator such as `itertools.cycle` is not among it: Keras refuses it.
    """
    if depth == 0:
        return None
    if isinstance(value, Group):
        return _endless_expression(program, value, depth)
    if not isinstance(value, Made):
        return None
    if value.maker == "generator" and isinstance(value.receiver[0], Routine):
        return endless(program, value.receiver[0], depth=depth)
    return _endless_dataset(program, value, depth)


def _endless_expression(program: Program, value: Group, depth: int) -> Endless | None:
    """Return what makes `(f(x) for x in …)` endless."""
    node = value.node
    if not isinstance(node, ast.GeneratorExp) or not node.generators:
        return None
    runs_on = _runs_on(program, value.module, node.generators[0].iter, depth - 1)
    return Endless(node, value.module, "generator") if runs_on else None


def _endless_object(program: Program, value: Instance, depth: int) -> Endless | None:
    """Return the loop that the `__iter__` of an object of the program never leaves."""
    method = program.resolver.attribute(value.made, "__iter__")
    routine = method[0] if len(method) == 1 else None
    return endless(program, routine, depth=depth) if isinstance(routine, Routine) else None


def _endless_dataset(program: Program, value: Made, depth: int) -> Endless | None:
    found = chains_of(value)
    if not found:
        return None
    causes = [endless_chain(program, chain, depth) for chain in found]
    return causes[0] if all(c is not None for c in causes) else None


def endless_chain(program: Program, chain: Chain, depth: int = MAX_DEPTH) -> Endless | None:
    """Return what makes a dataset endless: a `repeat()`, or its source; else None."""
    for stage in reversed(chain.stages):
        if stage.name in ENDING:
            return None
        if stage.name == "repeat" and _is_for_ever(program, stage):
            return Endless(stage.call, stage.module, "repeat")
    source = chain.stages[0]
    if not chain.is_whole:
        return None
    if source.name in _ENDLESS_SOURCES:
        return Endless(source.call, source.module, source.name)
    if source.name == "tensorflow.data.Dataset.from_generator":
        return _endless_source(program, source, depth)
    return _endless_parts(program, source, depth)


def _endless_source(program: Program, source: Stage, depth: int) -> Endless | None:
    """Return what makes a function given to `from_generator` endless, each that it may be."""
    given = argument(source.call, "generator", 0)
    values = program.values(source.module, given, source.frame)
    causes = [_endless_routine(program, value, depth) for value in values]
    return causes[0] if causes and all(c is not None for c in causes) else None


def _endless_routine(program: Program, value: Value, depth: int) -> Endless | None:
    if isinstance(value, Made) and value.maker == "functools.partial" and value.call.args:
        # A generator that never ends, whatever it is given, does so with a part of it as well.
        inner = program.only(value.module, value.call.args[0], value.frame)
        return _endless_routine(program, inner, depth - 1) if inner is not None else None
    if not isinstance(value, Routine):
        return None
    if isinstance(value.node, ast.Lambda):  # it gives what it returns
        return endless_input(program, value.module, value.node.body, depth=depth - 1)
    return endless(program, value, depth=depth - 1)


def _endless_parts(program: Program, source: Stage, depth: int) -> Endless | None:
    """Return what makes every dataset of those that are joined endless."""
    if source.name not in _JOINED or not source.call.args:
        return None
    only = program.only(source.module, source.call.args[0], source.frame)
    node = only.node if isinstance(only, Group) else None
    if not isinstance(only, Group) or not isinstance(node, ast.Tuple | ast.List) or not node.elts:
        return None
    parts = [endless_input(program, only.module, e, depth=depth - 1) for e in node.elts]
    return parts[0] if all(p is not None for p in parts) else None


def _is_for_ever(program: Program, repeat: Stage) -> bool:
    """Tell whether a `repeat` has no number: none, None or -1."""
    call = repeat.call
    count = argument(call, "count", 0)
    if count is None:
        return not call.args and not call.keywords
    values = program.values(repeat.module, count, repeat.frame)
    return bool(values) and all(isinstance(v, Literal) and v.value in (None, -1) for v in values)


# -- generators that go round ---------------------------------------------------------------


def goes_round(program: Program, module: Module, handler: ast.ExceptHandler) -> bool:
    """Tell whether a generator gives nothing and never ends as long as a clause is gone into.

    That is: if the `try` fails whenever it is reached, no `yield` is, and nothing ends the loop.
    """
    function = module.function(handler)
    if not isinstance(function, ast.FunctionDef) or endless_of(program, module, function) is None:
        return False
    walk = walk_of(program, module, failing=handler)
    exits = walk.block(function.body, {})
    return not exits and not walk.yields and walk.entered


def goes_round_on(
    program: Program, module: Module, call: ast.Call, result: ast.expr
) -> ast.FunctionDef | None:
    """Return the generator that gives nothing as long as a call in it gives a certain result."""
    function = module.function(call)
    if not isinstance(function, ast.FunctionDef) or endless_of(program, module, function) is None:
        return None
    walk = walk_of(program, module, results={call: result})
    return function if not walk.block(function.body, {}) and not walk.yields else None


def endless_of(program: Program, module: Module, function: ast.FunctionDef) -> Endless | None:
    """Return the loop that a generator function never leaves; else None."""
    return endless(program, Routine(function, module))
